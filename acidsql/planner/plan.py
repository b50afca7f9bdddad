"""What a statement will do, before anything is opened: reads, sinks, statement ids. Pure data; ``explain`` prints it."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

Scalar = bool | int | float | str | bytes | Decimal | datetime.date | datetime.datetime


class Comparison(StrEnum):
    EQUAL = "="
    LESS = "<"
    LESS_EQUAL = "<="
    GREATER = ">"
    GREATER_EQUAL = ">="
    IN = "IN"
    IS_NULL = "IS NULL"
    IS_NOT_NULL = "IS NOT NULL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicate:
    """A conjunct ``column op value`` that a scan may use to skip data; the whole condition is still evaluated after it.

    ``values`` has one entry, several for IN, none for IS [NOT] NULL.
    """

    column: str
    op: Comparison
    values: tuple[Scalar, ...] = ()

    def __str__(self) -> str:
        shown = [f"'{v}'" if isinstance(v, str | datetime.date) else str(v) for v in self.values]
        match self.op:
            case Comparison.IS_NULL | Comparison.IS_NOT_NULL:
                return f"{self.column} {self.op}"
            case Comparison.IN:
                return f"{self.column} IN ({', '.join(shown)})"
            case _:
                return f"{self.column} {self.op} {shown[0]}"
