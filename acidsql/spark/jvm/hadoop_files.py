"""Hadoop's file systems as one of pyarrow's: whatever the running Spark can open, with its
configuration and its credentials.

For what pyarrow has no driver for (viewfs, webhdfs, a vendor's own), and where only Hadoop's
configuration knows how to get in. Slower: each call is one to the Java process, and the bytes go
through it.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import fs

from acidsql.errors import UnsupportedStatementError
from acidsql.files.arrow_files import ATTEMPTS, ArrowFileIO
from acidsql.files.fileio import Url, spark_url
from acidsql.lazy import dataclass
from acidsql.spark import jvm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RENAMING = frozenset({"hdfs", "viewfs", "webhdfs", "swebhdfs", "o3fs", "ofs", "maprfs", "file"})
"""The schemes of file systems that rename in one step. Of the others a move is taken for a copy."""

_REST_SECONDS = 5.0

# The Java classes of errors, by the last part of their names.
_ERRORS = {
    "FileNotFoundException": errno.ENOENT,
    "NoSuchFileException": errno.ENOENT,
    "FileAlreadyExistsException": errno.EEXIST,
    "PathExistsException": errno.EEXIST,
    "AccessControlException": errno.EACCES,
    "AccessDeniedException": errno.EACCES,
    "ParentNotDirectoryException": errno.ENOTDIR,
    "PathIsNotDirectoryException": errno.ENOTDIR,
    "UnknownHostException": errno.EADDRNOTAVAIL,
}


def hadoop_file_io(spark: SparkSession, url: Url) -> ArrowFileIO:
    """UnsupportedStatementError if Spark has no file system for the URL, or no Java
    process to ask.
    """
    jvm.need_java(
        spark,
        f'"{url.root}" cannot be opened by Hadoop',
        "Use a classic Spark session, or a URL that pyarrow can open.",
    )
    root = spark_url(url.root)
    try:
        with _java_errors(root):
            hadoop = _Hadoop(spark, root, renaming=url.scheme in RENAMING)
    except OSError as error:
        hint = _unknown_host_hint(url.host) if error.errno == errno.EADDRNOTAVAIL else None
        raise UnsupportedStatementError(
            f'Spark has no file system for "{url.root}"', detail=error.strerror, hint=hint
        ) from error
    handler = _Handler(hadoop, root)
    return ArrowFileIO(
        files=fs.PyFileSystem(handler),
        root=url.root,
        prefix=root,
        renaming=hadoop.renaming,
        remove_if_empty=handler.remove_if_empty,
    )


def _unknown_host_hint(host: str) -> str:
    folder = os.environ.get("HADOOP_CONF_DIR")
    return (
        f'"{host}" is no host, and no name service of the Hadoop files in {folder}'
        " ($HADOOP_CONF_DIR as it was when Spark started)."
        if folder
        else f'"{host}" is no host. If it is a name service, set HADOOP_CONF_DIR to the folder of'
        " core-site.xml and hdfs-site.xml before Spark starts."
    )


@dataclass(frozen=True, slots=True)
class _Status:
    is_directory: bool
    size: int
    mtime_ms: int


class _Hadoop:
    """The calls of org.apache.hadoop.fs.FileSystem that are needed; their errors are Java's."""

    def __init__(self, spark: SparkSession, root: str, *, renaming: bool) -> None:
        self._door: Any = jvm.jvm(spark)
        self._conf = jvm.hadoop_configuration(spark)
        self._path = self._class("org.apache.hadoop.fs.Path")
        self.renaming = renaming
        top = self._path(f"{root}/")
        self._files = top.getFileSystem(self._conf)
        if renaming:
            # Its rename refuses names that are taken; that of FileSystem moves into a directory of
            # that name.
            self._context = self._class("org.apache.hadoop.fs.FileContext").getFileContext(
                top.toUri(), self._conf
            )
            rename = self._class("java.lang.Class").forName("org.apache.hadoop.fs.Options$Rename")
            self._no_options = self._class("java.lang.reflect.Array").newInstance(rename, 0)

    def _class(self, name: str) -> Any:
        return getattr(self._door, name)

    def status(self, path: str) -> _Status:
        return _status(self._files.getFileStatus(self._path(path)))

    def statuses(self, base: str, *, recursive: bool) -> list[tuple[str, _Status]]:
        """What lies below, by its path relative to ``base``. Of a store only the files, where all
        are asked for.
        """
        if recursive and not self.renaming:
            return list(self._all_files(base))
        entries: list[tuple[str, _Status]] = []
        for java in self._files.listStatus(self._path(base)):
            name, status = str(java.getPath().getName()), _status(java)
            entries.append((name, status))
            if recursive and status.is_directory:
                entries += [
                    (f"{name}/{path}", below)
                    for path, below in self.statuses(f"{base}/{name}", recursive=True)
                ]
        return entries

    def _all_files(self, base: str) -> Iterator[tuple[str, _Status]]:
        top = self._path(base)
        start = len(str(top.toUri().getPath())) + 1
        listed = self._files.listFiles(top, True)
        while listed.hasNext():
            java = listed.next()
            yield str(java.getPath().toUri().getPath())[start:], _status(java)

    def is_empty(self, path: str) -> bool:
        return not len(self._files.listStatus(self._path(path)))

    def make_directory(self, path: str) -> None:
        self._files.mkdirs(self._path(path))

    def delete(self, path: str, *, recursive: bool) -> bool:
        """Deletes a file or directory; False if it is not there. A directory that holds something
        is an error, unless ``recursive``.
        """
        return bool(self._files.delete(self._path(path), recursive))

    def rename(self, old: str, new: str) -> None:
        self._context.rename(self._path(old), self._path(new), self._no_options)

    def copy(self, old: str, new: str) -> None:
        """Copies a file through the Java process; an error if ``new`` exists."""
        copied = self._class("org.apache.hadoop.fs.FileUtil").copy(
            self._files, self._path(old), self._files, self._path(new), False, False, self._conf
        )
        if not copied:
            raise OSError(errno.EIO, "was not copied", new)

    def open(self, path: str) -> Any:
        return self._files.open(self._path(path))

    def create(self, path: str) -> Any:
        """An error if it is there."""
        return self._files.create(self._path(path), False)


def _status(java: Any) -> _Status:
    return _Status(bool(java.isDirectory()), int(java.getLen()), int(java.getModificationTime()))


class _Handler(fs.FileSystemHandler):  # type: ignore[misc]
    """Hadoop's file system as one of pyarrow's, whose names are URLs."""

    def __init__(self, hadoop: _Hadoop, root: str) -> None:
        self._hadoop = hadoop
        self._root = root
        self._asking = _Asking()

    def get_type_name(self) -> str:
        return "acidsql-hadoop"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Handler) and other._root == self._root

    def __hash__(self) -> int:
        return hash(self._root)

    def normalize_path(self, path: str) -> str:
        return path

    # ---- looking

    def get_file_info(self, paths: list[str]) -> list[fs.FileInfo]:
        return [self._info(path) for path in paths]

    def _info(self, path: str) -> fs.FileInfo:
        try:
            with self._asking(path):
                return _info(path, self._hadoop.status(path))
        except FileNotFoundError:
            return fs.FileInfo(path, fs.FileType.NotFound)

    def get_file_info_selector(self, selector: fs.FileSelector) -> list[fs.FileInfo]:
        base = selector.base_dir.rstrip("/")
        for attempt in range(ATTEMPTS):
            try:
                with self._asking(base):
                    entries = self._hadoop.statuses(base, recursive=selector.recursive)
                break
            except FileNotFoundError:
                is_there = self._info(base).type is not fs.FileType.NotFound
                if is_there and attempt + 1 < ATTEMPTS:
                    continue  # something below has vanished meanwhile
                if is_there or not selector.allow_not_found:
                    raise
                return []
        return [_info(f"{base}/{path}", status) for path, status in entries]

    # ---- changing

    def create_dir(self, path: str, recursive: bool) -> None:
        with self._asking(path):
            self._hadoop.make_directory(path)

    def delete_dir(self, path: str) -> None:
        with self._asking(path):
            if not self._hadoop.delete(path, recursive=True):
                raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), path)

    def delete_dir_contents(self, path: str, missing_dir_ok: bool = False) -> None:
        raise NotImplementedError

    def delete_root_dir_contents(self) -> None:
        raise NotImplementedError

    def delete_file(self, path: str) -> None:
        self.delete_dir(path)

    def remove_if_empty(self, path: str) -> bool:
        """Removes a directory if it is empty. Hadoop looks and deletes in one step."""
        with self._asking(path):
            if not self._hadoop.is_empty(path):
                return False
            try:
                self._hadoop.delete(path, recursive=False)
            except Exception:
                if self._hadoop.is_empty(path):
                    raise
                return False
            return True

    def move(self, src: str, dest: str) -> None:
        with self._asking(dest):
            self._hadoop.rename(src, dest)

    def copy_file(self, src: str, dest: str) -> None:
        with self._asking(dest):
            self._hadoop.copy(src, dest)

    # ---- bytes

    def open_input_file(self, path: str) -> pa.NativeFile:
        with self._asking(path):
            status = self._hadoop.status(path)
            return pa.PythonFile(
                _Input(path, self._hadoop.open(path), status.size, self._asking), mode="r"
            )

    def open_input_stream(self, path: str) -> pa.NativeFile:
        return self.open_input_file(path)

    def open_output_stream(self, path: str, metadata: object) -> pa.NativeFile:
        with self._asking(path):
            return pa.PythonFile(_Output(path, self._hadoop.create(path), self._asking), mode="w")

    def open_append_stream(self, path: str, metadata: object) -> pa.NativeFile:
        raise NotImplementedError


def _info(path: str, status: _Status) -> fs.FileInfo:
    if status.is_directory:
        return fs.FileInfo(path, fs.FileType.Directory)
    return fs.FileInfo(
        path, fs.FileType.File, size=status.size, mtime_ns=status.mtime_ms * 1_000_000
    )


class _Input(io.RawIOBase):
    """A Java FSDataInputStream."""

    def __init__(self, path: str, stream: Any, size: int, asking: _Asking) -> None:
        self._path, self._stream, self._size, self._position = path, stream, size, 0
        self._asking = asking

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}[whence]
        self._position = start + offset
        return self._position

    def read(self, size: int | None = -1) -> bytes:
        left = max(0, self._size - self._position)
        count = left if size is None or size < 0 else min(size, left)
        with self._asking(self._path):
            self._stream.seek(self._position)
            data = bytes(self._stream.readNBytes(count)) if count else b""
        self._position += len(data)
        return data

    def close(self) -> None:
        if not self.closed:
            with self._asking(self._path):
                self._stream.close()
        super().close()


class _Output(io.RawIOBase):
    """A Java FSDataOutputStream."""

    def __init__(self, path: str, stream: Any, asking: _Asking) -> None:
        self._path, self._stream, self._asking = path, stream, asking

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        with self._asking(self._path):
            self._stream.write(bytes(data))
        return len(data)

    def close(self) -> None:
        if not self.closed:
            with self._asking(self._path):
                self._stream.close()
        super().close()


class _Asking:
    """The calls of one file system. When its servers could not be reached, for which Hadoop tries
    for minutes, those of the next seconds fail as that did: many take away what a statement leaves.
    """

    def __init__(self) -> None:
        self._failed: tuple[float, str] | None = None

    @contextlib.contextmanager
    def __call__(self, path: str) -> Iterator[None]:
        if self._failed is not None and time.monotonic() - self._failed[0] < _REST_SECONDS:
            raise OSError(errno.EHOSTUNREACH, self._failed[1], path)
        try:
            with _java_errors(path):
                yield
        except OSError as error:
            if error.errno == errno.EHOSTUNREACH:
                self._failed = time.monotonic(), error.strerror or ""
            raise


@contextlib.contextmanager
def _java_errors(path: str) -> Iterator[None]:
    """What Java raises comes out as an OSError."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        causes = list(jvm.java_causes(error))
        if not causes:
            raise
        code = next(
            (_ERRORS[name] for kind, _ in causes if (name := kind.rpartition(".")[2]) in _ERRORS),
            errno.EHOSTUNREACH if any(jvm.is_unreached(text) for _, text in causes) else errno.EIO,
        )
        kind, message = causes[0]
        raise OSError(code, (message or kind).partition("\n")[0], path) from error
