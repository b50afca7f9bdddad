"""What the tests of overlays share: tables of others, and what lies in a directory."""

from __future__ import annotations

import os
from pathlib import Path

from acidsql.session import Session

LOCAL = {"acidsql.engine": "local", "acidsql.compactor.auto": "false"}
ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
ASSUMED = "ASSUME COMMITTED"


def make_tables(warehouse: Path) -> Path:
    """The warehouse of others: ``t`` with deletes and an aborted write id 3, ``p`` with partitions
    whose names are escaped, ``b`` with buckets, ``m`` insert-only.
    """
    with Session(warehouse, settings=LOCAL) as theirs:
        theirs.sql(f"CREATE TABLE t (k INT, v STRING) {ACID}")
        theirs.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
        theirs.sql("DELETE FROM t WHERE k = 1")
        theirs.sql("INSERT INTO t VALUES (9, 'aborted')")
        theirs.sql("UPDATE t SET v = 'C' WHERE k = 3")
        theirs.sql(f"CREATE TABLE p (k INT, v STRING) PARTITIONED BY (d STRING, n INT) {ACID}")
        theirs.sql(
            "INSERT INTO p PARTITION (d, n) VALUES (1, 'a', 'x y', 1), (2, 'b', 'x y', 2),"
            " (3, 'c', 'A=b', 1), (4, 'd', 'x y', 1)"
        )
        theirs.sql("UPDATE p SET v = 'B' WHERE k = 2")
        theirs.sql(
            f"CREATE TABLE b (k INT, v STRING) CLUSTERED BY (k) INTO 3 BUCKETS {ACID}",
        )
        theirs.sql("INSERT INTO b VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')")
        theirs.sql("ALTER TABLE b COMPACT 'major' AND WAIT")
        theirs.sql(
            "CREATE TABLE m (k INT, v STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true',"
            " 'transactional_properties'='insert_only')"
        )
        theirs.sql("INSERT INTO m VALUES (1, 'a'), (2, 'b')")
    return warehouse


def overlay(session: Session, others: Path, table: str = "t", name: str = "") -> None:
    clause = f"{ASSUMED} EXCEPT (3)" if table == "t" else ASSUMED
    keys = "PARTITIONED BY (d STRING, n INT)" if table == "p" else ""
    session.sql(f"ATTACH TABLE {name or table} {keys} FROM '{others / table}' OVERLAY {clause}")


def contents(folder: Path) -> dict[str, tuple[int, bytes | None]]:
    """Every file and directory below, with its time and its bytes."""
    return {
        path.relative_to(folder).as_posix(): (
            os.stat(path).st_mtime_ns,
            path.read_bytes() if path.is_file() else None,
        )
        for path in (folder, *folder.rglob("*"))
    }


def rows(session: Session, query: str) -> list[tuple[object, ...]]:
    return sorted(session.sql(query).rows(), key=str)


def changes(session: Session, table: str = "t") -> str:
    """What DESCRIBE CHANGES says of all rows."""
    return session.sql(f"DESCRIBE CHANGES OF {table}").notes[0].removeprefix("rows: ")
