"""Reads an ACID directory in the plainest way, and checks every rule a file of ours must keep on
the way.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import orc

from acidsql.acid.orc_tail import OrcTail, load_tail
from acidsql.catalog.model import Table
from acidsql.files.local_files import LocalFileIO
from acidsql.storage.stored import orc_row_type

Key = tuple[int, int, int]
"""originalTransaction, bucket, rowId."""

EVENT = ["operation", "originalTransaction", "bucket", "rowId", "currentTransaction"]
DIRECTORY = re.compile(r"(?:(delete_)?delta_(\d{7,})_\2_(\d{4})|base_(\d{7,}))")


@dataclass(frozen=True, slots=True, kw_only=True)
class AcidFile:
    directory: str
    bucket: int
    tail: OrcTail
    events: pa.Table

    @property
    def keys(self) -> list[Key]:
        return list(zip(*(self.events.column(n).to_pylist() for n in EVENT[1:4]), strict=True))

    @property
    def values(self) -> list[dict[str, Any] | None]:
        return self.events.column("row").to_pylist()


def tail_of(path: Path) -> OrcTail:
    return load_tail(lambda count: LocalFileIO().read_tail(str(path), count), str(path))


def read_files(root: Path) -> list[AcidFile]:
    """All bucket files below ``root``, by directory and name; fails on any name that is not
    canonical.
    """
    found = []
    for directory in sorted(root.iterdir()):
        assert DIRECTORY.fullmatch(directory.name), directory
        names = sorted(p.name for p in directory.iterdir())
        assert (directory / "_orc_acid_version").read_bytes() == b"2"
        names.remove("_orc_acid_version")
        for name in names:
            assert re.fullmatch(r"bucket_\d{5}", name), name
            path = directory / name
            found.append(
                AcidFile(
                    directory=directory.name,
                    bucket=int(name[7:]),
                    tail=tail_of(path),
                    events=orc.ORCFile(path).read(),
                )
            )
    return found


def visible_rows(table: Table) -> dict[Key, dict[str, Any]]:
    """The rows of a table whose write ids are all valid, by id."""
    root = Path(table.location)
    files = read_files(root) if root.is_dir() else []
    for file in files:
        check_file(table, file)
    rows: dict[Key, dict[str, Any]] = {}
    for file in files:
        for key, values in zip(file.keys, file.values, strict=True):
            if values is not None:
                assert key not in rows, f"{key} is there twice"
                rows[key] = values
    for file in files:
        if file.directory.startswith("delete_"):
            for key in file.keys:
                assert rows.pop(key, None) is not None, f"{key} is deleted twice or was never there"
    return rows


def check_file(table: Table, file: AcidFile) -> None:
    """Names, ids, order, footer keys and declared types of one file."""
    name = DIRECTORY.fullmatch(file.directory)
    assert name
    write_id, statement, deletes = int(name[2] or name[4]), int(name[3] or 0), bool(name[1])
    keys, count = file.keys, len(file.keys)
    assert count, "an empty file"
    assert keys == sorted(set(keys)), "ids must rise strictly"
    assert {bucket >> 29 for _, bucket, _ in keys} == {1}
    assert {bucket >> 16 & 4095 for _, bucket, _ in keys} == {file.bucket}
    assert set(file.events.column("operation").to_pylist()) == {2 if deletes else 0}
    assert set(file.events.column("currentTransaction").to_pylist()) == {write_id}
    assert file.events.column("row").null_count == (count if deletes else 0)
    if not deletes:
        assert keys == [
            (write_id, 1 << 29 | file.bucket << 16 | statement, n) for n in range(count)
        ]
    check_footer(table, file, count, deletes=deletes)


def check_footer(table: Table, file: AcidFile, count: int, *, deletes: bool) -> None:
    meta, ends, end = file.tail.user_metadata, [], 0
    for rows in file.tail.stripes:
        end += rows
        ends.append(file.keys[end - 1])
    assert end == count == file.tail.row_count
    assert meta["hive.acid.key.index"] == "".join(f"{w},{b},{r};" for w, b, r in ends)
    assert meta["hive.acid.stats"] == (f"0,0,{count}" if deletes else f"{count},0,0")
    assert meta["hive.acid.version"] == "2"
    assert file.tail.schema is not None
    assert file.tail.schema.children[5] == orc_row_type(table.columns)
