"""Files whose rows a table has taken, which are remembered with the commit of the transaction that
took them, so that COPY INTO .. ONCE never takes a file twice, and never loses one.

A statement leaves out what is on record when it is planned; what another takes meanwhile is found
at the commit, which then fails, and the statement is run again without these files.

    session 1   find_taken ---- commit [a.csv]            a.csv is on record, or never will be
    session 2        find_taken ------- commit [a.csv] -X WriteConflictError: aborted
                                  again: find_taken       there is nothing to take
"""

from __future__ import annotations

from typing import Self

from acidsql.acid.ids import TxnId
from acidsql.catalog.model import TableName
from acidsql.catalog.path_relation import FileStamp
from acidsql.errors import WriteConflictError
from acidsql.lazy_dataclass import dataclass


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
