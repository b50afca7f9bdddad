"""Makes ``acidsql/metastore/sql/sqlite.json`` anew: `python -m tests.metastore.ahead`.

It has the SQL that the statements below ask of a metastore in a file.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest

import acidsql
from acidsql.cli.main import main
from acidsql.metastore.schema import METADATA
from acidsql.metastore.sql import real, sqlite

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
STATEMENTS = f"""
CREATE DATABASE d COMMENT 'c' WITH DBPROPERTIES ('k'='v')
USE d
SHOW DATABASES
CREATE TABLE IF NOT EXISTS t (k INT COMMENT 'c', v STRING) COMMENT 'c' {ACID}
CREATE TABLE IF NOT EXISTS t (k INT, v STRING) {ACID}
INSERT INTO t VALUES (1, 'a'), (2, 'b')
INSERT INTO t SELECT * FROM t
SELECT * FROM t WHERE k = 1
SELECT count(*) FROM t
UPDATE t SET v = 'z' WHERE k = 1
DELETE FROM t WHERE k = 2
DELETE FROM t WHERE k = 20
MERGE INTO t USING (SELECT 2 AS a, 'q' AS b) s ON t.k = s.a WHEN MATCHED THEN UPDATE SET v = b WHEN NOT MATCHED THEN INSERT VALUES (a, b)
INSERT OVERWRITE TABLE t VALUES (1, 'a')
TRUNCATE TABLE t
CREATE TABLE p (k INT, v STRING) PARTITIONED BY (g STRING, h INT) {ACID}
INSERT INTO p PARTITION (g = 'x', h = 1) VALUES (1, 'a'), (2, 'b')
INSERT INTO p VALUES (1, 'a', 'x', 2), (2, 'b', 'y', 2)
SELECT * FROM p WHERE g = 'x'
SELECT * FROM p WHERE h > 1
UPDATE p SET v = 'z' WHERE k = 1
DELETE FROM p WHERE g = 'y'
SHOW PARTITIONS p
ALTER TABLE p ADD PARTITION (g = 'z', h = 3)
ALTER TABLE p DROP PARTITION (g = 'z')
ALTER TABLE t ADD COLUMNS (n INT)
ALTER TABLE t CHANGE COLUMN n m INT
ALTER TABLE t SET TBLPROPERTIES ('a'='b')
ALTER TABLE t RENAME TO r
ALTER TABLE r RENAME TO t
CREATE TABLE b (k INT, v STRING) CLUSTERED BY (k) INTO 2 BUCKETS {ACID}
INSERT INTO b VALUES (1, 'a')
UPDATE b SET v = 'z' WHERE k = 1
CREATE TABLE c (k INT NOT NULL, v STRING DEFAULT 'x', PRIMARY KEY (k) DISABLE NOVALIDATE) {ACID}
INSERT INTO c (k) VALUES (1)
CREATE TABLE l (k INT, v STRING) STORED AS PARQUET
CREATE VIEW w AS SELECT k FROM t
SHOW TABLES
SHOW VIEWS
DESCRIBE t
DESCRIBE FORMATTED p
SHOW CREATE TABLE c
SHOW TBLPROPERTIES t
COPY t TO '$FOLDER/t.csv'
COPY INTO t FROM '$FOLDER/*.csv' ONCE
COPY INTO t FROM '$FOLDER/*.csv' ONCE
SHOW TRANSACTIONS
SHOW LOCKS
SHOW COMPACTIONS
ANALYZE TABLE t COMPUTE STATISTICS
EXPLAIN UPDATE t SET v = 'y' WHERE k = 1
ALTER TABLE t COMPACT 'major'
ALTER TABLE p PARTITION (g = 'x', h = 1) COMPACT 'minor'
acidsql compactor
SHOW COMPACTIONS
START TRANSACTION
INSERT INTO t (k, v) VALUES (5, 'a')
UPDATE t SET v = 'y' WHERE k = 5
SELECT * FROM t
COMMIT
START TRANSACTION
INSERT INTO t (k, v) VALUES (5, 'a')
ROLLBACK
SELECT * FROM t
DROP VIEW w
DROP TABLE p
DROP TABLE t
DROP DATABASE d CASCADE
"""


def compiled_ahead() -> dict[str, Any]:
    METADATA.sorted_tables  # noqa: B018 (has all of them made)
    tables = sqlite.create_texts(real(METADATA), sqlite.dialect())
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        statements: dict[str, sqlite.Compiled] = {}
        patch.setattr(sqlite, "known", statements)
        patch.setattr(sqlite, "_ahead", lambda: {"statements": {}, "tables": tables})
        carry_out(str(Path(folder, "w")))
    return {"statements": dict(sorted(statements.items())), "tables": tables}


def carry_out(warehouse: str) -> None:
    """Carries the statements out in one session, which needs no Spark; compactions come when they
    are to.
    """
    settings = {"acidsql.engine": "local", "acidsql.compactor.auto": "false"}
    with acidsql.Session(warehouse, settings=settings) as session:
        for statement in STATEMENTS.strip().splitlines():
            if statement == "acidsql compactor":
                main(["compactor", "--warehouse", warehouse, "--once"])
            else:
                session.sql(statement.replace("$FOLDER", str(Path(warehouse).parent)))


def text_of(ahead: dict[str, Any]) -> str:
    """One statement a line."""
    kinds = [
        f'"{kind}": {{\n'
        + ",\n".join(f"{json.dumps(key)}: {json.dumps(entry)}" for key, entry in entries.items())
        + "\n}"
        for kind, entries in ahead.items()
    ]
    return "{" + ",\n".join(kinds) + "}\n"


if __name__ == "__main__":
    sqlite.AHEAD.write_text(text_of(compiled_ahead()), encoding="utf-8")
