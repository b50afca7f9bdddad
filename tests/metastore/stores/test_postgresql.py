"""PostgreSQL as the store: what it promises beyond the contracts that both stores keep."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from sqlalchemy import Connection, event, text
from sqlalchemy.exc import DBAPIError

from acidsql.catalog.model import Column, Database, Partition, Table, TableName
from acidsql.catalog.types import parse_type
from acidsql.errors import CommitStateUnknownError, MetastoreBusyError, MetastoreError
from acidsql.metastore.embedded import EmbeddedMetastore
from acidsql.metastore.schema import SCHEMA
from acidsql.metastore.sql import insert, select
from acidsql.metastore.store import CommitFailedError
from acidsql.metastore.stores import connections
from acidsql.metastore.stores import postgresql as store
from acidsql.metastore.stores.connections import SignsOfLife
from acidsql.metastore.tables import DATABASE_PARAMS, TXNS
from acidsql.txn.locks import LockComponent, LockRequest, LockType
from tests.postgresql_server import PASSWORD, USER, PostgreSQLServer

Reopen = Callable[..., EmbeddedMetastore]
LONG = 60
REQUEST = LockRequest(components=(LockComponent(database="default", type=LockType.SHARED_READ),))


@pytest.fixture
def metastore_url(postgresql: str) -> str:
    """PostgreSQL is what it is about."""
    return postgresql


@pytest.fixture
def admin(postgresql_server: PostgreSQLServer, metastore: EmbeddedMetastore) -> Iterator[Any]:
    """A connection of the server's administrator to the store's database."""
    name = metastore._store._url.database  # type: ignore[attr-defined]
    with postgresql_server.admin(name) as connection:
        yield connection


def backend(connection: Connection) -> int:
    pid: int = connection.scalar(text("SELECT pg_backend_pid()")) or 0
    return pid


def kill_all(admin: Any) -> int:
    """Ends the server's side of every other connection to the database; how many there were."""
    killed = admin.execute(
        "SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    ).fetchone()
    return int(killed[0])


# --- transactions
# --------------------------------------------------------------------------------------------------


def test_a_writer_reads_what_is_still_true_when_it_writes(reopen: Reopen) -> None:
    """The next one waits from its start, sees what the one before committed, and what it read
    itself stays true; readers do not wait.
    """
    one, other = reopen(), reopen()
    with ThreadPoolExecutor() as pool:
        with one._store.write() as first:
            waiting = pool.submit(other.open_txn)
            first.execute(insert(TXNS), [_txn(1)])
            assert other.valid_txns().high_watermark == 0
            _wait_until(lambda: _waits_for_a_lock(one))
            assert not waiting.done()
            first.exec_driver_sql("""SELECT setval('"TXNS_TXN_ID_seq"', 1)""")
        assert waiting.result(LONG) == 2


def _txn(number: int) -> dict[str, object]:
    return {
        "TXN_ID": number,
        "TXN_STATE": "o",
        "TXN_STARTED": 0,
        "TXN_LAST_HEARTBEAT": 2_000_000_000_000,
        "TXN_USER": "",
        "TXN_HOST": "",
    }


def _waits_for_a_lock(metastore: EmbeddedMetastore) -> bool:
    with metastore._store.read() as connection:
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        return bool(connection.scalar(text(waiting)))


def _wait_until(true: Callable[[], bool]) -> None:
    pause = threading.Event()
    for _ in range(LONG * 100):
        if true():
            return
        pause.wait(0.01)
    pytest.fail("it never came true")


def test_a_read_is_one_snapshot(reopen: Reopen) -> None:
    """What is committed meanwhile is seen by the next one; a read cannot write."""
    one, other = reopen(), reopen()
    with one._store.read() as connection:
        assert connection.scalar(text('SELECT max("TXN_ID") FROM "TXNS"')) == 0
        other.open_txn()
        assert connection.scalar(text('SELECT max("TXN_ID") FROM "TXNS"')) == 0
    assert one.valid_txns().high_watermark == 1
    with pytest.raises(MetastoreError, match="read-only transaction"), one._store.read() as reader:
        reader.execute(text('DELETE FROM "TXNS"'))


def test_what_need_not_last_does_not_wait_for_the_disk(metastore: EmbeddedMetastore) -> None:
    """But all else does, also where the server is set up not to."""
    show = text("SHOW synchronous_commit")
    with metastore._store.write(durable=False) as connection:
        assert connection.scalar(show) == "off"
    with metastore._store.write() as connection:
        assert connection.scalar(show) == "on"


def test_a_server_that_does_not_wait_for_its_disk_is_made_to(
    reopen: Reopen, admin: Any, metastore: EmbeddedMetastore
) -> None:
    """An id that was given out before a loss of power must not be given again."""
    database = admin.info.dbname
    admin.execute(f"ALTER DATABASE {database} SET synchronous_commit = off")
    with reopen()._store.write() as connection:
        assert connection.scalar(text("SHOW synchronous_commit")) == "on"


def test_ids_that_were_rolled_back_do_not_come_again(metastore: EmbeddedMetastore) -> None:
    """They leave a gap; the order stays that of the transactions."""
    metastore.open_txn()

    def open_and_fail() -> None:
        with metastore._store.write() as connection:
            connection.execute(insert(TXNS), {k: v for k, v in _txn(0).items() if k != "TXN_ID"})
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        open_and_fail()
    later = metastore.open_txn()
    assert later > 1
    metastore.commit(later)
    assert metastore.valid_txns().open == (1,)


def test_a_failed_statement_that_nobody_minded_is_no_commit(metastore: EmbeddedMetastore) -> None:
    """PostgreSQL answers COMMIT with ROLLBACK then, and no error."""

    def overlook_an_error() -> None:
        with metastore._store.write() as connection:
            connection.execute(insert(TXNS), [_txn(1)])
            with suppress(DBAPIError):
                connection.execute(text("SELECT 1 FROM nowhere"))

    with pytest.raises(MetastoreError, match="a statement of a change of the metastore"):
        overlook_an_error()
    assert metastore.valid_txns().high_watermark == 0


def test_the_servers_clock_decides(
    postgresql: str, warehouse: Path, admin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who is late is told by one clock, whatever the hosts' clocks say."""
    with EmbeddedMetastore(str(warehouse), metastore=postgresql) as metastore:
        monkeypatch.setattr("time.time", lambda: 0.0)
        early = metastore.open_txn()
        monkeypatch.setattr("time.time", lambda: 9e9)
        assert metastore.begin().txns.open == (early,)
        late = "extract(epoch FROM now() - interval '301 seconds') * 1000"
        admin.execute(f'UPDATE "TXNS" SET "TXN_LAST_HEARTBEAT" = {late} WHERE "TXN_ID" = {early}')
        assert metastore.begin().txns.aborted == (early,)


def test_what_a_process_may_outlive_waits_for_the_disk(
    metastore: EmbeddedMetastore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lock that was had must be there when the server comes back, unlike its end."""
    how: list[bool] = []
    writer = metastore._store._writer

    def noting(*, durable: bool) -> Connection:
        how.append(durable)
        return writer(durable=durable)

    monkeypatch.setattr(metastore._store, "_writer", noting)
    lock_id = metastore.lock(REQUEST).lock_id
    metastore.check_lock(lock_id)
    metastore.heartbeat_lock(lock_id)
    metastore.unlock(lock_id)
    assert how == [True, True, False, False]


def test_a_writer_that_waits_too_long(reopen: Reopen) -> None:
    """Says so, and nothing is broken."""
    one, other = reopen(), reopen(patience_seconds=0.01)
    with (
        one._store.write(),
        pytest.raises(MetastoreBusyError, match=r"could not be written: .* lock timeout") as caught,
    ):
        other.open_txn()
    assert "acidsql.store.patience" in str(caught.value.hint)
    one.close()
    assert reopen().open_txn() == 1


def test_a_writer_that_says_nothing_is_ended(
    reopen: Reopen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two statements, in one, and at its COMMIT: nothing of it is left, which it is told;
    as long as it gives signs of life it may do what it likes.
    """
    busy, other = reopen(patience_seconds=0.2), reopen()

    with busy._store.write() as connection:
        for _ in range(4):  # twice as long as a silent one may be there
            threading.Event().wait(0.1)
        connection.execute(insert(TXNS), [_txn(5)])
    assert other.valid_txns().high_watermark == 5

    def slow() -> None:
        with busy._store.write() as connection:
            connection.execute(insert(TXNS), [_txn(6)])
            connection.exec_driver_sql("SELECT pg_sleep(60)")

    def silent(last: str | None) -> None:
        with busy._store.write() as connection:
            connection.execute(insert(TXNS), [_txn(7)])
            _wait_until(lambda: not _in_transaction(other))
            if last is not None:
                connection.exec_driver_sql(last)

    with pytest.raises(MetastoreBusyError, match="statement timeout"):
        slow()
    monkeypatch.setattr(SignsOfLife, "_say", lambda self, driver: None)
    for last in ("SELECT 1", None):
        with pytest.raises(MetastoreBusyError, match="idle-in-transaction timeout"):
            silent(last)
    assert other.valid_txns().high_watermark == 5


def test_a_sign_of_life_that_comes_too_late_hides_nothing(
    reopen: Reopen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process stood still, and that thread goes on first: why the server has ended the
    transaction the statement hears all the same.
    """
    busy, other = reopen(patience_seconds=0.2), reopen()
    say = SignsOfLife._say
    monkeypatch.setattr(SignsOfLife, "_say", lambda self, driver: None)

    def late() -> None:
        with busy._store.write() as connection:
            connection.execute(insert(TXNS), [_txn(7)])
            _wait_until(lambda: not _in_transaction(other))
            signs = busy._store._signs  # type: ignore[attr-defined]
            say(signs, connection.connection.dbapi_connection)
            connection.exec_driver_sql("SELECT 1")

    with pytest.raises(MetastoreBusyError, match="idle-in-transaction timeout") as caught:
        late()
    assert caught.value.retryable


def _in_transaction(metastore: EmbeddedMetastore) -> bool:
    with metastore._store.read() as connection:
        idle = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction' AND pid <> pg_backend_pid()"
        return bool(connection.scalar(text(idle)))


# --- lost connections
# --------------------------------------------------------------------------------------------------


def test_a_connection_lost_between_transactions_is_replaced(
    metastore: EmbeddedMetastore, admin: Any
) -> None:
    """Nobody notices: nothing had been asked of it."""
    metastore.open_txn()
    metastore.valid_txns()
    assert kill_all(admin) > 0
    assert metastore.open_txn() == 2
    assert kill_all(admin) > 0
    assert metastore.valid_txns().open == (1, 2)
    assert kill_all(admin) > 0
    assert metastore.lock(REQUEST).lock_id == 1


def test_a_connection_lost_in_a_write(metastore: EmbeddedMetastore, admin: Any) -> None:
    """Its changes are gone, the error says so, the next transaction has a new connection."""

    def write() -> None:
        with metastore._store.write() as connection:
            connection.execute(insert(TXNS), [_txn(1)])
            admin.execute("SELECT pg_terminate_backend(%s, 10000)", [backend(connection)])
            connection.execute(select(TXNS))

    with pytest.raises(MetastoreError, match="could not be written") as caught:
        write()
    assert not isinstance(caught.value, CommitFailedError)
    assert "nothing was changed" in str(caught.value.hint)
    assert metastore.valid_txns().high_watermark == 0
    assert metastore.open_txn() == 1


def test_a_connection_lost_in_a_read(metastore: EmbeddedMetastore, admin: Any) -> None:
    """Is an error: half of its answers may have been used."""

    def read() -> None:
        with metastore._store.read() as connection:
            admin.execute("SELECT pg_terminate_backend(%s, 10000)", [backend(connection)])
            connection.execute(select(TXNS))

    with pytest.raises(MetastoreError, match="could not be read"):
        read()
    assert metastore.valid_txns().high_watermark == 0


def test_a_connection_lost_at_the_commit(
    metastore: EmbeddedMetastore, admin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody knows whether it took place: not repeated, not called aborted."""
    txn_id = metastore.open_txn()

    def kill(connection: Connection) -> None:
        admin.execute("SELECT pg_terminate_backend(%s, 10000)", [backend(connection)])

    event.listen(metastore._store._engine, "commit", kill)  # type: ignore[attr-defined]
    with pytest.raises(
        CommitStateUnknownError, match=f"txnid:{txn_id} may or may not have been committed"
    ) as caught:
        metastore.commit(txn_id)
    event.remove(metastore._store._engine, "commit", kill)  # type: ignore[attr-defined]
    assert (caught.value.txn_id, caught.value.retryable) == (txn_id, False)
    assert metastore.valid_txns().open == (txn_id,)
    metastore.commit(txn_id)


def test_a_commit_that_took_place_though_its_answer_was_lost(
    metastore: EmbeddedMetastore, admin: Any
) -> None:
    """Is found out by asking the store: no error."""
    txn_id = metastore.open_txn()

    def commit_and_kill(connection: Connection) -> None:
        pid = backend(connection)
        connection.exec_driver_sql("COMMIT")
        admin.execute("SELECT pg_terminate_backend(%s, 10000)", [pid])
        connection.exec_driver_sql("SELECT 1")

    engine = metastore._store._engine  # type: ignore[attr-defined]
    event.listen(engine, "commit", commit_and_kill, once=True)
    metastore.commit(txn_id)
    assert metastore.valid_txns().is_valid(txn_id)


def test_a_server_that_is_away_for_a_moment_is_waited_for(
    metastore: EmbeddedMetastore, admin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Connections are tried again with pauses, as nothing has been asked yet; not for ever."""
    pauses: list[float] = []
    away = [True, True]
    connect = connections._connect

    def failing(*given: Any) -> Any:
        if away and away.pop():
            raise psycopg.OperationalError("connection failed: Connection refused")
        return connect(*given)

    monkeypatch.setattr(connections, "_connect", failing)
    # not time.sleep itself, which threads of others call, too
    monkeypatch.setattr(store, "time", SimpleNamespace(sleep=pauses.append))
    metastore.close()
    assert metastore.open_txn() == 1
    assert pauses == [0.0, 0.2]
    away[:] = [True] * 100
    metastore.close()
    with pytest.raises(MetastoreError, match="Connection refused") as caught:
        metastore.open_txn()
    assert "server runs" in str(caught.value.hint)
    assert len(pauses) == 2 + len(store._PAUSES)


# --- tables and versions
# --------------------------------------------------------------------------------------------------


def test_order_does_not_depend_on_the_locale(
    warehouse: Path, postgresql_server: PostgreSQLServer
) -> None:
    """Names and partitions are sorted by their bytes, as in the file."""
    with postgresql_server.admin() as connection:
        icu = connection.execute(
            "SELECT collname FROM pg_collation WHERE collprovider = 'i' LIMIT 1"
        ).fetchone()
        how = "LOCALE_PROVIDER icu ICU_LOCALE 'en'" if icu else "LC_COLLATE 'C.UTF-8'"
        connection.execute(f"CREATE DATABASE sorted {how} TEMPLATE template0")
    names = ["Z", "_", "a", "b", "é"]
    with EmbeddedMetastore(str(warehouse), metastore=postgresql_server.url("sorted")) as metastore:
        for name in reversed(names):
            metastore.create_database(Database(name=name, location=""))
        assert [name for name in metastore.list_databases() if name != "default"] == names
        int_type = parse_type("int")
        name = TableName("default", "t")
        keys = (Column(name="p", type=parse_type("string")),)
        columns = (Column(name="a", type=int_type),)
        table = metastore.create_table(
            Table(name=name, columns=columns, location="", partition_columns=keys)
        )
        metastore.add_partitions(
            name, [Partition(values=(one,), location=f"/x/{one}") for one in reversed(names)]
        )
        assert [p.values[0] for p in metastore.list_partitions(table)] == names
    postgresql_server.drop_database("sorted")


def test_texts_are_as_long_as_they_are(metastore: EmbeddedMetastore) -> None:
    """Lengths of Hive's columns cut nothing off, and refuse nothing that the file takes."""
    long = "x" * 10_000
    metastore.create_database(Database(name="d", location="", comment=long, properties={"k": long}))
    found = metastore.find_database("d")
    assert found is not None
    assert (found.comment, found.properties) == (long, {"k": long})
    with metastore._store.read() as connection:
        assert connection.scalar(select(DATABASE_PARAMS.c.PARAM_VALUE)) == long


def test_another_encoding_is_refused(warehouse: Path, postgresql_server: PostgreSQLServer) -> None:
    """What cannot hold every name would fail some day."""
    with postgresql_server.admin() as connection:
        connection.execute(
            "CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
        )
    with pytest.raises(MetastoreError, match="has the encoding LATIN1"):
        EmbeddedMetastore(str(warehouse), metastore=postgresql_server.url("latin"))
    postgresql_server.drop_database("latin")


def test_openers_of_a_new_store_make_it_once(
    warehouse: Path, postgresql_server: PostgreSQLServer
) -> None:
    """Whoever comes at the same moment waits for the tables, and belongs to the same warehouse."""
    url = postgresql_server.url(postgresql_server.make_database(None))
    with ThreadPoolExecutor() as pool:
        opening = [pool.submit(EmbeddedMetastore, str(warehouse), metastore=url) for _ in range(4)]
        opened = [one.result(LONG) for one in opening]
    assert sorted(one.open_txn() for one in opened) == [1, 2, 3, 4]
    for one in opened:
        one.close()


def test_a_store_of_another_version_is_refused(reopen: Reopen, admin: Any) -> None:
    """When it is opened, and when a session that has it open writes."""
    old = reopen()
    txn_id = old.open_txn()
    for version in (SCHEMA - 1, SCHEMA + 1):
        admin.execute('UPDATE "VERSION" SET "SCHEMA_VERSION" = %s', (str(version),))
        with pytest.raises(MetastoreError, match="was brought to schema version"):
            old.open_txn()
        with pytest.raises(MetastoreError, match=f"has schema version {version}"):
            reopen()
    admin.execute('UPDATE "VERSION" SET "SCHEMA_VERSION" = %s', (str(SCHEMA),))
    assert reopen().valid_txns().open == (txn_id,)


def test_hives_own_metastore_is_not_touched(
    warehouse: Path, postgresql_server: PostgreSQLServer
) -> None:
    """Its tables have the same names; its version tells it."""
    name = postgresql_server.make_database()
    with postgresql_server.admin(name) as connection:
        connection.execute('UPDATE "VERSION" SET "SCHEMA_VERSION" = \'4.0.0\'')
    with pytest.raises(MetastoreError, match="not written by acidsql"):
        EmbeddedMetastore(str(warehouse), metastore=postgresql_server.url(name))
    assert not warehouse.exists()
    postgresql_server.drop_database(name)


def test_a_database_that_was_lost_is_not_begun_anew(
    warehouse: Path, postgresql: str, admin: Any
) -> None:
    """Its warehouse has files whose ids it would give out again."""
    admin.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    with pytest.raises(MetastoreError, match="has no tables of it") as caught:
        EmbeddedMetastore(str(warehouse), metastore=postgresql)
    assert "restore it from a backup" in str(caught.value.hint)


def test_a_schema_of_its_own(
    warehouse: Path, tmp_path: Path, postgresql_server: PostgreSQLServer
) -> None:
    """Stores lie side by side in one database, each in the schema of its URL's search_path."""
    name = postgresql_server.make_database(None)
    with postgresql_server.admin(name) as connection:
        connection.execute("CREATE SCHEMA one; CREATE SCHEMA two")
    for schema in ("one", "two"):
        url = postgresql_server.url(name) + f"&options=-c%20search_path%3D{schema}"
        with EmbeddedMetastore(str(tmp_path / schema), metastore=url) as metastore:
            assert metastore.open_txn() == 1


# --- which warehouse
# --------------------------------------------------------------------------------------------------


def test_another_warehouse_is_refused(
    metastore: EmbeddedMetastore, warehouse: Path, tmp_path: Path, postgresql: str
) -> None:
    """By its directory, and by a directory that is not the one it was."""
    with pytest.raises(MetastoreError, match=f'is that of the warehouse "{warehouse}", not of'):
        EmbeddedMetastore(str(tmp_path / "other"), metastore=postgresql)
    marker = warehouse / "_acidsql" / "metastore.url"
    text_before = marker.read_text()
    marker.write_text(text_before.replace('"id": "', '"id": "0'))
    with pytest.raises(MetastoreError, match="is another one"):
        EmbeddedMetastore(str(warehouse), metastore=postgresql)
    marker.write_text("{")
    with pytest.raises(MetastoreError, match="is damaged"):
        EmbeddedMetastore(str(warehouse), metastore=postgresql)
    marker.unlink()
    with pytest.raises(MetastoreError, match="Mount the file system"):
        EmbeddedMetastore(str(warehouse), metastore=postgresql)


def test_a_warehouse_has_one_metastore(
    warehouse: Path, postgresql: str, postgresql_server: PostgreSQLServer, tmp_path: Path
) -> None:
    """No file where a database is it, no database where a file or another database is."""
    EmbeddedMetastore(str(warehouse), metastore=postgresql).close()
    with pytest.raises(MetastoreError, match='is "postgresql') as caught:
        EmbeddedMetastore(str(warehouse))
    assert "--metastore" in str(caught.value.hint)
    name = postgresql_server.make_database()
    with pytest.raises(MetastoreError, match=r'is "postgresql.*, and "postgresql.* has no tables'):
        EmbeddedMetastore(str(warehouse), metastore=postgresql_server.url(name))
    EmbeddedMetastore(str(tmp_path / "file")).close()
    with pytest.raises(MetastoreError, match=r"has a metastore, the file") as caught:
        EmbeddedMetastore(str(tmp_path / "file"), metastore=postgresql_server.url(name))
    assert "acidsql store copy" in str(caught.value.hint)
    EmbeddedMetastore(str(tmp_path / "new"), metastore=postgresql_server.url(name)).close()
    postgresql_server.drop_database(name)


# --- who connects, and how
# --------------------------------------------------------------------------------------------------


def test_the_url_says_who(
    warehouse: Path, postgresql_server: PostgreSQLServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the password in it, in the environment, or in a file."""
    name = postgresql_server.make_database()
    host = f"127.0.0.1:{postgresql_server.port}/{name}"
    for url in (
        f"postgresql+psycopg://{USER}:p%40ss%2Fw%3Ard %2541@{host}",
        f"postgres://{USER}@{host}?password=p%40ss%2Fw%3Ard+%2541",
    ):
        EmbeddedMetastore(str(warehouse), metastore=url).close()
        (warehouse / "_acidsql" / "metastore.url").unlink()
        with postgresql_server.admin(name) as connection:
            connection.execute('DELETE FROM "METASTORE_DB_PROPERTIES"')
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    EmbeddedMetastore(str(warehouse), metastore=f"postgresql://{USER}@{host}").close()
    monkeypatch.delenv("PGPASSWORD")
    file = warehouse / "pgpass"
    file.write_text(f"*:*:*:*:{PASSWORD}".replace("w:rd", r"w\:rd"))
    file.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(file))
    EmbeddedMetastore(str(warehouse), metastore=f"postgresql://{USER}@{host}").close()
    postgresql_server.drop_database(name)
