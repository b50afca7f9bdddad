"""Type texts, from Hive's spelling and back."""

from __future__ import annotations

import pytest

from acidsql.catalog.types import parse_type
from acidsql.errors import BindError


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ("INTEGER", "int"),
        ("double precision", "double"),
        ("numeric( 10 , 2 )", "decimal(10,2)"),
        (
            "ARRAY< STRUCT<`a b`:INT, C : MAP<STRING,CHAR(3)>>>",
            "array<struct<a b:int,c:map<string,char(3)>>>",
        ),
        ("struct<a.b:int,$c:int,_1:int>", "struct<a.b:int,$c:int,_1:int>"),
    ],
)
def test_a_type_is_stored_as_hive_writes_it(written: str, stored: str) -> None:
    """And what is stored can be read again, names of fields with blanks included."""
    assert str(parse_type(written)) == stored
    assert str(parse_type(stored)) == stored


@pytest.mark.parametrize(
    "text",
    ["struct<`a:b`:int>", "struct<`a<b`:int>", "struct<:int>", "struct<a int>", "struct<``:int>"],
)
def test_a_field_name_that_could_not_be_read_again_is_refused(text: str) -> None:
    """Hive's text has no quotes to keep it apart."""
    with pytest.raises(BindError):
        parse_type(text)
