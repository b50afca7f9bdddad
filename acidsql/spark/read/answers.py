"""What a query gives back, in Hive's types and with Hive's clocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acidsql.catalog.types import HiveType, PrimitiveType, parse_type
from acidsql.errors import BindError
from acidsql.spark import jvm
from acidsql.spark.read.scan_words import HIVE_TYPE

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


def columns_of(df: DataFrame) -> tuple[tuple[str, HiveType], ...]:
    """Names and types, where Spark can tell also the lengths of char and varchar."""
    fields = [(f, (f.metadata or {}).get(HIVE_TYPE)) for f in df.schema.fields]
    mixed = jvm.mixed_marks(df, HIVE_TYPE) if any(kind for _, kind in fields) else None

    def is_sure(kind: str) -> bool:
        return mixed is not None and kind not in mixed

    return tuple(
        (f.name, hive_type(kind if kind and is_sure(kind) else f.dataType.simpleString()))
        for f, kind in fields
    )


def hive_type(spark_name: str) -> HiveType:
    """Spark's name of a type as Hive's; a type Hive has not keeps Spark's name."""
    name = spark_name.replace("timestamp_ntz", "timestamp")
    try:
        return parse_type("string" if name == "void" else name)
    except BindError:
        return PrimitiveType(name)


def wall_clock(table: pa.Table) -> pa.Table:
    """The table with timestamps without a zone, as Hive's are, also inside other values: they show
    the clock of the session's zone.
    """
    import pyarrow as pa

    columns = [
        pa.chunked_array(map(_unzoned, c.chunks), _unzoned_type(c.type)) if _is_zoned(c.type) else c
        for c in table.columns
    ]
    return pa.Table.from_arrays(columns, names=table.column_names)


def _is_zoned(kind: pa.DataType) -> bool:
    return bool(kind != _unzoned_type(kind))


def _unzoned_type(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    if pa.types.is_timestamp(kind):
        return pa.timestamp(kind.unit)
    if pa.types.is_map(kind):
        return pa.map_(_unzoned_field(kind.key_field), _unzoned_field(kind.item_field))
    if pa.types.is_list(kind):
        return pa.list_(_unzoned_field(kind.value_field))
    return (
        pa.struct([_unzoned_field(field) for field in kind]) if pa.types.is_struct(kind) else kind
    )


def _unzoned_field(field: pa.Field) -> pa.Field:
    return field.with_type(_unzoned_type(field.type))


def _unzoned(array: pa.Array) -> pa.Array:
    """An array without time zones. Children are taken as they lie, with the offsets and the NULLs
    of their parent.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    from acidsql.storage.stored import without_offset

    kind = array.type
    if not _is_zoned(kind):
        return array
    if pa.types.is_timestamp(kind):
        return pc.local_timestamp(array)
    whole = without_offset(array)  # a slice's children begin elsewhere
    own_buffers = 1 if pa.types.is_struct(kind) else 2
    if pa.types.is_struct(kind):
        children = [whole.field(i) for i in range(kind.num_fields)]
    elif pa.types.is_map(kind):
        children = [
            pa.StructArray.from_arrays(
                [whole.keys, whole.items], fields=[kind.key_field, kind.item_field]
            )
        ]
    else:
        children = [whole.values]
    return pa.Array.from_buffers(
        _unzoned_type(kind),
        len(whole),
        whole.buffers()[:own_buffers],
        children=list(map(_unzoned, children)),
    )
