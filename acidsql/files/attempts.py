"""Work on files in another process: errors of ours come back as values, to be raised where the
statement runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from acidsql.errors import Error
from acidsql.files.fileio import FileIO

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
Work = Callable[[FileIO, _Item], _Result]


def attempt(
    work: Work[_Item, _Result], io: FileIO, item: _Item
) -> tuple[_Result | Any, Error | None]:
    """The result of the work, or the error it ends with."""
    try:
        return work(io, item), None
    except Error as error:
        return None, error
