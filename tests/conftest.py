"""What every room's tests share: one Spark per process, warehouses, sessions, Hive's own reader as a
judge.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from acidsql.settings import values
from acidsql.spark_release import NEWEST, installed_release

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from acidsql.session import Session
    from tests.interop.judge import Judge
    from tests.postgresql_server import PostgreSQLServer
    from tests.spark.stores import S3Server

pytest_plugins = ("pytester",)
pytest.register_assert_rewrite("tests.contracts")  # else a broken promise would not say by what

os.environ.pop("ACIDSQL_METASTORE", None)  # warehouses of tests have metastores of their own
# hundreds of tests start a process, each of which would compile the package for itself
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# nor need the next run rewrite the asserts of all test files, which takes a worker half a minute
sys.dont_write_bytecode = False

# Directories are as a test has made them: sessions compact by the way only where a test is about it.
values._DEFAULTS["acidsql.compactor.auto"] = False

# No test pulls the plug: to wait for the disk is a fifth of the time of many. Those about it say so.
values._DEFAULTS["acidsql.durable"] = False

# Tests look at warehouses of their own before they make tables in them.
values._DEFAULTS["acidsql.store.create"] = "open"

# How fast an example runs is the machine's business, not a promise of ours.
settings.register_profile("acidsql", deadline=None)
settings.load_profile("acidsql")

ROOT = Path(__file__).resolve().parent.parent
# Java's second compiler costs more than it brings to many small queries: a third of the slow group
JAVA_OPTIONS = os.environ.get("ACIDSQL_TEST_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1")
# Classes that Spark makes for a query of a few rows cost a fifth of all: most tests do without. The
# interop tests and those of older Sparks, for which .ci/run asks for it, do not.
IS_COMPILED = os.environ.get("ACIDSQL_TEST_CODEGEN", "0") == "1"
INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
# of every Spark: that of this process, and those of the processes that tests start
OPTIONS_OF_EXECUTORS = f"-XX:+UseSerialGC {JAVA_OPTIONS}".rstrip()
GIVEN_OPTIONS = [
    *(f"-D{name}={value}" for name, value in ({} if IS_COMPILED else INTERPRETED).items()),
    f'"-Dspark.executor.defaultJavaOptions={OPTIONS_OF_EXECUTORS}"',
]
os.environ.setdefault(
    "SPARK_SUBMIT_OPTS",
    f"-XX:+UseSerialGC -XX:MetaspaceSize=256m {' '.join(GIVEN_OPTIONS)} {JAVA_OPTIONS}".rstrip(),
)
# of the Java that only tells how Spark is started, and of the masters and workers of clusters
os.environ.setdefault("SPARK_LAUNCHER_OPTS", "-XX:+UseSerialGC -XX:TieredStopAtLevel=1")
os.environ.setdefault("SPARK_DAEMON_JAVA_OPTS", "-XX:+UseSerialGC -XX:TieredStopAtLevel=1")
SPARK_CONF = {
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.memory": "1g",
    # the default; where it is given, Java takes an archive of its classes and writes none when it ends
    "spark.log.level": "OFF",
}
REMOTE = "ACIDSQL_TEST_REMOTE"
"""Names the URL of a Spark Connect server, whose client the one Spark of the run then is."""
ORDER = ("processes", "spark", "interop")
"""Markers of the tests that come behind the others, the last ones last."""
UNTIL = float(os.environ.get("ACIDSQL_TEST_UNTIL", "inf"))
"""Seconds of the clock from which on no test begins: .ci/run has to end on a slow machine too."""
LATE = "no time was left for it"
STARTERS = {"s3_started", "pytester"}
"""Fixtures that start a server, or another pytest."""


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Three processes for the whole suite, each with a Spark of its own: with two, nearly half of the
    time of two cores went by in waiting for what tests had started. None beside this one
    where the tests are named, so that a debugger works.
    """
    return 3 if config.args_source is pytest.Config.ArgsSource.TESTPATHS else 0


def pytest_configure(config: pytest.Config) -> None:
    """PySpark before 4.3 leaves it to Python to close its connections; of one behind that users are
    told, which .ci/run tries.
    """
    ignored = "ignore:pyspark .* is newer than what acidsql was tried with:UserWarning"
    if installed_release() < NEWEST:
        ignored = "ignore::pytest.PytestUnraisableExceptionWarning"
    config.addinivalue_line("filterwarnings", ignored)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests in this process and without Java first, so that a mistake shows within a minute; then
    those that start processes, those on Spark, and those judged by Hive. What is tried with SQLite
    and with PostgreSQL is slow with the latter: most of it is one server's work.
    """
    known = {item.nodeid for item in items}
    for item in items:
        alike = item.nodeid.replace("postgresql", "sqlite")
        if alike != item.nodeid and alike in known:
            item.add_marker("slow")
        if STARTERS.intersection(getattr(item, "fixturenames", ())):
            item.add_marker("processes")
    items.sort(
        key=lambda item: max(
            (place for place, name in enumerate(ORDER, 1) if item.get_closest_marker(name)),
            default=0,
        )
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """No test begins when the time is over; how many were left out is said at the end."""
    if time.time() > UNTIL:
        pytest.skip(LATE)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """A run that left tests out does not look like a whole one."""
    late = sum(LATE in str(one.longrepr) for one in terminalreporter.stats.get("skipped", ()))
    if late:
        terminalreporter.write_line(f"{late} tests were LEFT OUT: {LATE}", yellow=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Over Spark Connect a test may end where a statement is refused; tests/session/test_remote.py
    says which those are.
    """
    from acidsql.errors import UnsupportedStatementError

    try:
        yield
    except UnsupportedStatementError as error:
        if REMOTE in os.environ and error.message.endswith("over Spark Connect"):
            pytest.skip(f"{item.name}: {error.message}")
        raise


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with Hive's vectors, judge and conformance scripts: beside the repository, or
    $ACIDSQL_SHARED.
    """
    folder = Path(os.environ.get("ACIDSQL_SHARED") or ROOT.parent / "shared")
    if not (folder / "vectors").is_dir():
        pytest.skip(f"no vectors made by Hive in {folder} (set ACIDSQL_SHARED)")
    return folder


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The one SparkSession of this process, set up as a session of the product is."""
    from acidsql.spark.start.session import derive, start

    remote = os.environ.get(REMOTE)
    started = start(remote) if remote else start("local[2]", SPARK_CONF, fast_start=True)
    yield derive(started)
    started.stop()


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    """A new warehouse's folder, not made yet."""
    return tmp_path / "warehouse"


@pytest.fixture
def session(warehouse: Path, spark: SparkSession) -> Iterator[Session]:
    """A session on a new warehouse and the shared Spark."""
    from acidsql.session import Session

    with Session(str(warehouse), spark=spark) as opened:
        yield opened


@pytest.fixture(scope="session")
def s3_started() -> Iterator[S3Server]:
    """The run's S3 server."""
    from tests.spark.stores import s3_server

    with s3_server() as server:
        yield server


@pytest.fixture
def s3(s3_started: S3Server) -> S3Server:
    """An S3 server whose bucket is empty."""
    s3_started.empty()
    return s3_started


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[PostgreSQLServer]:
    """The run's PostgreSQL server."""
    from tests.postgresql_server import postgresql_server

    with postgresql_server() as server:
        yield server


@pytest.fixture
def postgresql(postgresql_server: PostgreSQLServer) -> Iterator[str]:
    """The URL of a new metastore in PostgreSQL, which is no warehouse's yet."""
    name = postgresql_server.make_database()
    yield postgresql_server.url(name)
    postgresql_server.drop_database(name)


@pytest.fixture(scope="session")
def judges(shared: Path) -> Iterator[Callable[[int], Judge]]:
    """Hive's reader classes by version, each process started when first asked for."""
    from tests.interop.judge import Judge

    for tool in ("java", "mvn"):
        if shutil.which(tool) is None:
            pytest.skip(f"Hive's own classes cannot be run: no {tool} on PATH")
    running: dict[int, Judge] = {}

    def judge(version: int) -> Judge:
        if version not in running:
            running[version] = Judge(shared / "judge" / "acidcat", version)
        return running[version]

    yield judge
    for started in running.values():
        started.close()


@pytest.fixture(params=[3, 4], ids=["hive3", "hive4"])
def judge(request: pytest.FixtureRequest, judges: Callable[[int], Judge]) -> Judge:
    """Hive's reader classes, once for each version."""
    return judges(request.param)
