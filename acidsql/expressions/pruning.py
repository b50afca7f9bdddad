"""Which partitions can hold rows that meet a condition, judged by their values alone, before any
directory is listed.

A partition is dropped only if a condition is certainly false or NULL for it. The answers are those
of ``expressions.vectors`` for a batch of the partitions' values: AND, OR and NOT are taken apart
here, so that one part may decide where another is not understood, or not of this value. Where no
answer is certain the partition is kept.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from acidsql.catalog.model import DEFAULT_PARTITION, Column, Partition, Table
from acidsql.catalog.partitions import named_values
from acidsql.catalog.types import DecimalType, HiveType, PrimitiveType
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.tree import (
    VOID,
    Call,
    Cast,
    ColumnRef,
    Condition,
    Constant,
    PartitionCondition,
    conjuncts,
    parts_of,
)
from acidsql.expressions.values import BOOLEAN, DATE, INT, STRING, UNKNOWN, bits_of, partition_value
from acidsql.lazy import dataclass

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from acidsql.catalog.partitions import Among, NameRanges
    from acidsql.expressions.vectors import Vector

    Answers = np.ndarray[Any, np.dtype[np.int8]]
    """One of the four below for each partition."""


# ---- predicate
#
# The conjuncts of a condition that a scan may use to skip data: ``column op literal`` where no cast
# would stand on the column.


Scalar = bool | int | float | str | bytes | Decimal | datetime.date | datetime.datetime


class Comparison(StrEnum):
    EQUAL = "="
    LESS = "<"
    LESS_EQUAL = "<="
    GREATER = ">"
    GREATER_EQUAL = ">="
    IN = "IN"
    IS_NULL = "IS NULL"
    IS_NOT_NULL = "IS NOT NULL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicate:
    """A conjunct ``column op value`` that a scan may use to skip data; the whole condition is still
    evaluated after it.

    ``values`` has one entry, several for IN, none for IS [NOT] NULL.
    """

    column: str
    op: Comparison
    values: tuple[Scalar, ...] = ()

    def __str__(self) -> str:
        shown = [f"'{v}'" if isinstance(v, str | datetime.date) else str(v) for v in self.values]
        match self.op:
            case Comparison.IS_NULL | Comparison.IS_NOT_NULL:
                return f"{self.column} {self.op}"
            case Comparison.IN:
                return f"{self.column} IN ({', '.join(shown)})"
            case _:
                return f"{self.column} {self.op} {shown[0]}"


_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_HALVES = {"tinyint": 1 << 7, "smallint": 1 << 15, "int": 1 << 31, "bigint": 1 << 63}
_DATE = PrimitiveType("date")


def predicates(condition: Condition, table: Table, alias: str) -> tuple[Predicate, ...]:
    """The predicates that a condition's conjuncts over ``table`` alone come to."""
    return tuple(p for part in conjuncts(condition) for p in _predicates(part, table, alias))


def _predicates(part: Condition, table: Table, alias: str) -> Iterator[Predicate]:
    match part:
        case Call("=" | "<" | "<=" | ">" | ">=" as sign, (left, right)):
            yield from _comparison(sign, left, right, table, alias)
        case Call("BETWEEN"):
            for side in conjuncts(_compared(part)):
                yield from _predicates(side, table, alias)
        case Call("IN" | "OR"):
            if (membership := one_of(part, table, alias)) is not None:
                yield Predicate(column=membership[0].name, op=Comparison.IN, values=membership[1])
        case Call("IS NULL", (ref,)):
            yield from _null_test(ref, Comparison.IS_NULL, table, alias)
        case Call("NOT", (Call("IS NULL", (ref,)),)):
            yield from _null_test(ref, Comparison.IS_NOT_NULL, table, alias)


def _null_test(ref: Condition, op: Comparison, table: Table, alias: str) -> Iterator[Predicate]:
    column = column_of(ref, table, alias)
    if column is not None:
        yield Predicate(column=column.name, op=op)


_MIRROR = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _comparison(
    sign: str, left: Condition, right: Condition, table: Table, alias: str
) -> Iterator[Predicate]:
    if column_of(left, table, alias) is None:
        left, right, sign = right, left, _MIRROR[sign]
    column = column_of(left, table, alias)
    value = None if column is None else scalar(right, column)
    if column is not None and value is not None:
        yield Predicate(column=column.name, op=Comparison(sign), values=(value,))


def one_of(
    condition: Condition, table: Table, alias: str
) -> tuple[Column, tuple[Scalar, ...]] | None:
    """The column that is one of these values where the condition is true, and not where it is
    false: of ``c IN (1, 2)``, ``c = 1`` and any OR of such on one column. None for anything else.
    """
    column: Column | None = None
    values: list[Scalar] = []
    for ref, literals in _alternatives(condition):
        own = column_of(ref, table, alias)
        known = [] if own is None else [scalar(literal, own) for literal in literals]
        if own is None or (column is not None and own is not column) or None in known:
            return None
        column = own
        values += [value for value in known if value is not None]
    return None if column is None else (column, tuple(values))


def _alternatives(condition: Condition) -> Iterator[tuple[Condition, tuple[Condition, ...]]]:
    match condition:
        case Call("OR", parts):
            for part in parts:
                yield from _alternatives(part)
        case Call("=", (ColumnRef() as ref, literal)) | Call("=", (literal, ColumnRef() as ref)):
            yield ref, (literal,)
        case Call("IN", (ref, *literals)):
            yield ref, tuple(literals)
        case _:
            yield condition, ()


def column_of(node: Condition, table: Table, alias: str) -> Column | None:
    """The column of ``table`` that a name means which cannot be another's."""
    match node:
        case ColumnRef((name,)):
            return table.column(name)
        case ColumnRef((qualifier, name)) if qualifier == alias:
            return table.column(name)
    return None


def scalar(node: Condition, column: Column) -> Scalar | None:
    """The literal as a value of the column's own type; None where Spark's comparison would cast the
    column.
    """
    match column.type, node:
        case PrimitiveType("tinyint" | "smallint" | "int" | "bigint" as name), Constant(int(value)):
            half = _HALVES[name]
            return value if not isinstance(value, bool) and -half <= value < half else None
        case PrimitiveType("string"), Constant(str(value)):
            return value
        case PrimitiveType("date"), Constant(value, hive_type) if hive_type == _DATE:
            return value if isinstance(value, datetime.date) else None
        case PrimitiveType("date"), Cast(Constant(str(text)), target) if target == _DATE:
            return _day(text)
        case PrimitiveType("boolean"), Constant(bool(value)):
            return value
        case DecimalType(), Constant(value):
            return _decimal(value, column.type)
    return None


def _day(text: str) -> datetime.date | None:
    try:
        return datetime.date.fromisoformat(text) if _DAY.fullmatch(text) else None
    except ValueError:
        return None


def _decimal(value: object, hive_type: DecimalType) -> Decimal | None:
    """None where the type does not hold the number with all its digits."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return None
    number = Decimal(value)
    _, digits, exponent = number.as_tuple()
    fits = (
        isinstance(exponent, int)
        and -exponent <= hive_type.scale
        and len(digits) + hive_type.scale + exponent <= hive_type.precision
    )
    return number if fits else None


# ---- pruning


FALSE, NULL, IN_DOUBT, TRUE = range(4)
"""Ordered so that an OR has the largest answer of its terms."""

_NOT = bytes.maketrans(bytes(range(4)), bytes([TRUE, NULL, IN_DOUBT, FALSE]))
_LOOKED_UP = (STRING, INT, DATE)
"""Types whose values are equal if Python says so."""
_MOST_TRIES = 1000
"""How often a part of a condition is tried on fewer and fewer values, until the others are left in
doubt with those that are not for it.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruning:
    """``kept``: in the order given. ``undecided``: Spark SQL, over the columns' names, of each
    condition that some of them may yet fail.
    """

    kept: tuple[Partition, ...]
    undecided: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The partitions that can meet all of ``conditions``; a ``partition_ranges.NameTest``.
    ``columns``: the partition columns; ``ansi``: acidsql.ansi. ``zone``, ``now``: the session's
    zone, as Spark names it, and the moment of the statement, where a condition may be judged by
    them.
    """

    columns: tuple[Column, ...]
    conditions: tuple[PartitionCondition, ...]
    ansi: bool = False
    zone: str = ""
    now: datetime.datetime | None = None

    @property
    def among(self) -> Among | None:
        """What tells their names: ranges where these tell all. None if they may have any."""
        if not self.conditions:
            return None
        return ranges_needed(self.columns, self.conditions) or self

    @property
    def ranges(self) -> NameRanges | None:
        return _ranges_between(self.columns, self.conditions)

    def chosen(self, names: Sequence[str]) -> list[str]:
        columns = [column.name for column in self.columns]
        read = list(named_values(columns, names))
        # what has no value in its name may have an empty one
        judged = [
            at for at, values in enumerate(read) if values and DEFAULT_PARTITION not in values
        ]
        kept = set(range(len(names))).difference(judged)
        for condition in self.conditions:
            verdicts = self._answers(condition, [read[at] or () for at in judged])
            judged = [at for at, one in zip(judged, verdicts, strict=True) if one >= IN_DOUBT]
        kept.update(judged)
        return [name for at, name in enumerate(names) if at in kept]

    def prune(self, partitions: Sequence[Partition]) -> Pruning:
        """What is left of these partitions."""
        kept = list(partitions)
        doubted: list[tuple[str, list[Partition]]] = []
        for condition in self.conditions:
            verdicts = self._answers(condition, [partition.values for partition in kept])
            doubtful = [p for p, one in zip(kept, verdicts, strict=True) if one == IN_DOUBT]
            doubted.append((condition.whenever, doubtful))
            kept = [p for p, one in zip(kept, verdicts, strict=True) if one >= IN_DOUBT]
        left = set(map(id, kept))
        return Pruning(
            kept=tuple(kept),
            undecided=tuple(
                sql for sql, doubtful in doubted if any(id(p) in left for p in doubtful)
            ),
        )

    def _answers(
        self, condition: PartitionCondition, partitions: Sequence[Sequence[str]]
    ) -> list[int]:
        return answers(
            self.columns,
            partitions,
            condition.tree,
            ansi=self.ansi,
            zone=self.zone,
            now=self.now,
        )


def ranges_needed(
    columns: Sequence[Column], conditions: Sequence[PartitionCondition]
) -> NameRanges | None:
    """The ranges of names in which all partitions are that ``Wanted`` would keep and that can hold
    rows; None if they may be anywhere.
    """
    # few statements of a table without partitions need it
    from acidsql.catalog.partitions import name_ranges

    wanted: dict[str, set[Any]] = {}
    for column in columns:
        for condition in conditions:
            values = _equal_to(condition.tree, column)
            if values is not None:
                before = wanted.get(column.name)
                wanted[column.name] = values if before is None else before & values
    return name_ranges(columns, wanted) if wanted else None


def _ranges_between(
    columns: Sequence[Column], conditions: Sequence[PartitionCondition]
) -> NameRanges | None:
    """The ranges of names that the least and the greatest text of the first column leave; None
    where these are not known.
    """
    from acidsql.catalog.partitions import text_ranges

    first = columns[0]
    if first.type != STRING:
        return None
    low, high = _closest(_bounds(condition.tree, first) for condition in conditions)
    return None if low is None and high is None else text_ranges(first, low, high)


_Bounds = tuple[str | None, str | None]
"""The least and the greatest text; None for one that is not known."""


def _closest(bounds: Iterable[_Bounds]) -> _Bounds:
    """The bounds of conditions that are true together."""
    lows, highs = zip(*bounds, strict=True)
    return (
        max((low for low in lows if low is not None), default=None),
        min((high for high in highs if high is not None), default=None),
    )


def _bounds(tree: Condition, column: Column) -> _Bounds:
    """The bounds of a column wherever a condition is true."""
    match tree:
        case Call("<" | "<=" | ">" | ">=" | "=" as sign, (Constant() as one, ColumnRef() as ref)):
            return _bounds(Call(_MIRROR[sign], (ref, one), tree.span), column)
        case Call(
            "<" | "<=" | ">" | ">=" | "=" as sign, (ColumnRef(parts), Constant(str(text), kind))
        ) if parts[-1] == column.name and kind == STRING:
            return None if sign[0] == "<" else text, None if sign[0] == ">" else text
        case Call("BETWEEN"):
            return _bounds(_compared(tree), column)
        case Call("AND", terms):
            return _closest(_bounds(term, column) for term in terms)
        case Call("OR", terms):
            lows, highs = zip(*(_bounds(term, column) for term in terms), strict=True)
            return None if None in lows else min(lows), None if None in highs else max(highs)
    return None, None


def _compared(between: Call) -> Call:
    """A BETWEEN as its two comparisons."""
    value, low, high = between.arguments
    sides = Call(">=", (value, low), between.span), Call("<=", (value, high), between.span)
    return Call("AND", sides, between.span)


def _equal_to(tree: Condition, column: Column) -> set[Any] | None:
    """The values of which a column has one wherever a condition is true; None if it may have
    others.
    """
    match tree:
        case Call("=", (ColumnRef(parts), Constant() as one)) | Call(
            "=", (Constant() as one, ColumnRef(parts))
        ):
            return _written((one,), column) if parts[-1] == column.name else None
        case Call("IN", (ColumnRef(parts), *items)):
            return _written(items, column) if parts[-1] == column.name else None
        case Call("AND" | "OR" as joint, terms):
            sets = [_equal_to(term, column) for term in terms]
            known = [values for values in sets if values is not None]
            if joint == "AND":
                return set.intersection(*known) if known else None
            return set.union(*known) if len(known) == len(sets) else None
    return None


def _written(items: Sequence[Condition], column: Column) -> set[Any] | None:
    """The constants among which a value of a column is, as such values; None where they are of
    another type, which may be compared in another way.
    """
    from acidsql.catalog.partitions import can_be_ranges

    values: set[Any] = set()
    if not can_be_ranges(column.type):
        return None
    for item in items:
        if not isinstance(item, Constant) or item.value is None or item.value == "":
            return None
        if item.type == column.type or (bits_of(item.type) and bits_of(column.type)):
            values.add(item.value)
        elif len(items) == 1 and column.type == DATE and item.type == STRING:
            day = partition_value(item.value, DATE)
            if not isinstance(day, datetime.date):
                return None
            values.add(day)
        else:
            return None
    return values


def rejects_nulls(columns: Mapping[str, HiveType], tree: Condition) -> bool:
    """Whether a condition is certainly not true where every column is NULL, as in the rows an outer
    join adds.
    """
    nulls = {name: _Values([DEFAULT_PARTITION], kind) for name, kind in columns.items()}
    [answer] = _Judge(nulls, 1, ansi=False, zone="", now=None).answers(tree)
    return bool(answer < IN_DOUBT)


def columns_of(tree: Condition) -> set[str]:
    """The last part of each name."""
    return {part.parts[-1] for part in parts_of(tree) if isinstance(part, ColumnRef)}


def answers(
    columns: Sequence[Column],
    partitions: Sequence[Sequence[str]],
    tree: Condition,
    *,
    ansi: bool,
    zone: str = "",
    now: datetime.datetime | None = None,
) -> list[int]:
    """FALSE, NULL, IN_DOUBT or TRUE for each partition, of which the values' texts are given."""
    if not partitions:
        return []
    used = columns_of(tree)
    values = {
        column.name: _Values([texts[ordinal] for texts in partitions], column.type)
        for ordinal, column in enumerate(columns)
        if column.name in used
    }
    judge = _Judge(values, len(partitions), ansi=ansi, zone=zone, now=now)
    verdicts: list[int] = judge.answers(tree).tolist()
    return verdicts


class _Values:
    """The values of a column. ``numbers``: of each partition the number of its value among the
    ``different`` ones; ``doubtful``: which of these only Spark can tell, NULL stands for them.
    """

    def __init__(self, texts: Sequence[str], hive_type: HiveType) -> None:
        import numpy as np

        from acidsql.arrow_arrays import arrow_array
        from acidsql.catalog.types import arrow_type
        from acidsql.expressions.kernels.comparing import FAILURES

        numbers: dict[str, int] = {}
        positions = [numbers.setdefault(text, len(numbers)) for text in texts]
        values = [partition_value(text, hive_type) for text in numbers]
        kind = arrow_type(hive_type)
        self.type = hive_type
        self.numbers = np.array(positions)
        self.doubtful = np.array([value is UNKNOWN for value in values])
        try:
            self.different = arrow_array([None if v is UNKNOWN else v for v in values], kind)
        except FAILURES:
            self.different = arrow_array([None] * len(values), kind)
            self.doubtful[:] = True
        self._each: pa.Array | None = None
        self._positions: dict[Any, list[int]] = {}
        for position, value in enumerate(values):
            self._positions.setdefault(value, []).append(position)

    def equal(self, value: Any) -> Answers:
        """The answers to ``=`` beside a value of the same type."""
        import numpy as np

        verdicts = np.full(len(self.doubtful), FALSE, np.int8)
        verdicts[self._positions.get(None, [])] = NULL
        verdicts[self.doubtful] = IN_DOUBT
        verdicts[self._positions.get(value, [])] = TRUE
        return self.spread(verdicts)

    def spread(self, verdicts: Answers) -> Answers:
        """The answers to the different values as those of the partitions."""
        answers: Answers = verdicts[self.numbers]
        return answers

    def each(self) -> pa.Array:
        """The value of each partition."""
        from acidsql.arrow_arrays import arrow_array

        if self._each is None:
            self._each = self.different.take(arrow_array(self.numbers))
        return self._each


class _Judge:
    """Answers over the ``values`` of so many partitions. ``meaning``: for ``vectorized``."""

    def __init__(self, values: Mapping[str, _Values], count: int, **meaning: Any) -> None:
        self.values = values
        self.count = count
        self.meaning = meaning
        self.known: dict[Condition, Answers] = {}
        """What was asked before: the terms of long chains have parts in common."""

    def answers(self, tree: Condition) -> Answers:
        match tree:
            case Call("OR", terms):
                return _largest([self.answers(term) for term in terms])
            case Call("AND", terms):
                return _negated(_largest([_negated(self.answers(term)) for term in terms]))
            case Call("NOT", (term,)):
                return _negated(self.answers(term))
            case Call("BETWEEN"):
                return self.answers(_compared(tree))
        if tree not in self.known:
            self.known[tree] = self.leaf(tree)
        return self.known[tree]

    def leaf(self, tree: Condition) -> Answers:
        """The answers to a condition that is not taken apart. Each different value is judged once
        where it is about one column.
        """
        import numpy as np

        # few statements have such a condition, and what compiles it is much
        from acidsql.expressions.vectors import vectorized

        match tree:  # most terms of long chains
            case Call("=", (ColumnRef(parts), Constant(value, kind))) if (
                value is not None and kind in _LOOKED_UP and kind == self.values[parts[-1]].type
            ):
                return self.values[parts[-1]].equal(value)
        refs = [part for part in parts_of(tree) if isinstance(part, ColumnRef)]
        names = {".".join(ref.parts): self.values[ref.parts[-1]] for ref in refs}
        try:
            types = {name: values.type for name, values in names.items()}
            vector = vectorized(tree, types, **self.meaning, partitions=True)
        except NotHere:
            return np.full(self.count, IN_DOUBT, np.int8)
        if vector.type not in (BOOLEAN, VOID):
            return np.full(self.count, IN_DOUBT, np.int8)
        return self._judged(vector, names)

    def _judged(self, vector: Vector, names: Mapping[str, _Values]) -> Answers:
        """The answers of a compiled condition over columns by the names that it has for them."""
        import numpy as np
        import pyarrow as pa

        if not names:
            nothing = pa.RecordBatch.from_arrays([pa.nulls(1)], names=["none"])
            return np.repeat(_run(vector, nothing, [0]), self.count)
        columns = {id(values): values for values in names.values()}.values()
        if len(columns) == 1:
            arrays = [values.different for values in names.values()]
        else:
            arrays = [values.each() for values in names.values()]
        batch = pa.RecordBatch.from_arrays(arrays, names=list(names))
        verdicts = _run(vector, batch, [_MOST_TRIES])
        if len(columns) == 1:
            [only] = columns
            verdicts[only.doubtful] = IN_DOUBT
            return only.spread(verdicts)
        for values in columns:
            verdicts[values.doubtful[values.numbers]] = IN_DOUBT
        return verdicts


def _largest(given: Sequence[Answers]) -> Answers:
    import numpy as np

    answers: Answers = np.maximum.reduce(given)
    return answers


def _negated(given: Answers) -> Answers:
    import numpy as np

    return np.frombuffer(given.tobytes().translate(_NOT), np.int8)


def _run(vector: Vector, batch: pa.RecordBatch, tries: list[int]) -> Answers:
    """The answers to a batch: half by half where some of its values are not for it, as long as
    there are ``tries`` left.
    """
    import numpy as np

    from acidsql.arrow_arrays import filled, numpy_array

    tries[0] -= 1
    try:
        values = vector.run(batch)
    except NotHere:
        half = batch.num_rows // 2
        if not half or tries[0] < 0:
            return np.full(batch.num_rows, IN_DOUBT, np.int8)
        return np.concatenate(
            [_run(vector, part, tries) for part in (batch.slice(0, half), batch.slice(half))]
        )
    if values.null_count == len(values):
        return np.full(batch.num_rows, NULL, np.int8)
    truth = numpy_array(filled(values, False))
    absent = numpy_array(values.is_null())
    return np.where(absent, NULL, np.where(truth, TRUE, FALSE)).astype(np.int8)
