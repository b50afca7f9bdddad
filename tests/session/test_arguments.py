"""Arguments of a wrong kind are errors of ours, which say what is wanted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import acidsql
from acidsql.errors import Error, InterfaceError, MetastoreError, ProgrammingError
from acidsql.session import Session

FRAME = pd.DataFrame({"id": [1], "name": ["b"]})


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda s: s.table(None), "the name of a table is a str, not NoneType"),
        (lambda s: s.scan(5), "the name of a table is a str, not int"),
        (lambda s: s.health(5), "the name of a table is a str, not int"),
        (lambda s: s.scan("t", [5]), "the name of a column is a str, not int"),
        (lambda s: s.scan("t", batch_size="x"), "a batch has one row at least"),
        (lambda s: s.scan("t", as_of="x"), "a write id is an int, not str"),
        (lambda s: s.table("t").merge(FRAME, [1]), "the name of a column is a str, not int"),
        (lambda s: s.table("t").merge(FRAME, ["id"], [5]), "a clause of a merge is a condition"),
        (lambda s: s.table("t").update({5: "1"}, "true"), "the name of a column is a str, not int"),
        (lambda s: s.table("t").overwrite(FRAME, partitions=5), "partitions are a list of names"),
        (lambda s: s.create_table(5, FRAME), "the name of a table is a str, not int"),
        (lambda s: s.create_table("new", 5), "int is no frame"),
        (lambda s: s.create_table("t", FRAME, "id"), "partitioned_by is a list of names"),
        (lambda s: s.create_table("t", FRAME, 5), "partitioned_by is a list of names"),
        (lambda s: s.create_table("t", FRAME, [5]), "the name of a column is a str, not int"),
        (lambda s: s.register(5, FRAME), "the name of a frame is a str, not int"),
        (lambda s: s.unregister(5), "the name of a frame is a str, not int"),
        (lambda s: s.retry(5), "what is run again is a function, not int"),
        (lambda s: s.transaction(retries="x"), "retries is a number of further attempts"),
        (lambda s: Session(s.warehouse, database=5), "the name of a database is a str, not int"),
        (lambda s: Session(s.warehouse, metastore=5), "the URL of a metastore is a str, not int"),
        (lambda s: Session(s.warehouse, settings="x"), "settings are a mapping, not str"),
        (lambda s: Session(s.warehouse, settings={5: "x"}), "the name of a setting is a str"),
        (lambda s: Session(s.warehouse, conf=5), "conf are a mapping, not int"),
        (lambda s: Session(s.warehouse, master=5), "the master of Spark is a str, not int"),
    ],
)
def test_a_wrong_kind_is_an_interface_error(
    people: Session, call: Callable[[Any], object], told: str
) -> None:
    """It is named, and none of Python's own errors comes from the depths."""
    with pytest.raises(InterfaceError, match=told):
        call(people)


def test_many_of_nothing(tmp_path: Path) -> None:
    """What has no sets of parameters is refused by the cursor as one of them would be."""
    with (
        acidsql.connect(tmp_path / "w") as connection,
        connection.cursor() as cursor,
        pytest.raises(ProgrammingError, match="many sets of parameters, not int"),
    ):
        cursor.executemany("INSERT INTO t VALUES (?)", 5)  # type: ignore[arg-type]


def test_a_path_with_a_nul_is_no_damaged_file() -> None:
    """The warehouse's own path is at fault."""
    with pytest.raises(MetastoreError, match="the path of the warehouse has a character NUL"):
        Session("/tmp/a\0b")


@pytest.mark.parametrize(
    ("name", "line", "column"),
    [("nope", "nope", 1), ("t x", "t x", 3), ("t PARTITION (k)", "t PARTITION (k)", 3), ("", "", 1)],
)  # fmt: skip
def test_the_health_of_what_is_no_table(people: Session, name: str, line: str, column: int) -> None:
    """The error quotes the name alone, as it was given."""
    with pytest.raises(Error) as caught:
        people.health(name)
    assert (caught.value.source, caught.value.column) == (line, column)


@pytest.mark.spark
@pytest.mark.parametrize("text", ["SELECT ?", "SELECT :x"])
def test_a_marker_without_values(session: Session, text: str) -> None:
    """The error says how values are given."""
    with pytest.raises(ProgrammingError, match=r"^a parameter has no value\n") as caught:
        session.sql(text).rows()
    assert caught.value.column == 8
    assert "params" in (caught.value.hint or "")
