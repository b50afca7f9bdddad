"""A finding: what is wrong, what each reader does with it, and what mends it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from enum import StrEnum

from acidsql.acid.ids import (
    TxnId,
    ValidTxnList,
    ValidWriteIdList,
    WriteId,
    is_reserved,
    parse_directory,
)
from acidsql.acid.listed import FileEntry, id_range
from acidsql.catalog.model import Table
from acidsql.compaction.layout import Layout
from acidsql.files.fileio import Listing
from acidsql.lazy import dataclass


class Severity(StrEnum):
    """ERROR: a reader fails, or reads what it should not, or not what it should. WARNING: one
    would, should something else happen. NOTE: it only lies about.
    """

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveAside:
    """Moves a file that no reader reads into the hidden directory of strays. ``root``: of the table
    or partition; ``path``: below it.
    """

    root: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveStaging:
    """Removes what ended transactions have staged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteVersion:
    """Writes the version file of an ACID directory."""

    directory: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveCopy:
    """Removes an ACID directory inside the one of which it is a copy."""

    directory: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeOverWriteIds:
    """Has a table take over the write ids of its files, which prove that all of them count.
    ``highest_txn``: of those that compacted them.
    """

    highest: WriteId
    highest_txn: TxnId


@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteTail:
    """Puts footer keys right, which are computed from the rows of the file. ``root``: below which
    the new file is made.
    """

    root: str
    path: str


Cure = MoveAside | RemoveStaging | RemoveCopy | WriteVersion | TakeOverWriteIds | RewriteTail


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """``title`` names the kind of it, ``detail`` what is so here. ``hive3``, ``hive4``,
    ``acidsql``: what each does with it. ``mend``: what mends it, in words; ``cure``: what
    ``--repair`` does, None where it will not guess.
    """

    severity: Severity
    title: str
    path: str
    detail: str
    hive3: str
    hive4: str
    acidsql: str
    mend: str
    cure: Cure | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """A root as it was found. ``names``: all names, hidden ones too, in the root itself ("") and in
    each of its ACID directories; ``files``: those of each of these that are not hidden. ``txns``:
    those whose compactions readers see, None for all.
    """

    table: Table | None
    path: str
    listing: Listing = field(repr=False)
    names: Mapping[str, Sequence[str]] = field(repr=False)
    files: Mapping[str, Sequence[FileEntry]] = field(repr=False)
    layout: Layout
    write_ids: ValidWriteIdList
    txns: ValidTxnList | None

    def is_at_work(self, directory: str) -> bool:
        """Whether somebody may be writing an ACID directory: one of its write ids is open, or newer
        than the look.
        """
        name = parse_directory(directory)
        if name is None:
            return False
        low, high, _ = id_range(name)
        still_open = any(low <= write_id <= high for write_id in self.write_ids.open)
        return still_open or high > self.write_ids.high_watermark

    @property
    def acid_directories(self) -> Iterator[str]:
        """The names of the first level that are reserved for ACID directories."""
        return (p for p in self.listing.directories if is_reserved(p) and "/" not in p)

    @property
    def holds_events(self) -> bool:
        """Whether its files are those of a full ACID table, as far as is known."""
        return self.table is None or self.table.is_full_acid

    def full(self, path: str) -> str:
        return f"{self.path}/{path}"


PASSES = "passes over it"
FAILS = "fails"
READS = "reads it as it is"
NOTHING = "does not look at it"
