"""Arrow's types as Hive's, as the columns of a frame are called in SQL; and what is read of it."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from acidsql.catalog.types import (
    MAX_DECIMAL_PRECISION,
    ArrayType,
    CharType,
    DecimalType,
    HiveType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    VarcharType,
)
from acidsql.errors import DataError, InterfaceError
from acidsql.lazy import dataclass

if TYPE_CHECKING:
    from collections.abc import MutableMapping


_HIVE: dict[pa.DataType, str] = {
    pa.bool_(): "boolean",
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.uint8(): "smallint",
    pa.uint16(): "int",
    pa.uint32(): "bigint",
    pa.float16(): "float",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.large_string(): "string",
    pa.string_view(): "string",
    pa.binary(): "binary",
    pa.large_binary(): "binary",
    pa.binary_view(): "binary",
    pa.date32(): "date",
    pa.date64(): "date",
}
_UNSIGNED_DIGITS = 20
"""The digits of the largest number of 64 bits without a sign."""


class NoHiveTypeError(Exception):
    """A type of Arrow's that Hive has none for. ``hint``: what to do about it."""

    def __init__(self, hint: str | None = None) -> None:
        super().__init__(hint)
        self.hint = hint


def hive_type_of(kind: pa.DataType) -> HiveType:
    """The type that holds every value of one of Arrow's; text for a column of nothing but NULLs.
    NoHiveTypeError.
    """
    kind = plain_type(kind)
    if kind in _HIVE:
        return PrimitiveType(_HIVE[kind])
    if pa.types.is_null(kind):
        return PrimitiveType("string")
    if kind == pa.uint64():
        return DecimalType(_UNSIGNED_DIGITS, 0)
    if pa.types.is_decimal(kind):
        return _decimal(kind)
    if pa.types.is_fixed_size_binary(kind):
        return PrimitiveType("binary")
    if pa.types.is_timestamp(kind):
        return _timestamp(kind)
    if is_list(kind):
        return ArrayType(hive_type_of(kind.value_type))
    if pa.types.is_map(kind):
        return MapType(hive_type_of(kind.key_type), hive_type_of(kind.item_type))
    if pa.types.is_struct(kind) and kind.num_fields:
        fields = (StructField(f.name.lower(), hive_type_of(f.type)) for f in kind)
        return StructType(tuple(fields))
    raise NoHiveTypeError


def plain_type(kind: pa.DataType) -> pa.DataType:
    """What a dictionary's, a run-end encoded or an extension type's values are."""
    while True:
        if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
            kind = kind.value_type
        elif isinstance(kind, pa.BaseExtensionType):
            kind = kind.storage_type
        else:
            return kind


def is_list(kind: pa.DataType) -> bool:
    """Whether values are lists, of whatever layout."""
    return bool(
        pa.types.is_list(kind)
        or pa.types.is_large_list(kind)
        or pa.types.is_fixed_size_list(kind)
        or pa.types.is_list_view(kind)
        or pa.types.is_large_list_view(kind)
    )


def _decimal(kind: pa.DataType) -> HiveType:
    if kind.precision > MAX_DECIMAL_PRECISION or not 0 <= kind.scale <= kind.precision:
        raise NoHiveTypeError(f"Hive's decimals have {MAX_DECIMAL_PRECISION} digits at most.")
    return DecimalType(kind.precision, kind.scale)


def _timestamp(kind: pa.DataType) -> HiveType:
    if kind.tz is not None:
        raise NoHiveTypeError(
            "A TIMESTAMP is a wall clock without a zone: convert it to one in the frame, such as"
            " with tz_localize(None) or dt.replace_time_zone(None)."
        )
    return PrimitiveType("timestamp")


# ---- wider types
#
# Types of which every value is one of another type: all that can be said of a frame whose rows are
# still to be computed.


_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
"""The digits of the largest number of each integer type."""
_EXACT = {"float": ("tinyint", "smallint"), "double": ("tinyint", "smallint", "int", "float")}
"""The types whose every value a floating point number is exactly."""


def widens(given: HiveType, wanted: HiveType) -> bool:
    """Whether every value of type ``given`` is kept by a column of type ``wanted``."""
    if given == wanted:
        return True
    match given, wanted:
        case ArrayType(one), ArrayType(other):
            return widens(one, other)
        case MapType(key, value), MapType(other_key, other_value):
            return widens(key, other_key) and widens(value, other_value)
        case StructType(), StructType():
            return [f.name.lower() for f in given.fields] == [
                f.name for f in wanted.fields
            ] and all(
                widens(a.type, b.type) for a, b in zip(given.fields, wanted.fields, strict=True)
            )
        case DecimalType(), DecimalType():
            whole = given.precision - given.scale
            return given.scale <= wanted.scale and whole <= wanted.precision - wanted.scale
        case PrimitiveType(name), DecimalType():
            return name in _DIGITS and _DIGITS[name] <= wanted.precision - wanted.scale
        case PrimitiveType(name), PrimitiveType(other_name):
            return _widens(name, other_name)
        case ((VarcharType() | CharType()), PrimitiveType("string")):
            return True
        case _:
            return False


def _widens(given: str, wanted: str) -> bool:
    if given in _DIGITS and wanted in _DIGITS:
        return _DIGITS[given] <= _DIGITS[wanted]
    return given in _EXACT.get(wanted, ()) or (given, wanted) == ("date", "timestamp")


# ---- rows of frames
#
# What is read of a frame: its schema, and its rows as record batches, once.


BATCH_ROWS = 131_072

_KINDS = (
    "pandas and polars DataFrames, Arrow tables, record batches and readers, whatever has"
    " __arrow_c_stream__, and Spark's DataFrames can be read"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Batches:
    """The rows of a frame. ``index``: the names of a pandas frame's index, which is not read.
    ``held``: they lie in memory as long as the frame does.
    """

    schema: pa.Schema
    rows: Iterator[pa.RecordBatch]
    index: tuple[str, ...] = ()
    held: bool = False


class _Begun:
    """Which streams have been read, by this process: a reader gives its rows once, and would give
    none, or the rest, to a statement that is run again.
    """

    def __init__(self) -> None:
        self._readers: weakref.WeakSet[pa.RecordBatchReader] = weakref.WeakSet()
        self._rows: MutableMapping[Any, bool] = weakref.WeakKeyDictionary()

    def once(self, reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        """The rows of a reader, which counts as read from the first one on."""
        if reader in self._readers:
            raise _read_before()
        self._readers.add(reader)
        yield from _cut(reader)

    def watched(self, source: Any, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of an object that may or may not give them twice. InterfaceError if it gave some
        before, and gives none now.
        """
        some = False
        for batch in rows:
            some = some or batch.num_rows > 0
            yield batch
        try:
            gave_some = self._rows.get(source, False)
            self._rows[source] = some or gave_some
        except TypeError:  # what cannot be remembered
            return
        if gave_some and not some:
            raise _read_before()


_BEGUN = _Begun()


def _read_before() -> InterfaceError:
    return InterfaceError(
        "the stream was read before, and gives its rows once",
        hint="Register it: the rows of session.register(name, stream) can be read again.",
    )


def batches_of(frame: Any, *, only_schema: bool = False) -> Batches:
    """The rows of a frame that is not Spark's. InterfaceError for what is none, and for a stream
    that was read before; DataError for values that Arrow has no type for.

    ``only_schema``: no row is wanted, and a reader stays as it is.
    """
    match frame:
        case pa.RecordBatchReader():
            rows = iter(()) if only_schema else _BEGUN.once(frame)
            return Batches(schema=frame.schema, rows=rows)
        case pa.Table():
            batches = frame.to_batches(max_chunksize=BATCH_ROWS)
            return Batches(schema=frame.schema, rows=iter(batches), held=True)
        case pa.RecordBatch():
            return batches_of(pa.Table.from_batches([frame]))
    if _is_of(frame, "pandas"):
        return _of_pandas(frame)
    if _is_of(frame, "polars") and not hasattr(frame, "__arrow_c_stream__"):
        raise InterfaceError(
            f"a {type(frame).__name__} of polars has no rows yet", hint="Pass its collect()."
        )
    if isinstance(frame, type) or not hasattr(frame, "__arrow_c_stream__"):
        raise InterfaceError(f"{type(frame).__name__} is no frame: {_KINDS}")
    reader = pa.RecordBatchReader.from_stream(frame)
    return Batches(schema=reader.schema, rows=_BEGUN.watched(frame, _cut(reader)))


def _is_of(frame: Any, package: str) -> bool:
    return any(kind.__module__.partition(".")[0] == package for kind in type(frame).__mro__)


def _of_pandas(frame: Any) -> Batches:
    import pandas

    if not isinstance(frame, pandas.DataFrame):
        raise InterfaceError(f"a {type(frame).__name__} of pandas is no DataFrame")
    if repeated := sorted({str(c) for c in frame.columns[frame.columns.duplicated()]}):
        raise InterfaceError(f"the frame has the column {', '.join(repeated)} twice")
    try:
        table = pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise DataError(
            "a column of the frame holds values of several types, or of one that SQL has not",
            detail="; ".join(str(part) for part in error.args),
        ) from error
    index = tuple(str(name) for name in frame.index.names if name is not None)
    rows = iter(table.to_batches(max_chunksize=BATCH_ROWS))
    return Batches(schema=table.schema.remove_metadata(), rows=rows, index=index)


def _cut(reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    """The batches in pieces of BATCH_ROWS rows or fewer."""
    for batch in reader:
        for start in range(0, max(len(batch), 1), BATCH_ROWS):
            yield batch.slice(start, BATCH_ROWS)
