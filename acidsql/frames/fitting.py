"""Values of a frame as a column of a table takes them: each must come back from there as it was.

An integer of 64 bits goes to an INT if it is small enough, a date with a time of day 00:00 to a
DATE, 0.5 to a FLOAT; 0.1 does not. What is of another kind, text for a number, is refused whatever
its values are.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from enum import Enum

import pyarrow as pa
import pyarrow.compute as pc

from acidsql.catalog.arrow_types import arrow_type
from acidsql.catalog.types import (
    ArrayType,
    CharType,
    DecimalType,
    HiveType,
    MapType,
    PrimitiveType,
    StructType,
    VarcharType,
)
from acidsql.frames.frame_types import is_list, plain_type
from acidsql.storage.stored import without_offset

_LONGEST = 60
_FIRST_DAY, _LAST_DAY = datetime.date(1, 1, 1), datetime.date(9999, 12, 31)
_INTEGER_DIGITS = 20


class _Kind(Enum):
    NUMBER = "a number"
    TEXT = "text"
    BYTES = "binary"
    TRUTH = "true or false"
    TIME = "a date or a time"
    OTHER = "nested"


class MisfitError(Exception):
    """The first value that does not fit. ``index``: of its row in the array."""

    def __init__(self, index: int, value: object) -> None:
        super().__init__(index)
        self.index = index
        text = str(value)
        self.shown = text if len(text) <= _LONGEST else text[:_LONGEST] + ".."


def may_fit(kind: pa.DataType, hive_type: HiveType) -> bool:
    """Whether values of Arrow's type ``kind`` can be those of a column at all."""
    kind = plain_type(kind)
    if pa.types.is_null(kind):
        return True
    match hive_type:
        case ArrayType(element):
            return is_list(kind) and may_fit(kind.value_type, element)
        case MapType(key, value):
            return (
                pa.types.is_map(kind)
                and may_fit(kind.key_type, key)
                and may_fit(kind.item_type, value)
            )
        case StructType(fields):
            given = {f.name.lower(): f.type for f in kind} if pa.types.is_struct(kind) else {}
            return len(given) == len(fields) == kind.num_fields and all(
                f.name in given and may_fit(given[f.name], f.type) for f in fields
            )
        case _:
            own = _kind_of(arrow_type(hive_type))
            return own is _kind_of(kind) and getattr(kind, "tz", None) is None


def _kind_of(kind: pa.DataType) -> _Kind:
    if pa.types.is_boolean(kind):
        return _Kind.TRUTH
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return _Kind.NUMBER
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view():
        return _Kind.TEXT
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return _Kind.TIME
    if kind in (pa.binary(), pa.large_binary(), pa.binary_view()) or (
        pa.types.is_fixed_size_binary(kind)
    ):
        return _Kind.BYTES
    return _Kind.OTHER


def fitted(array: pa.Array, hive_type: HiveType) -> pa.Array:
    """The values in the Arrow type of ``hive_type``, which they ``may_fit``. MisfitError."""
    array = _plain(array)
    if pa.types.is_null(array.type):
        return pa.nulls(len(array), arrow_type(hive_type))
    match hive_type:
        case ArrayType(element):
            return _list(array, hive_type, element)
        case MapType(key, value):
            return _map(without_offset(array), hive_type, key, value)
        case StructType():
            return _struct(array, hive_type)
        case CharType(length) | VarcharType(length):
            texts = array.cast(pa.string())
            wide = pc.utf8_rtrim(texts, " ") if isinstance(hive_type, CharType) else texts
            _check(pc.less_equal(pc.utf8_length(wide), length), array)
            return texts
        case PrimitiveType() | DecimalType():
            return _in_range(_cast(array, arrow_type(hive_type)))


def _plain(array: pa.Array) -> pa.Array:
    while True:
        kind = array.type
        if pa.types.is_dictionary(kind):
            array = _decoded(array)
        elif pa.types.is_run_end_encoded(kind):
            array = pc.run_end_decode(array)
        elif isinstance(kind, pa.BaseExtensionType):
            array = array.storage
        elif kind == pa.float16():
            array = array.cast(pa.float32())  # Arrow compares no halves
        else:
            return array


_OF_VIEWS = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
"""Types of dictionaries that Arrow does not decode, such as polars' categories, and what does as
well.
"""


def _decoded(array: pa.DictionaryArray) -> pa.Array:
    values = array.dictionary
    if values.type in _OF_VIEWS:
        values = values.cast(_OF_VIEWS[values.type])
    return pa.DictionaryArray.from_arrays(array.indices, values).dictionary_decode()


def _cast(array: pa.Array, kind: pa.DataType) -> pa.Array:
    if array.type == kind:
        return array

    def convert(part: pa.Array) -> pa.Array:
        return _stepping_stone(part, kind).cast(kind)

    try:
        converted = convert(array)
    except pa.ArrowInvalid:
        index = _first_failing(array, convert)
        raise MisfitError(index, array[index]) from None
    if _kind_of(kind) in (_Kind.NUMBER, _Kind.TIME):
        back = _stepping_stone(converted, array.type).cast(array.type, safe=False)
        _check(_same(back, array), array)
    return converted


def _stepping_stone(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """The array in a type that Arrow casts to ``kind`` by its values."""
    if pa.types.is_integer(array.type) and pa.types.is_decimal(kind):
        # Arrow wants room for the largest number of the type, whichever there are
        return array.cast(pa.decimal128(_INTEGER_DIGITS, 0))
    return array.cast(pa.timestamp("ms")) if pa.types.is_date64(array.type) else array


def _same(back: pa.Array, given: pa.Array) -> pa.Array:
    same = pc.equal(back, given)
    if pa.types.is_floating(given.type):
        same = pc.or_(same, pc.and_(pc.is_nan(back), pc.is_nan(given)))
    return same


def _in_range(array: pa.Array) -> pa.Array:
    """Dates and timestamps of the years that Hive has: 1 to 9999."""
    if pa.types.is_date32(array.type):
        first, last = pa.scalar(_FIRST_DAY), pa.scalar(_LAST_DAY)
    elif pa.types.is_timestamp(array.type):
        midnight, end = datetime.time(), datetime.time.max
        first = pa.scalar(datetime.datetime.combine(_FIRST_DAY, midnight), array.type)
        last = pa.scalar(datetime.datetime.combine(_LAST_DAY, end), array.type)
    else:
        return array
    _check(pc.and_(pc.greater_equal(array, first), pc.less_equal(array, last)), array)
    return array


def _check(fits: pa.Array, values: pa.Array) -> None:
    """MisfitError for the first value that does not; NULL does."""
    index = pc.index(fits, False).as_py()
    if index >= 0:
        value = values[index]
        # Python's own times end with the year 9999
        raise MisfitError(
            index, value.cast(pa.string()) if _kind_of(values.type) is _Kind.TIME else value
        )


def _first_failing(array: pa.Array, convert: Callable[[pa.Array], pa.Array]) -> int:
    """The index of the first value that fails; one does."""
    good, bad = 0, len(array)
    while bad - good > 1:
        middle = (good + bad) // 2
        try:
            convert(array.slice(good, middle - good))
        except pa.ArrowInvalid:
            bad = middle
        else:
            good = middle
    return good


# ---- nested values


def _list(array: pa.Array, hive_type: ArrayType, element: HiveType) -> pa.Array:
    lists = without_offset(array.cast(pa.list_(array.type.value_type)))
    values = _inside(lists, lists.values, element)
    mask = lists.is_null() if lists.null_count else None
    return pa.ListArray.from_arrays(lists.offsets, values, type=arrow_type(hive_type), mask=mask)


def _map(array: pa.Array, hive_type: MapType, key: HiveType, value: HiveType) -> pa.Array:
    keys = _inside(array, array.keys, key)
    items = _inside(array, array.items, value)
    mask = array.is_null() if array.null_count else None
    kind = arrow_type(hive_type)
    return pa.MapArray.from_arrays(array.offsets, keys, items, type=kind, mask=mask)


def _inside(outer: pa.Array, values: pa.Array, hive_type: HiveType) -> pa.Array:
    """The fitted values of lists, whose MisfitError is told by the row of ``outer`` it is in."""
    try:
        return fitted(values, hive_type)
    except MisfitError as misfit:
        ends = pc.greater(outer.offsets.slice(1), misfit.index)
        misfit.index = pc.index(ends, True).as_py()
        raise


def _struct(array: pa.Array, hive_type: StructType) -> pa.Array:
    given = {field.name.lower(): number for number, field in enumerate(array.type)}
    children = array.flatten()
    fields = list(arrow_type(hive_type))
    values = [fitted(children[given[f.name]], f.type) for f in hive_type.fields]
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(values, fields=fields, mask=mask)
