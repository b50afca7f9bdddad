"""What lies in a warehouse beside a metastore that is new: directories of tables say that there was
another one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from acidsql.acid.ids import is_hidden, original_bucket, parse_directory
from acidsql.errors import MetastoreError

_MOST_LOOKED_AT = 5_000
"""The most directories that are looked into: a warehouse in somebody's home has many others."""
_MOST_NAMED = 3


def check_no_tables(warehouse: str, path: Path) -> None:
    """Raises MetastoreError if there are tables in a warehouse that has no metastore, or an empty
    one; ``path``: of its file.
    """
    tables = list(islice(tables_in(warehouse), _MOST_NAMED + 1))
    if not tables:
        return
    names = ", ".join(f'"{name}"' for name in tables[:_MOST_NAMED])
    more = " and others" if len(tables) > _MOST_NAMED else ""
    what = "is empty" if path.exists() else "is not there"
    raise MetastoreError(
        f'the warehouse "{warehouse}" has directories of tables, and its metastore {what}',
        detail=f'"{path}" {what}; there are {names}{more}',
        hint="Restore it from a backup (acidsql store backup makes one)."
        " --hiveconf acidsql.store.create=always begins a new one, in which these tables are not.",
    )


def tables_in(warehouse: str) -> Iterator[str]:
    """The directories below that look like those of tables, or partitions, with files; relative
    paths, sorted in each directory.
    """
    for directory, below, files in islice(os.walk(warehouse), _MOST_LOOKED_AT):
        below[:] = sorted(name for name in below if not is_hidden(name))
        is_acid = any(parse_directory(name) is not None for name in below)
        if directory != warehouse and (is_acid or any(map(_is_original, files))):
            yield os.path.relpath(directory, warehouse)
            below.clear()


def _is_original(name: str) -> bool:
    return original_bucket(name) is not None
