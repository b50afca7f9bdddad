"""Tables of every kind that a compaction may meet, each called ``t`` with columns id and v."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from acidsql.session import Session

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"


def fill(session: Session) -> None:
    """Inserts, an update and a delete."""
    session.sql("INSERT INTO t (id, v) VALUES (1, 'a'), (2, 'b'), (3, NULL), (4, 'd')")
    session.sql("INSERT INTO t (id, v) VALUES (5, 'e'), (6, 'f')")
    session.sql("UPDATE t SET v = concat(v, '!') WHERE id < 3")
    session.sql("DELETE FROM t WHERE id = 4")


def whole(session: Session, folder: Path) -> None:
    session.sql(f"CREATE TABLE t (id INT, v STRING) {ACID}")
    fill(session)


def several_files(session: Session, folder: Path) -> None:
    """Several bucket files of a table without buckets: deletes must go to the right one."""
    session.sql(f"CREATE TABLE t (id INT, v STRING) {ACID}")
    session.sql("SET acidsql.write.path=big")
    session.sql("INSERT INTO t SELECT CAST(id AS INT), concat('v', id) FROM range(0, 40, 1, 3)")
    session.sql("UPDATE t SET v = 'x' WHERE id % 5 = 1")
    session.sql("DELETE FROM t WHERE id % 7 = 2")


def bucketed(session: Session, folder: Path) -> None:
    session.sql(f"CREATE TABLE t (id INT, v STRING) CLUSTERED BY (id) INTO 3 BUCKETS {ACID}")
    fill(session)


def partitioned(session: Session, folder: Path) -> None:
    session.sql(f"CREATE TABLE t (id INT, v STRING) PARTITIONED BY (p STRING) {ACID}")
    session.sql("INSERT INTO t VALUES (1, 'a', 'x'), (2, 'b', 'y'), (3, NULL, 'x'), (4, 'd', NULL)")
    session.sql("INSERT INTO t VALUES (5, 'e', 'x'), (6, 'f', 'y')")
    session.sql("UPDATE t SET v = concat(v, '!') WHERE id < 3")
    session.sql("DELETE FROM t WHERE id = 4")


def converted(session: Session, folder: Path) -> None:
    """Original files, some rows of which were changed later."""
    session.sql(
        "CREATE TABLE t (id INT, v STRING) STORED AS ORC TBLPROPERTIES ('transactional'='false')"
    )
    session.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, NULL), (4, 'd')")
    session.sql("INSERT INTO t VALUES (5, 'e'), (6, 'f')")
    session.sql("ALTER TABLE t SET TBLPROPERTIES ('transactional'='true')")
    session.sql("UPDATE t SET v = concat(v, '!') WHERE id < 3")
    session.sql("DELETE FROM t WHERE id = 4")
    session.sql("INSERT INTO t VALUES (7, 'g')")


def loaded(session: Session, folder: Path) -> None:
    """Files without ids that LOAD DATA put into a delta."""
    session.sql(
        "CREATE TABLE s (id INT, v STRING) STORED AS ORC TBLPROPERTIES ('transactional'='false')"
    )
    session.sql(f"CREATE TABLE t (id INT, v STRING) {ACID}")
    session.sql("INSERT INTO t VALUES (0, 'z')")
    for number in range(2):
        session.sql(f"INSERT INTO s VALUES ({number * 3 + 1}, 'a'), ({number * 3 + 2}, 'b')")
        session.sql(f"LOAD DATA INPATH '{session.warehouse}/s' INTO TABLE t")
    session.sql("UPDATE t SET v = 'x' WHERE id = 2")
    session.sql("DELETE FROM t WHERE id = 4")


def aborted(session: Session, folder: Path) -> None:
    """Write ids in the middle that never became valid."""
    session.sql(f"CREATE TABLE t (id INT, v STRING) {ACID}")
    session.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    session.sql("START TRANSACTION")
    session.sql("INSERT INTO t VALUES (100, 'never')")
    session.sql("ROLLBACK")
    session.sql("INSERT INTO t VALUES (3, 'c'), (4, 'd')")
    session.sql("DELETE FROM t WHERE id = 1")


def several_statements(session: Session, folder: Path) -> None:
    session.sql(f"CREATE TABLE t (id INT, v STRING) {ACID}")
    session.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    session.sql("START TRANSACTION")
    session.sql("INSERT INTO t VALUES (4, 'd'), (5, 'e')")
    session.sql("INSERT INTO t VALUES (6, 'f')")
    session.sql("UPDATE t SET v = 'x' WHERE id IN (1, 4)")
    session.sql("DELETE FROM t WHERE id = 2")
    session.sql("COMMIT")
    session.sql(
        "MERGE INTO t USING (SELECT 3 AS i UNION ALL SELECT 9) s ON t.id = s.i"
        " WHEN MATCHED THEN UPDATE SET v = 'm' WHEN NOT MATCHED THEN INSERT VALUES (s.i, 'n')"
    )


def overwritten(session: Session, folder: Path) -> None:
    session.sql(f"CREATE TABLE t (id INT, v STRING) {ACID}")
    fill(session)
    session.sql("INSERT OVERWRITE TABLE t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    session.sql("INSERT INTO t VALUES (4, 'd')")
    session.sql("DELETE FROM t WHERE id = 2")


def older_columns(session: Session, folder: Path) -> None:
    """Files from before a column was added, and another widened."""
    session.sql(f"CREATE TABLE t (id INT, v STRING) {ACID}")
    session.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    session.sql("ALTER TABLE t ADD COLUMNS (w DECIMAL(9,2))")
    session.sql("INSERT INTO t VALUES (3, 'c', 1.25), (4, 'd', NULL)")
    session.sql("UPDATE t SET w = 7 WHERE id = 1")
    session.sql("ALTER TABLE t CHANGE id id BIGINT")
    session.sql("INSERT INTO t VALUES (50000000000, 'e', 2)")


def every_type(session: Session, folder: Path) -> None:
    types = (
        "id INT, b BOOLEAN, ti TINYINT, si SMALLINT, bi BIGINT, f FLOAT, d DOUBLE, dec DECIMAL(20,4), v STRING, c CHAR(5), vc VARCHAR(9), "
        "bin BINARY, dt DATE, ts TIMESTAMP, arr ARRAY<INT>, m MAP<STRING,BIGINT>, st STRUCT<x:INT,y:ARRAY<STRUCT<z:STRING,t:TIMESTAMP>>>"
    )
    values = (
        "true, 1, 2, 3, 1.5, 2.25, 12.34, 'str', 'ab', 'vc', unhex('00ff10'), DATE '2020-02-29', TIMESTAMP '2020-02-29 12:34:56.789', "
        "array(1, NULL, 3), map('k', CAST(1 AS BIGINT)), "
        "named_struct('x', 7, 'y', array(named_struct('z', 'ü', 't', TIMESTAMP '2001-02-03 04:05:06'), NULL))"
    )
    session.sql(f"CREATE TABLE t ({types}) {ACID}")
    session.sql(f"INSERT INTO t SELECT 1, {values}")
    session.sql("INSERT INTO t (id) VALUES (2)")
    session.sql(f"INSERT INTO t SELECT 3, {values} UNION ALL SELECT 4, {values}")
    session.sql(
        "INSERT INTO t (id, st) SELECT 5, named_struct('x', 1, 'y', CAST(NULL AS ARRAY<STRUCT<z:STRING,t:TIMESTAMP>>))"
    )
    session.sql("UPDATE t SET v = 'ü', bi = -1, arr = array(9) WHERE id = 1")


def old_times(session: Session, folder: Path) -> None:
    """Days before the calendars parted, and fractions of seconds before 1970: Java's."""
    session.sql(f"CREATE TABLE t (id INT, v STRING, d DATE, ts TIMESTAMP) {ACID}")
    session.sql("INSERT INTO t VALUES (1, 'a', DATE '1200-03-04', TIMESTAMP '1200-03-04 01:02:03')")
    session.sql("INSERT INTO t VALUES (2, 'b', DATE '9999-12-31', TIMESTAMP '9999-12-31 23:59:59')")
    session.sql(
        "INSERT INTO t VALUES (3, 'c', DATE '2024-02-29', TIMESTAMP '1965-01-01 10:00:00.25')"
    )
    session.sql("DELETE FROM t WHERE id = 2")
    session.sql("INSERT INTO t VALUES (4, 'b', DATE '9999-12-31', TIMESTAMP '9999-12-31 23:59:59')")


def words_of_the_format(session: Session, folder: Path) -> None:
    """Columns called like those of events."""
    session.sql(
        f"CREATE TABLE t (bucket INT, id INT, v STRING, rowid STRING, operation INT, `row` STRUCT<bucket:INT>, currenttransaction INT) {ACID}"
    )
    for number in range(1, 5):
        session.sql(
            f"INSERT INTO t SELECT 1, {number}, 'a', 'r', 2, named_struct('bucket', {number}), 9"
        )
    session.sql("UPDATE t SET rowid = 'z' WHERE `row`.bucket = 2")


TABLES: dict[str, Callable[[Session, Path], None]] = {
    made.__name__: made
    for made in (
        whole,
        several_files,
        bucketed,
        partitioned,
        converted,
        loaded,
        aborted,
        several_statements,
        overwritten,
        older_columns,
        every_type,
        old_times,
        words_of_the_format,
    )
}
