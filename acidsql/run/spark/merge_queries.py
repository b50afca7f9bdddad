"""The queries of a MERGE as DataFrames under the statement's snapshot."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from acidsql.expressions.losses import Counter, given_name
from acidsql.expressions.query_text import GIVEN
from acidsql.expressions.spark_words import identifier
from acidsql.lazy_dataclass import dataclass
from acidsql.plan.merge_sql import (
    CLAUSE,
    LEADING_COLUMNS,
    changes_query,
    inserts_query,
    keeps_target,
    source_query,
    whole_query,
)
from acidsql.plan.plans import MergePlan
from acidsql.planner.bind.bound import BoundQuery
from acidsql.run.spark.targets import enforced
from acidsql.spark import jvm
from acidsql.spark.read.views import temporary_view
from acidsql.spark.write.losses import Store, types_of, value_at, with_marks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


MAX_KEY_BYTES = 10 << 20
"""The most bytes of the source's keys, as Spark estimates them, that it broadcasts by default."""


@dataclass(frozen=True, slots=True)
class MergeQueries:
    """The queries of ``plan.merge_sql`` as DataFrames over the statement's scans. ``counters``:
    those of the marks of the rows that they give, as far as they have been asked for.
    """

    plan: MergePlan
    dataframe: Callable[[BoundQuery], DataFrame]
    counters: list[Counter]

    def source(self) -> DataFrame:
        return self.dataframe(source_query(self.plan.merge))

    def changes(self, numbered_source: str | None) -> DataFrame:
        return self._enforced(changes_query(self.plan, numbered_source))

    def pairs(self, numbered_source: str) -> DataFrame:
        return self.dataframe(changes_query(self.plan, numbered_source, values=False))

    def inserts(self, unmatched_source: str) -> DataFrame:
        return self._enforced(inserts_query(self.plan, unmatched_source))

    def whole(self) -> DataFrame:
        source = None if keeps_target(self.plan) else self.source()
        if source is None or not self._has_few_keys(source):
            return self._enforced(whole_query(self.plan))
        with temporary_view(source) as name:
            return self._enforced(whole_query(self.plan, source_view=name))

    def _has_few_keys(self, source: DataFrame) -> bool:
        """Whether the target can be filtered by the source's keys at little cost, and the source
        has the same rows when it is read again.
        """
        names, keys = (
            [name.lower() for name in source.columns],
            [key for _, key in self.plan.merge.keys],
        )
        if any(names.count(key) != 1 for key in keys) or not jvm.reads_the_same(source):
            return False
        size = jvm.estimated_bytes(source.select(*map(identifier, keys)))
        return size is not None and size <= MAX_KEY_BYTES

    def _enforced(self, query: BoundQuery) -> DataFrame:
        writing = [
            str(number)
            for number, clause in enumerate(self.plan.merge.clauses)
            if clause.makes_rows
        ]
        exempt = f"NOT coalesce(acidsql_1 IN ({', '.join(writing)}), FALSE)" if writing else "TRUE"
        leading = [f"acidsql_{ordinal}" for ordinal in range(len(LEADING_COLUMNS))]
        return enforced(self.plan.table, self._marked(query), *leading, exempt=exempt)

    def _marked(self, query: BoundQuery) -> DataFrame:
        """The rows of a query with the marks of what their values lose."""
        frame = self.dataframe(query)
        givens = {name: at for at, name in enumerate(frame.columns) if name.startswith(GIVEN)}
        first = len(LEADING_COLUMNS) + len(givens)
        every = (*self.plan.table.columns, *self.plan.table.partition_columns)
        clause = value_at(LEADING_COLUMNS.index(CLAUSE))
        stores = [
            Store(
                given=givens[given],
                stored=first + ordinal,
                column=column,
                when=f"{clause} = {number}",
            )
            for number in range(len(self.plan.merge.clauses))
            for ordinal, column in enumerate(every)
            if (given := given_name(ordinal, number)) in givens
        ]
        types = types_of(frame) if stores else []
        return with_marks(frame, types, stores, self.counters)
