"""Statements that change rows under acidsql.engine=local, in a process that may start no Java."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import subprocess, sys
from acidsql import Session

started = []
popen = subprocess.Popen.__init__
def noted(self, args, *rest, **named):
    started.append(args)
    popen(self, args, *rest, **named)
subprocess.Popen.__init__ = noted

with Session(sys.argv[1], settings={"acidsql.engine": "local"}) as session:
    acid = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
    for text in [
        f"CREATE TABLE t (id INT, name STRING, c CHAR(5)) {acid}",
        f"CREATE TABLE s (id BIGINT, name STRING) {acid}",
        "INSERT INTO t VALUES (1, 'a', 'x'), (2, 'b', 'y'), (3, NULL, NULL)",
        "INSERT INTO s VALUES (3, 'three'), (4, 'four'), (10, 'gone')",
        "UPDATE t SET name = 'new' WHERE id = 1",
        "DELETE FROM t WHERE id = 2",
        "INSERT INTO t SELECT 10, name, 'abcdefgh' FROM t WHERE id = 1",
        "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED AND s.name = 'gone' THEN DELETE"
        " WHEN MATCHED THEN UPDATE SET name = s.name"
        " WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, s.name)",
        "MERGE INTO t USING (SELECT 1 AS id, 'more' AS w UNION ALL SELECT 9, 'nine') v"
        " ON t.id = v.id AND v.w <> 'no' WHEN MATCHED THEN UPDATE SET c = v.w"
        " WHEN NOT MATCHED THEN INSERT VALUES (v.id, v.w, NULL)",
        f"CREATE TABLE u PARTITIONED BY (k) {acid} AS SELECT id + 1, name, c AS k FROM t",
    ]:
        session.sql(text)
    rows = session.sql("SELECT * FROM t ORDER BY id").to_arrow().to_pylist()
    print([tuple(row.values()) for row in rows])
    rows = session.sql("SELECT * FROM u ORDER BY _c0").to_arrow().to_pylist()
    print([tuple(row.values()) for row in rows])
    print(started, sorted(n for n in sys.modules if n.split(".")[0] in ("pyspark", "py4j")))
"""


def test_changes_start_no_java(tmp_path: Path) -> None:
    """UPDATE, DELETE, INSERT .. SELECT, CREATE TABLE .. AS, and MERGE of a table and of rows import
    no pyspark, start no process, and leave the rows they say.
    """
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "warehouse")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    expected = [
        (1, "new", "more"),
        (3, "three", None),
        (4, "four", None),
        (9, "nine", None),
    ]
    created = [(number + 1, name, key) for number, name, key in expected]
    assert ran.stdout.splitlines() == [str(expected), str(created), "[] []"]
