"""A real Derby, as Spark brings it: its ij runs scripts on a database in a directory."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path

import pyspark
from sqlalchemy import text

from acidsql.attach.sources.derby_dump import export_statements
from tests.attach.hive_metastore import HiveMetastore

JARS = Path(pyspark.__file__).parent / "jars"
TYPES = {"text": "clob", "boolean": "char(1)", "TEXT": "clob"}
"""Hive's types in Derby, where they have other names than elsewhere."""


def run(database: Path, statements: Iterable[str], *, create: bool = False) -> str:
    """What ij prints of the statements."""
    made = ";create=true" if create else ""
    script = database.parent / "script.sql"
    lines = [f"CONNECT 'jdbc:derby:{database}{made}';", *statements, "DISCONNECT;", "EXIT;"]
    script.write_text("\n".join(lines) + "\n", encoding="utf-8")
    ran = subprocess.run(
        ["java", "-Dfile.encoding=UTF-8", "-Dderby.ui.codeset=UTF-8", "-Dderby.stream.error.file=/dev/null", "-cp", ":".join(map(str, JARS.glob("derby*.jar"))),
         "org.apache.derby.tools.ij", str(script)],
        capture_output=True, text=True, check=True, cwd=database.parent, encoding="utf-8",
    )  # fmt: skip
    return ran.stdout


def exported(database: Path, directory: Path) -> Path:
    """The directory, with the exports as the page says to make them."""
    directory.mkdir()
    run(database, export_statements(str(directory)))
    return directory


def copied(metastore: HiveMetastore, database: Path) -> None:
    """Makes a Derby database of what a metastore in another one holds."""
    statements = []
    with metastore.engine.begin() as connection:
        for table, definition in metastore.definitions().items():
            columns = [one.strip().split(" ", 2) for one in definition.split(", ")]
            listed = ", ".join(f'"{name}" {TYPES.get(kind, kind)}' for name, kind, *_ in columns)
            statements.append(f'CREATE TABLE APP."{table}" ({listed});')
            for row in connection.execute(text(f'SELECT * FROM "{table}"')):
                values = ", ".join(
                    _literal(value, kind) for value, (_, kind, *_) in zip(row, columns, strict=True)
                )
                statements.append(f'INSERT INTO APP."{table}" VALUES ({values});')
    output = run(database, statements, create=True)
    assert "ERROR" not in output, output


def _literal(value: object, kind: str) -> str:
    if value is None:
        return f"CAST(NULL AS {TYPES.get(kind, kind)})"
    if kind == "boolean":
        return "'Y'" if value else "'N'"
    return str(value) if isinstance(value, int) else "'" + str(value).replace("'", "''") + "'"
