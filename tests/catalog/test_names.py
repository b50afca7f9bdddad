"""Names that databases, tables and columns may have, as Hive 4.0.1 was seen to take them."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.catalog.names import (
    column_problem,
    database_problem,
    encoded,
    partition_column_problem,
    table_location,
    table_problem,
)

TAKEN_BY_HIVE = " !\"#%&'()*+,-/;<=>?@[]^_`{|}~"


@pytest.mark.parametrize("mark", string.punctuation + " \t\n\0\x7fé名😀\u00a0")
def test_a_table_may_hold_what_hive_takes(mark: str) -> None:
    """Of the marks of ASCII all but four; no other letters."""
    assert (table_problem(f"x{mark}y") is None) == (mark in TAKEN_BY_HIVE)
    assert (database_problem(f"x{mark}y") is None) == (mark in TAKEN_BY_HIVE and mark != "/")


@pytest.mark.parametrize("name", ["", " ", " a", "a ", ".", "..", "../x", "/..", "a/../b", "\\"])
def test_what_would_mean_something_else_is_refused(name: str) -> None:
    """Blanks that Hive would cut off, and the names of directories above; where such a name may be
    a table's its directory has another.
    """
    assert database_problem(name) is not None
    assert table_problem(name) is not None


@pytest.mark.parametrize(
    ("name", "directory"),
    [("a b", "a-32-b"), ("a/b", "a-47-b"), ("''", "-39--39-"), ("%2f", "-37-2f"), ("1a", "1a")],
)
def test_directories_are_called_as_in_hive(name: str, directory: str) -> None:
    """Each character that is none of a word is a number there."""
    assert table_location("/w/sales.db", name) == f"/w/sales.db/{directory}"


@given(st.text(TAKEN_BY_HIVE + "ab1"), st.text(TAKEN_BY_HIVE + "ab1"))
def test_two_tables_never_share_a_directory(one: str, other: str) -> None:
    """The directory says which name it was made of, and is one directory."""
    assert (encoded(one) == encoded(other)) == (one == other)
    assert not set(encoded(one)) & set("./\\ ")


def test_lengths_are_those_of_the_metastore() -> None:
    """And for tables that of a directory's name, in which some characters take four."""
    for problem, most in (
        (database_problem, 128),
        (table_problem, 255),
        (column_problem, 767),
        (partition_column_problem, 128),
    ):
        assert problem("n" * most) is None
        assert "allowed" in (problem("n" * (most + 1)) or "")
    assert "256 bytes" in (table_problem(" ".join("n" * 52)) or "")


@pytest.mark.parametrize("name", ["a.b", "a:b", ".", ".."])
def test_columns_have_no_dots_and_colons(name: str) -> None:
    """In Hive's words; anything else may be."""
    assert column_problem(name) == partition_column_problem(name)
    assert (column_problem(name) or "").startswith("[., :] can not be used in column name")
    for fine in ("a b", "é", "😀", "a/b", "'", '"', "`", "a,b"):
        assert column_problem(fine) is None
