"""``Session.scan``: what it gives, what it keeps, and what it leaves to Spark."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from acidsql.errors import (
    BindError,
    Error,
    InterfaceError,
    ProgrammingError,
    SnapshotTooOldError,
    UnsupportedStatementError,
)
from acidsql.session import Session

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"


@pytest.fixture
def light(warehouse: Path) -> Iterator[Session]:
    """A session that starts no Spark."""
    with Session(warehouse) as session:
        session.sql(f"CREATE TABLE t (a INT, s STRING) PARTITIONED BY (p INT) {ACID}")
        session.sql("INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 1), (3, 'c', 2), (4, NULL, NULL)")
        session.sql("INSERT INTO t VALUES (5, 'e', 1)")
        yield session


def test_all_rows_come_by_partition(light: Session) -> None:
    """Partition columns are typed values behind the others; nothing stays registered."""
    assert light.scan("t").to_arrow().to_pylist() == [
        {"a": 1, "s": "a", "p": 1},
        {"a": 2, "s": "b", "p": 1},
        {"a": 5, "s": "e", "p": 1},
        {"a": 3, "s": "c", "p": 2},
        {"a": 4, "s": None, "p": None},
    ]
    assert light.store.list_readers() == ()
    assert not light.spark_started


def test_columns_and_filter(light: Session) -> None:
    """Columns come in the order asked for; a filter may be over others, partitions too."""
    found = light.scan("default.T", ["ROW__ID", "p"], "a > 1 AND s IN ('c', 'b') AND p = 2")
    assert found.schema.names == ["ROW__ID", "p"]
    assert found.to_arrow().to_pylist() == [
        {"ROW__ID": {"writeid": 1, "bucketid": 1 << 29, "rowid": 0}, "p": 2}
    ]
    assert light.scan("t", ["a"], "a = 77").to_arrow().num_rows == 0


def test_batches_are_bounded(light: Session) -> None:
    """No batch has more rows than asked for."""
    assert [len(batch) for batch in light.scan("t", ["a"], batch_size=2)] == [2, 1, 1, 1]


def test_it_is_an_arrow_stream(light: Session) -> None:
    """Whatever takes Arrow's streams takes a scan, once."""
    scan = light.scan("t", ["a"])
    assert pa.table(scan).column("a").to_pylist() == [1, 2, 5, 3, 4]
    with pytest.raises(InterfaceError):
        scan.to_arrow()
    assert light.scan("t", ["a"]).to_pandas()["a"].sum() == 15


def test_files_are_kept_while_it_may_be_read(light: Session) -> None:
    """It is registered from its beginning to its end, or until it is gone."""
    scan = light.scan("t")
    assert len(light.store.list_readers()) == 1
    light.sql("INSERT OVERWRITE TABLE t PARTITION (p = 1) VALUES (9, 'z')")
    assert scan.to_arrow().column("a").to_pylist() == [1, 2, 5, 3, 4]
    assert light.store.list_readers() == ()
    for scan in (light.scan("t"), light.scan("t")):
        scan.close()
    del scan
    light.scan("t").to_arrow()
    assert light.store.list_readers() == ()


def test_a_transaction_sees_its_own_rows(light: Session) -> None:
    """Also when it has ended before they are fetched."""
    with light.transaction():
        light.sql("INSERT INTO t VALUES (7, 'g', 2)")
        scan = light.scan("t", ["a"], "p = 2")
    light.sql("INSERT INTO t VALUES (8, 'h', 2)")
    assert scan.to_arrow().column("a").to_pylist() == [3, 7]


def test_as_of_an_older_write_id(light: Session) -> None:
    """What was committed by a write id, and an error once that may be gone."""
    assert light.scan("t", ["a"], as_of=1).to_arrow().column("a").to_pylist() == [1, 2, 3, 4]
    assert light.scan("t", ["a"], as_of=2).to_arrow().num_rows == 5
    for partition in ("1", "2"):
        light.sql(f"ALTER TABLE t PARTITION (p = {partition}) COMPACT 'major' AND WAIT")
    with pytest.raises(SnapshotTooOldError):
        light.scan("t", ["a"], as_of=1).to_arrow()


def test_as_of_a_write_id_that_nobody_has(light: Session) -> None:
    """It is refused, as its rows would be others once somebody has it; 0 is before the first one."""
    assert light.scan("t", ["a"], as_of=0).to_arrow().num_rows == 0
    with pytest.raises(
        InterfaceError, match=r"table default\.t has no write id 99: the highest is"
    ):
        light.scan("t", as_of=99)
    with pytest.raises(InterfaceError, match="there is no write id -1"):
        light.scan("t", as_of=-1)


@pytest.mark.parametrize(
    "filter",
    ["nope > 1", "a > 1) OR (1 = 1", "a IN (SELECT 1)", "a", "upper(reverse(s)) RLIKE '(a'"],
)
def test_filters_that_are_refused(light: Session, filter: str) -> None:
    """What is no condition, and what only Spark understands, before any row is read."""
    with pytest.raises((ProgrammingError, UnsupportedStatementError)):
        light.scan("t", None, filter)


def test_columns_that_are_refused(light: Session) -> None:
    """Names that the table has not, and ids of rows that have none."""
    with pytest.raises(BindError, match="zz"):
        light.scan("t", ["zz"])
    light.sql("CREATE TABLE plain (a INT) STORED AS ORC")
    light.sql("INSERT INTO plain VALUES (1)")
    assert light.scan("plain").to_arrow().to_pylist() == [{"a": 1}]
    with pytest.raises(BindError):
        light.scan("plain", ["ROW__ID"])
    with pytest.raises(UnsupportedStatementError):
        light.scan("plain", as_of=1)


def test_formats_that_are_left_to_spark(light: Session) -> None:
    """The error says why, and what to do."""
    light.sql("CREATE TABLE other (a INT) STORED AS TEXTFILE")
    with pytest.raises(UnsupportedStatementError, match="Spark"):
        light.scan("other").to_arrow()


@pytest.mark.parametrize(
    ("arguments", "rows", "module"), [("None, 'a > 2'", "3", "pyspark"), ("['a']", "5", "sqlglot")]
)
def test_a_scan_imports_little(
    light: Session, warehouse: Path, arguments: str, rows: str, module: str
) -> None:
    """A process that scans imports no pyspark; one without a filter no parser of queries either."""
    light.close()
    code = (
        "import sys; from acidsql.session import Session\n"
        f"with Session({str(warehouse)!r}) as s:"
        f" print(s.scan('t', {arguments}).to_arrow().num_rows)\n"
        f"print({module!r} in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [rows, "False"]


def test_a_name_is_refused_alike_with_and_without_a_filter(light: Session) -> None:
    """The error, its place in the query that a scan stands for, and what it advises."""
    light.register("f", pa.table({"a": [1]}))
    light.sql("CREATE TABLE g (a INT) STORED AS ORC")
    for name in ("tt", "default.tt", "d.t", "a.b.c", "f", "parquet./x", "", "t`", "default."):
        refused = []
        for condition in (None, "a = 1"):
            with pytest.raises(Error) as caught:
                light.scan(name, None, condition)
            error = caught.value
            refused.append((type(error), error.message, error.span, error.hint, error.code))
        assert refused[0] == refused[1]


def test_a_view_is_no_table(light: Session) -> None:
    """Whatever it is called: its rows are those of its query, which Spark makes."""
    light.sql("CREATE DATABASE d")
    light.sql("CREATE VIEW d.t AS SELECT s FROM default.t WHERE a = 1")
    for name in ("d.t", "D.T"):
        with pytest.raises(UnsupportedStatementError, match="no table"):
            light.scan(name)
    light.sql("USE d")
    with pytest.raises(UnsupportedStatementError, match="no table"):
        light.scan("t")
    assert light.scan("default.t", ["a"]).to_arrow().num_rows == 5


def test_few_rows_of_a_large_file_are_those_of_a_whole_scan(light: Session) -> None:
    """With their ids, behind a DELETE and an UPDATE of a row; they are read by row groups."""
    light.sql(f"CREATE TABLE large (k INT, x STRING) {ACID}")
    light.sql("INSERT INTO large VALUES (0, 'a'), (1, NULL), (2, 'ccc'), (3, 'd'), (4, 'é')")
    rows = 5
    while rows < 160_000:
        light.sql(f"INSERT INTO large SELECT k + {rows}, x FROM large")
        rows *= 2
    light.sql("DELETE FROM large WHERE k = 120004")
    light.sql("UPDATE large SET x = 'changed' WHERE k = 120006")
    columns = ["ROW__ID", "k", "x"]
    whole = light.scan("large", columns).to_arrow()
    assert whole.num_rows == rows - 1
    for wanted in ({120003, 120004, 120005}, {120006}, {90000, rows - 1}):
        listed = ", ".join(map(str, wanted))
        found = light.scan("large", columns, f"k IN ({listed})").to_arrow()
        expected = whole.filter(pc.is_in(whole["k"], pa.array(sorted(wanted), pa.int32())))
        assert found.to_pylist() == expected.to_pylist()
        assert len(expected) == len(wanted - {120004})
