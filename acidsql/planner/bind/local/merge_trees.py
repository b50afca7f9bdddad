"""A MERGE that is understood in all its parts, as trees over pairs of rows: plain data, which the
binder fills and ``local.merges`` carries out.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from acidsql.catalog.types import HiveType
from acidsql.expressions.tree import Condition
from acidsql.lazy_dataclass import dataclass
from acidsql.planner.bind.local.query_trees import Semantics, Stored

if TYPE_CHECKING:
    from acidsql.planner.bind.bound import BoundQuery


def of_target(name: str) -> str:
    """What trees call a column of the target."""
    return f"target.{name}"


def of_source(name: str) -> str:
    """What trees call a column of the source."""
    return f"source.{name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalClause:
    """``values``: see BoundMergeClause."""

    condition: Condition | None
    values: tuple[Stored, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalKey:
    """Values of the target and of the source whose equality ON asks for, both of one type."""

    target: Condition
    source: Condition


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalMerge:
    """``source`` gives the source's rows, of columns ``source_types``. ``columns``: those of the
    target that trees name. ``rest``: what ON says besides that the ``keys`` are equal.
    """

    source: BoundQuery
    source_types: tuple[tuple[str, HiveType], ...]
    columns: tuple[tuple[str, HiveType], ...]
    keys: tuple[LocalKey, ...]
    rest: Condition | None
    clauses: tuple[LocalClause, ...]
    semantics: Semantics
    types: dict[str, HiveType] = field(compare=False)
    """The type of every column that trees may name."""
