"""Which columns of a frame are which of a table, and its values as these take them: each must come
back from there as it was.

An integer of 64 bits goes to an INT if it is small enough, a date with a time of day 00:00 to a
DATE, 0.5 to a FLOAT; 0.1 does not. What is of another kind, text for a number, is refused whatever
its values are.
"""

from __future__ import annotations

import datetime
import difflib
from collections.abc import Callable, Iterable, Sequence
from enum import Enum

import pyarrow as pa
import pyarrow.compute as pc

from acidsql.catalog.model import Column, Table
from acidsql.catalog.types import (
    ArrayType,
    CharType,
    DecimalType,
    HiveType,
    MapType,
    PrimitiveType,
    StructType,
    VarcharType,
    arrow_type,
)
from acidsql.errors import BindError, ColumnNotFoundError
from acidsql.frames.frame_types import is_list, plain_type
from acidsql.storage.stored import without_offset
from acidsql.utf8 import check_text

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


# ---- which columns are which
#
# Which columns of a frame are which of a table: by name, whatever the case of its letters.


def by_lower_name(names: Iterable[str]) -> dict[str, int]:
    """The ordinals of the columns by their names in lower case. BindError for a name that comes
    twice, or that no column can have.
    """
    ordinals: dict[str, int] = {}
    spelled: dict[str, str] = {}
    for ordinal, name in enumerate(names):
        key = name.lower()
        if not name or "`" in name or not name.isprintable():
            raise BindError(f"a column of the frame cannot be called {name!r}")
        if key in ordinals:
            raise BindError(
                f'the frame has two columns of one name: "{spelled[key]}" and "{name}"',
                hint="Case makes no difference to SQL: rename one of them.",
            )
        ordinals[key], spelled[key] = ordinal, name
    return ordinals


def table_columns(table: Table, named: Sequence[str]) -> tuple[Column, ...]:
    """The columns of a table that were named. ColumnNotFoundError; BindError for one that is named
    twice, or for none.
    """
    known = {c.name: c for c in (*table.columns, *table.partition_columns)}
    for name in named:
        check_text(name, of="the name of a column")
    keys = [name.lower() for name in named]
    if unknown := [name for name in keys if name not in known]:
        raise ColumnNotFoundError(
            f"table {table.name} has no column {_quoted(unknown)}",
            hint=_did_you_mean(unknown, known) or f"It has {', '.join(known)}.",
        )
    if not keys or len(set(keys)) < len(keys):
        raise BindError("columns are named once each, and one at least")
    return tuple(known[key] for key in keys)


def check_columns(
    table: Table,
    wanted: Sequence[Column],
    given: Iterable[str],
    *,
    index: Sequence[str] = (),
    extra: bool = False,
) -> None:
    """Refuses a frame that has not the ``wanted`` columns of the table, and no other ones unless
    ``extra`` ones may be there. BindError, which lists them.

    given: the names in the frame, in lower case. index: those in a pandas frame's index.
    """
    known = {c.name for c in wanted}
    given = list(given)
    missing = [c.name for c in wanted if c.name not in given]
    others = [] if extra else [name for name in given if name not in known]
    if not missing and not others:
        return
    facts = []
    if missing:
        facts.append(f"it has no {_quoted(missing)}")
    if others:
        facts.append(f"the table has no {_quoted(others)}")
    raise ColumnNotFoundError(
        f"the columns of the frame are not those of table {table.name}: {', and '.join(facts)}",
        hint=_hint(table, missing, others, given, index),
    )


def _hint(
    table: Table,
    missing: Sequence[str],
    others: Sequence[str],
    given: Sequence[str],
    index: Sequence[str],
) -> str:
    if indexed := [name for name in index if name.lower() in missing]:
        return f"{_quoted(indexed)} is the frame's index: reset_index() makes a column of it."
    known = [c.name for c in (*table.columns, *table.partition_columns)]
    near = _did_you_mean(others, missing or known) or (
        _did_you_mean(missing, given) if missing else None
    )
    if near is not None:
        return near
    if missing and not others:
        return "Give append(.., columns=[..]) for the others to be DEFAULT or NULL."
    return f"The table has {', '.join(known)}."


def _did_you_mean(names: Sequence[str], known: Iterable[str]) -> str | None:
    """A hint that names the known ones most like them."""
    known = list(known)
    near = [
        f'"{close[0]}" for "{name}"'
        for name in names
        if (close := difflib.get_close_matches(name, known, n=1))
    ]
    return f"did you mean {', '.join(near)}?" if near else None


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)
