"""The rows of a frame as one ORC file, which both engines read as they read a table's. A batch and
a stripe of them lie in memory, however many there are.

The file is the statement's own: a stream is read once whatever is run again, and a frame that its
owner changes meanwhile stays what it was.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from typing import Any, Self
from weakref import finalize

import pyarrow as pa

from acidsql import interrupts
from acidsql.catalog.model import FRAMES, Column, Table, TableKind, TableName
from acidsql.catalog.types import CharType, HiveType, PrimitiveType, VarcharType
from acidsql.errors import BindError, DataError
from acidsql.frames.batches import Batches, batches_of
from acidsql.frames.fitting import MisfitError, fitted, may_fit
from acidsql.frames.frame_types import NoHiveTypeError, hive_type_of
from acidsql.frames.matching import by_lower_name
from acidsql.lazy_dataclass import dataclass
from acidsql.storage.stored import arrow_schema
from acidsql.storage.unload.orc_rows import OrcRows

_FILE, _PREFIX = "000000_0", "acidsql-frame-"
_HAND_IN = "Hand the frame in as one of Spark's: spark.createDataFrame(frame)."


class Frame:
    """Rows that were given to a session, as a relation of its queries. Its file goes when nobody
    has the frame any more, at the end of the process at the latest.
    """

    def __init__(self, table: Table, spool: _Spool, batches: Batches) -> None:
        self.table = table
        self.rows = 0
        self._spool = spool
        self._waiting: Batches | None = batches
        self._finalize = finalize(self, _remove, table.location, os.getpid())

    @classmethod
    def of(
        cls,
        name: str,
        frame: Any,
        directory: str,
        columns: Sequence[Column] = (),
        *,
        only_schema: bool = False,
    ) -> Self:
        """Reads a frame. ``columns``: what its values are to be stored in, by name; columns of
        other names are what they are. DataError, BindError, InterfaceError; then nothing is left.
        """
        batches = batches_of(frame, only_schema=only_schema)
        return cls.of_batches(name, batches, directory, columns)

    @classmethod
    def of_batches(
        cls, name: str, batches: Batches, directory: str, columns: Sequence[Column] = ()
    ) -> Self:
        """Reads a frame whose columns are known: see ``of``."""
        frame = cls.unread(name, batches, directory, columns)
        frame.read()
        return frame

    @classmethod
    def unread(
        cls, name: str, batches: Batches, directory: str, columns: Sequence[Column] = ()
    ) -> Self:
        """A frame whose rows are there once it was ``read``. BindError for its columns."""
        spool = _Spool.of(batches, columns)
        table = Table(
            name=TableName(FRAMES, name),
            columns=spool.columns,
            location=_folder(directory),
            kind=TableKind.FRAME,
        )
        return cls(table, spool, batches)

    def read(self) -> None:
        """Reads the rows, if they are not here yet; a frame that fails is closed."""
        batches, self._waiting = self._waiting, None
        if batches is None:
            return
        try:
            path = os.path.join(self.table.location, _FILE)
            self.rows = self._spool.write(path, batches.rows)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Takes the file away; closing twice is no error."""
        self._finalize()


def _folder(directory: str) -> str:
    """A new directory for one frame: this user's alone where temporary files are, and what the
    process makes of its files in one that was chosen to be shared.
    """
    try:
        if not directory:
            return tempfile.mkdtemp(prefix=_PREFIX)
        folder = os.path.join(os.path.abspath(directory), f"{_PREFIX}{uuid.uuid4().hex}")
        os.mkdir(folder)
    except OSError as error:
        raise DataError(f"a frame's rows cannot be kept: {error}") from error
    return folder


def _remove(directory: str, pid: int) -> None:
    if os.getpid() == pid:  # a forked child leaves it to its parent
        shutil.rmtree(directory, ignore_errors=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Spool:
    """``columns``: those of the file. ``targets``: what each of them is to be stored in; None: it
    is what it is.
    """

    columns: tuple[Column, ...]
    targets: tuple[Column | None, ...]

    @classmethod
    def of(cls, batches: Batches, columns: Sequence[Column]) -> Self:
        """BindError for a column whose type is none of Hive's, or cannot be that of its target."""
        targets = {c.name: c for c in columns}
        names = by_lower_name(batches.schema.names)
        if not names:
            raise BindError("the frame has no columns")
        own, wanted = [], []
        for name, kind in zip(names, batches.schema.types, strict=True):
            target = targets.get(name)
            hive_type = _type_of(name, kind) if target is None else _checked(kind, target)
            own.append(Column(name=name, type=hive_type))
            wanted.append(target)
        return cls(columns=tuple(own), targets=tuple(wanted))

    def write(self, path: str, batches: Iterator[pa.RecordBatch]) -> int:
        """Writes the rows and counts them. DataError names the first value that does not fit."""
        rows = 0
        schema = arrow_schema(self.columns)
        file = OrcRows(path, self.columns, "snappy", whose="the frame", hint=_HAND_IN)
        try:
            for batch in batches:
                interrupts.check()
                if batch.num_rows:
                    file.write(self._table(batch, rows, schema))
                    rows += batch.num_rows
        finally:
            file.close()
        return rows

    def _table(self, batch: pa.RecordBatch, first: int, schema: pa.Schema) -> pa.Table:
        arrays = []
        for ordinal, (column, target) in enumerate(zip(self.columns, self.targets, strict=True)):
            hive_type = column.type if target is None else target.type
            try:
                array = fitted(batch.column(ordinal), hive_type)
            except MisfitError as misfit:
                raise _misfit(misfit, column, target, first) from None
            arrays.append(array)
        return pa.Table.from_arrays(arrays, schema=schema)


def _type_of(name: str, kind: pa.DataType) -> HiveType:
    try:
        return hive_type_of(kind)
    except NoHiveTypeError as error:
        raise BindError(
            f'column "{name}" of the frame is of type {kind}, which SQL has not', hint=error.hint
        ) from None


def _checked(kind: pa.DataType, target: Column) -> HiveType:
    """The type in the file of what is to be stored in a column."""
    if not may_fit(kind, target.type):
        hint = None
        try:
            hive_type_of(kind)
        except NoHiveTypeError as error:
            hint = error.hint
        raise BindError(
            f'column "{target.name}" is of type {target.type}, that of the frame {kind}',
            hint=hint or "Convert the frame's column, or store another one.",
            sqlstate="42804",
        )
    limited = isinstance(target.type, CharType | VarcharType)
    return PrimitiveType("string") if limited else target.type


def _misfit(misfit: MisfitError, column: Column, target: Column | None, first: int) -> DataError:
    hive_type = column.type if target is None else target.type
    return DataError(
        f'row {first + misfit.index} of the frame: column "{column.name}" of type {hive_type}'
        f' cannot hold "{misfit.shown}"',
        hint="Rows count from 0. Nothing was written.",
        sqlstate="22003",
    )
