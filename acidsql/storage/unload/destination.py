"""Where the rows of a query go, as data."""

from __future__ import annotations

from enum import StrEnum

from acidsql.errors import Span
from acidsql.lazy import dataclass


class FileKind(StrEnum):
    """The formats of files. TEXT: lines as Hive writes them into a directory."""

    PARQUET = "parquet"
    CSV = "csv"
    JSON = "json"
    ARROW = "arrow"
    ORC = "orc"
    TEXT = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """``path``: on the local file system, absolute; ``given``: as it was written, at ``span``.
    ``in_directory``: it is that of a directory, for the files of partitions or those of Hive's
    statement. ``overwrite``: what is there goes. ``partition_by``: columns, in lower case, and
    where they stand. ``header``, ``delimiter``, ``null``: of lines of text. ``compression``: None
    is the format's own.
    """

    path: str
    given: str
    span: Span
    kind: FileKind
    in_directory: bool = False
    overwrite: bool = False
    partition_by: tuple[tuple[str, Span], ...] = ()
    header: bool = True
    delimiter: str = ","
    null: str = ""
    compression: str | None = None

    @property
    def what(self) -> str:
        """The words for what is made."""
        return "directory" if self.in_directory else "file"
