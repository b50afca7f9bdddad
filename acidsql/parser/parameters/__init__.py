"""Markers replaced by the literals of values, so that a value can never become anything but a
value.

A sequence fills ``?`` one after the other, a mapping fills ``:name``. Only with a mapping are names
looked for, because a colon means much else: a name is a word directly behind a colon, and there is
neither an operand nor another colon before it. So ``a::int``, ``col:field``, ``f(x):y``,
``arr[1:2]`` and ``STRUCT<a:INT>`` have none; a blank behind a word ends it (``THEN :x``).
"""

from __future__ import annotations

import datetime
import math
import numbers
import operator
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from acidsql.errors import Error, ProgrammingError, Span
from acidsql.lazy import dataclass
from acidsql.parser.tokens import Token, TokenKind, scan
from acidsql.utf8 import check_text

# ---- literals
#
# Values as SQL literals.
#
# A literal must survive every reader of the text: Hive's and Spark's string escapes (backslash),
# and ``${..}`` substitution, which reaches into strings. So quotes, backslashes, and a dollar sign
# before a brace are written as escapes.


MAX_DIGITS = 38
_ESCAPES = str.maketrans({"\\": "\\\\", "'": "\\'"})
_DOUBLE_BYTES = 8
_UNITS_OF_DAYS = ("[Y]", "[M]", "[W]", "[D]")


@dataclass(frozen=True, slots=True)
class Written:
    """A value whose SQL its giver has written, as of an array: ``text`` is one expression."""

    text: str


def literal(value: Any) -> str:  # noqa: C901  (a flat match over the kinds of values)
    """The SQL literal of a Python value. ProgrammingError for a type that has none."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case Written():
            return value.text
        case str():
            return _string(value)
        case bytes() | bytearray() | memoryview():
            return f"unhex('{bytes(value).hex()}')"
        case Decimal():
            return _decimal(value)
        case datetime.datetime():
            return _timestamp(value)
        case datetime.date():
            return f"DATE '{value.year:04}-{value.month:02}-{value.day:02}'"
        case int():
            return _integer(operator.index(value))
        case float():
            return _float(float(value))
        case _ if (numpy := sys.modules.get("numpy")) and isinstance(value, numpy.generic):
            return literal(_of_numpy(value))
        case numbers.Integral():
            return _integer(operator.index(value))
        case _ if type(value).__name__ == "NAType":  # pandas.NA
            return "NULL"
    raise _no_literal(value)


def _no_literal(value: Any) -> ProgrammingError:
    return ProgrammingError(f"a value of type {type(value).__name__} has no SQL literal")


def _of_numpy(value: Any) -> Any:
    """Python's value of the same meaning as a scalar of NumPy's. ProgrammingError if there is
    none.
    """
    kind, size = value.dtype.kind, value.dtype.itemsize
    if kind in "biu" or (kind == "f" and size <= _DOUBLE_BYTES):
        return value.item()
    if kind != "M":
        raise _no_literal(value)
    if value != value:
        return None
    year = int(value.astype("datetime64[Y]").astype(int)) + 1970
    if not datetime.MINYEAR <= year <= datetime.MAXYEAR:
        raise ProgrammingError(f"the year {year} has no SQL literal")
    if value.dtype.name.removeprefix("datetime64") in _UNITS_OF_DAYS:
        return value.astype("datetime64[D]").item()
    if (exact := value.astype("datetime64[us]")) != value:
        raise _too_fine(value)
    return exact.item()


def _too_fine(value: Any) -> ProgrammingError:
    hint = "Round it, or give it as a text."
    return ProgrammingError(f"the timestamp {value} has more than microseconds", hint=hint)


def _string(value: str) -> str:
    check_text(value)
    return "'" + value.translate(_ESCAPES).replace("${", "\\u0024{") + "'"


def _integer(value: int) -> str:
    if len(str(abs(value))) > MAX_DIGITS:
        raise ProgrammingError(f"a number has more than {MAX_DIGITS} digits")
    return str(value)


def _float(value: float) -> str:
    if math.isfinite(value):
        return f"{value!r}D"
    name = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return f"CAST('{name}' AS DOUBLE)"


def _decimal(value: Decimal) -> str:
    if not value.is_finite():
        raise ProgrammingError(f"the decimal {value} has no SQL literal")
    written = f"{value:f}"
    if sum(mark.isdigit() for mark in written) > MAX_DIGITS + 1:
        raise ProgrammingError(f"a decimal has more than {MAX_DIGITS} digits")
    return f"{written}BD"


def _timestamp(value: datetime.datetime) -> str:
    """A value with a zone is converted to UTC, the zone that sessions run in; pandas' NaT is
    NULL.
    """
    if value != value:
        return "NULL"
    if getattr(value, "nanosecond", 0):  # of pandas' Timestamp
        raise _too_fine(value)
    if value.tzinfo is not None:
        value = value.astimezone(datetime.UTC)
    day = f"{value.year:04}-{value.month:02}-{value.day:02}"
    fraction = f".{value.microsecond:06}" if value.microsecond else ""
    return f"TIMESTAMP '{day} {value.hour:02}:{value.minute:02}:{value.second:02}{fraction}'"


# ----   init


__all__ = [
    "Marker",
    "Params",
    "Written",
    "bind_parameters",
    "bind_rows",
    "bound_span",
    "check_kind",
    "find_markers",
    "literal",
    "many_rows",
]

Params = Sequence[Any] | Mapping[str, Any]

MARKER = "?"
_SAFE_NEIGHBOURS = frozenset(" \t\r\n(),")
_OPERAND_ENDS = frozenset(":)]}")
_BRACKETS = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """A mark in a statement for which a value is given. ``name``: None for ``?``.  ``in_list``: it
    is an item of IN (..).
    """

    span: Span
    name: str | None
    in_list: bool

    @property
    def label(self) -> str:
        return MARKER if self.name is None else f":{self.name}"


def bind_parameters(text: str, params: Params) -> str:
    """``text`` with the literal of its value for each marker outside strings, names and comments.

    params: a sequence for ``?``, a mapping for ``:name``.  Values: None, bool, int, float, Decimal,
    str, bytes, date, datetime, scalars of NumPy's and pandas' of exactly such a value, and for
    an item of ``IN (..)`` a list or tuple of such.
    ProgrammingError when markers and values do not match or a value has no literal.
    """
    check_text(text)
    markers = find_markers(text, named=isinstance(params, Mapping))
    return _filled(text, Span(0, len(text)), markers, _values(text, markers, params))


def bound_span(text: str, params: Params, span: Span) -> Span:
    """Where a part of the text that cuts no marker stands in ``bind_parameters`` of it."""
    markers = find_markers(text, named=isinstance(params, Mapping))
    values = _values(text, markers, params)

    def bound(at: int) -> int:
        before = [marker for marker in markers if marker.span.end <= at]
        return len(_filled(text, Span(0, at), before, values[: len(before)]))

    return Span(bound(span.start), bound(span.end))


def bind_rows(text: str, row: Span, batch: Sequence[Params]) -> str:
    """``text`` with its part ``row``, which holds every marker, once for each set of parameters.

    ProgrammingError as for ``bind_parameters``; it says which set.
    """
    rows = []
    markers: dict[bool, list[Marker]] = {}
    for number, params in enumerate(batch, 1):
        named = isinstance(params, Mapping)
        if named not in markers:
            markers[named] = find_markers(text, named=named)
        try:
            values = _values(text, markers[named], params)
            rows.append(_filled(text, row, markers[named], values))
        except ProgrammingError as error:
            error.message = f"row {number}: {error.message}"
            raise
    return text[: row.start] + ",".join(rows) + text[row.end :]


def many_rows(operation: str, batch: Sequence[Params]) -> str | None:
    """An INSERT of one row of markers as an INSERT of a row for each set; None for any other
    statement.
    """
    row = _row_of_markers(operation, named=any(isinstance(params, Mapping) for params in batch))
    return None if row is None else bind_rows(operation, row, batch)


def _row_of_markers(operation: str, *, named: bool) -> Span | None:
    """What follows VALUES in an INSERT with one row that holds every marker of the statement."""
    from acidsql.parser.parse import parse
    from acidsql.parser.statements import Insert, Values

    spans = [marker.span for marker in find_markers(operation, named=named)]
    try:
        statement = parse(_unnamed(operation, spans))
    except Error as error:
        raise error.at(operation) from None
    source = statement.source if isinstance(statement, Insert) else None
    if not isinstance(source, Values) or len(source.rows) != 1:
        return None
    row = Span(source.span.start + len("VALUES"), source.span.end)
    return row if all(row.start <= span.start < row.end for span in spans) else None


def _unnamed(operation: str, markers: Sequence[Span]) -> str:
    """The text with ``?`` for every marker, all else where it was: the grammar knows no
    ``:name``.
    """
    letters = list(operation)
    for span in markers:
        letters[span.start : span.end] = MARKER.ljust(span.end - span.start)
    return "".join(letters)


# -- markers


def find_markers(text: str, *, named: bool) -> list[Marker]:
    """Every ``?``; with ``named`` every ``:name`` too."""
    return list(_markers(scan(text).tokens, named=named))


def check_kind(params: object) -> None:
    """ProgrammingError for what is no sequence or mapping: a set has no order, a text
    is one value.
    """
    is_text = isinstance(params, str | bytes | bytearray | memoryview)
    if is_text or not (isinstance(params, Mapping) or _is_sequence(type(params))):
        raise ProgrammingError(
            f"parameters are a sequence or a mapping, not {type(params).__name__}",
            hint="A list or tuple fills ?, a dict fills :name; one value is [value].",
        )


def _is_sequence(kind: type) -> bool:
    """Whether it is one, or as good as one (NumPy's arrays); pandas' objects have keys."""
    indexed = hasattr(kind, "__getitem__") and hasattr(kind, "__len__")
    return issubclass(kind, Sequence) or (indexed and not hasattr(kind, "keys"))


def _markers(tokens: Sequence[Token], *, named: bool) -> Iterator[Marker]:
    opened: list[bool] = []
    for at, token in enumerate(tokens):
        if token.kind is not TokenKind.MARK:
            continue
        if token.text in _BRACKETS:
            opened.append(token.text == "(" and _follows_in(tokens, at))
        elif token.text in _BRACKETS.values():
            del opened[-1:]
        elif token.text == MARKER:
            yield _marker(tokens, at, at, in_list=opened[-1:] == [True])
        elif named and _is_named(tokens, at):
            yield _marker(tokens, at, at + 1, in_list=opened[-1:] == [True])


def _marker(tokens: Sequence[Token], first: int, last: int, *, in_list: bool) -> Marker:
    whole = (
        tokens[first - 1 : first] != []
        and tokens[first - 1].text in ("(", ",")
        and (last + 1 == len(tokens) or tokens[last + 1].text in (",", ")"))
    )
    return Marker(
        span=Span(tokens[first].start, tokens[last].end),
        name=tokens[last].text if last > first else None,
        in_list=in_list and whole,
    )


def _follows_in(tokens: Sequence[Token], at: int) -> bool:
    """Whether the bracket at ``at`` is that of ``IN (..)``, and not of ``x.in(..)``."""
    return at > 0 and tokens[at - 1].word == "IN" and not (at > 1 and tokens[at - 2].is_mark("."))


def _is_named(tokens: Sequence[Token], at: int) -> bool:
    """Whether the mark at ``at`` is the colon of ``:name``."""
    if not tokens[at].is_mark(":") or at + 1 == len(tokens):
        return False
    after = tokens[at + 1]
    is_name = after.kind is TokenKind.WORD and not after.text[0].isdigit()
    return is_name and after.start == tokens[at].end and not (at and _ends_operand(tokens, at - 1))


def _ends_operand(tokens: Sequence[Token], at: int) -> bool:
    """Whether a colon behind the token belongs to it. A word before a blank may be a keyword."""
    token = tokens[at]
    if token.kind is TokenKind.MARK:
        return token.text in _OPERAND_ENDS
    return token.kind is not TokenKind.WORD or token.end == tokens[at + 1].start


# -- values


def _values(text: str, markers: Sequence[Marker], params: Params) -> list[Any]:
    """The value of each marker."""
    check_kind(params)
    if isinstance(params, Mapping):
        return _named_values(text, markers, params)
    if len(markers) != len(params):
        raise _count_error(text, markers, len(params))
    return list(params)


def _named_values(text: str, markers: Sequence[Marker], params: Mapping[str, Any]) -> list[Any]:
    for marker in markers:
        if marker.name is None:
            raise ProgrammingError(
                'a mapping fills markers ":name"; a sequence fills "?"',
                hint="A statement has markers of one kind.",
                span=marker.span,
                source=text,
            )
        if marker.name not in params:
            names = ", ".join(map(str, params)) or "none"
            raise ProgrammingError(
                f'there is no value for "{marker.label}"',
                hint=f"The mapping has the names: {names}.",
                span=marker.span,
                source=text,
            )
    used = {marker.name for marker in markers}
    for name in params:
        if not isinstance(name, str):
            raise ProgrammingError(f"the name of a parameter is a str, not {type(name).__name__}")
        if name not in used:
            labels = ", ".join(dict.fromkeys(marker.label for marker in markers)) or "none"
            raise ProgrammingError(
                f'the statement has no marker ":{name}"',
                hint=(
                    f"Its markers: {labels}. A colon directly behind a name or a bracket makes"
                    " none."
                ),
                span=Span(0, len(text)),
                source=text,
            )
    return [params[marker.name] for marker in markers if marker.name is not None]


def _count_error(text: str, markers: Sequence[Marker], given: int) -> ProgrammingError:
    count = len(markers)
    named = [] if markers else find_markers(text, named=True)
    return ProgrammingError(
        f"the statement has {count} parameter marker{'' if count == 1 else 's'}, but {given} "
        f"value{' was' if given == 1 else 's were'} given",
        hint=f'"{named[0].label}" is filled from a mapping.' if named else None,
        span=markers[given].span if given < count else Span(0, len(text)),
        source=text,
    )


# -- text


def _filled(text: str, part: Span, markers: Sequence[Marker], values: Iterable[Any]) -> str:
    """``part`` of the text, in which the markers lie, with the values written in."""
    pieces = []
    at = part.start
    for number, (marker, value) in enumerate(zip(markers, values, strict=True), 1):
        written = _spaced(text, marker.span, _written(text, marker, number, value))
        pieces += [text[at : marker.span.start], written]
        at = marker.span.end
    return "".join([*pieces, text[at : part.end]])


def _written(text: str, marker: Marker, number: int, value: Any) -> str:
    """The value as SQL; its errors name the parameter and point at the marker."""
    try:
        return _list(value, marker) if isinstance(value, list | tuple) else literal(value)
    except ProgrammingError as error:
        label = f"parameter {number}" if marker.name is None else f'parameter ":{marker.name}"'
        error.message = f"{label}: {error.message}"
        error.span = marker.span
        error.source = text
        raise


def _list(values: Sequence[Any], marker: Marker) -> str:
    """The items of ``IN (..)``. There is no empty list: NOT IN of nothing is true of every row."""
    if not marker.in_list:
        hint = f"It can be an item of IN, as in IN ({marker.label})."
        raise ProgrammingError(f"a {type(values).__name__} is no value", hint=hint)
    if not values:
        hint = "Leave the condition out, or write FALSE for it."
        raise ProgrammingError(f"IN of an empty {type(values).__name__}", hint=hint)
    return ", ".join(literal(value) for value in values)


def _spaced(text: str, span: Span, written: str) -> str:
    """Keeps the literal apart from what it would merge with: ``a-?``, ``r?``, ``'x'?``."""
    before = text[span.start - 1 : span.start]
    after = text[span.end : span.end + 1]
    left = " " if before and before not in _SAFE_NEIGHBOURS else ""
    right = " " if after and after not in _SAFE_NEIGHBOURS else ""
    return left + written + right
