"""MERGE, row by row, on lists: what the real one must do."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

Value = int | str | None
Row = tuple[Value, ...]
"""id, n, s, p: two integers and two strings. No action changes p, which some layouts partition by.
"""


@dataclass(frozen=True)
class Test:
    """A condition as SQL and as a function of a target and a source row: True, False or None
    (unknown).
    """

    sql: str
    holds: Callable[[Row | None, Row | None], bool | None]


@dataclass(frozen=True)
class Clause:
    match: str
    test: Test | None
    action: str

    def sql(self) -> str:
        condition = f" AND {self.test.sql}" if self.test else ""
        return f"WHEN {self.match}{condition} THEN {ACTIONS[self.match][self.action]}"


def _less(left: Value, right: Value) -> bool | None:
    return None if left is None or right is None else left < right  # type: ignore[operator]


def _same(left: Value, right: Value) -> bool | None:
    return None if left is None or right is None else left == right


def _both(one: bool | None, other: bool | None) -> bool | None:
    if one is False or other is False:
        return False
    return None if one is None or other is None else True


def _in(value: Value, others: tuple[Value, ...]) -> bool | None:
    return None if value is None else value in others


def _cell(row: Row | None, place: int) -> Value:
    return None if row is None else row[place]


JOINS = (
    Test("t.id = s.id", lambda t, s: _same(_cell(t, 0), _cell(s, 0))),
    Test(
        "t.id = s.id AND t.n = s.n",
        lambda t, s: _both(_same(_cell(t, 0), _cell(s, 0)), _same(_cell(t, 1), _cell(s, 1))),
    ),
    Test(
        "t.id = s.id AND s.n < 5",
        lambda t, s: _both(_same(_cell(t, 0), _cell(s, 0)), _less(_cell(s, 1), 5)),
    ),
    Test(
        "t.id < s.id AND s.n = 3",
        lambda t, s: _both(_less(_cell(t, 0), _cell(s, 0)), _same(_cell(s, 1), 3)),
    ),
    Test("t.id = 1 AND 1 = 0", lambda t, s: _both(_same(_cell(t, 0), 1), False)),
    Test(
        "t.id = s.id AND t.p = s.p",
        lambda t, s: _both(_same(_cell(t, 0), _cell(s, 0)), _same(_cell(t, 3), _cell(s, 3))),
    ),
    Test(
        "t.id = s.id AND t.p = 'x'",
        lambda t, s: _both(_same(_cell(t, 0), _cell(s, 0)), _same(_cell(t, 3), "x")),
    ),
    Test(
        "t.p IN ('x', 'y/z=1') AND t.n = s.n",
        lambda t, s: _both(_in(_cell(t, 3), ("x", "y/z=1")), _same(_cell(t, 1), _cell(s, 1))),
    ),
)
OF_TARGET = (
    Test("t.n < 4", lambda t, s: _less(_cell(t, 1), 4)),
    Test("t.s IS NULL", lambda t, s: _cell(t, 2) is None),
    Test("t.p = 'x'", lambda t, s: _same(_cell(t, 3), "x")),
    Test("t.p IS NULL", lambda t, s: _cell(t, 3) is None),
)
OF_SOURCE = (
    Test("s.n < 4", lambda t, s: _less(_cell(s, 1), 4)),
    Test("s.s = 'b'", lambda t, s: _same(_cell(s, 2), "b")),
)
OF_BOTH = (*OF_TARGET, *OF_SOURCE, Test("t.n < s.n", lambda t, s: _less(_cell(t, 1), _cell(s, 1))))
TESTS = {"MATCHED": OF_BOTH, "NOT MATCHED": OF_SOURCE, "NOT MATCHED BY SOURCE": OF_TARGET}

ACTIONS = {
    "MATCHED": {
        "delete": "DELETE",
        "n": "UPDATE SET n = s.n",
        "copy": "UPDATE SET n = s.n, s = s.s",
        "both": "UPDATE SET s = concat(t.s, s.s), n = t.n + s.n",
    },
    "NOT MATCHED": {
        "all": "INSERT VALUES (s.id, s.n, s.s, s.p)",
        "some": "INSERT (n, id, p) VALUES (s.n + 1, s.id, 'new')",
    },
    "NOT MATCHED BY SOURCE": {"delete": "DELETE", "mark": "UPDATE SET s = 'gone'"},
}


def _made(clause: Clause, t: Row | None, s: Row | None) -> Row | None:
    """The row the action leaves; None for DELETE."""
    match clause.action:
        case "delete":
            return None
        case "n":
            return (_cell(t, 0), _cell(s, 1), _cell(t, 2), _cell(t, 3))
        case "copy":
            return (_cell(t, 0), _cell(s, 1), _cell(s, 2), _cell(t, 3))
        case "both":
            joined = (
                None
                if _cell(t, 2) is None or _cell(s, 2) is None
                else f"{_cell(t, 2)}{_cell(s, 2)}"
            )
            summed = (
                None
                if _cell(t, 1) is None or _cell(s, 1) is None
                else int(_cell(t, 1)) + int(_cell(s, 1))
            )  # type: ignore[arg-type]
            return (_cell(t, 0), summed, joined, _cell(t, 3))
        case "mark":
            return (_cell(t, 0), _cell(t, 1), "gone", _cell(t, 3))
        case "all":
            return s
        case _:
            return (_cell(s, 0), None if _cell(s, 1) is None else int(_cell(s, 1)) + 1, None, "new")  # type: ignore[arg-type]


def merged(
    target: list[Row], source: list[Row], join: Test, clauses: list[Clause]
) -> Counter[Row] | None:
    """The target's rows behind MERGE; None for a cardinality violation."""

    def acting(match: str, t: Row | None, s: Row | None) -> Clause | None:
        return next(
            (c for c in clauses if c.match == match and (c.test is None or c.test.holds(t, s))),
            None,
        )

    left: Counter[Row] = Counter()
    matched_sources = set()
    for t in target:
        pairs = [number for number, s in enumerate(source) if join.holds(t, s)]
        matched_sources.update(pairs)
        candidates = [("MATCHED", source[number]) for number in pairs] or [
            ("NOT MATCHED BY SOURCE", None)
        ]
        changes = [
            (c, s) for match, s in candidates for c in [acting(match, t, s)] if c is not None
        ]
        if len(changes) > 1:
            return None
        row = _made(changes[0][0], t, changes[0][1]) if changes else t
        if row is not None:
            left[row] += 1
    for number, s in enumerate(source):
        clause = acting("NOT MATCHED", None, s) if number not in matched_sources else None
        if clause is not None:
            made = _made(clause, None, s)
            assert made is not None
            left[made] += 1
    return left


def random_row(chance: random.Random) -> Row:
    p = chance.choice([None, "x", "y/z=1", "ü"])
    return (
        chance.choice([None, *range(6)]),
        chance.choice([None, *range(8)]),
        chance.choice([None, "a", "b"]),
        p,
    )


def random_clauses(chance: random.Random) -> list[Clause]:
    """One to five clauses; in each kind only the last may be without a condition."""
    clauses: list[Clause] = []
    for match in chance.sample(list(ACTIONS), chance.randrange(1, 4)):
        count = chance.randrange(1, 3)
        for number in range(count):
            last = number == count - 1
            test = None if last and chance.random() < 0.5 else chance.choice(TESTS[match])
            clauses.append(Clause(match, test, chance.choice(list(ACTIONS[match]))))
    matched = [c for c in clauses if c.match == "MATCHED"]
    if {"delete"} < {c.action for c in matched} and matched[0].test is None:
        clauses.remove(matched[0])
    chance.shuffle(clauses)
    # A shuffle may bring a clause without a condition before others of its kind.
    return sorted(clauses, key=lambda c: c.test is None)
