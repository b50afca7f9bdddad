"""The tests' own PostgreSQL server: that its databases are used again is not to be seen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest

from acidsql.catalog.model import Database, TableName
from acidsql.metastore.embedded import EmbeddedMetastore
from tests.postgresql_server import Template


def rows(connection: psycopg.Connection[Any]) -> dict[str, bytes]:
    return {name: text for name, text in Template(connection).rows.items() if text}


def next_numbers(connection: psycopg.Connection[Any]) -> list[Any]:
    query = "SELECT sequencename, last_value, start_value, increment_by FROM pg_sequences"
    return sorted(connection.execute(query).fetchall())


def test_a_database_that_is_used_again_is_as_new(postgresql_server: Any, tmp_path: Path) -> None:
    """It has the rows of a new one and no others, and its sequences begin anew; whoever was
    connected is not any more.
    """
    postgresql_server.restored.clear()
    name = postgresql_server.make_database()
    with postgresql_server.admin(name) as connection:
        new = (rows(connection), next_numbers(connection))
    with EmbeddedMetastore(str(tmp_path / "w"), metastore=postgresql_server.url(name)) as store:
        store.create_database(Database(name="sales", location="sales.db"))
        store.begin([TableName("sales", "t")])
    left_open = postgresql_server.admin(name)
    with postgresql_server.admin(name) as connection:
        assert (rows(connection), next_numbers(connection)) != new
    postgresql_server.drop_database(name)
    assert postgresql_server.make_database() == name
    with postgresql_server.admin(name) as connection:
        assert (rows(connection), next_numbers(connection)) == new
    with pytest.raises(psycopg.OperationalError):
        left_open.execute("SELECT 1")
    left_open.close()
    postgresql_server.drop_database(name)


@pytest.mark.parametrize(
    "change",
    [
        'CREATE TABLE "T" ("A" int)',
        'DROP TABLE "VERSION"',
        'ALTER TABLE "VERSION" ADD COLUMN "A" int',
        'ALTER TABLE "VERSION" RENAME TO "V"',
        'ALTER TABLE "TXNS" ALTER COLUMN "TXN_TYPE" SET DEFAULT 1',
        'CREATE INDEX "I" ON "VERSION" ("VER_ID")',
        'GRANT SELECT ON "VERSION" TO public',
        "CREATE SCHEMA s",
        "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "ALTER DATABASE {name} SET synchronous_commit = off",
        "ALTER DATABASE {name} CONNECTION LIMIT 5",
        "INSERT INTO \"METASTORE_DB_PROPERTIES\" SELECT n, repeat('x', 500) FROM generate_series(1, 8000) AS n",
    ],
)
def test_what_cannot_be_made_as_new_is_made_anew(postgresql_server: Any, change: str) -> None:
    """A database in which anything was defined, or very much written, is dropped."""
    postgresql_server.restored.clear()
    name = postgresql_server.make_database()
    with postgresql_server.admin(name) as connection:
        connection.execute(change.format(name=name))
    postgresql_server.drop_database(name)
    assert postgresql_server.restored == []
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        postgresql_server.admin(name)
