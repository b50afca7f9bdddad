"""The file ``<warehouse>/_acidsql/metastore.url``, which says of a warehouse that a database is its
metastore, and which one.

It ties the two together by a random id that the database has too. So a host on which the file
system of the warehouse is not mounted, or that names another one, is refused: it would find tables
without rows there, and write where nobody reads. Nor is a file opened as a metastore where a
database is it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from acidsql.errors import MetastoreError
from acidsql.lazy_dataclass import dataclass
from acidsql.metastore.stores.database_file import (
    DIRECTORY,
    WHO_MAY_USE_IT,
    make_directory,
    marker_error,
    reason,
)

MARKER = "metastore.url"


@dataclass(frozen=True, slots=True)
class Marker:
    """``metastore``: the URL without secrets; ``id``: the same in the database."""

    metastore: str
    id: str


def read_marker(warehouse: str) -> Marker | None:
    """None if there is no such file. MetastoreError if it cannot be read."""
    path = Path(warehouse, DIRECTORY, MARKER)
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
        return Marker(metastore=str(fields["metastore"]), id=str(fields["id"]))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError as error:
        raise MetastoreError(
            f'the warehouse "{warehouse}" is not open to this user', hint=WHO_MAY_USE_IT
        ) from error
    except OSError as error:
        raise MetastoreError(f'the file "{path}" cannot be read: {reason(error)}') from error
    except (ValueError, KeyError, TypeError) as error:
        raise MetastoreError(
            f'the file "{path}" is damaged',
            hint="Restore it from a backup: it says which database is the metastore.",
        ) from error


def refuse_marked(warehouse: str) -> None:
    """MetastoreError where a database is the metastore, so that no file may be."""
    marker = read_marker(warehouse)
    if marker is not None:
        raise MetastoreError(
            f'the metastore of the warehouse "{warehouse}" is "{marker.metastore}"',
            hint="Name it by --metastore or $ACIDSQL_METASTORE, with the password if it needs one.",
        )


def write_marker(warehouse: str, marker: Marker, mode: int) -> None:
    """Puts the file there, or a new one in its place, whole and durably; ``mode`` as for
    chmod.
    """
    directory = Path(warehouse, DIRECTORY)
    new = directory / f"{MARKER}.{os.getpid()}"
    try:
        make_directory(directory, mode)
        with open(new, "w", encoding="utf-8") as file:
            json.dump({"metastore": marker.metastore, "id": marker.id}, file, indent=2)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        new.chmod(mode)
        os.replace(new, directory / MARKER)
        _sync(directory)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise marker_error(warehouse, error) from error


def remove_marker(warehouse: str) -> None:
    """Takes the file away; one that is not there is no error."""
    directory = Path(warehouse, DIRECTORY)
    try:
        (directory / MARKER).unlink(missing_ok=True)
        _sync(directory)
    except OSError as error:
        raise marker_error(warehouse, error) from error


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
