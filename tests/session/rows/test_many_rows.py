"""INSERTs of so many rows that they are written while they are made, without Spark: few of them are
many here.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from acidsql.errors import DataError, IntegrityError, UnsupportedStatementError
from acidsql.plan.operators import LocalCheck, LocalRows, LocalScan, WriteFiles
from acidsql.session import Session
from acidsql.storage.footers import read_footer
from acidsql.storage.write import driver_writer, streaming

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
ROWS = 500_000


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    """One without Spark, with a table of ids and their texts."""
    for module in (driver_writer, streaming):
        monkeypatch.setattr(module, "MANY_BYTES", 1 << 20)
    with Session(tmp_path / "w", settings={"acidsql.engine": "local"}) as session:
        session.sql(f"CREATE TABLE source (id INT, name STRING) {ACID}")
        session.table("source").append(numbered(ROWS))
        yield session
        assert not session.spark_started


def numbered(count: int) -> pa.Table:
    return pa.table(
        {"id": pa.array(range(count), pa.int32()), "name": list(map(str, range(count)))}
    )


def files(session: Session, table: str) -> list[Path]:
    """All files of a table, hidden ones too, without those that say what a directory is."""
    below = Path(session.warehouse, table).rglob("*")
    return [path for path in below if path.is_file() and path.name != "_orc_acid_version"]


def test_rows_are_numbered_in_their_order(session: Session) -> None:
    """From 0 on in one file of several stripes, whichever thread has encoded them."""
    [file] = files(session, "source")
    assert len(read_footer(session.files, str(file)).stripes) > 2
    text = (
        "SELECT count(*), max(id), max(abs(ROW__ID.rowid - id)) AS off,"
        " max(ROW__ID.bucketid) - min(ROW__ID.bucketid) AS buckets, min(name) FROM source WHERE name = CAST(id AS STRING)"
    )
    assert list(session.sql(text)) == [(ROWS, ROWS - 1, 0, 0, "0")]


def test_a_query_is_written_while_it_is_read(session: Session) -> None:
    """The steps are those of a small one; rows that a condition leaves out are not there."""
    session.sql(f"CREATE TABLE t (id BIGINT NOT NULL, name STRING) {ACID}")
    text = "INSERT INTO t SELECT id, name FROM source WHERE id % 4 <> 1 LIMIT 300000"
    stats = session.sql(f"EXPLAIN ANALYZE {text}").stats
    kinds = [type(ran.operator) for ran in stats.steps]
    assert kinds[:4] == [LocalScan, LocalRows, LocalCheck, WriteFiles]
    assert stats.rows_inserted == 300_000
    assert list(session.sql("SELECT count(*), max(id % 4), max(id) FROM t")) == [
        (300_000, 3, 399_999)
    ]


@pytest.mark.parametrize("properties", ["", "TBLPROPERTIES ('transactional'='false')"])
def test_a_table_without_ids(session: Session, properties: str) -> None:
    """Rows that are no events are written the same way."""
    session.sql(f"CREATE EXTERNAL TABLE t (id INT, name STRING) STORED AS ORC {properties}")
    session.sql("INSERT INTO t SELECT * FROM source")
    assert list(session.sql("SELECT count(*), max(id) FROM t")) == [(ROWS, ROWS - 1)]


def test_one_partition(session: Session) -> None:
    """All rows go to the partition that the statement names, as other spellings name it, too."""
    session.sql(f"CREATE TABLE t (id INT, name STRING) PARTITIONED BY (hr INT, p STRING) {ACID}")
    session.sql("ALTER TABLE t ADD PARTITION (hr='01', p='a')")
    for verb in ("INSERT INTO", "INSERT OVERWRITE TABLE", "INSERT INTO"):
        session.sql(f"{verb} t PARTITION (hr=1, p='a') SELECT * FROM source")
    session.sql("INSERT INTO t PARTITION (hr=2, p) SELECT *, 'b' FROM source")
    session.sql("INSERT INTO t SELECT *, id % 2 + 4, 'd' FROM source")
    session.sql("INSERT INTO t PARTITION (hr='03', p='c') SELECT * FROM source")
    assert sorted(session.sql("SELECT hr, p, count(*), max(id) FROM t GROUP BY hr, p")) == [
        (1, "a", 2 * ROWS, ROWS - 1),
        (2, "b", ROWS, ROWS - 1),
        (3, "c", ROWS, ROWS - 1),
        (4, "d", ROWS // 2, ROWS - 2),
        (5, "d", ROWS // 2, ROWS - 1),
    ]
    assert [row[0] for row in session.sql("SHOW PARTITIONS t")] == [
        "hr=1/p=a",
        "hr=2/p=b",
        "hr=3/p=c",
        "hr=4/p=d",
        "hr=5/p=d",
    ]


def test_a_rule_that_the_last_row_breaks(session: Session) -> None:
    """It is told when other rows are written, and nothing is left of them."""
    session.sql(f"CREATE TABLE t (id INT CHECK (id < {ROWS - 1}), name STRING) {ACID}")
    with pytest.raises(IntegrityError, match="CHECK"):
        session.sql("INSERT INTO t SELECT * FROM source")
    assert files(session, "t") == []
    assert list(session.sql("SELECT count(*) FROM t")) == [(0,)]
    session.sql(f"INSERT INTO t SELECT * FROM source WHERE id < {ROWS - 1}")
    assert list(session.sql("SELECT count(*) FROM t")) == [(ROWS - 1,)]


def test_a_value_of_sparks_in_the_last_row(session: Session) -> None:
    """The statement is refused, and nothing is left of it."""
    session.sql(f"CREATE TABLE t (id INT, d DATE) {ACID}")
    first = datetime.date(1582, 10, 14) + datetime.timedelta(days=ROWS - 1)
    text = f"SELECT id, date_add(DATE '{first}', -id) FROM source"
    with pytest.raises(UnsupportedStatementError, match="only Java writes"):
        session.sql(f"INSERT INTO t {text}")
    assert files(session, "t") == []
    session.sql(f"INSERT INTO t {text} WHERE id < {ROWS} - 10")
    assert list(session.sql("SELECT count(*) FROM t")) == [(ROWS - 10,)]


def test_what_values_lose_is_counted(session: Session) -> None:
    """In all batches together."""
    session.sql(f"CREATE TABLE t (id TINYINT, name STRING) {ACID}")
    session.sql("SET acidsql.ansi=false")
    result = session.sql("INSERT INTO t SELECT * FROM source")
    [warning] = result.warnings
    assert f"{ROWS - 128:,}" in warning.message or str(ROWS - 128) in warning.message


def test_it_is_part_of_a_transaction(session: Session) -> None:
    """Rolled back it leaves nothing; what follows it sees its rows, and changes them."""
    session.sql(f"CREATE TABLE t (id INT, name STRING) {ACID}")
    session.begin()
    session.sql("INSERT INTO t SELECT * FROM source")
    assert list(session.sql("SELECT count(*) FROM t")) == [(ROWS,)]
    session.rollback()
    assert files(session, "t") == []
    with session.transaction():
        session.sql("INSERT INTO t SELECT * FROM source")
        session.sql("DELETE FROM t WHERE id >= 7")
    assert list(session.sql("SELECT count(*), max(id) FROM t")) == [(7, 6)]


def test_a_dry_run_writes_nothing(session: Session) -> None:
    """It counts all rows."""
    session.sql(f"CREATE TABLE t (id INT, name STRING) {ACID}")
    session.sql("SET acidsql.dry.run=true")
    result = session.sql("INSERT INTO t SELECT * FROM source")
    session.sql("SET acidsql.dry.run=false")
    assert f"default.t: {ROWS:,} rows" in str(result)
    assert files(session, "t") == []


def test_a_table_is_read_and_written_at_once(session: Session) -> None:
    """A statement sees what was there when it began."""
    session.sql("INSERT INTO source SELECT * FROM source")
    assert list(session.sql("SELECT count(*), count(DISTINCT id) FROM source")) == [
        (2 * ROWS, ROWS)
    ]
    session.sql("INSERT OVERWRITE TABLE source SELECT * FROM source WHERE id < 400000")
    assert list(session.sql("SELECT count(*), max(id) FROM source")) == [(800_000, 399_999)]


def test_a_new_table_of_a_query(session: Session) -> None:
    """CREATE TABLE .. AS writes its rows so, too."""
    session.sql("CREATE TRANSACTIONAL TABLE t AS SELECT id, name FROM source")
    assert list(session.sql("SELECT count(*), max(id) FROM t")) == [(ROWS, ROWS - 1)]


def test_frames_and_streams(session: Session) -> None:
    """Whole tables of Arrow's, and readers, which are read once."""
    session.sql(f"CREATE TABLE t (id INT, name STRING) {ACID}")
    session.table("t").append(numbered(ROWS))
    session.table("t").append(numbered(ROWS).to_reader(max_chunksize=1000))
    assert list(session.sql("SELECT count(*), count(DISTINCT id) FROM t")) == [(2 * ROWS, ROWS)]
    broken = numbered(ROWS).set_column(0, "id", [[*range(ROWS - 1), 1 << 40]])
    with pytest.raises(DataError, match=f"row {ROWS - 1} of the frame"):
        session.table("t").append(broken)
    assert list(session.sql("SELECT count(*) FROM t")) == [(2 * ROWS,)]
