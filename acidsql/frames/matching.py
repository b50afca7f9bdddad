"""Which columns of a frame are which of a table: by name, whatever the case of its letters."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from acidsql.catalog.model import Column, Table
from acidsql.errors import BindError, ColumnNotFoundError
from acidsql.utf8 import check_text


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
