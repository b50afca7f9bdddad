"""Files that a query names by their path, as in parquet.`/data/new`: no catalog has them."""

from __future__ import annotations

from typing import Any

from acidsql.catalog.model import Column
from acidsql.catalog.types import HiveType
from acidsql.lazy import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStamp:
    """A file as it was when it was looked at: another one of its name, and one that was written to
    since, have other stamps.
    """

    path: str
    device: int
    inode: int
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSource:
    """Files as a statement names them in the place of a table. ``path``: of one, or a pattern, as
    it was written. ``options``: of their reader, by name.
    """

    kind: str
    path: str
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def name(self) -> str:
        """What their columns may be qualified by: the name of the file without its endings."""
        return self.path.rpartition("/")[2].partition(".")[0].lower() or self.kind


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedFiles:
    """Files whose rows become those of a table. ``columns``: of the table, which the files' are, in
    their order or ``by_name``; ``some_columns``: these were named, so that files may have others.
    ``not_null``: those that hold no NULL. ``keeps_rejected``: rows that do not fit are kept, and no
    error.
    """

    source: FileSource
    files: tuple[FileStamp, ...]
    columns: tuple[Column, ...]
    not_null: tuple[str, ...] = ()
    by_name: bool = False
    some_columns: bool = False
    keeps_rejected: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PathColumn:
    """``name``: as the files have it. ``only_spark``: why its values are read by Spark alone."""

    name: str
    type: HiveType
    only_spark: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PathRelation:
    """``format``: the word before the path. ``files``: all of the same columns."""

    format: str
    path: str
    files: tuple[FileStamp, ...]
    columns: tuple[PathColumn, ...]

    def __str__(self) -> str:
        return f"{self.format}.`{self.path}`"

    @property
    def size(self) -> int:
        """The bytes of its files."""
        return sum(file.size for file in self.files)
