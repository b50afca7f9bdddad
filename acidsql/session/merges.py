"""The text of a MERGE of a frame into a table: ON equal columns, and clauses of mere words or of
SQL expressions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from acidsql.catalog.model import Table
from acidsql.errors import BindError, InterfaceError
from acidsql.expressions.spark_words import identifier
from acidsql.frames.matching import table_columns
from acidsql.session.own_text import enclosed

_ACTIONS = {True: ("update", "delete"), False: ("insert",)}


class MergeText:
    """``on``: the columns whose values are equal in a match. InterfaceError, BindError."""

    def __init__(self, table: Table, on: Sequence[str], matched: Any, not_matched: Any) -> None:
        if isinstance(on, str) or not on:
            raise InterfaceError("on is a list of names of columns, one at least")
        self._table = table
        self._on = [column.name for column in table_columns(table, on)]
        self._clauses = [
            *((True, *one) for one in _clauses(matched, True)),
            *((False, *one) for one in _clauses(not_matched, False)),
        ]
        if not self._clauses:
            raise InterfaceError("the merge does nothing: give when_matched or when_not_matched")
        self._check_update()

    @property
    def takes_any(self) -> bool:
        """Whether the frame may have columns that the table has not: SQL may ask for them."""
        return any(
            condition is not None or isinstance(action, Mapping)
            for _, condition, action in self._clauses
        )

    @property
    def copies(self) -> bool:
        """Whether an action stores the frame's columns as they are, so that they must fit."""
        return any(isinstance(action, str) and action != "delete" for *_, action in self._clauses)

    @property
    def inserts_all(self) -> bool:
        """Whether the frame must have every column."""
        return any(action == "insert" for _, _, action in self._clauses)

    def expressions(self) -> list[str]:
        """All that was given as SQL, in the order of the text."""
        return [
            expression
            for _, condition, action in self._clauses
            for expression in (
                *(() if condition is None else (condition,)),
                *(action.values() if isinstance(action, Mapping) else ()),
            )
        ]

    def of(self, columns: Sequence[str], value: Callable[[str], str]) -> str:
        """What stands behind USING. ``columns``: the frame's, in lower case; ``value``: the SQL of
        one. BindError for a frame without the columns of ON.
        """
        if missing := [name for name in self._on if name not in columns]:
            raise BindError(f'the frame has no column "{missing[0]}", which rows are matched on')
        known = {c.name for c in (*self._table.columns, *self._table.partition_columns)}
        given = [name for name in columns if name in known]
        on = " AND ".join(f"t.{identifier(name)} = s.{identifier(name)}" for name in self._on)
        return "\n".join([f"ON {on}", *self._texts(given, value)])

    def _texts(self, columns: Sequence[str], value: Callable[[str], str]) -> Iterator[str]:
        for matched, condition, action in self._clauses:
            if action == "update":
                sets = {name: value(name) for name in columns if name not in self._on}
                if not sets:
                    raise BindError("the frame has no column to update beside those of on")
            elif action == "insert":
                sets = {name: value(name) for name in columns}
            else:
                sets = {} if isinstance(action, str) else enclosed_values(action)
            asked = "" if condition is None else f" AND {enclosed(condition)}"
            when = "WHEN MATCHED" if matched else "WHEN NOT MATCHED"
            yield f"{when}{asked} THEN {_action(matched, sets)}"

    def _check_update(self) -> None:
        """Refuses to update all of a row of which a part cannot be changed."""
        table = self._table
        fixed = [c.name for c in table.partition_columns]
        fixed += table.bucketing.columns if table.bucketing else ()
        left = [name for name in fixed if name not in self._on]
        if left and any(action == "update" for _, _, action in self._clauses):
            raise BindError(
                f'column "{left[0]}" says where a row lies and cannot be updated',
                hint="Add it to on=[..], or give when_matched={..} the columns to set.",
            )


def enclosed_values(values: Mapping[str, str]) -> dict[str, str]:
    """The values of columns as they are written in a statement."""
    return {
        name: text if text.strip().upper() == "DEFAULT" else enclosed(text)
        for name, text in values.items()
    }


def _action(matched: bool, sets: Mapping[str, str]) -> str:
    if not sets:
        return "DELETE"
    if matched:
        return "UPDATE SET " + ", ".join(f"{identifier(n)} = {v}" for n, v in sets.items())
    names = ", ".join(map(identifier, sets))
    return f"INSERT ({names}) VALUES ({', '.join(sets.values())})"


def _clauses(given: Any, matched: bool) -> list[tuple[str | None, Any]]:
    if given is None:
        return []
    several = isinstance(given, Sequence) and not isinstance(given, str)
    clauses: list[Any] = list(given) if several else [(None, given)]
    for clause in clauses:
        if not isinstance(clause, Sequence) or isinstance(clause, str) or len(clause) != 2:
            raise InterfaceError("a clause of a merge is a condition, or None, and an action")
        _check_action(clause[1], matched)
    return [(condition, action) for condition, action in clauses]


def _check_action(action: Any, matched: bool) -> None:
    words = _ACTIONS[matched]
    name = "when_matched" if matched else "when_not_matched"
    if isinstance(action, Mapping):
        if not action:
            raise InterfaceError(f"{name} names one column at least")
    elif action not in words:
        known = " or ".join(f'"{word}"' for word in words)
        raise InterfaceError(f"{name} is {known}, a mapping of columns to SQL, or None")
