"""Work under a name, which is committed once, and files that a table takes once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import Self

from acidsql.acid.ids import TxnId
from acidsql.catalog.model import TableName
from acidsql.catalog.path_relation import FileStamp
from acidsql.errors import InterfaceError, RunCommittedError, WriteConflictError
from acidsql.lazy import dataclass
from acidsql.utf8 import check_text

# ---- runs
#
# Runs: a transaction's changes under a name of the user's choice, which is stored with its commit,
# so that the same work is never committed twice.
#
# A caller who cannot know whether a commit took place (the process was killed behind it, the answer
# was lost, another attempt is on its way still) does the work again under the same name: of all
# attempts the metastore lets one commit, whichever comes first.
#
#   attempt 1   begin(run) ---- commit, no answer          its run is on record, or never will be
#   attempt 2                       begin(run) ------X     RunCommittedError: there is nothing to do
#   attempt 3      begin(run) ------------ commit --X      RunCommittedError: aborted, too late


LONGEST_RUN_ID = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """What a transaction is to be recorded as, and for how long at least."""

    run_id: str
    kept_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What a transaction changed, to be recorded with its commit. ``digest``: of its statements,
    see ``digest_of``; ``write_ids``: by the names of tables.
    """

    run_id: str
    kept_seconds: float
    digest: str
    rows_inserted: int
    rows_updated: int
    rows_deleted: int
    write_ids: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedRun:
    """A run on record. ``committed``: when, in epoch milliseconds."""

    run_id: str
    txn_id: TxnId
    committed: int
    digest: str
    rows_inserted: int
    rows_updated: int
    rows_deleted: int
    write_ids: Mapping[str, int]


def digest_of(statements: Iterable[str]) -> str:
    """What tells the work of one run from that of another: of the texts of the statements that
    change rows, in their order, with their parameters in them.
    """
    digest = hashlib.sha256()
    for text in statements:
        stripped = text.strip().encode()
        digest.update(b"%d:" % len(stripped) + stripped)
    return digest.hexdigest()


def ask_for_run(
    find_run: Callable[[str], CommittedRun | None], run_id: str, kept_seconds: float
) -> RunRequest:
    """What a transaction is to be recorded as. RunCommittedError if that was done before;
    InterfaceError for a name that cannot be stored.
    """
    check_text(run_id, of="a run id")
    if not 0 < len(run_id) <= LONGEST_RUN_ID:
        raise InterfaceError(f"a run id has 1 to {LONGEST_RUN_ID} characters, not {len(run_id)}")
    committed = find_run(run_id)
    if committed is not None:
        raise committed_error(run_id, committed.txn_id)
    return RunRequest(run_id=run_id, kept_seconds=kept_seconds)


def committed_error(run_id: str, txn_id: TxnId) -> RunCommittedError:
    error = RunCommittedError(
        f'run "{run_id}" was committed before, by transaction txnid:{txn_id}',
        hint="Nothing is left to do. What is to be done once more needs another run id.",
    )
    error.run_id, error.txn_id = run_id, txn_id
    return error


# ---- taken
#
# Files whose rows a table has taken, which are remembered with the commit of the transaction that
# took them, so that COPY INTO .. ONCE never takes a file twice, and never loses one.
#
# A statement leaves out what is on record when it is planned; what another takes meanwhile is found
# at the commit, which then fails, and the statement is run again without these files.
#
#     session 1   find_taken ---- commit [a.csv]            a.csv is on record, or never will be
#     session 2        find_taken ------- commit [a.csv] -X WriteConflictError: aborted
#                                   again: find_taken       there is nothing to take


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenFile:
    """What a file is known by. One that was written to since is another file."""

    path: str
    size: int
    mtime_ns: int

    @classmethod
    def of(cls, stamp: FileStamp) -> Self:
        return cls(path=stamp.path, size=stamp.size, mtime_ns=stamp.mtime_ns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """Files that a transaction takes into a table, which is known by its id: another of its name
    has taken nothing.
    """

    table: TableName
    table_id: int
    files: tuple[TakenFile, ...]


def taken_error(txn_id: TxnId, table: TableName, file: TakenFile) -> WriteConflictError:
    return WriteConflictError(
        f'transaction txnid:{txn_id} was aborted: another has taken the file "{file.path}" into'
        f" {table} meanwhile",
        hint="Run the statement again: it leaves out what was taken.",
    )
