"""What every part of the benchmark shares: figures with their goals, tables and rows, two sides
that take turns.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

COLUMNS = "k BIGINT, qty INT, price DECIMAL(12,2), disc DOUBLE, ship DATE, flag STRING, mode STRING, cmt STRING"
ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
SUMS = "SELECT sum(qty), sum(price), sum(disc) FROM"
VALUES = ", ".join(
    f"(-{k}, {k}, {k}.5, 0.5, DATE '2024-01-0{k}', 'A', 'AIR', NULL)" for k in (1, 2, 3)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    name: str
    found: float
    unit: str
    goal: float
    detail: str = ""


def source_rows(count: int) -> pa.Table:
    """Rows of mixed types that compress like real ones."""
    random = np.random.default_rng(7)
    k = np.arange(count, dtype=np.int64)
    words = pa.array(["AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"])
    return pa.table(
        {
            "k": k,
            "qty": random.integers(1, 51, count).astype(np.int32),
            "price": pa.array((random.random(count) * 100_000).round(2)).cast(pa.decimal128(12, 2)),
            "disc": random.random(count).round(6),
            "ship": pa.array(random.integers(8035, 10535, count).astype(np.int32)).cast(
                pa.date32()
            ),
            "flag": pa.array(["A", "N", "R"]).take(pa.array(random.integers(0, 3, count))),
            "mode": words.take(pa.array(random.integers(0, 6, count))),
            "cmt": pa.array(random.integers(0, 1 << 62, count)).cast(pa.string()),
        }
    )


def seconds_of(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def median_of(rounds: int, action: Callable[[], object]) -> float:
    return statistics.median([seconds_of(action) for _ in range(rounds + 1)][1:])


def in_turn(
    rounds: int, first: Callable[[], float], second: Callable[[], float]
) -> tuple[list[float], list[float]]:
    """Both sides' seconds without the first round; who begins changes from round to round."""
    sides: tuple[list[float], list[float]] = ([], [])
    for turn in range(rounds + 1):
        for side in (0, 1) if turn % 2 else (1, 0):
            sides[side].append((first, second)[side]())
    return sides[0][1:], sides[1][1:]


def ratio(name: str, ours: list[float], theirs: list[float], goal: float) -> Measure:
    a, b = statistics.median(ours), statistics.median(theirs)
    return Measure(name=name, found=a / b, unit="x", goal=goal, detail=f"{a:.2f} s / {b:.2f} s")
