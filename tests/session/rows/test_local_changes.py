"""Statements that change rows under acidsql.engine=auto: by the driver alone, or by Spark where the
driver finds that it cannot.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from acidsql.errors import UnsupportedStatementError
from acidsql.plan.operators import LocalScan, Ran
from acidsql.session import Session

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
ONLY_SPARKS = "ǆ"
"""A letter whose upper case the driver leaves to Spark."""


def prepare(session: Session) -> None:
    session.sql(f"CREATE TABLE t (id INT, name STRING, n BIGINT) {ACID}")
    session.sql(f"CREATE TABLE s (id INT, name STRING) {ACID}")
    session.sql(f"INSERT INTO t VALUES (1, 'a', 0), (2, 'b', 1), (3, '{ONLY_SPARKS}', 2)")
    session.sql("INSERT INTO s VALUES (1, 'one'), (9, 'nine')")


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Session]:
    """A session that never starts Spark."""
    with Session(tmp_path / "w") as session:
        prepare(session)
        yield session
        assert not session.spark_started


def rows(session: Session) -> list[tuple[object, ...]]:
    return [tuple(row) for row in session.sql("SELECT * FROM t ORDER BY id, name").rows()]


def staged(folder: Path) -> list[str]:
    """The hidden directories of table ``t``."""
    return sorted(path.name for path in (folder / "t").glob(".acidsql_*"))


@pytest.mark.parametrize("transaction", [False, True], ids=["alone", "in a transaction"])
def test_understood_changes_need_no_spark(alone: Session, transaction: bool) -> None:
    """UPDATE, DELETE, MERGE of a table and of VALUES, INSERT of a query whose columns have no sure
    names, of one whose FROM stands first, and of rows in a query. A dry run counts their rows
    before.
    """
    if transaction:
        alone.sql("START TRANSACTION")
    for sql, counts in {
        "UPDATE t SET name = concat(name, '!'), n = DEFAULT WHERE id < 3 AND n IS NOT NULL": (
            0,
            2,
            0,
        ),
        "DELETE FROM t WHERE name LIKE 'b%'": (0, 0, 1),
        "INSERT INTO t SELECT id + 10, upper(name), length(name) * 2 FROM s WHERE id > 1": (
            1,
            0,
            0,
        ),
        "INSERT INTO t SELECT 20, 'x', 7 UNION ALL SELECT 21, lower('Y'), NULL": (2, 0, 0),
        "INSERT INTO t SELECT * FROM VALUES (30, 'z', 1), (31, NULL, 2)": (2, 0, 0),
        "INSERT INTO t SELECT explode(array(50, NULL, 51)), 'e', 1 UNION ALL SELECT 52, 'f', 2": (
            4,
            0,
            0,
        ),
        "FROM s AS x INSERT INTO t SELECT x.id + 60, upper(name), 3 WHERE id < 9": (1, 0, 0),
        "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED AND t.name = 'a!' THEN UPDATE SET n = s.id"
        " WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.name, NULL)": (1, 1, 0),
        "MERGE INTO t USING (SELECT * FROM VALUES (9, 'gone'), (40, 'new') AS x (id, w)) v ON t.id = v.id"
        " WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (v.id, v.w, 0)": (1, 0, 1),
    }.items():
        [heading], *_ = alone.sql(f"DRY RUN {sql}").rows()
        assert f": {sum(counts)} row" in heading
        stats = alone.sql(sql).stats
        assert (stats.rows_inserted, stats.rows_updated, stats.rows_deleted) == counts, sql
        assert stats.path == "small"
    if transaction:
        alone.sql("COMMIT")
    assert rows(alone) == [
        (None, "e", 1),
        (1, "a!", 1),
        (3, ONLY_SPARKS, 2),
        (19, "NINE", 8),
        (20, "x", 7),
        (21, "y", None),
        (30, "z", 1),
        (31, None, 2),
        (40, "new", 0),
        (50, "e", 1),
        (51, "e", 1),
        (52, "f", 2),
        (61, "ONE", 3),
    ]


def test_explain_says_who_changes_rows(alone: Session) -> None:
    """EXPLAIN names what the driver reads at most, or why it is Spark."""
    explained = {
        "UPDATE t SET n = 1 WHERE id = 1": "local up to 256 MB of row__id, id, name, else spark",
        "DELETE FROM t WHERE id IN (SELECT id FROM s)": (
            "local up to 256 MB of row__id, id of default.t and id of default.s, else spark"
        ),
        "DELETE FROM t WHERE (id, id) IN (SELECT id, id FROM s)": "spark (these words)",
        "INSERT INTO t (id) SELECT id FROM s": "local up to 256 MB of id, else spark",
        "MERGE INTO t USING s ON t.id < s.id WHEN MATCHED THEN DELETE": (
            "spark (an ON without values that must be equal)"
        ),
    }
    for sql, engine in explained.items():
        assert f"engine: {engine}" in text_of(alone, sql), sql
    alone.sql("SET acidsql.write.path=big")
    assert "engine: spark (acidsql.write.path=big)" in text_of(alone, next(iter(explained)))
    alone.sql("SET acidsql.engine=spark")
    assert "engine:" not in text_of(alone, next(iter(explained)))


def text_of(session: Session, sql: str) -> str:
    return "\n".join(str(row[0]) for row in session.sql(f"EXPLAIN {sql}").rows())


def test_what_the_driver_refuses_leaves_nothing(alone: Session, tmp_path: Path) -> None:
    """A statement that fails half-way takes no statement id and leaves no file; those before it and
    behind it go on.
    """
    alone.sql("SET acidsql.engine=local")
    alone.sql("START TRANSACTION")
    first = alone.sql("UPDATE t SET n = 5 WHERE id = 1").stats
    before = staged(tmp_path / "w")
    for sql in (
        "UPDATE t SET name = upper(name)",
        "INSERT INTO t SELECT id, upper(name), n FROM t",
        "MERGE INTO t USING s ON t.id = s.id + 2 WHEN MATCHED THEN UPDATE SET name = upper(t.name)",
    ):
        with pytest.raises(UnsupportedStatementError, match="does not carry this out"):
            alone.sql(sql)
        assert staged(tmp_path / "w") == before, sql
    second = alone.sql("DELETE FROM t WHERE id = 2").stats
    assert [name.rpartition("_")[2] for name in (*first.directories, *second.directories)] == [
        "0000",
        "0000",
        "0001",
    ]
    alone.sql("COMMIT")
    assert staged(tmp_path / "w") == []
    assert rows(alone) == [(1, "a", 5), (3, ONLY_SPARKS, 2)]


@pytest.mark.spark
def test_spark_takes_over_in_the_same_statement(session: Session, warehouse: Path) -> None:
    """Where a value is only Spark's, the attempt leaves no file and takes no id: the transaction has
    one write id, and its statements are numbered without a gap.
    """
    prepare(session)
    session.sql("START TRANSACTION")
    stats = []
    for number, sql in enumerate(
        (
            "INSERT INTO t SELECT id + 10, name, 1 FROM s",
            "UPDATE t SET name = upper(name) WHERE id < 10",
            "MERGE INTO t USING s ON t.id = s.id + 2"
            f" WHEN MATCHED THEN UPDATE SET name = upper(substr('{ONLY_SPARKS}', s.id))",
            "DELETE FROM t WHERE id = 11",
        )
    ):
        stats.append(session.sql(sql).stats)
        assert len(staged(warehouse)) == number + 1, sql
    assert [any(ran.in_vain for ran in one.steps) for one in stats] == [False, True, True, False]
    assert [{name.rpartition("_")[2] for name in one.directories} for one in stats] == [
        {f"000{number}"} for number in range(4)
    ]
    assert len({tuple(one.write_ids.items()) for one in stats}) == 1
    session.sql("COMMIT")
    assert staged(warehouse) == []
    assert rows(session) == [(1, "A", 0), (2, "B", 1), (3, ONLY_SPARKS.upper(), 2), (19, "nine", 1)]


@pytest.mark.spark
def test_both_tables_of_a_merge_weigh(session: Session, warehouse: Path) -> None:
    """Tables that are small enough each, and not together, are Spark's before anything is read."""
    prepare(session)
    sizes = [
        sum(path.stat().st_size for path in (warehouse / name).rglob("bucket_*")) for name in "ts"
    ]
    merge = "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED AND t.n = 0 THEN UPDATE SET n = 8"
    session.sql(f"SET acidsql.local.max.bytes={sum(sizes) - 1}")
    first: Ran = session.sql(merge).stats.steps[0]
    assert isinstance(first.operator, LocalScan)
    assert (first.operator.read.table.name.table, first.in_vain, first.bytes) == (
        "s",
        True,
        sizes[1],
    )
    assert rows(session)[0] == (1, "a", 8)
    session.sql("UPDATE t SET n = 0 WHERE id = 1")
    session.sql("SET acidsql.local.max.bytes=1g")
    assert not any(ran.in_vain for ran in session.sql(merge).stats.steps)
    assert rows(session)[0] == (1, "a", 8)
