"""What our own compactions leave in a directory beside what Hive's leave: hidden files that Hive
passes over.

Our directories have no ``_v<txn>`` in their names (Hive 3 could not read them), so they can be
chosen from the moment they are renamed. Two things then need more than a name:

- A minor compaction makes two directories, and either alone makes what lies inside its range
  obsolete for both kinds. So each of a pair says that it has a partner, and counts for nothing
  until that is there.
- A reader whose snapshot is older than a compaction needs what that was made from. The names of
  these inputs stand in the output: if all of them are still there, the reader goes on with them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from typing import TypeVar

from acidsql.acid.ids import NO_STATEMENT
from acidsql.acid.paths import (
    NO_VISIBILITY,
    Base,
    DeleteDelta,
    Delta,
    DirectoryName,
    parse_directory,
)
from acidsql.errors import FormatError

WITH_DELETE_DELTA = "_acidsql_with_delete_delta"
"""An empty file in a delta whose compaction wrote a delete delta of the same range, too."""

WITH_DELTA = "_acidsql_with_delta"
"""An empty file in that delete delta, which says that the delta belongs to it."""

INPUTS_FILE = "_acidsql_inputs"
"""The paths of the directories and original files that an output was made from, as a JSON list."""

ReadHidden = Callable[[str], bytes | None]
"""Reads the content of the hidden file at this path below the table's or partition's directory;
None if there is none.
"""

_Files = TypeVar("_Files")


def partner(name: DirectoryName) -> Delta | DeleteDelta | None:
    """The other of the two directories that a minor compaction may have made; None if the name is
    none of a compactor's without visibility.
    """
    if (
        isinstance(name, Base)
        or name.statement_id != NO_STATEMENT
        or name.visibility_txn_id != NO_VISIBILITY
    ):
        return None
    other = DeleteDelta if isinstance(name, Delta) else Delta
    return other(min_write_id=name.min_write_id, max_write_id=name.max_write_id)


def partner_file(name: Delta | DeleteDelta) -> str:
    """The file that says, in a directory of this name, that its partner belongs to it."""
    return WITH_DELETE_DELTA if isinstance(name, Delta) else WITH_DELTA


def halves(paths: Collection[str], read_hidden: ReadHidden) -> frozenset[str]:
    """The directories that are half of a pair whose other half is not there."""
    names = {path: parse_directory(path) for path in paths}
    known = set(names.values())
    return frozenset(
        path for path, name in names.items() if _is_half(path, name, known, read_hidden)
    )


def _is_half(
    path: str,
    name: DirectoryName | None,
    known: Collection[DirectoryName | None],
    read_hidden: ReadHidden,
) -> bool:
    if name is None or isinstance(name, Base):
        return False
    other = partner(name)
    return (
        other is not None
        and other not in known
        and read_hidden(f"{path}/{partner_file(name)}") is not None
    )


def without_halves(
    directories: Mapping[str, _Files], read_hidden: ReadHidden
) -> Mapping[str, _Files]:
    """The directories without ``halves``."""
    dropped = halves(directories, read_hidden)
    return {path: files for path, files in directories.items() if path not in dropped}


def missing_inputs(
    path: str, known: Collection[str], read_hidden: ReadHidden
) -> tuple[str, ...] | None:
    """The paths of what the directory at ``path`` was made from that are not ``known`` any more;
    None for a directory that does not say what that was. FormatError if it says so in other words.
    """
    inputs = _inputs(path, read_hidden)
    return None if inputs is None else tuple(one for one in inputs if one not in known)


def is_final(path: str, known: Collection[str], read_hidden: ReadHidden) -> bool:
    """Whether the directory at ``path`` says what it was made from, and nothing of that is
    ``known`` any more: nobody can go on with it, so that it need not be said.
    """
    inputs = _inputs(path, read_hidden)
    return inputs is not None and not any(one in known for one in inputs)


def _inputs(path: str, read_hidden: ReadHidden) -> list[str] | None:
    content = read_hidden(f"{path}/{INPUTS_FILE}")
    if content is None:
        return None
    try:
        inputs = json.loads(content)
    except ValueError:
        inputs = None
    if not isinstance(inputs, list) or not all(isinstance(one, str) for one in inputs):
        raise FormatError(f'unknown content of "{path}/{INPUTS_FILE}"')
    return inputs


def nothing_hidden(_path: str) -> bytes | None:
    """A ReadHidden of directories without such files."""
    return None


def inputs_text(inputs: Collection[str]) -> bytes:
    """The content of INPUTS_FILE."""
    return json.dumps(sorted(inputs), ensure_ascii=False).encode()
