"""Bound statements about the catalog: DDL, SHOW, DESCRIBE."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from acidsql.catalog.attached import Assumed, is_overlay
from acidsql.catalog.model import (
    DEFAULT_DATABASE,
    Bucketing,
    Column,
    Database,
    Partition,
    Table,
    TableName,
)
from acidsql.catalog.statistics import ColumnStatistics
from acidsql.errors import Span
from acidsql.lazy import dataclass
from acidsql.planner.bind.analysis import Output
from acidsql.planner.bind.bound_transactions import BoundCompact

if TYPE_CHECKING:
    from acidsql.expressions.not_here import NotHere
    from acidsql.planner.bind.bound import BoundQuery
    from acidsql.planner.bind.local.measures import Measuring


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundCreateDatabase:
    """``span``: of LOCATION's text, if there is one."""

    database: Database
    if_not_exists: bool
    span: Span | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundDropDatabase:
    name: str
    if_exists: bool
    cascade: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundUse:
    database: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundShowDatabases:
    pattern: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundDescribeDatabase:
    database: Database
    extended: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundCreateTable:
    """``exists``: a table of that name is there already and IF NOT EXISTS was said.
    ``if_not_exists``: that was said. ``span``: the place of LOCATION, if any.
    """

    table: Table
    exists: bool
    if_not_exists: bool = False
    span: Span | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundCreateTableAs:
    """``table`` has no columns yet: they are those of ``query``, which the engine knows.
    ``outputs``: what its text tells of their names.

    ``partitioned_by``: names of columns of the query and their places. ``if_not_exists``: that was
    said. ``span``: of the query. ``location_span``: of LOCATION, if any.
    """

    table: Table
    query: BoundQuery
    outputs: tuple[Output, ...]
    partitioned_by: tuple[tuple[str, Span], ...]
    if_not_exists: bool
    span: Span
    location_span: Span | None
    facts: tuple[tuple[str, str], ...]
    words: str = "CREATE TABLE .. AS"


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundReplaceTable:
    """A table gets the place of another one: ``new``, of the name of ``before``, which is at
    ``span``.
    """

    before: Table
    new: BoundCreateTable | BoundCreateTableAs
    span: Span
    words: str = "CREATE OR REPLACE TABLE"

    @property
    def query(self) -> BoundQuery | None:
        """What makes the rows of the new table; None for one without rows."""
        return self.new.query if isinstance(self.new, BoundCreateTableAs) else None

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        own = self.new.facts if isinstance(self.new, BoundCreateTableAs) else ()
        given = own or (("table", str(self.before.name)),)
        return (*given, ("replaces", f"{self.before.name}, once the new table is there"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewColumn:
    """One name of a view's column list."""

    name: str
    comment: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundCreateView:
    """``view`` has no columns yet: the engine finds the types of ``query``'s, which then take the
    ``names``, if there are any.

    ``replaced``: the view of that name that goes.  ``exists``: there is one and IF NOT EXISTS was
    said. ``if_not_exists``: that was said.
    """

    view: Table
    query: BoundQuery
    names: tuple[ViewColumn, ...]
    replaced: Table | None
    exists: bool
    if_not_exists: bool
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundDropTable:
    """``name`` None: there is none. ``note`` says so, where IF EXISTS was not said."""

    name: TableName | None
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundDropView:
    """``name`` None: there is none. ``note`` says so, where IF EXISTS was not said."""

    name: TableName | None
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundAlterTable:
    """A change of the catalog alone: the table is to be ``after`` what it was ``before``.

    ``words`` name it ("ALTER TABLE .. ADD COLUMNS"), ``facts`` are what EXPLAIN tells of it, as for
    those that follow.
    """

    before: Table
    after: Table
    words: str = "ALTER TABLE"
    facts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundRenameTable:
    """ALTER TABLE .. RENAME TO: ``after`` has another name and, where the directory moves with it,
    another location.

    ``span``: the place of the new name.
    """

    before: Table
    after: Table
    span: Span
    words: str
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundConvertTable:
    """A table becomes transactional. ``directory``: where its files move, below the table or
    partition; None: they stay, and must be named as Hive names them.  ``span``: the place of the
    property.
    """

    before: Table
    after: Table
    directory: str | None
    span: Span
    words: str
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundAddPartitions:
    """``partitions``: those that were not there when the statement was bound. ``spans``: of each,
    the place of its LOCATION or its spec.
    """

    table: Table
    partitions: tuple[Partition, ...]
    spans: tuple[Span, ...]
    if_not_exists: bool
    words: str
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundDropPartitions:
    """``note`` names what no partition has, where IF EXISTS was not said."""

    table: Table
    partitions: tuple[Partition, ...]
    words: str
    facts: tuple[tuple[str, str], ...]
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundRenamePartition:
    """``after`` has other values, and another location where the directory moves. ``span``: the
    place of the new spec.
    """

    table: Table
    before: Partition
    after: Partition
    span: Span
    words: str
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundSetPartitionLocation:
    """The partition's files are those at another place from now on; none is moved. ``span``: the
    location's.
    """

    table: Table
    before: Partition
    after: Partition
    span: Span
    words: str
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundSetTableLocation:
    """ALTER TABLE .. SET LOCATION of a table; its partitions stay where they are. ``span``: the
    location's.
    """

    before: Table
    after: Table
    span: Span
    words: str
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundRepairTable:
    """MSCK: the partitions that directories tell of are compared with the catalog's.

    ``add``: those the catalog lacks are added, as of ``now``.  ``drop``: those without a directory
    are dropped.  Neither: it only tells.
    """

    table: Table
    add: bool
    drop: bool
    now: int
    span: Span
    words: str
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundAttachTable:
    """``table``: the entry to be, with the columns that are given; its location is "" where the
    source is to tell it. ``assumed``: what the user says of write ids; None for nothing.
    ``source``: what tells what Hive knows, the path of a dump or the URL of a database.
    ``exists``: the name is taken, and IF NOT EXISTS was said. ``overlay``: where changes are to
    lie; None: there are none. ``span``, ``source_span``: of both texts, ``name_span``: of the name.
    """

    table: Table
    assumed: Assumed | None
    source: str | None
    source_span: Span | None
    exists: bool
    span: Span
    name_span: Span
    overlay: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundAttachDatabase:
    """``name``: of the database, as it is or will be called here; ``location``: the one it has, or
    would be made with. ``warehouse``: where Hive's directory of the database lies here; None: where
    Hive says. ``source``: of the metastore. ``overlay``: each table gets one. ``owner``, ``now``:
    of the entries. ``span``: of the name, the others those of the texts.
    """

    name: str
    is_there: bool
    location: str
    warehouse: str | None
    source: str
    overlay: bool
    owner: str
    now: int
    span: Span
    source_span: Span
    warehouse_span: Span | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundDetachDatabase:
    """``name``: None if there is nothing to let go of. ``tables``: all of it, which are attached,
    or overlays.
    """

    name: str | None
    tables: tuple[Table, ...] = ()

    @property
    def overlays(self) -> tuple[Table, ...]:
        """The tables whose changes go."""
        return tuple(table for table in self.tables if is_overlay(table))

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """Name and value of each thing that EXPLAIN tells of it."""
        tables = [
            (f"table {t.name}", "its changes go" if is_overlay(t) else "its files stay")
            for t in self.tables
        ]
        if self.name is None:
            return ()
        fate = "stays" if self.name == DEFAULT_DATABASE else "goes"
        return (*tables, (f"database {self.name}", fate))


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundAdoptTable:
    """``bucketing``: the buckets that are given; ``not_clustered``: it is said that there are none.
    ``version_is_given``: that of the buckets. ``now``: epoch seconds. ``span``: of the table's
    name, ``clause_span``: of what is said of buckets.
    """

    table: Table
    bucketing: Bucketing | None
    version_is_given: bool
    not_clustered: bool
    now: int
    span: Span
    clause_span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundDetachTable:
    """``name``: None if there is nothing to let go of. ``overlay``: the table, whose changes go."""

    name: TableName | None
    overlay: Table | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundDescribeChanges:
    """DESCRIBE CHANGES OF an overlay."""

    table: Table
    span: Span

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        return (("reads", "the ids of the overlay's rows and events"), ("changes", "nothing"))


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundAnalyze:
    """``partitions``: those to measure, None of a table that has none. ``columns``: those to
    measure. ``noscan``: no rows are read. ``measuring``: how the driver alone measures, where every
    row is read, or why it cannot.
    """

    table: Table
    partitions: tuple[Partition, ...] | None
    columns: tuple[Column, ...]
    noscan: bool
    words: str
    facts: tuple[tuple[str, str], ...]
    measuring: Measuring | NotHere | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundShowTables:
    database: str
    pattern: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundShowViews:
    database: str
    pattern: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundShowColumns:
    columns: tuple[Column, ...]
    pattern: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundShowTableProperties:
    """``key`` None: all of them."""

    table: Table
    key: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundShowPartitions:
    """``partitions``: those asked for, in the order asked for; ``undecided``: conditions that some
    of them may fail, as Spark SQL.

    ``limit``: how many of those that meet them are shown; None: all.
    """

    table: Table
    partitions: tuple[Partition, ...]
    undecided: tuple[str, ...] = ()
    limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundDescribe:
    """``column`` or ``partition`` narrow what is described. ``partitions``: of a whole table, where
    statistics are shown.

    ``statistics``: of ``column``.
    """

    table: Table
    formatted: bool = False
    extended: bool = False
    column: Column | None = None
    partition: Partition | None = None
    partitions: tuple[Partition, ...] = ()
    statistics: tuple[ColumnStatistics, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundDescribeHealth:
    """DESCRIBE HEALTH of a table or of one partition."""

    table: Table
    partition: Partition | None = None

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        return (("reads", "directories and footers of files"), ("changes", "nothing"))


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundShowCreateTable:
    table: Table
    qualified: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundUnbuilt:
    """A statement that was checked against the catalog and that acidsql does not carry out yet.

    ``words`` name it ("ALTER TABLE .. COMPACT"), ``facts`` are what EXPLAIN tells of it, name and
    value. ``hint``: what can be written instead.
    """

    words: str
    span: Span
    facts: tuple[tuple[str, str], ...] = ()
    hint: str | None = None


PartitionAction = (
    BoundAddPartitions | BoundDropPartitions | BoundRenamePartition
    | BoundSetPartitionLocation | BoundSetTableLocation | BoundRepairTable
)  # fmt: skip
"""What changes where rows lie: partitions, and the places of their files."""

AttachAction = (
    BoundAttachTable | BoundAttachDatabase | BoundAdoptTable | BoundDetachTable
    | BoundDetachDatabase | BoundDescribeChanges
)  # fmt: skip
"""What brings tables that others write into the catalog, makes them its own, takes them out, and
tells what was changed over them.
"""

DdlAction = (
    BoundCreateDatabase | BoundDropDatabase | BoundUse | BoundShowDatabases | BoundDescribeDatabase
    | BoundCreateTable | BoundReplaceTable | BoundCreateTableAs | BoundDropTable
    | BoundCreateView | BoundDropView
    | BoundAlterTable | BoundRenameTable | BoundConvertTable | BoundAnalyze
    | PartitionAction
    | BoundShowTables | BoundShowViews | BoundShowColumns | BoundShowTableProperties
    | BoundShowPartitions
    | BoundDescribe | BoundDescribeHealth | BoundShowCreateTable | BoundCompact | BoundUnbuilt
)  # fmt: skip

CatalogAction = DdlAction | AttachAction

READING_ACTIONS = (
    BoundUse, BoundShowDatabases, BoundDescribeDatabase, BoundShowTables, BoundShowViews,
    BoundShowColumns, BoundShowTableProperties, BoundShowPartitions, BoundDescribe,
    BoundDescribeHealth, BoundDescribeChanges, BoundShowCreateTable,
)  # fmt: skip
"""Actions that change nothing in the catalog."""
