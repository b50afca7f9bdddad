"""The things that the statements of the catalog work with."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from acidsql.catalog.model import Partition, Table
from acidsql.errors import Warning
from acidsql.files.fileio import FileIO
from acidsql.lazy_dataclass import dataclass
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
