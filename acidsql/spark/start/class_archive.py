"""Spark's classes as Java has them in memory, in a file of the user's cache directory: a Java that
maps it starts in half the time, with its usual compilers.

The first Java that is started with a set of jars writes the file when it ends, as a candidate; a
later start takes that over if it is whole, and gives it its name in one step. Java compares the
file's header with its own build and with the jars, and does without where they differ. Whatever
cannot be read, written or told here means a start without the file, never a failed one.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from acidsql.errors import ExecutionError
from acidsql.processes import boot_id, exists, is_leaving, told_of_our_end
from acidsql.spark import jvm
from acidsql.spark.start.java import cache_directory, java_version, major_version

DRIVER_OPTIONS = "spark.driver.extraJavaOptions"
ENTRIES = "acidsql-classes"
_WRITES_ARCHIVES = 13
"""The first Java that can."""
_OWN_WORDS = ("-Xshare", "SharedArchive", "ArchiveClasses", "AOT", "RecordDynamicDumpInfo")
_ON_CLASS_PATH = ("SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR")
_IN_KEY = ("SPARK_DIST_CLASSPATH", "SPARK_CLASSPATH")
_FREE_BYTES = 1 << 30
_SETTLED_SECONDS = 2.0
_ABANDONED_SECONDS = 600.0
_KEPT_SECONDS = 30 * 86_400.0
_DUMP_SECONDS = 60


def launch(java_home: Path, conf: Mapping[str, str], java_options: str, *, quiet: bool) -> None:
    """``jvm.launch`` with the archive; without it, and without it for good, where Java does not
    start with it.
    """
    from pyspark.find_spark_home import _find_spark_home

    given = options(java_home, Path(_find_spark_home()), conf, may_write=quiet)
    if given:
        try:
            jvm.launch(conf, java_options=" ".join([*given, java_options]), quiet=quiet)
            return
        except ExecutionError:
            if is_leaving():  # which has ended Java: its archive is as good as before
                raise
            forget(given)
    jvm.launch(conf, java_options=java_options, quiet=quiet)


def options(
    java_home: Path,
    spark_home: Path,
    conf: Mapping[str, str],
    *,
    may_write: bool,
    environ: Mapping[str, str] = os.environ,
) -> tuple[str, ...]:
    """What Java is to be told so that it uses the archive of these jars, or writes one when it
    ends. () where there is nothing to gain, or something in the way.

    ``conf``: Spark's settings. ``may_write``: Java's own words reach nobody, so it may live on for
    the seconds that the writing takes.
    """
    if os.name == "nt" or _is_in_the_way(spark_home, conf, environ):
        return ()
    if major_version(java_version(java_home) or "") < _WRITES_ARCHIVES:
        return ()
    try:
        folder = _folder(cache_directory(environ) / ENTRIES)
        archive = _Archive(folder, _key(java_home, spark_home, conf, environ))
        archive.adopt()
        path = archive.usable()
        if path is not None:
            os.utime(path)
            return (f"-XX:SharedArchiveFile={path}",)
        if may_write and shutil.disk_usage(folder).free > _FREE_BYTES and archive.claim():
            return (*_base_options(java_home, archive), f"-XX:ArchiveClassesAtExit={archive.new}")
    except (OSError, ValueError, subprocess.SubprocessError):
        pass
    return ()


def forget(given: Sequence[str]) -> None:
    """Removes the archive that ``options`` gave: Java did not start with it."""
    for option in given:
        with suppress(OSError):
            Path(option.partition("=")[2]).unlink()


class _Archive:
    """The files of one key: the archive that is used and perhaps the base it stands on, with their
    sizes in their names; ``new``, a candidate that Java is writing or has written; ``note``, of the
    process whose Java that is.
    """

    def __init__(self, folder: Path, key: str) -> None:
        self.folder = folder
        self.key = key
        self.new = folder / f"{key}.new"
        self.note = folder / f"{key}.writing"

    def usable(self) -> Path | None:
        """The archive, if there is one. Java crashes on a file that was cut short: such a one goes,
        with all that belongs to it.
        """
        files = list(self.folder.glob(f"{self.key}-*.jsa"))
        if all(_has_its_size(path) for path in files):
            return next((path for path in files if not path.name.startswith(self._base)), None)
        for path in files:
            path.unlink(missing_ok=True)
        return None

    @property
    def _base(self) -> str:
        return f"{self.key}-base-"

    def keep(self, file: Path, *, base: bool = False) -> Path:
        """Gives a whole file its name, in one step and for good."""
        with open(file, "rb") as opened:
            os.fsync(opened.fileno())
        name = f"{self._base if base else f'{self.key}-'}{file.stat().st_size}.jsa"
        return file.replace(self.folder / name)

    def adopt(self) -> None:
        """Gives a whole candidate its name. One of another boot may have lost what was not on the
        disk yet, and goes.
        """
        if not self.new.exists() or not self.note.exists():
            return
        if self._noted().get("boot") != boot_id():
            self._drop_candidate()
        elif _is_whole(self.new):
            self.keep(self.new)
            self.note.unlink(missing_ok=True)
            self._remove_unused()

    def claim(self) -> bool:
        """Whether this process's Java is the one that writes the candidate."""
        if self.note.exists() and self._is_abandoned():
            self._drop_candidate()
        try:
            handle = os.open(self.note, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        except FileExistsError:
            return False
        with open(handle, "w") as file:
            json.dump({"pid": os.getpid(), "boot": boot_id()}, file)
        return True

    def _noted(self) -> Mapping[str, object]:
        with suppress(ValueError):
            noted = json.loads(self.note.read_text())
            return noted if isinstance(noted, dict) else {}
        return {}

    def _is_abandoned(self) -> bool:
        """Whether nobody writes any more. Java may be writing for a while after its process."""
        noted = self._noted()
        if noted.get("boot") != boot_id():
            return True
        pid = noted.get("pid")
        alive = isinstance(pid, int) and exists(pid)
        return not alive and time.time() - self.note.stat().st_mtime > _ABANDONED_SECONDS

    def _drop_candidate(self) -> None:
        self.new.unlink(missing_ok=True)
        self.note.unlink(missing_ok=True)

    def _remove_unused(self) -> None:
        """Archives of jars and Javas that nobody has started for a month."""
        oldest = time.time() - _KEPT_SECONDS
        used = {self.key}
        files = [(path, path.name.partition("-")[0]) for path in self.folder.glob("*.jsa")]
        used |= {key for path, key in files if path.stat().st_mtime > oldest}
        for path, key in files:
            if key not in used:
                path.unlink(missing_ok=True)


def _is_in_the_way(spark_home: Path, conf: Mapping[str, str], environ: Mapping[str, str]) -> bool:
    """Whether the user has an archive of his own, or Java would write none: it does not where the
    class path has a folder with files in it.
    """
    given = " ".join(
        [
            conf.get(DRIVER_OPTIONS, ""),
            environ.get("JAVA_TOOL_OPTIONS", ""),
            environ.get("_JAVA_OPTIONS", ""),
        ]
    )
    folders = [spark_home / "conf", *(Path(environ[n]) for n in _ON_CLASS_PATH if environ.get(n))]
    return any(word in given for word in _OWN_WORDS) or any(
        folder.is_dir() and any(folder.iterdir()) for folder in folders
    )


def _folder(path: Path) -> Path:
    """The folder, made if need be. ValueError where its files may be another user's, or Spark would
    take its name apart.
    """
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    stat = path.stat()
    if stat.st_uid != os.getuid() or stat.st_mode & 0o022:
        raise ValueError(f"{path} may be written to by others")
    if any(c.isspace() or c in "\"'\\" for c in str(path)):
        raise ValueError(f"{path} has to be quoted")
    return path


def _key(
    java_home: Path, spark_home: Path, conf: Mapping[str, str], environ: Mapping[str, str]
) -> str:
    """A name for what Java and its classes are: a change of any makes another archive."""
    facts = [
        socket.gethostname(),
        str(java_home),
        str(java_version(java_home)),
        *_stats(java_home / "lib" / "server"),
        str(spark_home),
        *_stats(spark_home / "jars"),
        *(conf.get(name, "") for name in ("spark.driver.extraClassPath", "spark.jars")),
        *(environ.get(name, "") for name in _IN_KEY),
    ]
    return hashlib.sha256("\0".join(facts).encode(errors="surrogateescape")).hexdigest()[:16]


def _stats(folder: Path) -> Iterator[str]:
    """The files of a folder in the order in which Java comes to them, too."""
    if folder.is_dir():
        with os.scandir(folder) as entries:
            for entry in entries:
                stat = entry.stat()
                yield f"{entry.name} {stat.st_size} {stat.st_mtime_ns}"


def _base_options(java_home: Path, archive: _Archive) -> tuple[str, ...]:
    """The archive of Java's own classes, on which that of Spark's stands: made here for a Java that
    comes without one.
    """
    if (java_home / "lib" / "server" / "classes.jsa").exists():
        return ()
    dumped = archive.new.with_suffix(f".{os.getpid()}")
    command = [str(java_home / "bin" / "java"), "-Xshare:dump", f"-XX:SharedArchiveFile={dumped}"]
    try:
        subprocess.run(
            command,
            check=True,
            capture_output=True,
            timeout=_DUMP_SECONDS,
            preexec_fn=told_of_our_end(),
        )
        base = archive.keep(dumped, base=True)
    finally:
        dumped.unlink(missing_ok=True)
    return (f"-XX:SharedArchiveFile={base}",)


def _is_whole(candidate: Path) -> bool:
    """Whether Java has come to the end: the header, at the file's beginning, is what it writes
    last.
    """
    with open(candidate, "rb") as file:
        return any(file.read(4)) and time.time() - candidate.stat().st_mtime > _SETTLED_SECONDS


def _has_its_size(path: Path) -> bool:
    return path.stem.rpartition("-")[2] == str(path.stat().st_size)
