"""The rows of a DataFrame as the tasks give them, without having all of them in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, cast

from acidsql.arrow_arrays import with_offsets
from acidsql.spark.jvm.java import jvm

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


def collect_arriving(df: DataFrame, take: Callable[[pa.RecordBatch], None]) -> list[int] | None:
    """Runs the query and hands each record batch to ``take`` when it arrives; the numbers of the
    batches in the order of the rows. What PySpark's ``toArrow`` does with a list of all.

    None on Spark Connect, where nothing was done.
    """
    if jvm(df.sparkSession) is None:
        return None
    from pyspark.errors.exceptions.captured import unwrap_spark_exception
    from pyspark.sql.pandas.serializers import ArrowStreamSerializer
    from pyspark.traceback_utils import SCCallSiteSync

    order: list[int] = []

    class Arriving(ArrowStreamSerializer):  # type: ignore[misc,unused-ignore]
        def load_stream(self, stream: Any) -> Iterator[pa.RecordBatch]:
            yield from super().load_stream(stream)
            order.extend(_order(stream))

    with SCCallSiteSync(df.sparkSession.sparkContext):  # type: ignore[no-untyped-call]
        port, secret, server = df._jdf.collectAsArrowToPython()  # type: ignore[operator,unused-ignore]
    try:
        with _served((port, secret), Arriving()) as batches:
            for batch in batches:
                take(_sound(batch))
    finally:
        with unwrap_spark_exception():
            server.getResult()  # joins the thread that served, and raises what went wrong there
    return order


def _sound(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A batch as pyarrow wants it."""
    arrays = list(map(with_offsets, batch.columns))
    return type(batch).from_arrays(arrays, schema=batch.schema)


@contextmanager
def _served(address: tuple[int, str], serializer: Any) -> Iterator[Any]:
    """What Java serves at an address. PySpark gives a block from Spark 4 on, and just the items
    before.
    """
    from pyspark.sql.pandas import conversion

    served = cast(Any, conversion)._load_from_socket(address, serializer)
    with served if hasattr(served, "__enter__") else nullcontext(served) as items:
        yield items


def _order(stream: Any) -> Iterator[int]:
    """What Java tells behind the batches: how many there are, and their order."""
    from pyspark.serializers import UTF8Deserializer, read_int

    count: int = read_int(stream)  # type: ignore[no-untyped-call]
    if count == -1:
        raise RuntimeError(UTF8Deserializer().loads(stream))  # type: ignore[no-untyped-call]
    for _ in range(count):
        yield read_int(stream)  # type: ignore[no-untyped-call]
