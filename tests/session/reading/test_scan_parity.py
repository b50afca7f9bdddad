"""Tables that real Hive wrote, and what our own statements leave: a scan gives the rows that a query
through Spark gives.
"""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pyarrow as pa
import pytest

from acidsql.catalog.model import TableName
from acidsql.errors import UnsupportedStatementError
from acidsql.session import Session
from tests.session.reading.test_hive_fixtures import NAMES, take_over
from tests.storage.scan.reading import rows_of

pytestmark = pytest.mark.spark

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
ASKS_SPARK: set[str] = set()
"""Fixtures that hold what only Spark reads."""


def assert_same_rows(session: Session, table: str) -> None:
    found = session.store.find_table(TableName("default", table))
    assert found is not None
    names = [c.name for c in (*found.columns, *found.partition_columns)]
    if found.is_full_acid:
        names.insert(0, "ROW__ID")
    wanted = session.sql(f"SELECT {', '.join(f'`{n}`' for n in names)} FROM {table}").to_arrow()
    scanned: pa.Table = session.scan(table, names).to_arrow()
    assert scanned.schema.names == names
    assert rows_of(scanned) == rows_of(wanted)


@pytest.mark.parametrize("name", NAMES)
def test_tables_of_hive(name: str, shared: Path, session: Session, warehouse: Path) -> None:
    """Row for row with its ROW__ID."""
    folder = shared / "hive" / "fixtures"
    if not folder.is_dir():
        pytest.skip(f"no tables written by Hive in {folder}")
    facts = json.loads((folder / f"{name}.meta.json").read_text())
    session.sql((folder / f"{name}.ddl.sql").read_text().rstrip(";\n"))
    with tarfile.open(folder / f"{name}.tar.gz") as archive:
        archive.extractall(
            warehouse, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {})
        )
    table = name.partition(".")[0]
    take_over(session, table, facts["high_watermark"], facts["aborted_write_ids"])
    try:
        assert_same_rows(session, table)
    except UnsupportedStatementError:
        assert name in ASKS_SPARK


def test_what_statements_leave(session: Session, warehouse: Path) -> None:
    """Updates, deletes, columns added later, widened types, chars, nested values, a conversion."""
    session.sql(
        "CREATE TABLE t (a INT, c CHAR(5), v VARCHAR(4), d DECIMAL(6,2), ts TIMESTAMP, x DOUBLE,"
        " l ARRAY<CHAR(3)>, m MAP<STRING,INT>, r STRUCT<c:CHAR(2),`a.b`:DATE>)"
        f" PARTITIONED BY (p DECIMAL(4,1), q CHAR(3)) {ACID}"
    )
    session.sql(
        "INSERT INTO t SELECT CAST(id AS INT), concat('c', id % 7), concat('v', id % 9), id / 4,"
        " TIMESTAMP '2020-02-29 12:34:56.789' + make_interval(0, 0, 0, CAST(id AS INT)),"
        " IF(id % 11 = 0, double('NaN'), -0.0), array(concat('x', id % 3), NULL),"
        " map('k', CAST(id AS INT)), IF(id % 5 = 0, NULL, named_struct('c', 'y', 'a.b',"
        " DATE '2021-01-01')), id % 3 + 0.5, IF(id % 2 = 0, 'ab', NULL) FROM range(3000)"
    )
    session.sql("ALTER TABLE t ADD COLUMNS (n BIGINT, late STRING)")
    session.sql("UPDATE t SET late = concat('late ', a), n = a * 3 WHERE a % 10 = 3")
    session.sql("DELETE FROM t WHERE a % 10 = 4 OR a < 20")
    session.sql("ALTER TABLE t CHANGE COLUMN a a BIGINT")
    session.sql("INSERT INTO t PARTITION (p = 1.5, q = 'ab') (a, late) VALUES (5000000000, 'z')")
    assert_same_rows(session, "t")
    with session.transaction():
        session.sql("DELETE FROM t WHERE a % 10 = 5")
        session.sql("INSERT INTO t PARTITION (p = 9.5, q = 'new') (a) VALUES (-1)")
        assert_same_rows(session, "t")
    session.sql("ALTER TABLE t PARTITION (p = 1.5, q = 'ab') COMPACT 'major' AND WAIT")
    assert_same_rows(session, "t")
    session.sql("CREATE TABLE o (a INT, s STRING) CLUSTERED BY (a) INTO 2 BUCKETS STORED AS ORC")
    session.sql("INSERT INTO o SELECT id, concat('s', id) FROM range(500)")
    assert_same_rows(session, "o")
    session.sql("ALTER TABLE o SET TBLPROPERTIES ('transactional'='true')")
    session.sql("DELETE FROM o WHERE a % 7 = 1")
    assert_same_rows(session, "o")
