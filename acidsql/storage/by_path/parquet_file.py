"""The rows of a Parquet file that is named by its path: the values that Spark reads, or NotHere.

Which calendar the times of a file are in is said in it, or is not; those for which it makes no
difference are read here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from acidsql.catalog.path_relation import PathColumn
from acidsql.catalog.types import (
    MAX_DECIMAL_PRECISION,
    TIMESTAMP_NTZ,
    ArrayType,
    CharType,
    DecimalType,
    HiveType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    VarcharType,
    arrow_type,
    holds,
)
from acidsql.expressions.not_here import NotHere
from acidsql.storage.by_path.names import NOT_NATURAL, are_plain

if TYPE_CHECKING:
    import pyarrow.parquet as pq


# ---- parquet columns
#
# The columns of a Parquet file as Spark tells them from its footer alone, in Hive's types. Spark:
# ParquetToSparkSchemaConverter, ParquetFileFormat.readSchemaFromFooter.
#
# Types are told by what the file says of itself, not by the Arrow schema that Arrow's writers leave
# in it, which Spark does not look at. What Spark refuses, and what it may take another way, is left
# to it.


SPARK_SCHEMA = b"org.apache.spark.sql.parquet.row.metadata"
"""The key of the schema that Spark writes into files, and believes before any other."""

_PLAIN: dict[tuple[str, str], str] = {
    ("BOOLEAN", "None"): "boolean",
    ("INT32", "None"): "int",
    ("INT32", "Int8"): "tinyint",
    ("INT32", "Int16"): "smallint",
    ("INT32", "Int32"): "int",
    ("INT32", "UInt8"): "smallint",
    ("INT32", "UInt16"): "int",
    ("INT32", "UInt32"): "bigint",
    ("INT32", "Date"): "date",
    ("INT64", "None"): "bigint",
    ("INT64", "Int64"): "bigint",
    ("INT96", "None"): "timestamp",
    ("FLOAT", "None"): "float",
    ("DOUBLE", "None"): "double",
    ("BYTE_ARRAY", "None"): "binary",
    ("BYTE_ARRAY", "BSON"): "binary",
    ("BYTE_ARRAY", "String"): "string",
    ("BYTE_ARRAY", "Enum"): "string",
    ("BYTE_ARRAY", "JSON"): "string",
    ("FIXED_LEN_BYTE_ARRAY", "None"): "binary",
}
_UNSIGNED = DecimalType(20, 0)
"""What holds the whole numbers of 64 bits without a sign."""
_DIGITS = {"INT32": 9, "INT64": 18, "BYTE_ARRAY": 38, "FIXED_LEN_BYTE_ARRAY": 38}
"""The most digits of decimals that are stored as each."""
_UNITS = ("milliseconds", "microseconds")
_SPARK_NAMES = {"int": "integer", "bigint": "long", "smallint": "short", "tinyint": "byte"}
_CODECS = frozenset({"UNCOMPRESSED", "SNAPPY", "GZIP", "ZSTD"})
_ENCODINGS = frozenset({"PLAIN", "PLAIN_DICTIONARY", "RLE_DICTIONARY", "RLE", "BIT_PACKED"})
_TIMES = (PrimitiveType("date"), PrimitiveType("timestamp"), TIMESTAMP_NTZ)


def columns_of(file: pq.ParquetFile) -> tuple[PathColumn, ...]:
    """The columns of a file. NotHere where a type may be Spark's to tell, or to refuse."""
    schema, fields = file.metadata.schema, file.schema_arrow
    leaves = [schema.column(number) for number in range(len(schema))]
    groups = [(name, tuple(own)) for name, own in groupby(leaves, lambda c: c.path.split(".")[0])]
    names = [name for name, _ in groups]
    if not are_plain(fields.names):
        raise NotHere("names of columns that are not plain, or that two columns have")
    if not names or names != fields.names:
        raise NotHere("a file without columns, or with some that are not built in the usual way")
    columns = tuple(
        _column(name, own, field.type) for (name, own), field in zip(groups, fields, strict=True)
    )
    _check_own_schema(file.metadata.metadata or {}, columns)
    _check_chunks(file.metadata)
    return columns


def _check_chunks(metadata: pq.FileMetaData) -> None:
    """NotHere for what Spark may not be able to read."""
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for chunk in map(group.column, range(group.num_columns)):
            if chunk.compression not in _CODECS:
                raise NotHere(f"a file that is compressed by {chunk.compression}")
            if others := sorted(set(chunk.encodings) - _ENCODINGS):
                raise NotHere(f"a file with values encoded as {others[0]}")


def _column(name: str, leaves: tuple[pq.ColumnSchema, ...], kind: pa.DataType) -> PathColumn:
    first = leaves[0]
    if first.path == name:
        if first.max_repetition_level or first.max_definition_level > 1:
            raise NotHere(f'column "{name}", which repeats')
        return PathColumn(name=name, type=_leaf(first))
    rest = iter(leaves)
    hive_type = _nested(name, kind, rest)
    if next(rest, None) is not None:
        raise NotHere(f'column "{name}", which is not built in the usual way')
    timed = holds(hive_type, lambda inner: inner in _TIMES)
    return PathColumn(
        name=name,
        type=hive_type,
        only_spark="dates and timestamps inside other values" if timed else None,
    )


def _leaf(column: pq.ColumnSchema) -> HiveType:
    """The type of values that are not made of others."""
    logical: dict[str, Any] = json.loads(column.logical_type.to_json())
    physical, kind = column.physical_type, logical["Type"]
    match kind:
        case "Int":
            signed = "" if logical["isSigned"] else "U"
            kind = f"{signed}Int{logical['bitWidth']}"
        case "Decimal":
            precision, scale = logical["precision"], logical["scale"]
            most = min(_DIGITS.get(physical, 0), MAX_DECIMAL_PRECISION)
            if 0 <= scale <= precision <= most and precision > 0:
                return DecimalType(precision, scale)
        case "Timestamp" if physical == "INT64" and logical["timeUnit"] in _UNITS:
            return PrimitiveType("timestamp") if logical["isAdjustedToUTC"] else TIMESTAMP_NTZ
    if (physical, kind) == ("INT64", "UInt64"):
        return _UNSIGNED
    if (name := _PLAIN.get((physical, kind))) is None:
        raise NotHere(f'column "{column.path}", {physical} as {kind}')
    return PrimitiveType(name)


def _nested(path: str, kind: pa.DataType, leaves: Iterator[pq.ColumnSchema]) -> HiveType:
    """The type of the values at a path, whose leaves come next, if these are laid out as the format
    asks for: its older ways of lists and maps are several.
    """
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        below = kind.value_field.name
        if below not in ("element", "item"):
            raise NotHere(f'column "{path}", a list of an old layout')
        return ArrayType(_nested(f"{path}.list.{below}", kind.value_type, leaves))
    if pa.types.is_map(kind):
        key = _nested(f"{path}.key_value.key", kind.key_type, leaves)
        return MapType(key, _nested(f"{path}.key_value.value", kind.item_type, leaves))
    if pa.types.is_struct(kind):
        if not are_plain([field.name for field in kind], lower=True):
            raise NotHere(f'column "{path}", whose fields have other than plain names')
        fields = (StructField(f.name, _nested(f"{path}.{f.name}", f.type, leaves)) for f in kind)
        return StructType(tuple(fields))
    leaf = next(leaves, None)
    if leaf is None or leaf.path != path:
        raise NotHere(f'column "{path}", which is not built in the usual way')
    return _leaf(leaf)


# ---- Spark's own schema


def _check_own_schema(said: Mapping[bytes, bytes], columns: tuple[PathColumn, ...]) -> None:
    """NotHere where Spark has written other types into the file than its own words tell, or
    more of a column than a comment: lengths of char, user types, collations.
    """
    if SPARK_SCHEMA not in said:
        return
    fields = tuple((column.name, _shape(column.type)) for column in columns)
    if _said_shape(json.loads(said[SPARK_SCHEMA])) != ("struct", fields):
        raise NotHere(NOT_NATURAL)


def _shape(hive_type: HiveType) -> object:
    match hive_type:
        case PrimitiveType(name):
            return _SPARK_NAMES.get(name, name)
        case DecimalType(precision, scale):
            return f"decimal({precision},{scale})"
        case ArrayType(element):
            return ("array", _shape(element))
        case MapType(key, value):
            return ("map", _shape(key), _shape(value))
        case StructType(fields):
            return ("struct", tuple((field.name, _shape(field.type)) for field in fields))
        case CharType() | VarcharType():
            return None


def _said_shape(said: Any) -> object:
    """The shape of a type as Spark writes it down; None for what is more than a shape."""
    match said:
        case str():
            return said
        case {"type": "array", "elementType": element}:
            return ("array", _said_shape(element))
        case {"type": "map", "keyType": key, "valueType": value}:
            return ("map", _said_shape(key), _said_shape(value))
        case {"type": "struct", "fields": [*fields]} if all(map(_is_plain_field, fields)):
            return ("struct", tuple((f["name"], _said_shape(f["type"])) for f in fields))
    return None


def _is_plain_field(field: Any) -> bool:
    known = {"name", "type"} <= field.keys()
    return bool(known and field.get("metadata", {}).keys() <= {"comment"})


# ---- parquet file


BATCH_ROWS = 131_072

_DATE, _TIMESTAMPS = PrimitiveType("date"), (PrimitiveType("timestamp"), TIMESTAMP_NTZ)
_NUMBERS = tuple(map(PrimitiveType, "boolean tinyint smallint int bigint float double".split()))
_FIRST_DAY, _LAST_DAY = -141_427, 2_932_896
"""1582-10-15, before which there are two calendars, and 9999-12-31."""
_DAY = 86_400_000_000
_FIRST_MOMENT, _LAST_MOMENT = -25_567 * _DAY, (_LAST_DAY + 1) * _DAY - 1
"""1900-01-01, before which the two calendars' clocks differ in some zone, and the last moment of
9999, in microseconds since 1970.
"""
_LAST_INT96 = 106_752 * _DAY
"""In 2262. A moment as INT96 that Arrow and Spark may tell differently is later to Arrow."""


class ParquetFile:
    def __init__(self, source: pa.NativeFile, path: str) -> None:
        self._file = pq.ParquetFile(source, coerce_int96_timestamp_unit="us")

    def columns(self) -> tuple[PathColumn, ...]:
        return columns_of(self._file)

    def batches(self, columns: Sequence[PathColumn]) -> Iterator[list[pa.Array]]:
        """ArrowInvalid for text that is no UTF-8, and for what a type cannot hold."""
        schema = self._file.metadata.schema
        leaves = [schema.column(number) for number in range(len(schema))]
        old = {leaf.path for leaf in leaves if leaf.physical_type == "INT96"}
        names = [column.name for column in columns]
        for groups in self._groups():
            for batch in self._file.iter_batches(BATCH_ROWS, groups, names):
                yield [
                    _values(batch.column(column.name), column.type, int96=column.name in old)
                    for column in columns
                ]

    def _groups(self) -> Iterator[list[int]]:
        """The numbers of the row groups, of as many as are a batch: Arrow keeps what it has read
        of groups until it has read all that it was asked for.
        """
        groups, rows = list[int](), 0
        for number in range(self._file.num_row_groups):
            groups.append(number)
            rows += self._file.metadata.row_group(number).num_rows
            if rows >= BATCH_ROWS:
                yield groups
                groups, rows = [], 0
        if groups:
            yield groups


def _values(array: pa.Array, hive_type: HiveType, *, int96: bool) -> pa.Array:
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if hive_type in _TIMESTAMPS:
        array = _moments(array, _LAST_INT96 if int96 else _LAST_MOMENT)
    wanted = arrow_type(hive_type)
    if array.type != wanted:
        array = array.cast(wanted)
    if hive_type == _DATE:
        _check_between(array.cast(pa.int32()), _FIRST_DAY, _LAST_DAY)
    elif hive_type not in _NUMBERS:
        array.validate(full=True)
    return array


def _moments(array: pa.Array, last: int) -> pa.Array:
    """Moments of time as the clock of UTC shows them, and clocks as they are, in microseconds."""
    fine = array.cast(pa.timestamp("us", array.type.tz)).view(pa.int64())
    _check_between(fine, _FIRST_MOMENT, last)
    return fine.view(pa.timestamp("us"))


def _check_between(numbers: pa.Array, first: int, last: int) -> None:
    least, most = pc.min_max(numbers).values()
    if least.is_valid and (least.as_py() < first or most.as_py() > last):
        raise NotHere("a date before 1582-10-15, a timestamp before 1900, or one of a far year")
