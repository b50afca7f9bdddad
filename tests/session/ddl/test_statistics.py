"""Statistics under statements, and ``count(*)``: right at every moment, and without Spark where
files tell.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acidsql import crash_points
from acidsql.catalog.model import Partition, TableName
from acidsql.errors import BindError, Error, FormatError
from acidsql.session import Session
from acidsql.storage.snapshots import Counted, Snapshots

BASIC = '{"BASIC_STATS":"true"}'
ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
T = f"CREATE TABLE t (id INT, name STRING) {ACID}"
P = f"CREATE TABLE p (id INT) PARTITIONED BY (ds STRING, hr INT) {ACID}"


@pytest.fixture
def plain(warehouse: Path) -> Iterator[Session]:
    """A session that must not start Spark."""
    with Session(warehouse) as opened:
        yield opened
        assert not opened.spark_started


def value(session: Session, sql: str) -> object:
    """The one value of a query, which has nothing to warn of."""
    result = session.sql(sql)
    ((found,),) = result.rows()
    assert result.warnings == ()
    return found


def parameters(session: Session, table: str) -> dict[str, str]:
    """As they are shown."""
    return dict(session.sql(f"SHOW TBLPROPERTIES {table}").rows())  # type: ignore[arg-type]


def numbers(session: Session, table: str = "t") -> tuple[str | None, ...]:
    """Rows, files, and whether they hold."""
    found = parameters(session, table)
    return found.get("numRows"), found.get("numFiles"), found.get("COLUMN_STATS_ACCURATE")


def partitions(session: Session, table: str = "p") -> dict[tuple[str, ...], tuple[str | None, ...]]:
    def shown(one: Partition) -> tuple[str | None, ...]:
        return (
            one.statistics.get("numRows"),
            one.statistics.get("numFiles"),
            one.statistics.get("COLUMN_STATS_ACCURATE"),
        )

    stored = session.store.find_table(TableName("default", table))
    assert stored is not None
    return {p.values: shown(p) for p in session.store.list_partitions(stored)}


def bytes_below(path: Path) -> int:
    return sum(
        f.stat().st_size for f in path.rglob("*") if f.is_file() and not f.name.startswith("_")
    )


def test_inserts_add_up(plain: Session, warehouse: Path) -> None:
    """Rows, files and bytes, from the empty table on."""
    plain.sql(T)
    assert numbers(plain) == (
        "0",
        "0",
        '{"BASIC_STATS":"true","COLUMN_STATS":{"id":"true","name":"true"}}',
    )
    plain.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    plain.sql("INSERT INTO t VALUES (3, 'c')")
    assert numbers(plain) == ("3", "2", BASIC)
    assert parameters(plain, "t")["totalSize"] == str(bytes_below(warehouse / "t"))
    assert value(plain, "SELECT count(*) FROM t") == 3


def test_an_overwriting_begins_anew(plain: Session) -> None:
    """INSERT OVERWRITE and TRUNCATE leave the numbers of what they left."""
    plain.sql(T)
    plain.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    plain.sql("INSERT OVERWRITE TABLE t VALUES (3, 'c')")
    assert (numbers(plain), value(plain, "SELECT count(*) FROM t")) == (("1", "1", BASIC), 1)
    plain.sql("TRUNCATE TABLE t")
    assert (numbers(plain), value(plain, "SELECT count(*) FROM t")) == (("0", "0", BASIC), 0)


def test_partitions_have_their_own(plain: Session) -> None:
    """Those a statement makes too; a partitioned table shows the sums."""
    plain.sql(P)
    plain.sql("INSERT INTO p VALUES (1, 'a', 1), (2, 'a', 1), (3, 'b', 2)")
    plain.sql("INSERT INTO p PARTITION (ds = 'b', hr) VALUES (4, 2), (5, 3)")
    plain.sql("ALTER TABLE p ADD PARTITION (ds = 'c', hr = 1)")
    known = {
        ("a", "1"): ("2", "1", BASIC),
        ("b", "2"): ("2", "2", BASIC),
        ("b", "3"): ("1", "1", BASIC),
    }
    assert partitions(plain) == known | {
        ("c", "1"): ("0", "0", '{"BASIC_STATS":"true","COLUMN_STATS":{"id":"true"}}')
    }
    assert "numRows" not in parameters(plain, "p")
    described = {
        row[1].strip(): row[2].strip()
        for row in plain.sql("DESCRIBE FORMATTED p").rows()
        if row[0] == "" and row[1] and row[2]
    }
    assert {key: described[key] for key in ("numRows", "numFiles", "numPartitions")} == {
        "numRows": "5",
        "numFiles": "4",
        "numPartitions": "4",
    }
    plain.sql("INSERT OVERWRITE TABLE p PARTITION (ds = 'b', hr = 2) VALUES (6)")
    plain.sql("TRUNCATE TABLE p PARTITION (ds = 'a')")
    plain.sql("ALTER TABLE p DROP PARTITION (hr = 3)")
    assert {key: found[0] for key, found in partitions(plain).items()} == {
        ("a", "1"): "0",
        ("b", "2"): "1",
        ("c", "1"): "0",
    }


@pytest.mark.parametrize(
    ("where", "count"),
    [
        ("", 5),
        ("WHERE ds = 'b'", 3),
        ("WHERE ds > 'a' AND hr < 3", 2),
        ("x WHERE x.ds IS NULL", 0),
        ("WHERE hr = 9 OR ds = 'a'", 2),
    ],
)
def test_a_count_skips_partitions(plain: Session, where: str, count: int) -> None:
    """Conditions on partition columns choose the files whose rows count."""
    plain.sql(P)
    plain.sql(
        "INSERT INTO p VALUES (1, 'a', 1), (2, 'a', 1), (3, 'b', 2), (4, 'b', 2), (5, 'b', 3)"
    )
    assert value(plain, f"SELECT count(*) FROM p {where}") == count


def test_a_count_has_the_columns_of_any_other(plain: Session) -> None:
    """Name, type and a table of Arrow."""
    plain.sql(T)
    plain.sql("INSERT INTO t VALUES (1, 'a')")
    result = plain.sql("SELECT count(*) FROM t")
    assert [(c.name, str(c.type)) for c in result.columns] == [("count(1)", "bigint")]
    assert result.to_arrow().to_pydict() == {"count(1)": [1]}
    assert plain.sql("SELECT count(1) AS n FROM t").to_arrow().to_pydict() == {"n": [1]}


def test_a_count_is_of_its_snapshot(plain: Session, warehouse: Path) -> None:
    """What is not committed is not counted by others, and by the transaction itself it is."""
    plain.sql(T)
    plain.sql("INSERT INTO t VALUES (1, 'a')")
    plain.sql("START TRANSACTION")
    assert value(plain, "SELECT count(*) FROM t") == 1
    plain.sql("INSERT INTO t VALUES (2, 'b'), (3, 'c')")
    with Session(warehouse) as other:
        assert value(other, "SELECT count(*) FROM t") == 1
        other.sql("INSERT INTO t VALUES (4, 'd')")
        assert value(plain, "SELECT count(*) FROM t") == 3
        assert numbers(other) == ("2", "2", BASIC)
        plain.sql("COMMIT")
        assert value(other, "SELECT count(*) FROM t") == 4
        assert numbers(other) == ("4", "3", BASIC)


def test_statements_of_one_transaction_add_up(plain: Session) -> None:
    """What a rollback gives up never counts; an overwriting in it replaces what was before."""
    plain.sql(T)
    plain.sql(P)
    plain.sql("START TRANSACTION")
    plain.sql("INSERT INTO t VALUES (1, 'a')")
    plain.sql("INSERT INTO t VALUES (2, 'b')")
    plain.sql("INSERT INTO p VALUES (1, 'a', 1)")
    plain.sql("INSERT INTO p VALUES (2, 'a', 1)")
    plain.sql("COMMIT")
    assert (numbers(plain), partitions(plain)) == (
        ("2", "2", BASIC),
        {("a", "1"): ("2", "2", BASIC)},
    )
    plain.sql("START TRANSACTION")
    plain.sql("INSERT OVERWRITE TABLE t VALUES (3, 'c')")
    plain.sql("ROLLBACK")
    assert numbers(plain) == ("2", "2", BASIC)


def test_sessions_that_commit_at_once_lose_nothing(plain: Session, warehouse: Path) -> None:
    """Each adds its own, also to a partition that both make."""
    plain.sql(T)
    plain.sql(P)
    failed: list[Error] = []

    def run() -> None:
        try:
            with Session(warehouse) as mine:
                for _ in range(4):
                    mine.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
                    mine.sql("INSERT INTO p VALUES (1, 'x', 1)")
        except Error as error:
            failed.append(error)

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert numbers(plain) == ("24", "12", BASIC)
    rows, files, accurate = partitions(plain)["x", "1"]
    assert accurate is None or (rows, files) == ("12", "12")
    assert value(plain, "SELECT count(*) FROM p") == 12


def test_a_partition_begins_with_what_lies_there(plain: Session, warehouse: Path) -> None:
    """What a transaction that failed has left does not count; files of anybody else's are counted
    by nobody, until ANALYZE does.
    """
    plain.sql(P)
    plain.sql("INSERT INTO p VALUES (1, 'a', 1)")
    left = warehouse / "p" / "ds=b" / "hr=1" / "delta_0000077_0000077_0000"
    left.mkdir(parents=True)
    source = warehouse / "p" / "ds=a" / "hr=1" / "delta_0000001_0000001_0000" / "bucket_00000"
    (left / "bucket_00000").write_bytes(source.read_bytes())
    plain.sql("INSERT INTO p VALUES (2, 'b', 1)")
    assert partitions(plain)["b", "1"] == ("1", "1", BASIC)
    original = warehouse / "p" / "ds=c" / "hr=1" / "000000_0"
    original.parent.mkdir(parents=True)
    plain.sql("CREATE TABLE n (id INT) STORED AS ORC")
    plain.sql("INSERT INTO n VALUES (7), (8)")
    original.write_bytes((warehouse / "n" / "000000_0").read_bytes())
    plain.sql("INSERT INTO p VALUES (3, 'c', 1)")
    assert partitions(plain)["c", "1"] == (None, None, None)
    plain.sql("ANALYZE TABLE p PARTITION (ds = 'c', hr) COMPUTE STATISTICS")
    assert partitions(plain)["c", "1"] == ("3", "2", BASIC)


def test_autogather_can_be_turned_off(plain: Session) -> None:
    """Then nobody answers for the number of rows, until they are counted."""
    plain.sql(T)
    plain.sql("INSERT INTO t VALUES (1, 'a')")
    plain.sql("SET hive.stats.autogather=false")
    plain.sql("INSERT INTO t VALUES (2, 'b')")
    assert numbers(plain) == ("1", "2", None)
    plain.sql(f"CREATE TABLE u (id INT) {ACID}")
    assert numbers(plain, "u") == (None, None, None)
    plain.sql("SET hive.stats.autogather=true")
    plain.sql("INSERT INTO t VALUES (3, 'c')")
    assert numbers(plain) == ("1", "3", None)
    assert value(plain, "SELECT count(*) FROM t") == 3
    plain.sql("ANALYZE TABLE t COMPUTE STATISTICS")
    assert numbers(plain) == ("3", "3", BASIC)


def test_a_number_set_by_hand_is_not_believed(plain: Session) -> None:
    """It is shown, and ANALYZE puts it right."""
    plain.sql(T)
    plain.sql("INSERT INTO t VALUES (1, 'a')")
    plain.sql("ALTER TABLE t SET TBLPROPERTIES ('numRows'='77')")
    assert numbers(plain) == ("77", "1", None)
    with pytest.raises(BindError, match="AlterTable numRows failed with value many"):
        plain.sql("ALTER TABLE t SET TBLPROPERTIES ('numRows'='many')")
    assert value(plain, "SELECT count(*) FROM t") == 1
    plain.sql("ANALYZE TABLE t COMPUTE STATISTICS NOSCAN")
    assert numbers(plain) == ("1", "1", BASIC)


def test_plain_tables_are_counted_too(plain: Session, warehouse: Path) -> None:
    """INSERT, INSERT OVERWRITE and their partitions; raw sizes are not known and not shown."""
    plain.sql("CREATE TABLE n (id INT) PARTITIONED BY (ds STRING) STORED AS ORC")
    plain.sql("INSERT INTO n VALUES (1, 'a'), (2, 'b')")
    plain.sql("INSERT INTO n VALUES (3, 'a')")
    assert partitions(plain, "n") == {("a",): ("2", "2", BASIC), ("b",): ("1", "1", BASIC)}
    plain.sql("INSERT OVERWRITE TABLE n PARTITION (ds = 'a') VALUES (4), (5), (6)")
    assert partitions(plain, "n")[("a",)] == ("3", "1", BASIC)
    assert value(plain, "SELECT count(*) FROM n WHERE ds = 'a'") == 3
    plain.sql("CREATE TABLE m (id INT) STORED AS ORC")
    plain.sql("INSERT INTO m VALUES (1)")
    assert "rawDataSize" not in parameters(plain, "m")
    assert numbers(plain, "m") == ("1", "1", BASIC)


@pytest.mark.parametrize(
    "properties",
    [
        "'transactional'='true'",
        "'transactional'='true', 'transactional_properties'='insert_only'",
        "'k'='v'",
    ],
)
def test_loaded_files_are_counted(plain: Session, warehouse: Path, properties: str) -> None:
    """By their footers, beside what is there and in its place."""
    plain.sql("CREATE TABLE n (id INT) STORED AS ORC")
    plain.sql("INSERT INTO n VALUES (7), (8)")
    plain.sql(f"CREATE TABLE l (id INT) STORED AS ORC TBLPROPERTIES ({properties})")
    plain.sql("INSERT INTO l VALUES (1)")
    plain.sql(f"LOAD DATA LOCAL INPATH '{warehouse / 'n'}' INTO TABLE l")
    assert (numbers(plain, "l"), value(plain, "SELECT count(*) FROM l")) == (("3", "2", BASIC), 3)
    plain.sql(f"LOAD DATA LOCAL INPATH '{warehouse / 'n'}' OVERWRITE INTO TABLE l")
    assert (numbers(plain, "l"), value(plain, "SELECT count(*) FROM l")) == (("2", "1", BASIC), 2)


def test_an_external_table_at_a_given_place_is_not_known(
    plain: Session, warehouse: Path, tmp_path: Path
) -> None:
    """Nobody has counted what lies there; ``count(*)`` does."""
    plain.sql("CREATE TABLE n (id INT) STORED AS ORC")
    plain.sql("INSERT INTO n VALUES (1), (2)")
    plain.sql(f"CREATE EXTERNAL TABLE e (id INT) STORED AS ORC LOCATION '{tmp_path / 'e'}'")
    (tmp_path / "e").mkdir(exist_ok=True)
    (tmp_path / "e" / "part-0").write_bytes((warehouse / "n" / "000000_0").read_bytes())
    assert numbers(plain, "e") == (None, None, None)
    assert value(plain, "SELECT count(*) FROM e") == 2
    plain.sql("ANALYZE TABLE e COMPUTE STATISTICS")
    assert numbers(plain, "e") == ("2", "1", BASIC)


def test_analyze_counts_what_it_sees(
    plain: Session, warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit while it counts makes it count again; on a table that is written all the time, what
    holds stays.
    """
    plain.sql(T)
    plain.sql("ALTER TABLE t SET TBLPROPERTIES ('numRows'='77')")
    other = Session(warehouse)
    commits = [2, 1]

    def meanwhile(point: str) -> None:
        if point == "analyzed" and commits:
            other.sql(f"INSERT INTO t VALUES {', '.join(['(1, NULL)'] * commits.pop())}")

    monkeypatch.setattr(crash_points, "hook", meanwhile)
    plain.sql("ANALYZE TABLE t COMPUTE STATISTICS")
    assert numbers(plain) == ("3", "2", BASIC)
    plain.sql("ALTER TABLE t SET TBLPROPERTIES ('numRows'='77')")
    commits += [1] * 5
    plain.sql("ANALYZE TABLE t COMPUTE STATISTICS")
    # three tries, and three commits behind the last count but one
    assert numbers(plain) == (
        "5",
        "4",
        None,
    )
    other.close()


@pytest.mark.processes
def test_a_killed_commit_changes_nothing(warehouse: Path) -> None:
    """Files, rows and statistics become visible in one step of the metastore."""
    with Session(warehouse) as plain:
        plain.sql(T)
        plain.sql("INSERT INTO t VALUES (1, 'a')")
        for point, rows in (("written", "1"), ("committed", "3")):
            done = subprocess.run(
                [sys.executable, "-c", CHILD, str(warehouse), point],
                capture_output=True,
                timeout=60,
                check=False,
            )
            assert done.returncode == -signal.SIGKILL, done.stderr[-500:]
            assert (numbers(plain)[0], str(value(plain, "SELECT count(*) FROM t"))) == (rows, rows)


CHILD = """
import os, signal, sys
from acidsql import crash_points
from acidsql.session import Session

warehouse, point = sys.argv[1:]
def kill(reached):
    if reached == point:
        os.kill(os.getpid(), signal.SIGKILL)
crash_points.hook = kill
Session(warehouse).sql("INSERT INTO t VALUES (2, 'b'), (3, 'c')")
"""


# ---- with Spark


@pytest.mark.spark
@pytest.mark.parametrize("path", ["small", "big"])
def test_changes_of_rows_change_the_number(session: Session, path: str) -> None:
    """A DELETE takes rows away, an UPDATE leaves their number, a MERGE does both and adds some."""
    session.sql(f"SET acidsql.write.path={path}")
    session.sql(P)
    session.sql("INSERT INTO p SELECT id, if(id < 5, 'a', 'b'), 1 FROM range(10)")
    session.sql("DELETE FROM p WHERE id IN (1, 2, 7)")
    assert {key: found[0] for key, found in partitions(session).items()} == {
        ("a", "1"): "3",
        ("b", "1"): "4",
    }
    session.sql("UPDATE p SET id = id + 100 WHERE id > 3")
    assert {key: found[0] for key, found in partitions(session).items()} == {
        ("a", "1"): "3",
        ("b", "1"): "4",
    }
    session.sql(
        "MERGE INTO p USING (SELECT explode(array(0, 3, 105, 900)) AS k) s ON p.id = s.k WHEN MATCHED AND k = 0 THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET id = -1 WHEN NOT MATCHED THEN INSERT VALUES (k, 'c', 1)"
    )
    assert {key: (found[0], found[2]) for key, found in partitions(session).items()} == {
        ("a", "1"): ("2", BASIC),
        ("b", "1"): ("4", BASIC),
        ("c", "1"): ("1", BASIC),
    }
    for using in ("true", "false"):
        session.sql(f"SET hive.compute.query.using.stats={using}")
        assert value(session, "SELECT count(*) FROM p") == 7
        assert value(session, "SELECT count(*) FROM p WHERE ds <> 'a'") == 5
        assert value(session, "SELECT count(*) FROM p WHERE ds = 'c' AND id = 900") == 1


@pytest.mark.spark
@pytest.mark.parametrize(
    "properties",
    [
        "'transactional'='true'",
        "'transactional'='true', 'transactional_properties'='insert_only'",
        "'k'='v'",
    ],
)
def test_a_table_made_of_a_query_is_known(session: Session, properties: str) -> None:
    """From its first moment, partitions included."""
    session.sql(
        f"CREATE TABLE c STORED AS ORC TBLPROPERTIES ({properties}) AS SELECT id FROM range(5)"
    )
    assert (numbers(session, "c")[0], numbers(session, "c")[2]) == ("5", BASIC)
    session.sql(
        f"CREATE TABLE d PARTITIONED BY (k) STORED AS ORC TBLPROPERTIES ({properties}) AS SELECT id, id % 2 AS k FROM range(5)"
    )
    assert {key: (found[0], found[2]) for key, found in partitions(session, "d").items()} == {
        ("0",): ("3", BASIC),
        ("1",): ("2", BASIC),
    }
    assert value(session, "SELECT count(*) FROM d WHERE k = 1") == 2


@pytest.mark.spark
def test_rows_that_come_and_go_in_one_transaction(session: Session) -> None:
    """What was inserted and deleted again before the commit never counted."""
    session.sql(T)
    session.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    session.sql("START TRANSACTION")
    session.sql("INSERT INTO t VALUES (3, 'c'), (4, 'd')")
    session.sql("DELETE FROM t WHERE id IN (2, 3)")
    assert value(session, "SELECT count(*) FROM t") == 2
    session.sql("COMMIT")
    assert (numbers(session)[0], numbers(session)[2]) == ("2", BASIC)
    assert value(session, "SELECT count(*) FROM t") == 2


@pytest.mark.spark
def test_spark_counts_what_the_driver_may_not(session: Session) -> None:
    """With more delete events than it may hold; the scan behind reads no more of a row than it
    must.
    """
    session.sql(T)
    session.sql("INSERT INTO t SELECT id, 'x' FROM range(100)")
    session.sql("DELETE FROM t WHERE id < 10")
    session.sql("SET acidsql.read.deletes.max.events=9")
    counted = session.sql("SELECT count(*) FROM t")
    assert list(counted.rows()) == [(90,)]
    assert (
        "name"
        not in counted.df._jdf.queryExecution()
        .executedPlan()
        .toString()
        .rpartition("ReadSchema")[2]
    )
    session.sql("ALTER TABLE t SET TBLPROPERTIES ('numRows'='1')")
    session.sql("ANALYZE TABLE t COMPUTE STATISTICS")
    assert numbers(session)[::2] == ("90", BASIC)


@pytest.mark.spark
def test_columns_are_measured(session: Session) -> None:
    """For each partition in one go; an empty one has numbers too, and the next change of rows takes
    the mark away.
    """
    session.sql(P)
    session.sql("INSERT INTO p VALUES (1, 'a', 1), (7, 'a', 1), (NULL, 'a', 1), (-3, 'b', 2)")
    session.sql("ALTER TABLE p ADD PARTITION (ds = 'c', hr = 1)")
    session.sql("ANALYZE TABLE p PARTITION (ds, hr) COMPUTE STATISTICS FOR COLUMNS id")
    marks = {key: found[2] for key, found in partitions(session).items()}
    assert set(marks.values()) == {'{"BASIC_STATS":"true","COLUMN_STATS":{"id":"true"}}'}

    def measured(partition: str = "") -> list[str]:
        rows = session.sql(f"DESCRIBE FORMATTED p {partition} id").rows()
        return [
            row[1].strip()
            for row in rows
            if row[0].strip() in ("min", "max", "num_nulls", "distinct_count")
        ]

    assert measured("PARTITION (ds = 'a', hr = 1)") == ["1", "7", "1", "2"]
    assert measured("PARTITION (ds = 'c', hr = 1)") == ["", "", "0", "0"]
    assert measured() == ["-3", "7", "1", "2"]
    session.sql("INSERT INTO p VALUES (9, 'a', 1)")
    assert partitions(session)["a", "1"][2] == BASIC


def test_a_count_by_statistics_opens_no_file(plain: Session, warehouse: Path) -> None:
    """Numbers that hold are believed as long as the files have the bytes they speak of, whatever
    those are.
    """
    plain.sql(T)
    plain.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    plain.sql(P)
    plain.sql("INSERT INTO p VALUES (1, 'a', 1), (2, 'a', 1), (3, 'b', 2)")
    for file in warehouse.glob("[tp]/**/bucket_*"):
        file.write_bytes(bytes(file.stat().st_size))
    for query, rows in {"t": 3, "p": 3, "p WHERE hr = 1": 2}.items():
        result = plain.sql(f"SELECT count(*) FROM {query}")
        assert (list(result.rows()), result.warnings) == ([(rows,)], ())
    plain.sql("ALTER TABLE t SET TBLPROPERTIES ('numRows'='77')")
    with pytest.raises(FormatError):
        plain.sql("SELECT count(*) FROM t")


@pytest.mark.parametrize("table", ["t", "p"])
def test_statistics_of_another_snapshot_are_not_believed(
    plain: Session, monkeypatch: pytest.MonkeyPatch, table: str
) -> None:
    """Who commits while a count begins is not counted, nor who is still at it; the next count has
    them.
    """
    plain.sql(T if table == "t" else P)
    row = "(1, 'a')" if table == "t" else "(1, 'a', 1)"
    plain.sql(f"INSERT INTO {table} VALUES {row}, {row}")
    with Session(plain.warehouse) as other:
        other.begin()
        other.sql(f"INSERT INTO {table} VALUES {row}")
        assert value(plain, f"SELECT count(*) FROM {table}") == 2
        assert value(other, f"SELECT count(*) FROM {table}") == 3
        told, answers = Snapshots.counted, []

        def late(self: Snapshots, *given: Any) -> Counted | None:
            other.commit()
            monkeypatch.undo()
            answers.append(told(self, *given))
            return answers[-1]

        monkeypatch.setattr(Snapshots, "counted", late)
        assert value(plain, f"SELECT count(*) FROM {table}") == 2
        assert answers == [None]
    assert value(plain, f"SELECT count(*) FROM {table}") == 3


@pytest.mark.spark
def test_a_handed_in_spark_is_not_asked_for_a_count(session: Session) -> None:
    """Neither is one started for the rows of the answer, but its DataFrame can be had."""
    session.sql(T)
    session.sql("INSERT INTO t VALUES (1, 'a')")
    result = session.sql("SELECT count(*) FROM t")
    assert result.df.collect() == [(1,)]
    assert result.df.columns == ["count(1)"]
