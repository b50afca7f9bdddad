"""Sparks that were started in time zones, on machines of other ones than their driver's too."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lengths import SEED
from tests.spark.cluster.standalone import with_archive

ROOT = Path(__file__).resolve().parents[3]
CONF = {
    "spark.driver.memory": "1g",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.log.level": "OFF",
    "spark.ui.showConsoleProgress": "false",
}
LOCAL = {"spark.master": "local[2]"}
CLUSTER = {"spark.master": "local-cluster[1,1,1024]", "spark.executor.memory": "1g"}
SPARKS = {
    "of a session of another zone": (
        "America/New_York",
        "America/New_York",
        {**LOCAL, "spark.sql.session.timeZone": "Asia/Kolkata"},
    ),
    "of executors that tell their zone": (
        "Europe/Berlin",
        "America/Sao_Paulo",
        {**CLUSTER, "spark.executorEnv.TZ": "America/Sao_Paulo"},
    ),
    "of executors in UTC": (
        "Europe/Berlin",
        "UTC",
        {**CLUSTER, "spark.executor.extraJavaOptions": "-Duser.timezone=UTC"},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SPARKS)
def test_wall_clocks_in_processes_of_a_zone(name: str, tmp_path: Path) -> None:
    """Each is read as it was written, or refused before it is, by all ways in and out."""
    zone, files, conf = SPARKS[name]
    given = {"warehouse": str(tmp_path), "files": files, "seed": SEED, "conf": {**CONF, **conf}}
    done = subprocess.run(
        [sys.executable, "-m", "tests.session.zones.child", json.dumps(given)],
        capture_output=True,
        text=True,
        timeout=1500,
        check=False,
        cwd=ROOT,
        env={**with_archive(), "TZ": zone, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout.splitlines()[-1]) == [], (zone, files, SEED)
