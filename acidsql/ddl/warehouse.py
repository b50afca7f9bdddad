"""The things that the statements of the catalog work with."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from acidsql.catalog.model import Partition, Table
from acidsql.engine import Engine
from acidsql.files.fileio import FileIO
from acidsql.lazy_dataclass import dataclass
from acidsql.metastore.embedded import EmbeddedMetastore
from acidsql.settings import Settings
from acidsql.txn.reading import Reads


@dataclass(frozen=True, slots=True, kw_only=True)
class Warehouse:
    """A store, the file systems its tables lie on, and an engine for what is to be read, of which
    ``reads`` keeps the files. ``root``: the directory of the store. ``health``: section, item and
    value of what is to be told of a table or partition.

    ``needs_compaction``: whether the initiator would have a partition compacted.
    ``compact_until``: carries the compaction of this id out, unless others do or will.
    """

    root: str
    store: EmbeddedMetastore
    files: FileIO
    engine: Engine
    settings: Settings
    health: Callable[[Table, Partition | None], Sequence[Sequence[str]]]
    reads: Reads
    needs_compaction: Callable[[Table, Partition], bool]
    compact_until: Callable[[int], None]
