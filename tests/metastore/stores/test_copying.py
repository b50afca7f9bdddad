"""A metastore that moves from a file into a database and back."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from acidsql.catalog.model import Column, Database, Partition, Skew, Table, TableName
from acidsql.catalog.types import parse_type
from acidsql.cli.main import main
from acidsql.errors import MetastoreError
from acidsql.metastore.embedded import EmbeddedMetastore
from acidsql.metastore.sql import select
from acidsql.metastore.stores import copying
from acidsql.metastore.stores.copying import copy_store
from acidsql.metastore.tables import METADATA
from acidsql.session import Session
from acidsql.txn.compactions import CompactionRequest, CompactionState, CompactionType
from acidsql.txn.locks import LockComponent, LockRequest, LockType
from acidsql.txn.manager import OperationType, TxnComponent
from tests.contracts.runs import RUN
from tests.postgresql_server import PostgreSQLServer

T = TableName("sales", "t")
P = TableName("sales", "p")
INT = parse_type("int")
Rows = dict[str, list[tuple[Any, ...]]]


def rows(warehouse: Path, metastore: str | None) -> Rows:
    """All rows of all tables, but for what a store has of its own."""
    with (
        EmbeddedMetastore(str(warehouse), metastore=metastore) as opened,
        opened._store.read() as connection,
    ):
        return {
            table.name: sorted((tuple(row) for row in connection.execute(select(table))), key=repr)
            for table in METADATA.sorted_tables
            if table.name not in ("VERSION", "METASTORE_DB_PROPERTIES")
        }


def fill(warehouse: Path, metastore: str | None = None) -> None:
    """Some of everything: databases, tables, partitions, statistics, committed and aborted
    transactions, dropped things whose ids must not come again.
    """
    with EmbeddedMetastore(str(warehouse), metastore=metastore) as store:
        store.create_database(Database(name="sales", location="", comment="§ 'x'"))
        plain = Table(name=T, columns=(Column(name="a", type=INT),), location="")
        skew = Skew(columns=("a",), values=(("1",),), directories=True)
        store.create_table(
            replace(plain, skew=skew, properties={"k": "v", "transactional": "true"})
        )
        keys = (Column(name="ds", type=INT),)
        parted = store.create_table(replace(plain, name=P, partition_columns=keys))
        store.add_partitions(
            P, [Partition(values=(f"{n}",), location=f"{parted.location}/ds={n}") for n in (1, 2)]
        )
        store.drop_table(store.create_table(replace(plain, name=TableName("sales", "gone"))).name)
        for operation in (OperationType.INSERT, OperationType.UPDATE):
            opened = store.begin([T])
            component = TxnComponent(
                table=T, partition=None, operation=operation, write_id=opened.write_ids[T]
            )
            run = replace(RUN, run_id=f"run {opened.txn_id}")
            store.commit(opened.txn_id, [component], run=run)
        store.abort(store.begin([T]).txn_id)
        wanted = CompactionRequest(
            table=T, partition=None, type=CompactionType.MAJOR, initiator="node1-manual"
        )
        store.note_compaction(wanted, CompactionState.DID_NOT_INITIATE, "it failed twice")
        store.enqueue_compaction(wanted)


def test_every_row_goes_there_and_back(warehouse: Path, postgresql: str) -> None:
    """All tables have the same rows in each store, and ids go on behind them."""
    fill(warehouse)
    before = rows(warehouse, None)
    copied = copy_store(str(warehouse), postgresql)
    assert copied.rows == sum(map(len, before.values()))
    assert rows(warehouse, postgresql) == before
    with EmbeddedMetastore(str(warehouse), metastore=postgresql) as store:
        assert store.open_txn() == 4
        store.abort(4)  # type: ignore[arg-type]
        table = store.find_table(T)
        assert table is not None
        new = store.create_table(replace(table, name=TableName("sales", "new"), location=""))
        assert new.table_id == 4
        store.drop_table(new.name)
    between = rows(warehouse, postgresql)
    copy_store(postgresql, str(warehouse))
    assert rows(warehouse, None) == between
    with EmbeddedMetastore(str(warehouse)) as store:
        assert store.open_txn() == 5
        table = store.find_table(T)
        assert table is not None
        assert store.create_table(replace(table, name=TableName("sales", "new"))).table_id == 5


def test_from_one_database_into_another(
    warehouse: Path, postgresql: str, postgresql_server: PostgreSQLServer
) -> None:
    """One that has no tables yet; the marker in the warehouse goes along."""
    fill(warehouse, postgresql)
    before = rows(warehouse, postgresql)
    other = postgresql_server.url(postgresql_server.make_database(None))
    copy_store(postgresql, other)
    assert rows(warehouse, other) == before
    with pytest.raises(MetastoreError, match="the metastore has moved to"):
        EmbeddedMetastore(str(warehouse), metastore=postgresql)


@pytest.mark.parametrize("there", [True, False])
def test_there_is_one_metastore_at_a_time(warehouse: Path, postgresql: str, there: bool) -> None:
    """The one that was left is refused, also for sessions that have it open."""
    source, target = (None, postgresql) if there else (postgresql, None)
    fill(warehouse, source)
    with EmbeddedMetastore(str(warehouse), metastore=source) as still_open:
        copy_store(source or str(warehouse), target or str(warehouse))
        for change in (still_open.open_txn, lambda: still_open.drop_table(T)):
            with pytest.raises(MetastoreError, match="the metastore has moved to"):
                change()
    with pytest.raises(MetastoreError, match="the metastore"):
        EmbeddedMetastore(str(warehouse), metastore=source)
    with EmbeddedMetastore(str(warehouse), metastore=target) as store:
        assert store.find_table(T) is not None


@pytest.mark.parametrize("how", ["transaction", "lock"])
@pytest.mark.parametrize("there", [True, False])
def test_a_store_in_use_stays(warehouse: Path, postgresql: str, there: bool, how: str) -> None:
    """While a transaction is open or a lock held; the target stays empty, and may be used
    later.
    """
    source, target = (None, postgresql) if there else (postgresql, None)
    fill(warehouse, source)
    with EmbeddedMetastore(str(warehouse), metastore=source) as store:
        request = LockRequest(
            components=(LockComponent(database="default", type=LockType.SHARED_READ),)
        )
        if how == "transaction":
            txn_id = store.open_txn()
        else:
            lock_id = store.lock(request).lock_id
        with pytest.raises(MetastoreError, match="is in use") as caught:
            copy_store(source or str(warehouse), target or str(warehouse))
        assert f"open transactions: {how == 'transaction':d}, locks: {how == 'lock':d}" in str(
            caught.value
        )
        if how == "transaction":
            store.commit(txn_id)
        else:
            store.unlock(lock_id)
    before = rows(warehouse, source)
    copy_store(source or str(warehouse), target or str(warehouse))
    assert rows(warehouse, target) == before


def test_what_ended_processes_left_is_no_use(warehouse: Path, postgresql: str) -> None:
    """Their transactions are aborted, as whoever opens one next would."""
    code = f"from acidsql.metastore.embedded import EmbeddedMetastore as M; M({str(warehouse)!r}).open_txn()"
    subprocess.run([sys.executable, "-c", code], check=True)
    copy_store(str(warehouse), postgresql)
    with EmbeddedMetastore(str(warehouse), metastore=postgresql) as store:
        assert store.valid_txns().aborted == (1,)


def test_a_target_that_is_not_empty_is_refused(
    warehouse: Path, tmp_path: Path, postgresql: str
) -> None:
    """It has a table, or is another warehouse's; neither side changes."""
    fill(warehouse)
    EmbeddedMetastore(str(tmp_path / "other"), metastore=postgresql).close()
    with pytest.raises(MetastoreError, match='is not empty: "METASTORE_DB_PROPERTIES" has rows'):
        copy_store(str(warehouse), postgresql)
    fill(tmp_path / "other", postgresql)
    with pytest.raises(MetastoreError, match="is not empty"):
        copy_store(str(warehouse), postgresql)
    with EmbeddedMetastore(str(warehouse)) as store:
        assert store.open_txn() == 4


class StoppedError(Exception):
    pass


@pytest.mark.parametrize("there", [True, False])
def test_a_copy_that_is_interrupted_on_the_way(
    warehouse: Path, postgresql: str, there: bool
) -> None:
    """Leaves the source as it was; the next one begins anew."""
    source, target = (None, postgresql) if there else (postgresql, None)
    fill(warehouse, source)
    before = rows(warehouse, source)

    def stop(done: int, total: int) -> None:
        if done > total / 2:
            raise StoppedError

    with pytest.raises(StoppedError):
        copy_store(source or str(warehouse), target or str(warehouse), stop)
    assert rows(warehouse, source) == before
    copy_store(source or str(warehouse), target or str(warehouse))
    assert rows(warehouse, target) == before


@pytest.mark.parametrize("there", [True, False])
def test_a_copy_that_is_interrupted_at_its_end(
    warehouse: Path, postgresql: str, there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind the mark neither store can be opened, until the copy is asked for again."""
    source, target = (None, postgresql) if there else (postgresql, None)
    ends = (source or str(warehouse), target or str(warehouse))
    fill(warehouse, source)
    before = rows(warehouse, source)
    kind = copying.PostgreSQLStore if there else copying.SQLiteStore
    with monkeypatch.context() as patch:
        patch.setattr(kind, "settle", lambda _: (_ for _ in ()).throw(StoppedError))
        with pytest.raises(StoppedError):
            copy_store(*ends)
    for metastore in (source, target):
        with pytest.raises(MetastoreError, match="metastore"):
            EmbeddedMetastore(str(warehouse), metastore=metastore)
    assert copy_store(*ends).rows is None
    assert rows(warehouse, target) == before


def test_a_copy_whose_source_was_not_marked(
    warehouse: Path, postgresql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database is complete then, but nobody's; the file stays the metastore."""
    fill(warehouse)
    with monkeypatch.context() as patch:
        patch.setattr(copying.SQLiteStore, "leave", lambda *_: (_ for _ in ()).throw(StoppedError))
        with pytest.raises(StoppedError):
            copy_store(str(warehouse), postgresql)
    with pytest.raises(MetastoreError, match=r"has no file \"_acidsql/metastore\.url\""):
        EmbeddedMetastore(str(warehouse), metastore=postgresql)
    with pytest.raises(MetastoreError, match="is not empty"):
        copy_store(str(warehouse), postgresql)
    with EmbeddedMetastore(str(warehouse)) as store:
        assert store.open_txn() == 4


def test_a_count_that_differs_ends_the_copy(
    warehouse: Path, postgresql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is moved unless every table has as many rows as before."""
    fill(warehouse)
    copy_rows = copying._copy_rows

    def lossy(source: Any, target: Any, table: Any) -> Any:
        yield from copy_rows(source, target, table)
        if table.name == "TABLE_PARAMS":
            target.exec_driver_sql('DELETE FROM "TABLE_PARAMS"')

    monkeypatch.setattr(copying, "_copy_rows", lossy)
    with pytest.raises(MetastoreError, match=r'rows of "TABLE_PARAMS" 0 were copied'):
        copy_store(str(warehouse), postgresql)
    fill_again = rows(warehouse, None)
    assert fill_again["TABLE_PARAMS"]


def test_what_postgresql_cannot_store_is_refused(warehouse: Path, postgresql: str) -> None:
    """Text with a NUL, which SQLite takes; the file stays the metastore."""
    with EmbeddedMetastore(str(warehouse)) as store:
        store.create_database(Database(name="odd", location="", comment="a\0b"))
    with pytest.raises(MetastoreError, match="NUL"):
        copy_store(str(warehouse), postgresql)
    EmbeddedMetastore(str(warehouse)).close()


def test_ends_that_make_no_sense(warehouse: Path, tmp_path: Path, postgresql: str) -> None:
    """Two directories, a directory without a metastore, a database of nobody, a wrong warehouse."""
    fill(warehouse)
    for source, target, message in (
        (str(warehouse), str(tmp_path / "new"), "source and target are both directories"),
        (str(tmp_path / "none"), postgresql, "has no metastore in a file"),
        (postgresql, str(warehouse), "is no warehouse's metastore"),
        (str(warehouse), "mysql://u:secret@h/d", 'of the kind "mysql" is not supported'),
    ):
        with pytest.raises(MetastoreError, match=message):
            copy_store(source, target)
    copy_store(str(warehouse), postgresql)
    with pytest.raises(MetastoreError, match="is that of the warehouse"):
        copy_store(postgresql, str(tmp_path / "elsewhere"))
    with pytest.raises(MetastoreError, match="are the same"):
        copy_store(postgresql, postgresql)


def test_who_may_open_it_stays(warehouse: Path, postgresql: str) -> None:
    """The marker has the mode of the file, and the file that of the marker."""
    EmbeddedMetastore(str(warehouse), mode=0o660).close()
    copy_store(str(warehouse), postgresql)
    folder = warehouse / "_acidsql"
    assert (folder / "metastore.url").stat().st_mode & 0o777 == 0o660
    (folder / "metastore.db").unlink()
    copy_store(postgresql, str(warehouse))
    assert (folder / "metastore.db").stat().st_mode & 0o777 == 0o660


def test_the_command(
    warehouse: Path,
    postgresql: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Says on stderr what is done, and where the metastore is; errors as those of statements."""
    monkeypatch.setattr("acidsql.cli.store.BEAT_SECONDS", 0)
    with Session(warehouse) as session:
        session.sql("CREATE TABLE t (id INT)")
    assert main(["store", "copy", str(warehouse), postgresql]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert "rows copied\n" in err
    assert f'the metastore of "{warehouse}" is now "postgresql+psycopg://' in err
    assert main(["store", "copy", str(warehouse), postgresql]) == 0
    assert "was there already" in capsys.readouterr().err
    assert (
        main(["--warehouse", str(warehouse), "--metastore", postgresql, "-e", "SHOW TABLES"]) == 0
    )
    assert "t" in capsys.readouterr().out.split()
    assert main(["--warehouse", str(warehouse), "-e", "SHOW TABLES"]) == 1
    assert "--metastore" in capsys.readouterr().err
    shutil.rmtree(warehouse / "_acidsql")
    assert (
        main(["--warehouse", str(warehouse), "--metastore", postgresql, "-e", "SHOW TABLES"]) == 1
    )
    assert "Mount the file system" in capsys.readouterr().err
