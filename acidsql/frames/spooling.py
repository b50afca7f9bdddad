"""The rows of a frame while statements read them: in memory as long as they are few or are there
anyway, else as one ORC file, which both engines read as they read a table's; of that a batch and a
stripe lie in memory, however many rows there are. Spark reads the file, so what waits in memory
becomes one when it is asked for.

They are the statement's own: a stream is read once whatever is run again, and a frame that has a
name stays what it was, whatever its owner does with it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Self
from weakref import finalize

import pyarrow as pa

from acidsql import interrupts
from acidsql.catalog.model import FRAMES, Column, Table, TableKind, TableName
from acidsql.catalog.types import CharType, HiveType, PrimitiveType, VarcharType
from acidsql.errors import BindError, DataError
from acidsql.frames.fitting import MisfitError, by_lower_name, fitted, may_fit
from acidsql.frames.frame_types import Batches, NoHiveTypeError, batches_of, hive_type_of
from acidsql.lazy import dataclass
from acidsql.storage.stored import arrow_schema
from acidsql.storage.unload.formats import OrcRows, check_writable
from acidsql.storage.waiting_rows import wait

HELD_BYTES = 64 << 20
"""The most bytes of a frame's rows that lie in memory, beside those that lie there anyway."""
_FILE, _PREFIX = "000000_0", "acidsql-frame-"
_WHOSE = "the frame"
_HAND_IN = "Hand the frame in as one of Spark's: spark.createDataFrame(frame)."


class Frame:
    """Rows that were given to a session, as a relation of its queries. Its file goes when nobody
    has the frame any more, at the end of the process at the latest. ``held_bytes``: the most that
    may lie in memory.
    """

    def __init__(self, table: Table, spool: _Spool, batches: Batches, held_bytes: int) -> None:
        self.table = table
        self.rows = 0
        self._spool = spool
        self._held_bytes = held_bytes
        self._held: list[pa.RecordBatch] | None = None
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
        """Reads a frame into a file. ``columns``: what its values are to be stored in, by name;
        columns of other names are what they are. DataError, BindError, InterfaceError; then nothing
        is left.
        """
        batches = batches_of(frame, only_schema=only_schema)
        return cls.of_batches(name, batches, directory, columns, held_bytes=0)

    @classmethod
    def of_batches(
        cls,
        name: str,
        batches: Batches,
        directory: str,
        columns: Sequence[Column] = (),
        *,
        held_bytes: int = HELD_BYTES,
    ) -> Self:
        """Reads a frame whose columns are known, for one statement: see ``of``."""
        frame = cls.unread(name, batches, directory, columns, held_bytes=held_bytes)
        frame.read()
        return frame

    @classmethod
    def unread(
        cls,
        name: str,
        batches: Batches,
        directory: str,
        columns: Sequence[Column] = (),
        *,
        held_bytes: int = HELD_BYTES,
    ) -> Self:
        """A frame whose rows are there once it was ``read``. BindError for its columns."""
        spool = _Spool.of(batches, columns)
        table = Table(
            name=TableName(FRAMES, name),
            columns=spool.columns,
            location=_folder(directory),
            kind=TableKind.FRAME,
        )
        return cls(table, spool, batches, held_bytes)

    def read(self) -> None:
        """Reads the rows, if they are not here yet; a frame that fails is closed."""
        batches, self._waiting = self._waiting, None
        if batches is None:
            return
        try:
            self._read(batches)
        except BaseException:
            self.close()
            raise

    def _read(self, batches: Batches) -> None:
        held: list[pa.RecordBatch] = []
        rows = self._spool.fitting(batches.rows)
        weight = 0
        for batch, own_bytes in rows:
            self.rows += batch.num_rows
            held.append(batch)
            weight += own_bytes if batches.held and self._held_bytes else batch.nbytes
            if weight > self._held_bytes:
                self._write(chain(held, self._counted(rows)))
                return
        self._held = held
        wait(self.table.location, self)
        if not self._held_bytes:
            self.to_file()

    def _counted(self, rows: Iterable[tuple[pa.RecordBatch, int]]) -> Iterator[pa.RecordBatch]:
        for batch, _ in rows:
            self.rows += batch.num_rows
            yield batch

    def _write(self, batches: Iterable[pa.RecordBatch]) -> None:
        self._spool.write(os.path.join(self.table.location, _FILE), batches)

    def waiting(self) -> Sequence[pa.RecordBatch] | None:
        """See ``WaitingRows``."""
        return self._held

    def to_file(self) -> None:
        """See ``WaitingRows``."""
        if self._held is not None:
            self._write(self._held)
            self._held = None

    def close(self) -> None:
        """Takes the rows and the file away; closing twice is no error."""
        self._held = None
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

    def write(self, path: str, batches: Iterable[pa.RecordBatch]) -> None:
        """Writes rows that fit."""
        file = OrcRows(path, self.columns, "snappy", whose=_WHOSE, hint=_HAND_IN)
        try:
            for batch in batches:
                interrupts.check()
                file.write(pa.Table.from_batches([batch]))
        finally:
            file.close()

    def fitting(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[pa.RecordBatch, int]]:
        """The rows as they are stored, and how many bytes of them are not the given ones. DataError
        names the first value that does not fit; UnsupportedStatementError for times that Arrow's
        writer cannot write.
        """
        rows = 0
        schema = arrow_schema(self.columns)
        for batch in batches:
            interrupts.check()
            if batch.num_rows:
                arrays = self._arrays(batch, rows)
                pairs = zip(arrays, batch.columns, strict=True)
                own_bytes = sum(one.nbytes for one, given in pairs if _is_new(one, given))
                fitting = pa.RecordBatch.from_arrays(arrays, schema=schema)
                check_writable(pa.Table.from_batches([fitting]), whose=_WHOSE, hint=_HAND_IN)
                yield fitting, own_bytes
                rows += batch.num_rows

    def _arrays(self, batch: pa.RecordBatch, first: int) -> list[pa.Array]:
        arrays = []
        for ordinal, (column, target) in enumerate(zip(self.columns, self.targets, strict=True)):
            hive_type = column.type if target is None else target.type
            try:
                array = fitted(batch.column(ordinal), hive_type)
            except MisfitError as misfit:
                raise _misfit(misfit, column, target, first) from None
            arrays.append(array)
        return arrays


def _is_new(array: pa.Array, given: pa.Array) -> bool:
    """Whether an array has memory of its own."""
    return bool(array.type != given.type or pa.types.is_nested(array.type))


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
