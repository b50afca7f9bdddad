"""Compaction to and fro with whole Hives, 3.1.3 and 4.0.1: they read, change and compact again what
we have compacted, and we what they have.
"""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import pytest

from acidsql.acid.ids import ValidWriteIdList
from acidsql.catalog.model import TableName
from acidsql.ddl.partitions.locations import highest_ids
from acidsql.rendering.formats import Layout, write_rows
from acidsql.session import Session
from tests.interop import real_hive
from tests.interop.real_hive import Ran, RealHive
from tests.session.reading.test_hive_fixtures import take_over

pytestmark = [pytest.mark.interop, pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1500)]

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true')"
LAYOUTS = {
    "plain": "",
    "bucketed": "CLUSTERED BY (id) INTO 2 BUCKETS",
    "partitioned": "PARTITIONED BY (k STRING)",
}
TABLES = {
    f"{layout}_{kind}": layout
    for layout, kind in (
        ("plain", "minor"),
        ("plain", "major"),
        ("bucketed", "minor"),
        ("partitioned", "major"),
    )
}
"""By name, which ends in what is done first; later both compact each in both ways."""


@pytest.fixture(params=[3, 4], ids=["hive3", "hive4"])
def hive(
    request: pytest.FixtureRequest,
    shared: Path,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> RealHive:
    """A Hive without a table. What all the processes of a test run build lies beside their own
    folders.
    """
    source = shared / "hive"
    if not source.is_dir():
        pytest.skip(f"no scripts that build a Hive in {source}")
    version: int = request.param
    place = tmp_path_factory.getbasetemp().parent / f"acidsql-hive{version}"
    folder = real_hive.build(source, version, place)
    return RealHive(version=version, folder=folder, data=tmp_path / "hive")


def test_compacted_to_and_fro(
    session: Session, warehouse: Path, tmp_path: Path, hive: RealHive
) -> None:
    """Rows and ROW__IDs are those the other has, whoever compacted last."""
    for name in TABLES:
        changed_and_compacted(session, name)
    ours = {name: rows_of(session, name) for name in TABLES}
    theirs = {name: Turn(ran) for name, ran in of_hive(session, warehouse, hive)}
    for name, turn in theirs.items():
        assert turn.rows("as it came") == ours[name], name
        assert turn.rows("minor") == turn.rows("changed") == turn.rows("major"), name
        assert turn.rows("changed") != ours[name]
    with Session(tmp_path / "back", spark=session.spark) as back:
        for name, turn in theirs.items():
            taken_back(back, hive, name, turn)


# ---- ours


def definition(name: str) -> str:
    return f"CREATE TABLE {name} (id INT, v STRING) {LAYOUTS[TABLES[name]]} {ACID}"


def key_of(name: str) -> str:
    """What an INSERT's row ends with."""
    return ", if(id % 2 = 0, 'a', 'b')" if TABLES[name] == "partitioned" else ""


def changed_and_compacted(session: Session, name: str) -> None:
    """Two inserts, one given up, one of several statements, updates and deletes."""
    key = key_of(name)
    session.sql(definition(name))
    session.sql(f"INSERT INTO {name} SELECT id, concat('v', id){key} FROM range(12)")
    session.sql(f"UPDATE {name} SET v = concat(v, '!') WHERE id % 3 = 0")
    session.sql("START TRANSACTION")
    session.sql(f"INSERT INTO {name} SELECT id, 'given up'{key} FROM range(3)")
    session.sql("ROLLBACK")
    with session.transaction():
        session.sql(f"INSERT INTO {name} SELECT id + 20, 'several'{key} FROM range(4)")
        session.sql(f"INSERT INTO {name} SELECT id + 30, 'several'{key} FROM range(4)")
        session.sql(f"DELETE FROM {name} WHERE id IN (1, 2, 21, 31)")
    compact(session, name, name.partition("_")[2])
    session.sql(f"INSERT INTO {name} SELECT id + 40, 'behind'{key} FROM range(2)")
    session.sql(f"DELETE FROM {name} WHERE id = 4")


def compact(session: Session, name: str, kind: str) -> None:
    for partition in partitions(session, name):
        session.sql(f"ALTER TABLE {name} {partition} COMPACT '{kind}' AND WAIT")
    states = {row[5] for row in session.sql(f"SHOW COMPACTIONS {name}").rows()}
    assert states <= {"ready for cleaning", "succeeded"}


def partitions(session: Session, name: str) -> list[str]:
    if TABLES[name] != "partitioned":
        return [""]
    rows: Any = session.sql(f"SHOW PARTITIONS {name}").rows()
    return ["PARTITION (k='{}')".format(row[0].partition("=")[2]) for row in rows]


def rows_of(session: Session, name: str) -> list[str]:
    """The rows with their ROW__IDs, as Hive prints them."""
    result = session.sql(f"SELECT ROW__ID, * FROM {name}")
    out = io.StringIO()
    write_rows(out, result.columns, result.rows(), Layout())
    return sorted(out.getvalue().splitlines())


# ---- Hive's


class Turn:
    """What Hive printed about one table."""

    def __init__(self, ran: list[Ran]) -> None:
        self._rows = {}
        for marked, query in pairwise(ran):
            if marked.text.startswith("echo "):
                self._rows[marked.text.removeprefix("echo ")] = sorted(query.lines)

    def rows(self, when: str) -> list[str]:
        return self._rows[when]


def of_hive(session: Session, warehouse: Path, hive: RealHive) -> Iterator[tuple[str, list[Ran]]]:
    """Gives Hive our write ids and files, and lets it read, change and compact each table."""
    lines, counts = [], []
    for name in TABLES:
        of_table = [*handed_over(session, warehouse, name), *turn_of_hive(name)]
        lines += of_table
        counts.append(len(of_table))
    ran = iter(hive.run(lines))
    for name, count in zip(TABLES, counts, strict=True):
        yield name, list(islice(ran, count))


def handed_over(session: Session, warehouse: Path, name: str) -> Iterator[str]:
    yield definition(name)
    write_ids: ValidWriteIdList = session.store.valid_write_ids(
        TableName("default", name), session.store.valid_txns()
    )
    for write_id in range(1, write_ids.high_watermark + 1):
        yield "!open"
        yield f"!writeid default.{name}"
        yield "!abort" if write_id in write_ids.aborted else "!commit"
    for partition in partitions(session, name):
        if partition:
            yield f"ALTER TABLE {name} ADD {partition}"
    yield f"!sh cp -r {warehouse / name}/. {name}/"


def turn_of_hive(name: str) -> Iterator[str]:
    select = f"SELECT ROW__ID, * FROM {name}"
    key = ", 'a'" if TABLES[name] == "partitioned" else ""
    yield from ("!echo as it came", select)
    yield f"INSERT INTO {name} VALUES (50, 'of hive'{key}), (51, 'of hive'{key})"
    yield f"UPDATE {name} SET v = concat(v, '?') WHERE id % 4 = 0"
    yield f"DELETE FROM {name} WHERE id IN (5, 22, 50)"
    yield (
        f"MERGE INTO {name} USING (SELECT 51 AS id UNION ALL SELECT 6 UNION ALL SELECT 60) s"
        f" ON {name}.id = s.id WHEN MATCHED AND s.id = 6 THEN DELETE WHEN MATCHED THEN UPDATE SET"
        f" v = 'merged' WHEN NOT MATCHED THEN INSERT VALUES (s.id, 'merged'{key})"
    )
    yield from ("!echo changed", select)
    for kind in ("minor", "major"):
        for of_key in ("a", "b") if TABLES[name] == "partitioned" else ("",):
            partition = f"PARTITION (k='{of_key}') " if of_key else ""
            yield f"ALTER TABLE {name} {partition}COMPACT '{kind}'"
            yield "!compact"
        yield from (f"!echo {kind}", select)


def taken_back(back: Session, hive: RealHive, name: str, turn: Turn) -> None:
    """Hive's files in a warehouse of ours: the rows are the same, and stay so when we change and
    compact them once more.
    """
    back.sql(definition(name))
    home = Path(back.warehouse) / name
    shutil.copytree(hive.warehouse / name, home, dirs_exist_ok=True)
    ids = highest_ids(path.name for path in home.rglob("*") if path.is_dir())
    while back.store.valid_txns().high_watermark < ids.visibility:  # Hive 4 names its compactors
        back.store.commit(back.store.open_txn())
    take_over(back, name, ids.write_id, [])
    assert rows_of(back, name) == turn.rows("major"), name
    back.sql(f"UPDATE {name} SET v = 'ours again' WHERE id IN (7, 60)")
    back.sql(f"UPDATE {name} SET v = 'and again' WHERE id IN (8, 9)")
    back.sql(f"DELETE FROM {name} WHERE id IN (10, 11)")
    before = rows_of(back, name)
    assert before != turn.rows("major")
    for kind in ("minor", "major"):
        compact(back, name, kind)
        assert rows_of(back, name) == before, (name, kind)
