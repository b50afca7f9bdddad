"""Starts Spark when nobody handed us one, and derives from any Spark session the one acidsql works
in.

``start`` knows the settings that make a local Spark start fast and stay silent. ``derive`` clones a
session, so that a user's own session keeps its settings and never sees our views. ``translate``
turns what Spark raises into errors of ours.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from acidsql import spark_settings
from acidsql.errors import (
    ExecutionError,
)
from acidsql.expressions.spark_words import identifier
from acidsql.spark import jvm
from acidsql.spark.start import class_archive
from acidsql.spark.start.java import java_environment
from acidsql.spark.start.meanings import tidy
from acidsql.spark_release import NEWEST, OLDEST, release_of, release_text, releases_text
from acidsql.spark_settings import OUR_ZONE, USER_ZONE, ZONE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GIGABYTE = 1 << 30
MAX_DEFAULT_MEMORY = 8 * GIGABYTE

# Spark keeps these for a session; they are set in ours only.
EXACT_FILTERS = {
    # 0.0 equals -0.0, and these look a file over for the very one that is asked for
    "parquet.filter.dictionary.enabled": "false",
    "parquet.filter.bloom.enabled": "false",
}
"""Spark's reader of Parquet passes over files by these, and then misses rows."""
DERIVED_CONF = {
    **EXACT_FILTERS,
    # Spark would overwrite our own search argument, and resolves columns in a way that ACID files
    # do not follow.
    "spark.sql.orc.filterPushdown": "false",
    # The default of 4 MB packs large files into one task as soon as there are small ones; 256 KB
    # keeps them apart.
    "spark.sql.files.openCostInBytes": "262144",
    # Hundreds of deltas are listed faster by the driver than by a job.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "4096",
    # And thousands by a few tasks, not by one for each file.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "64",
    # The flat files of the big write path have an empty struct.
    "spark.sql.legacy.allowEmptySchemaWrite": "true",
    # Larger relations from the driver are better not part of the plan: the optimizer would compute
    # on them row by row.
    "spark.sql.execution.arrow.localRelationThreshold": "262144",
    # One bucket is one file.
    "spark.sql.files.maxRecordsPerFile": "0",
    # A file that cannot be read must stop the statement, never lose its rows.
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.orc.impl": "native",
    "spark.sql.orc.mergeSchema": "false",
    "spark.sql.caseSensitive": "false",
    ZONE: OUR_ZONE,
    "spark.sql.ansi.enabled": "false",
}


# With one of these set, a user has tables in Spark's own catalog.
_CATALOG_CONF = ("spark.sql.warehouse.dir", "spark.sql.catalogImplementation")
_REMEMBERED = (
    "spark.ui.retainedJobs",
    "spark.ui.retainedStages",
    "spark.sql.ui.retainedExecutions",
)
_AT_LAUNCH = (
    "spark.driver.memory",
    "spark.driver.extraJavaOptions",
    "spark.driver.extraClassPath",
    "spark.driver.extraLibraryPath",
)
"""What a Java process is started with and keeps."""
_JAVA_OPTIONS = "-Duser.timezone=UTC"
_OF_EXECUTORS = "spark.executor.extraJavaOptions"
_PYTHON = "spark.pyspark.python"
_STARTING = threading.Lock()
"""A process has one Java process, started by the first of its sessions that wants it."""


def check_version(installed: str) -> None:
    """ExecutionError for a pyspark that is too old, whose classes are not those asked for here; a
    warning for one that is newer than those acidsql was tried with.
    """
    release = release_of(installed)
    if release < OLDEST:
        raise ExecutionError(
            f"pyspark {installed} is too old: acidsql works with Spark {releases_text()}",
            hint=f"pip install 'pyspark~={release_text(NEWEST)}.0', in the environment of"
            f" {sys.executable}.",
        )
    if release > NEWEST:
        words = f"pyspark {installed} is newer than what acidsql was tried with: Spark"
        warnings.warn(f"{words} {releases_text()}", stacklevel=2)


def _not_installed(error: ModuleNotFoundError) -> ExecutionError:
    return ExecutionError(
        "this needs Spark, and pyspark is not installed",
        detail=str(error),
        hint=f"pip install 'pyspark~={release_text(NEWEST)}.0', in the environment of"
        f" {sys.executable}; Spark {releases_text()} will do.",
    )


def start(
    master: str | None = None, conf: Mapping[str, str] | None = None, *, fast_start: bool = False
) -> SparkSession:
    """A Spark session: the one already running in this process, else a new one. ``master``
    "sc://.." connects to a Spark Connect server.

    conf: Spark's own settings, above those of spark-submit and spark-defaults.conf, which are above
    our defaults (``spark_settings``). fast_start: with an archive of Spark's classes
    (``class_archive``). ExecutionError if there is no Java or Spark does not start.
    """
    with _STARTING, spark_settings.quiet_python():
        try:
            import pyspark
        except ModuleNotFoundError as error:
            raise _not_installed(error) from error
        from pyspark.sql import SparkSession

        check_version(pyspark.__version__)
        if master is not None and master.startswith("sc://"):
            return _connect(master, conf or {})
        running = jvm.running_session()
        if running is not None:
            return running
        with java_environment() as home:
            outside = spark_settings.settings(jvm.submitted_settings)
            given = {**(conf or {}), **({"spark.master": master} if master else {})}
            settings = {**_settings({**outside, **given}), **outside, **given}
            quiet = "spark.log.level" not in {**outside, **given}
            if jvm.is_submitted():
                jvm.launch({}, quiet=False)
            elif fast_start:
                class_archive.launch(home, settings, _JAVA_OPTIONS, quiet=quiet)
            else:
                jvm.launch(settings, java_options=_JAVA_OPTIONS, quiet=quiet)
            _tell_of_differences(given, outside)
            if not any(name in settings for name in _CATALOG_CONF):
                settings["spark.sql.warehouse.dir"] = _directory_for_catalog()
            # Ours first: an option that is given again wins.
            options = settings.get(_OF_EXECUTORS, "")
            settings[_OF_EXECUTORS] = f"{_JAVA_OPTIONS} {options}".strip()
            if python := settings.get(_PYTHON):  # which pyspark itself heeds under spark-submit
                os.environ["PYSPARK_PYTHON"] = python
            builder = SparkSession.builder
            for key, value in settings.items():
                if key not in _AT_LAUNCH:
                    builder = builder.config(key, value)
            return builder.getOrCreate()


def _tell_of_differences(given: Mapping[str, str], outside: Mapping[str, str]) -> None:
    """Warns where this program's own settings and those from outside of it cannot both hold."""
    master, submitted_one = given.get("spark.master"), outside.get("spark.master")
    if master and submitted_one and master != submitted_one:
        words = f'Spark runs on "{master}", as this program says, and not on'
        warnings.warn(f'{words} "{submitted_one}", to which it was submitted', stacklevel=3)
    at_launch = [name for name in _AT_LAUNCH if name in given]
    running = jvm.java_settings() if at_launch else {}  # dozens of questions to Java
    for name in at_launch:
        if given[name] != running.get(name):
            has = f'"{running[name]}"' if name in running else "without it"
            words = f"{name} is {has} in Spark's Java process, which runs already"
            warnings.warn(f'{words}: "{given[name]}" has no effect', stacklevel=3)


def _directory_for_catalog() -> str:
    """The URL of a new directory for the tables of Spark's own catalog; acidsql makes none.

    Spark would make one in the current directory at the first name it looks up. It goes with the
    process, unless somebody has kept something there.
    """
    directory = tempfile.mkdtemp(prefix="acidsql-spark-warehouse-")
    atexit.register(_remove_if_empty, directory)
    return Path(directory).as_uri()


def _remove_if_empty(directory: str) -> None:
    with contextlib.suppress(OSError):
        os.rmdir(directory)


def _connect(url: str, conf: Mapping[str, str]) -> SparkSession:
    """A session of the Spark Connect server at ``url``; ``conf`` may only hold what a session of
    its can be set.
    """
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.remote(url)
    for key, value in conf.items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except ImportError as error:
        hint = "pip install 'acidsql[connect]' brings them."
        raise ExecutionError(
            "Spark Connect needs packages that are not installed", detail=str(error), hint=hint
        ) from error
    except PySparkException as error:
        raise ExecutionError(
            f'cannot connect to "{url}"', detail=tidy(str(error)) or None
        ) from error


def derive(spark: SparkSession, conf: Mapping[str, str] | None = None) -> SparkSession:
    """The session acidsql works in: a clone of ``spark`` with our settings and ``conf``
    above them.
    """
    import pyspark

    check_version(pyspark.__version__)
    ours = jvm.clone_session(spark)
    for key, value in {**DERIVED_CONF, **(conf or {})}.items():
        ours.conf.set(key, value)
    zones = [session.conf.get(ZONE) or OUR_ZONE for session in (spark, ours)]
    ours.conf.set(USER_ZONE, (conf or {}).get(USER_ZONE, zones[0]))
    if not jvm.same_time_zone(ours, *zones):
        for name in _temporary_views(spark):
            jvm.import_view(ours, spark, name)
    return ours


def _temporary_views(spark: SparkSession) -> list[str]:
    """The names of a session's own views. Of the global ones' database: its other views need no
    catalog. Catalog.listTables cannot decode its rows in a thread whose session compiles no code.
    """
    database = spark.conf.get("spark.sql.globalTempDatabase") or "global_temp"
    views = spark.sql(f"SHOW VIEWS IN {identifier(database)}").collect()
    return [view.viewName for view in views if view.isTemporary and not view.namespace]


@contextlib.contextmanager
def settings_during(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Changes settings of Spark's inside, and sets them back afterwards."""
    before = {name: spark.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, old)


def import_view(ours: SparkSession, user_spark: SparkSession, name: str) -> None:
    """Copies a temporary view of the user's session into ours, as it stands now."""
    jvm.import_view(ours, user_spark, name)


# ---- settings of a Spark of our own --------------------------------------------------------------


def _settings(given: Mapping[str, str]) -> dict[str, str]:
    """Our defaults, beside what is ``given``."""
    master = given.get("spark.master", "local[*]")
    # a Java that spark-submit has started says what its user wants it to say
    quiet = {} if jvm.is_submitted() else {"spark.log.level": "OFF"}
    return {
        "spark.master": master,
        "spark.app.name": "acidsql",
        **quiet,
        "spark.ui.enabled": "false",
        # Of jobs that have ended, where nobody looks at pages about them: each is some kilobytes.
        **({} if given.get("spark.ui.enabled") == "true" else dict.fromkeys(_REMEMBERED, "100")),
        "spark.ui.showConsoleProgress": "false",
        # Else every function of PySpark's asks Java seven times more, to know which line of ours
        # called it.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        **(_local_settings(master) if master.startswith("local") else {}),
    }


def _local_settings(master: str) -> dict[str, str]:
    return {
        "spark.driver.memory": f"{default_memory() >> 20}m",
        # Both, and equal: else results of more than 1 MB do not arrive on machines whose host name
        # is not a loopback name.
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": str(max(4, 2 * local_cores(master))),
    }


def local_cores(master: str) -> int:
    """How many tasks run at once under a master "local", "local[3]", "local[*]",
    "local-cluster[2,1,1024]".
    """
    match = re.fullmatch(r"local(?:-cluster)?\[(\d+|\*)(?:,\s*(\d+))?.*\]", master)
    if match is None:
        return 1
    if match[1] == "*":
        return os.cpu_count() or 1
    return int(match[1]) * (int(match[2] or 1) if master.startswith("local-cluster") else 1)


def default_memory() -> int:
    """Bytes of heap for a local Spark: half of what machine or container has, at most 8 GB."""
    pages = (
        os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        if hasattr(os, "sysconf")
        else 4 * GIGABYTE
    )
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError):
            pages = min(pages, int(Path(limit).read_text()))
    return max(GIGABYTE // 2, min(pages // 2, MAX_DEFAULT_MEMORY))
