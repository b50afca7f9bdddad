"""Tables whose source is a metastore's database or its service: each statement sees what Hive has committed by then, a
transaction what it saw first; a source that does not answer is an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from acidsql.attach.dump import parse_dump
from acidsql.catalog.model import TableName
from acidsql.errors import BindError, MetastoreError
from acidsql.session import Session
from tests.attach.conftest import Metastores
from tests.attach.hive_metastore import HiveMetastore
from tests.attach.hive_service import served
from tests.attach.orders import PARTITIONS, check_source_is_needed, ids, orders_of
from tests.attach.test_database_sources import url_of, written
from tests.postgresql_server import USER, PostgreSQLServer

__all__ = ["written"]

ORDERS = TableName("sales", "orders")


SOURCES = [(version, by) for version in ("3.1", "4.2") for by in ("database", "service")]


@pytest.fixture(params=SOURCES, ids="-".join)
def metastore(request: pytest.FixtureRequest) -> Iterator[HiveMetastore]:
    """An empty metastore of Hive 3, and of Hive 4, that is asked by its database or its service."""
    version, by = request.param
    if by == "database":
        yield request.getfixturevalue("hive_metastores")(version)
        return
    with served(request.getfixturevalue("tmp_path"), version) as metastore:
        yield metastore


@pytest.fixture
def attached(metastore: HiveMetastore, written: Path, session: Session) -> HiveMetastore:
    """Write ids 1, 2 and 4 are committed, 3 is open and 5 is not given out; attached by a session."""
    facts = parse_dump("\n".join([session_ddl(), "high watermark 4", *PARTITIONS[:2]]) + "\n")
    metastore.fill("sales", "orders", f"file:{written}", facts, open=[3], known=[1, 2, 4])
    by_name = metastore.service is not None  # which cannot be asked what lies at a location
    source = named(metastore, "sales.orders") if by_name else url_of(metastore)
    session.sql(f"ATTACH TABLE orders FROM '{written}' READ ONLY USING '{source}'")
    return metastore


def named(metastore: HiveMetastore, table: str) -> str:
    url = url_of(metastore)
    return f"{url}{'&' if '?' in url else '?'}table={table}"


def session_ddl() -> str:
    return (
        "CREATE TABLE orders (id int, amount decimal(10,2)) PARTITIONED BY (day date, city string)"
        " STORED AS ORC TBLPROPERTIES ('transactional'='true');"
    )


def add_last_partition(metastore: HiveMetastore, written: Path) -> None:
    table = metastore.engine.connect()
    with table as connection:
        quoted = metastore.quoted("TBLS", "TBL_ID"), metastore.quoted("TBLS", "TBLS")
        from sqlalchemy import text

        number = connection.scalar(text(f"SELECT {quoted[0]} FROM {quoted[1]}"))
    metastore.add_partition(
        number, PARTITIONS[2], ("2024-01-02", "__HIVE_DEFAULT_PARTITION__"), f"file:{written}/{PARTITIONS[2]}"
    )  # fmt: skip


def test_each_statement_sees_what_is_committed_by_then(
    attached: HiveMetastore, written: Path, session: Session
) -> None:
    """A transaction that ends, one that aborts, new write ids, a new partition, and one that goes;
    queries, counts, scans, dumps and SHOW PARTITIONS alike.
    """
    assert ids(session) == [2]
    add_last_partition(attached, written)
    assert ids(session) == [2]
    assert len(list(session.sql("SHOW PARTITIONS orders").rows())) == 3
    attached.end(11 + 1, "c")
    assert ids(session) == [2, 3]
    attached.txn(20, "o", {ORDERS: 5})
    assert ids(session) == [2, 3]
    assert "open 5" in session.dump("orders")
    attached.end(20, "c")
    assert "high watermark 5" in session.dump("orders")
    session.sql("ANALYZE TABLE orders COMPUTE STATISTICS")
    assert ids(session, "SELECT count(*) FROM orders") == [3]
    attached.txn(21, "a", {ORDERS: 6})
    assert ids(session) == [2, 3, 5]
    assert sorted(session.scan("orders", ["id"]).to_arrow().column(0).to_pylist()) == [2, 3, 5]
    number = partition_of(attached, PARTITIONS[2])
    attached.delete("PARTITIONS", PART_ID=number)
    attached.delete("PARTITION_KEY_VALS", PART_ID=number)
    assert ids(session, "SELECT count(*) FROM orders") == [1]


def partition_of(metastore: HiveMetastore, name: str) -> int:
    from sqlalchemy import text

    with metastore.engine.connect() as connection:
        quoted = [
            metastore.quoted("PARTITIONS", one) for one in ("PART_ID", "PARTITIONS", "PART_NAME")
        ]
        rows = connection.execute(text(f"SELECT {quoted[0]}, {quoted[2]} FROM {quoted[1]}")).all()
    return next(number for number, known in rows if known.endswith(name.rpartition("=")[2]))


def test_a_transaction_sees_what_it_saw_first(
    attached: HiveMetastore, written: Path, session: Session
) -> None:
    """Until it ends, whatever Hive commits, and whatever other sessions ask meanwhile."""
    add_last_partition(attached, written)
    with Session(session.warehouse, settings={"acidsql.engine": "local"}) as other:
        session.sql("START TRANSACTION")
        assert ids(session) == [2]
        attached.end(12, "c")
        assert ids(session) == [2]
        assert ids(other) == [2, 3]
        assert ids(session) == [2]
        session.sql("COMMIT")
        assert ids(session) == [2, 3]
        session.sql("START TRANSACTION")
        attached.txn(20, "c", {ORDERS: 5})
        assert ids(session) == [2, 3, 5]
        session.sql("ROLLBACK")


def test_joins_and_changes_of_own_tables_ask_too(
    attached: HiveMetastore, written: Path, session: Session
) -> None:
    """INSERT .. SELECT and MERGE from it, through a view as well."""
    add_last_partition(attached, written)
    session.sql("CREATE TABLE mine (id INT) STORED AS ORC TBLPROPERTIES ('transactional'='true')")
    session.sql("CREATE VIEW recent AS SELECT id FROM orders")
    attached.end(12, "c")
    session.sql("INSERT INTO mine SELECT id FROM orders")
    assert ids(session, "SELECT id FROM mine") == [2, 3]
    attached.txn(20, "c", {ORDERS: 5})
    session.sql(
        "MERGE INTO mine USING orders ON mine.id = orders.id WHEN NOT MATCHED THEN INSERT VALUES (orders.id)"
    )
    assert ids(session, "SELECT id FROM mine") == [2, 3, 5]
    for change in (
        "DELETE FROM orders",
        "INSERT INTO orders VALUES (1, 1.0, '2024-01-01', 'x')",
        "ALTER TABLE orders COMPACT 'major'",
    ):
        with pytest.raises(BindError, match="attached read only"):
            session.sql(change)


def test_an_overlay_stays_as_it_was_attached(
    attached: HiveMetastore, written: Path, session: Session
) -> None:
    """Its source is asked once, when it is made, for the location as well."""
    add_last_partition(attached, written)
    made = f"ATTACH TABLE twin OVERLAY USING '{named(attached, 'sales.orders')}'"
    told = "\n".join(str(line) for (line,) in session.sql(f"EXPLAIN {made}").rows())
    assert "changes:" in told
    assert "asked anew" not in told
    session.sql(made)
    session.sql("INSERT INTO twin VALUES (70, 7.0, '2024-01-01', 'x')")
    session.sql("DELETE FROM twin WHERE id = 2")
    attached.end(12, "c")
    assert ids(session) == [2, 3]
    assert ids(session, "SELECT id FROM twin") == [70]
    session.sql("DETACH TABLE twin")
    assert ids(session) == [2, 3]


def test_a_source_that_does_not_answer_is_an_error(
    hive_metastores: Metastores,
    postgresql_server: PostgreSQLServer,
    written: Path,
    session: Session,
) -> None:
    """Never what it told last; DESCRIBE, DETACH and ADOPT need no source."""
    metastore = hive_metastores("4.2")
    metastore.fill("sales", "orders", f"file:{written}", orders_of("high watermark 5"), aborted=[3])
    session.sql(f"ATTACH TABLE orders FROM '{written}' USING '{url_of(metastore)}'")
    assert ids(session) == [2, 5]
    with not_answering(metastore, postgresql_server):
        check_source_is_needed(session, "postgresql")
        assert ids(session) == [2, 5]
    session.sql("DELETE FROM orders WHERE id = 2")
    assert ids(session) == [5]


@contextmanager
def not_answering(metastore: HiveMetastore, server: PostgreSQLServer) -> Iterator[None]:
    name = metastore.engine.url.database
    with server.admin() as admin:
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        try:
            yield
        finally:
            admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")


def test_another_table_by_now_is_an_error(
    attached: HiveMetastore, written: Path, session: Session
) -> None:
    """Altered, moved, made anew under its name, or gone."""
    attached.update("COLUMNS_V2", {"COLUMN_NAME": "total"}, COLUMN_NAME="amount")
    with pytest.raises(MetastoreError, match="was altered in Hive"):
        ids(session)
    attached.update("COLUMNS_V2", {"COLUMN_NAME": "amount"}, COLUMN_NAME="total")
    assert ids(session) == [2]
    attached.update("SDS", {"LOCATION": "file:/else/where"}, LOCATION=f"file:{written}")
    with pytest.raises(MetastoreError, match='lies at "/else/where" in Hive by now'):
        ids(session)
    attached.update("SDS", {"LOCATION": f"file:{written}"}, LOCATION="file:/else/where")
    attached.update("TBLS", {"TBL_NAME": "orders_2023"}, TBL_NAME="orders")
    with pytest.raises(MetastoreError, match=r"no table sales\.orders") as caught:
        ids(session)
    assert "DETACH TABLE" in str(caught.value)
    facts = orders_of("high watermark 5")
    attached.add_table(attached.database("sales"), "orders", f"file:{written}", facts)
    with pytest.raises(MetastoreError, match="was dropped and made anew in Hive"):
        ids(session)


def test_a_compaction_shows_when_it_has_committed(
    attached: HiveMetastore, written: Path, session: Session
) -> None:
    """While it runs its directory is passed over; when Hive's cleaner has taken away what it took
    in, the rows come from it.
    """
    if attached.is_old:
        return  # its compactions have no numbers in their names
    attached.end(12, "a")
    attached.txn(30, "o", kind=3)
    home = written / PARTITIONS[1]
    base = home / "base_0000004_v0000030"
    base.mkdir()
    (base / "bucket_00000").write_bytes(b"half of a file")
    assert ids(session) == [2]
    delta = next(one for one in home.iterdir() if one.name.startswith("delta_0000002"))
    for file in delta.iterdir():
        (base / file.name).write_bytes(file.read_bytes())
    attached.end(30, "c")
    assert ids(session) == [2]
    for file in delta.iterdir():
        file.unlink()
    delta.rmdir()
    assert ids(session) == [2]


def test_the_password_comes_from_the_environment(
    hive_metastores: Metastores, postgresql_server: PostgreSQLServer, written: Path, session: Session,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """It is not kept: the session that attached knows it, another one is told where it is looked
    for, and finds it there.
    """
    from urllib.parse import quote

    from tests.postgresql_server import PASSWORD

    monkeypatch.delenv("PGPASSWORD", raising=False)
    metastore = hive_metastores("4.2")
    metastore.fill("sales", "orders", f"file:{written}", orders_of("high watermark 5"), aborted=[3])
    where = f"127.0.0.1:{postgresql_server.port}/{metastore.engine.url.database}"
    source = f"postgresql://{USER}:{quote(PASSWORD, safe='')}@{where}"
    result = session.attach("orders", written, metastore=source)
    assert "not kept" in result.warnings[0].message
    assert ids(session) == [2, 5]
    with Session(session.warehouse, settings={"acidsql.engine": "local"}) as other:
        with pytest.raises(MetastoreError, match="password") as caught:
            ids(other)
        assert "PGPASSWORD" in str(caught.value)
        monkeypatch.setenv("PGPASSWORD", PASSWORD)
        assert ids(other) == [2, 5]
