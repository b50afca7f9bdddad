"""What an expression is compiled to for whole batches, and what is said of one that is not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from acidsql.catalog.types import HiveType
from acidsql.expressions.tree import Constant
from acidsql.lazy_dataclass import dataclass

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Vector:
    """``type``: Spark's type of the result; of a mere column its own, with the length of char and
    varchar.

    ``evaluate`` gives an Array, or a Scalar for a column of one value. ``literal``: where the
    expression is no more than one.
    """

    type: HiveType
    evaluate: Callable[[pa.RecordBatch], Any] = field(compare=False, repr=False)
    literal: Constant | None = None

    def run(self, batch: pa.RecordBatch) -> pa.Array:
        """A value for each row, of the Arrow type of ``type`` (``catalog.arrow_types``); a
        timestamp is a wall clock. NotHere.
        """
        from acidsql.expressions.kernels import comparing

        return comparing.result(self.evaluate, batch, self.type)


# ---- what passes between the parts of the compiler


class Kernels:
    """The functions of a module of ``expressions.kernels``, which is imported when one is called:
    Arrow is not needed before there are values. Stands for the module beside an import of it for
    the types alone.
    """

    def __init__(self, module: str) -> None:
        self._module = f"acidsql.expressions.kernels.{module}"

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *arguments: getattr(import_module(self._module), name)(*arguments)


def applied(kernel: Callable[..., Any], *arguments: Vector) -> Callable[[Any], Any]:
    """What evaluates a kernel of these vectors."""
    if len(arguments) == 1:
        [only] = arguments
        return lambda batch: kernel(only.evaluate(batch))
    return lambda batch: kernel(*(argument.evaluate(batch) for argument in arguments))
