"""Literals that their column cannot hold.

A warning and what is left of them, as in Hive, or an error under ``acidsql.ansi``.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

from acidsql.catalog.model import Column
from acidsql.errors import DataError, LossWarning, Warning
from acidsql.expressions.plain import Lossy, NotPlain
from acidsql.expressions.stores import stored
from acidsql.parser.statements import Fragment

MAX_WARNINGS = 20
_LONGEST = 60


class _Computed(Enum):
    COMPUTED = "computed"


COMPUTED = _Computed.COMPUTED
"""Stands for a value only Spark can tell."""


class Losses:
    """What the literals of one statement lose.

    ``strict``: a loss that strict SQL refuses is an error.
    """

    def __init__(self, warn: Callable[[Warning], None], *, strict: bool) -> None:
        self.warn = warn
        self.strict = strict
        self.count = 0

    def stored(self, cell: Fragment, column: Column) -> Any:
        """The value of an expression if it is a literal, else COMPUTED.

        DataError, at its place, for a loss that is refused.
        """
        try:
            value = stored(cell.text, column.type)
        except NotPlain:
            return COMPUTED
        if not isinstance(value, Lossy):
            return value
        self._note(cell, column, value)
        return value.value

    def _note(self, cell: Fragment, column: Column, lossy: Lossy) -> None:
        message = (
            f'column "{column.name}" of type {column.type} cannot hold {_shown(cell.text.strip())}'
        )
        if self.strict and lossy.refused:
            hint = "SET acidsql.ansi=false stores what is left of it, or NULL, with a warning."
            raise DataError(message, hint=hint, span=cell.span)
        self.count += 1
        if self.count <= MAX_WARNINGS:
            kept = "NULL" if lossy.value is None else _shown(str(lossy.value))
            self.warn(LossWarning(f"{message}: {kept} is stored", span=cell.span))
        elif self.count == MAX_WARNINGS + 1:
            self.warn(LossWarning("more literals of the statement do not fit their columns"))


def _shown(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST] + ".."
