"""A cluster of Spark's own kind for the tests: a master and workers that are processes of this
machine, of pyspark's jars.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import pyspark

from acidsql.spark.start import class_archive
from acidsql.spark.start.java import java_environment
from tests.conftest import OPTIONS_OF_EXECUTORS

ROOT = Path(__file__).parents[3]
SUBMIT = Path(pyspark.__file__).parent / "bin" / "spark-submit"
_JOINED = "Successfully registered with master"
_BETWEEN_LOOKS = 0.05
"""Seconds; the processors are for those who are waited for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """How a worker is started. ``environment``: above this process's own; ``command``: what stands
    before the worker's.
    """

    environment: Mapping[str, str] = field(default_factory=dict)
    command: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """``url``: its master's; ``join``: starts one more worker."""

    url: str
    join: Callable[[Machine], None]


def with_archive() -> dict[str, str]:
    """This process's environment, in which each Java of a cluster takes the archive of Spark's classes that
    this machine has for its own Spark, if it has one.
    """
    given = dict(os.environ)
    with java_environment(given) as java_home:
        home = Path(pyspark.__file__).parent
        for option in class_archive.options(java_home, home, {}, may_write=False, environ=given):
            given["SPARK_DAEMON_JAVA_OPTS"] = f"{given['SPARK_DAEMON_JAVA_OPTS']} {option}"
            given["SPARK_SUBMIT_OPTS"] = given["SPARK_SUBMIT_OPTS"].replace(
                OPTIONS_OF_EXECUTORS, f"{OPTIONS_OF_EXECUTORS} {option}", 1
            )
    return given


@contextmanager
def standalone_cluster(
    folder: Path, machines: Sequence[Machine] = (Machine(environment={"PYTHONPATH": str(ROOT)}),)
) -> Iterator[Cluster]:
    """A master with a worker of one core on each of the ``machines``, whose addresses differ and
    whose logs are ``worker1.log`` and so on.
    """
    environment = {**with_archive(), "SPARK_LOCAL_IP": "127.0.0.1"}
    environment.pop("PYTHONPATH", None)
    processes: list[subprocess.Popen[bytes]] = []

    def start(kind: str, log: str, machine: Machine, *arguments: str) -> Path:
        name = f"org.apache.spark.deploy.{kind.lower()}.{kind}"
        command = [str(SUBMIT.with_name("spark-class")), name, *arguments]
        with open(folder / log, "wb") as words, java_environment(environment):
            processes.append(
                subprocess.Popen(
                    [*machine.command, *command],
                    stdout=words,
                    stderr=words,
                    env={**environment, **machine.environment},
                )
            )
        return folder / log

    def told(log: Path, words: str) -> str:
        while (match := re.search(words, log.read_text())) is None:
            assert all(process.poll() is None for process in processes), log.read_text()[-3000:]
            time.sleep(_BETWEEN_LOOKS)
        return match[0]

    def join(machine: Machine) -> Path:
        number = len(processes)
        arguments = [
            "--webui-port",
            "0",
            "-c",
            "1",
            "-m",
            "1g",
            "-d",
            str(folder / f"work{number}"),
        ]
        address = f"127.0.0.{number}"
        alone = replace(machine, environment={"SPARK_LOCAL_IP": address, **machine.environment})
        return start("Worker", f"worker{number}.log", alone, "--host", address, *arguments, url)

    def join_at_once(machine: Machine) -> None:
        told(join(machine), _JOINED)

    try:
        given = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        log = start("Master", "master.log", Machine(), *given)
        url = told(log, r"(?<=Starting Spark master at )spark://\S+")
        for one in [join(machine) for machine in machines]:
            told(one, _JOINED)
        yield Cluster(url=url, join=join_at_once)
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait(60)


@contextmanager
def program_on_cluster(
    folder: Path, machines: Sequence[Machine], text: str, *arguments: str
) -> Iterator[tuple[Cluster, Iterator[str]]]:
    """A program of Python, whose arguments are ``folder/warehouse``, the cluster's URL and more, and
    the lines that it prints. What it says on stderr is in ``folder/errors.log``.
    """
    (folder / "program.py").write_text(text)
    warehouse = folder / "warehouse"
    warehouse.mkdir()
    variables = {**with_archive(), "PYTHONPATH": str(ROOT)}
    with (
        standalone_cluster(folder, machines) as cluster,
        java_environment(variables),
        open(folder / "errors.log", "wb") as words,
        subprocess.Popen(
            [sys.executable, str(folder / "program.py"), str(warehouse), cluster.url, *arguments],
            stdout=subprocess.PIPE,
            stderr=words,
            text=True,
            cwd=folder,
            env=variables,
        ) as process,
    ):
        assert process.stdout is not None
        yield cluster, process.stdout


def told_in(line: str, folder: Path) -> dict[str, Any]:
    """What a program tells behind the word TOLD; an error with its last words where it ended before."""
    assert line.startswith("TOLD "), (line, (folder / "errors.log").read_text()[-4000:])
    return cast(dict[str, Any], json.loads(line.removeprefix("TOLD ")))
