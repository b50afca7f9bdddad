"""What a statement sees of a table: its files listed and chosen; and what a killed INSERT OVERWRITE left, taken away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from acidsql.acid.paths import METADATA_FILE, Base, parse_directory
from acidsql.acid.snapshot import choose
from acidsql.acid.write_ids import ValidWriteIdList
from acidsql.catalog.model import Table, TableName
from acidsql.spark.fileio import file_io, local_path

if TYPE_CHECKING:
    from acidsql.spark.reader import TableSnapshot


class Visibility(Protocol):
    """What a statement may see: a transaction, or a snapshot taken for reading only."""

    def write_ids(self, table: TableName) -> ValidWriteIdList: ...


def take_snapshot(table: Table, visible: Visibility) -> TableSnapshot:
    """The files of a table a statement sees. FormatError for a layout that is not Hive's."""
    from acidsql.spark.footers import is_event_file, read_footer
    from acidsql.spark.reader import TableSnapshot

    io = file_io(table.location)
    root = local_path(table.location)
    listing = io.listing(root)
    if not table.is_transactional:
        return TableSnapshot.plain(table, listing.files)
    write_ids = visible.write_ids(table.name)

    def is_raw(path: str) -> bool:
        return not is_event_file(read_footer(io, f"{root}/{path}"))

    def read_marker(directory: str) -> bytes | None:
        marker = f"{root}/{directory}/{METADATA_FILE}"
        return io.read(marker) if io.exists(marker) else None

    chosen = choose(listing.files, write_ids, directories=listing.directories, is_raw=is_raw, read_marker=read_marker)
    return TableSnapshot.acid(table, write_ids, chosen)


def remove_aborted_bases(snapshot: TableSnapshot) -> None:
    """What a killed INSERT OVERWRITE left: a base that never becomes valid is garbage, and Hive 3.1 fails on it."""
    location = snapshot.table.location
    for directory in snapshot.directory.aborted if snapshot.directory is not None else ():
        if isinstance(parse_directory(directory.rpartition("/")[2]), Base):
            file_io(location).delete_tree(f"{location}/{directory}")
