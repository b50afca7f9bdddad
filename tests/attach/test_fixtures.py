"""Tables that real Hive wrote, attached where they lie: every row reads as it did in Hive, or the
right question is asked. No Java is needed.
"""

from __future__ import annotations

import io
import json
import re
import shutil
from pathlib import Path

import pytest

from acidsql.catalog.model import Partition, Table, TableName
from acidsql.errors import BindError
from acidsql.expressions.spark_words import text_literal
from acidsql.rendering.formats import Layout, write_rows
from acidsql.session import Session
from tests.session.reading.test_hive_fixtures import NAMES, hive_lines


def rows_of(session: Session, table: str, *, with_ids: bool) -> list[str]:
    found = session.sql(f"SELECT {'ROW__ID, ' if with_ids else ''}* FROM {table}")
    out = io.StringIO()
    write_rows(out, found.columns, found.rows(), Layout())
    return sorted(out.getvalue().splitlines())


def keys_of(ddl: str) -> str:
    """PARTITIONED BY as Hive prints it, with its types."""
    match = re.search(r"PARTITIONED BY \((.*?)\)\s*(?:CLUSTERED|ROW|STORED)", ddl, re.DOTALL)
    return f"PARTITIONED BY ({match[1]})" if match else ""


@pytest.mark.parametrize(("location", "name"), [(n, n) for n in NAMES], indirect=["location"])
def test_rows_are_those_hive_printed(
    location: Path, name: str, session: Session, shared: Path
) -> None:
    """With what Hive's metastore knows said by ASSUME; without it the write ids in question are
    named, those of aborted transactions among them.
    """
    folder = shared / "hive" / "fixtures"
    facts = json.loads((folder / f"{name}.meta.json").read_text())
    ddl = (folder / f"{name}.ddl.sql").read_text()
    attach = f"ATTACH TABLE t {keys_of(ddl)} FROM '{location}'"
    asked: tuple[int, ...] = ()
    try:
        session.sql(attach)
    except BindError as error:
        asked = tuple(int(line.partition(":")[0]) for line in (error.detail or "").splitlines())
        assert asked
        aborted = facts["aborted_write_ids"]
        assert set(aborted) <= set(asked)
        words = f"EXCEPT ({', '.join(map(str, aborted))})" if aborted else ""
        session.sql(f"{attach} READ ONLY ASSUME COMMITTED {words}")
    with_ids = "ROW__ID" in facts["select"]
    expected = sorted(hive_lines(folder / f"{name}.expected.tsv", with_ids=with_ids))
    assert rows_of(session, "t", with_ids=with_ids) == expected


def dump_of(location: Path, folder: Path, name: str, home: Path) -> Path:
    """What Hive knew of a table, as somebody would write it down with Beeline."""
    facts = json.loads((folder / f"{name}.meta.json").read_text())
    ddl = (folder / f"{name}.ddl.sql").read_text().rstrip().rstrip(";")
    lines = [f"| high watermark | {facts['high_watermark']} |", "+-----+"]
    lines += [f"aborted\t{one}" for one in facts["aborted_write_ids"]]
    lines += [
        path.relative_to(location).as_posix()
        for path in sorted(location.rglob("*=*"))
        if not any("=" in child.name for child in path.iterdir() if child.is_dir())
    ]
    dump = home / "dump.txt"
    dump.write_text("\n".join([f"{ddl}\n;", *lines]) + "\n", encoding="utf-8")
    return dump


@pytest.mark.parametrize(("location", "name"), [(n, n) for n in NAMES], indirect=["location"])
def test_a_dump_tells_all(
    location: Path, name: str, session: Session, shared: Path, tmp_path: Path
) -> None:
    """The DDL as Hive prints it, what its metastore knows of write ids, its partitions: nothing is
    asked, and aborted rows stay away.
    """
    folder = shared / "hive" / "fixtures"
    facts = json.loads((folder / f"{name}.meta.json").read_text())
    dump = dump_of(location, folder, name, tmp_path)
    session.sql(f"ATTACH TABLE t FROM '{location}' USING '{dump}'")
    with_ids = "ROW__ID" in facts["select"]
    expected = sorted(hive_lines(folder / f"{name}.expected.tsv", with_ids=with_ids))
    assert rows_of(session, "t", with_ids=with_ids) == expected
    assert "of the dump" in session.explain(f"ATTACH TABLE u FROM '{location}' USING '{dump}'")


@pytest.mark.parametrize(("location", "name"), [(n, n) for n in NAMES], indirect=["location"])
def test_what_hive_wrote_is_adopted(
    location: Path, name: str, session: Session, shared: Path, tmp_path: Path
) -> None:
    """A copy of it: its rows are those of Hive, stay so when it is compacted, come twice when they
    are inserted again under write ids of our own, and go when all are deleted.
    """
    folder = shared / "hive" / "fixtures"
    facts = json.loads((folder / f"{name}.meta.json").read_text())
    dump = dump_of(location, folder, name, tmp_path)
    copy = tmp_path / "copy"
    shutil.copytree(location, copy)
    session.attach("t", copy, dump=dump)
    session.adopt("t")
    with_ids = "ROW__ID" in facts["select"]
    expected = sorted(hive_lines(folder / f"{name}.expected.tsv", with_ids=with_ids))
    assert rows_of(session, "t", with_ids=with_ids) == expected
    table = session.store.find_table(TableName("default", "t"))
    assert table is not None
    for root in (None, *session.store.list_partitions(table)):
        if table.is_transactional and (root is None) != bool(table.partition_columns):
            where = "" if root is None else partition_words(table, root)
            session.sql(f"ALTER TABLE t {where} COMPACT 'major' AND WAIT")
    assert rows_of(session, "t", with_ids=with_ids) == expected
    session.sql("INSERT INTO t SELECT * FROM t")
    plain = sorted(hive_lines(folder / f"{name}.expected.tsv", with_ids=False))
    if not with_ids:
        assert rows_of(session, "t", with_ids=False) == sorted([*plain, *plain])
    else:
        assert len(set(rows_of(session, "t", with_ids=True))) == 2 * len(expected)
    if table.is_full_acid:
        session.sql("DELETE FROM t")
        assert rows_of(session, "t", with_ids=False) == []


def partition_words(table: Table, partition: Partition) -> str:
    keys = zip(table.partition_columns, partition.values, strict=True)
    named = ", ".join(f"{column.name}={text_literal(value)}" for column, value in keys)
    return f"PARTITION ({named})"
