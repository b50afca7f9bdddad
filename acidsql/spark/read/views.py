"""Temporary views, kept because planning a query on one takes less than making it."""

from __future__ import annotations

import contextlib
import uuid
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import TYPE_CHECKING

from acidsql.spark import jvm

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MAX_KEPT = 24
"""More than the tables of one statement: its views must all live until Spark has analysed its text.
"""


class Views:
    """Views by what they show. A view that is dropped stays good for queries analysed before."""

    def __init__(self, spark: SparkSession, max_kept: int = MAX_KEPT) -> None:
        self._spark = spark
        self._max_kept = max_kept
        self._names: OrderedDict[Hashable, str] = OrderedDict()
        self._prefix = f"acidsql_{uuid.uuid4().hex[:12]}"
        self._count = 0

    def get(self, key: Hashable, make: Callable[[], DataFrame]) -> str:
        """The name of the view of ``key``; ``make`` is called if there is none."""
        name = self._names.get(key)
        if name is None:
            frame = make()
            self._count += 1
            name = f"{self._prefix}_{self._count}"
            frame.createOrReplaceTempView(name)
            self._names[key] = name
            while len(self._names) > self._max_kept:
                self._drop(self._names.popitem(last=False)[1])
        self._names.move_to_end(key)
        return name

    def close(self) -> None:
        while self._names:
            self._drop(self._names.popitem()[1])

    def _drop(self, name: str) -> None:
        jvm.drop_view(self._spark, name)


@contextlib.contextmanager
def temporary_view(frame: DataFrame) -> Iterator[str]:
    """The name of a view that goes in the end. Every query analysed inside reads the same files by
    it, however often it stands there.
    """
    name = f"acidsql_{uuid.uuid4().hex[:12]}"
    frame.createOrReplaceTempView(name)
    try:
        yield name
    finally:
        jvm.drop_view(frame.sparkSession, name)
