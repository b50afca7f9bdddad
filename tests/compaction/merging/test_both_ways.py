"""The two ways of a merge, on Arrow and by Spark's job, make the same of the same inputs."""

from __future__ import annotations

from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from pyarrow import orc
from pyspark.sql import DataFrame

from acidsql.acid.ids import ValidCompactorWriteIdList
from acidsql.acid.orc_tail import KEY_INDEX, STATS, VERSION
from acidsql.catalog.model import Partition, Table
from acidsql.compaction.merging.carrying_out import stage
from acidsql.compaction.merging.choosing import choose_inputs
from acidsql.compaction.merging.merge import Merge
from acidsql.files.fileio import path_of
from acidsql.session import Session
from acidsql.storage.footers import read_footer
from acidsql.storage.snapshots import acid_directory
from acidsql.storage.write import streaming
from acidsql.txn.compactions import CompactionType
from tests.compaction import tables
from tests.compaction.compacting import (
    MAJOR,
    MINOR,
    REBALANCE,
    begin,
    clean,
    compact,
    directories,
    find,
    rows,
)
from tests.compaction.tables import TABLES

pytestmark = pytest.mark.spark

ALWAYS = ("several_files", "bucketed", "converted", "several_statements")
"""Those that differ most; the others are slow."""


def staged(
    session: Session, table: Table, partition: Partition | None, kind: CompactionType, path: str
) -> dict[tuple[bool, int], Any] | None:
    """Types, events in their order and footers of the files that a compaction writes one way, by
    kind and bucket; None if there is nothing to do.
    """
    session.sql(f"SET acidsql.write.path={path}")
    txn_id = begin(session)
    txns = session.store.valid_txns(txn_id)
    write_ids = ValidCompactorWriteIdList.of(session.store.valid_write_ids(table.name, txns))
    root = path_of(table.location if partition is None else partition.location)
    seen = acid_directory(session.files, root, write_ids, txns)
    inputs = choose_inputs(seen, kind, write_ids.high_watermark)
    session.store.abort_txns([txn_id])
    if inputs is None:
        return None
    merge = Merge(
        table=table, partition=partition, inputs=inputs, write_ids=write_ids, txn_id=txn_id
    )
    files = stage(session.engine, merge, merge.target(session.settings), max_bytes=1 << 30)
    contents = {}
    for file in files:
        tail = read_footer(session.files, file.path)
        keys = tail.user_metadata
        contents[(file.deletes, int(file.bucket))] = (
            str(tail.schema),
            [keys[name] for name in (KEY_INDEX, STATS, VERSION)],
            _events(file.path),
            file.rows,
        )
    assert len(contents) == len(files), "one file a bucket number"
    return contents


def _events(path: str) -> str:
    """All columns of a file, in its order. Values Arrow cannot hold are compared as bytes are."""
    try:
        return repr(orc.ORCFile(path).read().to_pylist())
    except Exception:
        assert "out of range" in repr(orc_error(path))
        return "times that only Java reads"


def orc_error(path: str) -> Exception | None:
    try:
        orc.ORCFile(path).read()
    except Exception as error:
        return error
    return None


OF_EVERY_TYPE = {
    "id = 5": 1,
    "id > 2": 3,
    "v = 'ü'": 1,
    "v = 'str'": 2,
    "bi < 0": 1,
    "dec = 12.34": 3,
    "d IS NULL": 2,
    "dt = DATE '2020-02-29'": 3,
    "ts > TIMESTAMP '2020-01-01 00:00:00'": 3,
    "vc > 'vd'": 0,
}
"""How many rows of ``tables.every_type`` meet a condition."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=() if n in ALWAYS else pytest.mark.slow) for n in TABLES],
)
def test_both_ways_write_the_same(session: Session, tmp_path: Path, name: str) -> None:
    """Of each kind of compaction the same files with the same events in the same order: ids, write
    ids and values.
    """
    TABLES[name](session, tmp_path)
    table = find(session, "t")
    kinds = [MINOR, MAJOR, REBALANCE] if table.bucketing is None else [MINOR, MAJOR]
    partitions = list(session.store.list_partitions(table)) if table.partition_columns else [None]
    for kind in kinds:
        for partition in partitions:
            small = staged(session, table, partition, kind, "small")
            big = staged(session, table, partition, kind, "big")
            assert small == big, kind


def test_pieces_are_the_same_to_java(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """A base whose stripes were encoded apart from each other: Spark finds each row by the
    conditions that let it leave out stripes, and by the ids.
    """
    monkeypatch.setattr(streaming, "piece_bytes", lambda _: 1)
    tables.every_type(session, Path())
    before = rows(session, "t")
    session.sql("SET acidsql.write.path=small")
    [merged] = compact(session, "t", MAJOR)
    assert merged is not None
    clean(session, "t")
    [base] = directories(session, "t")
    [path] = Path(path_of(find(session, "t").location), base).glob("bucket_*")
    assert len(read_footer(session.files, str(path)).stripes) > 1
    assert rows(session, "t") == before
    frame = session.sql("SELECT * FROM t").df
    counts = [frame.where(condition).selectExpr("count(*)") for condition in OF_EVERY_TYPE]
    seen = [count for (count,) in reduce(DataFrame.union, counts).collect()]
    assert seen == list(OF_EVERY_TYPE.values())
