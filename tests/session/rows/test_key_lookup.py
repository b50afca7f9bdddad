"""A small MERGE finds its rows by their keys without a job of Spark's: the same rows as by Spark's
join, or Spark joins.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from acidsql.acid.orc_tail import load_tail
from acidsql.catalog.model import TableName
from acidsql.errors import CardinalityError, FormatError
from acidsql.session import Session
from acidsql.storage import key_lookup
from acidsql.storage.key_lookup import KeyLookup

pytestmark = pytest.mark.spark

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
LAYOUTS = {
    "plain": f"(id INT, n INT, s STRING, p STRING) {ACID}",
    "bucketed": f"(id INT, n INT, s STRING, p STRING) CLUSTERED BY (id) INTO 3 BUCKETS {ACID}",
    "partitioned": f"(id INT, n INT, s STRING) PARTITIONED BY (p STRING) {ACID}",
    "converted": "(id INT, n INT, s STRING) PARTITIONED BY (p STRING) STORED AS ORC",
}
JOINS = ("t.id = s.id", "s.id = t.id AND t.n = s.n", "t.s = s.s AND t.id = s.id")
ROWS = [(i, i % 7, f"s{i % 5}", "ab"[i % 2]) for i in range(40)] + [
    (None, 1, "s1", "a"),
    (3, None, None, "b"),
    (5, 5, "s0", None),
]
SOURCE = [
    (3, 3, "s3"),
    (5, 5, "s0"),
    (17, 3, "s2"),
    (None, 1, "s1"),
    (20, None, "s0"),
    (99, 1, "new"),
]


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """Whether each look-up found out or left it to Spark."""
    found: list[bool] = []
    pairs = KeyLookup.pairs

    def noted(self: KeyLookup, *given: Any) -> pa.Table | None:
        answer = pairs(self, *given)
        found.append(answer is not None)
        return answer

    monkeypatch.setattr(KeyLookup, "pairs", noted)
    return found


def literals(rows: list[tuple[Any, ...]]) -> str:
    return ", ".join(
        "(" + ", ".join("NULL" if v is None else repr(v) for v in row) + ")" for row in rows
    )


def make(session: Session, name: str, layout: str) -> None:
    """In three deltas, or three files and two deltas, with rows that are dead and rows that were
    updated.
    """
    session.sql(f"CREATE TABLE {name} {LAYOUTS[layout]}")
    session.sql(f"INSERT INTO {name} VALUES {literals(ROWS[:15])}")
    session.sql(f"INSERT INTO {name} VALUES {literals(ROWS[15:25])}")
    if layout == "converted":
        session.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('transactional'='true')")
    session.sql(f"INSERT INTO {name} VALUES {literals(ROWS[25:])}")
    session.sql(f"DELETE FROM {name} WHERE id IN (4, 17, 30)")
    session.sql(f"UPDATE {name} SET s = 'changed' WHERE id IN (5, 6)")


def merge(session: Session, name: str, on: str, source: list[tuple[Any, ...]] = SOURCE) -> None:
    """Each column gets a value of the source's, or keeps one that is equal."""
    values = f"(SELECT * FROM VALUES {literals(source)} AS v(id, n, s)) s"
    table = session.store.find_table(TableName("default", name))
    partitioned = table is not None and bool(table.partition_columns)
    updated = ("s = s.s" if ".n" in on else "n = s.n, s = s.s") + (
        "" if partitioned else ", p = s.s"
    )
    session.sql(
        f"MERGE INTO {name} t USING {values} ON {on} WHEN MATCHED THEN UPDATE SET {updated} "
        "WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.n, s.s, 'c')"
    )


def rows(session: Session, name: str) -> list[tuple[Any, ...]]:
    found = session.sql(f"SELECT ROW__ID, * FROM {name}").rows()
    return sorted(((*row_id.values(), *values) for row_id, *values in found), key=repr)


@pytest.mark.parametrize(
    ("layout", "on"),
    [
        (layout, on)
        if number % len(JOINS) == at
        else pytest.param(layout, on, marks=pytest.mark.slow)
        for number, layout in enumerate(LAYOUTS)
        for at, on in enumerate(JOINS)
    ],
)
def test_rows_are_those_of_sparks_join(
    session: Session, answers: list[bool], monkeypatch: pytest.MonkeyPatch, layout: str, on: str
) -> None:
    """ROW__IDs too: dead rows are not found, NULL equals nothing, rows of equal keys are found
    each.
    """
    for name in ("here", "there"):
        make(session, name, layout)
    merge(session, "here", on)
    assert answers == [True]
    monkeypatch.setattr(KeyLookup, "pairs", lambda *_: None)
    merge(session, "there", on)
    assert rows(session, "here") == rows(session, "there")


CLAUSES = {
    "WHEN MATCHED AND s.n > 3 THEN DELETE WHEN MATCHED AND s.s <> 's3' THEN UPDATE SET n = s.n, s = s.s, p = s.s": True,
    "WHEN MATCHED AND s.n = 5 THEN UPDATE SET n = s.id, s = s.s, p = s.s WHEN MATCHED THEN DELETE WHEN NOT MATCHED AND s.n = 1 THEN "
    "INSERT (id, s) VALUES (s.id, s.s)": True,
    "WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.n, s.s, s.s)": True,
    "WHEN MATCHED AND t.n = s.n THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.n, s.s, s.s)": False,
    "WHEN MATCHED AND s.n IN (SELECT n FROM t) THEN DELETE": False,
}


@pytest.mark.parametrize("clauses", CLAUSES)
def test_conditions_of_the_source(
    session: Session, answers: list[bool], monkeypatch: pytest.MonkeyPatch, clauses: str
) -> None:
    """They are answered when it is fetched; those that ask for the target's columns take a join."""
    for name in ("here", "there"):
        make(session, name, "plain")
    values = f"(SELECT * FROM VALUES {literals(SOURCE)} AS v(id, n, s)) s"
    stats = session.sql(
        f"MERGE INTO here t USING {values} ON t.id = s.id {clauses.replace('FROM t', 'FROM here')}"
    ).stats
    assert answers == [True] * CLAUSES[clauses]
    monkeypatch.setattr(KeyLookup, "pairs", lambda *_: None)
    same = session.sql(
        f"MERGE INTO there t USING {values} ON t.id = s.id {clauses.replace('FROM t', 'FROM there')}"
    ).stats
    assert (
        tuple((heading.replace("here", "there"), count) for heading, count in stats.clauses)
        == same.clauses
    )
    assert stats.rows_changed > 0
    assert rows(session, "here") == rows(session, "there")


@pytest.mark.parametrize(
    ("condition", "ansi"),
    [
        ("if(s.id = 99, raise_error('no') IS NULL, TRUE)", False),
        ("10 / s.id > 0", True),
        ("rand() >= 0 AND s.n > 0", False),
    ],
)
def test_a_condition_is_not_asked_of_rows_without_a_match(
    session: Session, answers: list[bool], condition: str, ansi: bool
) -> None:
    """One that could fail there is left to the join; so is one that gives another
    answer each time.
    """
    make(session, "t", "plain")
    session.sql(f"SET acidsql.ansi={str(ansi).lower()}")
    values = f"(SELECT * FROM VALUES {literals(SOURCE)} AS v(id, n, s)) s"
    assert (
        session.sql(
            f"MERGE INTO t USING {values} ON t.id = s.id WHEN MATCHED AND {condition} THEN DELETE"
        ).stats.rows_deleted
        > 0
    )
    assert answers == []


def test_two_source_rows_of_one_key(session: Session, answers: list[bool]) -> None:
    """Both are found, which is one too many for the row."""
    make(session, "t", "plain")
    before = rows(session, "t")
    with pytest.raises(CardinalityError):
        merge(session, "t", "t.id = s.id", [*SOURCE, (5, 0, "again")])
    assert answers == [True]
    assert rows(session, "t") == before


def test_what_takes_spark(
    session: Session, answers: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Conditions, keys that are cast, columns that were widened since, partition columns; and too
    many rows or events.
    """
    make(session, "t", "partitioned")
    for on in (
        "t.id = s.id AND t.n > 1",
        "t.id = CAST(s.id AS BIGINT)",
        "t.id = s.id AND t.p = s.s",
    ):
        merge(session, "t", on)
    assert answers == []
    session.sql("ALTER TABLE t CHANGE n n BIGINT")
    values = "(SELECT * FROM VALUES (3, 3L, 'x') AS v(id, n, s)) s"
    session.sql(
        f"MERGE INTO t USING {values} ON t.n = s.n AND t.id = s.id WHEN MATCHED THEN DELETE"
    )
    assert answers == [False]
    session.sql(f"MERGE INTO t USING {values} ON t.id = s.id WHEN MATCHED THEN DELETE")
    assert answers == [False, True]
    for name in ("MAX_ROWS", "MAX_EVENTS"):
        with monkeypatch.context() as patched:
            patched.setattr(key_lookup, name, 1)
            session.sql(f"MERGE INTO t USING {values} ON t.id = s.id WHEN MATCHED THEN DELETE")
    assert answers == [False, True, False, False]


def test_a_file_older_than_the_key(session: Session, answers: list[bool]) -> None:
    """It has NULLs there; a column that was renamed is found where it was."""
    session.sql(f"CREATE TABLE t (id INT, v STRING) {ACID}")
    session.sql("INSERT INTO t VALUES (1, 'old'), (2, 'old')")
    session.sql("ALTER TABLE t ADD COLUMNS (k STRING)")
    session.sql("INSERT INTO t VALUES (3, 'new', 'a'), (4, 'new', NULL)")
    session.sql("ALTER TABLE t CHANGE v w STRING")
    source = "(SELECT * FROM VALUES ('a', 'A'), (NULL, 'N'), ('b', 'B') AS s(k, w)) s"
    stats = session.sql(f"MERGE INTO t USING {source} ON t.k = s.k WHEN MATCHED THEN DELETE").stats
    assert (answers, stats.rows_deleted) == ([True], 1)
    source = "(SELECT * FROM VALUES ('old', 'A') AS s(k, w)) s"
    stats = session.sql(f"MERGE INTO t USING {source} ON t.w = s.k WHEN MATCHED THEN DELETE").stats
    assert (answers, stats.rows_deleted) == ([True, True], 2)


def test_only_visible_rows_are_found(
    session: Session, answers: list[bool], spark: SparkSession, warehouse: Path
) -> None:
    """Not those of an open transaction; those of the statement's own."""
    make(session, "t", "plain")
    with Session(warehouse, spark=spark) as other:
        other.begin()
        other.sql("INSERT INTO t VALUES (99, 1, 'open', 'a')")
        merge(other, "t", "t.id = s.id")
        merge(session, "t", "t.id = s.id", SOURCE[:2])
        assert [row[5] for row in rows(other, "t") if row[3] == 99] == ["new"]
        other.rollback()
    assert answers == [True, True]
    assert [row for row in rows(session, "t") if row[3] == 99] == []


def test_a_damaged_file_is_named(session: Session, warehouse: Path) -> None:
    """Nothing is changed."""
    make(session, "t", "plain")
    [path, *_] = sorted((warehouse / "t").glob("delta_0000001*/bucket*"))
    good = path.read_bytes()
    tail = load_tail(lambda wanted: (good[-wanted:], len(good)), str(path))
    path.write_bytes(good[:3] + b"\xff" * (tail.offset - 3) + good[tail.offset :])
    with pytest.raises(FormatError, match=str(path)):
        merge(session, "t", "t.id = s.id")
