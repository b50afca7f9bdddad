"""What planning a statement may ask of the session that it is planned for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Protocol

from acidsql.catalog.catalog import Catalog
from acidsql.catalog.model import ForeignTable, Partition, Table, TableName
from acidsql.catalog.path_relation import CopiedFiles, FileSource, FileStamp, PathRelation
from acidsql.errors import BindError, Warning
from acidsql.expressions.not_here import NotHere
from acidsql.lazy_dataclass import dataclass
from acidsql.planner.bind.local.query_trees import Semantics
from acidsql.settings import Settings

OpenFiles = Callable[[FileSource], Table]
FindFiles = Callable[[str, str], PathRelation | NotHere]


class Copies(Protocol):
    """What COPY INTO asks of its session."""

    def stamps(self, source: FileSource) -> tuple[FileStamp, ...]:
        """The files, as they are. BindError if there is none."""

    def taken(self, table: Table, files: Sequence[FileStamp]) -> frozenset[FileStamp]:
        """The files that the table has taken once, the open transaction's among them."""

    def columns(self, source: FileSource, file: FileStamp) -> tuple[str, ...] | None:
        """The names of a file's columns; None where it has none. BindError, DataError."""

    def relations(self, files: CopiedFiles) -> tuple[Table, Table]:
        """The rows that fit, and what is known of the others; they wait to be read."""


def _no_copies() -> Copies:
    raise BindError("no session takes files")


def _no_rows(table: Table) -> Table:
    raise BindError(f"no session gives rows of {table.name} back")


def _no_files(files: FileSource) -> Table:
    raise BindError(f"no session reads {files.path}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What the binder may ask: the catalog, the current database, and whether Spark's session has a
    view of a name.

    ``knows_function``: whether there may be one of that name, which Spark has not by itself.
    ``own_partitions``: of a table, those that the open transaction has made, which the catalog does
    not know yet. ``warn`` is given what the user should know of the statement. ``semantics``: what
    expressions mean in the session. ``frames``: what the session was given to be read under names
    in lower case; None is one that Spark's session has as a view. ``refreshed``: an attached
    table as its source tells it now. ``find_files``: those of a format at a path, or why only Spark
    reads them. ``open_files``: those that pyarrow reads, as a table. ``has_foreign``: whether
    Spark's session has a table of another catalog. ``copies``: what COPY INTO asks. ``returned``: a
    relation of rows that are to be written to a table.
    """

    catalog: Catalog
    database: str
    has_view: Callable[[str], bool] = lambda name: False
    knows_function: Callable[[str], bool] = lambda name: True
    user: str = ""
    now: int = 0
    settings: Settings = field(default_factory=Settings)
    own_partitions: Callable[[TableName], Iterable[Partition]] = lambda table: ()
    warn: Callable[[Warning], None] = lambda warning: None
    semantics: Semantics = field(default_factory=Semantics)
    frames: Mapping[str, Table | None] = field(default_factory=dict)
    refreshed: Callable[[Table], Table] = lambda table: table
    open_files: OpenFiles = _no_files
    has_foreign: Callable[[ForeignTable], bool] = lambda table: False
    find_files: FindFiles = lambda kind, path: NotHere("files by their path")
    copies: Callable[[], Copies] = _no_copies
    returned: Callable[[Table], Table] = _no_rows
