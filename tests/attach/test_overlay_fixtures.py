"""Overlays over tables that real Hive wrote: original files, buckets, partitions, aborted and
compacted ones. No Java is needed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from acidsql.acid.ids import decode
from acidsql.catalog.model import TableName
from acidsql.session import Session
from tests.attach.conftest import location
from tests.attach.test_fixtures import dump_of, partition_words, rows_of
from tests.session.reading.test_hive_fixtures import NAMES, hive_lines

__all__ = ["location"]
"""The fixture: a directory that must be byte for byte what it was, and none of it newer."""

PLAIN = [name for name in NAMES if "loadsrc" in name]
ACID = [name for name in NAMES if name not in PLAIN]
FULL = [name for name in ACID if "mm_table" not in name]


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", settings={"acidsql.engine": "local"}) as opened:
        yield opened


def overlay(session: Session, location: Path, name: str, shared: Path, home: Path) -> list[str]:
    """Makes it by a dump; the rows that Hive printed."""
    folder = shared / "hive" / "fixtures"
    facts = json.loads((folder / f"{name}.meta.json").read_text())
    dump = dump_of(location, folder, name, home)
    session.attach("t", location, dump=dump, overlay=True)
    with_ids = "ROW__ID" in facts["select"]
    expected = sorted(hive_lines(folder / f"{name}.expected.tsv", with_ids=with_ids))
    assert rows_of(session, "t", with_ids=with_ids) == expected
    return rows_of(session, "t", with_ids=False)


def ids(session: Session) -> list[tuple[int, int, int]]:
    table = session.store.find_table(TableName("default", "t"))
    assert table is not None
    keys = "".join(f", {column.name}" for column in table.partition_columns)
    found = session.sql(f"SELECT ROW__ID{keys} FROM t").rows()
    return [(*row[0].values(), *row[1:]) for row in found]  # type: ignore[attr-defined]


def compact(session: Session) -> None:
    table = session.store.find_table(TableName("default", "t"))
    assert table is not None
    for part in session.store.list_partitions(table) if table.partition_columns else [None]:
        where = "" if part is None else partition_words(table, part)
        session.sql(f"ALTER TABLE t {where} COMPACT 'minor' AND WAIT")


@pytest.mark.parametrize(("location", "name"), [(n, n) for n in ACID], indirect=["location"])
def test_rows_are_added_and_deleted(
    location: Path, name: str, session: Session, shared: Path, tmp_path: Path
) -> None:
    """All of them come twice when they are inserted again, stay when that is compacted, and go when
    they are deleted; no ROW__ID is given twice.
    """
    expected = overlay(session, location, name, shared, tmp_path)
    session.sql("INSERT INTO t SELECT * FROM t")
    assert rows_of(session, "t", with_ids=False) == sorted(expected * 2)
    changes = session.sql("DESCRIBE CHANGES OF t")
    assert changes.notes == (f"rows: {len(expected)} inserted, 0 updated, 0 deleted",)
    compact(session)
    assert rows_of(session, "t", with_ids=False) == sorted(expected * 2)
    if name in FULL:
        given = ids(session)
        assert len(given) == len(set(given)) == 2 * len(expected)
        session.sql("DELETE FROM t")
        assert ids(session) == []
        assert list(session.sql("SELECT count(*) FROM t").rows()) == [(0,)]
        changes = session.sql("DESCRIBE CHANGES OF t")
        assert changes.notes == (f"rows: 0 inserted, 0 updated, {len(expected)} deleted",)
        compact(session)
        assert ids(session) == []
    session.sql("TRUNCATE TABLE t")
    assert rows_of(session, "t", with_ids=False) == []
    changes = session.sql("DESCRIBE CHANGES OF t")
    assert changes.notes == (f"rows: 0 inserted, 0 updated, {len(expected)} deleted",)
    session.sql("DETACH TABLE t")
    assert not Path(session.warehouse, "t").exists()


@pytest.mark.parametrize(
    ("location", "name"),
    [(n, n) for n in ACID if "bucket" in n and n != "bucket_v1.hive3"],
    indirect=["location"],
)
def test_rows_lie_in_the_buckets_of_the_table(
    location: Path, name: str, session: Session, shared: Path, tmp_path: Path
) -> None:
    """A row that is inserted again gets the bucket that Hive gave it. (Hive 3.1 fills a table of
    bucketing_version 1 by the hash of version 2.)
    """
    overlay(session, location, name, shared, tmp_path)
    query = "SELECT *, ROW__ID.bucketid FROM t"
    before = {
        row[:-1]: decode(row[-1]).bucket  # type: ignore[arg-type]
        for row in session.sql(query).rows()
    }
    session.sql("INSERT INTO t SELECT * FROM t")
    for row in session.sql(query).rows():
        assert decode(row[-1]).bucket == before[row[:-1]]  # type: ignore[arg-type]
