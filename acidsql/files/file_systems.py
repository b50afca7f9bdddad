"""All file systems behind one FileIO: each path goes to that of its scheme and host.

Local paths never touch pyarrow.fs. Of the others ``acidsql.filesystem`` decides: pyarrow's own
drivers (S3, Google's and Azure's stores, HDFS), or Hadoop's through the running Spark; ``auto``
takes pyarrow's where there is one that works. Credentials are found by the drivers themselves, in
the environment and the usual files; none passes through here.
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from acidsql.errors import UnsupportedStatementError
from acidsql.files.fileio import FileIO, Listing, Url, pieces_of, split_url
from acidsql.files.local_files import LocalFileIO
from acidsql.settings import Settings

if TYPE_CHECKING:
    import pyarrow as pa

    from acidsql.acid.listed import FileEntry
    from acidsql.files.arrow_files import ArrowFileIO


class _Options(NamedTuple):
    kind: str
    endpoint: str
    region: str
    path_style: bool


class FileSystems:
    """The file systems of one session, which is asked for its settings whenever a path is not
    local. ``hadoop`` opens a URL by Hadoop's drivers.
    """

    def __init__(self, settings: Settings, hadoop: Callable[[Url], FileIO]) -> None:
        self._settings = settings
        self._hadoop = hadoop
        self._local: FileIO = LocalFileIO(durable=settings.flag("acidsql.durable"))
        self._opened: dict[tuple[str, _Options], FileIO] = {}
        self._lock = threading.Lock()

    def of(self, path: str) -> FileIO:
        """The file system a path lies on. UnsupportedStatementError for one that cannot
        be opened.
        """
        url = split_url(path)
        if url is None:
            return self._local
        settings = self._settings
        options = _Options(
            settings.text("acidsql.filesystem"),
            settings.text("acidsql.s3.endpoint"),
            settings.text("acidsql.s3.region"),
            settings.flag("acidsql.s3.path.style"),
        )
        with self._lock:
            key = (url.root, options)
            if key not in self._opened:
                self._opened[key] = self._open(url, options)
            return self._opened[key]

    def forget(self) -> None:
        """Opens each anew when it is asked for again: Hadoop's went with their Java process."""
        with self._lock:
            self._opened.clear()

    def _open(self, url: Url, options: _Options) -> FileIO:
        if options.kind != "hadoop":
            files = _arrow(url, options)
            if files is not None:
                return files
        if options.kind == "arrow":
            raise UnsupportedStatementError(
                f'pyarrow cannot open "{url.root}"',
                hint=(
                    "SET acidsql.filesystem=auto also tries the file systems of Hadoop, through"
                    " Spark."
                ),
            )
        return self._hadoop(url)

    def _of_both(self, old: str, new: str) -> FileIO:
        files = self.of(old)
        if self.of(new) is not files:
            raise OSError(
                errno.EXDEV,
                f"{os.strerror(errno.EXDEV)}: it lies on another file system than {old}",
                new,
            )
        return files

    # ---- FileIO

    def renames(self, path: str) -> bool:
        return self.of(path).renames(path)

    def for_executors(self, root: str) -> FileIO | None:
        return self.of(root).for_executors(root)

    def listing(self, root: str) -> Listing:
        return self.of(root).listing(root)

    def list_files(self, root: str) -> list[FileEntry]:
        return self.of(root).list_files(root)

    def names(self, path: str) -> list[str]:
        return self.of(path).names(path)

    def exists(self, path: str) -> bool:
        return self.of(path).exists(path)

    def make_directory(self, path: str) -> None:
        self.of(path).make_directory(path)

    def read(self, path: str) -> bytes:
        return self.of(path).read(path)

    def directory_id(self, path: str) -> object:
        return self.of(path).directory_id(path)

    def open_input(self, path: str) -> pa.NativeFile:
        return self.of(path).open_input(path)

    def read_tail(self, path: str, count: int) -> tuple[bytes, int]:
        return self.of(path).read_tail(path, count)

    def write(self, path: str, *parts: bytes | memoryview) -> None:
        self.of(path).write(path, *parts)

    def stage(self, path: str, *parts: bytes | memoryview) -> None:
        self.of(path).stage(path, *parts)

    def write_pieces(self, path: str, pieces: Iterable[bytes | memoryview]) -> None:
        self.of(path).write_pieces(path, pieces)

    def copy_file(self, old: str, new: str, *, as_link: bool = False) -> None:
        files = self.of(new)
        if self.of(old) is files:
            files.copy_file(old, new, as_link=as_link)
        else:
            files.write_pieces(new, pieces_of(self, old))

    def replace_tail(self, path: str, offset: int, data: bytes) -> str:
        return self.of(path).replace_tail(path, offset, data)

    def publish(self, staged: str, final: str) -> None:
        self._of_both(staged, final).publish(staged, final)

    def sync_file(self, path: str) -> None:
        self.of(path).sync_file(path)

    def sync_directory(self, path: str) -> None:
        self.of(path).sync_directory(path)

    def delete_file(self, path: str) -> None:
        self.of(path).delete_file(path)

    def delete_tree(self, path: str) -> None:
        self.of(path).delete_tree(path)

    def move_directory(self, old: str, new: str) -> None:
        self._of_both(old, new).move_directory(old, new)

    def move_file(self, old: str, new: str) -> None:
        self._of_both(old, new).move_file(old, new)

    def end_move(self, old: str) -> None:
        self.of(old).end_move(old)

    def undo_move(self, old: str, new: str) -> None:
        self._of_both(old, new).undo_move(old, new)

    def remove_empty_directory(self, path: str) -> bool:
        return self.of(path).remove_empty_directory(path)


# ---- pyarrow's drivers


def _arrow(url: Url, options: _Options) -> ArrowFileIO | None:
    """pyarrow's files; None if it has no driver for the scheme, or that for HDFS finds no Hadoop
    here.
    """
    open_driver = _DRIVERS.get(url.scheme)
    try:
        return None if open_driver is None else open_driver(url, options)
    except (ImportError, OSError) as error:
        if options.kind == "auto":
            return None
        detail = str(error).partition("\n")[0]
        raise UnsupportedStatementError(
            f'pyarrow cannot open "{url.root}"', detail=detail
        ) from error


def _s3(url: Url, options: _Options) -> ArrowFileIO:
    from pyarrow import fs

    from acidsql.files.arrow_files import ArrowFileIO

    endpoint = urlsplit(options.endpoint if "//" in options.endpoint else f"//{options.endpoint}")
    files = fs.S3FileSystem(
        endpoint_override=endpoint.netloc or None,
        scheme=endpoint.scheme or None,
        # An endpoint is most often not Amazon's; without a name the driver would ask Amazon where
        # it is.
        region=options.region or ("us-east-1" if endpoint.netloc else None),
        force_virtual_addressing=not options.path_style,
        # One request for a small file, and not three.
        allow_delayed_open=True,
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS),
    )
    return ArrowFileIO(files=files, root=url.root, prefix=url.host, renaming=False, travels=True)


def _gcs(url: Url, options: _Options) -> ArrowFileIO:
    from pyarrow import fs

    from acidsql.files.arrow_files import ArrowFileIO

    return ArrowFileIO(
        files=fs.GcsFileSystem(),
        root=url.root,
        prefix=url.host,
        renaming=False,
        shows_directories=False,
        travels=True,
    )


def _azure(url: Url, options: _Options) -> ArrowFileIO:
    """The files of ``abfss://container@account.dfs.core.windows.net``."""
    from pyarrow import fs

    from acidsql.files.arrow_files import ArrowFileIO

    container, _, host = url.host.partition("@")
    account, _, domain = host.partition(".")
    if not account:
        raise UnsupportedStatementError(
            f'"{url.root}" names no storage account',
            hint="Write container@account.dfs.core.windows.net.",
        )
    authorities = {}
    if domain and domain != "dfs.core.windows.net":  # a national cloud's
        authorities = {
            "dfs_storage_authority": f".{domain}",
            "blob_storage_authority": f".{domain.replace('dfs', 'blob', 1)}",
        }
    return ArrowFileIO(
        files=fs.AzureFileSystem(account, **authorities),
        root=url.root,
        prefix=container,
        renaming=False,
        travels=True,
    )


def _hdfs(url: Url, options: _Options) -> ArrowFileIO:
    from pyarrow import fs

    from acidsql.files.arrow_files import ArrowFileIO

    host, _, port = url.host.partition(":")
    return ArrowFileIO(
        files=fs.HadoopFileSystem(host, int(port or 0)),
        root=url.root,
        prefix="",
        renaming=True,
        travels=True,
    )


_ATTEMPTS = 5
"""Attempts at a request that fails for want of an answer, with pauses that grow."""

_DRIVERS: dict[str, Callable[[Url, _Options], ArrowFileIO]] = {
    "s3": _s3,
    "s3a": _s3,
    "s3n": _s3,
    "gs": _gcs,
    "abfs": _azure,
    "abfss": _azure,
    "hdfs": _hdfs,
}
