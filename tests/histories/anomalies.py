"""Finds what snapshot isolation forbids in a history of transactions that read and append to lists,
after Elle (Kingsbury and Alvaro, 2020): a list that is read tells its versions and their order, so
who depends on whom need not be guessed.

    ww  one appended, the other appended next         wr  one appended, the other read that as last
    rw  one read, the other appended what comes next  rt  one had ended when the other began

Write dependencies alone make no circle (G0), nor with reads (G1c); a circle with ``rw`` has two of
them side by side, which is the write skew that snapshot isolation allows; any other is G-single, or
G-nonadjacent with more of them (Cerone and Gotsman, 2018).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

Value = Hashable
COMMITTED, ABORTED, UNKNOWN = "committed", "aborted", "unknown"


@dataclass(frozen=True, slots=True)
class Read:
    key: str
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Append:
    """A value that nobody else appends to the same list."""

    key: str
    value: Value


@dataclass(frozen=True, slots=True, eq=False)
class Txn:
    """What a transaction did in its order, and how it ended; ``began`` and ``ended`` by a clock of
    all, None where there is none.
    """

    name: str
    steps: tuple[Read | Append, ...]
    state: str = COMMITTED
    began: float | None = None
    ended: float | None = None

    @property
    def reads(self) -> Iterator[Read]:
        return (step for step in self.steps if isinstance(step, Read))

    @property
    def appends(self) -> Iterator[Append]:
        return (step for step in self.steps if isinstance(step, Append))

    def first_reads(self) -> dict[str, tuple[Value, ...]]:
        """Of each list what it read before it appended there itself."""
        seen: dict[str, tuple[Value, ...]] = {}
        own: set[str] = set()
        for step in self.steps:
            if isinstance(step, Append):
                own.add(step.key)
            elif step.key not in own:
                seen.setdefault(step.key, step.values)
        return seen


@dataclass(frozen=True, slots=True)
class Anomaly:
    kind: str
    txns: tuple[str, ...]
    what: str = ""

    def __str__(self) -> str:
        return f"{self.kind} of {', '.join(self.txns)}: {self.what}"


def find_anomalies(history: Iterable[Txn]) -> list[Anomaly]:
    """All that is wrong with single reads and values, and one circle of dependencies, if any."""
    txns = list(history)
    facts = _Facts(txns)
    return [
        *(anomaly for txn in txns for anomaly in _internal(txn)),
        *facts.misread(),
        *facts.disordered(),
        *facts.lost(),
        *_circles(facts),
    ]


def _internal(txn: Txn) -> Iterator[Anomaly]:
    """What a transaction reads is what it read before, with its own appends behind it."""
    if txn.state != COMMITTED:
        return
    known: dict[str, tuple[Value, ...]] = {}
    own: dict[str, tuple[Value, ...]] = defaultdict(tuple)
    for step in txn.steps:
        if isinstance(step, Append):
            own[step.key] += (step.value,)
            if step.key in known:
                known[step.key] += (step.value,)
            continue
        mine = own[step.key]
        if known.get(step.key, step.values) != step.values or (
            mine and step.values[-len(mine) :] != mine
        ):
            what = f"read {step.values} of {step.key} where it had {known.get(step.key)} + {mine}"
            yield Anomaly("internal", (txn.name,), what)
        known[step.key] = step.values


class _Facts:
    """Who appended what, and the order of each list's versions."""

    def __init__(self, txns: Sequence[Txn]) -> None:
        self.txns = txns
        self.committed = [txn for txn in txns if txn.state == COMMITTED]
        self.writers: dict[tuple[str, Value], list[Txn]] = defaultdict(list)
        for txn in txns:
            for append in txn.appends:
                self.writers[append.key, append.value].append(txn)
        self.orders: dict[str, tuple[Value, ...]] = {}
        for txn in self.committed:
            for read in txn.reads:
                if len(read.values) >= len(self.orders.get(read.key, ())):
                    self.orders[read.key] = read.values

    def writer(self, key: str, value: Value) -> Txn | None:
        """Who committed it, or else anybody who appended it."""
        writers = self.writers.get((key, value), [])
        return next((w for w in writers if w.state == COMMITTED), next(iter(writers), None))

    def misread(self) -> Iterator[Anomaly]:
        """G1a, G1b, values out of nowhere, and those that are there twice."""
        for txn in self.committed:
            for read in txn.reads:
                yield from self._misread(txn, read)

    def _misread(self, txn: Txn, read: Read) -> Iterator[Anomaly]:
        if len(set(read.values)) < len(read.values):
            yield Anomaly("duplicate", (txn.name,), f"{read.values} of {read.key}")
        for value in read.values:
            writer = self.writer(read.key, value)
            if writer is None:
                yield Anomaly("garbage", (txn.name,), f"{value} of {read.key}")
            elif writer.state == ABORTED:
                yield Anomaly("G1a", (txn.name, writer.name), f"{value} of {read.key}")
        last = self.writer(read.key, read.values[-1]) if read.values else None
        if last is not None and last is not txn:
            final = [append.value for append in last.appends if append.key == read.key][-1]
            if final != read.values[-1]:
                what = f"{read.values[-1]} of {read.key} before {final}"
                yield Anomaly("G1b", (txn.name, last.name), what)

    def disordered(self) -> Iterator[Anomaly]:
        """Lists that are not the beginning of the longest one, and committed changes of aborted
        ones (dirty update).
        """
        for txn in self.committed:
            for read in txn.reads:
                if self.orders[read.key][: len(read.values)] != read.values:
                    what = f"{read.values} and {self.orders[read.key]} of {read.key}"
                    yield Anomaly("incompatible order", (txn.name,), what)
        for key, order in self.orders.items():
            before: Txn | None = None
            for value in order:
                writer = self.writer(key, value)
                if before is not None and writer is not None and writer.state == COMMITTED:
                    yield Anomaly("dirty update", (before.name, writer.name), f"{value} of {key}")
                before = writer if writer is not None and writer.state == ABORTED else None

    def lost(self) -> Iterator[Anomaly]:
        """Two who committed an append to what both had read; and appends that a later reader misses."""
        readers: dict[tuple[str, tuple[Value, ...]], list[Txn]] = defaultdict(list)
        for txn in self.committed:
            written = {append.key for append in txn.appends}
            for key, values in txn.first_reads().items():
                if key in written:
                    readers[key, values].append(txn)
        for (key, values), txns in readers.items():
            if len(txns) > 1:
                names = tuple(txn.name for txn in txns)
                yield Anomaly("lost update", names, f"of {key}, all from {values}")
        yield from self._unseen()

    def _unseen(self) -> Iterator[Anomaly]:
        final: dict[str, tuple[float, Txn, tuple[Value, ...]]] = {}
        for txn in self.committed:
            for key, values in txn.first_reads().items():
                if txn.began is not None and txn.began >= final.get(key, (txn.began,))[0]:
                    final[key] = (txn.began, txn, values)
        for txn in self.committed:
            for append in txn.appends:
                began, reader, values = final.get(append.key, (0.0, txn, ()))
                if txn.ended is not None and txn.ended < began and append.value not in values:
                    what = f"{append.value} of {append.key}, which holds {values}"
                    yield Anomaly("lost append", (txn.name, reader.name), what)


# ---- circles

Hops = tuple[tuple[str, Txn], ...]
Edges = dict[Txn, dict[Txn, Hops]]
"""From each to those that depend on it, and the way there: why, and whom."""


def _circles(facts: _Facts) -> Iterator[Anomaly]:
    direct, anti = _dependencies(facts)
    for edges, kind in (
        (_only(direct, {"ww"}), "G0"),
        (_only(direct, {"ww", "wr"}), "G1c"),
        (_with_one_anti(direct, anti), "G"),
    ):
        circle = _circle(edges)
        if circle:
            ends = zip(circle, (*circle[1:], circle[0]), strict=True)
            hops = [hop for one, other in ends for hop in edges[one][other]]
            words = [word for word, _ in hops]
            names = tuple(txn.name for _, txn in hops)
            yield Anomaly(_kind(kind, words), names, " ".join(words))
            return


def _only(edges: Edges, words: set[str]) -> Edges:
    return {
        one: {other: hops for other, hops in to.items() if hops[0][0] in words}
        for one, to in edges.items()
    }


def _kind(kind: str, words: Sequence[str]) -> str:
    if kind != "G":
        return kind
    anti = words.count("rw")
    realtime = "-realtime" if "rt" in words else ""
    return {0: "G1c", 1: "G-single"}.get(anti, "G-nonadjacent") + realtime


def _dependencies(facts: _Facts) -> tuple[Edges, Edges]:
    """Those by ww, wr and rt, and those by rw."""
    direct: Edges = defaultdict(dict)
    anti: Edges = defaultdict(dict)

    def add(edges: Edges, one: Txn | None, other: Txn | None, word: str) -> None:
        ends = (one, other)
        if one is not other and all(t is not None and t.state == COMMITTED for t in ends):
            edges[one].setdefault(other, ((word, other),))  # type: ignore[index, arg-type]

    for key, order in facts.orders.items():
        writers = [facts.writer(key, value) for value in order]
        for one, other in pairwise(writers):
            add(direct, one, other, "ww")
    for txn in facts.committed:
        for key, values in txn.first_reads().items():
            order = facts.orders[key]
            if order[: len(values)] != values:
                continue
            if values:
                add(direct, facts.writer(key, values[-1]), txn, "wr")
            if len(values) < len(order):
                add(anti, txn, facts.writer(key, order[len(values)]), "rw")
    for one, other in _in_real_time(facts.committed):
        add(direct, one, other, "rt")
    return direct, anti


def _in_real_time(txns: Sequence[Txn]) -> Iterator[tuple[Txn, Txn]]:
    """Who had ended when another began, without those that follow from others."""
    timed: list[Any] = [txn for txn in txns if txn.began is not None and txn.ended is not None]
    events = sorted(
        [(txn.began, 1, number) for number, txn in enumerate(timed)]
        + [(txn.ended, 0, number) for number, txn in enumerate(timed)]
    )
    ended: list[Any] = []
    for _, begins, number in events:
        txn = timed[number]
        if begins:
            yield from ((before, txn) for before in ended)
        else:
            ended = [before for before in ended if not before.ended < txn.began] + [txn]


def _with_one_anti(direct: Edges, anti: Edges) -> Edges:
    """A step is a dependency, or one with an anti-dependency behind it: a circle of such steps never
    has two of the latter side by side.
    """
    edges: Edges = defaultdict(dict)
    for one, to in direct.items():
        for other, hops in to.items():
            edges[one].setdefault(other, hops)
            for third, last in anti.get(other, {}).items():
                edges[one].setdefault(third, hops + last)
    return edges


def _circle(edges: Edges) -> list[Txn]:
    """The transactions of one circle in their order; none if there is none."""
    done: set[Txn] = set()
    for start in list(edges):
        path: list[Txn] = []
        on_path: set[Txn] = set()
        ahead: list[tuple[Txn, Iterator[Txn]]] = []
        if start not in done:
            ahead.append((start, iter(edges.get(start, {}))))
            path.append(start)
            on_path.add(start)
        while ahead:
            txn, rest = ahead[-1]
            following = next(rest, None)
            if following is None:
                ahead.pop()
                done.add(txn)
                on_path.discard(path.pop())
            elif following in on_path:
                return path[path.index(following) :]
            elif following not in done:
                ahead.append((following, iter(edges.get(following, {}))))
                path.append(following)
                on_path.add(following)
    return []
