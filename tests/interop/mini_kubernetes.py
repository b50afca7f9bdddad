"""A real Kubernetes API server with its etcd, and a node that runs the containers of pods as processes of
this machine: what an image would bring is what is installed here.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pyspark

BINARIES = "ACIDSQL_KUBERNETES"
"""The environment variable of a folder with ``kube-apiserver`` and ``etcd``."""
NAMESPACE = "default"
_TOKEN = "token-of-tests"
_SPARK = Path(pyspark.__file__).parent
_BEGIN_SECONDS = 120
_LOOKS = 0.2
"""Seconds between two looks of the node at the pods."""


def missing() -> str | None:
    """Why there can be no such cluster here."""
    if BINARIES not in os.environ:
        return f"no Kubernetes: {BINARIES} names no folder with kube-apiserver and etcd"
    for tool in ("java", "openssl"):
        if shutil.which(tool) is None:
            return f"no Kubernetes can be started: no {tool} on PATH"
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """``url``: of the server; ``authority``: the file of the certificate that it has; ``token``: a
    file with what it lets anybody in for.
    """

    url: str
    authority: Path
    token: Path

    def ask(
        self,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        method: str = "GET",
        kind: str = "application/json",
    ) -> Any:
        """The answer to a request. urllib.error.URLError."""
        request = urllib.request.Request(
            self.url + path,
            None if body is None else json.dumps(body).encode(),
            {"Authorization": f"Bearer {_TOKEN}", "Content-Type": kind},
            method=method,
        )
        trusting = ssl.create_default_context(cafile=str(self.authority))
        with urllib.request.urlopen(request, context=trusting, timeout=20) as answer:
            text = answer.read()
        return json.loads(text) if text[:1] == b"{" else text.decode()


@contextmanager
def mini_kubernetes(folder: Path, environment: Mapping[str, str]) -> Iterator[tuple[Api, Node]]:
    """The cluster until the end of the block. ``environment``: of containers, above what their pods
    say.
    """
    folder.mkdir(parents=True)
    store, peers, port = (_free_port() for _ in range(3))
    token = folder / "token"
    token.write_text(_TOKEN)
    (folder / "tokens.csv").write_text(f'{_TOKEN},tests,tests,"system:masters"\n')
    subprocess.run(
        ["openssl", "genrsa", "-out", str(folder / "accounts.key"), "2048"],
        check=True,
        capture_output=True,
    )
    binaries = Path(os.environ[BINARIES])
    etcd = [
        str(binaries / "etcd"),
        f"--data-dir={folder / 'etcd'}",
        f"--listen-client-urls=http://127.0.0.1:{store}",
        f"--advertise-client-urls=http://127.0.0.1:{store}",
        f"--listen-peer-urls=http://127.0.0.1:{peers}",
        f"--initial-advertise-peer-urls=http://127.0.0.1:{peers}",
        f"--initial-cluster=default=http://127.0.0.1:{peers}",
    ]
    server = [
        str(binaries / "kube-apiserver"),
        f"--etcd-servers=http://127.0.0.1:{store}",
        f"--secure-port={port}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        f"--cert-dir={folder / 'certificates'}",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={folder / 'accounts.key'}",
        f"--service-account-signing-key-file={folder / 'accounts.key'}",
        f"--token-auth-file={folder / 'tokens.csv'}",
        "--authorization-mode=RBAC",
        "--disable-admission-plugins=ServiceAccount",
    ]
    api = Api(
        url=f"https://127.0.0.1:{port}",
        authority=folder / "certificates" / "apiserver.crt",
        token=token,
    )
    with _running(etcd, folder / "etcd.log"), _running(server, folder / "server.log") as process:
        _wait_for(api, process, folder / "server.log")
        node = Node(api=api, folder=folder / "node", environment=environment)
        with node.at_work():
            yield api, node


@contextmanager
def _running(command: list[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("w") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out)
    with process:
        try:
            yield process
        finally:
            process.kill()


def _wait_for(api: Api, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + _BEGIN_SECONDS
    while True:
        assert process.poll() is None, log.read_text()[-4000:]
        assert time.monotonic() < until, log.read_text()[-4000:]
        try:
            api.ask("/readyz")
            api.ask(f"/api/v1/namespaces/{NAMESPACE}")
        except (OSError, urllib.error.URLError):
            time.sleep(_LOOKS)
        else:
            return


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
    return port


class _NotThereYetError(Exception):
    """A pod names what is not there yet."""


@dataclass(slots=True, kw_only=True)
class Node:
    """Runs each pod's one container, an image of Spark's kind, as a process with an address of its
    own of the loopback. ``logs``: what each has printed. ``pods``: all it has seen, as they were
    first; ``addresses``: theirs.
    """

    api: Api
    folder: Path
    environment: Mapping[str, str]
    logs: dict[str, Path] = field(default_factory=dict)
    pods: dict[str, Any] = field(default_factory=dict)
    addresses: dict[str, str] = field(default_factory=dict)
    _processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    _ended: set[str] = field(default_factory=set)

    @contextmanager
    def at_work(self) -> Iterator[None]:
        self.folder.mkdir()
        over = Event()
        thread = Thread(target=self._work, args=(over,))
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            for name in self._processes:
                self._stop(name)

    def _work(self, over: Event) -> None:
        path = f"/api/v1/namespaces/{NAMESPACE}/pods"
        while not over.wait(_LOOKS):
            there = {pod["metadata"]["name"]: pod for pod in self.api.ask(path)["items"]}
            for name, pod in there.items():
                self.pods.setdefault(name, pod)
                self.addresses.setdefault(name, f"127.0.1.{len(self.pods)}")
                if name not in self._processes:
                    with suppress(_NotThereYetError):
                        self._start(name, pod)
            for name, process in self._processes.items():
                code = process.poll()
                if code is None and name not in there:
                    self._stop(name)
                elif code is not None and name in there and name not in self._ended:
                    self._ended.add(name)
                    ended = {"terminated": {"exitCode": code, "reason": "Completed"}}
                    self._tell(name, "Failed" if code else "Succeeded", ended)

    def _stop(self, name: str) -> None:
        process = self._processes[name]
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def _start(self, name: str, pod: Mapping[str, Any]) -> None:
        """Begins its container. _NotThereYetError if what it needs is not there yet."""
        address = self.addresses[name]
        [container] = pod["spec"]["containers"]
        places = self._mounted(name, pod, container)

        def here(text: str) -> str:
            for inside, outside in places.items():
                text = text.replace(inside, outside)
            return self._resolved(text)

        variables = {**os.environ, **self.environment}
        for one in container.get("env", ()):
            source = one.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")
            given = {"status.podIP": address, "metadata.name": name}.get(source)
            variables[one["name"]] = here(one.get("value", "") if given is None else given)
        role, *arguments = map(here, container["args"])
        begin = {"driver": _driver, "executor": _executor}[role]
        self.logs[name] = self.folder / f"{name}.log"
        with self.logs[name].open("w") as out:
            self._processes[name] = subprocess.Popen(
                begin(variables, arguments, address),
                env=variables,
                cwd=self.folder,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        running = {"running": {"startedAt": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}}
        self._tell(name, "Running", running, address)

    def _mounted(
        self, name: str, pod: Mapping[str, Any], container: Mapping[str, Any]
    ) -> dict[str, str]:
        """Where the places of its volumes lie here. Those of claims are where they are to be mounted."""
        volumes = {one["name"]: one for one in pod["spec"].get("volumes", ())}
        places = {}
        for mount in container.get("volumeMounts", ()):
            volume, inside = volumes[mount["name"]], mount["mountPath"]
            if "persistentVolumeClaim" in volume or "hostPath" in volume:
                assert Path(inside).is_dir(), inside
                continue
            outside = self.folder / name / mount["name"]
            outside.mkdir(parents=True, exist_ok=True)
            places[inside] = str(outside)
            if "configMap" in volume:
                of = f"/api/v1/namespaces/{NAMESPACE}/configmaps/{volume['configMap']['name']}"
                try:
                    files = self.api.ask(of).get("data", {})
                except urllib.error.HTTPError as error:
                    if error.code == 404:
                        raise _NotThereYetError from error
                    raise
                for file, text in files.items():
                    (outside / file).write_text(self._resolved(text))
        return places

    def _resolved(self, text: str) -> str:
        """The text with addresses for the names of services, as a cluster's DNS has them."""
        if f".{NAMESPACE}.svc" not in text:
            return text
        for service in self.api.ask(f"/api/v1/namespaces/{NAMESPACE}/services")["items"]:
            wanted = service["spec"].get("selector") or {}
            for name, pod in self.pods.items():
                if wanted and wanted.items() <= pod["metadata"].get("labels", {}).items():
                    host = f"{service['metadata']['name']}.{NAMESPACE}.svc"
                    text = text.replace(host, self.addresses[name])
        if f".{NAMESPACE}.svc" in text:
            raise _NotThereYetError
        return text

    def _tell(
        self, name: str, phase: str, state: Mapping[str, Any], address: str | None = None
    ) -> None:
        """Tells the server how a pod is, unless it is gone."""
        [container] = self.pods[name]["spec"]["containers"]
        status: dict[str, Any] = {
            "phase": phase,
            "containerStatuses": [
                {
                    "name": container["name"],
                    "image": container["image"],
                    "imageID": "",
                    "ready": phase == "Running",
                    "restartCount": 0,
                    "state": state,
                }
            ],
        }
        if address is not None:
            status |= {"podIP": address, "podIPs": [{"ip": address}], "hostIP": "127.0.0.1"}
        path = f"/api/v1/namespaces/{NAMESPACE}/pods/{name}/status"
        kind = "application/merge-patch+json"
        try:
            self.api.ask(path, {"status": status}, method="PATCH", kind=kind)
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise


# ---- what Spark's image does with the words of a pod (its entrypoint.sh)


def _driver(variables: Mapping[str, str], arguments: list[str], address: str) -> list[str]:
    confs = (
        f"spark.driver.bindAddress={address}",
        f"spark.executorEnv.SPARK_DRIVER_POD_IP={address}",
    )
    options = [word for conf in confs for word in ("--conf", conf)]
    return [str(_SPARK / "bin" / "spark-submit"), *options, "--deploy-mode", "client", *arguments]


def _executor(variables: Mapping[str, str], arguments: list[str], address: str) -> list[str]:
    numbered = [name for name in variables if re.fullmatch(r"SPARK_JAVA_OPT_\d+", name)]
    memory = variables["SPARK_EXECUTOR_MEMORY"]
    return [
        "java",
        *(variables[name] for name in sorted(numbered, key=lambda n: int(n.rpartition("_")[2]))),
        f"-Xms{memory}",
        f"-Xmx{memory}",
        "-cp",
        f"{variables.get('SPARK_CONF_DIR', '')}:{_SPARK / 'jars'}/*",
        "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend",
        *("--driver-url", variables["SPARK_DRIVER_URL"]),
        *("--executor-id", variables["SPARK_EXECUTOR_ID"]),
        *("--cores", variables["SPARK_EXECUTOR_CORES"]),
        *("--app-id", variables["SPARK_APPLICATION_ID"]),
        *("--hostname", variables["SPARK_EXECUTOR_POD_IP"]),
        *("--resourceProfileId", variables["SPARK_RESOURCE_PROFILE_ID"]),
        *("--podName", variables["SPARK_EXECUTOR_POD_NAME"]),
    ]
