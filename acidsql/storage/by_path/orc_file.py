"""An ORC file that is named by its path: its columns as Spark tells them from the types in its
footer and what Spark has written beside them, and its rows. Spark: OrcUtils.toCatalystSchema.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
from pyarrow import orc

from acidsql.acid.orc_tail import load_tail
from acidsql.acid.orc_types import OrcKind, OrcType, column_numbers, preorder
from acidsql.catalog.path_relation import PathColumn
from acidsql.catalog.types import (
    TIMESTAMP_NTZ,
    ArrayType,
    DecimalType,
    HiveType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
)
from acidsql.errors import FormatError
from acidsql.expressions.not_here import NotHere
from acidsql.storage.by_path.names import NOT_NATURAL, are_plain
from acidsql.storage.footers import by_arrow
from acidsql.storage.scan.orc_file import converter, refuse_unseen_times
from acidsql.storage.scan.stripe_reader import refuse_old_times

CATALYST_TYPE = "spark.sql.catalyst.type"
"""The attribute in which Spark notes types that ORC has not, and some that it has."""

_PLAIN = {
    OrcKind.BOOLEAN: "boolean",
    OrcKind.BYTE: "tinyint",
    OrcKind.SHORT: "smallint",
    OrcKind.INT: "int",
    OrcKind.LONG: "bigint",
    OrcKind.FLOAT: "float",
    OrcKind.DOUBLE: "double",
    OrcKind.STRING: "string",
    OrcKind.BINARY: "binary",
    OrcKind.DATE: "date",
    OrcKind.TIMESTAMP: "timestamp",
}


class OrcFile:
    def __init__(self, source: pa.NativeFile, path: str) -> None:
        def end(count: int) -> tuple[bytes, int]:
            size = source.size()
            source.seek(max(0, size - count))
            return source.read(), size

        try:
            self._tail = load_tail(end, path)
        except FormatError as error:
            raise NotHere(f"a file that cannot be read: {error.message}") from error
        self._source = source
        self._file = orc.ORCFile(source)
        assert self._tail.schema is not None
        self._stored = self._tail.schema

    def columns(self) -> tuple[PathColumn, ...]:
        stored, attributes = self._stored, self._tail.attributes
        if stored.kind is not OrcKind.STRUCT or not stored.names:
            raise NotHere("a file without columns")
        if not are_plain(stored.names):
            raise NotHere("names of columns that are not plain, or that two columns have")
        if attributes[0]:
            raise NotHere(NOT_NATURAL)
        numbers = column_numbers(stored, in_events=False)
        triples = zip(stored.names, stored.children, numbers, strict=True)
        return tuple(_column(name, kind, attributes[at:]) for name, kind, at in triples)

    def batches(self, columns: Sequence[PathColumn]) -> Iterator[list[pa.Array]]:
        kinds = dict(zip(self._stored.names, self._stored.children, strict=True))
        names = [column.name for column in columns]
        for column in columns:
            refuse_unseen_times(column.type)
        converters = [converter(column.type, kinds[column.name]) for column in columns]
        for stripe in range(self._file.nstripes):
            batch = self._file.read_stripe(stripe, columns=names)
            if not by_arrow(self._file):
                refuse_old_times(self._source, self._tail, stripe, batch.columns)
            arrays = zip(converters, names, strict=True)
            yield [convert(batch.column(name)) for convert, name in arrays]


def _column(name: str, kind: OrcType, attributes: Sequence[Mapping[str, str]]) -> PathColumn:
    """A column; ``attributes``: its own, those of the types below it, and those behind these."""
    if kind.kind is OrcKind.LONG and attributes[0] == {CATALYST_TYPE: TIMESTAMP_NTZ.name}:
        reason = "timestamps without a zone that are stored as numbers"
        return PathColumn(name=name, type=TIMESTAMP_NTZ, only_spark=reason)
    if not all(_is_natural(*pair) for pair in zip(preorder(kind), attributes, strict=False)):
        raise NotHere(NOT_NATURAL)
    return PathColumn(name=name, type=_type(name, kind))


def _is_natural(kind: OrcType, attributes: Mapping[str, str]) -> bool:
    """Whether Spark has noted nothing of a type, or what it is anyway."""
    return not attributes or attributes == {CATALYST_TYPE: _PLAIN.get(kind.kind)}


def _type(column: str, kind: OrcType) -> HiveType:
    match kind.kind, kind.children:
        case OrcKind.DECIMAL, ():
            return DecimalType(kind.precision, kind.scale)
        case OrcKind.LIST, (element,):
            return ArrayType(_type(column, element))
        case OrcKind.MAP, (key, value):
            return MapType(_type(column, key), _type(column, value))
        case OrcKind.STRUCT, (_, *_):
            if not are_plain(kind.names, lower=True):
                raise NotHere(f'column "{column}", whose fields have other than plain names')
            pairs = zip(kind.names, kind.children, strict=True)
            return StructType(tuple(StructField(n, _type(column, child)) for n, child in pairs))
    if kind.kind not in _PLAIN:
        raise NotHere(f'column "{column}" of type {kind}')
    return PrimitiveType(_PLAIN[kind.kind])
