"""An MIT Kerberos KDC of a test: on a free port, in a directory of its own, with a realm of its own.
The system's configuration and tickets are neither read nor written.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

REALM = "ACIDSQL.TEST"
LONGEST_WAIT = 60
_PLACES = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/bin"))
_PROGRAMS = ("krb5kdc", "kdb5_util", "kadmin.local", "kinit")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kdc:
    """``folder``: with its files, keytabs and ticket caches among them."""

    folder: Path

    @property
    def configuration(self) -> Path:
        return self.folder / "krb5.conf"

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which whoever is a client or its administrator finds it, and no ticket
        of others.
        """
        return {
            "KRB5_CONFIG": str(self.configuration),
            "KRB5_KDC_PROFILE": str(self.folder / "kdc.conf"),
            "KRB5CCNAME": f"FILE:{self.folder / 'tickets'}",
        }

    def add(self, principal: str, *options: str) -> Path:
        """A new principal; its keytab."""
        keytab = self.folder / f"{principal.replace('/', '_')}.keytab"
        full = f"{principal}@{REALM}"
        self._run("kadmin.local", "-r", REALM, "addprinc", *options, "-randkey", full)
        self._run("kadmin.local", "-r", REALM, "ktadd", "-k", str(keytab), full)
        return keytab

    def kinit(self, principal: str, keytab: Path) -> None:
        """Gets a ticket into the cache of the environment."""
        self._run("kinit", "-k", "-t", str(keytab), f"{principal}@{REALM}")

    def _run(self, program: str, *arguments: str) -> None:
        _run(self, program, *arguments)


def missing_programs() -> list[str]:
    """What of a KDC is not installed here."""
    return [one for one in _PROGRAMS if shutil.which(one, path=_PLACES) is None]


@contextmanager
def kdc(folder: Path) -> Iterator[Kdc]:
    """A KDC that answers until the end of the block."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    made = Kdc(folder=folder)
    folder.mkdir(parents=True)
    made.configuration.write_text(
        f"""[libdefaults]
default_realm = {REALM}
dns_lookup_kdc = false
dns_lookup_realm = false
dns_canonicalize_hostname = false
rdns = false
udp_preference_limit = 1
[realms]
{REALM} = {{
 kdc = 127.0.0.1:{port}
}}
[domain_realm]
localhost = {REALM}
""",
        encoding="utf-8",
    )
    (folder / "kdc.conf").write_text(
        f"""[kdcdefaults]
kdc_listen = ""
kdc_tcp_listen = 127.0.0.1:{port}
[realms]
{REALM} = {{
 database_name = {folder}/principal
 key_stash_file = {folder}/stash
 acl_file = {folder}/kadm5.acl
 supported_enctypes = aes256-cts:normal aes128-cts:normal
}}
[logging]
kdc = FILE:{folder}/kdc.log
""",
        encoding="utf-8",
    )
    _run(made, "kdb5_util", "create", "-s", "-r", REALM, "-P", "a master password")
    process = subprocess.Popen(
        [_found("krb5kdc"), "-n", "-r", REALM],
        env={**os.environ, **made.environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for(port, process)
        yield made
    finally:
        process.terminate()
        process.wait(LONGEST_WAIT)


def _run(made: Kdc, program: str, *arguments: str) -> None:
    ran = subprocess.run(
        [_found(program), *arguments],
        env={**os.environ, **made.environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr


def _found(program: str) -> str:
    path = shutil.which(program, path=_PLACES)
    assert path is not None, f"there is no {program}"
    return path


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + LONGEST_WAIT
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            assert process.poll() is None, "the KDC has ended"
            assert time.monotonic() < until, "the KDC does not answer"
            time.sleep(0.05)
