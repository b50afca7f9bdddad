"""Tables and partitions of equal columns in one statement are each read as what they are: Spark
runs once what it takes for the same, so it must not take one for another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from acidsql.session import Session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TRANSACTIONAL = "TBLPROPERTIES ('transactional'='true')"
KINDS = {
    "full": f"STORED AS ORC {TRANSACTIONAL}",
    "dead": f"STORED AS ORC {TRANSACTIONAL}",
    "originals": f"STORED AS ORC {TRANSACTIONAL}",
    "plain": "STORED AS ORC",
    "parquet": "STORED AS PARQUET",
    "text": "STORED AS TEXTFILE",
    "partitions": f"STORED AS ORC {TRANSACTIONAL}",
    "partitions_text": "STORED AS TEXTFILE",
}
"""Ways in which a table lies in files. "dead": with deleted rows; "originals": files without ids;
"partitions": the two are partitions of one table.
"""
ONE, OTHER = (1, 2, 3), (2, 10)


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """For each of KINDS the relations KIND_1, of ONE, and KIND_2, of OTHER, of equal columns; and
    t.
    """
    folder = tmp_path_factory.mktemp("equal")
    with Session(folder / "w", spark=spark, settings={"acidsql.engine": "spark"}) as session:
        for kind, stored in KINDS.items():
            if kind.startswith("partitions"):
                make_partitions(session, kind, stored)
            else:
                for number, values in enumerate((ONE, OTHER), 1):
                    make_table(session, f"{kind}_{number}", kind, stored, values)
        session.sql(f"CREATE TABLE t (k INT, v STRING) {KINDS['full']}")
        yield session


def rows_of(values: tuple[int, ...]) -> str:
    return ", ".join(f"({value})" for value in values)


def make_table(
    session: Session, name: str, kind: str, stored: str, values: tuple[int, ...]
) -> None:
    created = KINDS["plain"] if kind == "originals" else stored
    session.sql(f"CREATE TABLE {name} (k INT) {created}")
    session.sql(f"INSERT INTO {name} VALUES {rows_of(values)}")
    if kind == "originals":
        session.sql(f"ALTER TABLE {name} SET {TRANSACTIONAL}")
    if kind == "dead":
        session.sql(f"INSERT INTO {name} VALUES (100), (101)")
        session.sql(f"DELETE FROM {name} WHERE k >= 100")


def make_partitions(session: Session, name: str, stored: str) -> None:
    session.sql(f"CREATE TABLE {name} (k INT) PARTITIONED BY (d STRING) {stored}")
    for number, values in enumerate((ONE, OTHER), 1):
        session.sql(f"INSERT INTO {name} PARTITION (d = '{number}') VALUES {rows_of(values)}")
        session.sql(f"CREATE VIEW {name}_{number} AS SELECT k FROM {name} WHERE d = '{number}'")


def answers(session: Session, sql: str) -> Counter[tuple[Any, ...]]:
    return Counter(session.sql(sql).rows())


QUERIES: dict[str, list[tuple[Any, ...]]] = {
    "SELECT 1 AS n, max(k) AS k FROM {a} UNION ALL SELECT 2, max(k) FROM {b}": [(1, 3), (2, 10)],
    "SELECT (SELECT max(k) FROM {a}), (SELECT max(k) FROM {b})": [(3, 10)],
    "SELECT count(*) FROM (SELECT k FROM {a} UNION SELECT k FROM {b}) u": [(4,)],
    "SELECT k FROM {a} EXCEPT SELECT k FROM {b}": [(1,), (3,)],
    "SELECT k FROM {a} INTERSECT SELECT k FROM {b}": [(2,)],
    "SELECT a.k, b.k FROM {a} a FULL OUTER JOIN {b} b ON a.k = b.k": [
        (1, None), (2, 2), (3, None), (None, 10),
    ],
    "SELECT a.k, b.k FROM {a} a JOIN {b} b": [(k, other) for k in ONE for other in OTHER],
    "SELECT k FROM {a} WHERE k IN (SELECT k FROM {a}) AND k IN (SELECT k FROM {b})": [(2,)],
    "SELECT k FROM {a} WHERE k NOT IN (SELECT k FROM {b})": [(1,), (3,)],
    "SELECT x.k, y.k FROM {a} x JOIN {a} y ON x.k = y.k": [(k, k) for k in ONE],
    "SELECT a.c, b.c FROM (SELECT count(*) c FROM {a}) a JOIN (SELECT count(*) c FROM {b}) b": [
        (3, 2)
    ],
}  # fmt: skip
"""What each gives of the two relations."""


@pytest.mark.parametrize("deletes", ["filter", "join"])
@pytest.mark.parametrize("kind", KINDS)
def test_queries_read_each_table_as_itself(tables: Session, kind: str, deletes: str) -> None:
    """United, joined, nested; with adaptive execution and without, which reuse in ways of their
    own.
    """
    tables.sql(f"SET acidsql.read.deletes={deletes}")
    names = {"a": f"{kind}_1", "b": f"{kind}_2"}
    wanted = {sql.format(**names): Counter(rows) for sql, rows in QUERIES.items()}
    assert {sql: answers(tables, sql) for sql in wanted} == wanted
