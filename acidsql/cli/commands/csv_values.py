"""The cells of CSV as values of a table's columns: what an INSERT of the same literals stores, but
a cell that its column cannot hold is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from acidsql.arrow_arrays import arrow_array, arrow_scalar, filled
from acidsql.catalog.arrow_types import arrow_type
from acidsql.catalog.types import CharType, DecimalType, HiveType, PrimitiveType, VarcharType
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.plain import Lossy
from acidsql.expressions.stores import store

if TYPE_CHECKING:
    import pyarrow as pa

_DAY_AND_TIME = r"[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"
_FLOATING = r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?"
_QUICK = {
    "tinyint": "-?[0-9]{1,2}",
    "smallint": "-?[0-9]{1,4}",
    "int": "-?[0-9]{1,9}",
    "bigint": "-?[0-9]{1,18}",
    "float": _FLOATING,
    "double": _FLOATING,
    "timestamp": f"(19[7-9]|[2-9][0-9]{{2}})[0-9]-{_DAY_AND_TIME}",
}
"""Texts that Arrow takes for the same value as Spark."""


def is_text(hive_type: HiveType) -> bool:
    """Whether a cell is the value as it stands."""
    return str(hive_type) in ("string", "binary") or isinstance(hive_type, CharType | VarcharType)


def has_cells(hive_type: HiveType) -> bool:
    """Whether a cell of CSV can be a value of the type at all; arrays, maps and structs have no
    text.
    """
    return isinstance(hive_type, CharType | VarcharType | DecimalType | PrimitiveType)


def values_of(cells: pa.Array, hive_type: HiveType) -> pa.Array:
    """The cells, text or NULL, in the Arrow type of ``hive_type``. MisfitError from
    ``frames.fitting`` for the first cell that it cannot hold.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    from acidsql.frames.fitting import fitted

    if str(hive_type) == "binary":
        return cells.cast(pa.binary())
    if is_text(hive_type):
        return fitted(cells, hive_type)
    quick = _quick_form(hive_type)
    if quick is None:
        return _one_by_one(cells, hive_type)
    is_plain = filled(pc.match_substring_regex(cells, f"^{quick}$"), True)
    nothing = arrow_scalar(None, pa.string())
    try:
        values = pc.if_else(is_plain, cells, nothing).cast(arrow_type(hive_type))
    except pa.ArrowInvalid:  # a day that no month has
        return _one_by_one(cells, hive_type)
    if pc.all(is_plain).as_py() is not False:
        return values
    others = _one_by_one(pc.if_else(is_plain, nothing, cells), hive_type)
    return pc.if_else(is_plain, values, others)


def _quick_form(hive_type: HiveType) -> str | None:
    match hive_type:
        case DecimalType(precision, scale) if precision > scale:
            fraction = rf"(\.[0-9]{{1,{scale}}})?" if scale else ""
            return f"-?[0-9]{{1,{precision - scale}}}{fraction}"
    return _QUICK.get(str(hive_type))


def _one_by_one(cells: pa.Array, hive_type: HiveType) -> pa.Array:
    """Each different text once."""
    from acidsql.frames.fitting import MisfitError

    encoded = cells.dictionary_encode()
    values = []
    for number, text in enumerate(encoded.dictionary.to_pylist()):
        value = _value(text, hive_type)
        if isinstance(value, Lossy):
            index = encoded.indices.index(arrow_scalar(number, encoded.indices.type)).as_py()
            raise MisfitError(index, text)
        values.append(value)
    return arrow_array(values, arrow_type(hive_type)).take(encoded.indices)


def _value(text: str, hive_type: HiveType) -> Any:
    try:
        return store(text, hive_type)
    except NotHere:  # a form that only Spark reads, such as a time with a zone
        return Lossy(None)
