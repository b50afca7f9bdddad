"""Names of directories and files in a Hive ACID table, written canonically and read leniently.

``grammar/names.lark`` is the same language as a grammar. Writing pads numbers as Hive does; reading
accepts any padding, Hive 4's visibility suffix (``_v0000021``, a *transaction* id) and its attempt
suffix on bucket files (``bucket_00000_0``), which we never write: Hive 3 cannot read it. Nor can it
read the visibility suffix, which only our compactions on object stores write. Hive:
AcidUtils.{baseDir, deltaSubdir, deleteDeltaSubdir, parseBase, parsedDelta, BUCKET_PATTERN}.
"""

from __future__ import annotations

import re
from functools import lru_cache

from acidsql.acid.ids import NO_STATEMENT, BucketId, StatementId, TxnId, WriteId
from acidsql.lazy_dataclass import dataclass

ACID_VERSION_FILE = "_orc_acid_version"
ACID_VERSION = b"2"
METADATA_FILE = "_metadata_acid"
FLUSH_LENGTH_SUFFIX = "_flush_length"

NO_VISIBILITY = TxnId(0)
"""No ``_v`` in the name: visible as soon as the write ids are."""

BEFORE_ALL_WRITES = WriteId(-(2**63))
"""Java's Long.MIN_VALUE: the base that Hive makes when it compacts nothing but original files."""

_WRITE_ID = "[0-9]{1,18}"
_VISIBILITY = "(?:_v([0-9]{1,18}))?"
_BASE = re.compile(f"base_(-[0-9]{{1,19}}|{_WRITE_ID}){_VISIBILITY}")
_DELTA = re.compile(f"(delete_)?delta_({_WRITE_ID})_({_WRITE_ID})(?:_([0-9]{{1,9}}))?{_VISIBILITY}")
_BUCKET = re.compile("bucket_([0-9]{1,9})(?:_[0-9]{1,9})?")
_ORIGINAL = re.compile("([0-9]{1,9})_[0-9]{1,9}(?:_copy_[0-9]{1,9})?")
_RESERVED_PREFIXES = ("base_", "delta_", "delete_delta_")


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """All rows up to ``write_id``; ``str()`` is the canonical name."""

    write_id: WriteId
    visibility_txn_id: TxnId = NO_VISIBILITY

    def __str__(self) -> str:
        return f"base_{_padded(self.write_id)}{_visibility(self.visibility_txn_id)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _DeltaName:
    min_write_id: WriteId
    max_write_id: WriteId
    statement_id: StatementId = NO_STATEMENT
    visibility_txn_id: TxnId = NO_VISIBILITY

    def _tail(self) -> str:
        statement = "" if self.statement_id == NO_STATEMENT else f"_{self.statement_id:04d}"
        ids = f"{_padded(self.min_write_id)}_{_padded(self.max_write_id)}"
        return f"delta_{ids}{statement}{_visibility(self.visibility_txn_id)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta(_DeltaName):
    """Insert events of the write ids ``min`` to ``max``; ``str()`` is the canonical name."""

    def __str__(self) -> str:
        return self._tail()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteDelta(_DeltaName):
    """Delete events of the write ids ``min`` to ``max``; ``str()`` is the canonical name."""

    def __str__(self) -> str:
        return f"delete_{self._tail()}"


DirectoryName = Base | Delta | DeleteDelta


def base_name(write_id: WriteId) -> str:
    return str(Base(write_id=write_id))


def delta_name(
    min_write_id: WriteId, max_write_id: WriteId, statement_id: StatementId = NO_STATEMENT
) -> str:
    """The canonical name of a delta; one without statement id is a compactor's."""
    return str(
        Delta(min_write_id=min_write_id, max_write_id=max_write_id, statement_id=statement_id)
    )


def delete_delta_name(
    min_write_id: WriteId, max_write_id: WriteId, statement_id: StatementId = NO_STATEMENT
) -> str:
    return str(
        DeleteDelta(min_write_id=min_write_id, max_write_id=max_write_id, statement_id=statement_id)
    )


def bucket_file_name(bucket: BucketId) -> str:
    return f"bucket_{bucket:05d}"


def is_hidden(name: str) -> bool:
    """Hive's hiddenFileFilter, for files and directories alike."""
    return name.startswith(("_", "."))


def is_reserved(name: str) -> bool:
    """A directory of such a name must be ACID: if ``parse_directory`` does not know it, nobody can
    tell what it holds.
    """
    return name.startswith(_RESERVED_PREFIXES)


@lru_cache(maxsize=4096)  # each statement meets the same names again
def parse_directory(name: str) -> DirectoryName | None:
    """The directory of this name; None if it is not that of an ACID directory (though it may be
    reserved, see ``is_reserved``).
    """
    if base := _BASE.fullmatch(name):
        return Base(write_id=WriteId(int(base[1])), visibility_txn_id=TxnId(int(base[2] or 0)))
    match = _DELTA.fullmatch(name)
    if match is None:
        return None
    kind = DeleteDelta if match[1] else Delta
    return kind(
        min_write_id=WriteId(int(match[2])),
        max_write_id=WriteId(int(match[3])),
        statement_id=NO_STATEMENT if match[4] is None else StatementId(int(match[4])),
        visibility_txn_id=TxnId(int(match[5] or 0)),
    )


def parse_bucket_file(name: str) -> BucketId | None:
    """The bucket number of ``bucket_N`` or ``bucket_N_A`` (A: the attempt, Hive 4); None for any
    other name.
    """
    match = _BUCKET.fullmatch(name)
    return BucketId(int(match[1])) if match else None


def original_bucket(name: str) -> BucketId | None:
    """The bucket number of ``000001_0`` and ``000001_0_copy_2``, files written before the table was
    ACID or by LOAD DATA.
    """
    match = _ORIGINAL.fullmatch(name)
    return BucketId(int(match[1])) if match else None


def _padded(number: int) -> str:
    return f"{number:07d}"


def _visibility(txn_id: TxnId) -> str:
    return "" if txn_id == NO_VISIBILITY else f"_v{_padded(txn_id)}"
