"""What the processes of a cluster that run Spark's tasks must have, asked in the first job of a
session there, so that what is missing is told at once and not by the first statement that needs it.

All statements need the warehouse's directory, where that is a path, at the same path as the driver.
Their rows are read and written by Spark's own Java classes, which a cluster has. Python, with
pyarrow, does some things more: it computes the buckets of columns of which Spark has no hash like
Hive's, and finishes files and reads footers on object stores, which the driver does elsewhere.
acidsql itself is shipped to it, where another version of it, or none, is installed.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import tempfile
import time
import uuid
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

from acidsql.errors import ExecutionError
from acidsql.files.fileio import FileIO, path_of, split_url
from acidsql.files.parallel import Work, attempt, in_parallel
from acidsql.lazy import dataclass
from acidsql.spark import jvm
from acidsql.spark.start.meanings import tidy

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


PACKAGES = ("pyarrow", "numpy", "google.protobuf")
"""What the modules import that tasks use."""
MODULES = ("acidsql.acid.bucketing", "acidsql.storage.write.finish")
_DOCS = "docs/clusters.md says what machines of a cluster need."
_FOLDER = "_acidsql"
_MOST_NAMED = 5
_PATIENCE_SECONDS = 5.0

_checked: WeakKeyDictionary[Any, _Cluster] = WeakKeyDictionary()
"""What is known by Spark's context."""


@dataclass(slots=True, kw_only=True)
class _Cluster:
    """``lacks``: what is missing for Python's work, as text for users, "" if nothing is.
    ``asked``: whether they were at all. ``executors``: the ids of those on ``hosts``, which were
    asked; ``reached``: the warehouses that these all reach. ``shipped``: whether they have been
    given acidsql.
    """

    lacks: str = ""
    asked: bool = False
    executors: set[str] = field(default_factory=set)
    hosts: set[str] = field(default_factory=set)
    reached: set[str] = field(default_factory=set)
    shipped: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Report:
    """What one host lacks: packages, and the warehouse. ``version``: of its acidsql."""

    missing: frozenset[str]
    version: str
    trouble: str


@dataclass(slots=True, kw_only=True)
class _Answers:
    """``reports``: by host; ``processes``: a host and a number for each executor that answered;
    ``failure``: why they could not be asked, None if they could.
    """

    reports: dict[str, _Report] = field(default_factory=dict)
    processes: set[tuple[str, int]] = field(default_factory=set)
    failure: str | None = None


def check(spark: SparkSession, warehouse: str | None) -> None:
    """Raises ExecutionError with all that is missing where tasks run in other processes than the
    driver's and one of them does not reach the warehouse; warns, once for a Spark, where nothing
    but Python's part is missing. Asks again when there are hosts that were not asked. On Spark
    Connect nobody can ask.
    """
    if not jvm.has_own_processes(spark):
        return
    known = _checked.setdefault(jvm.key_of_executors(spark), _Cluster())
    directory = _directory(warehouse)
    if not _has_others(spark, known):
        if directory is None or directory in known.reached:
            return
    else:
        known.reached.clear()
    of_hosts, answers = _asked_all(spark, directory)
    if not answers.failure and not known.shipped and _wants_ours(answers.reports.values()):
        _ship(spark)
        known.shipped = True
        of_hosts, answers = _asked_all(spark, directory)
    lacks = list(_lacking(answers.reports, answers.failure))
    unreached = list(_unreached(answers.reports, directory))
    if answers.failure and directory is not None and not _reads(spark, directory):
        unreached = [f'"{directory}" cannot be read by all of them']
    if unreached:
        raise ExecutionError(
            "Spark's workers lack what acidsql needs",
            detail="\n".join([*unreached, *lacks]),
            hint=f"Mount the warehouse at the same path on every machine. {_DOCS}",
        )
    known.asked = True
    known.executors.update(of_hosts)
    known.hosts.update(of_hosts.values())
    if directory is not None:
        known.reached.add(directory)
    if lacks and not known.lacks:
        jvm.leave_tasks_alone(spark)
        words = "so the driver finishes files on object stores, and buckets of some types cannot"
        warnings.warn(
            f"Spark's workers lack something: {'; '.join(lacks)}; {words} be written", stacklevel=2
        )
    known.lacks = "; ".join(lacks) or known.lacks


def need_python(spark: SparkSession, what: str) -> None:
    """Raises ExecutionError where the workers are known to lack what Python needs for ``what``."""
    known = _checked.get(jvm.key_of_executors(spark)) if jvm.has_own_processes(spark) else None
    if known is not None and known.lacks:
        raise ExecutionError(
            f"{what} takes Python on Spark's workers", detail=known.lacks, hint=_DOCS
        )


def _directory(warehouse: str | None) -> str | None:
    """The directory that all must reach; None where the warehouse is no path, or not there yet."""
    if warehouse is None or split_url(warehouse) is not None:
        return None
    path = path_of(warehouse)
    return path if os.path.isdir(path) else None


def _has_others(spark: SparkSession, known: _Cluster) -> bool:
    """Whether there are executors on hosts that were not asked."""
    if not known.asked:
        return True
    others = jvm.executors(spark) - known.executors
    if others:
        of_hosts = jvm.hosts_of_executors(spark)
        others -= {one for one in others if of_hosts.get(one) in known.hosts}
        known.executors |= of_hosts.keys() - others
    return bool(others)


def _asked_all(spark: SparkSession, directory: str | None) -> tuple[Mapping[str, str], _Answers]:
    """What all executors answer; before it their hosts. A cluster that has just been started has
    its first executor when the first task runs and others soon after, and one that has just come
    gets no task for a moment. One that is busy for longer is not waited for.
    """
    answers, until = _Answers(), time.monotonic() + _PATIENCE_SECONDS
    while True:
        _ask(spark, directory, answers)
        executors = jvm.executors(spark)  # none where Spark's scheduler does not tell
        if answers.failure or len(answers.processes) >= len(executors):
            break
        if time.monotonic() > until:
            break
    of_hosts = jvm.hosts_of_executors(spark)
    return {one: of_hosts[one] for one in executors if one in of_hosts}, answers


def _ask(spark: SparkSession, directory: str | None, answers: _Answers) -> None:
    """Adds what each host has; of several processes there the worst."""
    from acidsql.spark.start import probe

    with _marked(directory) as (home, marker):
        look = partial(probe.looked_around, PACKAGES, MODULES, home, marker)
        given = jvm.asked_in_tasks(spark, probe, look, _tasks(spark))
    if isinstance(given, str):
        answers.failure = _reason(given)
        return
    for host, process, missing, version, trouble in given:
        before = answers.reports.get(host)
        answers.processes.add((host, process))
        answers.reports[host] = _Report(
            missing=frozenset(missing) | (before.missing if before else frozenset()),
            version=version if before is None or not version else before.version,
            trouble=trouble or (before.trouble if before else ""),
        )


@contextlib.contextmanager
def _marked(directory: str | None) -> Iterator[tuple[str, str]]:
    """A directory of the warehouse and a new file in it that others must see, or where nothing may
    be written something that is there.
    """
    if directory is None:
        yield "", ""
        return
    with _new_file(directory) as file:
        if file is not None:
            yield directory, file.name
        else:
            yield directory, _FOLDER if os.path.exists(f"{directory}/{_FOLDER}") else "."


@contextlib.contextmanager
def _new_file(directory: str) -> Iterator[Path | None]:
    """A file with a word in it, while it lasts; None where nothing may be written."""
    file = Path(directory) / f".acidsql_seen_{uuid.uuid4().hex}"
    try:
        file.write_text("seen")
    except OSError:
        yield None
        return
    try:
        yield file
    finally:
        with contextlib.suppress(OSError):
            file.unlink()


def _reads(spark: SparkSession, directory: str) -> bool:
    """Whether Spark's Java classes read a file of the warehouse in several tasks; so it is taken
    where nobody can tell.
    """
    with _new_file(directory) as file:
        return file is None or jvm.read_in_tasks(spark, file.as_uri(), _tasks(spark))


def _tasks(spark: SparkSession) -> int:
    """How many tasks are enough for each executor to have one, if they begin at the same time."""
    return max(2, 2 * (jvm.tasks_at_once(spark) or 1))


def _wants_ours(reports: Iterable[_Report]) -> bool:
    ours = str(import_module("acidsql").__version__)
    return any(report.version != ours and not report.missing for report in reports)


def _ship(spark: SparkSession) -> None:
    """Gives tasks this process's acidsql, ahead of what is installed."""
    folder = tempfile.mkdtemp(prefix="acidsql-shipped-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    package = Path(__file__).parents[2]
    archive = Path(folder) / "acidsql.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zipped:
        for file in sorted(package.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                zipped.write(file, str(Path("acidsql") / file.relative_to(package)))
    jvm.ship_python(spark, str(archive))


def _lacking(reports: Mapping[str, _Report], failure: str | None) -> Iterator[str]:
    """What Python's part lacks, with where."""
    if failure is not None:
        yield f"Python cannot run there: {failure}"
        return
    for package in PACKAGES:
        hosts = [host for host, report in reports.items() if package in report.missing]
        if hosts:
            yield f"no package {package} on {_named(hosts)}"
    hosts = [host for host, one in reports.items() if not one.version and not one.missing]
    if hosts:
        yield f"acidsql cannot be imported on {_named(hosts)}"


def _unreached(reports: Mapping[str, _Report], directory: str | None) -> Iterator[str]:
    """Which hosts do not reach the warehouse, by what is wrong there."""
    by_trouble: dict[str, list[str]] = {}
    for host, report in reports.items():
        if report.trouble:
            by_trouble.setdefault(report.trouble, []).append(host)
    for trouble, hosts in sorted(by_trouble.items()):
        yield f'"{directory}" {trouble} on {_named(hosts)}'


def _named(hosts: Iterable[str]) -> str:
    names = sorted(hosts)
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def _reason(message: str) -> str:
    """The line of Spark's message that says why a Python process did not work."""
    telling = ("Cannot run program", "different version", "PYTHON_VERSION_MISMATCH", "Error:")
    for line in message.splitlines():
        if any(words in line for words in telling):
            return line.strip()
    return (tidy(message) or message).splitlines()[0]


# ---- work where tasks run
#
# Work on files where Spark's tasks run, if that is on other machines: what the driver would else
# carry through itself, file by file.


_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def work_on_files(
    spark: SparkSession, io: FileIO, root: str, work: Work[_Item, _Result], items: Sequence[_Item]
) -> list[_Result]:
    """``work`` on each item as ``in_tasks`` does it; where that does nothing, by threads here."""
    done = in_tasks(spark, io, root, work, items)
    return in_parallel(partial(work, io), items) if done is None else done


def in_tasks(
    spark: SparkSession, io: FileIO, root: str, work: Work[_Item, _Result], items: Sequence[_Item]
) -> list[_Result] | None:
    """``work`` on each item, whose files lie below ``root``; results in order. The first of our
    errors is raised when all have ended.

    None if Spark's executors are no processes of their own that can open the file system, or cannot
    after all: acidsql, a driver or credentials are missing there. So a piece of work may be done
    twice, even at the same time: it must leave its file as it is.
    """
    far = io.for_executors(root)
    if far is None or not items or not jvm.has_executors(spark):
        return None
    done = jvm.map_in_tasks(spark, partial(attempt, work, far), items)
    if done is None:
        return None
    error = next((error for _, error in done if error is not None), None)
    if error is not None:
        raise error
    return [result for result, _ in done]
