"""Tables that real Hive wrote, taken into a warehouse as they are: its DDL is understood, and every
row reads as it did in Hive.
"""

from __future__ import annotations

import io
import json
import re
import tarfile
from pathlib import Path
from typing import Any

import pytest

from acidsql.catalog.model import TableName
from acidsql.rendering.formats import Layout, write_rows
from acidsql.session import Session
from acidsql.txn.manager import OperationType, TxnComponent

pytestmark = pytest.mark.spark

FIXTURES = (
    *"bucket_v1 bucket_v2 loaded loadsrc major minor mm_table multi_a orig_bucketed overwritten src types_prim union_all".split(),
    *"aborted.hive3 merged.hive3 part_mixed.hive4 types_nested.hive4".split(),
)
NAMES = tuple(
    full
    for name in FIXTURES
    for full in ((name,) if "." in name else (f"{name}.hive3", f"{name}.hive4"))
)
FIRST_CONVERTED_ID = 10_000_001


@pytest.fixture
def fixtures(shared: Path) -> Path:
    folder = shared / "hive" / "fixtures"
    if not folder.is_dir():
        pytest.skip(f"no tables written by Hive in {folder}")
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_rows_are_those_hive_printed(
    name: str, fixtures: Path, session: Session, warehouse: Path
) -> None:
    """Row for row with its ROW__ID, as Hive prints them."""
    table = name.partition(".")[0]
    facts = json.loads((fixtures / f"{name}.meta.json").read_text())
    session.sql((fixtures / f"{name}.ddl.sql").read_text().rstrip(";\n"))
    with tarfile.open(fixtures / f"{name}.tar.gz") as archive:
        # the first releases of Python 3.11 have no filters, later ones want one to be named
        archive.extractall(
            warehouse, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {})
        )
    take_over(session, table, facts["high_watermark"], facts["aborted_write_ids"])
    with_ids = "ROW__ID" in facts["select"]
    found = session.sql(f"SELECT {'ROW__ID, ' if with_ids else ''}* FROM {table}")
    out = io.StringIO()
    write_rows(out, found.columns, found.rows(), Layout())
    assert sorted(out.getvalue().splitlines()) == sorted(
        hive_lines(fixtures / f"{name}.expected.tsv", with_ids=with_ids)
    )


def take_over(session: Session, table: str, high_watermark: int, aborted: list[int]) -> None:
    """The write ids of Hive's metastore: committed up to the mark but for the aborted ones; the
    partitions by the directories.
    """
    name, store = TableName("default", table), session.store
    found = store.find_table(name)
    assert found is not None
    if high_watermark >= FIRST_CONVERTED_ID:
        store.seed_write_id(name, high_watermark)  # type: ignore[arg-type]
    else:
        for number in range(1, high_watermark + 1):
            txn = store.open_txn()
            write_id = store.allocate_write_id(txn, name)
            component = TxnComponent(
                table=name, partition=None, operation=OperationType.INSERT, write_id=write_id
            )
            assert write_id == number
            if number in aborted:
                store.add_components(txn, [component])
                store.abort(txn)
            else:
                store.commit(txn, [component])
    if found.partition_columns:
        session.sql(f"MSCK REPAIR TABLE {table}")
    if found.is_transactional:
        ids: Any = store.valid_write_ids(name, store.valid_txns())
        assert ids.high_watermark == high_watermark


def hive_lines(path: Path, *, with_ids: bool) -> list[str]:
    """What Hive printed, without the files' names. Digits of a second after the sixth are beyond
    Spark; Hive shows a string partition column's NULL as the name of its directory.
    """
    lines = []
    for line in path.read_text(encoding="utf-8").splitlines():
        cells = line.split("\t")
        shown = [cells[0], *cells[2:]] if with_ids else cells
        lines.append(
            re.sub(r"(:\d\d\.\d{6})\d{1,3}\b", r"\1", "\t".join(shown)).replace(
                "__HIVE_DEFAULT_PARTITION__", "NULL"
            )
        )
    return lines
