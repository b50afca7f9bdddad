"""The Java process ends with the process that has started it, however and whenever that ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark import SparkContext

from acidsql.spark import jvm
from tests.cli.terminal import PROMPT, Terminal

ROOT = Path(__file__).parents[2]
SECONDS = 60
needs_proc = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")


class Family:
    """The processes that have a mark in their environment, which children get from parents, and the
    directory of their temporary files."""

    def __init__(self, temporary: Path) -> None:
        self.mark = uuid.uuid4().hex
        self.temporary = temporary
        self.variables = {"ACIDSQL_TEST_MARK": self.mark, "TMPDIR": str(temporary)}

    def commands(self) -> dict[int, str]:
        """Those that run, with their command lines."""
        commands = {}
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit():
                try:
                    if self.mark.encode() in (folder / "environ").read_bytes():
                        words = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
                        commands[int(folder.name)] = words.decode(errors="replace")
                except OSError:
                    continue
        return commands

    def has_child(self) -> bool:
        return len(self.commands()) > 1

    def has_java(self) -> bool:
        commands = self.commands().values()
        return any("/java" in c and "org.apache.spark.deploy.SparkSubmit" in c for c in commands)

    def has_context(self) -> bool:
        return any(self.temporary.glob("acidsql-spark-warehouse-*"))

    def until(self, reached: Callable[[], bool]) -> None:
        deadline = time.monotonic() + SECONDS
        while not reached():
            assert time.monotonic() < deadline, (reached, self.commands())
            time.sleep(0.01)


@pytest.fixture
def family(tmp_path: Path) -> Iterator[Family]:
    folder = tmp_path / "temporary"
    folder.mkdir()
    family = Family(folder)
    yield family
    for pid in family.commands():
        os.kill(pid, signal.SIGKILL)


@needs_proc
@pytest.mark.spark
@pytest.mark.processes
@pytest.mark.parametrize("way", ["left", "killed"])
@pytest.mark.parametrize("when", ["has_child", "has_java", "has_context"])
def test_java_ends_with_a_shell_that_ends_while_spark_starts(
    family: Family, tmp_path: Path, when: str, way: str
) -> None:
    """While its script runs, while Java is not up, while its context is made: nothing of them is left
    where the shell is left or killed, and no file where it is left."""
    with Terminal(tmp_path, start_spark=True, hangs_up=False, **family.variables) as terminal:
        family.until(getattr(family, when))
        if way == "killed":
            terminal.process.kill()
            terminal.process.wait()
        else:
            terminal.wait_for(PROMPT)
            terminal.type("\x04")
            assert terminal.close() == 0
        family.until(lambda: not family.commands())
    assert way == "killed" or not list(family.temporary.glob("acidsql-java-*"))


FORKS = """
import os, sys, time
from acidsql.spark import jvm
from acidsql.spark.start.java import ensure_java
ensure_java()
jvm.launch({}, quiet=True)
if not os.fork():
    time.sleep(600)
print("up", flush=True)
time.sleep(600)
"""


@needs_proc
@pytest.mark.spark
@pytest.mark.processes
def test_java_ends_though_a_forked_child_goes_on(family: Family) -> None:
    """The child holds the other end of Java's standard input open; the kernel tells of the end."""
    environment = os.environ | family.variables | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", FORKS]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        assert family.has_java()
        process.kill()
        process.wait()
        family.until(lambda: not family.has_java())
        assert family.commands(), "the child has gone, too"
        for pid in family.commands():
            os.kill(pid, signal.SIGKILL)


def test_a_spark_that_another_thread_starts_is_none_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """PySpark registers its context before that has a Java object, and long before it is whole."""
    context = SparkContext.__new__(SparkContext)
    monkeypatch.setattr(SparkContext, "_active_spark_context", context)
    assert jvm.running_session_if_any() is None
    context._jsc = object()
    assert jvm.running_session_if_any() is None
    assert jvm.running_session() is None
