"""What the doctor has mended, judged by Hive."""

from __future__ import annotations

from pathlib import Path

import pytest

from acidsql.acid.orc_tail import KEY_INDEX, STATS, VERSION
from acidsql.catalog.model import TableName
from acidsql.compaction.doctor.mending import forget_lost, mend
from acidsql.compaction.doctor.rounds import examine_table
from acidsql.session import Session
from tests.compaction.test_doctor import with_keys
from tests.interop.judge import Judge
from tests.interop.judged import judge_warehouse

pytestmark = [pytest.mark.interop, pytest.mark.spark]

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"


def test_footers_that_were_wrong(session: Session, judge: Judge, warehouse: Path) -> None:
    """Inserts and deletes whose footers were wrong read the same in Hive and here, once the doctor
    has computed them from the rows; and Hive's check of footers finds nothing.
    """
    session.sql(f"CREATE TABLE t (id INT, v STRING) {ACID}")
    session.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, NULL), (4, 'd')")
    session.sql("DELETE FROM t WHERE id IN (2, 3)")
    session.sql("UPDATE t SET v = 'x' WHERE id = 4")
    files = sorted((warehouse / "t").glob("*/bucket_*"))
    for path in files:
        with_keys(path, {KEY_INDEX: "9,9,9;", STATS: "0,0,0", VERSION: "1"})
    table = session.store.find_table(TableName("default", "t"))
    assert table is not None
    forget_lost(session.store, session.files, table)  # the files are those of a writer that erred
    for finding in examine_table(session.store, session.files, table):
        mend(session.store, session.files, table, finding)
    assert examine_table(session.store, session.files, table) == []
    assert judge_warehouse(judge, session) == len(files)
