"""What the directories of a table or partition prove of its write ids, where no metastore can be
asked: a pure function of names, of what is in hidden files, and of which files are empty.

A compaction takes in what was committed and leaves out the rest, so the rows of its result are
committed ones. Whether the write id of any other delta, or of an INSERT OVERWRITE, was committed,
is open or was aborted is nowhere in the files: that id is *unproven*, and somebody has to say it.

Of some results it is likely, but not sure, that they are whole. What Hive 4 has compacted
(``_v21``) counts if transaction 21 was committed, which is sure once all is gone that it was made
of. Hive 3 names a range that it has compacted as a streaming writer names one of whose transactions
each may have been aborted. No streaming writer deletes; but a compaction that died may have left
its delete delta beside a delta of the same range that such a writer made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from acidsql.acid.ids import (
    BEFORE_ALL_WRITES,
    METADATA_FILE,
    NO_VISIBILITY,
    Base,
    DeleteDelta,
    DirectoryName,
    TxnId,
    WriteId,
)
from acidsql.acid.listed import FileEntry, Listed, group_files, id_range, parse_name, takes_in
from acidsql.acid.snapshot import (
    INPUTS_FILE,
    ReadHidden,
    is_marked_compacted,
    partner,
    partner_file,
)
from acidsql.lazy import dataclass

AnyListed = Listed[DirectoryName]


Ranges = Mapping[str, tuple[WriteId, WriteId]]
"""The least and the greatest write id of directories, by their paths."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """``highest``: the highest write id in a name, 0 for none; ``highest_txn``: that of the
    transactions of compactions. ``compacted``: the directories that compactions made, the
    ``likely`` ones among them. ``proven``: the ranges of write ids that they took in, all of which
    had ended. ``undecided``: the directories whose write ids could be of aborted or open
    transactions, if what is likely is so; ``unsure``: those and all others that only what is likely
    speaks for. ``unfinished``: the compactions that never committed, by their transaction.
    ``originals``: how many files without ACID columns there are.
    """

    highest: WriteId
    highest_txn: TxnId
    compacted: tuple[str, ...]
    likely: tuple[str, ...]
    proven: tuple[tuple[WriteId, WriteId], ...]
    undecided: Ranges
    unsure: Ranges
    unfinished: Mapping[TxnId, str]
    originals: int

    @property
    def unproven(self) -> Mapping[WriteId, tuple[str, ...]]:
        """The ``undecided`` directories of each of their write ids."""
        unproven: dict[WriteId, list[str]] = {}
        for path, (low, high) in self.undecided.items():
            for write_id in range(low, high + 1):
                unproven.setdefault(WriteId(write_id), []).append(path)
        return {write_id: tuple(unproven[write_id]) for write_id in sorted(unproven)}


def evidence_of(
    files: Iterable[FileEntry], directories: Iterable[str], read_hidden: ReadHidden
) -> Evidence:
    """What a listing of one table or partition proves. FormatError for a layout that is not
    Hive's.
    """
    listing = group_files(files, directories)
    listed = [
        Listed(path=path, name=parse_name(path), files=of)
        for path, of in listing.directories.items()
    ]
    unfinished = [one.path for one in listed if _is_unfinished(one, listed)]
    sure = [one for one in listed if _is_sure(one, listed, read_hidden)]
    settled = {*unfinished, *(one.path for one in sure)}
    likely = [one for one in listed if one.path not in settled and _is_likely(one, listed)]
    compacted = [*sure, *likely]
    return Evidence(
        highest=WriteId(max((0, *(id_range(one.name)[1] for one in listed)))),
        highest_txn=TxnId(max((0, *(one.name.visibility_txn_id for one in listed)))),
        compacted=tuple(one.path for one in compacted),
        likely=tuple(one.path for one in likely),
        proven=tuple(map(_taken_in, compacted)),
        undecided=_left([one for one in listed if one.path not in unfinished], compacted),
        unsure=_left(listed, sure),
        unfinished={parse_name(path).visibility_txn_id: path for path in unfinished},
        originals=len(listing.originals),
    )


def _left(listed: Iterable[AnyListed], proven: Sequence[AnyListed]) -> Ranges:
    """The directories that are not proven, but for those that no reader looks at."""
    paths = {one.path for one in proven}
    return {
        one.path: id_range(one.name)[:2]
        for one in listed
        if one.path not in paths and not any(takes_in(whole.name, one.name) for whole in proven)
    }


def _is_sure(one: AnyListed, listed: Sequence[AnyListed], read_hidden: ReadHidden) -> bool:
    """Whether a compaction has made a directory, and has committed it."""
    if one.name.visibility_txn_id != NO_VISIBILITY:
        return not any(_inputs(one, listed))
    if isinstance(one.name, Base):
        return one.name.write_id == BEFORE_ALL_WRITES or is_marked_compacted(
            one.path, lambda path: read_hidden(f"{path}/{METADATA_FILE}")
        )
    if not _is_range(one) or read_hidden(f"{one.path}/{INPUTS_FILE}") is None:
        return False
    other = partner(one.name)
    return any(o.name == other for o in listed) or (
        read_hidden(f"{one.path}/{partner_file(one.name)}") is None
    )


def _is_likely(one: AnyListed, listed: Iterable[AnyListed]) -> bool:
    """Whether a compaction may well have made a directory that is not ``_is_sure``."""
    if one.name.visibility_txn_id != NO_VISIBILITY:
        return True
    return _is_range(one) and any(
        isinstance(other.name, DeleteDelta) and id_range(other.name)[:2] == id_range(one.name)[:2]
        for other in listed
    )


def _is_range(one: AnyListed) -> bool:
    low, high, _ = id_range(one.name)
    return low < high


def _is_unfinished(one: AnyListed, listed: Iterable[AnyListed]) -> bool:
    """Whether a compaction was given up: it is empty, and what it should have taken in is there
    with rows (HIVE-29567).
    """
    if one.name.visibility_txn_id == NO_VISIBILITY or any(file.size for file in one.files):
        return False
    return any(file.size for other in _inputs(one, listed) for file in other.files)


def _inputs(one: AnyListed, listed: Iterable[AnyListed]) -> Iterator[AnyListed]:
    """What lies beside the result of a compaction that it takes in. (One transaction makes both
    kinds of a range.)
    """
    return (
        other
        for other in listed
        if takes_in(one.name, other.name)
        and other.name.visibility_txn_id != one.name.visibility_txn_id
    )


def _taken_in(one: AnyListed) -> tuple[WriteId, WriteId]:
    low, high, _ = id_range(one.name)
    return (WriteId(1) if isinstance(one.name, Base) else low), high
