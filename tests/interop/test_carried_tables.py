"""Tables that ``acidsql migrate`` carries into the metastore of a whole Hive, 3.1.3 and 4.0.1, and back:
each reads the same rows with the same ROW__IDs and changes them. Names, keys and statistics that
acidsql gives to tables there are Hive's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from acidsql.cli.main import main
from acidsql.session import Session
from tests.interop.real_hive import Ran, RealHive
from tests.interop.served_hive import serving, stop_at
from tests.interop.test_hive_metastore import LOCAL, rows_by_step, run
from tests.interop.test_real_hive import hive as hive
from tests.interop.test_real_hive import rows_of

pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.timeout(400)]

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true')"
MADE = (
    "CREATE DATABASE carried",
    f"CREATE TABLE carried.flat (id INT NOT NULL ENABLE, name STRING) {ACID}",
    "INSERT INTO carried.flat VALUES (1, 'one'), (2, 'two'), (3, 'three')",
    "UPDATE carried.flat SET name = upper(name) WHERE id = 2",
    "DELETE FROM carried.flat WHERE id = 3",
    "START TRANSACTION",
    "INSERT INTO carried.flat VALUES (9, 'never')",
    "ROLLBACK",
    "INSERT INTO carried.flat VALUES (4, 'four')",
    "ALTER TABLE carried.flat COMPACT 'major' AND WAIT",
    "INSERT INTO carried.flat VALUES (5, NULL)",
    "CREATE TABLE carried.parts (id INT, n DECIMAL(10,2)) PARTITIONED BY (day DATE, city STRING)"
    f" CLUSTERED BY (id) INTO 2 BUCKETS {ACID}",
    "INSERT INTO carried.parts VALUES (1, 1.5, '2024-01-01', 'A b'), (2, 2.5, '2024-01-02', 'x=y/z')",
    "UPDATE carried.parts SET n = n + 1 WHERE id = 1",
)
TABLES = ("carried.flat", "carried.parts")
BY_HIVE = (
    "UPDATE carried.flat SET name = 'hive' WHERE id = 1",
    "INSERT INTO carried.parts VALUES (3, 3.5, '2024-01-02', 'x=y/z'), (4, 4.5, '2024-01-03', 'new')",
)
BY_ACIDSQL = (
    "UPDATE carried.parts SET n = 0 WHERE id = 3",
    "INSERT INTO carried.flat VALUES (6, 'six')",
)
IN_HIVES_METASTORE = (
    f"CREATE TABLE carried.keyed (id INT, n INT, PRIMARY KEY (id) DISABLE NOVALIDATE RELY) {ACID}",
    "ALTER TABLE carried.keyed ADD CONSTRAINT few CHECK (n < 9) ENABLE",
    "ALTER TABLE carried.keyed ADD CONSTRAINT single UNIQUE (n) DISABLE NOVALIDATE",
    "ALTER TABLE carried.keyed DROP CONSTRAINT few",
    "ALTER TABLE carried.flat RENAME TO carried.level",
    "ALTER TABLE carried.parts PARTITION (day='2024-01-03', city='new') RENAME TO"
    " PARTITION (day='2024-01-04', city='old')",
    "UPDATE carried.parts SET n = 1 WHERE city = 'old'",
    "ANALYZE TABLE carried.parts COMPUTE STATISTICS FOR COLUMNS",
    "ANALYZE TABLE carried.level COMPUTE STATISTICS FOR COLUMNS",
)
RENAMED = ("carried.level", "carried.parts")
COUNTS = ("SELECT count(*) FROM carried.parts", "SELECT count(*) FROM carried.level")
"""Hive answers these by statistics where it believes them."""
TOLD = ("DESCRIBE FORMATTED carried.level name", "DESCRIBE FORMATTED carried.keyed")


def script() -> Iterator[str]:
    """Hive's share of the work, with stops for acidsql's."""
    yield from _looks("carried", *TABLES)
    yield from BY_HIVE
    yield from _looks("again", *RENAMED)
    yield from TOLD
    yield COUNTS[0]
    yield stop_at("written")
    yield COUNTS[1]


def _looks(step: str, *tables: str) -> Iterator[str]:
    yield stop_at(step)
    yield f"!echo {step}"
    yield from (f"SELECT ROW__ID, * FROM {table}" for table in tables)


def test_tables_go_to_hive_and_back(hive: RealHive, tmp_path: Path) -> None:
    """There, changed by Hive, back, changed, and there again under other names."""
    warehouse = str(tmp_path / "own")
    with Session(warehouse, settings=LOCAL) as session:
        run(session, MADE)
        ours = {"carried": {table: rows_of(session, table) for table in TABLES}}
    with serving(hive, list(script()), tmp_path / "served") as served:
        served.wait_for("carried")
        assert main(["migrate", warehouse, served.url]) == 0
        served.go_on("carried")
        served.wait_for("again")
        with Session(metastore=served.url, settings=LOCAL) as session:
            changed = {table: rows_of(session, table) for table in TABLES}
        assert main(["migrate", served.url, warehouse]) == 0
        with Session(warehouse, settings=LOCAL) as session:
            assert {table: rows_of(session, table) for table in TABLES} == changed
            run(session, BY_ACIDSQL)
        assert main(["migrate", warehouse, served.url]) == 0
        with Session(metastore=served.url, settings=LOCAL) as session:
            run(session, IN_HIVES_METASTORE)
            ours["again"] = {table: rows_of(session, table) for table in RENAMED}
            served.go_on("again")
            served.wait_for("written")
            session.sql("INSERT INTO carried.level VALUES (7, 'seven')")
        served.go_on("written")
        printed = served.ran.result()
    assert rows_by_step(printed) == ours
    assert [lines(printed, one) for one in COUNTS] == [["4"], ["6"]]
    column = " ".join(" ".join(lines(printed, TOLD[0])).split())
    assert "num_nulls 1" in column
    assert "max_col_len 4" in column
    key = " ".join(lines(printed, TOLD[1]))
    assert "Primary Key" in key
    assert "single" in key
    assert "few" not in key


def lines(ran: list[Ran], text: str) -> list[str]:
    """What Hive printed for a statement."""
    return [line for one in ran if one.text == text for line in one.lines]
