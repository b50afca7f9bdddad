"""The bytes that stand for a decimal or a timestamp in Hive's hashes, for many values at a time.

A row of the result holds one value's bytes, left-aligned; the lengths say how many count.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Int64s: TypeAlias = npt.NDArray[np.int64]
UInt64s: TypeAlias = npt.NDArray[np.uint64]
Bytes: TypeAlias = npt.NDArray[np.uint8]
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
