"""What a part of a condition is compiled to: a function of a row, with its type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from acidsql.catalog.types import CharType, DecimalType, HiveType, PrimitiveType, VarcharType
from acidsql.expressions.values import STRING, UNKNOWN, caster
from acidsql.lazy_dataclass import dataclass

Row = Sequence[Any]


@dataclass(frozen=True, slots=True)
class Compiled:
    """``run`` gives the value: None is NULL. ``type``: None where only Spark knows it; then there
    is no value but NULL and UNKNOWN. ``written``: the value of a literal.
    """

    type: HiveType | None
    run: Callable[[Row], Any]
    constant: bool = False
    written: Any = None


UNCERTAIN = Compiled(None, lambda row: UNKNOWN)


def constant(hive_type: HiveType | None, value: Any) -> Compiled:
    return Compiled(hive_type, lambda row: value, constant=True)


def strict(
    hive_type: HiveType | None, function: Callable[..., Any] | None, *arguments: Compiled
) -> Compiled:
    """A function that is NULL as soon as an argument is."""
    if hive_type is None or function is None:
        return UNCERTAIN
    if all(a.constant for a in arguments):
        return constant(hive_type, applied(function, [a.run(()) for a in arguments]))
    first = arguments[0].run
    if len(arguments) == 1:
        return Compiled(
            hive_type,
            lambda row: (
                value if (value := first(row)) is None or value is UNKNOWN else function(value)
            ),
        )
    if (
        len(arguments) == 2
        and arguments[1].constant
        and (second := arguments[1].run(())) is not None
        and second is not UNKNOWN
    ):
        return Compiled(
            hive_type,
            lambda row: (
                value
                if (value := first(row)) is None or value is UNKNOWN
                else function(value, second)
            ),
        )
    runs = [a.run for a in arguments]
    return Compiled(hive_type, lambda row: applied(function, [run(row) for run in runs]))


def applied(function: Callable[..., Any], values: list[Any]) -> Any:
    return None if None in values else UNKNOWN if UNKNOWN in values else function(*values)


def computed(hive_type: HiveType | None) -> HiveType | None:
    """The type a column is computed with; None for types of which nothing is certain."""
    match hive_type:
        case CharType() | VarcharType():
            return STRING
        case PrimitiveType("float" | "binary"):
            return None
        case PrimitiveType() | DecimalType():
            return hive_type
    return None


def cast(given: Compiled, target: HiveType | None, *, ansi: bool) -> Compiled:
    return (
        given
        if given.type == target
        else strict(target, caster(given.type, target, ansi=ansi), given)
    )
