"""The things that the statements of the catalog work with, and what they answer."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress

from acidsql.catalog.model import Partition, Table
from acidsql.commit.recovery import delete_dropped, keep_dropped
from acidsql.errors import Error, ExecutionError, Warning, file_error
from acidsql.files.fileio import FileIO
from acidsql.lazy import dataclass
from acidsql.result import Result, Stats
from acidsql.run.engine import Engine
from acidsql.settings import Settings
from acidsql.txn.compactions import Compaction, CompactionType
from acidsql.txn.reading import Reads
from acidsql.txn.store import SessionStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Warehouse:
    """A store, the file systems its tables lie on, and an engine for what is to be read, of which
    ``reads`` keeps the files. ``root``: the directory of the store. ``health``: section, item and
    value of what is to be told of a table or partition.

    ``need_compaction``: for each partition whether a compaction of that type has anything to do;
    under ``acidsql.strict.hive`` whether the initiator would ask for one. ``compact_until``:
    carries the compactions of these ids out, unless others do or will. ``left_by_compactions``:
    what those that have ended (None: there was nothing to do) left to lie.
    """

    root: str
    store: SessionStore
    files: FileIO
    engine: Engine
    settings: Settings
    health: Callable[[Table, Partition | None], Sequence[Sequence[str]]]
    reads: Reads
    need_compaction: Callable[[Table, Sequence[Partition], CompactionType], list[bool]]
    compact_until: Callable[[Collection[int]], None]
    left_by_compactions: Callable[
        [Table, Sequence[tuple[Partition | None, Compaction | None]]], list[Warning]
    ]


# ---- errors of files
#
# What fails on the file system, as an error of a statement.


@contextmanager
def file_errors(what: str) -> Iterator[None]:
    """Turns OSErrors from inside into ExecutionError: ``what`` failed."""
    try:
        yield
    except OSError as error:
        where = f' "{error.filename}"' if error.filename else ""
        raise file_error(
            f"{what} failed: cannot read or write{where}",
            error,
            detail=error.strerror or str(error),
        ) from error


@contextmanager
def deleting_noted(warehouse: Warehouse, directories: Collection[str]) -> Iterator[None]:
    """Deletes directories that were noted in the store. If files fail the user is told, who may do
    with them what he likes from then on; only if the store does, or the process dies, others go on.
    """
    try:
        yield
    except ExecutionError:
        with suppress(Error):
            warehouse.store.forget_directories(directories)
        raise
    with suppress(Error):
        warehouse.store.forget_directories(directories)


def delete_noted(warehouse: Warehouse, directories: Collection[str], what: str, hint: str) -> None:
    """Deletes the directories of tables that were dropped, as ``delete_all`` does; but those that
    are kept for readers.
    """
    kept = keep_dropped(warehouse.store, warehouse.files, directories)
    rest = [directory for directory in directories if directory not in kept]
    with deleting_noted(warehouse, rest):
        delete_all(
            rest,
            lambda path: delete_dropped(warehouse.store, warehouse.files, path),
            what,
            hint,
        )


def delete_all(
    directories: Iterable[str], delete: Callable[[str], None], what: str, hint: str
) -> None:
    """Deletes as many of the paths as can be; ExecutionError names one that cannot. ``what``: whose
    they were.
    """
    failed: list[tuple[str, OSError]] = []
    for directory in directories:
        try:
            delete(directory)
        except OSError as error:
            failed.append((directory, error))
    if failed:
        path, reason = failed[0]
        more = f" and {len(failed) - 1} more" if len(failed) > 1 else ""
        message = f'directory "{path}"{more} of {what} could not be deleted'
        raise ExecutionError(message, detail=reason.strerror or str(reason), hint=hint) from reason


# ---- shapes of answers
#
# The two shapes of answer that commands give: nothing, or one column of names.


def done(notes: Iterable[str] = ()) -> Result:
    return Result((), Stats(), notes=notes)


def one_column(column: str, values: Iterable[str]) -> Result:
    return Result.of_text(Stats(), [column], [[value] for value in values])


def matching(names: Iterable[str], pattern: str | None) -> list[str]:
    """Hive's patterns: ``*`` (or LIKE's ``%``) for any characters, ``.`` or ``?`` for one, ``|``
    between choices; any case.
    """
    if pattern is None:
        return list(names)
    choices = [p.strip().lower().replace("%", "*").replace(".", "?") for p in pattern.split("|")]
    return [n for n in names if any(fnmatch.fnmatchcase(n, c) for c in choices)]
