"""A condition as a tree that knows the place of each of its parts in the user's text: what
partition pruning can look into; and the literals in it.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import field, replace
from decimal import Decimal
from typing import Any

from acidsql.catalog.types import MAX_DECIMAL_PRECISION, HiveType, PrimitiveType
from acidsql.errors import Span
from acidsql.expressions.not_here import NULL, Lossy, NotHere
from acidsql.lazy import dataclass, pattern

VOID = PrimitiveType("void")
"""The type of NULL."""
TODAY, NOW = "CURRENT_DATE", "CURRENT_TIMESTAMP"
"""The calls of them, with brackets or without."""
SCALAR_QUERY, IN_QUERY, EXISTS = "SCALAR QUERY", "IN QUERY", "EXISTS"
"""The calls of queries, whose words are ``Unread``: the last argument."""
OVER = "OVER"
"""The call of a function over a window: the call itself, and the words in the brackets."""


@dataclass(frozen=True, slots=True)
class Constant:
    value: Any
    type: HiveType
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ColumnRef:
    """The dotted parts of a column's name in lower case."""

    parts: tuple[str, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Call:
    """An operator or a function in upper case: ``AND``, ``=``, ``BETWEEN``, ``IS NULL``, ``CASE``,
    ``SUBSTR``.

    CASE has the pairs of its branches and then ELSE's value (NULL where there is none).
    """

    name: str
    arguments: tuple[Condition, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Cast:
    argument: Condition
    type: HiveType
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Unread:
    """Words that were not understood."""

    span: Span = field(compare=False, repr=False)


Condition = Constant | ColumnRef | Call | Cast | Unread


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionCondition:
    """A condition over partition columns alone that is true for every partition with a row the
    statement needs.

    ``sql``: the user's words for it as Spark SQL, the columns without qualifiers. ``tomorrow``:
    where they speak of today, the same a day later: midnight may come before the statement reads
    its rows.
    """

    sql: str
    tree: Condition
    tomorrow: str | None = None

    @property
    def whenever(self) -> str:
        """Spark SQL that is true where the condition is, today or tomorrow."""
        return self.sql if self.tomorrow is None else f"({self.sql}) OR ({self.tomorrow})"

    def __str__(self) -> str:
        return self.sql


def conjuncts(condition: Condition) -> list[Condition]:
    """The parts of an AND, and of those inside it."""
    parts: list[Condition] = []
    rest = [condition]
    while rest:
        part = rest.pop()
        if isinstance(part, Call) and part.name == "AND":
            rest += reversed(part.arguments)
        else:
            parts.append(part)
    return parts


def with_arguments(tree: Condition, change: Callable[[Condition], Condition]) -> Condition:
    """The tree with each of its arguments changed."""
    match tree:
        case Call(arguments=arguments):
            return replace(tree, arguments=tuple(map(change, arguments)))
        case Cast(argument=argument):
            return replace(tree, argument=change(argument))
    return tree


def parts_of(condition: Condition) -> Iterator[Condition]:
    """It and all that is in it."""
    rest = [condition]
    while rest:
        part = rest.pop()
        yield part
        rest += reversed(_arguments(part))


BRANCHES = frozenset(("CASE", "IF", "COALESCE", "NVL", "IFNULL", "NVL2", "NULLIF"))
"""What computes some of its operands for some rows alone."""


def constants_in(condition: Condition) -> Iterator[Condition]:
    """The largest parts that are the same for every row and are computed for all of them: no mere
    literals, and nothing inside of a branch that is not constant as a whole.
    """
    rest = [condition]
    while rest:
        part = rest.pop()
        if isinstance(part, ColumnRef | Constant | Unread):
            continue
        if not any(isinstance(inner, ColumnRef | Unread) for inner in parts_of(part)):
            yield part
        elif not isinstance(part, Call) or part.name not in BRANCHES:
            rest += reversed(_arguments(part))


def is_higher(condition: Condition, levels: int) -> bool:
    """Whether the tree has more levels; found without recursion."""
    level = [condition]
    for _ in range(levels):
        level = [argument for one in level for argument in _arguments(one)]
    return bool(level)


def _arguments(condition: Condition) -> tuple[Condition, ...]:
    match condition:
        case Call(_, arguments):
            return arguments
        case Cast(argument):
            return (argument,)
    return ()


# ---- literals
#
# Literals as their own values, without an engine, as Spark reads them.
#
# Only plain literals are read here, of which there is one agreed reading. Everything else is
# ``NotHere`` and Spark evaluates it.


Literal = None | bool | int | float | Decimal | str | bytes | datetime.date | datetime.datetime

_NUMBER = pattern(
    r"([+-]?)\s*(\d+(?:\.\d*)?|\.\d+)([eE][+-]?\d+)?(BD|[LSYDF])?", re.IGNORECASE | re.ASCII
)
_TYPED = pattern(r"(DATE|TIMESTAMP)\s*('[^']*'|\"[^\"]*\")", re.IGNORECASE | re.ASCII)
_BYTES = pattern(r"unhex\('((?:[0-9a-f]{2})*)'\)")
_NOT_FINITE = pattern(r"CAST\('(NaN|-?Infinity)' AS DOUBLE\)")
_UNICODE = pattern(r"u([0-9A-Fa-f]{4})")
_ESCAPES = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "b": "\b",
    "0": "\0",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "Z": "\x1a",
}
_SUFFIX_BITS = {"Y": 8, "S": 16, "L": 64}


def parse_literal(text: str, *, in_rows: bool = True) -> Literal:
    """The literal's own value, also of the calls that stand for values without a literal
    (parser.parameters). NotHere for anything else.
    """
    literal = literal_of(text)
    return writable(literal) if in_rows else literal


def literal_of(text: str) -> Literal:
    word = text.strip()
    match word.upper():
        case "NULL":
            return None
        case "TRUE":
            return True
        case "FALSE":
            return False
    if word[:1] in "'\"" and word:
        return _string(word)
    if typed := _TYPED.fullmatch(word):
        return _typed(typed[1].upper(), typed[2][1:-1])
    if number := _NUMBER.fullmatch(word):
        return _number(number)
    if given := _BYTES.fullmatch(word):
        return bytes.fromhex(given[1])
    if given := _NOT_FINITE.fullmatch(word):
        return float(given[1])
    raise NotHere(word)


def _string(word: str) -> str:
    quote, body = word[0], word[1:-1]
    if len(word) < 2 or word[-1] != quote:
        raise NotHere(word)
    out: list[str] = []
    at = 0
    while at < len(body):
        mark = body[at]
        if mark == quote:
            raise NotHere(word)
        if mark == "\\":
            at += 1
            escaped = body[at : at + 1]
            if (code := _UNICODE.match(body, at)) and not 0xD800 <= int(code[1], 16) <= 0xDFFF:
                out.append(chr(int(code[1], 16)))
                at = code.end()
                continue
            octal = escaped == "0" and body[at + 1 : at + 2] in tuple("0123456789")
            if escaped not in _ESCAPES or octal or not escaped:
                raise NotHere(word)
            mark = _ESCAPES[escaped]
        out.append(mark)
        at += 1
    return "".join(out)


def _typed(kind: str, text: str) -> datetime.date | datetime.datetime:
    """DATE '..' or TIMESTAMP '..'; Spark reads the odd ones, or refuses them."""
    if not DATE.fullmatch(text) if kind == "DATE" else not TIMESTAMP.fullmatch(text):
        raise NotHere(text)
    value = text_to_date(text) if kind == "DATE" else text_to_timestamp(text)
    if isinstance(value, Lossy):
        raise NotHere(text)
    return value


def _number(match: re.Match[str]) -> int | float | Decimal:
    """A value of Spark's type of the literal.

    DOUBLE with an exponent, DECIMAL with a point or where no BIGINT holds it.
    """
    sign, digits, exponent, suffix = match[1], match[2], match[3], (match[4] or "").upper()
    text = ("-" if sign == "-" else "") + digits + (exponent or "")
    if suffix == "F":
        raise NotHere(text)
    if suffix == "D" or (exponent and not suffix):
        return _finite(float(text))
    if suffix == "BD" or (not suffix and "." in digits):
        return _decimal_literal(text)
    if exponent or "." in digits:
        raise NotHere(text)
    value = int(text)
    bits = _SUFFIX_BITS.get(suffix, 64)
    if -(1 << bits - 1) <= value < 1 << bits - 1:
        return value
    if suffix:
        raise NotHere(text)
    return _decimal_literal(text)


def _finite(value: float) -> float:
    """Spark refuses literals that no DOUBLE holds, as Hive does."""
    if math.isinf(value):
        raise NotHere(str(value))
    return value


def _decimal_literal(text: str) -> Decimal:
    """Spark refuses those of more than 38 digits; no decimal zero has a sign."""
    value = Decimal(text)
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    if max(len(digits), len(digits) + exponent, -exponent) > MAX_DECIMAL_PRECISION:
        raise NotHere(text)
    return value or value.copy_abs()


# ---- days and moments from text and from each other, as far as every reader agrees on them


TRIMMED = "".join(map(chr, [*range(0x21), 0x7F]))
"""What Spark takes for blanks around a value (UTF8String.trimAll)."""

DATE = pattern(r"(\d{4})-(\d{1,2})-(\d{1,2})", re.ASCII)
TIMESTAMP = pattern(
    r"(\d{4}-\d{1,2}-\d{1,2})[ T](\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.(\d{1,9}))?", re.ASCII
)
_BEGINS_AS_DATE = pattern(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?", re.ASCII | re.DOTALL)
_ODD_YEAR = pattern(r"0000|[+-]|\d{5}", re.ASCII)
_NAMED_DAYS = ("epoch", "now", "today", "tomorrow", "yesterday")


def to_date(literal: Any) -> Any:
    match literal:
        case datetime.datetime():
            return literal.date()
        case datetime.date():
            return literal
        case str():
            return text_to_date(literal.strip(TRIMMED))
    raise NotHere(repr(literal))


def text_to_date(text: str) -> datetime.date | Lossy:
    """A year or a month stands for its first day."""
    if _ODD_YEAR.match(text) or text.strip().lower().startswith(_NAMED_DAYS):
        raise NotHere(text)
    if not (match := _BEGINS_AS_DATE.fullmatch(text)):
        return NULL
    try:
        return datetime.date(int(match[1]), int(match[2] or 1), int(match[3] or 1))
    except ValueError:
        return NULL


def to_timestamp(literal: Any) -> Any:
    match literal:
        case datetime.datetime():
            return literal
        case datetime.date():
            return datetime.datetime.combine(literal, datetime.time())
        case str():
            return text_to_timestamp(literal.strip(TRIMMED))
    raise NotHere(repr(literal))


def text_to_timestamp(text: str) -> datetime.datetime | Lossy:
    """A day, or a day and a time to the second at least.

    Of what has other digits in it Spark knows more forms.
    """
    match = TIMESTAMP.fullmatch(text)
    if not match and not DATE.fullmatch(text):
        if any("0" <= mark <= "9" for mark in text):
            raise NotHere(text)
        return _no_timestamp(text)
    day = text_to_date(match[1] if match else text)
    if isinstance(day, Lossy):
        return day
    if not match:
        return datetime.datetime.combine(day, datetime.time())
    try:
        clock = datetime.time(
            int(match[2]), int(match[3]), int(match[4]), _microseconds(match[5] or "")
        )
    except ValueError:
        return NULL
    return datetime.datetime.combine(day, clock)


def _no_timestamp(text: str) -> Lossy:
    if text.strip().lower().startswith(_NAMED_DAYS):
        raise NotHere(text)
    return NULL


def _microseconds(fraction: str) -> int:
    return int(fraction[:6].ljust(6, "0"))


def writable(value: Any) -> Any:
    if isinstance(value, datetime.date):
        if (value.year, value.month, value.day) < (1582, 10, 15):
            # the calendars of the readers differ there
            raise NotHere("before the Gregorian calendar")
        if isinstance(value, datetime.datetime) and value.year < 1970 and value.microsecond:
            raise NotHere(str(value))  # only ORC's Java writer stores such a fraction right
    return value
