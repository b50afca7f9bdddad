"""Databases, tables and columns as immutable facts, in the words of Hive's metastore."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from acidsql.catalog.types import HiveType
from acidsql.lazy import dataclass

DEFAULT_DATABASE = "default"

FRAMES = "session:frames"
"""Stands where the database of a table does, for DataFrames: none has a colon in its name."""


class TableKind(StrEnum):
    """The kind of a table, by Hive's TBL_TYPE."""

    MANAGED = "MANAGED_TABLE"
    EXTERNAL = "EXTERNAL_TABLE"
    VIEW = "VIRTUAL_VIEW"
    FRAME = "FRAME"
    """Rows that a session was given (``frames``): no catalog has it, and it is only read."""


class FileFormat(StrEnum):
    """A file format, by its name in STORED AS."""

    ORC = "ORC"
    PARQUET = "PARQUET"
    TEXTFILE = "TEXTFILE"
    SEQUENCEFILE = "SEQUENCEFILE"
    RCFILE = "RCFILE"
    AVRO = "AVRO"
    JSONFILE = "JSONFILE"
    OTHER = "OTHER"
    """Named by its classes only: ``Table.storage`` has them."""


@dataclass(frozen=True, slots=True, order=True)
class TableName:
    """A fully qualified name, lower case; prints as ``db.table``."""

    database: str
    table: str

    def __str__(self) -> str:
        return f"{self.database}.{self.table}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    name: str
    type: HiveType
    comment: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SortColumn:
    """A column of SORTED BY: ascending with NULLs first or descending with NULLs last: Hive stores
    no other order.
    """

    name: str
    descending: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucketing:
    """CLUSTERED BY (columns) [SORTED BY (..)] INTO count BUCKETS; ``version`` is the table property
    ``bucketing_version``.
    """

    columns: tuple[str, ...]
    count: int
    version: int = 2
    sorted_by: tuple[SortColumn, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Skew:
    """SKEWED BY (columns) ON (values); each of ``values`` has one text for each column.
    ``directories``: STORED AS DIRECTORIES.
    """

    columns: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    directories: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """Hive's classes for a table's files. ``serde_properties``: WITH SERDEPROPERTIES and the
    characters of ROW FORMAT DELIMITED.
    """

    input_format: str
    output_format: str
    serde: str
    serde_properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignTable:
    """A table of another catalog of Spark's, as a query names it. ``parts``: its names, from the
    catalog on. ``version``: the words that ask for an older state of it, "" for the newest.
    """

    parts: tuple[str, ...]
    version: str = ""

    def __str__(self) -> str:
        return ".".join(self.parts)

    @property
    def view(self) -> str:
        """The name of the view that shows its rows. Of those of views the case of letters is
        nothing, of those of foreign tables it may be.
        """
        text = f"{self} {self.version}".strip()
        return text if text == text.lower() else f"{text} {text.encode().hex()}"


SparkRelation = str | ForeignTable
"""What only Spark knows: a view of its session, by name, or a table of another catalog."""


class ConstraintKind(StrEnum):
    PRIMARY_KEY = "PRIMARY KEY"
    FOREIGN_KEY = "FOREIGN KEY"
    UNIQUE = "UNIQUE"
    NOT_NULL = "NOT NULL"
    DEFAULT = "DEFAULT"
    CHECK = "CHECK"


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """A rule of a table. ``columns``: those it speaks of, none for a table's CHECK.

    ``expression``: the SQL text of DEFAULT or of CHECK, without CHECK's parentheses.
    ``references``, ``referenced_columns``: the parent's key, for FOREIGN KEY.  ``enabled``: Hive
    enforces it.  ``validated``: for the rows there were.  ``rely``: planners may believe it.
    """

    kind: ConstraintKind
    name: str
    columns: tuple[str, ...] = ()
    expression: str | None = None
    references: TableName | None = None
    referenced_columns: tuple[str, ...] = ()
    enabled: bool = True
    validated: bool = False
    rely: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The query of a view: as the user wrote it, and with every table's name qualified."""

    original: str
    expanded: str


DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"
"""What stands for NULL among the values of a partition. Hive: hive.exec.default.partition.name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """A partition of a table. ``values``: Hive's text of each, in the order of the table's
    partition columns. ``statistics``: see ``catalog.statistics``.
    """

    values: tuple[str, ...]
    location: str
    properties: Mapping[str, str] = field(default_factory=dict)
    created_at: int = 0
    statistics: Mapping[str, str] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    name: str
    location: str
    comment: str | None = None
    owner: str = ""
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One table or view as the catalog knows it. ``location`` is an absolute path or URL without a
    trailing slash, "" for a view.

    ``storage``: None where the files are what ``file_format`` says and nothing more.  ``view``: for
    ``TableKind.VIEW`` only. ``table_id`` is 0 until the catalog has stored the table;
    ``created_at`` is in epoch seconds.  ``statistics``: see ``catalog.statistics``; a table is what
    it was while they change.
    """

    name: TableName
    columns: tuple[Column, ...]
    location: str
    partition_columns: tuple[Column, ...] = ()
    bucketing: Bucketing | None = None
    skew: Skew | None = None
    file_format: FileFormat = FileFormat.ORC
    storage: Storage | None = None
    kind: TableKind = TableKind.MANAGED
    constraints: tuple[Constraint, ...] = ()
    view: View | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None
    owner: str = ""
    created_at: int = 0
    table_id: int = 0
    statistics: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def is_transactional(self) -> bool:
        """Whether the table has transactions. Hive: AcidUtils.isTransactionalTable."""
        return self.properties.get("transactional", "").lower() == "true"

    @property
    def is_insert_only(self) -> bool:
        """Whether its rows are only ever inserted, in files without events. Hive:
        AcidUtils.isInsertOnlyTable.
        """
        return (
            self.is_transactional
            and self.properties.get("transactional_properties", "").lower() == "insert_only"
        )

    @property
    def is_full_acid(self) -> bool:
        """Whether its files hold ACID events. Hive: AcidUtils.isFullAcidTable."""
        return self.is_transactional and not self.is_insert_only

    @property
    def owns_files(self) -> bool:
        """Whether its files go with what is dropped of it; those of an external table stay, unless
        it says otherwise.
        """
        purged = self.properties.get("external.table.purge", "").lower() == "true"
        return self.kind is TableKind.MANAGED or (self.kind is TableKind.EXTERNAL and purged)

    def column(self, name: str) -> Column | None:
        """The data column of that name, case-insensitively."""
        return next((c for c in self.columns if c.name == name.lower()), None)


# ---- which classes of Hive stand behind a file format


_IO = "org.apache.hadoop.hive.ql.io."
_TEXT_OUTPUT = f"{_IO}HiveIgnoreKeyTextOutputFormat"
_LAZY_SIMPLE = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
_TEXT_INPUT = "org.apache.hadoop.mapred.TextInputFormat"

STORAGES: dict[FileFormat, Storage] = {
    FileFormat.ORC: Storage(
        input_format=f"{_IO}orc.OrcInputFormat",
        output_format=f"{_IO}orc.OrcOutputFormat",
        serde=f"{_IO}orc.OrcSerde",
    ),
    FileFormat.PARQUET: Storage(
        input_format=f"{_IO}parquet.MapredParquetInputFormat",
        output_format=f"{_IO}parquet.MapredParquetOutputFormat",
        serde=f"{_IO}parquet.serde.ParquetHiveSerDe",
    ),
    FileFormat.TEXTFILE: Storage(
        input_format=_TEXT_INPUT, output_format=_TEXT_OUTPUT, serde=_LAZY_SIMPLE
    ),
    FileFormat.SEQUENCEFILE: Storage(
        input_format="org.apache.hadoop.mapred.SequenceFileInputFormat",
        output_format=f"{_IO}HiveSequenceFileOutputFormat",
        serde=_LAZY_SIMPLE,
    ),
    FileFormat.RCFILE: Storage(
        input_format=f"{_IO}RCFileInputFormat",
        output_format=f"{_IO}RCFileOutputFormat",
        serde="org.apache.hadoop.hive.serde2.columnar.LazyBinaryColumnarSerDe",
    ),
    FileFormat.AVRO: Storage(
        input_format=f"{_IO}avro.AvroContainerInputFormat",
        output_format=f"{_IO}avro.AvroContainerOutputFormat",
        serde="org.apache.hadoop.hive.serde2.avro.AvroSerDe",
    ),
    FileFormat.JSONFILE: Storage(
        input_format=_TEXT_INPUT,
        output_format=_TEXT_OUTPUT,
        serde="org.apache.hadoop.hive.serde2.JsonSerDe",
    ),
}

VIEW_STORAGE = Storage(
    input_format=_TEXT_INPUT, output_format=f"{_IO}IgnoreKeyTextOutputFormat", serde=""
)
"""What Hive writes down for a view, which has no files."""


def storage_of(table: Table) -> Storage:
    """The classes of ``table``, whether it names them or not."""
    if table.storage is not None:
        return table.storage
    return VIEW_STORAGE if table.kind is TableKind.VIEW else STORAGES[table.file_format]


def recognized(storage: Storage) -> tuple[FileFormat, Storage | None]:
    """The file format these classes mean, and the storage where the format alone does not say it
    all.
    """
    for file_format, known in STORAGES.items():
        if (storage.input_format, storage.output_format, storage.serde) == (
            known.input_format,
            known.output_format,
            known.serde,
        ):
            return file_format, storage if storage.serde_properties else None
    return FileFormat.OTHER, storage
