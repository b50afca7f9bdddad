"""What statements must leave, found out by plain Spark: rows are kept in memory, Spark evaluates
expressions over them.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from acidsql.catalog import types
from acidsql.catalog.types import HiveType
from acidsql.errors import CardinalityError, DataError, Error, IntegrityError
from acidsql.spark import jvm
from acidsql.spark.start.session import derive
from tests.conftest import INTERPRETED
from tests.session.fuzz.random_dml import (
    Boundary,
    Clause,
    Column,
    Convert,
    Delete,
    Failing,
    Insert,
    Merge,
    MultiInsert,
    Statement,
    Table,
    Update,
    quoted,
)
from tests.session.fuzz.random_sql import cast_type, hive_type

Row = dict[str, Any]
EPOCH = datetime.datetime(1970, 1, 1)
LAST_WHOLE_SECOND = datetime.timedelta(milliseconds=-999, microseconds=-1)
"""After it, until the epoch, ORC has no encodings."""
ONE_ROW = "VALUES (1) AS one"
"""What constants are selected from; of this Spark makes no job."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How many rows a statement should count, or the errors one of which it should end with.

    ``clauses``: the rows of each clause of a MERGE and each leg of a multi-insert.
    """

    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    clauses: tuple[int, ...] = ()
    errors: tuple[type[Error], ...] = ()


class Oracle:
    """The tables' rows. ``apply`` changes them as a statement should, or not at all if it should
    fail.

    ``stale``: tables whose views in Spark are not of these rows. ``before``: what a ROLLBACK brings
    back.
    """

    def __init__(self, spark: SparkSession, tables: Sequence[Table]) -> None:
        self.spark = spark
        self.rows: dict[str, list[Row]] = {table.name: [] for table in tables}
        self.schemas = {table.name: _schema(table) for table in tables}
        self.stale = {table.name for table in tables}
        self.before: dict[str, list[Row]] | None = None

    def apply(self, statement: Statement) -> Outcome:
        try:
            match statement:
                case Insert():
                    return self._insert([statement])
                case MultiInsert():
                    return self._insert(statement.apart())
                case Update() | Delete():
                    return self._change(statement)
                case Merge():
                    return self._merge(statement)
                case Failing():
                    return Outcome(errors=(Error,))
                case Convert():
                    return Outcome()
                case Boundary(text=text):
                    return self._bound(text)
                case _:
                    assert_never(statement)
        except PySparkException:
            return Outcome(errors=(Error,))

    def select(self, table: Table, condition: str) -> list[Row]:
        return self._evaluate(
            [quoted(c.name) for c in table.all_columns], f"{table.name} WHERE {condition}", table
        )

    def rows_of(self, query: str) -> list[tuple[Any, ...]]:
        """What a query of the tables gives."""
        columns = self._query(query).columns
        return list(zip(*(column.to_pylist() for column in columns), strict=True))

    def _bound(self, text: str) -> Outcome:
        if text == "ROLLBACK" and self.before is not None:
            self._keep(self.before)
        self.before = dict(self.rows) if text == "START TRANSACTION" else None
        return Outcome()

    # ---- INSERT

    def _insert(self, legs: Sequence[Insert]) -> Outcome:
        """All legs read what was there before the first."""
        news = [self._new_rows(leg) for leg in legs]
        refused = [
            e for leg, new in zip(legs, news, strict=True) for e in self._refused(leg.table, new)
        ]
        if refused:
            return Outcome(errors=tuple(refused))
        after = dict(self.rows)
        for leg, new in zip(legs, news, strict=True):
            old = after[leg.table.name]
            if leg.overwrite:
                emptied = self._emptied(leg, new)
                old = [row for row in old if _partition(leg.table, row) not in emptied]
            after[leg.table.name] = [*old, *new]
        self._keep({leg.table.name: after[leg.table.name] for leg in legs})
        counts = tuple(map(len, news))
        return Outcome(inserted=sum(counts), clauses=counts if len(legs) > 1 else ())

    def _new_rows(self, leg: Insert) -> list[Row]:
        if isinstance(leg.source, str):
            names = [f"g{n}" for n in range(len(leg.given))]
            texts = _row_texts(leg, names)
            return self._evaluate(texts, f"({leg.source}) AS g({', '.join(names)})", leg.table)
        width = len(leg.table.all_columns)
        texts = [text for row in leg.source for text in _row_texts(leg, row)]
        (values,) = self._values(texts, ONE_ROW)
        rows = [values[at : at + width] for at in range(0, len(values), width)]
        return [self._limited(leg.table, row) for row in rows]

    def _emptied(self, leg: Insert, new: Iterable[Row]) -> set[str]:
        if leg.table.keys and not leg.dynamic:
            new = self._evaluate(_row_texts(leg, ["NULL"] * len(leg.given)), ONE_ROW, leg.table)
        return (
            {_partition(leg.table, row) for row in new}
            if leg.table.keys
            else {_partition(leg.table, {})}
        )

    # ---- UPDATE, DELETE

    def _change(self, statement: Update | Delete) -> Outcome:
        table = statement.table
        sets = statement.sets if isinstance(statement, Update) else {}
        hit = f"coalesce({statement.where or 'TRUE'}, FALSE)"
        texts = [hit, *(_assigned(c, sets) for c in table.all_columns)]
        answers = self._values(texts, table.name)
        changed = [self._limited(table, row) for is_hit, *row in answers if is_hit]
        old = zip(self.rows[table.name], answers, strict=True)
        kept = [row for row, (is_hit, *_) in old if not is_hit]
        if isinstance(statement, Delete):
            self._keep({table.name: kept})
            return Outcome(deleted=len(changed))
        if refused := self._refused(table, changed):
            return Outcome(errors=refused)
        self._keep({table.name: [*kept, *changed]})
        return Outcome(updated=len(changed))

    # ---- MERGE

    def _merge(self, merge: Merge) -> Outcome:
        """Every pair of a target and a source row, and each of them alone, is asked which clause
        would act on it.
        """
        table = merge.table
        if "t.`" not in merge.on:  # Hive's error 10149
            return Outcome(errors=(Error,))
        target = self.rows[table.name]
        found = self._query(merge.source)
        source = found.to_pylist()
        pairs = [(t, s) for t in range(len(target)) for s in range(len(source))]
        pairs += [(t, None) for t in range(len(target))] + [(None, s) for s in range(len(source))]
        asked = [merge.on, *(c.condition or "TRUE" for c in merge.clauses)]
        answers = self._of_pairs(
            pairs,
            target,
            source,
            found.schema,
            table,
            [f"coalesce({text}, FALSE)" for text in asked],
        )
        holding = dict(zip(pairs, answers, strict=True))
        joined = [(t, s) for t, s in pairs if t is not None and s is not None and holding[t, s][0]]
        alone = [(t, None) for t in range(len(target)) if t not in {t for t, _ in joined}]
        alone += [(None, s) for s in range(len(source)) if s not in {s for _, s in joined}]
        acting: list[tuple[tuple[int | None, int | None], int]] = []
        for pair in [*joined, *alone]:
            match = (
                "MATCHED"
                if None not in pair
                else "NOT MATCHED BY SOURCE"
                if pair[1] is None
                else "NOT MATCHED"
            )
            numbers = (
                n for n, c in enumerate(merge.clauses) if c.match == match and holding[pair][n + 1]
            )
            if (number := next(numbers, None)) is not None:
                acting.append((pair, number))
        hits = Counter(t for (t, _), _ in acting if t is not None)
        if any(count > 1 for count in hits.values()):
            return Outcome(errors=(CardinalityError, IntegrityError))
        return self._merged(merge, acting, source, found.schema, hits)

    def _merged(
        self,
        merge: Merge,
        acting: Sequence[tuple[tuple[int | None, int | None], int]],
        source: list[Row],
        schema: pa.Schema,
        hits: Mapping[int, int],
    ) -> Outcome:
        table, target = merge.table, self.rows[merge.table.name]
        counts, new = [0] * len(merge.clauses), []
        totals: Counter[str] = Counter()
        for number, clause in enumerate(merge.clauses):
            pairs = [pair for pair, n in acting if n == number]
            counts[number] = len(pairs)
            totals[
                "deleted"
                if clause.sets is None
                else "inserted"
                if clause.match == "NOT MATCHED"
                else "updated"
            ] += len(pairs)
            if clause.sets is not None:  # without pairs it may be refused all the same
                texts = [_merge_value(c, clause) for c in table.all_columns]
                values = self._of_pairs(pairs, target, source, schema, table, texts)
                new += [self._limited(table, row) for row in values]
        if refused := self._refused(table, new):
            return Outcome(errors=refused)
        self._keep({table.name: [*(row for n, row in enumerate(target) if n not in hits), *new]})
        return Outcome(clauses=tuple(counts), **totals)

    def _of_pairs(
        self,
        pairs: Sequence[tuple[int | None, int | None]],
        target: list[Row],
        source: list[Row],
        schema: pa.Schema,
        table: Table,
        texts: Sequence[str],
    ) -> list[tuple[Any, ...]]:
        """The values of ``texts`` over pairs of rows called t and s."""
        columns = {
            "t": pa.array(
                [None if t is None else target[t] for t, _ in pairs],
                pa.struct(list(self.schemas[table.name])),
            ),
            "s": pa.array(
                [None if s is None else source[s] for _, s in pairs], pa.struct(list(schema))
            ),
        }
        jvm.frame_of(self.spark, pa.table(columns)).createOrReplaceTempView("pairs")
        return self._values(texts, "pairs")

    # ---- rows

    def _keep(self, rows: Mapping[str, list[Row]]) -> None:
        self.rows.update(rows)
        self.stale.update(rows)

    def _query(self, text: str) -> pa.Table:
        for name in self.stale:
            self._view(name, self.rows[name], self.schemas[name])
        self.stale.clear()
        return jvm.arrow_table(self.spark.sql(text))

    def _view(self, name: str, rows: list[Row], schema: pa.Schema) -> None:
        jvm.frame_of(self.spark, pa.Table.from_pylist(rows, schema)).createOrReplaceTempView(name)

    def _values(self, texts: Sequence[str], origin: str) -> list[tuple[Any, ...]]:
        named = ", ".join(f"{text} AS v{n}" for n, text in enumerate(texts))
        found = self._query(f"SELECT {named} FROM {origin}")
        return list(zip(*(column.to_pylist() for column in found.columns), strict=True))

    def _evaluate(self, texts: Sequence[str], origin: str, table: Table) -> list[Row]:
        """Rows of the table as they would be stored."""
        return [self._limited(table, values) for values in self._values(texts, origin)]

    def _limited(self, table: Table, values: Sequence[Any]) -> Row:
        row = {
            c.name: _limit(value, hive_type(c.type))
            for c, value in zip(table.all_columns, values, strict=True)
        }
        return row | {key.name: None for key in table.keys if row[key.name] == ""}

    def _refused(self, table: Table, rows: list[Row]) -> tuple[type[Error], ...]:
        """The errors that writing these rows may end with."""
        errors: list[type[Error]] = []
        if any(row[c.name] is None for row in rows for c in table.columns if c.not_null):
            errors.append(IntegrityError)
        if table.stored_as == "ORC" and any(
            _unstorable(row[c.name]) for row in rows for c in table.columns
        ):
            errors.append(DataError)
        if table.check is not None and rows:
            self._view("new_rows", rows, self.schemas[table.name])
            if any(value is False for (value,) in self._values([f"({table.check})"], "new_rows")):
                errors.append(IntegrityError)
        return tuple(errors)


def cheap(spark: SparkSession) -> SparkSession:
    """A session for many small queries, each asked once: Spark interprets them, which is the same
    to every query and much cheaper than compiling them.
    """
    return derive(
        spark,
        {
            **INTERPRETED,
            "spark.sql.adaptive.enabled": "false",
            "spark.sql.shuffle.partitions": "1",
        },
    )


def _schema(table: Table) -> pa.Schema:
    ddl = ", ".join(f"{quoted(c.name)} {cast_type(c.type)}" for c in table.all_columns)
    return to_arrow_schema(StructType.fromDDL(ddl), timezone="UTC")


def _unstorable(value: Any) -> bool:
    """Whether there is a timestamp in it that ORC has no encoding for."""
    match value:
        case datetime.datetime():
            return LAST_WHOLE_SECOND < value.replace(tzinfo=None) - EPOCH < datetime.timedelta(0)
        case list() | tuple():
            return any(map(_unstorable, value))
        case dict():
            return any(map(_unstorable, value.values()))
    return False


def _row_texts(leg: Insert, given: Sequence[str]) -> list[str]:
    """What an INSERT stores in each column of the table."""
    values = {**dict(zip((c.name for c in leg.given), given, strict=True)), **leg.static}
    return [_assigned(c, {c.name: values.get(c.name, "DEFAULT")}) for c in leg.table.all_columns]


def _stored(text: str, column: Column) -> str:
    return f"CAST({text} AS {cast_type(column.type)})"


def _assigned(column: Column, sets: Mapping[str, str], own: str = "") -> str:
    """What an UPDATE leaves in a column."""
    if column.name not in sets:
        return own + quoted(column.name)
    value = sets[column.name]
    return _stored(column.default or "NULL" if value == "DEFAULT" else value, column)


def _merge_value(column: Column, clause: Clause) -> str:
    assert clause.sets is not None
    if clause.match != "NOT MATCHED":
        return _assigned(column, clause.sets, "t.")
    return _assigned(column, {column.name: "DEFAULT", **clause.sets})


def _limit(value: Any, kind: HiveType) -> Any:
    """A text cut to the length of its type, wherever it is nested."""
    if value is None:
        return None
    match kind:
        case types.VarcharType(length):
            return value[:length]
        case types.CharType(length):
            return value[:length].rstrip(" ")
        case types.ArrayType(element):
            return [_limit(item, element) for item in value]
        case types.MapType(key, item):
            return [(_limit(k, key), _limit(v, item)) for k, v in value]
        case types.StructType(fields):
            return {f.name: _limit(value[f.name], f.type) for f in fields}
    return value


def _partition(table: Table, row: Row) -> str:
    return repr([comparable(row[key.name]) for key in table.keys])


def comparable(value: Any) -> str:
    """A text that two values share if they are the same, NaN and the sign of a zero included.

    Times are without a zone. The pairs of a map, which are tuples, have no order.
    """
    match value:
        case datetime.datetime():
            return str(value.replace(tzinfo=None))
        case [tuple(), *_]:
            return f"[{', '.join(sorted(map(comparable, value)))}]"
        case list() | tuple():
            return f"[{', '.join(map(comparable, value))}]"
        case dict():
            return f"{{{', '.join(map(comparable, value.values()))}}}"
    return repr(value)
