"""ATTACH DATABASE: all tables of one of Hive's databases, each as ATTACH TABLE would attach it, told by
the metastore's database in one transaction; and DETACH DATABASE.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event

from acidsql.catalog.attached import MOVED
from acidsql.catalog.model import TableName
from acidsql.errors import BindError, DatabaseNotFoundError, MetastoreError, NotSupportedError
from acidsql.session import Session
from acidsql.settings import values
from tests.attach import derby
from tests.attach.conftest import contents
from tests.attach.hive_metastore import HiveMetastore
from tests.attach.orders import ACID, facts_of, ids, orders_of, orders_written
from tests.attach.test_database_sources import url_of
from tests.postgresql_server import USER
from tests.session.transactions.crashes import killed

LOCAL = {"acidsql.engine": "local", "acidsql.compactor.auto": "false"}
INSERT_ONLY = ACID.replace(")", ", 'transactional_properties'='insert_only')")
WITH_IDS = f"CREATE TABLE t (id int) {ACID}"
PLAIN = "CREATE TABLE t (id int) STORED AS ORC"

Rows = list[tuple[str, str, str | None, str]]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The warehouse of Hive: databases sales and archive."""
    home = orders_written(tmp_path_factory.mktemp("written")).parent
    with Session(home, settings=LOCAL) as session:
        for database in ("sales", "archive"):
            session.sql(f"CREATE DATABASE {database}")
        for table in ("sales.orders_old", "archive.orders"):
            session.sql(f"CREATE TABLE {table} (id INT) {ACID}")
        session.sql(f"CREATE TABLE sales.events (id INT) {INSERT_ONLY}")
        session.sql("CREATE TABLE sales.plain (id INT) STORED AS ORC")
        for number in (1, 2):
            for table in ("sales.orders_old", "sales.events", "archive.orders"):
                session.sql(f"INSERT INTO {table} VALUES ({number}), ({number + 10})")
        session.sql("INSERT INTO sales.plain VALUES (7)")
    (home / "orders").rename(home / "sales.db" / "orders")
    return home


@pytest.fixture
def hive(written: Path, tmp_path: Path) -> Iterator[Path]:
    """A copy of it that nobody may write to."""
    home = Path(shutil.copytree(written, tmp_path / "hive"))
    before = contents(home)
    yield home
    assert contents(home) == before


def known_to(metastore: HiveMetastore, root: str) -> None:
    """What Hive knows of them, with tables that cannot be attached, and a database of the same name
    in another catalog.
    """
    home = f"{root}/sales.db"
    sales = metastore.add_database("sales", location=home)
    fill, add = metastore.fill, metastore.add_table
    fill(
        "sales", "orders", f"{home}/orders", orders_of("high watermark 5"), open=[5], aborted=[3], known=[1]
    )  # fmt: skip
    with_ids = facts_of(WITH_IDS, "high watermark 2")
    fill("sales", "orders_old", f"{home}/orders_old", with_ids, first_txn=20, aborted=[2])
    fill("sales", "gone", f"{home}/gone", with_ids, first_txn=30)
    fill("archive", "orders", f"{root}/archive.db/orders", with_ids, first_txn=40, aborted=[1])
    insert_only = facts_of(f"CREATE TABLE t (id int) {INSERT_ONLY}", "high watermark 2")
    fill("sales", "events", f"{home}/events", insert_only, first_txn=50, open=[2])
    plain = facts_of(PLAIN, "high watermark 0")
    fill("sales", "plain", f"{home}/plain", plain)
    add(sales, "lines", f"{home}/plain", plain, orc=False)
    add(sales, "v", None, plain, kind="VIRTUAL_VIEW")
    add(sales, "mv", f"{home}/mv", with_ids, kind="MATERIALIZED_VIEW")
    add(sales, "twice", f"{home}/orders_old", with_ids)
    spark = metastore.add_database("sales", catalog="spark", location=home)
    add(spark, "of_spark", f"{home}/orders_old", with_ids)


@pytest.fixture
def metastore(hive_metastore: HiveMetastore, hive: Path) -> HiveMetastore:
    known_to(hive_metastore, f"file:{hive}")
    return hive_metastore


def rows_of(session: Session, query: str) -> Rows:
    return [tuple(row) for row in session.sql(query).rows()]  # type: ignore[misc]


def expected(hive: Path, attached: str = "attached", database: str = "sales") -> Rows:
    home = hive / "sales.db"
    return [
        ("events", "insert-only", None, attached),
        ("gone", "acid", None, f'there is no directory "{home}/gone"'),
        ("lines", "plain", None, "sales.lines is read with org.apache.hadoop.mapred.TextInputFormat"),
        ("mv", "materialized view", None, "sales.mv is a materialized view in Hive"),
        ("orders", "acid", "3", attached),
        ("orders_old", "acid", None, attached),
        ("plain", "plain", None, attached),
        ("twice", "acid", None, f'directory "{home}/orders_old" overlaps that of table {database}.orders_old'),
        ("v", "view", None, "sales.v is a view in Hive"),
    ]  # fmt: skip


def tables(session: Session, database: str = "sales") -> list[str]:
    return [row[0] for row in session.sql(f"SHOW TABLES IN {database}").rows()]


def databases(session: Session) -> list[str]:
    return [row[0] for row in session.sql("SHOW DATABASES").rows()]


def id_list(session: Session, table: str) -> list[int]:
    return ids(session, f"SELECT id FROM {table}")


def test_all_tables_are_attached(metastore: HiveMetastore, hive: Path, session: Session) -> None:
    """Those that can be; a row says what came of each. Rows of aborted and open transactions stay
    away, and other databases do not matter.
    """
    result = session.sql(f"ATTACH DATABASE sales READ ONLY USING '{url_of(metastore)}'")
    assert [tuple(row) for row in result.rows()] == expected(hive)
    assert [column.name for column in result.columns] == ["table", "kind", "partitions", "state"]
    assert result.notes == ("attached 4 tables, 5 not attached",)
    assert tables(session) == ["events", "orders", "orders_old", "plain"]
    assert id_list(session, "sales.orders") == [2]
    assert id_list(session, "sales.orders_old") == [1, 11]
    assert id_list(session, "sales.events") == [1, 11]
    assert id_list(session, "sales.plain") == [7]
    with pytest.raises(BindError, match="attached read only"):
        session.sql("DELETE FROM sales.orders_old WHERE id = 1")


def test_each_statement_asks_anew(metastore: HiveMetastore, session: Session) -> None:
    """As of any table that is attached to a metastore's database."""
    session.attach_database("sales", url_of(metastore))
    metastore.end(50, "c")
    assert id_list(session, "sales.events") == [1, 2, 11, 12]


def test_new_tables_come_when_it_is_run_again(
    metastore: HiveMetastore, hive: Path, session: Session
) -> None:
    """Those that are attached are told as such, and are not touched; one that was made anew in Hive,
    too, which is not what is attached.
    """
    attach = f"ATTACH DATABASE sales USING '{url_of(metastore)}'"
    session.sql(attach)
    before = list(session.sql("SHOW TBLPROPERTIES sales.orders").rows())
    facts = facts_of(WITH_IDS, "high watermark 2")
    location = f"file:{hive}/archive.db/orders"
    metastore.fill("sales", "later", location, facts, first_txn=60, aborted=[2])
    metastore.update("TBLS", {"TBL_ID": 9999}, TBL_NAME="plain")
    metastore.update("COLUMNS_V2", {"CD_ID": 9999}, CD_ID=table_id(metastore, "plain"))
    rows = {row[0]: row[3] for row in rows_of(session, attach)}
    assert rows["later"] == "attached"
    assert rows["orders"] == rows["events"] == rows["orders_old"] == "attached already"
    assert rows["plain"].startswith("attached before it was dropped and made anew in Hive")
    assert id_list(session, "sales.later") == [1, 11]
    assert list(session.sql("SHOW TBLPROPERTIES sales.orders").rows()) == before
    again = session.sql(attach.replace("DATABASE", "DATABASE IF NOT EXISTS"))
    assert again.notes == ("attached 0 tables, 4 attached already, 6 not attached",)
    overlay = rows_of(session, attach.replace(" USING", " OVERLAY USING"))
    assert ("orders", "acid", "3", "attached already, read only") in overlay


def table_id(metastore: HiveMetastore, name: str) -> Any:
    with metastore.engine.begin() as connection:
        query = f'SELECT "SD_ID" FROM "TBLS" WHERE "TBL_NAME" = \'{name}\''
        return connection.exec_driver_sql(query).scalar()


def test_the_database_has_another_name(
    metastore: HiveMetastore, hive: Path, session: Session
) -> None:
    """``database`` says which of Hive's it is; without it, the name says."""
    session.sql(f"ATTACH SCHEMA mine USING '{url_of(metastore)}&database=Archive'")
    assert (tables(session, "mine"), id_list(session, "mine.orders")) == (["orders"], [2, 12])
    rows = rows_of(session, f"ATTACH DATABASE twin USING '{url_of(metastore)}&database=sales'")
    assert rows == expected(hive, database="twin")
    assert id_list(session, "twin.orders") == [2]


def test_what_the_source_does_not_know_is_said(
    hive_metastore: HiveMetastore, session: Session, tmp_path: Path
) -> None:
    """Another name, another catalog, a table instead of a database, a dump; nothing is made."""
    hive_metastore.add_database("of_spark", catalog="spark")
    hive_metastore.add_database("empty")
    source = url_of(hive_metastore)
    (tmp_path / "orders.dump").write_text("CREATE TABLE orders (id int);\nhigh watermark 1\n")
    for statement, words in {
        f"sales USING '{source}'": "the metastore has no database sales",
        f"sales USING '{source}&database=of_spark'": 'of_spark, only in its catalog "spark"',
        f"sales USING '{source}&database=a.b'": "not the name of one",
        f"sales USING '{source}&table=sales.orders'": "the source names a table",
        f"sales USING '{tmp_path}?table=sales.orders'": "the source names a table",
        f"empty USING '{source}'": "no table of Hive's database empty can be attached",
        f"sales USING '{tmp_path}'": "is no directory of exports of a metastore",
        f"sales USING '{tmp_path}/orders.dump'": "is no directory of exports of a metastore",
    }.items():
        for start in ("", "EXPLAIN ", "DRY RUN "):
            with pytest.raises(BindError, match=re.escape(words)) as caught:
                session.sql(f"{start}ATTACH DATABASE {statement}")
            assert "^^^" in str(caught.value)
    with pytest.raises(MetastoreError, match="cannot ask the metastore"):
        session.sql("ATTACH DATABASE sales USING 'postgresql://127.0.0.1:1/metastore'")
    assert databases(session) == ["default"]


def test_nothing_to_attach_is_an_error(
    metastore: HiveMetastore, session: Session, tmp_path: Path
) -> None:
    """That gives the reason of each table; the database is not made."""
    (tmp_path / "empty").mkdir()
    with pytest.raises(BindError, match="no table of Hive's database sales") as caught:
        session.sql(f"ATTACH DATABASE sales FROM '{tmp_path}/empty' USING '{url_of(metastore)}'")
    assert f'events: there is no directory "{tmp_path}/empty/events"' in str(caught.value)
    assert "v: sales.v is a view in Hive" in str(caught.value)
    with pytest.raises(BindError, match='there is no directory "/not/there"') as caught:
        session.sql(f"ATTACH DATABASE sales FROM '/not/there' USING '{url_of(metastore)}'")
    assert databases(session) == ["default"]


# ---- EXPLAIN


@pytest.mark.parametrize("start", ["EXPLAIN", "DRY RUN"])
def test_it_is_told_before(
    start: str, metastore: HiveMetastore, hive: Path, session: Session
) -> None:
    """The rows of the answer; nothing is changed."""
    attach = f"ATTACH DATABASE sales USING '{url_of(metastore)}'"
    text = "\n".join(row[0] for row in session.sql(f"{start} {attach}").rows())
    for name, kind, partitions, state in expected(hive):
        assert re.search(rf"(?m)^  {name} +{kind} +{partitions or ''} *{re.escape(state)}$", text)
    assert "database of Hive: sales (of the metastore postgresql://" in text
    assert f"where Hive has it: {hive}/sales.db" in text
    assert "database sales is made" in text
    assert databases(session) == ["default"]
    session.sql(attach)
    again = "\n".join(row[0] for row in session.sql(f"{start} {attach}").rows())
    assert re.search(r"(?m)^  orders +acid +3 +attached already$", again)
    assert "is made" not in again


def test_dry_runs_of_a_session_change_nothing(metastore: HiveMetastore, session: Session) -> None:
    """While acidsql.dry.run is on, both are told alone."""
    attach = f"ATTACH DATABASE sales USING '{url_of(metastore)}'"
    session.sql("SET acidsql.dry.run=true")
    session.sql(attach)
    session.sql("SET acidsql.dry.run=false")
    assert databases(session) == ["default"]
    session.sql(attach)
    session.sql("SET acidsql.dry.run=true")
    session.sql("DETACH DATABASE sales")
    session.sql("SET acidsql.dry.run=false")
    assert len(tables(session)) == 4


# ---- one transaction


def test_all_is_asked_in_one_transaction(
    metastore: HiveMetastore, hive: Path, session: Session
) -> None:
    """That cannot write: what Hive commits while it is asked, is not seen by half."""
    connections: list[object] = []
    modes: set[str] = set()
    changed: list[bool] = []

    def asked(connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        is_ours = (
            connection.dialect.name == "postgresql" and connection.engine is not metastore.engine
        )
        if not is_ours or '"TBLS"' not in statement:
            return
        with connection.connection.cursor() as own:
            own.execute(
                "SELECT current_setting('transaction_isolation') || ' ' || current_setting('transaction_read_only')"
            )
            modes.update(row[0] for row in own.fetchall())
        connections.append(connection.connection.dbapi_connection)
        if not changed:
            changed.append(True)
            facts = facts_of(WITH_IDS, "high watermark 2")
            metastore.fill("sales", "later", f"file:{hive}/later", facts, first_txn=70)
            metastore.end(50, "c")

    event.listen(Engine, "before_cursor_execute", asked)
    try:
        rows = rows_of(session, f"ATTACH DATABASE sales USING '{url_of(metastore)}'")
    finally:
        event.remove(Engine, "before_cursor_execute", asked)
    assert changed
    assert rows == expected(hive)
    assert modes == {"repeatable read on"}
    assert len(set(map(id, connections))) == 1
    properties = dict(rows_of(session, "SHOW TBLPROPERTIES sales.events"))  # type: ignore[arg-type]
    assert properties["acidsql.attached.write.ids"].startswith("sales.events:2:2:2:")


# ---- where the warehouse lies


def test_the_warehouse_lies_elsewhere(
    hive_metastore: HiveMetastore, hive: Path, session: Session
) -> None:
    """What Hive has below its directory of the database is read below FROM, partitions that lie
    beside their table too, also those that come later; the rest where Hive has it.
    """
    known_to(hive_metastore, "hdfs://nn:8020/w")
    orders = table_by_name(hive_metastore, "orders", "sales")
    beside = "hdfs://nn:8020/w/sales.db/orders_old"  # of which the location here is read only
    hive_metastore.add_partition(orders, "day=2024-02-01/city=x", ("2024-02-01", "x"), beside)
    facts = facts_of(WITH_IDS, "high watermark 2")
    outside = f"file:{hive}/archive.db/orders"
    hive_metastore.fill("sales", "outside", outside, facts, first_txn=60, aborted=[1])
    hive_metastore.fill("sales", "near", "hdfs://nn:8020/w/sales.db_old/near", facts, first_txn=70)
    attach = f"ATTACH DATABASE sales FROM '{hive}/sales.db' USING '{url_of(hive_metastore)}'"
    assert f"where it is read: {hive}/sales.db" in session.explain(attach)
    rows = {row[0]: row for row in rows_of(session, attach)}
    assert rows["orders"] == ("orders", "acid", "4", "attached")
    assert rows["outside"][3] == rows["events"][3] == rows["plain"][3] == "attached"
    assert rows["near"][3] != "attached"
    assert rows["gone"][3] == f'there is no directory "{hive}/sales.db/gone"'
    assert id_list(session, "sales.outside") == [2, 12]
    places = located(session)
    assert places["2024-02-01"] == f"{hive}/sales.db/orders_old"
    assert id_list(session, "sales.orders WHERE day <> '2024-02-01'") == [2]
    hive_metastore.add_partition(
        orders, "day=2024-02-02/city=x", ("2024-02-02", "x"), "hdfs://nn:8020/w/sales.db/events"
    )
    session.sql("SHOW PARTITIONS sales.orders")
    places = located(session)
    assert places["2024-02-01"] == f"{hive}/sales.db/orders_old"
    assert places["2024-02-02"] == f"{hive}/sales.db/events"
    stored = session.store.find_table(TableName("sales", "orders"))
    assert stored is not None
    assert MOVED in stored.properties


def located(session: Session) -> dict[str, str]:
    table = session.store.find_table(TableName("sales", "orders"))
    assert table is not None
    return {one.values[0]: one.location for one in session.store.list_partitions(table)}


def table_by_name(metastore: HiveMetastore, name: str, database: str) -> int:
    with metastore.engine.begin() as connection:
        query = (
            'SELECT t."TBL_ID" FROM "TBLS" t JOIN "DBS" d ON t."DB_ID" = d."DB_ID"'
            f" WHERE t.\"TBL_NAME\" = '{name}' AND d.\"NAME\" = '{database}' AND d.\"CTLG_NAME\" = 'hive'"
        )
        return int(connection.exec_driver_sql(query).scalar_one())


def test_managed_tables_may_lie_apart(
    hive_metastore: HiveMetastore, hive: Path, session: Session
) -> None:
    """Hive 4 makes managed tables of a database in another directory than external ones."""
    if hive_metastore.is_old:
        return
    hive_metastore.add_database(
        "sales", location="hdfs://nn/external/sales.db", managed="hdfs://nn/managed/sales.db"
    )
    facts = facts_of(WITH_IDS, "high watermark 2")
    plain = facts_of(PLAIN, "high watermark 0")
    hive_metastore.fill("sales", "orders_old", "hdfs://nn/managed/sales.db/orders_old", facts)
    hive_metastore.fill("sales", "plain", "hdfs://nn/external/sales.db/plain", plain, first_txn=20)
    session.attach_database("sales", url_of(hive_metastore), hive / "sales.db")
    assert id_list(session, "sales.orders_old") == [1, 2, 11, 12]
    assert id_list(session, "sales.plain") == [7]


def test_tables_in_this_warehouse_are_left_alone(
    metastore: HiveMetastore, hive: Path, tmp_path: Path
) -> None:
    """DROP DATABASE deletes the directory of a database: no table of others is attached in one."""
    with Session(tmp_path / "warehouse", settings=LOCAL) as session:
        session.sql(f"CREATE DATABASE mine LOCATION '{hive}/sales.db'")
        with pytest.raises(BindError) as caught:
            session.sql(f"ATTACH DATABASE sales USING '{url_of(metastore)}'")
        assert f'plain: "{hive}/sales.db/plain" lies in the directory of a database' in str(caught.value)  # fmt: skip
        assert databases(session) == ["default", "mine"]


# ---- names that are taken


def test_names_that_are_taken_are_passed_over(
    metastore: HiveMetastore, hive: Path, session: Session
) -> None:
    """By a table or view of this warehouse, or one attached from elsewhere; they stay as they are."""
    session.sql("CREATE DATABASE sales")
    session.sql(f"CREATE TABLE sales.events (mine INT) {ACID}")
    session.sql("INSERT INTO sales.events VALUES (1)")
    session.sql("CREATE VIEW sales.plain AS SELECT mine FROM sales.events")
    session.sql(
        f"ATTACH TABLE sales.orders_old FROM '{hive}/archive.db/orders' ASSUME COMMITTED (1)"
    )
    rows = {
        row[0]: row[3]
        for row in rows_of(session, f"ATTACH DATABASE sales USING '{url_of(metastore)}'")
    }
    assert rows["events"] == "the name is taken by a table of this warehouse"
    assert rows["plain"] == "the name is taken by a view of this warehouse"
    assert rows["orders_old"] == "the name is taken by a table that was attached from elsewhere"
    assert rows["orders"] == rows["twice"] == "attached"
    assert ids(session, "SELECT mine FROM sales.events") == [1]
    assert id_list(session, "sales.orders_old") == [1, 11]


# ---- overlays


def test_each_table_gets_an_overlay(metastore: HiveMetastore, hive: Path, session: Session) -> None:
    """Full ACID and insert-only ones; plain ones are told. DETACH DATABASE throws the changes away,
    and DRY RUN says so before.
    """
    attach = f"ATTACH DATABASE sales OVERLAY USING '{url_of(metastore)}'"
    assert re.search(r"(?m)^  twice +acid +attached$", session.explain(attach))
    assert not (Path(session.warehouse) / "sales.db").exists()
    rows = rows_of(session, attach)
    assert {row[0]: row[3] for row in rows}["plain"].startswith("only a transactional table")
    assert tables(session) == ["events", "orders", "orders_old", "twice"]
    session.sql("DELETE FROM sales.orders_old WHERE id = 1")
    session.sql("INSERT INTO sales.orders_old VALUES (50)")
    assert id_list(session, "sales.orders_old") == [11, 50]
    told = "\n".join(row[0] for row in session.sql("DRY RUN DETACH DATABASE sales").rows())
    assert "DETACH DATABASE sales: 0 attached tables and 4 overlays go" in told
    assert "rows: 1 inserted, 0 updated, 1 deleted" in told
    assert id_list(session, "sales.orders_old") == [11, 50]
    result = session.sql("DETACH DATABASE sales")
    assert any("sales.orders_old: changes that go: 1 inserted" in note for note in result.notes), (
        result.notes
    )
    assert databases(session) == ["default"]
    assert not (Path(session.warehouse) / "sales.db").exists()


# ---- DETACH DATABASE


def test_detach_lets_go_of_all(metastore: HiveMetastore, session: Session) -> None:
    """And of the database; whoever uses it, is in the default one then."""
    session.sql(f"ATTACH DATABASE sales USING '{url_of(metastore)}'")
    assert "table sales.orders: its files stay" in session.explain("DETACH DATABASE sales")
    session.sql("USE sales")
    assert session.sql("DETACH DATABASE sales").notes == ("detached 4 tables",)
    assert databases(session) == ["default"]
    assert session.database == "default"
    session.sql("DETACH DATABASE IF EXISTS sales")
    with pytest.raises(DatabaseNotFoundError):
        session.sql("DETACH DATABASE sales")
    session.sql(f"ATTACH DATABASE sales USING '{url_of(metastore)}'")
    assert id_list(session, "sales.orders") == [2]


def test_detach_is_refused_over_own_tables(metastore: HiveMetastore, session: Session) -> None:
    """It names them, views too, and nothing changes."""
    session.sql(f"ATTACH DATABASE sales USING '{url_of(metastore)}'")
    session.sql(f"CREATE TABLE sales.mine (id INT) {ACID}")
    session.sql("CREATE VIEW sales.a_view AS SELECT id FROM sales.mine")
    for start in ("", "EXPLAIN ", "DRY RUN "):
        with pytest.raises(BindError, match="has tables of this warehouse: a_view, mine") as caught:
            session.sql(f"{start}DETACH DATABASE sales")
        assert "^^^" in str(caught.value)
    assert "orders" in tables(session)


def test_the_default_database_stays(metastore: HiveMetastore, session: Session) -> None:
    """Tables can be attached to it, and are let go of."""
    session.sql(f"ATTACH DATABASE default USING '{url_of(metastore)}&database=archive'")
    assert id_list(session, "orders") == [2, 12]
    assert "database default: stays" in session.explain("DETACH DATABASE default")
    session.sql("DETACH DATABASE default")
    assert (databases(session), tables(session, "default")) == (["default"], [])


def test_detach_deletes_no_files_of_others(
    metastore: HiveMetastore, session: Session, tmp_path: Path
) -> None:
    """That lie in the directory of the database; what made it is not known."""
    place = tmp_path / "place"
    session.sql(f"CREATE DATABASE sales LOCATION '{place}'")
    session.sql(f"ATTACH DATABASE sales OVERLAY USING '{url_of(metastore)}'")
    (place / "notes").mkdir()
    (place / "notes" / "a.txt").write_text("mine")
    session.sql("DETACH DATABASE sales")
    assert databases(session) == ["default"]
    assert not session.store.is_noted(str(place))  # for who deletes what others have left
    session.sql(f"CREATE TABLE mine (id INT) {ACID}")
    session.sql("INSERT INTO mine VALUES (1)")
    assert [path.name for path in place.rglob("*")] == ["notes", "a.txt"]


@pytest.mark.processes
@pytest.mark.parametrize(
    ("point", "left"), [("overlay directory made", []), ("overlay attached", ["events"])]
)
def test_a_killed_attach_is_run_again(
    hive: Path, tmp_path: Path, point: str, left: list[str]
) -> None:
    """Each table is there whole, or not at all; the rest comes with the next run."""
    exports = exported(tmp_path, f"file:{hive}")
    attach = f"ATTACH DATABASE sales OVERLAY USING '{exports}'"
    assert killed(tmp_path / "warehouse", point, attach)
    with Session(tmp_path / "warehouse", settings=LOCAL) as session:
        assert tables(session) == left
        for table in left:
            assert id_list(session, f"sales.{table}") == [1, 11]
        result = session.sql(attach)
        before = f", {len(left)} attached already" if left else ""
        assert result.notes == (f"attached {4 - len(left)} tables{before}, 5 not attached",)
        assert id_list(session, "sales.events") == [1, 11]
        assert id_list(session, "sales.orders") == [2]


def test_the_password_is_nowhere(metastore: HiveMetastore, session: Session) -> None:
    """It is used, and not kept; the statement warns of that once. No error repeats it."""
    source = url_of(metastore).replace(f"{USER}@", f"{USER}:s3cret@")
    assert "s3cret" in source
    with pytest.raises(BindError) as caught:
        session.sql(f"ATTACH DATABASE nothing USING '{source}'")
    assert "s3cret" not in str(caught.value)
    attach = f"ATTACH DATABASE sales USING '{source}'"
    assert "s3cret" not in session.explain(attach)
    result = session.sql(attach)
    assert [str(one) for one in result.warnings if "password" in str(one)] != []
    assert len([one for one in result.warnings if "password" in str(one)]) == 1
    properties = session.sql("SHOW TBLPROPERTIES sales.orders").rows()
    assert not any("s3cret" in str(row) for row in properties)
    assert rows_of(session, attach.replace(":s3cret", ""))[4][3] == "attached already"


def test_there_need_be_no_warehouse(
    metastore: HiveMetastore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The statement makes one, as CREATE does; EXPLAIN does not."""
    monkeypatch.setitem(values._DEFAULTS, "acidsql.store.create", "needed")
    attach = f"ATTACH DATABASE sales USING '{url_of(metastore)}'"
    with Session(tmp_path / "new", settings=LOCAL) as session:
        with pytest.raises(MetastoreError, match="there is no warehouse"):
            session.sql(f"EXPLAIN {attach}")
        session.sql(attach)
        assert id_list(session, "sales.orders") == [2]


def test_a_transaction_has_no_part_in_it(metastore: HiveMetastore, session: Session) -> None:
    """It takes effect at once, as other statements of the catalog do, and is refused in one."""
    session.sql("START TRANSACTION")
    for statement in (f"ATTACH DATABASE sales USING '{url_of(metastore)}'", "DETACH DATABASE default"):  # fmt: skip
        with pytest.raises(BindError, match="not allowed"):
            session.sql(statement)
    session.sql("ROLLBACK")
    assert databases(session) == ["default"]


@pytest.mark.parametrize("access", ["OVERLAY", "READ ONLY"])
def test_drop_database_deletes_no_files_of_others(
    hive: Path, session: Session, access: str
) -> None:
    """Whoever makes a database over Hive's directory and drops it loses the changes, and no more."""
    session.sql(f"CREATE DATABASE mine LOCATION '{hive}/sales.db'")
    session.sql(
        f"ATTACH TABLE mine.twin FROM '{hive}/sales.db/orders_old' {access} ASSUME COMMITTED"
    )
    session.sql("DROP DATABASE mine CASCADE")
    session.sql(f"CREATE TABLE mine (id INT) {ACID}")
    session.sql("INSERT INTO mine VALUES (1)")
    assert (hive / "sales.db" / "orders_old").exists()
    assert not (hive / "sales.db" / "twin").exists()


# ---- exports of a Derby


def exported(tmp_path: Path, root: str) -> Path:
    """The directory of exports of what Hive knows."""
    metastore = HiveMetastore(f"sqlite:///{tmp_path / 'metastore.sqlite'}", "4.2")
    metastore.make_tables()
    metastore.empty()
    known_to(metastore, root)
    metastore.export(tmp_path / "exports")
    metastore.close()
    return tmp_path / "exports"


@pytest.mark.processes
def test_exports_tell_a_database(hive: Path, session: Session, tmp_path: Path) -> None:
    """Of a real Derby: rows, FROM and ``database`` are as with a database that is asked."""
    metastore = HiveMetastore(f"sqlite:///{tmp_path / 'metastore.sqlite'}", "4.2")
    metastore.make_tables()
    metastore.empty()
    known_to(metastore, "hdfs://nn:8020/w")
    derby.copied(metastore, tmp_path / "derby")
    metastore.close()
    exports = derby.exported(tmp_path / "derby", tmp_path / "exports")
    attach = f"ATTACH DATABASE twin FROM '{hive}/sales.db' USING '{exports}?database=sales'"
    assert rows_of(session, attach) == expected(hive, database="twin")
    assert id_list(session, "twin.orders") == [2]
    assert id_list(session, "twin.events") == [1, 11]
    again = session.sql(attach)
    assert again.notes == ("attached 0 tables, 4 attached already, 5 not attached",)


def test_a_database_tells_of_no_authorizer(metastore: HiveMetastore, session: Session) -> None:
    """Where tables of a metastore that has one are to be refused, nothing that the database tells of
    is attached, nor read if it was attached before.
    """
    source = url_of(metastore)
    session.sql(f"ATTACH TABLE o USING '{source}&table=sales.orders'")
    known = ids(session, "SELECT id FROM o")
    session.sql("SET acidsql.refuse.ranger=true")
    for statement in (
        f"ATTACH TABLE p USING '{source}&table=sales.orders'",
        f"EXPLAIN ATTACH TABLE p USING '{source}&table=sales.orders'",
        f"ATTACH DATABASE sales USING '{source}'",
        f"EXPLAIN ATTACH DATABASE sales USING '{source}'",
        "SELECT id FROM o",
    ):
        with pytest.raises(NotSupportedError, match="it does not tell whether") as caught:
            session.sql(statement)
        assert "of the metastore postgresql://" in caught.value.message
    assert databases(session) == ["default"]
    session.sql("SET acidsql.refuse.ranger=false")
    assert ids(session, "SELECT id FROM o") == known
