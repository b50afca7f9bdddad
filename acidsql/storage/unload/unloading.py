"""Rows on their way to a destination. They are written below a hidden name beside it, and get their
names at the end, in one step: who reads there sees what was there before, or all of them.

    COPY .. TO '/out/x.csv'     /out/.x.csv.<id>.copying                    ->  /out/x.csv
    .. PARTITION_BY (day)       /out/.x.<id>.copying/day=1/part-0.parquet   ->  /out/x
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self

import pyarrow as pa

from acidsql.arrow_arrays import arrow_array
from acidsql.catalog.model import DEFAULT_PARTITION, Column
from acidsql.catalog.partitions import partition_name, partition_text, unnameable
from acidsql.catalog.types import ArrayType, HiveType, MapType, PrimitiveType, StructType
from acidsql.errors import BindError, DataError, Span
from acidsql.files.fileio import FileIO
from acidsql.storage.partitions import by_texts
from acidsql.storage.stored import arrow_schema
from acidsql.storage.unload.destination import Destination
from acidsql.storage.unload.formats import RowsFile, ending_of, open_file, problem_of

_HELD_BYTES = 64 << 20
"""The rows of partitions that are held, so that files are not written in small pieces."""
_MOST_OPEN = 100
_WRITTEN_AS: dict[HiveType, HiveType] = {
    PrimitiveType("void"): PrimitiveType("string"),
    PrimitiveType("timestamp_ntz"): PrimitiveType("timestamp"),
}

Values = tuple[str, ...]


class Unloading:
    """A context manager that leaves nothing behind unless ``put_in_place`` was called.

    ``columns``: names and types of the rows. BindError where the format cannot hold one, or where
    something is at the destination that may not go.
    """

    def __init__(
        self, destination: Destination, columns: Sequence[tuple[str, HiveType]], files: FileIO
    ) -> None:
        check_free(destination)
        self._destination = destination
        self._io = files
        given = [Column(name=name, type=_WRITTEN_AS.get(kind, kind)) for name, kind in columns]
        self._keys = _keys(destination, given)
        self._columns = [c for number, c in enumerate(given) if number not in self._keys]
        _check_columns(destination, given, self._columns)
        self._names = [given[key].name for key in self._keys]
        self._parent, name = os.path.split(destination.path)
        self._staged = os.path.join(self._parent, f".{name}.{uuid.uuid4().hex}.copying")
        self._open: dict[Values, RowsFile] = {}
        self._parts: dict[Values, int] = {}
        self._held: dict[Values, list[pa.Table]] = {}
        self._held_bytes = 0
        self.rows = self.files = self.bytes = 0

    def __enter__(self) -> Self:
        if self._destination.in_directory:
            os.mkdir(self._staged)
        if not self._keys:
            self._file(())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for file in self._open.values():
            with suppress(Exception):  # it was not finished, and goes
                file.close()
        with suppress(OSError):
            if self._destination.in_directory:
                self._io.delete_tree(self._staged)
            else:
                self._io.delete_file(self._staged)

    def write(self, batch: pa.RecordBatch) -> None:
        """Adds rows. DataError for values that the format, or the name of a partition, cannot
        hold.
        """
        self.rows += batch.num_rows
        rows = pa.Table.from_batches([batch])
        if not self._keys:
            self._write((), rows)
        elif batch.num_rows:
            texts = [self._texts(key, batch.column(key)) for key in self._keys]
            own = [number for number in range(batch.num_columns) if number not in self._keys]
            keys = pa.Table.from_arrays(texts, names=self._names)
            for values, part in by_texts(keys, rows.select(own)):
                self._held.setdefault(values, []).append(part)
                self._held_bytes += part.nbytes
            if self._held_bytes > _HELD_BYTES:
                self._write_held()

    def put_in_place(self) -> None:
        """Ends the files and gives them their names. FileExistsError if another has come there
        meanwhile: then nothing is changed.
        """
        self._write_held()
        self._close()
        if not self._destination.in_directory:
            self._settle(self._staged)
        for directory, _, names in os.walk(self._staged):
            for name in names:
                self._settle(os.path.join(directory, name))
            self._io.sync_directory(directory)
        self._rename()
        self._io.sync_directory(self._parent)

    def _settle(self, path: str) -> None:
        self._io.sync_file(path)
        self.files += 1
        self.bytes += os.path.getsize(path)

    def _rename(self) -> None:
        path, before = self._destination.path, f"{self._staged}.before"
        if not self._destination.in_directory:
            if self._destination.overwrite:
                os.replace(self._staged, path)
            else:
                self._io.move_file(self._staged, path)
        elif not self._destination.overwrite or not os.path.isdir(path):
            self._io.move_directory(self._staged, path)
        else:
            os.rename(path, before)
            try:
                os.rename(self._staged, path)
            except BaseException:
                os.rename(before, path)
                raise
            self._io.delete_tree(before)

    # ---- files

    def _write_held(self) -> None:
        for values, tables in self._held.items():
            self._write(values, pa.concat_tables(tables))
        self._held.clear()
        self._held_bytes = 0

    def _write(self, values: Values, rows: pa.Table) -> None:
        if len(self._open) >= _MOST_OPEN and values not in self._open:
            self._close()
        schema = arrow_schema(self._columns)
        kinds = zip(rows.columns, schema.types, strict=True)
        typed = pa.Table.from_arrays([column.cast(kind) for column, kind in kinds], schema=schema)
        try:
            self._file(values).write(typed)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise DataError(
                f"the rows cannot be written as {self._destination.kind}", detail=str(error)
            ) from error

    def _file(self, values: Values) -> RowsFile:
        if values not in self._open:
            path = self._staged
            if self._keys:
                part = self._parts[values] = self._parts.get(values, -1) + 1
                folder = os.path.join(path, partition_name(self._names, values))
                os.makedirs(folder, exist_ok=True)
                path = os.path.join(folder, f"part-{part}{ending_of(self._destination)}")
            elif self._destination.in_directory:
                path = os.path.join(path, "000000_0")
            self._open[values] = open_file(self._destination, path, self._columns)
        return self._open[values]

    def _close(self) -> None:
        while self._open:
            self._open.popitem()[1].close()

    def _texts(self, key: int, array: pa.Array) -> pa.Array:
        """The values of a partition column as they stand in the names of directories."""
        encoded = array.dictionary_encode(null_encoding="encode")
        texts = [
            partition_text(value) or DEFAULT_PARTITION for value in encoded.dictionary.to_pylist()
        ]
        name = self._names[self._keys.index(key)]
        for text in texts:
            if (problem := unnameable(name, text)) is not None:
                raise DataError(f'a value of column "{name}" {problem}', sqlstate="22023")
        return arrow_array(texts, pa.string()).take(encoded.indices)


def check_free(destination: Destination) -> None:
    """BindError where files cannot be put in place: the directory is not there, or something is
    that may not go.
    """
    path, given, span = destination.path, destination.given, destination.span
    parent = os.path.dirname(path)
    if not os.path.isdir(parent):
        raise BindError(f'there is no directory "{parent}"', hint="Make it first.", span=span)
    if not os.path.lexists(path):
        return
    is_directory = os.path.isdir(path)
    if is_directory != destination.in_directory:
        is_there = "directory" if is_directory else "file"
        raise BindError(
            f'"{given}" is a {is_there}, where a {destination.what} is to be',
            hint="Choose another name.",
            span=span,
        )
    if not destination.overwrite:
        raise BindError(
            f'{destination.what} "{given}" exists already',
            hint="OVERWRITE true puts the rows in its place.",
            span=span,
        )


def _keys(destination: Destination, columns: Sequence[Column]) -> list[int]:
    """The numbers of the columns that PARTITION_BY names. BindError."""
    names = [column.name.lower() for column in columns]
    keys = []
    for name, span in destination.partition_by:
        if name not in names:
            raise BindError(
                f'there is no column "{name}" to partition by',
                hint=f"The columns are {', '.join(names)}.",
                span=span,
            )
        key = names.index(name)
        if isinstance(columns[key].type, ArrayType | MapType | StructType):
            raise BindError(
                f'column "{name}" of type {columns[key].type} names no directory', span=span
            )
        keys.append(key)
    if keys and len(keys) == len(columns):
        raise BindError(
            "no column is left for the files: the names of directories hold all of them",
            span=Span(destination.partition_by[0][1].start, destination.partition_by[-1][1].end),
        )
    return keys


def _check_columns(
    destination: Destination, given: Sequence[Column], written: Sequence[Column]
) -> None:
    """BindError for columns of one name, and for one whose values the format cannot hold."""
    names = [column.name.lower() for column in given]
    for name in names:
        if names.count(name) > 1:
            raise BindError(
                f'two columns are called "{name}"',
                hint="Give each a name of its own: SELECT a AS x, ..",
                span=destination.span,
            )
    for column in written:
        if (problem := problem_of(destination.kind, column.type)) is not None:
            raise BindError(
                f'column "{column.name}" is of type {column.type}, and {problem}',
                hint="FORMAT json or parquet holds values of all types.",
                span=destination.span,
            )
