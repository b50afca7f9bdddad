"""Named functions: which are understood, and by what they are carried out. What has no kernel is
computed value by value.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from acidsql.catalog.types import DecimalType, HiveType
from acidsql.expressions.functions import CASTS, FUNCTIONS, PARSE_DAY, Function, like, regular
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.tree import TODAY, VOID
from acidsql.expressions.values import BOOLEAN, DATE, INT, STRING, TIMESTAMP, bits_of
from acidsql.expressions.vectors.casts import BINARY
from acidsql.expressions.vectors.truths import written_day
from acidsql.expressions.vectors.vector import Kernels, Vector, applied

if TYPE_CHECKING:
    from acidsql.expressions.vectors.compiler import Compiler

_texts = Kernels("texts")
_days = Kernels("days")
_rowwise = Kernels("rowwise")

_PARTS = {
    "DAYOFMONTH": "DAY",
    **{
        name: name
        for name in (
            *("YEAR", "QUARTER", "MONTH", "DAY", "DAYOFYEAR", "DAYOFWEEK", "WEEKOFYEAR"),
            *("WEEKDAY", "HOUR", "MINUTE", "SECOND"),
        )
    },
}
_CLOCK = frozenset(("HOUR", "MINUTE", "SECOND"))
_UNITS = {
    **dict.fromkeys(("YEAR", "YYYY", "YY"), "YEAR"),
    **dict.fromkeys(("MONTH", "MM", "MON"), "MONTH"),
    "QUARTER": "QUARTER",
    "WEEK": "WEEK",
}
_MOST_PADDED = 10_000
"""Longer texts are padded one by one."""
_NOW = frozenset(("CURRENT_TIMESTAMP", "NOW"))
_KERNELS: Mapping[str, Callable[..., Any]] = {
    "LCASE": partial(_texts.lower, FUNCTIONS["LOWER"].run),
    "LOWER": partial(_texts.lower, FUNCTIONS["LOWER"].run),
    "UCASE": partial(_texts.upper, FUNCTIONS["UPPER"].run),
    "UPPER": partial(_texts.upper, FUNCTIONS["UPPER"].run),
    "LTRIM": _texts.left_trim,
    "RTRIM": _texts.right_trim,
    "TRIM": _texts.trim,
    "REVERSE": _texts.reverse,
    "ADD_MONTHS": _days.add_months,
    "DATE_ADD": _days.add_days,
    "DATE_SUB": _days.subtract_days,
    "DATEDIFF": _days.days_between,
    "LAST_DAY": _days.last_day,
    **dict.fromkeys(("CHAR_LENGTH", "CHARACTER_LENGTH", "LEN", "LENGTH"), _texts.length),
}
"""The functions of ``expressions.functions`` that have a kernel for all arguments."""


def function(compiler: Compiler, name: str, given: Sequence[Vector]) -> Vector:
    """NotHere."""
    if len(given) == 1 and (name in CASTS or name == "TO_DATE"):
        if name == "TO_DATE" and given[0].type not in (DATE, TIMESTAMP, STRING, VOID):
            raise NotHere(f"TO_DATE of {given[0].type}")
        return compiler.cast(given[0], CASTS.get(name, DATE))
    for understood in (_moment, _part, _text, _pattern):
        vector = understood(compiler, name, given)
        if vector is not None:
            return vector
    parses = name == "TO_DATE" and compiler.partitions
    signature = PARSE_DAY if parses else FUNCTIONS.get(name)
    if signature is None or not signature.accepts(len(given)) or not given:
        raise NotHere(f"the function {name}")
    arguments = [passed(compiler, one, signature.parameter(i)) for i, one in enumerate(given)]
    kernel = _KERNELS.get(name) or _of_constants(name, arguments) or _each(signature)
    return Vector(signature.result, applied(kernel, *arguments))


def _each(signature: Function) -> Callable[..., Any]:
    return partial(_rowwise.each, signature.run, signature.result)


def passed(compiler: Compiler, argument: Vector, parameter: HiveType) -> Vector:
    """An argument as a function gets it."""
    given = argument.type
    if given == parameter:
        return argument
    if given == STRING and parameter in (DATE, TIMESTAMP):
        if compiler.partitions and not compiler.ansi and argument.literal is None:
            return compiler.cast(argument, parameter)
        return written_day(compiler, argument, parameter)
    understood = given == VOID or (
        bool(0 < bits_of(given) <= 32)
        if parameter == INT
        else bool(bits_of(given)) or given in (BOOLEAN, DATE, TIMESTAMP)
        if parameter == STRING
        else given in (DATE, TIMESTAMP) and parameter in (DATE, TIMESTAMP)
    )
    if not understood and not (parameter == STRING and isinstance(given, DecimalType)):
        raise NotHere(f"a {given} in place of a {parameter}")
    return compiler.cast(argument, parameter)


# ---- days and moments


def _moment(compiler: Compiler, name: str, given: Sequence[Vector]) -> Vector | None:
    """The statement's own moment."""
    if given or name not in (TODAY, *_NOW):
        return None
    if compiler.now is None or not compiler.utc or name.lower() in compiler.columns:
        raise NotHere("the moment of the statement")
    now = compiler.now
    if now.tzinfo is not None:
        now = now.astimezone(datetime.UTC).replace(tzinfo=None)
    hive_type = DATE if name == TODAY else TIMESTAMP
    return compiler.constant(now.date() if name == TODAY else now, hive_type)


def _part(compiler: Compiler, name: str, given: Sequence[Vector]) -> Vector | None:
    if name not in _PARTS or len(given) != 1:
        return None
    argument = passed(compiler, given[0], TIMESTAMP if name in _CLOCK else DATE)
    return Vector(INT, applied(partial(_days.part, _PARTS[name]), argument))


# ---- text


def _text(compiler: Compiler, name: str, given: Sequence[Vector]) -> Vector | None:
    match name, given:
        case "LENGTH" | "LEN" | "CHAR_LENGTH" | "CHARACTER_LENGTH", [value] if value.type == BINARY:
            return Vector(INT, applied(_texts.byte_length, value))
        case "||" | "CONCAT", [_, *_] if all(one.type == BINARY for one in given):
            return Vector(BINARY, applied(_texts.concat, *given))
        case "||" | "CONCAT", [_, *_]:
            texts = [passed(compiler, one, STRING) for one in given]
            return Vector(STRING, applied(_texts.concat, *texts))
        case "CONCAT_WS", [_, *_]:
            texts = [passed(compiler, one, STRING) for one in given]
            return Vector(STRING, applied(_texts.concat_with, *texts))
        case "REVERSE", [value]:
            return Vector(STRING, applied(_texts.reverse, passed(compiler, value, STRING)))
        case "LOCATE" | "POSITION", [search, value]:
            return function(compiler, "INSTR", (value, search))
    return None


def _pattern(compiler: Compiler, name: str, given: Sequence[Vector]) -> Vector | None:
    if name not in ("LIKE", "RLIKE") or len(given) != 2:
        return None
    value, pattern = given
    if pattern.literal is None or pattern.type != STRING:
        raise NotHere(f"{name} with a pattern that is not written out")
    text = pattern.literal.value
    test = like(text) if name == "LIKE" else regular(text)
    if test is None:
        raise NotHere(f"this pattern of {name}")
    kernel = partial(_texts.like, text) if name == "LIKE" else _each_text(test)
    return Vector(BOOLEAN, applied(kernel, passed(compiler, value, STRING)))


def _each_text(test: Callable[[str], Any]) -> Callable[..., Any]:
    return partial(_rowwise.each, test, BOOLEAN)


def _of_constants(name: str, arguments: Sequence[Vector]) -> Callable[..., Any] | None:
    """The kernel of a function all of whose arguments but the first are written out."""
    constants = [one.literal.value if one.literal else None for one in arguments[1:]]
    if not constants or None in constants:
        return None
    kernel = _with_constants(name, constants)
    return None if kernel is None else lambda values, *rest: kernel(values)


def _with_constants(name: str, constants: Sequence[Any]) -> Callable[..., Any] | None:
    match name, constants:
        case "SUBSTR" | "SUBSTRING", [position, *count] if position > 0:
            return partial(_texts.slice_from, position, count[0] if count else None)
        case "LEFT", [count]:
            return partial(_texts.slice_from, 1, count)
        case "REPLACE", [search, *replacement] if search:
            return partial(_texts.replace, search, replacement[0] if replacement else "")
        case "CONTAINS", [part]:
            return partial(_texts.contains, part)
        case "STARTSWITH", [part]:
            return partial(_texts.starts_with, part)
        case "ENDSWITH", [part]:
            return partial(_texts.ends_with, part)
        case "LPAD" | "RPAD", [count, *pad] if 0 <= count <= _MOST_PADDED and (
            not pad or len(pad[0]) == 1
        ):
            return partial(_texts.padded, name == "LPAD", count, pad[0] if pad else " ")
        case "TRUNC", [unit] if unit.upper() in _UNITS:
            return partial(_days.truncated, _UNITS[unit.upper()])
    return None
