"""A query that asks for one value of the bucketing columns reads the files of its bucket alone, and
misses no row.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from acidsql.acid.bucketing import bucket_numbers
from acidsql.acid.ids import parse_bucket_file
from acidsql.catalog.types import arrow_type, parse_type
from acidsql.session import Session
from tests.session.rows.storage_model import literal

pytestmark = pytest.mark.spark

COUNT = 5
KEYS: dict[str, list[Any]] = {
    "int": [None, -7, 0, 1, 2, 3, 2**31 - 1],
    "bigint": [None, -(2**40), 0, 5, 2**40],
    "smallint": [None, -300, 0, 300],
    "string": [None, "", "a", "b", "ü", "it's", "back\\slash", " a", "\t"],
    "date": [
        None,
        datetime.date(1969, 5, 1),
        datetime.date(2024, 2, 29),
        datetime.date(2024, 3, 1),
    ],
    "decimal(8,2)": [None, Decimal("-1.50"), Decimal("0.00"), Decimal("3.00"), Decimal("12.34")],
    "boolean": [None, True, False],
}
UNPRUNED: dict[str, list[Any]] = {
    "double": [None, 0.0, -0.5, 1.25],
    "timestamp": [None, datetime.datetime(2024, 2, 29, 12, 0, 0)],
    "varchar(3)": [None, "a", "abc"],
    "char(3)": [None, "a", "abc"],
}
"""Types whose values Spark casts before it compares them: nothing is skipped."""


def make(
    session: Session, columns: str, clustered: str, version: int, rows: Iterable[tuple[Any, ...]]
) -> None:
    properties = f"'transactional'='true', 'bucketing_version'='{version}'"
    session.sql(
        f"CREATE TABLE t ({columns}) CLUSTERED BY ({clustered}) INTO {COUNT} BUCKETS STORED AS ORC TBLPROPERTIES ({properties})"
    )
    session.sql(
        f"INSERT INTO t VALUES {', '.join('(' + ', '.join(map(literal, row)) + ')' for row in rows)}"
    )


def buckets_read(session: Session, condition: str) -> set[int | None]:
    """The buckets of the files that a query with this condition looks at."""
    files = session.sql(f"SELECT * FROM t WHERE {condition}").df.inputFiles()
    return {parse_bucket_file(re.sub(".*/", "", path)) for path in files}


def numbers_found(session: Session, condition: str) -> list[int]:
    return sorted(row[0] for row in session.sql(f"SELECT n FROM t WHERE {condition}").rows())


def bucket(version: Any, **values: tuple[str, Any]) -> int:
    """The bucket of one row, by its columns in order: type and value."""
    keys = [
        (pa.array([value], arrow_type(parse_type(kind))), kind) for kind, value in values.values()
    ]
    return int(bucket_numbers(keys, COUNT, version)[0])


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("kind", KEYS)
def test_one_value_reads_one_bucket(session: Session, kind: str, version: int) -> None:
    """Every value of the column, written either way round, and lists of them; NULL is asked for in
    all buckets.
    """
    values = KEYS[kind]
    make(session, f"k {kind}, n INT", "k", version, [(value, n) for n, value in enumerate(values)])
    for n, value in list(enumerate(values))[1:]:
        assert numbers_found(session, f"k = {literal(value)}") == [n]
        if "\\" not in str(value) and not (isinstance(value, int | Decimal) and value < 0):
            assert buckets_read(session, f"{literal(value)} = k AND n >= 0") == {
                bucket(version, k=(kind, value))
            }
    pairs = f"k IN ({literal(values[1])}, {literal(values[-1])})"
    assert numbers_found(session, pairs) == [1, len(values) - 1]
    assert numbers_found(session, f"{pairs} OR k IS NULL") == [0, 1, len(values) - 1]
    assert numbers_found(session, "k IS NULL") == [0]
    assert numbers_found(session, f"NOT (k = {literal(values[1])})") == list(range(2, len(values)))


@pytest.mark.parametrize("kind", UNPRUNED)
def test_a_value_that_is_cast_prunes_nothing(session: Session, kind: str) -> None:
    """Where the literal is no value of the column's own type, every bucket is looked at."""
    values = UNPRUNED[kind]
    make(session, f"k {kind}, n INT", "k", 2, [(value, n) for n, value in enumerate(values)])
    for n, value in list(enumerate(values))[1:]:
        assert numbers_found(session, f"k = {literal(value)}") == [n]


@pytest.mark.parametrize("version", [1, 2])
def test_several_columns(session: Session, version: Any) -> None:
    """All of them must be given; then one bucket is read, whatever their order in the condition."""
    rows = [
        (a, b, n)
        for n, (a, b) in enumerate((a, b) for a in (None, 1, 2, 3) for b in (None, "x", "y"))
    ]
    make(session, "a INT, b STRING, n INT", "b, a", version, rows)
    for a, b, n in rows:
        if a is not None and b is not None:
            condition = f"a = {a} AND b = '{b}'"
            assert numbers_found(session, condition) == [n]
            assert buckets_read(session, condition) == {
                bucket(version, b=("string", b), a=("int", a))
            }
    everything = buckets_read(session, "n >= 0")
    assert len(everything) > 1
    for condition, expected in (
        ("a = 1", [3, 4, 5]),
        ("b = 'x'", [1, 4, 7, 10]),
        ("a = 1 AND b IN ('x', 'y')", [4, 5]),
        ("a IN (1, 2) AND b = 'x'", [4, 7]),
        ("a IN (1, 2) AND b IN ('x', 'y')", [4, 5, 7, 8]),
        ("a = 1 OR b = 'x'", [1, 3, 4, 5, 7, 10]),
        ("a IS NULL AND b = 'x'", [1]),
    ):
        assert numbers_found(session, condition) == expected
        assert buckets_read(session, condition) <= everything


def test_changes_find_their_rows(session: Session) -> None:
    """UPDATE, DELETE and MERGE by key, on both write paths; joins and sub-queries that mention the
    key do not lose rows.
    """
    make(session, "k INT, n INT", "k", 2, [(n % 10, n) for n in range(40)])
    for path, key in (("small", 3), ("big", 4)):
        session.sql(f"SET acidsql.write.path={path}")
        assert session.sql(f"UPDATE t SET n = n + 100 WHERE k = {key}").stats.rows_updated == 4
        assert (
            session.sql(f"DELETE FROM t WHERE k IN ({key + 3}) AND n < 20").stats.rows_deleted == 2
        )
    assert numbers_found(session, "k = 3") == [103, 113, 123, 133]
    assert numbers_found(session, "k = 7") == [27, 37]
    counted = "SELECT count(*) FROM t LEFT JOIN (SELECT 1 AS id) s ON t.k = s.id AND t.k = 1"
    assert list(session.sql(counted).rows()) == [(36,)]
    assert list(
        session.sql(
            "SELECT count(*) FROM t WHERE EXISTS (SELECT 1 FROM t x WHERE x.k = 3 AND x.n > t.n)"
        ).rows()
    ) == [(34,)]
    assert list(session.sql("SELECT count(*) FROM t a JOIN t b ON a.k = 3 AND b.k = 5").rows()) == [
        (16,)
    ]
    session.sql(
        "MERGE INTO t USING (SELECT 5 AS id) s ON t.k = s.id AND t.k = 5 "
        "WHEN MATCHED AND t.n > 20 THEN DELETE WHEN NOT MATCHED BY SOURCE AND t.k = 6 THEN UPDATE SET n = -1"
    )
    assert numbers_found(session, "k = 5") == [5, 15]
    assert numbers_found(session, "k = 6") == [-1, -1]


def test_files_of_before_a_conversion_are_always_read(session: Session) -> None:
    """Nobody vouches for the buckets of plain files; those of events are skipped."""
    session.sql(
        f"CREATE TABLE t (k INT, n INT) CLUSTERED BY (k) INTO {COUNT} BUCKETS STORED AS ORC"
    )
    session.sql("INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)")
    session.sql("ALTER TABLE t SET TBLPROPERTIES ('transactional'='true')")
    session.sql("INSERT INTO t VALUES (1, 11), (2, 12), (3, 13), (4, 14), (5, 15)")
    session.sql("DELETE FROM t WHERE n = 2")
    assert numbers_found(session, "k = 1") == [1, 11]
    assert numbers_found(session, "k = 2") == [12]
    assert {number for number in buckets_read(session, "k = 1") if number is not None} == {
        bucket(2, k=("int", 1))
    }
