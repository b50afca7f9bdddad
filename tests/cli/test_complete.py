"""Completion at the prompt."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from acidsql.cli.completion.complete import FUNCTIONS, complete
from acidsql.cli.completion.scope import SessionNames
from acidsql.expressions.spark_words import is_function
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
        session.sql(
            "CREATE TABLE visits (visitor STRING, pages INT) PARTITIONED BY (day DATE) STORED AS ORC TBLPROPERTIES ('transactional'='true')"
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
        ("ATTACH TABLE t FROM '/data/t' OV", "OVERLAY"),
        ("ATTACH DATA", "DATABASE"),
        ("ATTACH DATABASE twin US", "USING"),
        ("DETACH DATABASE sa", "sales"),
        ("DETACH DATABASE I", "IF"),
        ("DESCRIBE CHA", "CHANGES"),
        ("DESCRIBE CHANGES OF tr", "trips"),
        ("DELETE FROM tr", "trips"),
        ("DELETE FROM trips ", "WHERE"),
        ("INSERT INTO ", "trips"),
        ("INSERT INTO sales.", "sales.orders"),
        ("INSERT INTO trips B", "BY"),
        ("insert into trips by n", "name"),
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


@pytest.mark.parametrize(
    ("typed", "offered", "not_offered"),
    [
        ("SELECT t. FROM trips t", ["t.trip_id", "t.fare"], ["t.pages"]),
        ("SELECT fa FROM trips", ["fare"], []),
        (
            "SELECT * FROM trips AS t JOIN visits v ON t.fare = v.",
            ["v.visitor", "v.day"],
            ["v.fare"],
        ),
        ("SELECT * FROM trips t, visits v WHERE v.p", ["v.pages"], []),
        ("SELECT o. FROM sales.orders o", ["o.id"], []),
        ("SELECT sales.orders. FROM sales.orders", ["sales.orders.id"], []),
        (
            "SELECT s. FROM (SELECT fare, trip_id AS trip FROM trips) s",
            ["s.fare", "s.trip"],
            ["s.trip_id"],
        ),
        ("SELECT s. FROM (SELECT * FROM visits) s", ["s.day"], []),
        ("WITH w AS (SELECT fare AS cost FROM trips) SELECT w. FROM w", ["w.cost"], ["w.fare"]),
        ("WITH w AS (SELECT 1 AS x) SELECT * FROM ", ["trips"], []),
        ("SELECT upp", ["upper("], []),
        ("SELECT fare FROM trips UNION SELECT pages FROM visits WHERE d", ["day"], []),
        ("INSERT INTO trips (", ["trip_id", "fare"], ["SELECT"]),
        ("INSERT INTO trips (trip_id, ", ["fare"], ["trip_id"]),
        ("INSERT INTO visits PARTITION (", ["day"], ["pages"]),
        ("INSERT INTO visits PARTITION (day='2024-01-01') (", ["visitor", "pages"], []),
        ("ALTER TABLE visits DROP PARTITION (", ["day"], ["pages"]),
        ("MERGE INTO trips t USING ", ["visits"], []),
        ("MERGE INTO trips t USING visits v ON t.", ["t.trip_id"], ["t.pages"]),
        (
            "MERGE INTO trips t USING visits v ON t.fare = v.pages WHEN NOT MATCHED THEN INSERT (",
            ["trip_id"],
            ["pages"],
        ),
        (
            "MERGE INTO trips t USING visits v ON t.fare = v.pages WHEN MATCHED THEN UPDATE SET ",
            ["fare"],
            [],
        ),
        ("SET acidsql.shell.k", ["acidsql.shell.keys"], []),
        ("SET acidsql.shell.keys = v", ["vi"], ["emacs"]),
        ("SET acidsql.dry.run=", ["true", "false"], []),
        ("RESET acidsql.retr", ["acidsql.retries"], []),
        (".mode j", ["json", "jsonl"], ["csv"]),
        (".schema tr", ["trips"], ["visits"]),
        ("\\d vi", ["visits"], []),
        (".explain SELECT v. FROM visits v", ["v.day"], []),
        ("help sel", ["select"], []),
    ],
)
def test_names_are_those_of_the_statement(
    names: SessionNames, typed: str, offered: list[str], not_offered: list[str]
) -> None:
    """Aliases, sub-queries, lists of columns, settings and commands; what the statement names behind
    the cursor counts, which is in front of FROM where that follows what is typed."""
    before, after = typed, ""
    for mark in (". FROM", "fa FROM"):
        if mark in typed:
            before, after = (
                typed.split(mark)[0] + mark.split(" ")[0],
                " FROM" + typed.split(mark)[1],
            )
    _, choices = complete(before, names, after)
    assert [one for one in offered if one not in choices] == []
    assert [one for one in not_offered if one in choices] == []


@pytest.mark.parametrize(
    "typed", ["LOAD DATA LOCAL INPATH '{}/or", ".read {}/or", "source {}/or", ".import {}/or"]
)
def test_files_are_offered(names: SessionNames, tmp_path: Path, typed: str) -> None:
    """Files and directories whose paths begin as typed, hidden ones not."""
    (tmp_path / "orders.csv").touch()
    (tmp_path / "orbit").mkdir()
    (tmp_path / ".orphan").touch()
    _, choices = complete(typed.format(tmp_path), names)
    assert choices == [f"{tmp_path}/orbit/", f"{tmp_path}/orders.csv"]


def test_the_functions_that_are_offered_are_sparks() -> None:
    """No word is offered as a function that Spark does not have."""
    assert [name for name in FUNCTIONS if not is_function(name)] == []


@pytest.mark.parametrize(
    "text",
    [
        "SELECT (",
        "WITH",
        "FROM (",
        "FROM a,",
        "JOIN JOIN",
        ") (",
        "INSERT (",
        "SELECT a. FROM",
        "UPDATE",
    ],
)
def test_what_is_half_typed_does_no_harm(names: SessionNames, text: str) -> None:
    """Whatever was typed so far, completion gives a list."""
    for end in range(len(text) + 1):
        complete(text[:end], names, text[end:])
        complete(text[:end] + " ", names)
