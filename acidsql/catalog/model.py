"""Databases, tables and columns as immutable facts, in the words of Hive's metastore."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from acidsql.catalog.types import HiveType

DEFAULT_DATABASE = "default"


class TableKind(StrEnum):
    """Hive's TBL_TYPE."""

    MANAGED = "MANAGED_TABLE"
    EXTERNAL = "EXTERNAL_TABLE"
    VIEW = "VIRTUAL_VIEW"


class FileFormat(StrEnum):
    """What STORED AS says."""

    ORC = "ORC"
    PARQUET = "PARQUET"
    TEXTFILE = "TEXTFILE"


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
class Bucketing:
    """CLUSTERED BY (columns) INTO count BUCKETS; ``version`` is the table property ``bucketing_version``."""

    columns: tuple[str, ...]
    count: int
    version: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    name: str
    location: str
    comment: str | None = None
    owner: str = ""
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One table as the catalog knows it. ``location`` is an absolute path or URL without a trailing slash.

    ``table_id`` is 0 until the catalog has stored the table; ``created_at`` is in epoch seconds.
    """

    name: TableName
    columns: tuple[Column, ...]
    location: str
    partition_columns: tuple[Column, ...] = ()
    bucketing: Bucketing | None = None
    file_format: FileFormat = FileFormat.ORC
    kind: TableKind = TableKind.MANAGED
    properties: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None
    owner: str = ""
    created_at: int = 0
    table_id: int = 0

    @property
    def is_transactional(self) -> bool:
        """Hive: AcidUtils.isTransactionalTable."""
        return self.properties.get("transactional", "").lower() == "true"

    @property
    def is_insert_only(self) -> bool:
        """Hive: AcidUtils.isInsertOnlyTable."""
        return self.is_transactional and self.properties.get("transactional_properties", "").lower() == "insert_only"

    @property
    def is_full_acid(self) -> bool:
        """Hive: AcidUtils.isFullAcidTable."""
        return self.is_transactional and not self.is_insert_only

    def column(self, name: str) -> Column | None:
        """The data column of that name, case-insensitively."""
        return next((c for c in self.columns if c.name == name.lower()), None)
