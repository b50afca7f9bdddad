"""Directories that others have moved away from their readers: where they are now, and for
whom. Of what was dropped a directory is one of DIRECTORIES_TO_DELETE all the time: by its old place
until it is moved away, then by its hidden one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from acidsql.metastore.locations import given_location, stored_location
from acidsql.metastore.rows.readers import delete_readers, registered
from acidsql.metastore.sql import Connection, and_, bindparam, delete, insert, not_, select, update
from acidsql.metastore.tables import DIRECTORIES_TO_DELETE, KEPT_DIRECTORIES, READERS

_KD, _DD = KEPT_DIRECTORIES.c, DIRECTORIES_TO_DELETE.c
_OF_READER = (
    select(_KD.KD_READ_AT, _KD.KD_LOCATION)
    .where(_KD.KD_READER == bindparam("reader"))
    .order_by(_KD.KD_ID)
)
_ALL = select(KEPT_DIRECTORIES).order_by(_KD.KD_ID)


def keep_at(
    connection: Connection,
    kept: Mapping[str, str],
    readers: Collection[int],
    warehouse: str,
    *,
    moved: bool,
) -> None:
    """Notes for whom directories are kept. ``kept``: where each was, by where it is to be, or is
    already, if they are ``moved``.
    """
    if not readers or not kept:
        return
    _purge(connection)
    known = connection.execute(_ALL).all()
    rows = []
    for new, old in (
        (stored_location(n, warehouse), stored_location(o, warehouse)) for n, o in kept.items()
    ):
        looked_for = {(reader, old) for reader in readers}
        for row in known:  # it was moved before
            if row.KD_READER in readers and f"{old}/".startswith(f"{row.KD_LOCATION}/"):
                looked_for.add((row.KD_READER, row.KD_READ_AT + old.removeprefix(row.KD_LOCATION)))
        rows += [
            {"KD_LOCATION": new, "KD_READ_AT": at, "KD_READER": reader, "KD_MOVED": moved}
            for reader, at in sorted(looked_for)
        ]
    connection.execute(insert(KEPT_DIRECTORIES), rows)


def _purge(connection: Connection) -> None:
    """Forgets what nobody reads any more of tables and partitions that live on elsewhere."""
    noted = select(_DD.DD_LOCATION)
    living = select(READERS.c.RD_ID)
    gone = and_(_KD.KD_LOCATION.not_in(noted), _KD.KD_READER.not_in(living), _KD.KD_MOVED)
    connection.execute(delete(KEPT_DIRECTORIES).where(gone))


def find_kept(connection: Connection, reader_id: int, warehouse: str) -> dict[str, str]:
    """Where what a reader reads is kept, by where that was; the last such place of each."""
    rows = connection.execute(_OF_READER, {"reader": reader_id})
    return {
        given_location(row.KD_READ_AT, warehouse): given_location(row.KD_LOCATION, warehouse)
        for row in rows
    }


def find_hidden_names(
    connection: Connection, locations: Collection[str], warehouse: str
) -> dict[str, str]:
    """The hidden names that directories are to have which were not moved yet, by their places."""
    wanted = {stored_location(one, warehouse): one for one in locations}
    return {
        wanted[row.KD_READ_AT]: given_location(row.KD_LOCATION, warehouse)
        for row in connection.execute(_ALL.where(not_(_KD.KD_MOVED)))
        if row.KD_READ_AT in wanted
    }


def kept_locations(connection: Connection, dead: Collection[int] = ()) -> dict[str, bool]:
    """The stored locations of all kept directories, and whether anybody who is not ``dead`` still
    reads them.
    """
    rows = connection.execute(_ALL).all()
    living = registered(connection, [row.KD_READER for row in rows]).difference(dead)
    kept: dict[str, bool] = {}
    for row in rows:
        kept[row.KD_LOCATION] = kept.get(row.KD_LOCATION, False) or row.KD_READER in living
    return kept


def move_kept(connection: Connection, old: str, new: str, warehouse: str) -> None:
    """Follows a directory that has got another place, with all that is kept below it."""
    before, after = stored_location(old, warehouse), stored_location(new, warehouse)
    arrived = update(KEPT_DIRECTORIES).where(_KD.KD_LOCATION == after)
    connection.execute(arrived.values(KD_MOVED=True))
    for table, column in (
        (KEPT_DIRECTORIES, "KD_LOCATION"),
        (DIRECTORIES_TO_DELETE, "DD_LOCATION"),
    ):
        for location in set(connection.scalars(select(table.c[column]))):
            if location.startswith(f"{before}/"):
                of_this = update(table).where(table.c[column] == location)
                moved = {column: after + location.removeprefix(before)}
                connection.execute(of_this.values(moved))


def forget_kept(connection: Connection, locations: Collection[str], warehouse: str) -> list[str]:
    """Forgets directories, but for those that somebody reads; returns the ones forgotten."""
    kept = kept_locations(connection)
    stored = {stored_location(one, warehouse): one for one in locations}
    forgotten = [one for one in stored if not kept.get(one)]
    if not kept.keys().isdisjoint(forgotten):
        connection.execute(delete(KEPT_DIRECTORIES).where(_KD.KD_LOCATION.in_(forgotten)))
    return [stored[one] for one in forgotten]


def lose_kept(connection: Connection, hidden: Collection[str], warehouse: str) -> None:
    """Gives up those for whom directories should have been kept that cannot be."""
    stored = [stored_location(one, warehouse) for one in hidden]
    of_these = _KD.KD_LOCATION.in_(stored)
    delete_readers(connection, set(connection.scalars(select(_KD.KD_READER).where(of_these))))
    forget_kept(connection, hidden, warehouse)
