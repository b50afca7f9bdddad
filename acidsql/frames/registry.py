"""The frames of one session, by the names that its statements read them under."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import TYPE_CHECKING, Protocol

from acidsql.catalog.model import Table
from acidsql.errors import InterfaceError
from acidsql.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from acidsql.frames.spooling import Frame


class _Keeper(Protocol):
    def keep(self, rows_of: object, handed_out: Callable[[], object]) -> None: ...


class _Read(Protocol):
    @property
    def table(self) -> Table: ...


ONCE = "the:frame"
"""Names the frame of one statement: neither a table nor what is registered has a colon in it."""


@dataclass(slots=True, kw_only=True)
class Frames:
    """``None`` stands for a frame that Spark's session has as a view of that name."""

    _frames: dict[str, Frame | None] = field(default_factory=dict)
    _kept: list[Frame] = field(default_factory=list)

    def relations(self) -> Mapping[str, Table | None]:
        """What the binder reads under each name."""
        return {
            name: None if frame is None else frame.table for name, frame in self._frames.items()
        }

    def add(self, name: str, frame: Frame | None) -> None:
        """Gives a frame a name, in lower case. InterfaceError if it is taken."""
        self.check_free(name)
        self._frames[name] = frame

    def check_free(self, name: str) -> None:
        """InterfaceError for a name that a frame has."""
        if name in self._frames:
            hint = f'unregister("{name}") takes it away.'
            raise InterfaceError(f'a frame is registered as "{name}" already', hint=hint)

    def remove(self, name: str) -> bool:
        """Takes a name away. Whether it was a view of Spark's. The rows stay for results that have
        them. InterfaceError for a name that is none.
        """
        if name not in self._frames:
            known = ", ".join(self._frames) or "none"
            raise InterfaceError(f'no frame is registered as "{name}"', hint=f"There are {known}.")
        return self._frames.pop(name) is None

    @contextmanager
    def once(self, frame: Frame) -> Iterator[str]:
        """A frame for one statement, under the name that is given. Its rows go in the end."""
        with self.named(ONCE, frame), _closed(frame):
            yield ONCE

    @contextmanager
    def named(self, name: str, frame: Frame | None) -> Iterator[None]:
        """A frame under a name for a while."""
        self.add(name, frame)
        try:
            yield
        finally:
            del self._frames[name]

    def keep_for(self, result: _Keeper, reads: Sequence[_Read]) -> None:
        """Keeps the rows of the frames that a query reads until its result has gone, or for as
        long as the session is open where Spark's DataFrame is asked for.
        """
        if not self._frames:
            return
        locations = {read.table.location for read in reads}
        held = [f for f in self._frames.values() if f and f.table.location in locations]
        if held:
            result.keep(held, lambda: self._kept.extend(held))

    def close(self) -> None:
        """Forgets all frames."""
        self._frames.clear()
        self._kept.clear()


@contextmanager
def _closed(frame: Frame) -> Iterator[None]:
    try:
        yield
    finally:
        frame.close()
