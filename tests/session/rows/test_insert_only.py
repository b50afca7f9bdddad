"""Insert-only tables: rows come and go with their directories, in every format, on both write
paths.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from acidsql import crash_points
from acidsql.catalog.model import TableName
from acidsql.errors import BindError, Error, NotTransactionalTableError, WriteConflictError
from acidsql.session import Session

pytestmark = pytest.mark.spark

T = TableName("default", "t")
PROPERTIES = "TBLPROPERTIES ('transactional'='true', 'transactional_properties'='insert_only')"
FORMATS = ("ORC", "PARQUET", "TEXTFILE")


def rows(session: Session, query: str = "SELECT * FROM t") -> list[Any]:
    return sorted(session.sql(query).rows())


def files(warehouse: Path) -> list[str]:
    """Of table t, without those of Hadoop's checksums."""
    paths = (
        path for path in (warehouse / "t").rglob("*") if path.is_file() and path.suffix != ".crc"
    )
    return sorted(path.relative_to(warehouse / "t").as_posix() for path in paths)


def create(session: Session, stored_as: str, more: str = "") -> None:
    session.sql(f"CREATE TABLE t (id INT, v STRING) {more} STORED AS {stored_as} {PROPERTIES}")


@pytest.mark.parametrize("stored_as", FORMATS)
@pytest.mark.parametrize("path", ["small", "big"])
def test_rows_are_inserted_overwritten_and_truncated(
    session: Session, warehouse: Path, stored_as: str, path: str
) -> None:
    """Files are named as Hive's tasks name them; there is no version file; an emptied base has a
    file that Hive can see.
    """
    create(session, stored_as)
    session.sql(f"SET acidsql.write.path={path}")
    session.sql("INSERT INTO t VALUES (1, 'a'), (2, NULL)")
    assert (
        session.sql("INSERT INTO t SELECT id + 10, v FROM t WHERE id = 1").stats.rows_inserted == 1
    )
    assert rows(session) == [(1, "a"), (2, None), (11, "a")]
    assert session.sql("SELECT count(*) FROM t WHERE id > 1").to_arrow().to_pylist() == [
        {"count(1)": 2}
    ]
    session.sql("INSERT OVERWRITE TABLE t SELECT * FROM t WHERE id = 11")
    assert rows(session) == [(11, "a")]
    session.sql("TRUNCATE TABLE t")
    assert rows(session) == []
    assert [name for name in files(warehouse) if not name.startswith("base_0000003")] == [
        "base_0000004/000000_0",
        "delta_0000001_0000001_0000/000000_0",
        "delta_0000002_0000002_0000/000000_0",
    ]
    assert (warehouse / "t" / "base_0000004" / "000000_0").stat().st_size == 0


@pytest.mark.parametrize("stored_as", FORMATS)
def test_partitions_and_buckets(session: Session, warehouse: Path, stored_as: str) -> None:
    """Each partition has deltas of its own, each bucket a file."""
    create(session, stored_as, "PARTITIONED BY (p INT) CLUSTERED BY (id) INTO 2 BUCKETS")
    session.sql("INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 1), (3, 'c', 2), (4, 'd', NULL)")
    session.sql(
        "FROM t INSERT INTO t PARTITION (p = 3) SELECT id, v WHERE p = 1 INSERT OVERWRITE TABLE t PARTITION (p = 2) SELECT id + 6, v WHERE p = 2"
    )
    assert rows(session, "SELECT id, v, coalesce(p, -1) FROM t") == [
        (1, "a", 1), (1, "a", 3), (2, "b", 1), (2, "b", 3), (4, "d", -1), (9, "c", 2)]  # fmt: skip
    session.sql("TRUNCATE TABLE t PARTITION (p = 1)")
    assert rows(session, "SELECT id FROM t WHERE p < 3") == [(9,)]
    written = [
        f"{place}/delta_0000001_0000001_0000"
        for place in ("p=1", "p=1", "p=2", "p=__HIVE_DEFAULT_PARTITION__")
    ]
    written += [
        "p=1/base_0000003",
        "p=2/base_0000002",
        "p=3/delta_0000002_0000002_0000",
        "p=3/delta_0000002_0000002_0000",
    ]
    assert sorted(name.rpartition("/")[0] for name in files(warehouse)) == sorted(written)


def test_what_needs_row_ids_is_refused(session: Session) -> None:
    """Rows have none."""
    create(session, "ORC")
    for statement in (
        "UPDATE t SET v = 'x'",
        "DELETE FROM t",
        "MERGE INTO t USING t s ON t.id = s.id WHEN NOT MATCHED THEN INSERT VALUES (1, 'x')",
    ):
        with pytest.raises(NotTransactionalTableError, match="10414"):
            session.sql(statement)
    with pytest.raises(BindError, match="have no ROW__ID"):
        session.sql("SELECT ROW__ID FROM t")
    session.sql("CREATE TABLE a (id INT) STORED AS ORC TBLPROPERTIES ('transactional'='true')")
    session.sql("INSERT INTO a VALUES (1)")
    session.sql("INSERT INTO t VALUES (1, 'x')")
    assert rows(session, "SELECT a.ROW__ID.writeid, v FROM a JOIN t ON a.id = t.id") == [(1, "x")]


def test_open_and_aborted_rows_are_not_seen(session: Session, warehouse: Path) -> None:
    """A delta counts when its transaction has committed, and never if that was aborted; a base left
    by one goes with the next writer.
    """
    create(session, "ORC")
    session.sql("INSERT INTO t VALUES (1, 'a')")
    opened = session.store.begin([T])
    folder = warehouse / "t"
    for name in ("delta_0000002_0000002_0000", "base_0000002"):
        (folder / name).mkdir()
        (folder / name / "000000_0").write_bytes(
            (folder / "delta_0000001_0000001_0000" / "000000_0").read_bytes()
        )
    assert rows(session) == [(1, "a")]
    session.store.abort(opened.txn_id)
    assert rows(session) == [(1, "a")]
    session.sql("INSERT INTO t SELECT id + 1, v FROM t")
    assert rows(session) == [(1, "a"), (2, "a")]
    assert not (folder / "base_0000002").exists()


def test_an_overwriting_conflicts_with_an_insert_beside_it(
    session: Session, warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would hide rows it has not seen; nothing of it stays."""
    create(session, "TEXTFILE")
    session.sql("INSERT INTO t VALUES (1, 'a')")
    with Session(warehouse) as other:

        def meanwhile(reached: str) -> None:
            if reached == "begun":
                monkeypatch.setattr(crash_points, "reached", lambda _: None)
                other.sql("TRUNCATE TABLE t")

        monkeypatch.setattr(crash_points, "reached", meanwhile)
        with pytest.raises(WriteConflictError):
            session.sql("INSERT INTO t VALUES (2, 'b')")
    assert rows(session) == []


def test_a_transaction_over_several_statements(session: Session, warehouse: Path) -> None:
    """It reads its own rows; what it inserts beside its own overwriting joins the base; a failed
    statement leaves nothing.
    """
    create(session, "PARQUET")
    session.sql("INSERT INTO t VALUES (1, 'a')")
    with session.transaction():
        session.sql("INSERT INTO t VALUES (2, 'b')")
        session.sql("INSERT INTO t SELECT id + 100, v FROM t WHERE id = 2")
        assert rows(session) == [(1, "a"), (2, "b"), (102, "b")]
        with pytest.raises(Error):
            session.sql("INSERT INTO t SELECT CAST(raise_error('no') AS INT), v FROM t")
        session.sql("INSERT OVERWRITE TABLE t SELECT * FROM t WHERE id > 1")
        session.sql("INSERT INTO t VALUES (3, 'c')")
        assert rows(session) == [(2, "b"), (3, "c"), (102, "b")]
    assert rows(session) == [(2, "b"), (3, "c"), (102, "b")]
    names = files(warehouse)
    assert [name for name in names if not name.startswith("delta_0000001")] == sorted(
        {name for name in names if name.startswith("base_0000002/")}
    )


@pytest.mark.parametrize(
    ("stored_as", "path"),
    [
        ("ORC", "small"),
        ("PARQUET", "big"),
        pytest.param("ORC", "big", marks=pytest.mark.slow),
        pytest.param("PARQUET", "small", marks=pytest.mark.slow),
    ],
)
def test_union_all_is_one_delta(session: Session, stored_as: str, path: str) -> None:
    """Hive makes a statement of each leg; readers do not mind."""
    create(session, stored_as)
    session.sql(
        "CREATE TABLE a (id INT, v STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true')"
    )
    session.sql("INSERT INTO t VALUES (1, 'a')")
    session.sql(f"SET acidsql.write.path={path}")
    for target, directory in (
        ("t", "t/delta_0000002_0000002_0000"),
        ("a", "a/delta_0000001_0000001_0000"),
    ):
        done = session.sql(
            f"INSERT INTO {target} SELECT id, v FROM t UNION ALL SELECT id + 1, 'u' FROM t UNION ALL SELECT 9, NULL"
        )
        assert (done.stats.rows_inserted, done.stats.directories) == (
            3 if target == "t" else 9,
            (directory,),
        )
    assert rows(session, "SELECT id, v FROM t WHERE v IS NOT NULL") == [
        (1, "a"),
        (1, "a"),
        (2, "u"),
    ]
    assert rows(session, "SELECT count(DISTINCT ROW__ID), count(*) FROM a") == [(9, 9)]
