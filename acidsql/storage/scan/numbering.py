"""Files whose rows are numbered one after the other, which is nearly all of them."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

from acidsql.storage.columns import Longs
from acidsql.storage.footers import FileKey, ScanFile

MAX_KEPT = 4096
"""Files that are remembered for the next scan."""


class Numbering:
    """What one session has seen of the order of rows in files.

    A footer tells that a file has each number of a range once, but not that it has them in their
    order: the first scan that reads the numbers tells it. A file never changes, so further scans
    count instead of reading them. It may be asked and told in several threads.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._seen: OrderedDict[FileKey, set[int]] = OrderedDict()

    def holds(self, file: ScanFile) -> bool:
        """Whether all stripes were seen to be numbered from the one in the footer on."""
        with self._lock:
            seen = self._seen.get(file.key)
            if seen is not None:
                self._seen.move_to_end(file.key)
            return seen is not None and len(seen) == len(file.stripes)

    def note(self, file: ScanFile, stripe: int, rows: Longs, first: int) -> bool:
        """Whether ``rows``, the numbers of the rows of a stripe, are ``first`` and those behind it,
        which is kept.
        """
        if not len(rows) or int(rows[0]) != first or int(rows[-1]) != first + len(rows) - 1:
            return False
        if not (rows[1:] > rows[:-1]).all():
            return False
        with self._lock:
            self._seen.setdefault(file.key, set()).add(stripe)
            while len(self._seen) > MAX_KEPT:
                self._seen.popitem(last=False)
        return True
