"""What a query gives back, in Hive's types and with Hive's clocks: as batches on their way, and as
DataFrames in a user's hands."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from acidsql.catalog.types import HiveType, PrimitiveType, parse_type
from acidsql.errors import BindError, Error
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


# ---- batches on their way
#
# Record batches on their way from Spark, which come in any order and may be more than memory
# holds: the first ones are kept there, and all on disk when they become many.


MEMORY_BYTES = 64 << 20


class Spool:
    """Batches of one schema by the number of their arrival. Its file, if there is one, is in the
    directory for temporary files and gone when the spool is closed.
    """

    def __init__(self, memory_bytes: int = MEMORY_BYTES) -> None:
        self._memory_bytes = memory_bytes
        self._batches: list[pa.RecordBatch] = []
        self._bytes = 0
        self._files = ExitStack()
        self._path: str | None = None
        self._writer: Any = None

    def add(self, batch: pa.RecordBatch) -> None:
        if self._writer is not None:
            self._writer.write_batch(batch)
            return
        self._batches.append(batch)
        self._bytes += batch.nbytes
        if self._bytes > self._memory_bytes:
            self._spill()

    def _spill(self) -> None:
        import pyarrow as pa

        folder = tempfile.TemporaryDirectory(prefix="acidsql-rows-")
        self._path = str(Path(self._files.enter_context(folder)) / "rows.arrow")
        self._writer = self._files.enter_context(
            pa.ipc.new_file(self._path, self._batches[0].schema)
        )
        for batch in self._batches:
            self._writer.write_batch(batch)
        self._batches.clear()

    @property
    def is_on_disk(self) -> bool:
        return self._path is not None

    def in_order(self, order: Sequence[int]) -> Iterator[pa.RecordBatch]:
        """The batches by their numbers, each of which is asked for once; no more are added then."""
        if self._writer is None:
            held: list[pa.RecordBatch | None] = list(self._batches)
            self._batches.clear()
            for number in order:
                batch, held[number] = held[number], None
                yield batch
            return
        import pyarrow as pa

        self._writer.close()
        with pa.memory_map(self._path) as mapped:
            reader = pa.ipc.open_file(mapped)
            for number in order:
                yield reader.get_batch(number)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._files.close()


# ---- frames in a user's hands
#
# DataFrames of Spark's in a user's hands, whose failures may have a reason that only we know.


Explain = Callable[[Exception], Error | None]
"""What an error of Spark's means; None where it means what it says."""

_EXPLAIN = "_acidsql_explain"
_COME_OF_FRAMES = (
    "DataFrame",
    "GroupedData",
    "DataFrameWriter",
    "DataFrameWriterV2",
    "DataFrameNaFunctions",
    "DataFrameStatFunctions",
)
"""Classes of pyspark.sql whose objects run a DataFrame, or give another one of it."""
Frame = TypeVar("Frame")


def explained(frame: Frame, explain: Explain) -> Frame:
    """A DataFrame like ``frame`` that raises what ``explain`` gives for an error; so does each that
    comes of it, but for those of another DataFrame that it is joined to. Its class is below that of
    ``frame``.
    """
    ours = cast(Frame, object.__new__(_explained_class(type(frame))))
    vars(ours).update(vars(frame))
    vars(ours)[_EXPLAIN] = explain
    return ours


_classes: dict[type[Any], type[Any]] = {}


def _explained_class(kind: type[Any]) -> type[Any]:
    if kind not in _classes:
        members = {"__getattribute__": _look_up, "__module__": kind.__module__}
        _classes[kind] = type(kind.__name__, (kind,), members)
    return _classes[kind]


def _look_up(self: Any, name: str) -> Any:
    value = object.__getattribute__(self, name)
    if name.startswith("_"):
        return value
    explain = vars(self)[_EXPLAIN]
    return _calling(value, explain) if callable(value) else _with(value, explain)


def _calling(method: Callable[..., Any], explain: Explain) -> Callable[..., Any]:
    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return _with(method(*args, **kwargs), explain)
        except Exception as error:
            raise _meant(error, explain) from error.__cause__

    return call


def _with(value: Any, explain: Explain) -> Any:
    kind = type(value)
    if isinstance(value, Iterator):
        return _iterated(value, explain)
    if not kind.__module__.startswith("pyspark.sql.") or kind.__name__ not in _COME_OF_FRAMES:
        return value
    return value if _EXPLAIN in vars(value) else explained(value, explain)


def _iterated(rows: Iterator[Any], explain: Explain) -> Iterator[Any]:
    try:
        yield from rows
    except Exception as error:
        raise _meant(error, explain) from error.__cause__


def _meant(error: Exception, explain: Explain) -> Exception:
    if isinstance(error, Error) or (ours := explain(error)) is None:
        return error
    ours.__cause__ = error
    return ours
