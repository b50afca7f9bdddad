"""A real HDFS: Hadoop's own mini cluster from Maven in a process of its own, of two name nodes under one
logical name, and a data node.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.interop.mini_hadoop import mini_cluster, write_settings
from tests.kdc import REALM, Kdc

MAIN = Path(__file__).with_name("MiniHdfs.java")
NAME = "sites"
"""The logical name, if no other is given. A Java process keeps to the cluster whose name it has met
first.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class MiniHdfs:
    """``ports``: the name nodes'; ``conf``: the folder that is HADOOP_CONF_DIR."""

    name: str
    process: subprocess.Popen[str]
    ports: tuple[int, int]
    conf: Path
    settings: Mapping[str, str]

    @property
    def url(self) -> str:
        return f"hdfs://{self.name}"

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
def mini_hdfs(folder: Path, kdc: Kdc | None = None, *, name: str = NAME) -> Iterator[MiniHdfs]:
    """The cluster until the end of the block. ``kdc``: of its realm; all who come have to show a
    ticket, and what goes to and from the data node is signed.
    """
    asked = {} if kdc is None else _asking(kdc)
    options = [f"{name}={value}" for name, value in asked.items()]
    java = [] if kdc is None else [f"-Djava.security.krb5.conf={kdc.configuration}"]
    with mini_cluster(MAIN, folder, str(folder / "data"), name, *options, java_options=java) as (
        process,
        words,
    ):
        first, second = map(int, words)
        settings = _settings(name, first, second) | {
            key: asked[key] for key in _OF_CLIENTS if key in asked
        }
        yield MiniHdfs(
            name=name,
            process=process,
            ports=(first, second),
            conf=_conf(folder / "conf", name, settings),
            settings=settings,
        )


_OF_CLIENTS = (
    "hadoop.security.authentication",
    "dfs.namenode.kerberos.principal",
    "dfs.data.transfer.protection",
)


def _asking(kdc: Kdc) -> dict[str, str]:
    """Settings of servers that know who comes by Kerberos."""
    own, web = kdc.add("hdfs/localhost"), kdc.add("HTTP/localhost")
    return {
        "hadoop.security.authentication": "kerberos",
        "dfs.namenode.kerberos.principal": f"hdfs/localhost@{REALM}",
        "dfs.namenode.keytab.file": str(own),
        "dfs.datanode.kerberos.principal": f"hdfs/localhost@{REALM}",
        "dfs.datanode.keytab.file": str(own),
        "dfs.web.authentication.kerberos.principal": f"HTTP/localhost@{REALM}",
        "dfs.web.authentication.kerberos.keytab": str(web),
        "dfs.block.access.token.enable": "true",
        "dfs.data.transfer.protection": "integrity",
        "dfs.permissions.enabled": "false",
        "ignore.secure.ports.for.testing": "true",
    }


def _settings(name: str, first: int, second: int) -> dict[str, str]:
    """What a client needs. It looks for an active name node for some seconds, not for minutes."""
    proxies = "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider"
    return {
        "dfs.nameservices": name,
        f"dfs.ha.namenodes.{name}": "nn1,nn2",
        f"dfs.namenode.rpc-address.{name}.nn1": f"localhost:{first}",
        f"dfs.namenode.rpc-address.{name}.nn2": f"localhost:{second}",
        f"dfs.client.failover.proxy.provider.{name}": proxies,
        "dfs.client.failover.max.attempts": "10",
        "dfs.client.failover.sleep.base.millis": "100",
        "dfs.client.failover.sleep.max.millis": "400",
        "ipc.client.connect.max.retries": "1",
    }


def _conf(folder: Path, name: str, settings: Mapping[str, str]) -> Path:
    folder.mkdir()
    core = {key: value for key, value in settings.items() if key.startswith("hadoop.")}
    write_settings(folder / "core-site.xml", core | {"fs.defaultFS": f"hdfs://{name}"})
    hdfs = {key: value for key, value in settings.items() if key not in core}
    write_settings(folder / "hdfs-site.xml", hdfs)
    return folder
