"""What statements are called, wherever they are called by a name."""

from __future__ import annotations

import pytest

from acidsql.plan.facts import name_of_statement, title_of, words_of
from acidsql.plan.plans import MergePlan, WritePlan, plan
from acidsql.settings import Settings
from tests.planner.conftest import Bind

MERGE = "MERGE INTO t USING plain s ON t.id = s.id WHEN MATCHED THEN DELETE"
NAMES = {
    "SELECT 1": ("SELECT", "SELECT"),
    "INSERT INTO t (id) VALUES (1)": ("INSERT", "INSERT"),
    "FROM plain INSERT INTO b SELECT * INSERT INTO t (id) SELECT id": ("INSERT", "INSERT"),
    "UPDATE t SET id = 1": ("UPDATE", "UPDATE"),
    "DELETE FROM t": ("DELETE", "DELETE"),
    MERGE: ("MERGE", "MERGE"),
    "TRUNCATE TABLE t": ("TRUNCATE", "TRUNCATE"),
    "LOAD DATA INPATH '/data/x' INTO TABLE plain": ("LOAD DATA", "LOAD DATA"),
    "EXPLAIN DELETE FROM t": ("EXPLAIN", "EXPLAIN"),
    "EXPLAIN ANALYZE DELETE FROM t": ("EXPLAIN ANALYZE", "EXPLAIN ANALYZE"),
    "DRY RUN DELETE FROM t": ("DRY RUN", "DRY RUN"),
    "CREATE TABLE x AS SELECT 1 AS one": ("CREATE TABLE .. AS", "CREATE TABLE"),
    "ALTER TABLE t ADD COLUMNS (c INT)": ("ALTER TABLE .. ADD COLUMNS", "ALTER TABLE"),
    "ALTER TABLE plain SET TBLPROPERTIES ('transactional'='true')": (
        "ALTER TABLE from not transactional to full ACID",
        "ALTER TABLE",
    ),
    "SHOW TBLPROPERTIES t": ("SHOW TBLPROPERTIES", "SHOW TBLPROPERTIES"),
    "SHOW CREATE TABLE t": ("SHOW CREATE TABLE", "SHOW CREATE TABLE"),
    "START TRANSACTION": ("START TRANSACTION", "START TRANSACTION"),
    "SET AUTOCOMMIT TRUE": ("SET AUTOCOMMIT", "SET AUTOCOMMIT"),
}
TITLES = {
    "INSERT OVERWRITE TABLE t SELECT * FROM t": "INSERT OVERWRITE default.t",
    "INSERT INTO t (id) VALUES (1)": "INSERT INTO default.t",
    "LOAD DATA INPATH '/data/x' OVERWRITE INTO TABLE plain": "LOAD DATA OVERWRITE INTO default.plain",
    "UPDATE t SET id = 1": "UPDATE default.t",
    "DELETE FROM t": "DELETE FROM default.t",
    "TRUNCATE TABLE t": "TRUNCATE TABLE default.t",
    MERGE: "MERGE INTO default.t",
}


@pytest.mark.parametrize("sql", NAMES)
def test_names(bound: Bind, sql: str) -> None:
    """A statement is called by its own words; its results by those before the dots."""
    made = plan(bound(sql), Settings())
    assert (words_of(made), name_of_statement(made)) == NAMES[sql]


@pytest.mark.parametrize("sql", TITLES)
def test_titles(bound: Bind, sql: str) -> None:
    """EXPLAIN and DRY RUN name the table with a statement that changes rows."""
    made = plan(bound(sql), Settings())
    assert isinstance(made, WritePlan | MergePlan)
    assert title_of(made) == TITLES[sql]
