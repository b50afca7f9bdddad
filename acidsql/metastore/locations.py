"""Where tables lie, so that a warehouse may be moved or copied: what is inside it is stored
relative to it, given out absolute.

Stored forms: ``.`` the warehouse itself, ``sales.db/orders`` inside it, ``/data/t`` or ``s3a://..``
anywhere else.
"""

from __future__ import annotations

import os.path
import re

from acidsql.errors import MetastoreError
from acidsql.utf8 import check_text

WAREHOUSE = "."
"""The stored form of the warehouse's own directory."""
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(/.*)")


def warehouse_path(warehouse: str) -> str:
    """The absolute path of what a user calls the warehouse: a path, with ``~`` or without, or a
    ``file:`` URL.
    """
    path = local_path(warehouse)
    if path is None:
        raise MetastoreError(
            f'the warehouse "{warehouse}" is not a local directory',
            hint="The embedded metastore needs one; tables may lie elsewhere (LOCATION).",
        )
    path = os.path.abspath(os.path.expanduser(path))
    check_text(path, of="the path of the warehouse")
    if "\0" in path:
        raise MetastoreError("the path of the warehouse has a character NUL in it")
    return path


def stored_location(location: str, warehouse: str) -> str:
    """``location`` (absolute, a URL, or relative to the warehouse) in its stored form."""
    path = local_path(location)
    if path is None:
        return location.rstrip("/")
    inside = os.path.relpath(os.path.join(warehouse, path), warehouse)
    if inside == ".." or inside.startswith("../"):
        return os.path.normpath(os.path.join(warehouse, path))
    return inside


def given_location(stored: str, warehouse: str) -> str:
    """The absolute path or URL of a stored form."""
    if not stored.startswith(("/", ".")) and ":" not in stored and warehouse != "/":
        # as it was stored, there is nothing to normalize: many locations are listed at once
        return f"{warehouse}/{stored}"
    if local_path(stored) is None:
        return stored
    return os.path.normpath(os.path.join(warehouse, stored))


def local_path(location: str) -> str | None:
    """The path of a ``file:`` URL or of plain text; None for another file system's URL."""
    match = _SCHEME.fullmatch(location)
    if not match:
        return location
    if match[1].lower() != "file":
        return None
    return "/" + match[2].lstrip("/")
