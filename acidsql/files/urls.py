"""The several spellings of one location: what the user wrote, what files are opened by, what is
said to Spark, what Spark shows.

A location is a path, a ``file:`` URL, or the URL of another file system: ``s3://bucket/dir``,
``hdfs://host:8020/dir``, ``abfss://container@account.dfs.core.windows.net/dir``. Percent signs are
part of a name, as Hadoop's Path reads them.
"""

from __future__ import annotations

import os.path
import re
from typing import NamedTuple

from acidsql.errors import UnsupportedStatementError

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?=/)(?://([^/]*))?(.*)", re.DOTALL)
_RELATIVE = re.compile(r"[^/:][^:]*", re.DOTALL)
_S3 = frozenset({"s3", "s3a", "s3n"})


class Url(NamedTuple):
    """A location on another file system. ``scheme`` is in lower case; ``path`` begins with a slash
    or is empty. ``root``: the scheme and the host as they were written.
    """

    scheme: str
    host: str
    path: str
    root: str


def split_url(location: str) -> Url | None:
    """The parts of a URL; None for a local path. UnsupportedStatementError for a URL of another
    file system that names no host, bucket or container.
    """
    if location.startswith("/"):
        return None
    match = _URL.fullmatch(location)
    if match is None or match[1].lower() == "file":
        return None
    scheme, host, path = match.groups()
    if not host:
        raise UnsupportedStatementError(
            f'location "{location}" names no host',
            hint=f"Write it in full: {scheme}://host/{path.lstrip('/') or 'directory'}",
        )
    return Url(scheme=scheme.lower(), host=host, path=path, root=f"{scheme}://{host}")


def path_of(location: str) -> str:
    """A location as files are opened by it, without a trailing slash: an absolute path if it is
    local, else the URL.
    """
    if location.startswith("/"):
        return location
    url = split_url(location)
    if url is not None:
        return f"{url.root}{url.path}".rstrip("/")
    scheme, separator, rest = location.partition(":")
    if separator and scheme.lower() == "file":
        return re.sub("^//[^/]*", "", rest)
    return location


def is_relative(given: str) -> bool:
    """Whether a path is below the working directory."""
    return _RELATIVE.fullmatch(given) is not None


def absolute(given: str) -> str:
    """The path with the working directory of this process, if it is relative."""
    # like Hadoop, which looks at no symbolic link to tell what ".." is
    return os.path.normpath(os.path.join(os.getcwd(), given)) if is_relative(given) else given


def parent(path: str) -> str:
    """The directory a path lies in; empty for that of a root."""
    above = path.rpartition("/")[0]
    return "" if above.endswith("/") else above


def real_path(location: str) -> str:
    """The one spelling of a location: links followed, S3's schemes taken for one. Two directories
    overlap if the real path of one begins with that of the other.
    """
    match = None if location.startswith("/") else _URL.fullmatch(location)
    if match is None or match[1].lower() == "file":
        return os.path.realpath(path_of(location))
    scheme, host, path = match[1].lower(), match[2] or "", match[3]
    scheme, host = ("s3", host) if scheme in _S3 else (scheme, host.lower())
    return f"{scheme}://{host}{path}".rstrip("/")


class RealPaths:
    """The real paths of many locations, as they are now: a directory that several lie in is looked
    at once.
    """

    def __init__(self) -> None:
        self._directories: dict[str, str] = {}

    def of(self, location: str) -> str:
        """Returns what ``real_path`` does."""
        path = path_of(location)
        directory, _, name = path.rpartition("/")
        if not path.startswith("/") or not directory or name in ("", ".", ".."):
            return real_path(location)
        known = self._directories.get(directory)
        if known is None:
            known = self._directories[directory] = os.path.realpath(directory)
        inside = f"{known.rstrip('/')}/{name}"
        return os.path.realpath(inside) if os.path.islink(inside) else inside


def real_entry(location: str) -> str:
    """The real path of a name itself: links above it are followed, but not the one that it may
    be.
    """
    path = path_of(location)
    if not path.startswith("/"):
        return real_path(location)
    return f"{real_path(parent(path) or '/').rstrip('/')}/{path.rpartition('/')[2]}"


def is_inside(path: str, directory: str) -> bool:
    """Whether a path is a directory or lies below it, by their names alone."""
    return path == directory or is_below(path, directory)


def is_below(path: str, directory: str) -> bool:
    return path.startswith(directory.rstrip("/") + "/")


def spark_url(path: str) -> str:
    """The URL for Spark: without a scheme it would look on the cluster's default file system, and
    S3 it knows as ``s3a``.
    """
    if path.startswith("/"):
        return f"file://{path}"
    url = split_url(path)
    if url is None:
        return f"file://{path_of(path)}"
    return f"s3a://{url.host}{url.path}" if url.scheme in _S3 else f"{url.root}{url.path}"


def relative_to(path: str, directory: str) -> str:
    """A path as seen from a local directory; one on another file system as it is."""
    return os.path.relpath(path_of(path), directory) if split_url(path) is None else path
