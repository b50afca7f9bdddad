"""Conditions over partition columns as Python functions of a row of values, with the answers Spark
would give or ``UNKNOWN``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from operator import itemgetter
from typing import Any

from acidsql.catalog.types import HiveType
from acidsql.expressions.coercion import common_type, common_type_of_list, unified_type
from acidsql.expressions.functions import CASTS, FUNCTIONS, PARSE_DAY, like, regular
from acidsql.expressions.rows.arithmetic import OPERATORS, arithmetic
from acidsql.expressions.rows.compiled import (
    UNCERTAIN,
    Compiled,
    Row,
    applied,
    cast,
    computed,
    constant,
    strict,
)
from acidsql.expressions.tree import VOID, Call, Cast, ColumnRef, Condition, Constant, Unread
from acidsql.expressions.values import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    UNKNOWN,
    bits_of,
    comparer,
)


def compile_condition(
    tree: Condition, columns: Mapping[str, tuple[int, HiveType]], *, ansi: bool
) -> Callable[[Row], Any]:
    """True, False, None or UNKNOWN of a row. ``columns``: the place in the row and the type of
    each.
    """
    return _Compiler(columns, ansi).truth(tree).run


_FEWEST_KEYS = 8
"""With fewer different values the terms are asked in turn."""


class _Compiler:
    def __init__(self, columns: Mapping[str, tuple[int, HiveType]], ansi: bool) -> None:
        self.columns = columns
        self.ansi = ansi

    def value(self, node: Condition) -> Compiled:
        match node:
            case Constant(value, hive_type):
                return Compiled(hive_type, lambda row: value, constant=True, written=value)
            case ColumnRef(parts):
                ordinal, hive_type = self.columns[parts[-1]]
                return Compiled(computed(hive_type), itemgetter(ordinal))
            case Cast(argument, hive_type):
                return self.cast(self.value(argument), hive_type)
            case Call(name, arguments):
                return self.call(name, arguments)
            case Unread():
                return UNCERTAIN

    def cast(self, given: Compiled, target: HiveType | None) -> Compiled:
        return cast(given, target, ansi=self.ansi)

    def truth(self, node: Condition) -> Compiled:
        compiled = self.value(node)
        return compiled if compiled.type in (BOOLEAN, VOID) else UNCERTAIN

    def call(  # noqa: C901  (one arm for each operator that is no plain function)
        self, name: str, arguments: Sequence[Condition]
    ) -> Compiled:
        match name, arguments:
            case "AND" | "OR", _:
                return self.indexed_chain(name, arguments)
            case "NOT", [argument]:
                return strict(BOOLEAN, lambda value: not value, self.truth(argument))
            case "=" | "<>" | "<" | "<=" | ">" | ">=", [left, right]:
                return self.comparison(name, self.value(left), self.value(right))
            case "<=>" | "EQUAL_NULL", [left, right]:
                return self.equal_or_both_null(self.value(left), self.value(right))
            case "IS NULL" | "ISNULL", [argument]:
                return self.is_constant(argument, None)
            case "ISNOTNULL", [argument]:
                return strict(BOOLEAN, lambda value: not value, self.is_constant(argument, None))
            case "IS TRUE" | "IS FALSE", [argument] if self.truth(argument).type is not None:
                return self.is_constant(argument, name == "IS TRUE")
            case "BETWEEN", [value, low, high]:
                bounds = (
                    self.comparison(sign, self.value(value), self.value(bound))
                    for sign, bound in ((">=", low), ("<=", high))
                )
                return self.chain([bound.run for bound in bounds], False)
            case "IN", [value, *items]:
                return self.contained(self.value(value), [self.value(item) for item in items])
            case "LIKE" | "RLIKE", [value, pattern]:
                return self.matching(name, self.value(value), self.value(pattern))
            case "CASE", _:
                return self.case(arguments)
            case "IF", [condition, yes, no]:
                return self.case((condition, yes, no))
            case "NVL2", [value, yes, no]:
                return self.case((Call("ISNOTNULL", (value,), value.span), yes, no))
            case "NULLIF", [value, other]:
                return self.case(
                    (Call("=", (value, other), value.span), Constant(None, VOID, value.span), value)
                )
            case "COALESCE" | "NVL" | "IFNULL", [_, *_]:
                return self.first_value([self.value(a) for a in arguments])
        return self.function(name, [self.value(a) for a in arguments])

    # ---- truth

    def chain(self, runs: list[Callable[[Row], Any]], decisive: bool) -> Compiled:
        """OR if one True decides, AND if one False does."""

        def run(row: Row) -> Any:
            truth: Any = not decisive
            for one in runs:
                value = one(row)
                if value is decisive:
                    return decisive
                if value is UNKNOWN or (value is None and truth is not UNKNOWN):
                    truth = value
            return truth

        return Compiled(BOOLEAN, run)

    def indexed_chain(self, name: str, arguments: Sequence[Condition]) -> Compiled:
        """A chain whose terms that ask for one value of one column are looked up by this value:
        for all others the term says what does not decide the chain.
        """
        decisive = name == "OR"
        keyed: dict[Any, list[Callable[[Row], Any]]] = {}
        rest: list[Callable[[Row], Any]] = []
        index: tuple[tuple[str, ...], HiveType, Callable[[Row], Any]] | None = None
        for argument in arguments:
            run = self.truth(argument).run
            key = self.key(argument, decisive)
            if key is None or (index is not None and index[:2] != key[:2]):
                rest.append(run)
            else:
                index = index or key[:3]
                keyed.setdefault(key[3], []).append(run)
        every = self.chain([*(run for runs in keyed.values() for run in runs), *rest], decisive)
        if index is None or len(keyed) < _FEWEST_KEYS:
            return every
        chains = {value: self.chain([*runs, *rest], decisive).run for value, runs in keyed.items()}
        other, value_of = self.chain(rest, decisive).run, index[2]

        def run_indexed(row: Row) -> Any:
            value = value_of(row)
            if value is None or value is UNKNOWN:
                return every.run(row)
            return chains.get(value, other)(row)

        return Compiled(BOOLEAN, run_indexed)

    def key(
        self, term: Condition, decisive: bool
    ) -> tuple[tuple[str, ...], HiveType, Callable[[Row], Any], Any] | None:
        """The column, the type of the comparison, the column's value in it and the one value for
        which a term of OR can be anything but false, or one of AND anything but true.
        """
        sign, inside = ("=", "AND") if decisive else ("<>", "OR")
        parts = term.arguments if isinstance(term, Call) and term.name == inside else (term,)
        for part in parts:
            match part:
                case Call(name, (ColumnRef(names) as ref, Constant() as literal)) if name == sign:
                    left, right = self.value(ref), self.value(literal)
                    hive_type = common_type(left.type, right.type, ansi=self.ansi)
                    if hive_type is None or hive_type in (DOUBLE, TIMESTAMP):
                        continue
                    value = self.cast(right, hive_type).run(())
                    if value is None or value is UNKNOWN or _is_beyond_integers(right):
                        continue
                    return names[-1:], hive_type, self.cast(left, hive_type).run, value
        return None

    def is_constant(self, argument: Condition, constant: bool | None) -> Compiled:
        run = self.value(argument).run
        return Compiled(
            BOOLEAN, lambda row: UNKNOWN if (value := run(row)) is UNKNOWN else value is constant
        )

    def comparison(self, sign: str, left: Compiled, right: Compiled) -> Compiled:
        if _is_beyond_integers(left) or _is_beyond_integers(right):
            return (
                UNCERTAIN  # Spark may answer without a look at the other side, even if that is NULL
            )
        hive_type = common_type(left.type, right.type, ansi=self.ansi)
        compare = None if hive_type is None else comparer(sign, hive_type)
        return strict(BOOLEAN, compare, self.cast(left, hive_type), self.cast(right, hive_type))

    def equal_or_both_null(self, left: Compiled, right: Compiled) -> Compiled:
        hive_type = common_type(left.type, right.type, ansi=self.ansi)
        compare = None if hive_type is None else comparer("=", hive_type)
        if compare is None:
            return UNCERTAIN
        one, two = self.cast(left, hive_type).run, self.cast(right, hive_type).run

        def run(row: Row) -> Any:
            values = one(row), two(row)
            return (
                UNKNOWN
                if UNKNOWN in values
                else values == (None, None)
                if None in values
                else compare(*values)
            )

        return Compiled(BOOLEAN, run)

    def contained(self, value: Compiled, items: list[Compiled]) -> Compiled:
        hive_type = common_type_of_list(
            [value.type, *(item.type for item in items)], ansi=self.ansi
        )
        equal = None if hive_type is None else comparer("=", hive_type)
        if equal is None:
            return UNCERTAIN
        given, *runs = (self.cast(one, hive_type).run for one in (value, *items))
        if all(item.constant for item in items) and hive_type not in (DOUBLE, TIMESTAMP):
            constants = {run(()) for run in runs}
            if UNKNOWN not in constants:
                absent = None if None in constants else False
                return strict(
                    BOOLEAN,
                    lambda one: True if one in constants else absent,
                    Compiled(hive_type, given),
                )

        def run(row: Row) -> Any:
            wanted = given(row)
            if wanted is None or wanted is UNKNOWN:
                return wanted
            verdicts = [applied(equal, [wanted, one(row)]) for one in runs]
            return (
                True
                if True in verdicts
                else UNKNOWN
                if UNKNOWN in verdicts
                else None
                if None in verdicts
                else False
            )

        return Compiled(BOOLEAN, run)

    def matching(self, name: str, value: Compiled, pattern: Compiled) -> Compiled:
        text = pattern.run(()) if pattern.constant and pattern.type == STRING else None
        test = None if text is None else like(text) if name == "LIKE" else regular(text)
        return strict(BOOLEAN, test, self.passed(value, STRING))

    # ---- values by condition

    def case(self, arguments: Sequence[Condition]) -> Compiled:
        *branches, otherwise = arguments
        conditions = [self.truth(branch).run for branch in branches[::2]]
        values = [self.value(value) for value in (*branches[1::2], otherwise)]
        hive_type = unified_type([value.type for value in values], ansi=self.ansi)
        *runs, last = (self.cast(value, hive_type).run for value in values)

        def run(row: Row) -> Any:
            for condition, value in zip(conditions, runs, strict=True):
                holds = condition(row)
                if holds is UNKNOWN:
                    return UNKNOWN
                if holds:
                    return value(row)
            return last(row)

        return UNCERTAIN if hive_type is None else Compiled(hive_type, run)

    def first_value(self, values: list[Compiled]) -> Compiled:
        hive_type = unified_type([value.type for value in values], ansi=self.ansi)
        runs = [self.cast(value, hive_type).run for value in values]
        run = lambda row: next((value for one in runs if (value := one(row)) is not None), None)  # noqa: E731
        return UNCERTAIN if hive_type is None else Compiled(hive_type, run)

    # ---- functions

    def function(self, name: str, arguments: list[Compiled]) -> Compiled:
        if name in OPERATORS and len(arguments) == 2:
            return arithmetic(OPERATORS[name], *arguments, ansi=self.ansi)
        if name == "||":
            name = "CONCAT"
        if name == "NEGATIVE" and len(arguments) == 1:
            return arithmetic(
                "-", constant(computed(arguments[0].type), 0), arguments[0], ansi=self.ansi
            )
        if len(arguments) == 1 and (name in CASTS or name == "TO_DATE"):
            return self.cast(arguments[0], CASTS.get(name, DATE))
        function = PARSE_DAY if name == "TO_DATE" else FUNCTIONS.get(name)
        if function is None or not function.accepts(len(arguments)):
            return UNCERTAIN
        given = [
            self.passed(argument, function.parameter(i)) for i, argument in enumerate(arguments)
        ]
        return (
            UNCERTAIN
            if any(g.type is None for g in given) or not given
            else strict(function.result, function.run, *given)
        )

    def passed(self, argument: Compiled, parameter: HiveType) -> Compiled:
        """An argument as a function gets it: what is no text becomes text, and text a day."""
        if argument.type in (parameter, VOID) or (
            parameter == INT and 0 < bits_of(argument.type) <= 32
        ):
            return argument
        converted = parameter == STRING or (
            parameter in (DATE, TIMESTAMP) and argument.type in (STRING, DATE)
        )
        return self.cast(argument, parameter) if converted and not self.ansi else UNCERTAIN


def _is_beyond_integers(side: Compiled) -> bool:
    value = side.run(()) if side.constant else None
    return isinstance(value, Decimal) and value.copy_abs() >= (1 << 63) - 1
