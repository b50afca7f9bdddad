"""Directories that are to be deleted, by a process that is at it or by whoever comes after it; and
moves that are to be undone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlalchemy import Connection, delete, insert, select

from acidsql.metastore.locations import given_location, stored_location
from acidsql.metastore.process import Process
from acidsql.metastore.tables import DIRECTORIES_TO_DELETE
from acidsql.txn.leftovers import NotedDirectory

_DD = DIRECTORIES_TO_DELETE.c
_ALL = select(DIRECTORIES_TO_DELETE).order_by(_DD.DD_ID)
_ANY = select(_DD.DD_ID).limit(1)


def insert_directories(
    connection: Connection, locations: Iterable[str], warehouse: str, *, now: int
) -> None:
    """Notes directories that the current process will delete, or is to have deleted should it
    die.
    """
    _insert(connection, [(one, None) for one in locations], warehouse, now)


def insert_moves(
    connection: Connection, moves: Mapping[str, str], warehouse: str, *, now: int
) -> None:
    """Notes directories that the current process moves, each from the second place to the first."""
    _insert(connection, moves.items(), warehouse, now)


def _insert(
    connection: Connection, moves: Iterable[tuple[str, str | None]], warehouse: str, now: int
) -> None:
    agent = str(Process.current())
    rows = [
        {
            "DD_LOCATION": stored_location(location, warehouse),
            "DD_MOVED_FROM": moved_from and stored_location(moved_from, warehouse),
            "DD_AGENT_INFO": agent,
            "DD_TIME": now,
        }
        for location, moved_from in moves
    ]
    if rows:
        connection.execute(insert(DIRECTORIES_TO_DELETE), rows)


def delete_directories(connection: Connection, locations: Iterable[str], warehouse: str) -> None:
    """Forgets directories: they are gone, or somebody uses them now."""
    stored = [stored_location(one, warehouse) for one in locations]
    connection.execute(delete(DIRECTORIES_TO_DELETE).where(_DD.DD_LOCATION.in_(stored)))


def is_directory_noted(connection: Connection, location: str, warehouse: str) -> bool:
    """Whether a directory is noted, by a process that lives or by another."""
    stored = stored_location(location, warehouse)
    noted = select(_DD.DD_ID).where(_DD.DD_LOCATION == stored, _DD.DD_MOVED_FROM.is_(None))
    return connection.execute(noted.limit(1)).first() is not None


def any_directories(connection: Connection) -> bool:
    """Whether any is noted."""
    return connection.execute(_ANY).first() is not None


def find_directories(
    connection: Connection,
    warehouse: str,
    observer: Process,
    *,
    long_ago: int,
    one_host: bool,
    kept: Mapping[str, bool],
) -> tuple[NotedDirectory, ...]:
    """The directories whose process is gone. ``long_ago``: of a process that cannot be seen from
    here, those noted before; epoch milliseconds. ``one_host``: none runs on another machine.
    ``kept``: whether those that are kept for readers still have some, by their stored locations:
    nothing else decides of them.
    """
    return tuple(
        dict.fromkeys(
            NotedDirectory(
                location=given_location(row.DD_LOCATION, warehouse),
                moved_from=row.DD_MOVED_FROM and given_location(row.DD_MOVED_FROM, warehouse),
            )
            for row in connection.execute(_ALL)
            if (
                not kept[row.DD_LOCATION]
                if row.DD_LOCATION in kept
                else _is_left(
                    Process.parse(row.DD_AGENT_INFO),
                    observer,
                    is_old=row.DD_TIME < long_ago,
                    one_host=one_host,
                )
            )
        )
    )


def _is_left(process: Process | None, observer: Process, *, is_old: bool, one_host: bool) -> bool:
    """Whether nobody is at it any more. Where all processes run on one machine, what another boot
    of it has left is nobody's; else another boot is another machine's.
    """
    if process is None:
        return is_old
    if process.machine and process.machine == observer.machine:
        return process.is_gone(observer)
    rebooted = bool(process.boot and observer.boot) and not process.is_of_boot(observer)
    return is_old or (one_host and rebooted)
