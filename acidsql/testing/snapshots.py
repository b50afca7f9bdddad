"""Golden files and the texts of ``acidsql_snapshot`` as syrupy keeps them: one readable file each.

Imported only where syrupy is: it is the extra ``acidsql[pytest]``.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from syrupy.data import SnapshotCollections
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from syrupy.terminal import bold, context_style, received_style, snapshot_style

from acidsql.errors import Error, Warning
from acidsql.testing.items import GoldenItem, OrphanItem, orphans
from acidsql.testing.texts import FileChanges

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion
    from syrupy.data import SnapshotCollection
    from syrupy.location import PyTestLocation
    from syrupy.types import SerializableData, SnapshotIndex

CONTEXT = 3
"""Lines around a difference."""
STATEMENT = re.compile(r"\w*> ")
"""How the line begins that repeats a statement."""
_HUNK = re.compile(r"@@ -(\d+)")
_BLANKS = re.compile(r"[ \r]+$")


class TextFile(SingleFileSnapshotExtension):
    """A file of text, kept byte for byte and compared line by line."""

    _write_mode = WriteMode.TEXT
    file_extension = "out"

    def read_snapshot_data_from_location(
        self, *, snapshot_location: str, snapshot_name: str, session_id: str
    ) -> str | None:
        """The text of a file; a byte that is not UTF-8 shows as ``\\xff`` does here. None without a
        file.
        """
        try:
            return Path(snapshot_location).read_bytes().decode("utf-8", "backslashreplace")
        except FileNotFoundError:
            return None

    @classmethod
    def write_snapshot_collection(
        cls, *, snapshot_collection: SnapshotCollection, **_: Any
    ) -> None:
        (snapshot,) = snapshot_collection
        Path(snapshot_collection.location).write_bytes(str(snapshot.data).encode())

    def diff_lines(
        self, serialized_data: SerializableData, snapshot_data: SerializableData
    ) -> Iterator[str]:
        """A unified diff whose hunks name the statement they are about."""
        expected, actual = str(snapshot_data).split("\n"), str(serialized_data).split("\n")
        lines = list(difflib.unified_diff(expected, actual, n=CONTEXT, lineterm=""))
        for number, line in enumerate(lines[2:], start=3):  # the first two name files
            if (hunk := _HUNK.match(line)) is not None:
                same = next(n for n, near in enumerate(lines[number:]) if near[:1] != " ")
                statement = _statement_at(expected, int(hunk[1]) + same)
                yield bold(f"{line} {statement}".rstrip())
            else:
                yield _styled(line)


def _styled(line: str) -> str:
    match line[:1]:
        case "-":
            return snapshot_style(_with_ends(line))
        case "+":
            return received_style(_with_ends(line))
        case _:
            return context_style(line.rstrip())


def _with_ends(line: str) -> str:
    """The line with marks for blanks at its end, which would not be seen."""
    return line[:1] + _BLANKS.sub(
        lambda blanks: blanks[0].replace(" ", "·").replace("\r", "␍"), line[1:]
    )


def _statement_at(expected: Sequence[str], number: int) -> str:
    """The first line of the statement that the line of this number belongs to."""
    before = [n for n in range(min(number, len(expected))) if STATEMENT.match(expected[n])]
    first = before[-1] if before else None
    while first and STATEMENT.match(expected[first - 1]):
        first -= 1
    return "" if first is None else expected[first]


class GoldenFileExtension(TextFile):
    """The ``.out`` beside a ``.sql``, one for all variants of a script. Unused is an ``.out`` whose
    ``.sql`` is gone, and no other: that of a script that failed, or was not selected, is kept.
    """

    @classmethod
    def get_snapshot_name(cls, *, test_location: PyTestLocation, index: SnapshotIndex = 0) -> str:
        return Path(test_location.filepath).stem

    @classmethod
    def dirname(cls, *, test_location: PyTestLocation) -> str:
        return str(Path(test_location.filepath).parent)

    @classmethod
    def discovery_dirname(cls, *, test_location: PyTestLocation) -> str:
        return cls.dirname(test_location=test_location)

    @classmethod
    def matches_test_location(
        cls, *, test_location: PyTestLocation, snapshot_location: str
    ) -> bool:
        return Path(test_location.filepath).with_suffix(".out") == Path(snapshot_location)

    def discover_snapshots(
        self, *, test_location: PyTestLocation, ignore_extensions: list[str] | None = None
    ) -> SnapshotCollections:
        unused = SnapshotCollections()
        if isinstance(test_location.item, GoldenItem | OrphanItem):
            for path in orphans(Path(test_location.filepath).parent):
                unused.add(self.read_snapshot_collection(snapshot_location=str(path)))
        return unused


class ValueExtension(TextFile):
    """What a Python test has compared, in ``__snapshots__/test_file/test_name.out``."""

    def serialize(self, data: SerializableData, *, matcher: Any = None, **_: Any) -> str:
        """The text of a Result, an error, a plan or other text, or of FileChanges. TypeError for
        anything else.
        """
        text = value_text(data)
        return f"{text if matcher is None else matcher(data=text, path=())}\n"


def value_text(data: object) -> str:
    """What a snapshot says of a value. TypeError for one it says nothing of."""
    from acidsql.result import Result
    from acidsql.testing.texts import error_text, result_text

    match getattr(data, "value", None) if type(data).__name__ == "ExceptionInfo" else data:
        case Result() as result:
            return result_text(result)
        case Error() | Warning() as error:
            return error_text(error)
        case FileChanges() as files:
            return str(files)
        case str() as text:
            return text
        case _:
            raise TypeError(
                "acidsql_snapshot compares a Result, an error, a text such as a plan, and file"
                f" changes, not {type(data).__name__}"
            )


def with_values(snapshot: object, mask: Callable[[str], str]) -> SnapshotAssertion:
    """The assertion that keeps values as ``value_text`` says them. mask: takes from a text what is
    different in each run.
    """

    def matcher(*, data: str, path: object) -> str:
        return mask(data)

    return checked(snapshot).with_defaults(extension_class=ValueExtension, matcher=matcher)


def checked(snapshot: object) -> SnapshotAssertion:
    """The fixture ``snapshot`` as syrupy's. TypeError where another plugin has taken its name."""
    from syrupy.assertion import SnapshotAssertion

    if not isinstance(snapshot, SnapshotAssertion):
        raise TypeError(f"the fixture snapshot is {type(snapshot).__name__}, not syrupy's")
    return snapshot
