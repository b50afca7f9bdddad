"""Values by condition: CASE and what is short for it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from acidsql.catalog.types import HiveType
from acidsql.expressions.coercion import unified_type
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.tree import VOID
from acidsql.expressions.values import BOOLEAN, STRING
from acidsql.expressions.vectors.signals import Kernels, applied
from acidsql.expressions.vectors.truths import comparison, logical
from acidsql.expressions.vectors.vector import Vector

if TYPE_CHECKING:
    from acidsql.expressions.vectors.compiler import Compiler

_choosing = Kernels("choosing")
_comparing = Kernels("comparing")


def choice(compiler: Compiler, name: str, given: Sequence[Vector]) -> Vector | None:
    """None for what chooses nothing. NotHere."""
    match name, given:
        case "CASE", [*branches, _] if any(one.type == VOID for one in branches[::2]):
            raise NotHere("NULL as a condition")
        case "CASE" | "IF", [_, _, *_] if len(given) % 2 and (name == "CASE" or len(given) == 3):
            return _case(compiler, given)
        case "NVL2", [value, yes, no]:
            known = Vector(BOOLEAN, applied(_comparing.is_not_null, value))
            return _case(compiler, (known, yes, no))
        case "NULLIF", [value, other]:
            equal = comparison(compiler, "=", value, other)
            return _case(compiler, (equal, compiler.constant(None, VOID), value))
        case "COALESCE" | "NVL" | "IFNULL", [_, *_] if name == "COALESCE" or len(given) == 2:
            return _first_value(compiler, given)
    return None


def _case(compiler: Compiler, given: Sequence[Vector]) -> Vector:
    *branches, otherwise = given
    conditions = [logical(compiler, condition) for condition in branches[::2]]
    hive_type = _common(compiler, [*branches[1::2], otherwise])
    *values, last = (compiler.cast(value, hive_type) for value in (*branches[1::2], otherwise))
    return _chosen(list(zip(conditions, values, strict=True)), last)


def _chosen(pairs: Sequence[tuple[Vector, Vector]], otherwise: Vector) -> Vector:
    return Vector(otherwise.type, partial(_evaluate, pairs, otherwise))


def _evaluate(pairs: Sequence[tuple[Vector, Vector]], otherwise: Vector, batch: Any) -> Any:
    return _choosing.case(pairs, otherwise, batch)


def _first_value(compiler: Compiler, given: Sequence[Vector]) -> Vector:
    hive_type = _common(compiler, given)
    *values, last = (compiler.cast(value, hive_type) for value in given)
    known = (Vector(BOOLEAN, applied(_comparing.is_not_null, value)) for value in values)
    return _chosen(list(zip(known, values, strict=True)), last)


def _common(compiler: Compiler, values: Sequence[Vector]) -> HiveType:
    types = [value.type for value in values]
    hive_type = unified_type(types, ansi=compiler.ansi)
    if hive_type is None or (hive_type == STRING and not {*types} <= {STRING, VOID}):
        raise NotHere("a value of " + " or ".join(map(str, dict.fromkeys(types))))
    return hive_type
