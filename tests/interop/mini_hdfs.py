"""A real HDFS: Hadoop's own mini cluster from Maven in a process of its own, of two name nodes under one
logical name, and a data node.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyspark

MAIN = Path(__file__).with_name("MiniHdfs.java")
JARS = Path(pyspark.__file__).parent / "jars"
NAME = "sites"
"""The logical name; ``MiniHdfs.java`` knows it, too."""
LONGEST_BUILD = 600
_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
 <modelVersion>4.0.0</modelVersion><groupId>test</groupId><artifactId>hdfs</artifactId><version>1</version>
 <dependencies><dependency>
  <groupId>org.apache.hadoop</groupId><artifactId>hadoop-client-minicluster</artifactId><version>{}</version>
 </dependency></dependencies>
</project>
"""


def missing() -> str | None:
    """Why there can be no such cluster here."""
    for tool in ("java", "mvn"):
        if shutil.which(tool) is None:
            return f"no HDFS can be started: no {tool} on PATH"
    if not list(JARS.glob("hadoop-client-api-*.jar")):
        return "no HDFS can be started: pyspark brings no Hadoop of a known version"
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class MiniHdfs:
    """``ports``: the name nodes'; ``conf``: the folder that is HADOOP_CONF_DIR."""

    process: subprocess.Popen[str]
    ports: tuple[int, int]
    conf: Path
    settings: Mapping[str, str]

    url = f"hdfs://{NAME}"

    def tell(self, command: str) -> None:
        """Has it do one of: ``active N``, ``kill N``, ``start N`` (a name node, as a standby),
        ``restart-data-node``, ``reset`` (all are there, the first is active). Returns when it is done.
        """
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(f"{command}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer == "done\n", answer


@contextmanager
def mini_hdfs(folder: Path, builds: Path, *options: str) -> Iterator[MiniHdfs]:
    """The cluster until the end of the block. ``builds``: where jars are kept from run to run;
    ``options``: settings of its servers, ``name=value``.
    """
    lib = _jars(builds)
    folder.mkdir(parents=True)
    java = ("java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Xmx512m")
    command = [*java, "-cp", f"{lib}/*", str(MAIN), str(folder / "data"), *options]
    with (folder / "errors").open("w") as errors:
        process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
        )  # fmt: skip
    with process:
        try:
            assert process.stdout
            line = next((x for x in process.stdout if x.startswith("ports ")), None)
            assert line is not None, (folder / "errors").read_text()
            first, second = map(int, line.split()[1:])
            settings = _settings(first, second)
            yield MiniHdfs(
                process=process,
                ports=(first, second),
                conf=_conf(folder / "conf", settings),
                settings=settings,
            )
        finally:
            process.kill()


def _jars(builds: Path) -> Path:
    """The folder of the jars, of the Hadoop that Spark's client is of."""
    version = next(JARS.glob("hadoop-client-api-*.jar")).stem.rpartition("-")[2]
    home = builds / f"hdfs-{version}"
    if not (home / "lib").exists():
        home.mkdir(parents=True, exist_ok=True)
        (home / "pom.xml").write_text(_POM.format(version), encoding="utf-8")
        goal = ["dependency:copy-dependencies", f"-DoutputDirectory={home / 'new'}", "-DincludeScope=runtime"]  # fmt: skip
        ran = subprocess.run(
            ["mvn", "-q", "-B", "-f", str(home / "pom.xml"), *goal],
            capture_output=True, text=True, check=False, timeout=LONGEST_BUILD,
        )  # fmt: skip
        assert ran.returncode == 0, ran.stdout + ran.stderr
        (home / "new").rename(home / "lib")
    return home / "lib"


def _settings(first: int, second: int) -> dict[str, str]:
    """What a client needs. It looks for an active name node for some seconds, not for minutes."""
    proxies = "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider"
    return {
        "dfs.nameservices": NAME,
        f"dfs.ha.namenodes.{NAME}": "nn1,nn2",
        f"dfs.namenode.rpc-address.{NAME}.nn1": f"localhost:{first}",
        f"dfs.namenode.rpc-address.{NAME}.nn2": f"localhost:{second}",
        f"dfs.client.failover.proxy.provider.{NAME}": proxies,
        "dfs.client.failover.max.attempts": "10",
        "dfs.client.failover.sleep.base.millis": "100",
        "dfs.client.failover.sleep.max.millis": "400",
        "ipc.client.connect.max.retries": "1",
    }


def _conf(folder: Path, settings: Mapping[str, str]) -> Path:
    folder.mkdir()
    of_core = {"fs.defaultFS": f"hdfs://{NAME}"}
    for name, values in (("core-site.xml", of_core), ("hdfs-site.xml", settings)):
        properties = "".join(
            f"<property><name>{key}</name><value>{value}</value></property>\n"
            for key, value in values.items()
        )
        (folder / name).write_text(
            f"<configuration>\n{properties}</configuration>\n", encoding="utf-8"
        )
    return folder
