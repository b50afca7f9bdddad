"""Spark's Java process: how it is started, and that it ends with this one, however that ends.

Java itself looks for our end only once it is up, at the end of the pipe that is its standard input:
a child of ours that was forked may hold that open, and a Java that cannot write its address, as
there is nobody left who would read it, never looks. So the kernel tells it, too, where that can
(Linux); and a process that leaves while Java starts ends it.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, cast

from acidsql.errors import ExecutionError, InterfaceError
from acidsql.interrupts import at_once
from acidsql.processes import is_leaving, told_of_our_end

_JAVA_OPTIONS = "SPARK_SUBMIT_OPTS"
_LOG_TAIL = 4000
_KILLED_SECONDS = 2.0
_LOOK_SECONDS = 0.05
_END_SECONDS = 5.0
_FOREIGN = "Spark belongs to the process that started it"
_FOREIGN_HINT = 'Start processes by multiprocessing\'s "spawn", each with a Spark of its own.'
_LEAVES = "the process leaves"
_one_start = threading.Lock()
_start: Future[None] | None = None
_own: Any = None
"""PySpark's gateway to the Java process that was started here."""
_ADDRESS = "PYSPARK_GATEWAY_PORT"
_SUBMITTED = _ADDRESS in os.environ
"""Looked for before ``launch`` sets it for a moment."""


def is_submitted() -> bool:
    """Whether spark-submit has started this process, and Java before it."""
    return _SUBMITTED


def check_own_process() -> None:
    """InterfaceError if the Spark of this process is that of the process it was forked from.

    Both would talk over one connection to Java, and get each other's answers.
    """
    java = getattr(_gateway_if_any(), "proc", None)
    if java is None or java.returncode is not None or not hasattr(os, "waitid"):
        return
    try:
        os.waitid(os.P_PID, java.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        raise InterfaceError(_FOREIGN, hint=_FOREIGN_HINT) from None


def java_has_ended() -> bool:
    """Whether the Java process that this one has started is gone: killed, or out of memory."""
    java = getattr(_gateway_if_any(), "proc", None)
    if java is None or not hasattr(os, "waitid"):
        return java is not None and java.poll() is not None
    try:  # it may be another process's, which poll() would take for an end
        state = os.waitid(os.P_PID, java.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return java.returncode is not None
    return state is not None


def await_end() -> None:
    """Gives a Java process that takes no connections any more, and may be large, the time to end:
    what comes next finds that it has.
    """
    deadline = time.monotonic() + _END_SECONDS
    while started_java() and not java_has_ended() and time.monotonic() < deadline:
        time.sleep(0.02)


def is_of_java(error: BaseException) -> bool:
    """Whether an error of a connection comes from that to the Java process."""
    traceback = error.__traceback__
    while traceback is not None:
        if str(traceback.tb_frame.f_globals.get("__name__", "")).startswith("py4j."):
            return True
        traceback = traceback.tb_next
    return False


def started_java() -> bool:
    """Whether the Java process is one that ``launch`` has started."""
    return _own is not None and _gateway_if_any() is _own


def _gateway_if_any() -> Any:
    """PySpark's connection to a Java process; None without any, for which it is not imported."""
    context = getattr(sys.modules.get("pyspark"), "SparkContext", None)
    return None if context is None else context._gateway


def forget_java() -> None:
    """Takes away what PySpark keeps of a Java process that is gone, so that the next start is that
    of a new one. What was made by the old one fails from now on.
    """
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    with SparkContext._lock:
        context, gateway = SparkContext._active_spark_context, SparkContext._gateway
        with suppress(Exception):
            gateway.proc.wait(timeout=0)  # type: ignore[union-attr]
        if context is not None:
            context._jsc = None
            server = getattr(context, "_accumulatorServer", None)
            with suppress(Exception):
                server.shutdown()  # type: ignore[union-attr]
        SparkContext._active_spark_context = None
        SparkContext._gateway = SparkContext._jvm = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None
    with suppress(Exception):
        gateway.shutdown()  # type: ignore[union-attr]


def launch(conf: Mapping[str, str], *, quiet: bool, java_options: str = "") -> None:
    """Starts the Java process that ``SparkSession.builder`` will then use; nothing it prints
    reaches our stdout. Connects to it where spark-submit has started one.

    java_options: of ours, which any of the user's is above. quiet: its stderr is kept from the
    user, too, unless it fails to start: then its last words are the detail of the ExecutionError.
    An interrupt leaves the start to go on in the background, and the next call joins it: no Java
    process is orphaned.
    """
    global _start
    from pyspark import SparkContext

    with _one_start:
        # a stopped Spark leaves its Java process to the next one
        if SparkContext._gateway is not None:
            return
        if _start is None or _start.done():
            _start = Future()
            threading.Thread(
                target=_launch,
                args=(_start, dict(conf), quiet, java_options),
                daemon=True,
                name="acidsql-start-spark",
            ).start()
        start = _start
    with at_once():
        start.result()


def _launch(start: Future[None], conf: Mapping[str, str], quiet: bool, java_options: str) -> None:
    """Starts Java for all who wait for ``start``, and stays as long as that runs: Linux takes the
    end of the thread that has started a process for that of the whole one.
    """
    global _own
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException

    options = SparkConf(loadDefaults=False)
    for key, value in conf.items():
        options.set(key, value)
    gateway = None
    with tempfile.TemporaryFile() as log:
        try:
            gateway = _gateway(options, log if quiet else 2, java_options)
            _own = None if _SUBMITTED else gateway
            SparkContext._ensure_initialized(gateway=gateway, conf=options)
            start.set_result(None)
        except (PySparkException, OSError) as error:
            log.seek(0)
            words = log.read().decode(errors="replace").strip()[-_LOG_TAIL:]
            start.set_exception(
                ExecutionError(
                    "the Java process of Spark did not start", detail=words or str(error)
                )
            )
        except BaseException as error:
            start.set_exception(error)
    java = getattr(gateway, "proc", None)
    if java is not None and hasattr(os, "waitid"):
        with suppress(ChildProcessError):
            os.waitid(os.P_PID, java.pid, os.WEXITED | os.WNOWAIT)


def _gateway(options: Any, words: IO[bytes] | int, java_options: str) -> Any:
    """PySpark's connection to a new Java process. ``words``: where that one's own go to.
    PySparkException, OSError.
    """
    from pyspark.java_gateway import launch_gateway

    connect = cast(Any, launch_gateway)
    if os.name == "nt" or _SUBMITTED:
        return connect(options, dict.fromkeys(("stdout", "stderr"), words))
    with _Starting() as starting:
        java = starting.run(_command(options), words, java_options)
        port, secret = starting.address(java)
    with _environment({_ADDRESS: str(port), "PYSPARK_GATEWAY_SECRET": secret}):
        gateway = connect()
    gateway.proc = java
    return gateway


def _command(options: Any) -> list[str]:
    """Spark's own command that starts Java, as PySpark gives it."""
    import shlex

    from pyspark.find_spark_home import _find_spark_home

    given = [word for key, value in options.getAll() for word in ("--conf", f"{key}={value}")]
    arguments = shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))
    return [os.path.join(_find_spark_home(), "bin", "spark-submit"), *given, *arguments]


class _Starting:
    """A Java that is not up yet, and the directory for its address: both are gone behind the block
    if it fails, or if this process leaves meanwhile.
    """

    def __init__(self) -> None:
        self._directory: Path | None = None
        self._owner = os.getpid()
        self._java: subprocess.Popen[bytes] | None = None
        self._one = threading.Lock()
        self._is_left = False

    def __enter__(self) -> _Starting:
        atexit.register(self._leave)
        with self._one:
            if self._is_left or is_leaving():  # registered too late
                raise OSError(_LEAVES)
            self._directory = Path(tempfile.mkdtemp(prefix="acidsql-java-"))
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self._leave()
        # this order: the process may leave while a thread of the background is here
        self._remove_directory()
        atexit.unregister(self._leave)

    @property
    def _address(self) -> Path:
        assert self._directory is not None, "the block is entered"
        return self._directory / "address"

    def _remove_directory(self) -> None:
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)

    def run(
        self, command: list[str], words: IO[bytes] | int, java_options: str
    ) -> subprocess.Popen[bytes]:
        # Java takes the last of two options that differ: these come before all others
        before_the_users = [java_options, os.environ.get(_JAVA_OPTIONS, "")]
        environment = os.environ | {
            "SPARK_CONNECT_MODE": "0",
            "_PYSPARK_DRIVER_CONN_INFO_PATH": str(self._address),
            _JAVA_OPTIONS: " ".join(filter(None, before_the_users)),
        }
        tell = told_of_our_end()

        def before_the_command() -> None:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is ours
            tell()

        with self._one:
            if self._is_left:
                raise OSError(_LEAVES)
            self._java = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=words,
                stderr=words,
                env=environment,
                preexec_fn=before_the_command,
            )
        return self._java

    def address(self, java: subprocess.Popen[bytes]) -> tuple[int, str]:
        """Where Java listens, and the secret for it, once it is up. OSError if it ends before."""
        while not self._address.exists():
            with suppress(subprocess.TimeoutExpired):
                code = java.wait(_LOOK_SECONDS)
                raise OSError(f"Java ended with exit code {code} before it was up")
        with open(self._address, "rb") as file:
            port, length = (int.from_bytes(file.read(4), "big") for _ in range(2))
            return port, file.read(length).decode()

    def _leave(self) -> None:
        """Ends what is not up. A child that was forked meanwhile has its parent's, and lets it."""
        if os.getpid() != self._owner:
            return
        with self._one:
            self._is_left = True
            if self._java is not None:
                self._java.kill()
                with suppress(subprocess.TimeoutExpired):  # it may write its address until then
                    self._java.wait(_KILLED_SECONDS)
            self._remove_directory()


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Has variables that are set in no other way while this block runs."""
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in variables:
            os.environ.pop(name, None)
