"""Hive's Murmur3, over many values at a time.

It is Murmur3 x86_32 with seed 104729 and one deviation that files depend on: the one to three bytes
after the last whole block are sign-extended before they are mixed. Hive:
org.apache.hive.common.util.Murmur3.hash32. All arithmetic is uint32 and wraps.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

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
