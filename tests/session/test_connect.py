"""The session's tests once more over Spark Connect, on a server of their own.

They run in a pytest of its own: a Python process is either Spark's own or a client of a server. To
do so by hand, set ACIDSQL_TEST_REMOTE to a server's URL and leave out those that need Spark's Java
process: ``pytest -m "spark and not classic"``.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import REMOTE, ROOT, SPARK_CONF

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.processes, pytest.mark.timeout(1800)]

SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
START_SECONDS = 120
SESSIONS = ["tests/session/test_remote.py", "tests/session/test_session.py"]
STATEMENTS = [
    "tests/session/rows/test_merge.py",
    "tests/session/rows/test_insert_only.py",
    "tests/session/rows/test_overwrite.py",
    "tests/session/rows/test_ctas.py",
    "tests/session/transactions/test_transactions.py",
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a Spark Connect server, which listens on loopback and ends with these tests."""
    tmp_path = tmp_path_factory.mktemp("server")
    import pyspark

    from acidsql.spark.start.java import ensure_java

    pytest.importorskip("grpc")
    ensure_java()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    conf = {
        **SPARK_CONF,
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.extraJavaOptions": "-Duser.timezone=UTC",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(tmp_path / "of_spark"),
        "spark.ui.enabled": "false",
    }
    settings = [part for key, value in conf.items() for part in ("--conf", f"{key}={value}")]
    command = [
        f"{Path(pyspark.__file__).parent}/bin/spark-submit",
        "--master",
        "local[2]",
        "--class",
        SERVER,
        *settings,
    ]
    with (tmp_path / "server.log").open("wb") as log:
        started = subprocess.Popen(command, stdout=log, stderr=log, cwd=tmp_path)
        try:
            _wait(started, port, tmp_path / "server.log")
            yield f"sc://127.0.0.1:{port}"
        finally:
            started.terminate()
            started.wait()


def _wait(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Until the server listens; there is nothing that would tell us."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    pytest.fail(f"the server did not start\n{log.read_text(errors='replace')[-4000:]}")


@pytest.mark.parametrize("files", [SESSIONS, STATEMENTS], ids=["sessions", "statements"])
def test_promises_hold_over_spark_connect(server: str, files: list[str]) -> None:
    """What the tests of sessions promise holds there too, up to a refusal, but for those that look
    into Spark's Java process.
    """
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-m",
        "spark and not slow and not interop and not classic",
    ]
    done = subprocess.run(
        [*command, *files],
        cwd=ROOT,
        env={**os.environ, REMOTE: server, "ACIDSQL_TEST_UNTIL": "inf"},  # it has begun
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2000:]
    counts = {
        word: int(count)
        for count, word in re.findall(r"(\d+) (passed|skipped)", done.stdout.splitlines()[-1])
    }
    assert counts["passed"] > 5 * counts.get("skipped", 0), done.stdout
