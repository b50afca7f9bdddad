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
    assert judge_warehouse(judge, session) >= 7  # two inserts, two updates of two files each, one delete


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
def test_buckets(path: str, session: Session, judge: Judge) -> None:
    """A bucketed table keeps every row and every delete event in the file of its bucket."""
    session.sql(f"SET acidsql.write.path={path}")
    session.sql(f"CREATE TABLE t (id BIGINT, name STRING, n INT) CLUSTERED BY (id, name) INTO 4 BUCKETS {ACID}")
    session.sql("INSERT INTO t SELECT id, concat('n', id % 7), CAST(id AS INT) FROM range(1000)")
    session.sql("INSERT INTO t VALUES (NULL, NULL, 0), (-5, 'm', NULL)")
    session.sql("UPDATE t SET n = n + 1 WHERE id % 3 = 0")
    session.sql("DELETE FROM t WHERE id % 5 = 0 OR id IS NULL")
    assert judge_warehouse(judge, session) >= 4 + 1 + 8 + 4


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("layout", ["", "CLUSTERED BY (id) INTO 3 BUCKETS"], ids=["plain", "bucketed"])
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
    session.sql("FROM t INSERT OVERWRITE TABLE b SELECT id, v INSERT INTO t SELECT id + 1, v WHERE id > 115")
    assert judge_warehouse(judge, session) >= 5
    session.sql("INSERT OVERWRITE TABLE t SELECT * FROM t WHERE false")
    judge_warehouse(judge, session)


@pytest.mark.slow
def test_several_stripes(session: Session, judge: Judge) -> None:
    """A file of several stripes has a key index that Hive's readers agree with, split by stripe or not."""
    session.sql("SET acidsql.write.path=big")
    properties = "'transactional'='true', 'orc.stripe.size'='1048576'"
    session.sql(f"CREATE TABLE t (id BIGINT, pad STRING) STORED AS ORC TBLPROPERTIES ({properties})")
    session.sql("INSERT INTO t SELECT id, sha2(CAST(id AS STRING), 512) FROM range(60000)")
    session.sql("DELETE FROM t WHERE id % 11 = 0")
    assert judge_warehouse(judge, session) >= 2


def test_nothing_is_left_behind(session: Session, warehouse: Path) -> None:
    """After statements on both paths a table's folder holds deltas and nothing else: no staging, no checksums."""
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
