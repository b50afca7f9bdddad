"""Which bucket a row belongs to: Hive's hashes of values, in both versions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from acidsql.arrow_arrays import filled, numpy_array
from acidsql.errors import NotSupportedError

# ---- murmur
#
# Hive's Murmur3, over many values at a time.
#
# It is Murmur3 x86_32 with seed 104729 and one deviation that files depend on: the one to three
# bytes after the last whole block are sign-extended before they are mixed. Hive:
# org.apache.hive.common.util.Murmur3.hash32. All arithmetic is uint32 and wraps.


UInt32s: TypeAlias = npt.NDArray[np.uint32]
Int64s: TypeAlias = npt.NDArray[np.int64]
Bytes: TypeAlias = npt.NDArray[np.uint8]

SEED = 104729
_C1, _C2, _N = 0xCC9E2D51, 0x1B873593, 0xE6546B64
_FEW = 64
"""Up to this number long values are finished one by one: the vectorised step costs the same for one
value as for a thousand.
"""


def hash_words(words: Iterable[UInt32s], length: int) -> UInt32s:
    """The hash of values that all have ``length`` bytes, a multiple of 4, given as their big-endian
    32-bit words.
    """
    hashes: UInt32s | None = None
    for word in words:
        seeded = np.full(word.shape, SEED, np.uint32) if hashes is None else hashes
        hashes = _add_block(seeded, word.byteswap())
    assert hashes is not None
    return _finish(hashes, length)


def hash_shorts(values: npt.NDArray[np.int16]) -> UInt32s:
    """The hash of two bytes each, big-endian: a tail and nothing else."""
    low = values.astype(np.int8).astype(np.int32)
    tail = (low << 8) ^ (values.astype(np.int32) >> 8)
    return _finish(np.uint32(SEED) ^ _mix(tail.astype(np.uint32)), 2)


def hash_bytes(data: Bytes, starts: Int64s, lengths: Int64s) -> UInt32s:
    """The hash of ``data[start : start + length]`` for each pair."""
    data = np.concatenate([data, np.zeros(4, np.uint8)])  # so that a block may be read anywhere
    unaligned = np.ndarray(len(data) - 3, "<u4", data, strides=(1,))
    hashes = np.full(starts.shape, SEED, np.uint32)
    blocks = lengths >> 2
    done, active = 0, np.flatnonzero(blocks)
    while len(active) > _FEW:
        block = unaligned[starts[active] + 4 * done]
        hashes[active] = _add_block(hashes[active], block)
        done += 1
        active = active[blocks[active] > done]
    for one in active:
        first = starts[one] + 4 * done
        hashes[one] = _add_blocks(
            int(hashes[one]), data[first : first + 4 * (blocks[one] - done)].view("<u4").tolist()
        )
    return _finish(
        hashes ^ _mix(_tails(data, starts + 4 * blocks, lengths & 3)), lengths.astype(np.uint32)
    )


def _tails(data: Bytes, starts: Int64s, counts: Int64s) -> UInt32s:
    signed = data.view(np.int8)
    tails = np.zeros(starts.shape, np.int32)
    for index in range(3):
        longer = np.flatnonzero(counts > index)
        tails[longer] ^= signed[starts[longer] + index].astype(np.int32) << (8 * index)
    return tails.view(np.uint32)


def _mix(block: UInt32s) -> UInt32s:
    return _rotate(block * np.uint32(_C1), 15) * np.uint32(_C2)


def _add_block(hashes: UInt32s, block: UInt32s) -> UInt32s:
    return _rotate(hashes ^ _mix(block), 13) * np.uint32(5) + np.uint32(_N)


def _rotate(values: UInt32s, count: int) -> UInt32s:
    return (values << np.uint32(count)) | (values >> np.uint32(32 - count))


def _finish(hashes: UInt32s, lengths: UInt32s | int) -> UInt32s:
    hashes = hashes ^ np.uint32(lengths)
    hashes = (hashes ^ (hashes >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    hashes = (hashes ^ (hashes >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return hashes ^ (hashes >> np.uint32(16))


def _add_blocks(start: int, blocks: Iterable[int]) -> int:
    """Does ``_add_block`` over the blocks of one long value, in Python ints."""
    total = start
    for block in blocks:
        mixed = block * _C1 & 0xFFFFFFFF
        mixed = (mixed << 15 | mixed >> 17) * _C2 & 0xFFFFFFFF
        total ^= mixed
        total = ((total << 13 | total >> 19) * 5 + _N) & 0xFFFFFFFF
    return total


# ---- value bytes
#
# The bytes that stand for a decimal or a timestamp in Hive's hashes, for many values at a time.
#
# A row of the result holds one value's bytes, left-aligned; the lengths say how many count.


UInt64s: TypeAlias = npt.NDArray[np.uint64]
Bools: TypeAlias = npt.NDArray[np.bool_]

_WIDTH = 24
_LARGEST_PLAIN_SECOND = 2**31 - 1


def strip_decimals(words: UInt64s, scale: int) -> tuple[UInt64s, Bools, Int64s]:
    """Decimals without the zeros that end their fraction, as HiveDecimal keeps them.

    words: 128-bit two's complement, one row of (low, high) each. Gives the magnitudes as four
    32-bit limbs, least significant first, the signs (True: negative) and the scales that are left.
    """
    negative = words[:, 1] >> np.uint64(63) == 1
    limbs = _limbs(_negate(words, negative))
    scales = np.where((limbs == 0).all(axis=1), 0, scale)
    for zeros in [8] * (scale // 8) + [4, 2, 1]:
        candidates = np.flatnonzero(scales >= zeros)
        if zeros > scale or not len(candidates):
            continue
        quotients, remainders = _divide(limbs[candidates], 10**zeros)
        exact = remainders == 0
        limbs[candidates[exact]] = quotients[exact]
        scales[candidates[exact]] -= zeros
    return limbs, negative, scales


def decimal_bytes(limbs: UInt64s, negative: Bools) -> tuple[Bytes, Int64s, Int64s]:
    """Minimal big-endian two's complement, as java.math.BigInteger.toByteArray: flat bytes, starts
    and lengths.
    """
    words = np.stack(
        [limbs[:, 0] | limbs[:, 1] << np.uint64(32), limbs[:, 2] | limbs[:, 3] << np.uint64(32)],
        axis=1,
    )
    words = _negate(words, negative)
    big_endian = np.ascontiguousarray(words[:, ::-1]).byteswap().view(np.uint8)
    significant = np.where(negative[:, None], ~big_endian, big_endian)
    first = (significant != 0).argmax(axis=1)
    rows = np.arange(len(first))
    top = significant[rows, first]
    lengths = np.where(top == 0, 1, 16 - first + (top >= 0x80))  # the sign needs a bit of its own
    starts = 16 * (rows + 1) - lengths
    return big_endian.ravel(), starts, lengths


def timestamp_bytes(seconds: Int64s, nanos: Int64s) -> tuple[Bytes, Int64s, Int64s]:
    """TimestampWritableV2: flat bytes, starts and lengths.

    Four bytes of seconds; their top bit says that more follows: the nanoseconds with their nine
    digits reversed (so that few digits make a small number), written as complement if the rest of
    the seconds follows in turn.
    """
    long_seconds = (seconds < 0) | (seconds > _LARGEST_PLAIN_SECOND)
    more = long_seconds | (nanos != 0)
    head = (seconds & _LARGEST_PLAIN_SECOND) | np.where(more, 1 << 31, 0)
    rows = np.zeros((len(seconds), _WIDTH), np.uint8)
    rows[:, :4] = head.astype(">u4").view(np.uint8).reshape(-1, 4)
    lengths = np.full(len(seconds), 4, np.int64)
    digits = _reverse_digits(nanos)
    _append_vint(rows, lengths, np.where(long_seconds, ~digits, digits), more)
    _append_vint(rows, lengths, seconds >> 31, long_seconds)
    return rows.ravel(), np.arange(len(seconds)) * _WIDTH, lengths


def _limbs(words: UInt64s) -> UInt64s:
    low, high = words[:, 0], words[:, 1]
    mask, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    return np.stack([low & mask, low >> half, high & mask, high >> half], axis=1)


def _negate(words: UInt64s, where: Bools) -> UInt64s:
    """Two's complement of the 128-bit rows that ``where`` picks."""
    low = np.where(where, ~words[:, 0] + np.uint64(1), words[:, 0])
    carry = (where & (low == 0)).astype(np.uint64)
    high = np.where(where, ~words[:, 1] + carry, words[:, 1])
    return np.stack([low, high], axis=1)


def _divide(limbs: UInt64s, divisor: int) -> tuple[UInt64s, UInt64s]:
    """Long division by less than 2**32: quotients and remainders."""
    by = np.uint64(divisor)
    quotients = np.empty_like(limbs)
    rest = np.zeros(len(limbs), np.uint64)
    for limb in (3, 2, 1, 0):
        part = rest << np.uint64(32) | limbs[:, limb]
        quotients[:, limb] = part // by
        rest = part - quotients[:, limb] * by
    return quotients, rest


def _reverse_digits(nanos: Int64s) -> Int64s:
    reverse, rest = np.zeros_like(nanos), nanos
    for _ in range(9):
        reverse, rest = reverse * 10 + rest % 10, rest // 10
    return reverse


def _append_vint(rows: Bytes, lengths: Int64s, values: Int64s, where: Bools) -> None:
    """Hadoop's WritableUtils.writeVLong at the end of the rows that ``where`` picks; moves their
    lengths on.
    """
    picked = np.flatnonzero(where)
    values, at = values[picked], lengths[picked]
    single = (values >= -112) & (values <= 127)
    magnitude = np.where(values < 0, ~values, values)
    size = sum((magnitude >> shift != 0).astype(np.int64) for shift in range(0, 64, 8))
    size = np.where(single, 0, size)
    first = np.where(single, values, np.where(values < 0, -120, -112) - size)
    rows[picked, at] = first.astype(np.int8).view(np.uint8)
    for index in range(int(size.max(initial=0))):
        here = np.flatnonzero(size > index)
        byte = magnitude[here] >> (8 * (size[here] - 1 - index)) & 0xFF
        rows[picked[here], at[here] + 1 + index] = byte.astype(np.uint8)
    lengths[picked] = at + 1 + size


# ---- bucketing
#
# Which bucket a row belongs to: Hive's two hashes over Arrow columns.
#
# Version 2 is Murmur3 over Hive's bytes of a value (``bucketing_version=2``, what Hive 3 and 4 set
# on new tables), version 1 Java's hashCode arithmetic (tables made before, or without the
# property). Neither is Spark's ``hash()``. A row in the wrong bucket is read all the same, but lost
# to Hive's bucket pruning and bucket joins. Hive: ObjectInspectorUtils.{getBucketHashCode,
# getBucketHashCodeOld}.
#
# Executors import this module alone: numpy and pyarrow, nothing of Spark.


Version: TypeAlias = Literal[1, 2]
Column: TypeAlias = tuple[pa.Array | pa.ChunkedArray, str]
"""Values and their Hive type as text: ``int``, ``char(3)``, ``decimal(10,2)``,
``array<struct<a:int>>``.
"""

LOCAL_TIMESTAMP = "timestamp with local time zone"
_SECONDS_A_DAY = 86_400
_FIRST_GREGORIAN_DAY = -141_427
"""1582-10-15, in days from 1970-01-01."""


def bucket_numbers(
    columns: Sequence[Column], count: int, version: Version = 2
) -> npt.NDArray[np.int32]:
    """The bucket, 0 to ``count - 1``, of each row; ``columns`` in the order of CLUSTERED BY."""
    return (bucket_hash(columns, version) & 0x7FFFFFFF) % np.int32(count)


def bucket_hash(columns: Sequence[Column], version: Version = 2) -> npt.NDArray[np.int32]:
    """The hash of each row. NotSupportedError for a type Hive does not hash either."""
    total: UInt32s | None = None
    for values, type_text in columns:
        hashes = _hash_column(values, type_text, version)
        total = hashes if total is None else total * np.uint32(31) + hashes
    if total is None:
        raise NotSupportedError("a bucket needs at least one column")
    return total.view(np.int32)


def _hash_column(values: pa.Array | pa.ChunkedArray, type_text: str, version: Version) -> UInt32s:
    if isinstance(values, pa.ChunkedArray):
        chunks = [_hash(chunk, type_text, version) for chunk in values.chunks]
        return np.concatenate([np.empty(0, np.uint32), *chunks])
    return _hash(values, type_text, version)


def _hash(values: pa.Array, type_text: str, version: Version) -> UInt32s:
    """NULL is 0, whatever the type."""
    name, arguments = _split_type(type_text)
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    if isinstance(values, pa.DictionaryArray):
        values = values.dictionary_decode()
    nested = _NESTED.get(name)
    if nested is not None:
        hashes = nested(values, arguments, version)
    elif name in _SCALARS:
        hashes = _SCALARS[name][version - 1](_cast(values, name))
    else:
        raise NotSupportedError(f'type "{type_text}" cannot be bucketed')
    if values.null_count:
        hashes = np.where(numpy_array(values.is_valid()), hashes, np.uint32(0))
    return hashes


# Types


_ARROW: Mapping[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "date": pa.date32(),
    "string": pa.large_binary(),
    "varchar": pa.large_binary(),
    "char": pa.large_binary(),
    "binary": pa.large_binary(),
}


def _split_type(text: str) -> tuple[str, list[str]]:
    """A type's name and the texts of its arguments: ``map<string,array<int>>`` gives ``map``,
    [``string``, ``array<int>``]; ``char(3)`` gives ``char``, [].
    """
    name, bracket, rest = text.strip().partition("<")
    if not bracket:
        return name.partition("(")[0].strip().lower(), []
    arguments, depth, start = [], 0, 0
    inner = rest.rstrip().removesuffix(">")
    for offset, mark in enumerate(inner):
        depth += (mark in "<(") - (mark in ">)")
        if mark == "," and depth == 0:
            arguments.append(inner[start:offset])
            start = offset + 1
    return name.strip().lower(), [*arguments, inner[start:]]


def _cast(values: pa.Array, name: str) -> pa.Array:
    """The one Arrow type that the hash of a Hive type reads."""
    if name == "char":
        values = pc.utf8_rtrim(values.cast(pa.large_string()), " ")
    elif name == "decimal":
        return (
            values
            if pa.types.is_decimal128(values.type)
            else values.cast(pa.decimal128(38, getattr(values.type, "scale", 0)))
        )
    elif name == "timestamp" and getattr(values.type, "tz", None):
        return pc.local_timestamp(values)
    target = _ARROW.get(name, values.type)
    return values if values.type == target else values.cast(target)


# Scalars


def _numbers(values: pa.Array, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Fixed-width values without a copy; whatever stands for NULL."""
    if not len(values):
        return np.empty(0, dtype)
    return np.frombuffer(
        values.buffers()[1], dtype, len(values), values.offset * np.dtype(dtype).itemsize
    )


def _booleans(values: pa.Array) -> UInt32s:
    bits: npt.NDArray[np.bool_] = numpy_array(filled(values, False))
    return bits.astype(np.uint32)


def _tinyints(values: pa.Array) -> UInt32s:
    return _numbers(values, np.int8).astype(np.int32).view(np.uint32)


def _smallints_1(values: pa.Array) -> UInt32s:
    return _numbers(values, np.int16).astype(np.int32).view(np.uint32)


def _smallints_2(values: pa.Array) -> UInt32s:
    return hash_shorts(_numbers(values, np.int16))


def _ints_1(values: pa.Array) -> UInt32s:
    return _numbers(values, np.uint32)


def _ints_2(values: pa.Array) -> UInt32s:
    return hash_words([_numbers(values, np.uint32)], 4)


def _bigints_1(values: pa.Array) -> UInt32s:
    return _fold(_numbers(values, np.int64))


def _bigints_2(values: pa.Array) -> UInt32s:
    return _hash_longs(_numbers(values, np.uint64))


def _floats_1(values: pa.Array) -> UInt32s:
    return _one_nan(_numbers(values, np.float32)).view(np.uint32)


def _floats_2(values: pa.Array) -> UInt32s:
    """Hive converts the bits, taken as an int, to a float again, and hashes that float's bits."""
    bits = _one_nan(_numbers(values, np.float32)).view(np.int32)
    return hash_words([bits.astype(np.float32).view(np.uint32)], 4)


def _doubles_1(values: pa.Array) -> UInt32s:
    return _fold(_one_nan(_numbers(values, np.float64)).view(np.int64))


def _doubles_2(values: pa.Array) -> UInt32s:
    """Hive converts the bits, taken as a long, to a double again, and hashes that double's bits."""
    bits = _one_nan(_numbers(values, np.float64)).view(np.int64)
    return _hash_longs(bits.astype(np.float64).view(np.uint64))


def _one_nan(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Java's floatToIntBits knows one NaN only."""
    return np.where(np.isnan(values), values.dtype.type(np.nan), values)


def _fold(values: Int64s) -> UInt32s:
    """Java's Long.hashCode."""
    return (values ^ (values >> 32)).astype(np.uint32)


def _hash_longs(values: npt.NDArray[np.uint64]) -> UInt32s:
    return hash_words([(values >> np.uint64(32)).astype(np.uint32), values.astype(np.uint32)], 8)


# Bytes


def _texts_1(values: pa.Array) -> UInt32s:
    return _signed_polynomial(values, 0)


def _bytes_1(values: pa.Array) -> UInt32s:
    """varchar, char and binary: Hadoop's WritableComparator.hashBytes, which begins with 1."""
    return _signed_polynomial(values, 1)


def _bytes_2(values: pa.Array) -> UInt32s:
    return hash_bytes(*_flat(values))


def _signed_polynomial(values: pa.Array, first: int) -> UInt32s:
    data, starts, lengths = _flat(values)
    return _polynomial(data.view(np.int8), starts, lengths, first)


def _flat(values: pa.Array) -> tuple[npt.NDArray[np.uint8], Int64s, Int64s]:
    """All bytes, and where each value begins and how long it is."""
    if not len(values):
        return np.empty(0, np.uint8), np.empty(0, np.int64), np.empty(0, np.int64)
    _, offsets, data = values.buffers()
    bounds = np.frombuffer(offsets, np.int64, len(values) + 1, values.offset * 8)
    flat = np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return flat, bounds[:-1], np.diff(bounds)


def _polynomial(
    items: npt.NDArray[Any], starts: Int64s, lengths: Int64s, first: int = 0
) -> UInt32s:
    """Computes ``r = 31 * r + item`` over ``items[start : start + length]`` for each pair, from
    ``first``.
    """
    hashes = np.full(starts.shape, first, np.uint32)
    done, active = 0, np.flatnonzero(lengths)
    while len(active) > _FEW:
        hashes[active] = hashes[active] * np.uint32(31) + items[starts[active] + done].astype(
            np.uint32
        )
        done += 1
        active = active[lengths[active] > done]
    powers = np.ones(int(lengths[active].max(initial=done)) - done + 1, np.uint32)
    powers[1:] = 31
    powers = np.multiply.accumulate(powers, dtype=np.uint32)[::-1]
    for one in active:
        rest = items[starts[one] + done : starts[one] + lengths[one]].astype(np.uint32)
        weights = powers[len(powers) - 1 - len(rest) :]
        hashes[one] = (
            hashes[one : one + 1] * weights[:1] + (rest * weights[1:]).sum(dtype=np.uint32)
        )[0]
    return hashes


# Decimals and timestamps


def _decimals_1(values: pa.Array) -> UInt32s:
    """java.math.BigDecimal.hashCode."""
    limbs, negative, scales = strip_decimals(*_decimal_words(values))
    hashes = np.zeros(len(limbs), np.uint32)
    for limb in (3, 2, 1, 0):
        hashes = hashes * np.uint32(31) + limbs[:, limb].astype(np.uint32)
    return np.where(negative, np.uint32(0) - hashes, hashes) * np.uint32(31) + scales.astype(
        np.uint32
    )


def _decimals_2(values: pa.Array) -> UInt32s:
    """The unscaled value alone: 1.5 and 15 are in one bucket."""
    limbs, negative, _ = strip_decimals(*_decimal_words(values))
    return hash_bytes(*decimal_bytes(limbs, negative))


def _decimal_words(values: pa.Array) -> tuple[npt.NDArray[np.uint64], int]:
    pairs = _numbers(values, np.dtype((np.uint64, 2)))
    return pairs.reshape(-1, 2), values.type.scale


def _timestamps_1(values: pa.Array) -> UInt32s:
    """The hash that Java computes in UTC; in another time zone it differs. Before 1582-10-15
    Java reads the Julian calendar.
    """
    seconds, nanos = _seconds(values)
    return _fold(_julian(seconds) << 30 | nanos)


def _timestamps_2(values: pa.Array) -> UInt32s:
    return hash_bytes(*timestamp_bytes(*_seconds(values)))


def _instants_1(values: pa.Array) -> UInt32s:
    seconds, nanos = _seconds(values)
    return _fold(seconds) + np.uint32(51) * nanos.astype(np.uint32)


def _seconds(values: pa.Array) -> tuple[Int64s, Int64s]:
    """Whole seconds from 1970, rounded down, and the nanoseconds beyond."""
    parts = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[values.type.unit]
    seconds, rest = np.divmod(_numbers(values, np.int64), parts)
    return seconds, rest * (10**9 // parts)


def _julian(seconds: Int64s) -> Int64s:
    """Seconds of the same year, month, day and time of day, read by the calendar that Java uses
    before the Gregorian one.
    """
    days = seconds // _SECONDS_A_DAY
    since_0000_03_01 = days + 719_468
    era, day = np.divmod(since_0000_03_01, 146_097)
    # a year that begins in March
    year = (day - day // 1460 + day // 36_524 - day // 146_096) // 365 + 400 * era
    ahead = year // 100 - year // 400 - 2
    return np.where(days < _FIRST_GREGORIAN_DAY, seconds + ahead * _SECONDS_A_DAY, seconds)


_Scalar: TypeAlias = Callable[[pa.Array], UInt32s]
_SCALARS: Mapping[str, tuple[_Scalar, _Scalar]] = {
    "boolean": (_booleans, _booleans),
    "tinyint": (_tinyints, _tinyints),
    "smallint": (_smallints_1, _smallints_2),
    "int": (_ints_1, _ints_2),
    "bigint": (_bigints_1, _bigints_2),
    "float": (_floats_1, _floats_2),
    "double": (_doubles_1, _doubles_2),
    "date": (_ints_1, _ints_2),
    "string": (_texts_1, _bytes_2),
    "varchar": (_bytes_1, _bytes_2),
    "char": (_bytes_1, _bytes_2),
    "binary": (_bytes_1, _bytes_2),
    "decimal": (_decimals_1, _decimals_2),
    "timestamp": (_timestamps_1, _timestamps_2),
    LOCAL_TIMESTAMP: (_instants_1, _timestamps_2),
}


# Nested types


def _lists(values: pa.Array, arguments: Sequence[str], version: Version) -> UInt32s:
    if pa.types.is_fixed_size_list(values.type):
        values = values.cast(pa.list_(values.type.value_type))
    starts, lengths = _bounds(values)
    return _polynomial(_hash(values.values, arguments[0], version), starts, lengths)


def _structs(values: pa.Array, arguments: Sequence[str], version: Version) -> UInt32s:
    hashes = np.zeros(len(values), np.uint32)
    for ordinal, argument in enumerate(arguments):
        hashes = hashes * np.uint32(31) + _hash(
            values.field(ordinal), argument.partition(":")[2], version
        )
    return hashes


def _maps(values: pa.Array, arguments: Sequence[str], version: Version) -> UInt32s:
    """The values are hashed by version 1 always."""
    entries = _hash(values.keys, arguments[0], version) ^ _hash(values.items, arguments[1], 1)
    sums = np.zeros(len(entries) + 1, np.uint32)
    np.cumsum(entries, dtype=np.uint32, out=sums[1:])
    starts, lengths = _bounds(values)
    totals: UInt32s = sums[starts + lengths] - sums[starts]
    return totals


def _bounds(values: pa.Array) -> tuple[Int64s, Int64s]:
    offsets = numpy_array(values.offsets).astype(np.int64)
    return offsets[:-1], np.diff(offsets)


_NESTED: Mapping[str, Callable[[pa.Array, Sequence[str], Version], UInt32s]] = {
    "array": _lists,
    "struct": _structs,
    "map": _maps,
}
