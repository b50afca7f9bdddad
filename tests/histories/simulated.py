"""Stores of lists in memory: one with snapshot isolation, and some that lack a part of it. Histories
of them are what the finder of anomalies is tried on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.histories.anomalies import ABORTED, COMMITTED, Append, Read, Txn

KEYS = ("x", "y", "z")
BROKEN = ("no conflicts", "latest reads", "dirty reads", "undone reads", "stale snapshots")


@dataclass
class OpenTxn:
    number: int
    began: int
    snapshot: dict[str, tuple[int, ...]]
    versions: dict[str, int]
    steps: list[Read | Append] = field(default_factory=list)
    own: dict[str, tuple[int, ...]] = field(default_factory=dict)


class Lists:
    """``broken``: what it does wrong, one of BROKEN; "" is snapshot isolation, the first committer
    wins.
    """

    def __init__(self, broken: str = "") -> None:
        self.broken = broken
        self.now = 0
        self.values: dict[str, tuple[int, ...]] = dict.fromkeys(KEYS, ())
        self.versions = dict.fromkeys(KEYS, 0)
        self.past: list[dict[str, tuple[int, ...]]] = [dict(self.values)]
        self.open: dict[int, OpenTxn] = {}
        self.history: list[Txn] = []
        self.last_value = 0

    def act(self, process: int, what: str, key: str) -> None:
        """One step of a process; its transaction begins with its first."""
        self.now += 1
        txn = self.open.get(process) or self._begin(process)
        match what:
            case "read":
                txn.steps.append(Read(key, self._seen(txn, key)))
            case "append":
                self.last_value += 1
                txn.steps += [Read(key, self._seen(txn, key)), Append(key, self.last_value)]
                txn.own[key] = (*txn.own.get(key, ()), self.last_value)
                if self.broken in ("dirty reads", "undone reads"):
                    self.values[key] = (*self.values[key], self.last_value)
            case "commit":
                self._end(process, commits=True)
            case _:
                self._end(process, commits=False)

    def finish(self) -> Sequence[Txn]:
        """The history, when all have committed and somebody has read all lists."""
        for process in list(self.open):
            self.act(process, "commit", "")
        for key in KEYS:
            self.act(0, "read", key)
        self.act(0, "commit", "")
        return self.history

    def _begin(self, process: int) -> OpenTxn:
        number = len(self.history) + len(self.open)
        seen = self.values
        if self.broken == "stale snapshots":
            seen = self.past[max(0, len(self.past) - 3)]
        self.open[process] = OpenTxn(number, self.now, dict(seen), dict(self.versions))
        return self.open[process]

    def _seen(self, txn: OpenTxn, key: str) -> tuple[int, ...]:
        if self.broken in ("dirty reads", "undone reads"):
            return self.values[key]
        known = self.values if self.broken == "latest reads" else txn.snapshot
        return known[key] + txn.own.get(key, ())

    def _end(self, process: int, *, commits: bool) -> None:
        txn = self.open.pop(process)
        conflict = any(self.versions[key] != txn.versions[key] for key in txn.own)
        checks = self.broken not in ("no conflicts", "dirty reads")
        commits = commits and not (conflict and checks)
        dirty = self.broken in ("dirty reads", "undone reads")
        for key, values in txn.own.items():
            if commits:
                self.versions[key] += 1
                # what was not seen is overwritten where nobody looks for conflicts
                base = txn.snapshot[key] if self.broken == "no conflicts" else self.values[key]
                self.values[key] = self.values[key] if dirty else base + values
            elif dirty:
                self.values[key] = tuple(v for v in self.values[key] if v not in values)
        self.past.append(dict(self.values))
        state = COMMITTED if commits else ABORTED
        steps = tuple(txn.steps)
        name = f"T{len(self.history)}"
        self.history.append(Txn(name, steps, state, float(txn.began), float(self.now)))
