"""Rows that come one batch after the other, and are kept nowhere."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import orc

from acidsql.errors import Error, ExecutionError, InterfaceError
from acidsql.result import Result, tuples_of
from acidsql.session import Session
from acidsql.spark.read.answers import Spool

ROWS = 300_000
ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"


@pytest.fixture
def local(warehouse: Path, tmp_path: Path) -> Iterator[Session]:
    """A session without Spark, on a table of several batches of which one row is deleted."""
    with Session(str(warehouse), settings={"acidsql.engine": "local"}) as session:
        session.sql(f"CREATE TABLE t (id BIGINT, name STRING) {ACID}")
        ids = pa.array(range(ROWS))
        orc.write_table(pa.table({"id": ids, "name": ids.cast(pa.string())}), tmp_path / "x.orc")
        session.sql(f"LOAD DATA LOCAL INPATH '{tmp_path}/x.orc' INTO TABLE t")
        session.sql("DELETE FROM t WHERE id = 5")
        yield session


def streamed(result: Result) -> list[tuple[object, ...]]:
    return [row for batch in result.batches() for row in tuples_of(batch)]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM t",
        "SELECT id + 1 AS next FROM t WHERE id > 299990",
        "SELECT id FROM t LIMIT 3",
        "SELECT id FROM t LIMIT 150000 OFFSET 131071",
        "SELECT id FROM t LIMIT 0",
        "SELECT id FROM t WHERE id < 0",
        "SELECT max(id), count(*) FROM t",
        "SELECT id FROM t ORDER BY id DESC LIMIT 3",
        "SELECT DISTINCT id % 3 AS r FROM t",
        "SHOW TABLES",
    ],
)
def test_streamed_rows_are_the_rows(local: Session, query: str) -> None:
    """Whether a query can be answered as it is read or not, its batches are its rows in order."""
    assert streamed(local.sql(query)) == list(local.sql(query).rows())


def test_rows_come_before_all_are_read(local: Session) -> None:
    """The first batch is there while the others are not, and the session is free when the stream is
    closed."""
    result = local.sql("SELECT * FROM t")
    batches = result.batches()
    assert 0 < next(batches).num_rows < ROWS
    batches.close()
    assert list(local.sql("SELECT count(*) FROM t").rows()) == [(ROWS - 1,)]


def test_streamed_rows_are_not_given_twice(local: Session) -> None:
    """Nor are they given for none: whoever asks again is told."""
    result = local.sql("SELECT * FROM t")
    streamed(result)
    for again in (result.to_arrow, lambda: streamed(result)):
        with pytest.raises(InterfaceError, match="the rows have been streamed"):
            again()
    kept = local.sql("SELECT * FROM t")
    assert len(list(kept.rows())) == len(streamed(kept)) == ROWS - 1


def test_files_are_kept_for_a_stream(local: Session) -> None:
    """What another statement removes meanwhile is still read, and given up at the end."""
    batches = local.sql("SELECT * FROM t").batches()
    count = next(batches).num_rows
    with local.open_beside() as beside:
        beside.sql("DELETE FROM t WHERE id < 1000")
        beside.sql("ALTER TABLE t COMPACT 'major' AND WAIT")
    assert count + sum(batch.num_rows for batch in batches) == ROWS - 1
    assert list(local.sql("SELECT count(*) FROM t").rows()) == [(ROWS - 1000,)]


@given(st.lists(st.integers(0, 50), min_size=1, max_size=20), st.randoms(), st.integers(0, 500))
def test_a_spool_gives_batches_in_the_order_asked_for(
    sizes: list[int], random: object, memory: int
) -> None:
    """In memory or on disk, each batch is what was added."""
    batches = [
        pa.record_batch({"x": pa.array([i] * size, pa.int64())}) for i, size in enumerate(sizes)
    ]
    order = list(range(len(batches)))
    random.shuffle(order)  # type: ignore[attr-defined]
    with Spool(memory) as spool:
        for batch in batches:
            spool.add(batch)
        assert spool.is_on_disk == (sum(batch.nbytes for batch in batches) > memory)
        assert list(spool.in_order(order)) == [batches[i] for i in order]


@pytest.mark.spark
def test_sparks_rows_are_in_order(session: Session) -> None:
    """Batches come from Spark's tasks in any order, and are given in that of the query; those of an
    empty one too, and an error is Spark's."""
    query = "SELECT id, timestamp_seconds(id) AS t FROM range(0, 50000, 1, 8) ORDER BY id DESC"
    assert streamed(session.sql(query)) == list(session.sql(query).rows())
    assert streamed(session.sql("SELECT id FROM range(10) WHERE id > 10")) == []
    with pytest.raises(ExecutionError):
        streamed(session.sql("SELECT raise_error('no') AS x FROM range(10)"))
    assert streamed(session.sql("SELECT 1")) == [(1,)]


_MEASURE = """\
import sys
from acidsql.session import Session
with Session(sys.argv[1], settings={"acidsql.engine": "local"}) as session:
    def resident():
        return int(open("/proc/self/statm").read().split()[1]) * 4096 >> 20
    count, most = 0, 0
    for batch in session.sql("SELECT id, concat(name, '-', name, '-', name) AS n FROM t").batches():
        count += batch.num_rows
        before = before if count > batch.num_rows else resident()
        most = max(most, resident())
    print(count, most - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_ten_million_rows_do_not_fill_memory(local: Session, tmp_path: Path) -> None:
    """A stream of 10 M rows of some 40 bytes needs less than half of them at a time."""
    with orc.ORCWriter(tmp_path / "big.orc", stripe_size=8 << 20) as writer:
        for start in range(0, 10_000_000, 250_000):
            ids = pa.array(range(start, start + 250_000))
            writer.write(pa.table({"id": ids, "name": ids.cast(pa.string())}))
    local.sql(f"LOAD DATA LOCAL INPATH '{tmp_path}/big.orc' OVERWRITE INTO TABLE t")
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE, local.warehouse],
        capture_output=True,
        text=True,
        check=True,
    )
    count, megabytes = map(int, done.stdout.split())
    assert count == 10_000_000
    assert megabytes < 200


def test_an_error_ends_a_stream(local: Session) -> None:
    """A division by zero in strict mode is told where it comes, and the session goes on."""
    local.settings.set("acidsql.ansi", "true")
    with pytest.raises(Error):
        streamed(local.sql("SELECT id % (id - 7) AS x FROM t"))
    assert list(local.sql("SELECT count(*) FROM t").rows()) == [(ROWS - 1,)]
