"""Programs with a session that are submitted to a real Kubernetes API server, as docs/clusters.md says it;
its node runs the containers as processes of this machine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from acidsql.spark.start.java import java_environment
from tests.interop.mini_kubernetes import NAMESPACE, Api, Node, mini_kubernetes, missing
from tests.interop.test_yarn import PROGRAM, ROWS
from tests.spark.cluster.standalone import ROOT, SUBMIT

PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
pytestmark = [pytest.mark.spark, pytest.mark.interop]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Api, Node]]:
    """The one cluster of this module, whose image has this Python with acidsql."""
    if reason := missing():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("kubernetes") / "cluster"
    with (
        java_environment(dict(os.environ)),
        mini_kubernetes(folder, {"PYTHONPATH": str(ROOT)}) as started,
    ):
        yield started


@pytest.mark.parametrize("mode", ["client", "cluster"])
def test_a_program_runs_on_kubernetes(cluster: tuple[Api, Node], tmp_path: Path, mode: str) -> None:
    """The driver here, or in a pod: statements of all kinds are done by executors in pods, over a
    volume that all mount, and what spark-submit was told holds. No pod of an executor is left.
    """
    api, node = cluster
    before = set(node.logs)
    sales = tmp_path / "sales"
    sales.mkdir()
    (sales / "nightly.py").write_text(PROGRAM)
    volume = {
        f"spark.kubernetes.{whose}.volumes.persistentVolumeClaim.sales.{what}": value
        for whose in ("driver", "executor")
        for what, value in {"mount.path": str(sales), "options.claimName": "sales"}.items()
    }
    trusted = {
        f"spark.kubernetes.authenticate.{place}{what}File": str(file)
        for place in ("", "submission.", "driver.mounted.")
        for what, file in (("caCert", api.authority), ("oauthToken", api.token))
    }
    settings = {
        **volume,
        **trusted,
        "spark.kubernetes.container.image": "registry.example.com/spark-acidsql",
        "spark.kubernetes.driver.master": api.url,
        "spark.kubernetes.driver.request.cores": "0.5",
        "spark.executor.instances": "2",
        "spark.pyspark.python": sys.executable,
        "spark.ui.enabled": "false",
    }
    if mode == "client":
        settings["spark.driver.host"] = "127.0.0.1"
    program = f"local://{sales}/nightly.py" if mode == "cluster" else str(sales / "nightly.py")
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    with java_environment(variables):
        ran = subprocess.run(
            [
                str(SUBMIT), "--master", f"k8s://{api.url}", "--deploy-mode", mode, "--name", "nightly",
                "--executor-memory", "600m", "--driver-memory", "800m",
                *(word for one in settings.items() for word in ("--conf", "=".join(one))),
                program, str(sales / "warehouse"), str(sales / "told.json"),
            ],
            capture_output=True, text=True, check=False, timeout=400, env=variables, cwd=tmp_path,
        )  # fmt: skip
    logs = "\n".join(f"{name}:\n{log.read_text()[-3000:]}" for name, log in node.logs.items())
    assert ran.returncode == 0, ran.stderr[-4000:] + logs
    assert (sales / "told.json").exists(), ran.stderr[-4000:] + logs
    found = json.loads((sales / "told.json").read_text())
    assert found["local"] == found["spark"] == ROWS
    assert found["conf"]["spark.app.name"] == "nightly"
    assert found["conf"]["spark.master"] == f"k8s://{api.url}"
    assert found["hosts"] == 2
    left = [pod["metadata"]["name"] for pod in api.ask(PODS)["items"]]
    begun = [name for name in node.logs if name.startswith("nightly-") and name not in before]
    assert len(begun) == (3 if mode == "cluster" else 2)
    assert set(left) & set(begun) == {name for name in begun if name.endswith("-driver")}
