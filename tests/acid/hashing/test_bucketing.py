"""Bucket hashes: Hive's own numbers, and the vectorised code against a plain one over random
values.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.acid.bucketing import Version, bucket_hash, bucket_numbers
from acidsql.errors import NotSupportedError

EPOCH = datetime.datetime(1970, 1, 1)
BEYOND_ARROW = "9999-12-31T23:59:59.999999999Z"
"""Nanoseconds of that year fit no Arrow timestamp (nor a column of ours: the type is not one of
Hive 3).
"""


# Hive's numbers


SCALARS: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "date": pa.date32(),
    "binary": pa.binary(),
    "string": pa.string(),
    "timestamp": pa.timestamp("us"),
    "timestamp with local time zone": pa.timestamp("us", tz="UTC"),
}


def arguments(type_text: str) -> list[str]:
    """The types inside ``<..>``; no vector nests two types with a comma in one another on the first
    level but structs.
    """
    inner = type_text.partition("<")[2].removesuffix(">")
    found, depth = [""], 0
    for mark in inner:
        depth += (mark in "<(") - (mark in ">)")
        if mark == "," and not depth:
            found.append("")
        else:
            found[-1] += mark
    return found


def arrow_type(text: str) -> pa.DataType:
    if text in SCALARS:
        return SCALARS[text]
    if text.startswith(("char", "varchar")):
        return pa.string()
    if text.startswith("decimal"):
        return pa.decimal128(*map(int, text[8:-1].split(",")))
    inner = arguments(text)
    if text.startswith("array"):
        return pa.list_(arrow_type(inner[0]))
    if text.startswith("map"):
        return pa.map_(arrow_type(inner[0]), arrow_type(inner[1]))
    return pa.struct(
        [
            pa.field(name, arrow_type(of))
            for name, _, of in (field.partition(":") for field in inner)
        ]
    )


def nanoseconds(text: str) -> int:
    whole, _, fraction = text.replace("T", " ").removesuffix("Z").partition(".")
    past = datetime.datetime.fromisoformat(whole) - EPOCH
    return (past.days * 86400 + past.seconds) * 10**9 + int(fraction.ljust(9, "0"))


def python_value(value: Any, text: str) -> Any:
    """A vector's value as pyarrow wants it."""
    if value is None:
        return None
    inner = arguments(text)
    match text.partition("<")[0].partition("(")[0]:
        case "date":
            return datetime.date.fromisoformat(value)
        case "decimal":
            return Decimal(value)
        case "float" | "double":
            return float(value)
        case "binary":
            return bytes.fromhex(value)
        case "timestamp" | "timestamp with local time zone":
            return nanoseconds(value) // 1000
        case "array":
            return [python_value(v, inner[0]) for v in value]
        case "map":
            return [(python_value(k, inner[0]), python_value(v, inner[1])) for k, v in value]
        case "struct":
            return {
                name: python_value(value[name], of)
                for name, _, of in (field.partition(":") for field in inner)
            }
        case _:
            return value


def arrow_column(value: Any, text: str) -> pa.Array:
    """Nanoseconds where the value has some; Hive's other timestamps fit microseconds only."""
    if text.startswith("timestamp") and value is not None and nanoseconds(value) % 1000:
        return pa.array([nanoseconds(value)], pa.timestamp("ns", arrow_type(text).tz))
    return pa.array([python_value(value, text)], arrow_type(text))


@pytest.mark.parametrize("version", [1, 2])
def test_hashes_as_hive(shared: Path, version: Version) -> None:
    """Every hash and bucket number that Hive 3 and 4 computed, all types, several
    columns, NULLs.
    """
    cases = json.loads((shared / "vectors" / "bucket_hash.json").read_text(encoding="utf-8"))[
        "cases"
    ]
    for case in cases:
        if any(c["value"] == BEYOND_ARROW for c in case["columns"]):
            continue
        columns = [(arrow_column(c["value"], c["type"]), c["type"]) for c in case["columns"]]
        assert bucket_hash(columns, version).tolist() == [case[f"v{version}"]], case
        for count, bucket in case[f"bucket_v{version}"].items():
            assert bucket_numbers(columns, int(count), version).tolist() == [bucket], case


# Plain code


def wrap(number: int) -> int:
    return (number + 2**31) % 2**32 - 2**31


def murmur(data: bytes) -> int:
    """Murmur3.hash32 of Hive, one value at a time."""
    hashed = 104729

    def mix(block: int) -> int:
        block = block * 0xCC9E2D51 & 0xFFFFFFFF
        return (block << 15 | block >> 17) * 0x1B873593 & 0xFFFFFFFF

    whole = len(data) // 4 * 4
    for place in range(0, whole, 4):
        hashed ^= mix(int.from_bytes(data[place : place + 4], "little"))
        hashed = ((hashed << 13 | hashed >> 19) * 5 + 0xE6546B64) & 0xFFFFFFFF
    tail = 0
    for place, byte in enumerate(data[whole:]):
        tail ^= (byte - 256 if byte > 127 else byte) << 8 * place
    hashed ^= mix(tail & 0xFFFFFFFF) ^ len(data)
    hashed = (hashed ^ hashed >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    hashed = (hashed ^ hashed >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    return wrap(hashed ^ hashed >> 16)


def polynomial(items: list[int], first: int = 0) -> int:
    total = first
    for item in items:
        total = wrap(31 * total + item)
    return total


def signed(data: bytes) -> list[int]:
    return [b - 256 if b > 127 else b for b in data]


def stripped(value: Decimal) -> tuple[int, int]:
    """Unscaled value and scale without the zeros at the end of the fraction."""
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    unscaled, scale = int("".join(map(str, digits))) * (-1 if sign else 1), -exponent
    while scale > 0 and unscaled % 10 == 0:
        unscaled, scale = unscaled // 10, scale - 1
    return unscaled, scale


def decimal_1(value: Decimal) -> int:
    unscaled, scale = stripped(value)
    words = [abs(unscaled) >> shift & 0xFFFFFFFF for shift in (96, 64, 32, 0)]
    return wrap(31 * polynomial(words) * (-1 if unscaled < 0 else 1) + scale)


def decimal_2(value: Decimal) -> int:
    unscaled, _ = stripped(value)
    size = (unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8 + 1
    return murmur(unscaled.to_bytes(size, "big", signed=True))


def vint(number: int) -> bytes:
    if -112 <= number <= 127:
        return number.to_bytes(1, "big", signed=True)
    magnitude = ~number if number < 0 else number
    size = (magnitude.bit_length() + 7) // 8
    return ((-120 if number < 0 else -112) - size).to_bytes(
        1, "big", signed=True
    ) + magnitude.to_bytes(size, "big")


def timestamp_2(value: datetime.datetime) -> int:
    past = value - EPOCH
    seconds, nanos = past.days * 86400 + past.seconds, past.microseconds * 1000
    second_part = not 0 <= seconds < 2**31
    more = second_part or nanos != 0
    data = ((seconds & 0x7FFFFFFF) | more << 31).to_bytes(4, "big")
    reverse = int(f"{nanos:09d}"[::-1])
    if more:
        data += vint(~reverse if second_part else reverse)
    if second_part:
        data += vint(seconds >> 31)
    return murmur(data)


def fold(number: int) -> int:
    return wrap((number >> 32 ^ number) & 0xFFFFFFFF)


texts = st.text(max_size=70)
decimals = st.decimals(
    allow_nan=False, allow_infinity=False, places=18, min_value=-(10**20) + 1, max_value=10**20 - 1
)
PLAIN: dict[
    str, tuple[pa.DataType, st.SearchStrategy[Any], Callable[[Any], int], Callable[[Any], int]]
] = {
    "boolean": (pa.bool_(), st.booleans(), int, int),
    "tinyint": (pa.int8(), st.integers(-128, 127), int, int),
    "smallint": (
        pa.int16(),
        st.integers(-(2**15), 2**15 - 1),
        int,
        lambda v: murmur(v.to_bytes(2, "big", signed=True)),
    ),
    "int": (
        pa.int32(),
        st.integers(-(2**31), 2**31 - 1),
        int,
        lambda v: murmur(v.to_bytes(4, "big", signed=True)),
    ),
    "bigint": (
        pa.int64(),
        st.integers(-(2**63), 2**63 - 1),
        fold,
        lambda v: murmur(v.to_bytes(8, "big", signed=True)),
    ),
    "string": (
        pa.string(),
        texts,
        lambda v: polynomial(signed(v.encode())),
        lambda v: murmur(v.encode()),
    ),
    "varchar(70)": (
        pa.string(),
        texts,
        lambda v: polynomial(signed(v.encode()), 1),
        lambda v: murmur(v.encode()),
    ),
    "char(70)": (
        pa.string(),
        texts.map(lambda v: v + "  "),
        lambda v: polynomial(signed(v.rstrip(" ").encode()), 1),
        lambda v: murmur(v.rstrip(" ").encode()),
    ),
    "binary": (pa.binary(), st.binary(max_size=70), lambda v: polynomial(signed(v), 1), murmur),
    "decimal(38,18)": (pa.decimal128(38, 18), decimals, decimal_1, decimal_2),
    "timestamp": (
        pa.timestamp("us"),
        st.datetimes(datetime.datetime(1583, 1, 1)),
        lambda v: fold(java_timestamp(v)),
        timestamp_2,
    ),
}


def java_timestamp(value: datetime.datetime) -> int:
    past = value - EPOCH
    return (past.days * 86400 + past.seconds) << 30 | past.microseconds * 1000


@pytest.mark.parametrize("type_text", PLAIN)
def test_many_values_as_one_by_one(type_text: str) -> None:
    """The vectorised hash of a column is the plain hash of each value, NULL 0, also in a slice of
    the column.
    """
    of_arrow, values, plain_1, plain_2 = PLAIN[type_text]

    @given(column=st.lists(st.none() | values, max_size=30), cut=st.integers(0, 5))
    def check(column: list[Any], cut: int) -> None:
        array = pa.array(column, of_arrow)[cut:]
        for version, plain in ((1, plain_1), (2, plain_2)):
            expected = [0 if v is None else plain(v) for v in column[cut:]]
            assert bucket_hash([(array, type_text)], version).tolist() == expected  # type: ignore[arg-type]

    check()


@given(bits=st.lists(st.integers(0, 2**64 - 1), max_size=30))
def test_floating_point(bits: list[int]) -> None:
    """All NaNs hash alike; -0.0 and 0.0 do not; the bits take Hive's way through an int."""
    for dtype, size, name, of_float in (
        (np.float64, 8, "double", "d"),
        (np.float32, 4, "float", "f"),
    ):
        values = np.array(bits, np.uint64).astype(f"u{size}").view(dtype)
        plain = [number_bits(v, of_float, size) for v in values]
        expected_1 = [fold(b) if size == 8 else b for b in plain]
        expected_2 = [murmur(np.array(b, f"i{size}").astype(dtype).tobytes()[::-1]) for b in plain]
        assert bucket_hash([(pa.array(values), name)], 1).tolist() == expected_1
        assert bucket_hash([(pa.array(values), name)], 2).tolist() == expected_2


def number_bits(value: Any, of_float: str, size: int) -> int:
    if np.isnan(value):
        return 0x7FF8 << 48 if of_float == "d" else 0x7FC0 << 16
    return int(np.frombuffer(value.tobytes(), f"i{size}")[0])


nested = st.lists(st.none() | st.lists(st.none() | texts, max_size=8), max_size=20)


@given(column=nested, cut=st.integers(0, 5))
def test_lists(column: list[list[str | None] | None], cut: int) -> None:
    """An array's hash is the polynomial over its elements' hashes."""
    array = pa.array(column, pa.list_(pa.string()))[cut:]
    plain = [
        polynomial([0 if v is None else murmur(v.encode()) for v in row or []])
        for row in column[cut:]
    ]
    assert bucket_hash([(array, "array<string>")]).tolist() == plain


entries = st.lists(
    st.none() | st.dictionaries(texts, st.integers(-(2**31), 2**31 - 1), max_size=5), max_size=20
)


@given(column=entries, cut=st.integers(0, 5))
def test_maps(column: list[dict[str, int] | None], cut: int) -> None:
    """The order of a map's entries does not matter, and their values are hashed by version 1."""
    array = pa.array(
        [None if m is None else list(m.items()) for m in column], pa.map_(pa.string(), pa.int32())
    )[cut:]
    plain = [
        wrap(sum(murmur(k.encode()) ^ v for k, v in (row or {}).items())) for row in column[cut:]
    ]
    assert bucket_hash([(array, "map<string,int>")]).tolist() == plain


@given(
    rows=st.lists(
        st.tuples(st.none() | st.integers(-(2**31), 2**31 - 1), st.none() | texts), max_size=30
    ),
    cut=st.integers(0, 5),
)
def test_structs_hash_as_columns(rows: list[tuple[int | None, str | None]], cut: int) -> None:
    """A struct's hash is that of its fields as columns of CLUSTERED BY, in their order."""
    numbers, words = (
        pa.array([r[0] for r in rows], pa.int32()),
        pa.array([r[1] for r in rows], pa.string()),
    )
    both = pa.StructArray.from_arrays([numbers, words], ["a", "b"])[cut:]
    as_columns = bucket_hash([(numbers[cut:], "int"), (words[cut:], "string")])
    assert bucket_hash([(both, "struct<a:int,b:string>")]).tolist() == as_columns.tolist()


@given(
    columns=st.lists(
        st.lists(st.integers(-(2**31), 2**31 - 1), min_size=5, max_size=5), min_size=1, max_size=4
    )
)
def test_several_columns(columns: list[list[int]]) -> None:
    """The hashes of columns make a polynomial, with the overflow of Java's int."""
    each = [[murmur(v.to_bytes(4, "big", signed=True)) for v in column] for column in columns]
    together = bucket_hash([(pa.array(c, pa.int32()), "int") for c in columns])
    assert together.tolist() == [polynomial(list(row)) for row in zip(*each, strict=True)]


@given(values=st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1), count=st.integers(1, 4096))
def test_bucket_numbers(values: list[int], count: int) -> None:
    """Buckets go from 0 to count - 1, also for negative hashes."""
    column = [(pa.array(values, pa.int32()), "int")]
    assert bucket_numbers(column, count, 1).tolist() == [(v & 0x7FFFFFFF) % count for v in values]


def test_few_long_values_among_many_short() -> None:
    """One long text does not change, or slow down, the hashes of the others."""
    values = ["x" * 100_001, *(str(i) for i in range(200)), "é" * 3000]
    for version, plain in ((1, lambda v: polynomial(signed(v))), (2, murmur)):
        hashes = bucket_hash([(pa.array(values), "string")], version)  # type: ignore[arg-type]
        assert hashes.tolist() == [plain(v.encode()) for v in values]


@pytest.mark.parametrize(
    ("values", "type_text"),
    [
        (pa.chunked_array([["a"], [], ["b", None]], pa.string()), "string"),
        (pa.array(["a", "b", None], pa.large_string()), "string"),
        (pa.array(["a", "b", None], pa.string_view()), "varchar(3)"),
        (pa.array(["a", "b", None]).dictionary_encode(), "char(1)"),
    ],
)
def test_every_arrow_form_of_a_text(values: Any, type_text: str) -> None:
    """How Arrow stores the values does not matter."""
    assert bucket_hash([(values, type_text)]).tolist() == [murmur(b"a"), murmur(b"b"), 0]


def test_timestamps_with_zone() -> None:
    """Hive's timestamp is a wall clock: one that Arrow gives as an instant is read in
    its own zone.
    """
    wall = pa.array([datetime.datetime(2024, 7, 1, 12)], pa.timestamp("us"))
    instant = pa.array([datetime.datetime(2024, 7, 1, 10)], pa.timestamp("us")).cast(
        pa.timestamp("us", "UTC")
    )
    berlin = instant.cast(pa.timestamp("us", "Europe/Berlin"))
    assert bucket_hash([(berlin, "timestamp")]) == bucket_hash([(wall, "timestamp")])


@pytest.mark.parametrize(
    ("values", "type_text"), [(pa.array([], of[0]), name) for name, of in PLAIN.items()]
)
def test_no_rows(values: pa.Array, type_text: str) -> None:
    """An empty batch has no hashes."""
    for version in (1, 2):
        assert bucket_hash([(values, type_text)], version).shape == (0,)  # type: ignore[arg-type]


def test_refusals() -> None:
    """A type without a hash, and no column at all, are errors."""
    with pytest.raises(NotSupportedError, match='type "uniontype<int,string>" cannot be bucketed'):
        bucket_hash([(pa.array([1]), "uniontype<int,string>")])
    with pytest.raises(NotSupportedError):
        bucket_hash([])
