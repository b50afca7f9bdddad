"""What our statements leave on disk, judged by Hive: footers, readers, rows and ROW__IDs."""

from __future__ import annotations

from pathlib import Path

import pytest

from acidsql.session import Session
from tests.interop.judge import Judge
from tests.interop.judged import judge_warehouse

pytestmark = [pytest.mark.interop, pytest.mark.spark]

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
TYPES = (
    "id INT, b BOOLEAN, ti TINYINT, si SMALLINT, bi BIGINT, f FLOAT, d DOUBLE, dec DECIMAL(20,4), s STRING, c CHAR(5), vc VARCHAR(9), "
    "bin BINARY, dt DATE, ts TIMESTAMP, arr ARRAY<INT>, m MAP<STRING,BIGINT>, st STRUCT<x:INT,y:STRING>"
)
VALUES = (
    "(1, true, 1, 2, 3, 1.5, 2.25, 12.34, 'str', 'ab', 'vc', unhex('00ff10'), DATE '2020-02-29', TIMESTAMP '2020-02-29 12:34:56.789', "
    "array(1, NULL, 3), map('k', CAST(1 AS BIGINT)), named_struct('x', 7, 'y', 'y'))"
)
PATHS = ("small", "big")


@pytest.mark.parametrize("path", PATHS)
def test_insert_update_delete(path: str, session: Session, judge: Judge) -> None:
    """Rows that were inserted, updated twice and partly deleted read the same in Hive and here."""
    session.sql(f"SET acidsql.write.path={path}")
    session.sql(f"CREATE TABLE t (id INT, v STRING) {ACID}")
    session.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, NULL), (4, 'd')")
    session.sql("INSERT INTO t SELECT id + 10, concat(v, '!') FROM t")
    session.sql("UPDATE t SET v = upper(v) WHERE id IN (1, 12)")
    session.sql("UPDATE t SET v = concat(v, '?') WHERE id < 3")
    session.sql("DELETE FROM t WHERE v IS NULL OR id = 14")
    session.sql("DELETE FROM t WHERE id = 1000")
    # two inserts, two updates of two files each, one delete
    assert judge_warehouse(judge, session) >= 7


@pytest.mark.parametrize("path", PATHS)
def test_columns_called_like_those_of_acid_files(path: str, session: Session, judge: Judge) -> None:
    """A column may be a "bucket" or a "rowid", in files that had no ids and in those with them, and
    so may a partition's key.
    """
    session.sql(f"SET acidsql.write.path={path}")
    columns = "bucket INT, rowid STRING, operation INT, originaltransaction BIGINT, `row` STRUCT<bucket:INT>, currenttransaction INT"
    session.sql(f"CREATE TABLE t ({columns}) STORED AS ORC TBLPROPERTIES ('transactional'='false')")
    session.sql(
        "CREATE TABLE p (rowid STRING) PARTITIONED BY (bucket INT) STORED AS ORC TBLPROPERTIES ('transactional'='false')"
    )
    session.sql(
        "INSERT INTO t SELECT 1, 'a', 2, 3, named_struct('bucket', 4), 5 UNION ALL SELECT 2, 'b', 3, 4, named_struct('bucket', 5), 6"
    )
    session.sql(
        "INSERT INTO p PARTITION (bucket) SELECT 'a', 1 UNION ALL SELECT 'b', 1 UNION ALL SELECT 'c', 2"
    )
    for table in ("t", "p"):
        session.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('transactional'='true')")
    session.sql(
        "UPDATE t SET rowid = 'z', `row` = named_struct('bucket', operation) WHERE bucket = 1"
    )
    session.sql("INSERT INTO t VALUES (3, 'c', 4, 5, NULL, 7)")
    session.sql("DELETE FROM t WHERE `row`.bucket = 5")
    session.sql("UPDATE p SET rowid = 'z' WHERE bucket = 1 AND rowid = 'a'")
    session.sql("DELETE FROM p WHERE bucket = 2")
    assert judge_warehouse(judge, session) >= 7


@pytest.mark.parametrize("path", PATHS)
def test_every_type(path: str, session: Session, judge: Judge) -> None:
    """Each column type survives an insert, an update and a copy."""
    session.sql(f"SET acidsql.write.path={path}")
    session.sql(f"CREATE TABLE t ({TYPES}) {ACID}")
    session.sql(f"INSERT INTO t SELECT * FROM VALUES {VALUES}")
    session.sql("INSERT INTO t (id) VALUES (2)")
    session.sql("UPDATE t SET s = 'ü', bi = -1, arr = array(9) WHERE id = 1")
    session.sql("INSERT INTO t SELECT * FROM t")
    assert judge_warehouse(judge, session) >= 5


@pytest.mark.parametrize("path", PATHS)
def test_times_of_every_age(path: str, session: Session, judge: Judge) -> None:
    """Before 1582 and 1970, inside other values and as keys too, in both versions of
    Hive as here.
    """
    session.sql(f"SET acidsql.write.path={path}")
    session.sql(
        f"CREATE TABLE t (id INT, d DATE, t TIMESTAMP, s STRUCT<d:DATE,t:ARRAY<TIMESTAMP>>, m MAP<DATE,INT>) {ACID}"
    )
    days = [
        "0001-01-01",
        "1200-03-04",
        "1582-10-04",
        "1582-10-15",
        "1900-02-28",
        "1969-12-31",
        "9999-12-31",
    ]
    for number, day in enumerate(days):
        moment = f"TIMESTAMP '{day} 23:59:58'"
        inside = f"named_struct('d', DATE '{day}', 't', array({moment})), map(DATE '{day}', 1, DATE '2024-02-29', 2)"
        session.sql(f"INSERT INTO t SELECT {number}, DATE '{day}', {moment}, {inside}")
    session.sql(
        "INSERT INTO t (id, d, t) VALUES (10, '1200-03-04', '1200-03-04 01:02:03'), (11, '2024-02-29', '1965-01-01 10:00:00.25')"
    )
    session.sql("UPDATE t SET id = id + 20 WHERE id IN (1, 2, 10)")
    session.sql("UPDATE t SET d = date_add(d, 1) WHERE id = 0")
    found = {row[0]: str(row[1]) for row in session.sql("SELECT id, d FROM t").rows()}
    expected = {number: day for number, day in enumerate(days) if number not in (0, 1, 2)}
    assert found == {
        **expected,
        0: "0001-01-02",
        21: "1200-03-04",
        22: "1582-10-04",
        30: "1200-03-04",
        11: "2024-02-29",
    }
    assert judge_warehouse(judge, session) >= 12


@pytest.mark.parametrize("path", PATHS)
def test_buckets(path: str, session: Session, judge: Judge) -> None:
    """A bucketed table keeps every row and every delete event in the file of its bucket."""
    session.sql(f"SET acidsql.write.path={path}")
    session.sql(
        f"CREATE TABLE t (id BIGINT, name STRING, n INT) CLUSTERED BY (id, name) INTO 4 BUCKETS {ACID}"
    )
    session.sql("INSERT INTO t SELECT id, concat('n', id % 7), CAST(id AS INT) FROM range(1000)")
    session.sql("INSERT INTO t VALUES (NULL, NULL, 0), (-5, 'm', NULL)")
    session.sql("UPDATE t SET n = n + 1 WHERE id % 3 = 0")
    session.sql("DELETE FROM t WHERE id % 5 = 0 OR id IS NULL")
    assert judge_warehouse(judge, session) >= 4 + 1 + 8 + 4


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "layout", ["", "CLUSTERED BY (id) INTO 3 BUCKETS"], ids=["plain", "bucketed"]
)
def test_merge(path: str, layout: str, session: Session, judge: Judge) -> None:
    """Every arm of MERGE, one on top of the other, reads the same in Hive and here."""
    session.sql(f"SET acidsql.write.path={path}")
    session.sql(f"CREATE TABLE t (id INT, v STRING) {layout} {ACID}")
    session.sql("CREATE TABLE s (id INT, v STRING) STORED AS ORC")
    session.sql("INSERT INTO t SELECT id, concat('t', id) FROM range(40)")
    session.sql("INSERT INTO s SELECT id * 2, concat('s', id) FROM range(40)")
    session.sql(
        "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED AND s.id % 3 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET v = s.v "
        "WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.v)"
    )
    session.sql(
        "MERGE INTO t USING (SELECT id + 1 AS id FROM s) q ON t.id = q.id WHEN MATCHED THEN UPDATE SET v = 'again' "
        "WHEN NOT MATCHED AND q.id > 60 THEN INSERT (id) VALUES (q.id) "
        "WHEN NOT MATCHED BY SOURCE AND t.id < 10 THEN DELETE WHEN NOT MATCHED BY SOURCE AND t.id > 70 THEN UPDATE SET v = NULL"
    )
    assert judge_warehouse(judge, session) >= 5


@pytest.mark.parametrize("path", PATHS)
def test_overwrite(path: str, session: Session, judge: Judge) -> None:
    """A base, what is written on top of it, an empty base, several tables in one statement."""
    session.sql(f"SET acidsql.write.path={path}")
    session.sql(f"CREATE TABLE t (id INT, v STRING) {ACID}")
    session.sql(f"CREATE TABLE b (id INT, v STRING) CLUSTERED BY (id) INTO 2 BUCKETS {ACID}")
    session.sql("INSERT INTO t SELECT id, concat('t', id) FROM range(20)")
    session.sql("INSERT OVERWRITE TABLE t SELECT id + 100, v FROM t WHERE id % 2 = 0")
    session.sql("UPDATE t SET v = 'x' WHERE id > 110")
    session.sql("DELETE FROM t WHERE id = 100")
    session.sql(
        "FROM t INSERT OVERWRITE TABLE b SELECT id, v INSERT INTO t SELECT id + 1, v WHERE id > 115"
    )
    assert judge_warehouse(judge, session) >= 5
    session.sql("INSERT OVERWRITE TABLE t SELECT * FROM t WHERE false")
    judge_warehouse(judge, session)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "layout", ["", "CLUSTERED BY (id) INTO 2 BUCKETS"], ids=["plain", "bucketed"]
)
def test_partitions(path: str, layout: str, session: Session, judge: Judge) -> None:
    """Static, dynamic and mixed INSERTs, all that changes rows, partitions of NULL and of odd
    names: directory by directory.
    """
    session.sql(f"SET acidsql.write.path={path}")
    session.sql(
        f"CREATE TABLE t (id INT, v STRING) PARTITIONED BY (ds STRING, hr INT) {layout} {ACID}"
    )
    session.sql(
        "INSERT INTO t PARTITION (ds='a b', hr=1) SELECT id, concat('v', id) FROM range(20)"
    )
    session.sql(
        "INSERT INTO t PARTITION (ds='x/y=z%', hr) SELECT id, 'v', IF(id % 3 = 0, NULL, id % 3) FROM range(30)"
    )
    session.sql("INSERT INTO t SELECT id, 'w', IF(id % 2 = 0, NULL, 'ü'), id % 2 FROM range(10)")
    session.sql(
        "INSERT INTO t PARTITION (ds, hr) VALUES (100, NULL, '', 7), (101, 'q', 'a b', NULL)"
    )
    session.sql("UPDATE t SET v = concat(v, '!') WHERE id % 4 = 0")
    session.sql("UPDATE t SET v = 'hr 1' WHERE hr = 1 AND id < 5")
    session.sql("DELETE FROM t WHERE ds IS NULL AND id < 5 OR id = 10")
    session.sql(
        "INSERT OVERWRITE TABLE t PARTITION (ds='x/y=z%', hr) SELECT id, v, hr FROM t WHERE hr = 2"
    )
    session.sql(
        "INSERT OVERWRITE TABLE t PARTITION (ds='new', hr=0) SELECT id, v FROM t WHERE hr = 1"
    )
    assert judge_warehouse(judge, session) >= 15
    session.sql("TRUNCATE TABLE t PARTITION (ds='a b', hr=1)")
    session.sql(
        "MERGE INTO t USING (SELECT id, IF(id < 5, 'new', 'made') AS ds FROM range(15)) s ON t.id = s.id AND t.ds = s.ds "
        "WHEN MATCHED AND t.id % 3 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET v = 'merged' "
        "WHEN NOT MATCHED THEN INSERT VALUES (s.id, 'made', s.ds, s.id % 2)"
    )
    assert judge_warehouse(judge, session) >= 15


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "layout",
    ["", "CLUSTERED BY (id) INTO 3 BUCKETS", "PARTITIONED BY (p INT)"],
    ids=["plain", "bucketed", "partitioned"],
)
def test_a_converted_table(
    path: str, layout: str, session: Session, warehouse: Path, judge: Judge
) -> None:
    """Rows from before the conversion have the ids Hive gives them; they are changed and deleted
    under those.
    """
    session.sql(f"SET acidsql.write.path={path}")
    session.sql(
        f"CREATE TABLE t (id INT, v STRING) {layout} STORED AS ORC TBLPROPERTIES ('bucketing_version'='2')"
    )
    key = ", id % 2" if layout.startswith("PARTITIONED") else ""
    for start in (0, 100, 200):
        session.sql(f"INSERT INTO t SELECT id + {start}, concat('v', id){key} FROM range(30)")
    if not layout:
        below = warehouse / "t" / "HIVE_UNION_SUBDIR_1"
        below.mkdir()
        (warehouse / "t" / "000000_0_copy_1").rename(below / "000000_0")
    session.sql("ALTER TABLE t SET TBLPROPERTIES ('transactional'='true')")
    assert judge_warehouse(judge, session) == 0
    session.sql("DELETE FROM t WHERE id % 7 = 0")
    session.sql("UPDATE t SET v = 'new' WHERE id IN (1, 105, 225)")
    session.sql(f"INSERT INTO t SELECT id + 300, 'late'{key} FROM range(5)")
    session.sql(
        "MERGE INTO t USING (SELECT id * 50 + 2 AS id FROM range(8)) s ON t.id = s.id "
        f"WHEN MATCHED AND t.id < 110 THEN DELETE WHEN MATCHED THEN UPDATE SET v = 'merged' WHEN NOT MATCHED THEN INSERT VALUES (s.id, 's'{key and ', 0'})"
    )
    assert judge_warehouse(judge, session) >= 6


@pytest.mark.parametrize("path", PATHS)
def test_buckets_of_version_1(path: str, session: Session, judge: Judge) -> None:
    """Files of a table with the old hash are as sound as the others."""
    session.sql(f"SET acidsql.write.path={path}")
    properties = "'transactional'='true', 'bucketing_version'='1'"
    clustered = "CLUSTERED BY (name, id) INTO 3 BUCKETS"
    session.sql(
        f"CREATE TABLE t (id BIGINT, name STRING, n INT) {clustered} STORED AS ORC TBLPROPERTIES ({properties})"
    )
    session.sql("INSERT INTO t SELECT id, concat('n', id % 7), 0 FROM range(100)")
    session.sql("INSERT INTO t VALUES (NULL, NULL, 0), (-5, 'm', NULL)")
    session.sql("UPDATE t SET n = n + 1 WHERE id % 3 = 0")
    session.sql("DELETE FROM t WHERE id % 5 = 0 OR id IS NULL")
    assert judge_warehouse(judge, session) >= 3 + 1 + 6 + 3


@pytest.mark.parametrize("path", PATHS)
def test_a_table_whose_columns_changed(path: str, session: Session, judge: Judge) -> None:
    """Files of several schemas lie beside each other: columns were added and have got wider."""
    session.sql(f"SET acidsql.write.path={path}")
    session.sql(f"CREATE TABLE t (id INT, n SMALLINT) PARTITIONED BY (p STRING) {ACID}")
    session.sql(
        "INSERT INTO t SELECT id, CAST(id AS SMALLINT), IF(id % 2 = 0, 'a', 'b') FROM range(20)"
    )
    session.sql("ALTER TABLE t ADD COLUMNS (v STRING, d DECIMAL(8,2))")
    session.sql("UPDATE t SET v = 'v', d = n + 0.5 WHERE id < 6")
    session.sql("ALTER TABLE t CHANGE n n BIGINT")
    session.sql("INSERT INTO t SELECT id, id << 33, 'late', NULL, 'c' FROM range(4)")
    session.sql("UPDATE t SET n = n + 1 WHERE id % 4 = 0")
    session.sql("DELETE FROM t WHERE id % 5 = 0")
    session.sql("ALTER TABLE t ADD COLUMNS (more ARRAY<INT>)")
    assert judge_warehouse(judge, session) >= 12


@pytest.mark.slow
def test_several_stripes(session: Session, judge: Judge) -> None:
    """A file of several stripes has a key index that Hive's readers agree with, split by stripe or
    not.
    """
    session.sql("SET acidsql.write.path=big")
    properties = "'transactional'='true', 'orc.stripe.size'='1048576'"
    session.sql(
        f"CREATE TABLE t (id BIGINT, pad STRING) STORED AS ORC TBLPROPERTIES ({properties})"
    )
    session.sql("INSERT INTO t SELECT id, sha2(CAST(id AS STRING), 512) FROM range(60000)")
    session.sql("DELETE FROM t WHERE id % 11 = 0")
    assert judge_warehouse(judge, session) >= 2


def test_nothing_is_left_behind(session: Session, warehouse: Path) -> None:
    """After statements on both paths a table's folder holds deltas and nothing else: no staging, no
    checksums.
    """
    session.sql(f"CREATE TABLE t (id INT, v STRING) {ACID}")
    for path in PATHS:
        session.sql(f"SET acidsql.write.path={path}")
        session.sql("INSERT INTO t SELECT CAST(id AS INT), 'x' FROM range(10)")
        session.sql("UPDATE t SET v = 'y' WHERE id < 3")
        session.sql("DELETE FROM t WHERE id = 9")
    names = {p.name.split("_0")[0] for p in (warehouse / "t").iterdir()}
    assert names == {"delta", "delete_delta"}
    files = {p.name for p in (warehouse / "t").rglob("*") if p.is_file()}
    assert {name.rpartition("_0")[0] or name for name in files} == {"bucket", "_orc_acid_version"}
