"""Directories of write ids that were never given out here: others wrote them. Whether their
transactions were committed is not in the files, and so it is never taken for granted.

What a directory itself proves: a base that Hive 3 has compacted, and what acidsql has, hold rows of
committed transactions alone. Of what Hive 4 has compacted (``_v21``) transaction 21 may have
failed; that it has not is proved where all is gone that it was made of. A wide delta alone proves
nothing: a stream's holds rows of aborted transactions, too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from acidsql.acid.acid_directory import id_range, takes_in
from acidsql.acid.bases import BaseKind, parse_marker
from acidsql.acid.compacted import INPUTS_FILE, partner, partner_file
from acidsql.acid.ids import WriteId
from acidsql.acid.paths import (
    METADATA_FILE,
    NO_VISIBILITY,
    Base,
    DirectoryName,
    is_reserved,
    parse_directory,
)
from acidsql.catalog.model import Table
from acidsql.errors import FormatError, OperationalError, Warning
from acidsql.files.fileio import FileIO
from acidsql.files.urls import is_inside, path_of
from acidsql.lazy_dataclass import dataclass

MOST_NAMED = 5
"""The most directories that a message names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Undeclared:
    """What lies in a table's directories above the write ids that were given out. ``undecided``:
    the paths of the directories that do not prove themselves what became of their write ids, with
    these; ``lowest`` and ``highest``: of all directories, also of those that do.
    """

    undecided: Mapping[str, tuple[WriteId, WriteId]]
    lowest: WriteId
    highest: WriteId

    @property
    def write_ids(self) -> list[WriteId]:
        """The write ids of which it is to be said what became of them."""
        ranges = self.undecided.values()
        return sorted({WriteId(i) for low, high in ranges for i in range(low, high + 1)})


def find_undeclared(
    io: FileIO, table: Table, locations: Iterable[str], given_out: WriteId
) -> Undeclared | None:
    """What there is above ``given_out``, None for nothing. ``locations``: of the partitions; what
    lies below the table is looked at in any case. OSError.
    """
    undecided: dict[str, tuple[WriteId, WriteId]] = {}
    ranges: list[tuple[WriteId, WriteId]] = []
    for root, names in sorted(_roots(io, table, locations).items()):
        above = {n: parsed for n, parsed in names.items() if id_range(parsed)[1] > given_out}
        if not above:
            continue
        ranges += [id_range(parsed)[:2] for parsed in above.values()]
        proven = [p for n, p in names.items() if _is_proven(io, root, n, names)]
        for name, parsed in sorted(above.items()):
            if parsed not in proven and not any(takes_in(one, parsed) for one in proven):
                low, high, _ = id_range(parsed)
                undecided[f"{root}/{name}"] = (WriteId(max(low, given_out + 1)), high)
    if not ranges:
        return None
    lowest, highest = min(low for low, _ in ranges), max(high for _, high in ranges)
    return Undeclared(undecided=undecided, lowest=lowest, highest=highest)


def _roots(
    io: FileIO, table: Table, locations: Iterable[str]
) -> Mapping[str, dict[str, DirectoryName]]:
    """The ACID directories by the directory they lie in."""
    home = path_of(table.location)
    elsewhere = sorted({path for at in locations if not is_inside(path := path_of(at), home)})
    roots: defaultdict[str, dict[str, DirectoryName]] = defaultdict(dict)
    for top in (home, *elsewhere):
        for path in io.listing(top).directories:
            above, _, name = path.rpartition("/")
            if not is_reserved(name) or any(map(is_reserved, above.split("/"))):
                continue
            parsed = parse_directory(name)
            if parsed is not None:
                roots[f"{top}/{above}".rstrip("/")][name] = parsed
    return roots


def _is_proven(io: FileIO, root: str, name: str, names: Mapping[str, DirectoryName]) -> bool:
    """Whether a directory proves that it holds nothing but committed rows, and all of them."""
    parsed = names[name]
    if parsed.visibility_txn_id != NO_VISIBILITY:
        # what one transaction has compacted: both kinds of a range, or a base
        others = [p for p in names.values() if p.visibility_txn_id != parsed.visibility_txn_id]
        return not any(takes_in(parsed, other) for other in others)
    if isinstance(parsed, Base):
        marker = f"{root}/{name}/{METADATA_FILE}"
        try:
            return io.exists(marker) and parse_marker(io.read(marker)) is BaseKind.COMPACTED
        except FormatError:
            return False
    low, high, _ = id_range(parsed)
    if low == high or not io.exists(f"{root}/{name}/{INPUTS_FILE}"):
        return False
    is_half = partner(parsed) not in names.values()
    return not (is_half and io.exists(f"{root}/{name}/{partner_file(parsed)}"))


# ---- words


def runs(write_ids: Sequence[WriteId]) -> str:
    """Write ids as people write them down: ``1-3, 7``."""
    parts: list[str] = []
    first = last = None
    for one in (*write_ids, None):
        if first is not None and last is not None and one != last + 1:
            parts.append(str(first) if first == last else f"{first}-{last}")
            first = one
        first, last = (one if first is None else first), one
    return ", ".join(parts)


def named(paths: Collection[str], home: str) -> str:
    """Some of the paths, below ``home``."""
    some = [f'"{path.removeprefix(f"{home}/")}"' for path in sorted(paths)[:MOST_NAMED]]
    more = len(paths) - len(some)
    return ", ".join(some) + (f" and {more} more" if more > 0 else "")


def what_to_say(table: Table) -> str:
    """How it is said what became of write ids."""
    return (
        f"acidsql doctor {table.name} --committed .. --aborted .. says which of them count: the"
        " metastore of whoever wrote them knows."
    )


def unread_warning(table: Table, paths: Mapping[str, Iterable[WriteId]]) -> Warning:
    """What whoever reads a table is told of directories that he does not see. ``paths``: with the
    ends of their write ids.
    """
    ends = sorted({end for of_one in paths.values() for end in of_one})
    many = len(paths) != 1
    return Warning(
        f"rows of table {table.name} are not read: the write ids of {len(paths)}"
        f" director{'ies' if many else 'y'} ({runs(ends)}) were never given out here",
        detail=named(paths, path_of(table.location)),
        hint=what_to_say(table),
    )


def unread_error(table: Table, paths: Mapping[str, Iterable[WriteId]]) -> OperationalError:
    """The error of whoever would read a table of which all but what he does not see may be gone."""
    warning = unread_warning(table, paths)
    return OperationalError(
        f"nothing can be read of table {table.name}: others wrote and compacted it",
        detail=f"{warning.message}: {warning.detail}",
        hint=f"acidsql doctor {table.name} --repair takes over what the files prove; "
        + what_to_say(table),
    )


def undeclared_error(table: Table, undeclared: Undeclared) -> OperationalError:
    """The error of whoever would write to a table with files that others wrote."""
    proven = f"acidsql doctor {table.name} --repair takes them over: the files prove what counts."
    return OperationalError(
        f"table {table.name} has files of write ids up to {undeclared.highest} that were never"
        " given out here",
        detail=named(undeclared.undecided, path_of(table.location)) or None,
        hint=what_to_say(table) if undeclared.undecided else proven,
    )
