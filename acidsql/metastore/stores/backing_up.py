"""``acidsql store backup``: a copy of a metastore in a file, of one moment, while others use it."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import cast

from acidsql.errors import MetastoreError
from acidsql.lazy_dataclass import dataclass
from acidsql.metastore.schema import is_empty
from acidsql.metastore.sql.connections import SQLiteConnection
from acidsql.metastore.stores.database_file import (
    database_path,
    no_warehouse_error,
    read_marker,
    reason,
)
from acidsql.metastore.stores.sqlite import SQLiteStore


@dataclass(frozen=True, slots=True, kw_only=True)
class BackedUp:
    """What was copied; ``bytes``: of the copy."""

    source: str
    target: str
    bytes: int


def back_up(warehouse: str, target: str) -> BackedUp:
    """Copies the metastore of a warehouse into a new file, which is whole or not there; writers
    wait for nothing. MetastoreError if there is no such metastore, or the file cannot be made.
    """
    marker = read_marker(warehouse)
    if marker is not None:
        raise MetastoreError(
            f'the metastore of the warehouse "{warehouse}" is "{marker.metastore}"',
            hint="pg_dump makes a copy of a PostgreSQL database.",
        )
    source, final = database_path(warehouse), Path(target)
    if not source.exists():
        raise no_warehouse_error(warehouse)
    if final.is_dir():
        final = final / source.name
    if final.exists():
        raise MetastoreError(f'there is a file "{final}" already', hint="Name a new one.")
    store = SQLiteStore(warehouse)
    store.open_up()
    part = final.with_name(f"{final.name}.{os.getpid()}.part")
    try:
        with store.read() as connection:
            if is_empty(connection):
                raise MetastoreError(f'the metastore "{source}" is empty')
            os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            with closing(sqlite3.connect(part)) as copy:
                cast(SQLiteConnection, connection).driver_connection.backup(copy)
                copy.execute("PRAGMA journal_mode = DELETE")  # all in the one file
        _put_in_place(part, final)
    except OSError as error:
        raise MetastoreError(f'"{final}" cannot be written: {reason(error)}') from error
    except sqlite3.Error as error:
        raise MetastoreError(f'the copy "{final}" cannot be written: {error}') from error
    finally:
        part.unlink(missing_ok=True)
        store.close()
    return BackedUp(source=str(source), target=str(final), bytes=final.stat().st_size)


def _put_in_place(part: Path, final: Path) -> None:
    """Gives the copy its name when the disk has it; FileExistsError if that is taken by now."""
    with open(part, "rb") as file:
        os.fsync(file.fileno())
    os.link(part, final)
    directory = os.open(final.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
