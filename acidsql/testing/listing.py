"""The changes of the warehouse's files by a statement, by name: no sizes, no times, no absolute
paths.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyarrow import orc

STORE = "_acidsql"
"""The embedded metastore's folder: not data."""
STAGING = ".acidsql_"
"""What the names of directories begin with that a transaction has not committed yet: they differ
from run to run.
"""
ORC_MAGIC = b"ORC"

Listing = dict[str, str]


def take_listing(warehouse: Path) -> Listing:
    """Every file below the warehouse, by its relative path, with what is worth saying of it (``
    rows=3`` for an ORC file).

    What an open transaction has staged is not among them.

    An empty directory is listed too, with a trailing slash: nothing should leave one.
    """
    listing: Listing = {}
    for folder, folders, files in os.walk(warehouse):
        folders[:] = sorted(
            f
            for f in folders
            if not ((f == STORE and Path(folder) == warehouse) or f.startswith(STAGING))
        )
        here = Path(folder).relative_to(warehouse)
        for name in files:
            listing[(here / name).as_posix()] = _facts(Path(folder, name))
        if not files and not folders and here != Path():
            listing[f"{here.as_posix()}/"] = ""
    return listing


def changes(before: Listing, after: Listing) -> list[str]:
    """The lines ``+ path facts`` and ``- path``, by path. An empty directory that was filled is not
    gone.
    """
    gone = [
        path
        for path in before.keys() - after.keys()
        if not (path.endswith("/") and any(p.startswith(path) for p in after))
    ]
    lines = [(path, f"- {path}") for path in gone]
    lines += [
        (path, f"+ {path}{facts}") for path, facts in after.items() if before.get(path) != facts
    ]
    return [line for _, line in sorted(lines)]


def _facts(path: Path) -> str:
    with path.open("rb") as file:
        if file.read(len(ORC_MAGIC)) != ORC_MAGIC:
            return ""
    return f" rows={orc.ORCFile(path).nrows}"


class FileChanges:
    """What happened to a warehouse's files while a ``file_changes`` was open: ``lines``."""

    def __init__(self) -> None:
        self.lines: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join(self.lines) or "no changes"

    def __repr__(self) -> str:
        return f"FileChanges({self.lines})"


@contextmanager
def file_changes(warehouse: Path) -> Iterator[FileChanges]:
    """Tells, once it is left, which files came (``+ path rows=3``) and went (``- path``)."""
    files = FileChanges()
    before = take_listing(warehouse)
    yield files
    files.lines = tuple(changes(before, take_listing(warehouse)))
