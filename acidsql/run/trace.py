"""The operators of a statement that ran, and what they came to: rows, files, bytes, seconds."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from acidsql.expressions.not_here import NotHere
from acidsql.lazy_dataclass import dataclass
from acidsql.plan.operators import Operator, Ran

if TYPE_CHECKING:
    from acidsql.storage.write.target import Written


@dataclass(slots=True)
class Figures:
    """The figures of an operator that runs; None where nobody knows."""

    rows: int | None = None
    files: int | None = None
    bytes: int | None = None


def note_written(written: Written, figures: Figures) -> None:
    """What is told of files that were written."""
    figures.rows = written.inserted + written.updated + written.deleted
    figures.files = len(written.directories) or None


class Trace:
    """Notes what one statement, or one leg of it, did. ``notes``: whether anybody asks."""

    def __init__(self, *, notes: bool = True) -> None:
        self._notes = notes
        self.ran: list[Ran] = []

    @contextmanager
    def running(self, operator: Operator) -> Iterator[Figures]:
        """Notes an operator once it has gone well, or has begun and shown that another way is to
        be taken (NotHere).
        """
        figures = Figures()
        started = time.perf_counter()
        try:
            yield figures
        except NotHere as signal:
            if signal.begun:
                self._note(operator, figures, time.perf_counter() - started, in_vain=True)
            raise
        self._note(operator, figures, time.perf_counter() - started)

    def _note(
        self, operator: Operator, figures: Figures, seconds: float, *, in_vain: bool = False
    ) -> None:
        if not self._notes:
            return
        ran = Ran(
            operator=operator,
            seconds=seconds,
            rows=figures.rows,
            files=figures.files,
            bytes=figures.bytes,
            in_vain=in_vain,
        )
        self.ran.append(ran)


UNTRACED = Trace(notes=False)
"""For work that is part of no statement's plan."""
