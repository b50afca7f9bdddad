"""Completion at the prompt."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from acidsql.cli.completion.catalog import SessionNames
from acidsql.cli.completion.complete import complete
from acidsql.session import Session


@pytest.fixture
def names(warehouse: Path) -> Iterator[SessionNames]:
    """A catalog with two databases and two tables."""
    with Session(str(warehouse)) as session:
        session.sql("CREATE DATABASE sales")
        session.sql(
            "CREATE TABLE trips (trip_id INT, fare DOUBLE) STORED AS ORC TBLPROPERTIES ('transactional'='true')"
        )
        session.sql(
            "CREATE TABLE sales.orders (id INT) STORED AS ORC TBLPROPERTIES ('transactional'='true')"
        )
        yield SessionNames(session)


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("UPD", "UPDATE"),
        ("upd", "update"),
        ("", "SELECT"),
        ("SHOW ", "TABLES"),
        ("DROP TABLE ", "IF"),
        ("DELETE FROM tr", "trips"),
        ("DELETE FROM trips ", "WHERE"),
        ("INSERT INTO ", "trips"),
        ("INSERT INTO sales.", "sales.orders"),
        ("SELECT zz", None),
        ("SELECT * FROM trips WHERE fa", "fare"),
        ("UPDATE trips SET fa", "fare"),
        ("SELECT * FROM trips WHERE fare > 1 ORD", "ORDER"),
        ("USE sa", "sales"),
        ("SHOW TABLES; DEL", "DELETE"),
        (".mo", ".mode"),
        ("SHOW TABLES;\n!mo", "!mode"),
        (".sh echo it's\nSEL", "SELECT"),
        (".mode json\n.ta", ".tables"),
        ("SELECT 1 -- c\n;\n", "SELECT"),
        ("SELECT 'unfinished FRO", None),
        ("-- comment\nSEL", "SELECT"),
    ],
)
def test_what_fits_is_offered(names: SessionNames, typed: str, offered: str | None) -> None:
    """Keywords where the grammar takes them, tables and columns where names stand, nothing inside
    strings.
    """
    _, found = complete(typed, names)
    assert (offered in found) if offered else not found
