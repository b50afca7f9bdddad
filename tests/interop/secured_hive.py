"""Real metastores of Hive that ask who is there: by TLS, a password, HTTP, a JWT and Kerberos, several in
one process with one database behind them.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.interop.real_hive import RealHive
from tests.kdc import REALM, Kdc

SOURCES = [Path(__file__).with_name(name) for name in ("SecuredHms.java", "WriteTokens.java")]
LONGEST_WAIT = 120
STORE_PASSWORD = "a password"
USER, PASSWORD = "ann", "her password"
RANGER = "org.apache.ranger.authorization.hive.authorizer.RangerHiveAuthorizerFactory"
_OPENED = ("java.base/java.lang", "java.base/java.lang.reflect", "java.base/java.util", "java.base/java.util.concurrent",
           "java.base/java.net", "java.base/java.io", "java.base/java.nio", "java.security.jgss/sun.security.krb5")  # fmt: skip
_SMALL_JAVA = ("java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
_MEMORY = "org.apache.hadoop.hive.metastore.security.MemoryTokenStore"


@dataclass(frozen=True, slots=True, kw_only=True)
class SecuredHive:
    """``ports``: by what a metastore there asks for; ``pem`` and ``jks``: whom to trust."""

    classes: str
    ports: Mapping[str, int]
    pem: Path
    jks: Path

    def url(self, kind: str) -> str:
        return f"thrift://localhost:{self.ports[kind]}"

    def write_tokens(self, path: Path, tokens: Mapping[str, str]) -> None:
        """A file of tokens by their services, by Hadoop's own class, and another one in its other
        format, that ends in ``.protobuf``.
        """
        listed = [text for pair in tokens.items() for text in pair]
        run([*_SMALL_JAVA, "-cp", self.classes, "WriteTokens", str(path), *listed])


def conditions(store: Path, kdc: Kdc | None, jwks: str) -> dict[str, dict[str, str]]:
    """The settings of each metastore, by what it asks for. Kerberos is the last, since it is the
    whole process's from then on.
    """
    tls = {
        "hive.metastore.use.SSL": "true",
        "hive.metastore.keystore.path": str(store),
        "hive.metastore.keystore.password": STORE_PASSWORD,
    }
    http = {"metastore.server.thrift.transport.mode": "http"}
    jetty = {"metastore.keystore.type": "JKS", "metastore.keymanagerfactory.algorithm": "SunX509"}
    password = {
        "hive.metastore.authentication": "CONFIG",
        "hive.metastore.execute.setugi": "false",
        "metastore.authentication.config.username": USER,
        "metastore.authentication.config.password": PASSWORD,
    }
    jwt = {
        "metastore.authentication": "JWT",
        "metastore.authentication.jwt.jwks.url": jwks,
    }
    made = {
        "tls": tls,
        "http": http | {"hive.security.authorization.manager": RANGER},
        "https": http | tls | jetty,
        "password": password | tls,
        "jwt": http | jwt,
    }
    if kdc is not None:
        made["kerberos"] = {
            "hadoop.security.authentication": "kerberos",
            "hadoop.rpc.protection": "authentication,integrity,privacy",
            "hive.metastore.sasl.enabled": "true",
            "hive.metastore.kerberos.keytab.file": str(kdc.add("hive/localhost")),
            "hive.metastore.kerberos.principal": f"hive/localhost@{REALM}",
            "hive.cluster.delegation.token.store.class": _MEMORY,
        }
    return made


@contextmanager
def secured(
    hive: RealHive, scratch: Path, kdc: Kdc | None = None, jwks: str = "http://localhost/"
) -> Iterator[SecuredHive]:
    """The metastores until the end of the block; Hive 3 has TLS and Kerberos alone."""
    scratch.mkdir(parents=True)
    home = hive.folder / f"h{hive.version}"
    own = scratch / "classes"
    classes = f"{own}:{home}/classes:{home}/conf:{home}/lib/*"
    run(["javac", "-nowarn", "-d", str(own), "-cp", classes, *map(str, SOURCES)])
    shutil.copytree(home / "template", scratch / "db")
    store = _key_store(scratch)
    asked = {
        kind: settings
        for kind, settings in conditions(store, kdc, jwks).items()
        if hive.version > 3 or kind in ("tls", "kerberos")
    }
    with _free_ports(len(asked)) as free:
        ports = dict(zip(asked, free, strict=True))
    arguments = [
        text
        for kind, settings in asked.items()
        for text in (str(ports[kind]), *(f"{key}={value}" for key, value in settings.items()), "--")
    ]
    if hive.version == 3:  # which casts its loader to one of URLs
        shutil.copytree(home / "classes", scratch / "h" / "classes")
        shutil.copytree(own, scratch / "h" / "classes", dirs_exist_ok=True)
        for name in ("conf", "lib"):
            (scratch / "h" / name).symlink_to(home / name)
        main = ["-cp", str(hive.folder / "boot"), "Boot", str(scratch / "h"), "SecuredHms"]
    else:
        main = ["-cp", classes, "SecuredHms"]
    command = [
        *_SMALL_JAVA,
        "-Xmx1g",
        *(text for name in _OPENED for text in ("--add-opens", f"{name}=ALL-UNNAMED")),
        *([] if kdc is None else [f"-Djava.security.krb5.conf={kdc.configuration}"]),
        f"-Dhivesql.log={scratch / 'hive.log'}",
        f"-Dlog4j.configurationFile={home / 'conf' / 'log4j2.properties'}",
        f"-Dderby.stream.error.file={scratch / 'derby.log'}",
        *main,
        *(str(scratch / name) for name in ("warehouse", "db")),
        *arguments,
    ]
    with (
        (scratch / "errors").open("w") as errors,
        subprocess.Popen(
            command, cwd=scratch, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
        ) as process,
    ):
        assert process.stdout is not None
        try:
            lines = iter(process.stdout.readline, b"")
            assert any(line == b"serving\n" for line in lines), (scratch / "errors").read_text()
            yield SecuredHive(
                classes=classes, ports=ports, pem=scratch / "trusted.pem", jks=scratch / "trust.jks"
            )
        finally:
            process.kill()


@contextmanager
def _free_ports(count: int) -> Iterator[list[int]]:
    taken = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    try:
        yield [one.getsockname()[1] for one in taken]
    finally:
        for one in taken:
            one.close()


def _key_store(folder: Path) -> Path:
    """A store with the key of localhost; beside it the certificate as PEM and in a store of its
    own.
    """
    store, pem = folder / "key.jks", folder / "trusted.pem"
    of = ("-storepass", STORE_PASSWORD, "-storetype", "JKS", "-alias", "hms")
    run(["keytool", "-genkeypair", "-keyalg", "RSA", "-keysize", "2048", "-dname", "CN=localhost", "-ext", "san=dns:localhost",
         "-keypass", STORE_PASSWORD, "-keystore", str(store), *of])  # fmt: skip
    run(["keytool", "-exportcert", "-rfc", "-file", str(pem), "-keystore", str(store), *of])
    run(["keytool", "-importcert", "-noprompt", "-file", str(pem), "-keystore", str(folder / "trust.jks"), *of])  # fmt: skip
    return store


def run(command: list[str]) -> None:
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ, timeout=LONGEST_WAIT)  # fmt: skip
    assert ran.returncode == 0, f"{ran.stdout}\n{ran.stderr}"


def base64(content: bytes) -> str:
    """As JSON web tokens have it."""
    return urlsafe_b64encode(content).decode().rstrip("=")
