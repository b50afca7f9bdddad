"""Scripts that real Hive ran, run by acidsql on the metastore of a whole Hive 4.0.1: the same rows, and Hive
reads every table that they leave as acidsql does, ROW__IDs included. Compactions are acidsql's, too.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from acidsql.session import Session
from tests.cli.running import called
from tests.interop.real_hive import Ran, RealHive
from tests.interop.served_hive import serving, stop_at
from tests.interop.test_conformance import SCRIPTS
from tests.interop.test_real_hive import hive as hive
from tests.interop.test_real_hive import rows_of
from tests.lengths import times

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.interop, pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1500)]

RUN = SCRIPTS[:: len(SCRIPTS) // times(len(SCRIPTS)) or 1]
QUICK = ("hive.compactor.worker.sleep.time=200ms", "hive.compactor.worker.max.sleep.time=200ms")
MADE = re.compile(r"CREATE TABLE (\w+) [^;]*'transactional'='true'")
REFUSED, CONVERTED = {"errors": ("txt",)}, {"conversion": ["c"]}
"""The tables of scripts that are not made, and those that have transactions later."""


def tables(shared: Path) -> dict[str, list[str]]:
    """The transactional tables of each script."""
    made: dict[str, list[str]] = {}
    for name in RUN:
        text = (shared / "conformance" / f"{name}.sql").read_text(encoding="utf-8")
        refused = REFUSED.get(name, ())
        made[name] = CONVERTED.get(name, []) + [
            table for table in MADE.findall(text) if table not in refused
        ]
    return made


def script(made: Mapping[str, list[str]]) -> Iterator[str]:
    """Hive waits while the scripts run, and reads behind them."""
    yield stop_at("run")
    for name, of_script in made.items():
        yield from (f"SELECT ROW__ID, * FROM {name}.{table}" for table in of_script)


@contextmanager
def compactor(url: str) -> Iterator[None]:
    """A daemon that carries compactions out, since no worker of Hive runs there."""
    options = [word for one in QUICK for word in ("--hiveconf", one)]
    command = [sys.executable, "-m", "acidsql", "compactor", "--metastore", url, *options]
    daemon = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        daemon.terminate()
        daemon.wait()


@pytest.mark.parametrize("hive", [4], indirect=True, ids=["hive4"])
def test_rows_are_those_of_hive(
    hive: RealHive,
    shared: Path,
    spark: SparkSession,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each script has a database of its own. What one prints is line for line what Hive 4 printed."""
    made, wrong = tables(shared), {}
    with serving(hive, list(script(made)), tmp_path / "served") as served:
        served.wait_for("run")
        with compactor(served.url):
            for name in RUN:
                source = shared / "conformance" / f"{name}.sql"
                options = [f"--metastore={served.url}", "--force", "--outputformat=tsv"]
                called(capsys, *options, "-e", f"CREATE DATABASE {name}")
                ran = called(capsys, *options, f"--database={name}", "-f", str(source))
                expected = source.with_suffix(".expected").read_text(encoding="utf-8")
                if ran.out.splitlines() != expected.splitlines():
                    wrong[name] = ran
        with Session(metastore=served.url, spark=spark) as session:
            ours = {
                f"{name}.{table}": rows_of(session, f"{name}.{table}")
                for name, of_script in made.items()
                for table in of_script
            }
        served.go_on("run")
        theirs = read_by_hive(served.ran.result())
    assert not wrong
    assert theirs == ours
    assert len(theirs) >= len(RUN)


def read_by_hive(ran: list[Ran]) -> dict[str, list[str]]:
    return {
        one.text.rpartition(" ")[2]: sorted(one.lines)
        for one in ran
        if one.text.startswith("SELECT ROW__ID")
    }
