"""Overlays: tables of this warehouse over tables of others. What others have written is read where
it lies, as of the moment at which the overlay was made; changes lie in the overlay's directory.

    attached    base_3  delta_4_4                        write ids up to 4, theirs
    overlay     delete_delta_5_5  delta_5_5  delta_6_6   write ids from 5 on, ours

So delete events tell rows of both apart, and nothing of theirs is ever written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from acidsql import crash_points
from acidsql.catalog.attached import (
    ATTACHED,
    FROM,
    OLD_EVENTS,
    OVERLAY,
    attached_write_ids,
    is_overlay,
    txns_below,
)
from acidsql.catalog.catalog import Catalog
from acidsql.catalog.model import Partition, Table, TableKind, TableName
from acidsql.catalog.partitions import default_location
from acidsql.errors import BindError, ExecutionError, SnapshotTooOldError
from acidsql.files.fileio import FileIO
from acidsql.files.parallel import look_at_all
from acidsql.files.urls import is_inside, path_of, real_path
from acidsql.planner.bind.bound_catalog import BoundAttachTable
from acidsql.storage.events.old_events import COMPACT_FIRST
from acidsql.storage.overlays import pin


def create_overlay(
    store: Catalog,
    io: FileIO,
    action: BoundAttachTable,
    attached: Table,
    partitions: Sequence[Partition],
) -> None:
    """Makes an overlay. ``attached``: the table of others as it would be attached read only."""
    make_overlay(store, io, *overlay_of(store, io, action, attached, partitions))


def overlay_of(
    store: Catalog,
    io: FileIO,
    action: BoundAttachTable,
    attached: Table,
    partitions: Sequence[Partition],
) -> tuple[Table, tuple[Partition, ...]]:
    """The overlay as it would be made, and its partitions. BindError where it cannot be."""
    assert action.overlay is not None
    home = action.overlay
    if not attached.is_transactional:
        raise BindError(
            "only a transactional table can have an overlay",
            detail=f'"{attached.location}" has plain files, whose rows have no ids',
            hint="ATTACH TABLE .. READ ONLY reads it.",
            span=action.span,
        )
    if OLD_EVENTS in attached.properties:
        raise BindError(
            "a table from before Hive 3 (ACID version 1) can have no overlay",
            detail="its updates are events beside the rows",
            hint=f"ATTACH TABLE .. READ ONLY reads it. {COMPACT_FIRST}",
            span=action.span,
        )
    _check_home(store, action, attached.location, home)
    with _file_errors(home):
        overlay = _over(io, action, attached, partitions)
        _check_empty(io, action, home)
    return overlay


def make_overlay(store: Catalog, io: FileIO, table: Table, parts: Sequence[Partition]) -> None:
    """Makes what ``overlay_of`` has told."""
    home = table.location
    with _file_errors(home):
        was_there = io.exists(home)
        io.make_directory(home)  # before the catalog has a table that could not have one
        crash_points.reached("overlay directory made")
        try:
            with store.creating_table(table, parts):
                pass
        except BaseException:
            if not was_there and store.find_table(table.name) is None:
                io.remove_empty_directory(home)
            raise
        crash_points.reached("overlay attached")
        # somebody who failed to make the same table may have taken it away
        io.make_directory(home)


def _over(
    io: FileIO, action: BoundAttachTable, attached: Table, partitions: Sequence[Partition]
) -> tuple[Table, tuple[Partition, ...]]:
    """The overlay, with what it reads of each directory, and its partitions."""
    assert action.overlay is not None
    write_ids = attached_write_ids(attached)
    assert write_ids is not None
    properties = {key: text for key, text in attached.properties.items() if key != "EXTERNAL"}
    properties |= {ATTACHED: OVERLAY, FROM: attached.location}
    table = replace(
        attached, kind=TableKind.MANAGED, location=action.overlay, properties=properties
    )
    where = [one.location for one in partitions]
    if not table.partition_columns:
        where = [attached.location]
    try:
        pins = look_at_all(lambda at: pin(io, table, at, write_ids, txns_below(table)), where)
    except SnapshotTooOldError as error:
        raise BindError(
            f'"{attached.location}" does not have all that counts any more: {error.message}',
            hint="Attach it as of now: with a new dump, or with other write ids.",
            span=action.span,
        ) from error
    if not table.partition_columns:
        return replace(table, properties={**properties, **pins[0].properties()}), ()
    parts = (
        replace(one, location=default_location(table, one.values), properties=pinned.properties())
        for one, pinned in zip(partitions, pins, strict=True)
    )
    return table, tuple(parts)


def overlays_over(store: Catalog, location: str) -> Iterator[TableName]:
    """The overlays that read what lies in a directory."""
    path = real_path(path_of(location))
    for name, _ in store.list_locations():
        table = store.find_table(name)
        if table is None or not is_overlay(table):
            continue
        other = real_path(path_of(table.properties[FROM]))
        if is_inside(path, other) or is_inside(other, path):
            yield name


def _check_home(store: Catalog, action: BoundAttachTable, below: str, home: str) -> None:
    """Raises BindError if the overlay would write where others read or write."""
    path, location = real_path(path_of(home)), real_path(path_of(below))
    if is_inside(path, location) or is_inside(location, path):
        raise BindError(
            f'the changes would lie in "{home}", and that overlaps the location',
            hint="Attach it in another warehouse or database, or by another name.",
            span=action.span,
        )
    for name, other_location in store.list_locations():
        other = real_path(path_of(other_location))
        if is_inside(path, other) or is_inside(other, path):
            raise BindError(
                f'directory "{home}" overlaps that of table {name}',
                hint="Attach it by another name.",
                span=action.name_span,
            )


def _check_empty(io: FileIO, action: BoundAttachTable, home: str) -> None:
    """Raises BindError where there is something already, which would become rows."""
    listing = io.listing(home)
    if listing.files or listing.directories:
        raise BindError(
            f'directory "{home}" of the overlay is not empty',
            hint="Move the files away; they may belong to a table that was dropped.",
            span=action.name_span,
        )


@contextmanager
def _file_errors(home: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = error.filename or home
        raise ExecutionError(
            f'ATTACH TABLE failed: cannot read or write "{where}"',
            detail=error.strerror or str(error),
        ) from error
