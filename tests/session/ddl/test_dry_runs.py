"""Dry runs of what takes rows away: what they say is what the statement then does, and they do
nothing. No Spark.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from acidsql.errors import BindError, ParseError
from acidsql.session import Session

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
_GOES = re.compile(r"(?:([\d,]+) rows? in )?([\d,]+) files? \(([\d,]+) bytes?\)")


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    """Tables of all kinds, whose rows were inserted, deleted and overwritten."""
    with Session(tmp_path / "w", settings={"acidsql.engine": "local"}) as session:
        for sql in (
            f"CREATE TABLE t (k INT, v STRING) {ACID}",
            f"CREATE TABLE p (k INT, v STRING) PARTITIONED BY (d INT) {ACID}",
            "CREATE TABLE plain (k INT, v STRING) STORED AS PARQUET",
            "CREATE TABLE lines (k INT, v STRING) STORED AS TEXTFILE",
            "CREATE EXTERNAL TABLE x (k INT, v STRING) STORED AS ORC",
            "CREATE VIEW v AS SELECT k FROM t",
            "INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')",
            "DELETE FROM t WHERE k = 1",
            "INSERT INTO p VALUES (1, 'a', 1), (2, 'b', 1), (3, 'c', 2), (4, 'd', 3)",
            "INSERT OVERWRITE TABLE p PARTITION (d=2) VALUES (7, 'x'), (8, 'y')",
        ):
            session.sql(sql)
        rows = pa.table({"k": pa.array([1, 2], pa.int32()), "v": ["a", "b"]})
        pq.write_table(rows, tmp_path / "plain.parquet")
        orc.write_table(rows.slice(0, 1), tmp_path / "x.orc")
        (tmp_path / "lines.txt").write_text("1\x01a\n2\x01b\n")
        for name in ("plain.parquet", "x.orc", "lines.txt"):
            into = name.partition(".")[0]
            session.sql(f"LOAD DATA LOCAL INPATH '{tmp_path}/{name}' INTO TABLE {into}")
        yield session
        assert not session.spark_started


def dry_run(session: Session, sql: str) -> list[str]:
    """The answer of ``DRY RUN sql``, which ``acidsql.dry.run`` gives as well; nothing has changed."""
    before = state(session)
    result = session.sql(f"DRY RUN {sql}")
    assert [column.name for column in result.columns] == ["Dry run"]
    lines = [str(line) for (line,) in result.fetchall()]
    session.sql("SET acidsql.dry.run=true")
    assert [line for (line,) in session.sql(sql).fetchall()] == lines
    session.sql("SET acidsql.dry.run=false")
    assert state(session) == before
    return lines


def state(session: Session) -> object:
    root = Path(session.warehouse)
    files = {path for path in root.rglob("*") if "_acidsql" not in path.parts}
    tables = [name for (name,) in session.sql("SHOW TABLES").fetchall()]
    return files, tables, session.sql("SHOW PARTITIONS p").fetchall()


def numbers(line: str) -> tuple[int | None, int, int]:
    """Rows, files and bytes of a line."""
    match = _GOES.search(line)
    assert match is not None, line
    rows, files, size = (None if n is None else int(n.replace(",", "")) for n in match.groups())
    assert files is not None
    assert size is not None
    return rows, files, size


def lying(session: Session, *directories: str) -> tuple[int, int]:
    """Files and bytes below directories, without hidden files."""
    root = Path(session.warehouse)
    sizes = [
        path.stat().st_size
        for directory in directories
        for path in (root / directory).rglob("*")
        if path.is_file() and not path.name.startswith(("_", "."))
    ]
    return len(sizes), sum(sizes)


def count(session: Session, table: str) -> int:
    [(rows,)] = session.sql(f"SELECT count(*) FROM {table}").fetchall()
    assert isinstance(rows, int)
    return rows


@pytest.mark.parametrize(("table", "rows"), [("t", 2), ("p", 5), ("plain", 2)])
def test_a_drop_says_all_rows_files_and_bytes(session: Session, table: str, rows: int) -> None:
    """Also files that no reader sees any more; they cannot come back, and do not."""
    head, fate, *_ = dry_run(session, f"DROP TABLE {table}")
    assert head.startswith(f"DROP TABLE default.{table}: ")
    assert head.endswith(" go")
    assert numbers(head) == (rows, *lying(session, table))
    assert "cannot be undone" in fate
    session.sql(f"DROP TABLE {table}")
    assert lying(session, table) == (0, 0)


def test_the_files_of_an_external_table_stay(session: Session) -> None:
    """As they are told to, and a table made at their place has their rows."""
    head, fate, where = dry_run(session, "DROP TABLE x")
    assert head == f"DROP TABLE default.x: {head.split(': ')[1]}"
    assert numbers(head) == (1, *lying(session, "x"))
    assert head.endswith(" stay and are not read any more")
    assert "the files stay" in fate
    location = where.removeprefix("  directory: ")
    session.sql("DROP TABLE x")
    session.sql(f"CREATE EXTERNAL TABLE x (k INT, v STRING) STORED AS ORC LOCATION '{location}'")
    assert session.sql("SELECT k, v FROM x").fetchall() == [(1, "a")]


def test_a_purged_external_table_goes(session: Session) -> None:
    session.sql("ALTER TABLE x SET TBLPROPERTIES ('external.table.purge'='true')")
    head, fate, _ = dry_run(session, "DROP TABLE x PURGE")
    assert head.endswith(" go")
    assert "cannot be undone" in fate


@pytest.mark.parametrize(
    ("sql", "table", "rows", "directories"),
    [
        ("TRUNCATE TABLE t", "t", 2, ["t"]),
        ("TRUNCATE TABLE p PARTITION (d=2)", "p", 2, ["p/d=2/base_0000002"]),
        ("TRUNCATE TABLE plain", "plain", 2, ["plain"]),
        ("INSERT OVERWRITE TABLE t SELECT * FROM t WHERE k = 9", "t", 2, ["t"]),
        ("INSERT OVERWRITE TABLE p PARTITION (d=1) VALUES (5, 'e')", "p", 2, ["p/d=1"]),
        ("INSERT OVERWRITE TABLE p PARTITION (d) SELECT k, v, 3 FROM t", "p", 1, ["p/d=3"]),
    ],
)
def test_what_is_overwritten_is_told(
    session: Session, sql: str, table: str, rows: int, directories: list[str]
) -> None:
    """The rows that readers see and their files; whether the files are hidden or gone."""
    lines = dry_run(session, sql)
    goes = next(line for line in lines if line.endswith(" go"))
    assert numbers(goes) == (rows, *lying(session, *directories))
    as_of = re.search(r"session\.scan\('default\.(\w)', as_of=(\d+)\)", lines[-1])
    if as_of is None:
        assert lines[-1].startswith("  cannot be undone")
        return
    assert as_of[1] == table
    before = sorted(session.sql(f"SELECT k, v FROM {table}").fetchall())
    session.sql(sql)
    seen = session.scan(f"default.{table}", as_of=int(as_of[2])).to_arrow().to_pylist()
    assert sorted((row["k"], row["v"]) for row in seen) == before


def test_a_dropped_partition_says_its_rows(session: Session) -> None:
    head, fate, _ = dry_run(session, "ALTER TABLE p DROP PARTITION (d < 3)")
    assert head.startswith("ALTER TABLE default.p DROP PARTITION: 2 partitions (d=1, d=2) and ")
    assert numbers(head) == (4, *lying(session, "p/d=1", "p/d=2"))
    assert "cannot be undone" in fate


def test_a_dropped_database_says_each_table(session: Session) -> None:
    """And is refused as the statement is, without CASCADE."""
    session.sql("CREATE DATABASE d")
    session.sql(f"CREATE TABLE d.a (k INT) {ACID}")
    session.sql("INSERT INTO d.a VALUES (1), (2)")
    session.sql("CREATE EXTERNAL TABLE d.b (k INT) STORED AS ORC")
    session.sql("CREATE VIEW d.c AS SELECT k FROM d.a")
    with pytest.raises(BindError, match="is not empty"):
        session.sql("DRY RUN DROP DATABASE d")
    head, a, b, c, fate = dry_run(session, "DROP DATABASE d CASCADE")
    assert head.startswith("DROP DATABASE d CASCADE: 3 tables and 2 rows in 1 file ")
    assert numbers(a) == (2, *lying(session, "d.db/a"))
    assert b.endswith(" stay: the table is external")
    assert c == "  d.c: a view, whose text goes"
    assert "cannot be undone" in fate


def test_views_and_what_is_not_there_lose_no_rows(session: Session) -> None:
    assert dry_run(session, "DROP VIEW v")[0] == "DROP VIEW default.v: no rows"
    assert dry_run(session, "DROP TABLE IF EXISTS nix") == [
        "DROP: there is none of that name, nothing goes"
    ]


def test_another_location_says_what_is_not_read_any_more(session: Session, tmp_path: Path) -> None:
    head, back, there = dry_run(session, f"ALTER TABLE x SET LOCATION '{tmp_path}/e'")
    assert numbers(head) == (1, *lying(session, "x"))
    assert back.endswith("SET LOCATION to it brings them back")
    assert there.endswith(f"{tmp_path}/e")


def test_loaded_files_say_what_they_overwrite(session: Session, tmp_path: Path) -> None:
    (tmp_path / "new.txt").write_text("7\x01z\n")
    lines = dry_run(
        session, f"LOAD DATA LOCAL INPATH '{tmp_path}/new.txt' OVERWRITE INTO TABLE lines"
    )
    assert numbers(lines[-2]) == (None, *lying(session, "lines"))
    assert lines[-1].startswith("  cannot be undone")


def test_an_aborted_transaction_says_its_tables(session: Session) -> None:
    """And one that is not open loses nothing."""
    with Session(session.warehouse) as other:
        other.sql("START TRANSACTION")
        other.sql("INSERT INTO t VALUES (9, 'z')")
        [txn_id] = [t.txn_id for t in session.store.list_txns() if t.state == "o"]
        head, goes, _, last = dry_run(session, f"ABORT TRANSACTIONS {txn_id} 999")
        assert head.startswith(f"ABORT TRANSACTIONS {txn_id}: open, of ")
        assert goes == "  what it has written to default.t is never seen; its files are deleted"
        assert last == "ABORT TRANSACTIONS 999: it is not there, nothing goes"
        other.sql("COMMIT")
    assert count(session, "t") == 3


def test_a_transaction_offers_its_way_back(session: Session) -> None:
    """For rows; DDL would be refused."""
    session.sql("START TRANSACTION")
    session.sql("INSERT INTO t VALUES (9, 'z')")
    head, fate = [line for (line,) in session.sql("DRY RUN TRUNCATE TABLE t").fetchall()]
    assert numbers(str(head))[0] == 3
    assert str(fate).startswith("  ROLLBACK brings them back until COMMIT")
    *_, last = [line for (line,) in session.sql("DRY RUN DROP TABLE t").fetchall()]
    assert last == "  refused while the transaction is open: COMMIT or ROLLBACK first"
    session.sql("ROLLBACK")


def test_rows_that_nobody_has_counted_are_no_zero(session: Session) -> None:
    """Of text files without statistics, or with such of other files."""
    assert "rows that nobody has counted in 1 file " in dry_run(session, "DROP TABLE lines")[0]
    session.sql("TRUNCATE TABLE lines")
    assert " 0 rows in 0 files " in dry_run(session, "DROP TABLE lines")[0]
    (Path(session.warehouse) / "lines" / "another").write_text("7\x01z\n")
    assert "rows that nobody has counted in 1 file " in dry_run(session, "DROP TABLE lines")[0]


@pytest.mark.parametrize("sql", ["SELECT 1", "EXPLAIN DROP TABLE t", "SHOW TABLES", "COMMIT"])
def test_what_changes_nothing_has_no_dry_run(session: Session, sql: str) -> None:
    with pytest.raises(ParseError):
        session.sql(f"DRY RUN {sql}")


def test_counts_are_written_in_one_way(session: Session) -> None:
    """Rows that are written and those that go have the same marks of thousands."""
    session.sql(f"INSERT INTO t VALUES {', '.join(f'({k}, NULL)' for k in range(1022))}")
    [heading, where, *_] = dry_run(session, "UPDATE t SET v = 'u'")
    assert heading.endswith(": 1,024 rows")
    assert ": 1,024 rows in bucket" in where
    assert any("1,024 rows in " in line for line in dry_run(session, "DROP TABLE t"))
