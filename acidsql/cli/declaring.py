"""``acidsql doctor TABLE --committed IDS --aborted IDS``: what became of write ids of files that
others wrote, said by those who know.
"""

from __future__ import annotations

import re

from acidsql.acid.ids import WriteId
from acidsql.catalog.model import Table
from acidsql.errors import ProgrammingError
from acidsql.files.urls import path_of
from acidsql.session import Session
from acidsql.storage.undeclared import find_undeclared, named, remove_unfinished, runs
from acidsql.txn.manager import highest_given

REST = "rest"
_RANGE = re.compile("([0-9]{1,18})(?:-([0-9]{1,18}))?")


def declare(session: Session, table: Table, committed: str | None, aborted: str | None) -> str:
    """Puts on record what became of the write ids; what was done, in words. ProgrammingError if
    that is not said of each of them, and of no other, once. OSError.
    """
    store = session.store
    given_out = highest_given(store, table.name)
    locations = [partition.location for partition in store.list_partitions(table)]
    undeclared = find_undeclared(session.files, table, locations, given_out)
    if undeclared is None or not undeclared.undecided:
        raise ProgrammingError(
            f"nothing is to be said of the write ids of table {table.name}",
            hint="acidsql doctor says what is wrong with it.",
        )
    wanted = set(undeclared.write_ids)
    said = {"committed": _parsed(committed, wanted), "aborted": _parsed(aborted, wanted)}
    if REST in (committed, aborted):
        explicit = said["committed"] | said["aborted"]
        said["committed" if committed == REST else "aborted"] = wanted - explicit
    _check(table, said["committed"], said["aborted"], wanted)
    highest = set() if undeclared.highest in wanted else {undeclared.highest}
    remove_unfinished(session.files, undeclared)
    store.declare_write_ids(
        table.name,
        committed=said["committed"] | highest,
        aborted=said["aborted"],
        highest_txn=undeclared.highest_txn,
    )
    words = [f"{runs(sorted(ids))} {what}" for what, ids in said.items() if ids]
    gone = named(undeclared.unfinished, path_of(table.location))
    removed = f"; removed, compactions that never committed: {gone}" if gone else ""
    return f"{table.name}: write ids {' and '.join(words)}{removed}"


def _parsed(text: str | None, wanted: set[WriteId]) -> set[WriteId]:
    """The write ids of a list such as ``1,4-6``. ProgrammingError for another text."""
    ids: set[WriteId] = set()
    for part in [] if text in (None, REST) else str(text).split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            raise ProgrammingError(
                f'"{part}" is no write id', hint=f"Write 1,4-6 or {REST}: all that are not named."
            )
        low, high = int(match[1]), int(match[2] or match[1])
        if not {low, high} <= wanted:
            _refuse_unknown(part.strip(), wanted)
        ids |= {one for one in wanted if low <= one <= high}
    return ids


def _refuse_unknown(part: str, wanted: set[WriteId]) -> None:
    raise ProgrammingError(
        f"write id {part} is not one that is to be decided",
        hint=f"These are: {runs(sorted(wanted))}.",
    )


def _check(
    table: Table, committed: set[WriteId], aborted: set[WriteId], wanted: set[WriteId]
) -> None:
    if committed & aborted:
        both = runs(sorted(committed & aborted))
        raise ProgrammingError(f"write ids {both} are said to be committed, and aborted")
    left = wanted - committed - aborted
    if left:
        raise ProgrammingError(
            f"nothing is said of the write ids {runs(sorted(left))} of table {table.name}",
            hint=f"Name them, or say {REST}: nothing is taken for committed by itself.",
        )
