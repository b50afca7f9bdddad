"""Arithmetic, values by condition and named functions: which are understood."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from acidsql.expressions.functions import CASTS
from acidsql.expressions.vectors.signals import NotUnderstood
from acidsql.expressions.vectors.vector import Vector

if TYPE_CHECKING:
    from acidsql.expressions.vectors.compiler import Compiler


def function(compiler: Compiler, name: str, given: Sequence[Vector]) -> Vector:
    """NotUnderstood."""
    if name in CASTS and len(given) == 1:
        return compiler.cast(given[0], CASTS[name])
    raise NotUnderstood(f"the function {name}")
