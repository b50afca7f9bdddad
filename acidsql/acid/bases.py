"""Which base a reader starts from, and whether what newer ones have taken in is there for it."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable
from enum import Enum

from acidsql.acid.acid_directory import id_range
from acidsql.acid.compacted import ReadHidden, missing_inputs
from acidsql.acid.ids import TxnId, WriteId
from acidsql.acid.listed import Fates, ListedBase
from acidsql.acid.paths import (
    BEFORE_ALL_WRITES,
    METADATA_FILE,
    NO_VISIBILITY,
    Base,
    parse_directory,
)
from acidsql.acid.write_ids import RangeResponse, ValidWriteIdList
from acidsql.errors import FormatError, SnapshotTooOldError


class BaseKind(Enum):
    """What a base's ``_metadata_acid`` says (AcidUtils.MetaDataFile); a base without that file is
    an INSERT OVERWRITE.
    """

    COMPACTED = "compacted"
    TRUNCATED = "truncated"


def parse_marker(content: bytes) -> BaseKind:
    """The text of a ``_metadata_acid`` file. FormatError for anything Hive does not write."""
    try:
        marker = json.loads(content)
        version, kind = marker["thisFileVersion"], BaseKind(marker["dataFormat"])
    except (ValueError, KeyError, TypeError):
        raise _unknown_marker(content) from None
    if version != "0":
        raise _unknown_marker(content)
    return kind


def choose_base(
    bases: Iterable[ListedBase],
    write_ids: ValidWriteIdList,
    listed: Collection[str],
    read_marker: Callable[[str], bytes | None],
    read_hidden: ReadHidden,
    fates: Fates,
) -> ListedBase | None:
    """The newest base the reader may use; the other usable ones become obsolete.

    An overwrite is usable as soon as its own write id is valid; a compaction has forgotten which
    row came from which write id, so that every id up to its own must be decided. Of one write id a
    compaction goes before the overwrite it was made from. ``listed``: the paths of all directories
    and originals. SnapshotTooOldError if a compaction that the reader cannot use has taken in what
    it needs, and that is gone.
    """
    usable: list[tuple[tuple[WriteId, bool, TxnId], ListedBase]] = []
    unusable: list[ListedBase] = []
    for base in bases:
        write_id, visibility = base.name.write_id, base.name.visibility_txn_id
        compacted = visibility != NO_VISIBILITY or is_marked_compacted(base.path, read_marker)
        if write_id == BEFORE_ALL_WRITES or (
            write_ids.is_valid_base(write_id) if compacted else write_ids.is_valid(write_id)
        ):
            usable.append(((write_id, compacted, visibility), base))
        elif compacted:
            unusable.append(base)
        elif write_ids.is_aborted(write_id):
            fates.aborted.append(base.path)
    ranked = [base for _, base in sorted(usable, key=lambda ranked: ranked[0])]
    best = ranked[-1] if ranked else None
    above = None if best is None else best.name.write_id
    for base in sorted(unusable, key=lambda base: base.name.write_id):
        if _is_short_of(missing_inputs(base.path, listed, read_hidden), above, write_ids):
            raise _not_enough_history(base, write_ids)
        above = WriteId(0) if above is None else above  # what it had below is there
    fates.obsolete += [base.path for base in ranked[:-1]]
    return best


def _is_short_of(
    missing: Collection[str] | None, above: WriteId | None, write_ids: ValidWriteIdList
) -> bool:
    """Whether a reader who has all that was written up to ``above`` needs any of the ``missing``
    inputs of a newer base. None: where nobody knows, they are taken to be there, as by Hive; above
    nothing at all they must be.
    """
    if missing is None or above is None:
        return above is None and missing != ()
    return any(_is_needed(path, above, write_ids) for path in missing)


def _is_needed(path: str, above: WriteId, write_ids: ValidWriteIdList) -> bool:
    """Whether a directory may have held what a reader sees above a base."""
    name = parse_directory(path)
    if name is None:
        return False  # an original, which any base has taken in
    low, high, _ = id_range(name)
    low = WriteId(max(above + 1, 0 if isinstance(name, Base) else low))
    return low <= high and write_ids.range_valid(low, high) is not RangeResponse.NONE


def is_marked_compacted(path: str, read_marker: Callable[[str], bytes | None]) -> bool:
    """Whether the ``_metadata_acid`` of a base says that a compaction made it. FormatError for a
    content that Hive does not write.
    """
    content = read_marker(path)
    if content is None:
        return False
    try:
        return parse_marker(content) is BaseKind.COMPACTED
    except FormatError as error:
        raise FormatError(
            f'unknown content of "{path}/{METADATA_FILE}"', detail=error.detail
        ) from None


def _unknown_marker(content: bytes) -> FormatError:
    return FormatError(
        f"unknown content of {METADATA_FILE}", detail=content[:200].decode(errors="replace")
    )


def _not_enough_history(base: ListedBase, write_ids: ValidWriteIdList) -> SnapshotTooOldError:
    lowest = "none" if write_ids.min_open is None else write_ids.min_open
    return SnapshotTooOldError(
        f'not enough history: the oldest base, "{base.path}", is newer than the snapshot',
        detail=f"high watermark {write_ids.high_watermark}, lowest open write id {lowest}",
        hint="Run the statement again, with a snapshot of its own.",
    )
