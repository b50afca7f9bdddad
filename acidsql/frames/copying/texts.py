"""Texts as values of a column's type: what COPY INTO makes of the cells of a CSV file. Each value
is what the text says, whole, or there is none: nothing is rounded, cut or taken for another.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from acidsql.catalog.arrow_types import arrow_type
from acidsql.catalog.types import CharType, DecimalType, HiveType, PrimitiveType, VarcharType
from acidsql.expressions.values import bits_of
from acidsql.frames.fitting import MisfitError, fitted

_TRUE = pa.array(["true", "t", "yes", "y", "1"])
_FALSE = pa.array(["false", "f", "no", "n", "0"])
_HEXADECIMAL = "^[+-]?0[xX]"
_PLUS = r"^\+([0-9.])"


def is_text(kind: pa.DataType) -> bool:
    return kind in (pa.string(), pa.large_string(), pa.string_view())


def can_be_text(hive_type: HiveType) -> bool:
    """Whether a text can say a value of the type: of all but nested ones."""
    return isinstance(hive_type, PrimitiveType | DecimalType | CharType | VarcharType)


def from_texts(texts: pa.Array, hive_type: HiveType) -> pa.Array:
    """The values, in the Arrow type of a type that ``can_be_text``. MisfitError for the first text
    that says none.
    """
    if isinstance(hive_type, CharType | VarcharType) or hive_type == PrimitiveType("string"):
        return fitted(texts, hive_type)
    if hive_type == PrimitiveType("binary"):
        return texts.cast(pa.binary())
    trimmed = pc.utf8_trim_whitespace(texts.cast(pa.string()))
    if hive_type == PrimitiveType("boolean"):
        return _truths(trimmed, texts)
    if bits_of(hive_type) or _is_number(hive_type):
        trimmed = _number_texts(trimmed, texts)
    values = _cast(trimmed, arrow_type(hive_type), texts)
    if pa.types.is_floating(values.type):
        _refuse_infinite(values, texts)
    return fitted(values, hive_type)


def _is_number(hive_type: HiveType) -> bool:
    return isinstance(hive_type, DecimalType) or hive_type in (
        PrimitiveType("float"),
        PrimitiveType("double"),
    )


def _truths(words: pa.Array, texts: pa.Array) -> pa.Array:
    lower = pc.utf8_lower(words)
    true = pc.is_in(lower, _TRUE)
    _refuse_first(pc.and_(pc.is_valid(lower), pc.invert(_either(true, lower))), texts)
    return pc.if_else(pc.is_null(lower), pa.scalar(None, pa.bool_()), true)


def _either(true: pa.Array, words: pa.Array) -> pa.Array:
    return pc.or_(true, pc.is_in(words, _FALSE))


def _number_texts(trimmed: pa.Array, texts: pa.Array) -> pa.Array:
    """Without a leading plus, which Arrow does not know; hexadecimal digits, which it knows, are
    none of SQL's.
    """
    _refuse_first(pc.match_substring_regex(trimmed, _HEXADECIMAL), texts)
    if not pc.any(pc.starts_with(trimmed, "+")).as_py():
        return trimmed
    return pc.replace_substring_regex(trimmed, _PLUS, r"\1")


def _refuse_infinite(values: pa.Array, texts: pa.Array) -> None:
    """A number that is too large is not infinite."""
    infinite = pc.is_inf(values)
    if pc.any(infinite).as_py():
        named = pc.match_substring(texts, "inf", ignore_case=True)
        _refuse_first(pc.and_(infinite, pc.invert(named)), texts)


def _cast(texts: pa.Array, kind: pa.DataType, given: pa.Array) -> pa.Array:
    try:
        return texts.cast(kind)
    except pa.ArrowInvalid:
        good, bad = 0, len(texts)
        while bad - good > 1:
            middle = (good + bad) // 2
            try:
                texts.slice(good, middle - good).cast(kind)
            except pa.ArrowInvalid:
                bad = middle
            else:
                good = middle
        raise MisfitError(good, given[good]) from None


def _refuse_first(misfits: pa.Array, texts: pa.Array) -> None:
    index = pc.index(misfits, True).as_py()
    if index >= 0:
        raise MisfitError(index, texts[index])
