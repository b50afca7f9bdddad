"""What a task's statements are to a task that is run again; needs no Airflow."""

from __future__ import annotations

import pytest

from acidsql.airflow.runs import Kind, task_statements
from acidsql.errors import ParseError, ProgrammingError


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("INSERT INTO t VALUES (1)", Kind.CHANGE),
        ("INSERT OVERWRITE TABLE t SELECT 1", Kind.CHANGE),
        ("FROM s INSERT INTO t SELECT 1 INSERT INTO u SELECT 2", Kind.CHANGE),
        ("UPDATE t SET a = 1", Kind.CHANGE),
        ("DELETE FROM t", Kind.CHANGE),
        ("MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN DELETE", Kind.CHANGE),
        ("LOAD DATA INPATH '/x' INTO TABLE t", Kind.CHANGE),
        ("TRUNCATE TABLE t", Kind.CHANGE),
        ("EXPLAIN ANALYZE DELETE FROM t", Kind.CHANGE),
        ("EXPLAIN DELETE FROM t", Kind.HARMLESS),
        ("DRY RUN DELETE FROM t", Kind.HARMLESS),
        ("ATTACH DATABASE sales USING 'postgresql://hive@host/metastore'", Kind.DEFINITION),
        ("DETACH DATABASE sales", Kind.DEFINITION),
        ("SELECT 1", Kind.HARMLESS),
        ("WITH q AS (SELECT 1) SELECT * FROM q", Kind.HARMLESS),
        ("SHOW TABLES", Kind.HARMLESS),
        ("DESCRIBE t", Kind.HARMLESS),
        ("USE sales", Kind.HARMLESS),
        ("SET a=b", Kind.HARMLESS),
        ("CREATE TABLE t (a INT)", Kind.DEFINITION),
        ("CREATE TABLE t AS SELECT 1", Kind.DEFINITION),
        ("DROP TABLE t", Kind.DEFINITION),
        ("ALTER TABLE t ADD PARTITION (d='1')", Kind.DEFINITION),
        ("START TRANSACTION", Kind.TRANSACTION),
        ("COMMIT", Kind.TRANSACTION),
        ("ROLLBACK", Kind.TRANSACTION),
        ("SET AUTOCOMMIT FALSE", Kind.TRANSACTION),
    ],
)
def test_kinds(text: str, kind: Kind) -> None:
    """Each statement is one of four."""
    assert [one.kind for one in task_statements([text], None)] == [kind]


def test_parameters_are_part_of_what_is_done() -> None:
    """A statement with other values is another one."""
    (one,) = task_statements(["DELETE FROM t WHERE a = ?"], [1])
    (other,) = task_statements(["DELETE FROM t WHERE a = :a"], {"a": 2})
    assert (one.source, other.source) == ("DELETE FROM t WHERE a = 1", "DELETE FROM t WHERE a = 2")
    assert one.text == "DELETE FROM t WHERE a = ?"


def test_what_is_wrong_is_said_before_anything_is_done() -> None:
    """The second statement's mistake keeps the first from being carried out."""
    with pytest.raises(ParseError, match="line 1: INSRT"):
        task_statements(["INSERT INTO t VALUES (1)", "INSRT INTO t VALUES (1)"], None)
    with pytest.raises(ProgrammingError):
        task_statements(["DELETE FROM t WHERE a = ?"], [1, 2])
