"""Where a partition may lie, and what its directory may hold: nothing that is another's, no write
id that is still to be given out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from acidsql.acid.ids import Base, TxnId, WriteId, parse_directory
from acidsql.catalog.model import Partition, Table
from acidsql.catalog.partitions import lies_elsewhere, name_of, partition_values
from acidsql.ddl.tables import check_apart
from acidsql.ddl.warehouse import Warehouse
from acidsql.errors import BindError, Span, UnsupportedStatementError
from acidsql.files.fileio import FileIO, is_inside, real_path
from acidsql.lazy import dataclass


@contextmanager
def at_span(span: Span) -> Iterator[None]:
    """Makes a refusal from inside point to ``span``."""
    try:
        yield
    except (BindError, UnsupportedStatementError) as error:
        error.span = span
        raise


def check_partition_location(
    warehouse: Warehouse, table: Table, partition: Partition, others: Sequence[Partition]
) -> tuple[str, ...]:
    """Raises BindError if the directory of a partition to be is, holds or lies in one where files
    belong to another table or partition.

    Returns what is to be said of it: see ``check_apart``.

    ``others``: the table's other partitions; of those that lie where their names say, a partition
    that does so too needs none. Partitions of one table may share files as long as dropping one
    deletes none.
    """
    elsewhere = lies_elsewhere(table, partition)
    notes: tuple[str, ...] = ()
    if elsewhere:
        notes = check_apart(warehouse, replace(table, location=partition.location))
    if not table.owns_files:
        return notes
    near = others if elsewhere else [other for other in others if lies_elsewhere(table, other)]
    path = real_path(partition.location)
    for other in near:
        if is_inside(path, other_path := real_path(other.location)) or is_inside(other_path, path):
            message = (
                f'directory "{partition.location}" overlaps that of partition'
                f" {name_of(table, other)}"
            )
            raise BindError(message, hint="Choose a directory of its own.")
    if elsewhere:
        _check_free(table, partition, path)
    return notes


def _check_free(table: Table, partition: Partition, path: str) -> None:
    """Raises BindError for the table's own directory, and for one that a partition of another name
    would get.
    """
    home = real_path(table.location)
    keys = [c.name for c in table.partition_columns]
    names = path.removeprefix(f"{home.rstrip('/')}/").split("/")[: len(keys)]
    if is_inside(home, path):
        raise BindError(
            f'directory "{partition.location}" holds table {table.name}',
            hint="Choose a directory of its own.",
        )
    if is_inside(path, home) and partition_values(keys[: len(names)], "/".join(names)) is not None:
        raise BindError(
            f'directory "{partition.location}" is where another partition would lie',
            hint="Choose a directory of its own.",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class HighestIds:
    """The highest ids in the names of ACID directories, 0 for none; ``visibility``: of the
    transactions that compacted them.
    """

    write_id: WriteId
    visibility: TxnId


NO_IDS = HighestIds(write_id=WriteId(0), visibility=TxnId(0))


def highest_ids(directories: Iterable[str]) -> HighestIds:
    """The highest ids of a partition. ``directories``: the names in its own directory."""
    names = [name for name in map(parse_directory, directories) if name is not None]
    write_ids = [name.write_id if isinstance(name, Base) else name.max_write_id for name in names]
    return HighestIds(
        write_id=WriteId(max((0, *write_ids))),
        visibility=TxnId(max((0, *(name.visibility_txn_id for name in names)))),
    )


def ids_at(io: FileIO, location: str) -> HighestIds:
    listing = io.listing(location)
    return highest_ids(path for path in listing.directories if "/" not in path)


_HINT = (
    "INSERT the rows from a table of their own: files keep their meaning only where their"
    " transactions are known."
)


def check_ids(
    warehouse: Warehouse, table: Table, ids_by_location: Mapping[str, HighestIds]
) -> None:
    """Raises BindError if files would be seen only later, when their write id or transaction id is
    given to somebody else's rows. ``ids_by_location``: those in the names of files.
    """
    ids_by_location = {location: ids for location, ids in ids_by_location.items() if ids != NO_IDS}
    if not table.is_transactional or not ids_by_location:
        return
    txns = warehouse.store.valid_txns()
    given_out = warehouse.store.valid_write_ids(table.name, txns).high_watermark
    for location, ids in ids_by_location.items():
        if ids.visibility > txns.high_watermark:
            message = (
                f'directory "{location}" was compacted by transaction {ids.visibility}, and'
                f" {txns.high_watermark} is the highest here"
            )
            raise BindError(message, hint=_HINT)
        if ids.write_id > given_out:
            message = (
                f'directory "{location}" has rows of write id {ids.write_id}, and {given_out} is'
                f" the highest of table {table.name}"
            )
            raise BindError(message, hint=_HINT)
