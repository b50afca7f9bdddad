"""The frames of one session, by the names that its statements read them under."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import TYPE_CHECKING, Protocol

from acidsql.catalog.model import Table
from acidsql.errors import Error, InterfaceError, Span
from acidsql.lazy import dataclass

if TYPE_CHECKING:
    import pyarrow as pa

    from acidsql.catalog.path_relation import CopiedFiles, FileSource, FileStamp
    from acidsql.frames.returned import Returned
    from acidsql.frames.spooling import Frame


class _Keeper(Protocol):
    def keep(self, rows_of: object, handed_out: Callable[[], object]) -> None: ...


class _Read(Protocol):
    @property
    def table(self) -> Table: ...


class _Placed(_Read, Protocol):
    @property
    def span(self) -> Span: ...


ONCE = "the:frame"
"""Names the frame of one statement: neither a table nor what is registered has a colon in it."""


@dataclass(slots=True, kw_only=True)
class Frames:
    """``None`` stands for a frame that Spark's session has as a view of that name. ``_files``: what
    the statement that is planned or runs reads of files, by these and their state.
    """

    _frames: dict[str, Frame | None] = field(default_factory=dict)
    _kept: list[Frame] = field(default_factory=list)
    _files: dict[tuple[object, ...], Frame] = field(default_factory=dict)
    _returned: dict[str, Returned] = field(default_factory=dict)

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
        if not self._frames and not self._files:
            return
        locations = {read.table.location for read in reads}
        frames = (*self._frames.values(), *self._files.values())
        held = [f for f in frames if f and f.table.location in locations]
        if held:
            result.keep(held, lambda: self._kept.extend(held))

    # ---- files that statements name

    def of_files(self, source: FileSource, directory: str) -> Table:
        """Files as a relation, whose rows wait to be read. BindError, DataError."""
        from acidsql.frames.file_sources import batches_of, stamps_of
        from acidsql.frames.spooling import Frame

        stamps = stamps_of(source)
        key = (source, stamps)
        if key not in self._files:
            batches = batches_of(source, stamps)
            self._files[key] = Frame.unread(source.name, batches, directory)
        return self._files[key].table

    def copied_columns(self, source: FileSource, file: FileStamp) -> tuple[str, ...] | None:
        """The names of a file's columns, None where it has none. BindError, DataError."""
        from acidsql.frames.copying.pieces import file_columns
        from acidsql.frames.file_sources import named_in_errors
        from acidsql.frames.fitting import by_lower_name

        with named_in_errors(file.path):
            names = file_columns(source, file)
        by_lower_name(names or ())
        return None if names is None else tuple(names)

    def of_copied(self, files: CopiedFiles, directory: str) -> tuple[Table, Table]:
        """Relations of the rows of files that fit the columns of a table, and of those that do
        not. They wait to be read, in this order.
        """
        from acidsql.frames.copying.copied import CopiedRows
        from acidsql.frames.spooling import Frame

        fitting, misfits = (files, "rows"), (files, "misfits")
        if fitting not in self._files:
            rows, name = CopiedRows(files), files.source.name
            columns = files.columns
            self._files[fitting] = Frame.unread(name, rows.fitting(), directory, columns)
            self._files[misfits] = Frame.unread(f"{name}_rejects", rows.misfits(), directory)
        return self._files[fitting].table, self._files[misfits].table

    # ---- rows that statements give back

    def returned(self, table: Table, directory: str) -> Table:
        """A relation of the rows that are to be written to a table, which ``fill`` gives it."""
        from acidsql.frames.returned import Returned

        relation = Returned(table, directory)
        location = relation.frame.table.location
        self._files[location,] = relation.frame
        self._returned[location] = relation
        return relation.frame.table

    def fill(self, relation: Table, rows: Sequence[pa.Table]) -> None:
        """Gives a relation of ``returned`` its rows."""
        self._returned.pop(relation.location).fill(list(rows))

    def read_files(self, reads: Iterable[_Placed]) -> None:
        """Reads the rows of files that a statement is about to ask for. DataError, at the place
        where it names them.
        """
        waiting = {frame.table.location: frame for frame in self._files.values()}
        for read in reads:
            frame = waiting.get(read.table.location)
            if frame is not None:
                try:
                    frame.read()
                except Error as error:
                    error.span = error.span or read.span
                    raise

    @contextmanager
    def of_statement(self) -> Iterator[None]:
        """Around a statement that runs: what was read for it goes, unless its result has it."""
        try:
            yield
        finally:
            self._files.clear()
            self._returned.clear()

    def close(self) -> None:
        """Forgets all frames."""
        self._frames.clear()
        self._files.clear()
        self._returned.clear()
        self._kept.clear()


@contextmanager
def _closed(frame: Frame) -> Iterator[None]:
    try:
        yield
    finally:
        frame.close()
