"""The two shapes of answer that commands give: nothing, or one column of names."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable

from acidsql.result import Result, Stats


def done(notes: Iterable[str] = ()) -> Result:
    return Result((), Stats(), notes=notes)


def one_column(column: str, values: Iterable[str]) -> Result:
    return Result.of_text(Stats(), [column], [[value] for value in values])


def matching(names: Iterable[str], pattern: str | None) -> list[str]:
    """Hive's patterns: ``*`` (or LIKE's ``%``) for any characters, ``.`` or ``?`` for one, ``|``
    between choices; any case.
    """
    if pattern is None:
        return list(names)
    choices = [p.strip().lower().replace("%", "*").replace(".", "?") for p in pattern.split("|")]
    return [n for n in names if any(fnmatch.fnmatchcase(n, c) for c in choices)]
