"""Which files of an insert-only table a reader sees. Hive: HiveInputFormat.processPathsForMmRead.

The directories are chosen as in any transactional table (``snapshot``), and every file in them
counts, whatever its name: there are no events, no row ids and no delete deltas. So a row is visible
if its directory is.
"""

from __future__ import annotations

from acidsql.acid.listed import AcidDirectory, Directory, FileEntry
from acidsql.acid.paths import Base, DeleteDelta
from acidsql.acid.write_ids import ValidWriteIdList
from acidsql.errors import FormatError


def visible_files(chosen: AcidDirectory, write_ids: ValidWriteIdList) -> tuple[FileEntry, ...]:
    """All files of the base and the deltas, and the originals where there is no base.

    FormatError for a delete delta, and for a range of write ids of which some are not decided for
    the reader.
    """
    directories = chosen.current if chosen.base is None else (chosen.base, *chosen.current)
    for directory in directories:
        _check(directory, write_ids)
    return (*chosen.originals, *(file for directory in directories for file in directory.files))


def _check(directory: Directory, write_ids: ValidWriteIdList) -> None:
    """Rows of aborted write ids are left out when deltas are compacted; those of open ones are in
    there, and cannot be told apart.
    """
    name = directory.name
    if isinstance(name, DeleteDelta):
        raise FormatError(
            f'"{directory.path}" holds delete events, which an insert-only table cannot have'
        )
    if isinstance(name, Base) or not directory.needs_row_filter:
        return
    low, high = name.min_write_id, name.max_write_id
    if high > write_ids.high_watermark or any(
        low <= write_id <= high for write_id in write_ids.open
    ):
        raise FormatError(
            f'"{directory.path}" was compacted from deltas of which the snapshot sees a part only',
            hint="Run the statement again.",
        )
