"""Values by condition. The first four are ``functions.Compile``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from acidsql.catalog.types import HiveType
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.tree import VOID
from acidsql.expressions.values import BOOLEAN, STRING, unified_type
from acidsql.expressions.vectors.truths import comparison, logical
from acidsql.expressions.vectors.vector import Kernels, Vector, applied

if TYPE_CHECKING:
    from acidsql.expressions.kernels import choosing, comparing
    from acidsql.expressions.vectors.compiler import Compiler
else:
    choosing, comparing = Kernels("choosing"), Kernels("comparing")


def case(compiler: Compiler, name: str, given: Sequence[Vector]) -> Vector | None:
    """CASE and IF."""
    if name == "CASE" and any(one.type == VOID for one in given[:-1:2]):
        raise NotHere("NULL as a condition")
    understood = len(given) >= 3 and len(given) % 2 and (name == "CASE" or len(given) == 3)
    return _case(compiler, given) if understood else None


def by_null(compiler: Compiler, name: str, given: Sequence[Vector]) -> Vector | None:
    """NVL2."""
    if len(given) != 3:
        return None
    known = Vector(BOOLEAN, applied(comparing.is_not_null, given[0]))
    return _case(compiler, (known, *given[1:]))


def null_if(compiler: Compiler, name: str, given: Sequence[Vector]) -> Vector | None:
    """NULLIF."""
    if len(given) != 2:
        return None
    value, other = given
    equal = comparison(compiler, "=", value, other)
    return _case(compiler, (equal, compiler.constant(None, VOID), value))


def first_value(compiler: Compiler, name: str, given: Sequence[Vector]) -> Vector | None:
    """COALESCE, and NVL and IFNULL of two."""
    if not given or (name != "COALESCE" and len(given) != 2):
        return None
    hive_type = _common(compiler, given)
    *values, last = (compiler.cast(value, hive_type) for value in given)
    known = (Vector(BOOLEAN, applied(comparing.is_not_null, value)) for value in values)
    return _chosen(list(zip(known, values, strict=True)), last)


def _case(compiler: Compiler, given: Sequence[Vector]) -> Vector:
    *branches, otherwise = given
    conditions = [logical(compiler, condition) for condition in branches[::2]]
    hive_type = _common(compiler, [*branches[1::2], otherwise])
    *values, last = (compiler.cast(value, hive_type) for value in (*branches[1::2], otherwise))
    return _chosen(list(zip(conditions, values, strict=True)), last)


def _chosen(pairs: Sequence[tuple[Vector, Vector]], otherwise: Vector) -> Vector:
    return Vector(otherwise.type, partial(_evaluate, pairs, otherwise))


def _evaluate(pairs: Sequence[tuple[Vector, Vector]], otherwise: Vector, batch: Any) -> Any:
    return choosing.case(pairs, otherwise, batch)


def _common(compiler: Compiler, values: Sequence[Vector]) -> HiveType:
    types = [value.type for value in values]
    hive_type = unified_type(types, ansi=compiler.ansi)
    if hive_type is None or (hive_type == STRING and not {*types} <= {STRING, VOID}):
        raise NotHere("a value of " + " or ".join(map(str, dict.fromkeys(types))))
    return hive_type
