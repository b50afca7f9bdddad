"""Which files LOAD DATA means by a path: a file, a directory or a pattern. Hive:
LoadSemanticAnalyzer.matchFilesOrDir, Hadoop's globs.

    *  any characters    ?  one    [a-z] [^a-z]  one of these, or not    {x,y}  either    \\*  the
       character itself

Names that begin with ``_`` or ``.`` are passed over.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from acidsql.acid.paths import is_hidden
from acidsql.errors import BindError
from acidsql.files.fileio import FileIO, check_name
from acidsql.files.urls import path_of, split_url
from acidsql.lazy_dataclass import dataclass

_STORE = "_acidsql"
"""Directory of an embedded metastore: to load its files would take them away from it."""
_WILD = re.compile(r"[*?\[\]{}\\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file to load; ``size`` in bytes."""

    path: str
    size: int

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


def find_sources(io: FileIO, path: str) -> tuple[Source, ...]:
    """The files by name; those of the directory, if the path means one. BindError in Hive's words
    if there is none, or a directory among them.

    OSError for a directory that cannot be read, and for a name that is not UTF-8.
    """
    folder = _Folder(io)
    whole = path_of(path)
    if split_url(path) is None and not whole.startswith("/"):
        whole = f"{os.getcwd()}/{whole}"
    entries = sorted({entry for pattern in _choices(whole) for entry in _matching(folder, pattern)})
    if len(entries) == 1 and folder.is_directory(entries[0]):
        entries = [f"{entries[0]}/{name}" for name in folder.names(entries[0])]
    for entry in entries:
        if _STORE in os.path.realpath(entry).split("/"):
            raise _invalid(path, f"source is a file of a metastore: {entry}")
        check_name(entry)
        if folder.is_directory(entry):
            raise _invalid(path, f"source contains directory: {entry}")
    if not entries:
        raise _invalid(path, f"No files matching path {whole}")
    return tuple(Source(path=entry, size=folder.size(entry)) for entry in entries)


def _invalid(path: str, reason: str) -> BindError:
    return BindError(f"Invalid path ''{path}'': {reason}")


class _Folder:
    """Looks into directories, each once, without their hidden names."""

    def __init__(self, io: FileIO) -> None:
        self._io = io
        self._seen: dict[str, dict[str, int | None]] = {}

    def names(self, directory: str) -> list[str]:
        return sorted(self._entries(directory))

    def is_directory(self, path: str) -> bool:
        if split_url(path) is None:
            return os.path.isdir(path)
        return bool(self._entries(path))

    def exists(self, path: str) -> bool:
        return self._io.exists(path)

    def size(self, path: str) -> int:
        return os.stat(path).st_size if split_url(path) is None else self._io.read_tail(path, 0)[1]

    def _entries(self, directory: str) -> dict[str, int | None]:
        if directory not in self._seen:
            self._seen[directory] = dict(self._listed(directory))
        return self._seen[directory]

    def _listed(self, directory: str) -> Iterator[tuple[str, int | None]]:
        if split_url(directory) is None:  # not all that is below, which may be much
            yield from ((name, None) for name in os.listdir(directory) if not is_hidden(name))
            return
        listing = self._io.listing(directory)
        yield from ((path, None) for path in listing.directories if "/" not in path)
        yield from ((file.path, file.size) for file in listing.files if "/" not in file.path)


def _matching(folder: _Folder, pattern: str) -> list[str]:
    """The paths that match, parts of the pattern one after the other."""
    url = split_url(pattern)
    root, rest = ("", pattern) if url is None else (url.root, url.path)
    paths = [root]
    for part in [part for part in rest.split("/") if part]:
        if _WILD.search(part) is None:
            paths = [path for above in paths if folder.exists(path := f"{above}/{part}")]
            continue
        wanted = re.compile(_regex(part), re.DOTALL)
        inside = [above for above in paths if folder.is_directory(above or "/")]
        paths = [
            f"{above}/{name}"
            for above in inside
            for name in folder.names(above or "/")
            if wanted.fullmatch(name)
        ]
    return [path for path in paths if path != root and not is_hidden(path.rpartition("/")[2])]


def _choices(pattern: str) -> Iterator[str]:
    """The pattern with each choice in its outermost braces made."""
    depth, start, commas = 0, -1, [0]
    at = 0
    while at < len(pattern):
        mark = pattern[at]
        if mark == "\\":
            at += 1
        elif mark == "{":
            depth += 1
            if depth == 1:
                start, commas = at, [at]
        elif mark == "," and depth == 1:
            commas.append(at)
        elif mark == "}" and depth:
            depth -= 1
            if not depth:
                for begin, end in zip(commas, [*commas[1:], at], strict=True):
                    yield from _choices(
                        pattern[:start] + pattern[begin + 1 : end] + pattern[at + 1 :]
                    )
                return
        at += 1
    yield pattern


def _regex(part: str) -> str:
    regex, at = "", 0
    while at < len(part):
        mark = part[at]
        end = part.find("]", at + 2) if mark == "[" else -1
        if mark == "\\" and at + 1 < len(part):
            at += 1
            regex += re.escape(part[at])
        elif end > 0:
            inside = part[at + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
            regex += (
                f"[{'^' if inside[0] in '^!' else ''}{inside[1:] if inside[0] in '^!' else inside}]"
            )
            at = end
        else:
            regex += {"*": ".*", "?": "."}.get(mark) or re.escape(mark)
        at += 1
    return regex
