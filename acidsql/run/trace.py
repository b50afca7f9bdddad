"""The announced steps of a statement that ran, and what they came to: rows, files,
bytes, seconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from acidsql.errors import InternalError
from acidsql.expressions.not_here import NotHere
from acidsql.lazy_dataclass import dataclass
from acidsql.plan.operators import Choose, Ran, Step

S = TypeVar("S", bound=Any)


@dataclass(slots=True)
class Figures:
    """The figures of a step that runs; None where nobody knows. ``in_vain``: it turned out that
    another way must be taken.
    """

    rows: int | None = None
    files: int | None = None
    bytes: int | None = None
    in_vain: bool = False


def all_steps(steps: tuple[Step, ...]) -> Iterator[Step]:
    """Every step, those of each way included."""
    for step in steps:
        yield step
        if isinstance(step, Choose):
            for way in step.ways:
                yield from all_steps(way.steps)


class Trace:
    """Notes what one statement, or one leg of it, did. ``steps``: what its plan announces; None
    notes nothing.
    """

    def __init__(self, steps: tuple[Step, ...] | None) -> None:
        self._announced = None if steps is None else tuple(all_steps(steps))
        self.ran: list[Ran] = []

    @contextmanager
    def running(self, step: Step) -> Iterator[Figures]:
        """Notes a step once it has gone well, or shown that it is Spark's (NotHere).
        InternalError for one that was not announced: EXPLAIN would not be what runs.
        """
        if self._announced is not None and not any(
            step is one or step == one for one in self._announced
        ):
            raise InternalError(f"step {type(step).__name__} is not in the plan")
        figures = Figures()
        started = time.perf_counter()
        try:
            yield figures
        except NotHere:
            figures.in_vain = True
            self._note(step, figures, time.perf_counter() - started)
            raise
        self._note(step, figures, time.perf_counter() - started)

    def _note(self, step: Step, figures: Figures, seconds: float) -> None:
        if self._announced is None:
            return
        ran = Ran(
            step=step,
            seconds=seconds,
            rows=figures.rows,
            files=figures.files,
            bytes=figures.bytes,
            in_vain=figures.in_vain,
        )
        self.ran.append(ran)

    @contextmanager
    def running_a(
        self, kind: type[S], wanted: Callable[[S], bool] = lambda step: True
    ) -> Iterator[Figures]:
        """Notes the first announced step of a kind that is ``wanted``, as ``running`` does."""
        if self._announced is None:
            yield Figures()
            return
        step = next((one for one in self._announced if isinstance(one, kind) and wanted(one)), None)
        if step is None:
            raise InternalError(f"no step {kind.__name__} is in the plan")
        with self.running(step) as figures:
            yield figures


UNTRACED = Trace(None)
"""For work that is part of no statement's plan."""
