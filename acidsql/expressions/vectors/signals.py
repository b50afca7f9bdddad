"""What passes between the parts of the compiler."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from acidsql.expressions.vectors.vector import Vector


class Kernels:
    """The functions of a module of ``expressions.kernels``, which is imported when one is called:
    Arrow is not needed before there are values.
    """

    def __init__(self, name: str) -> None:
        self._name = f"acidsql.expressions.kernels.{name}"

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return self.named(name)

    def named(self, name: str) -> Callable[..., Any]:
        return lambda *arguments: getattr(import_module(self._name), name)(*arguments)


def applied(kernel: Callable[..., Any], *arguments: Vector) -> Callable[[Any], Any]:
    """What evaluates a kernel of these vectors."""
    if len(arguments) == 1:
        [only] = arguments
        return lambda batch: kernel(only.evaluate(batch))
    return lambda batch: kernel(*(argument.evaluate(batch) for argument in arguments))
