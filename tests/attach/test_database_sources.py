"""Tables that Hive's metastore knows, told by its database in PostgreSQL: the same facts as a dump's,
read in one transaction, and nothing of it is changed.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest
from sqlalchemy import select
from sqlalchemy.dialects import mysql

from acidsql.attach.dump import parse_dump
from acidsql.attach.facts import PartitionFacts
from acidsql.attach.sources.database import asking
from acidsql.attach.sources.metastore import (
    TABLES,
    HiveTables,
    find_named,
    named_table,
    read_facts,
)
from acidsql.attach.sources.urls import parse_database_url
from acidsql.catalog.model import TableName
from acidsql.errors import AlreadyExistsError, BindError, MetastoreError
from acidsql.session import Session
from acidsql.settings import Settings
from tests.attach.conftest import Metastores
from tests.attach.hive_metastore import HiveMetastore
from tests.attach.orders import (
    PARTITIONS,
    UNATTACHABLE,
    check_unattachable,
    facts_of,
    fill_with_unattachable,
    ids,
    orders_of,
    orders_written,
)
from tests.attach.test_fixtures import dump_of, rows_of
from tests.postgresql_server import PASSWORD, USER, PostgreSQLServer
from tests.session.reading.test_hive_fixtures import NAMES, hive_lines


def url_of(metastore: HiveMetastore) -> str:
    """The URL of its service if it has one, else of the database."""
    if metastore.service is not None:
        return metastore.service.url
    return metastore.engine.url.render_as_string(hide_password=False)


@pytest.mark.parametrize(("location", "name"), [(n, n) for n in NAMES], indirect=["location"])
@pytest.mark.parametrize("version", ["3.1", "4.2"])
def test_the_database_tells_all(
    version: str, location: Path, name: str, session: Session, shared: Path, tmp_path: Path,
    hive_metastores: Metastores,
) -> None:  # fmt: skip
    """What Hive wrote reads as it did there, row for row; the facts are those of a dump."""
    folder = shared / "hive" / "fixtures"
    known = json.loads((folder / f"{name}.meta.json").read_text())
    facts = parse_dump(dump_of(location, folder, name, tmp_path).read_text(encoding="utf-8"))
    metastore = hive_metastores(version)
    # another database has a table of the same name, and one lies where the name goes on
    other = replace(facts, partitions=())
    metastore.fill("archive", "t", f"file:{location}_old", other, aborted=[1, 2, 3, 4])
    metastore.fill("sales", "longer", f"file:{location}/sub", other, first_txn=20, open=[1])
    metastore.fill(
        "sales", "t", f"file:{location}", facts, first_txn=30, aborted=known["aborted_write_ids"], known=[facts.high_watermark]
        if facts.transactional and facts.high_watermark not in known["aborted_write_ids"] else (),
    )  # fmt: skip
    metastore.txn(2000, "c")  # behind all that compacted it
    source = url_of(metastore)
    lines = session.explain(f"ATTACH TABLE t FROM '{location}' USING '{source}'")
    assert "of the metastore postgresql://" in lines
    assert "table of Hive: sales.t" in lines
    assert lines.endswith("asked anew for each statement")
    session.sql(f"ATTACH TABLE t FROM '{location}' READ ONLY USING '{source}'")
    with_ids = "ROW__ID" in known["select"]
    expected = sorted(hive_lines(folder / f"{name}.expected.tsv", with_ids=with_ids))
    assert rows_of(session, "t", with_ids=with_ids) == expected


@pytest.fixture
def written(tmp_path: Path) -> Path:
    return orders_written(tmp_path)


def test_facts_are_those_of_a_dump(hive_metastore: HiveMetastore, tmp_path: Path) -> None:
    """Columns, buckets, write ids, and partitions whose values are escaped in their names, are NULL,
    or lie elsewhere: whoever tells them.
    """
    facts = orders_of(
        "high watermark 17", "open 16", "aborted 3 5", "day=2024-01-03/city=far\t/else/where"
    )
    hive_metastore.fill(
        "sales",
        "orders",
        "hdfs://nn:8020/w/orders",
        facts,
        open=[16],
        aborted=[3, 5],
        known=[1, 2, 17],
    )

    with asking(parse_database_url(url_of(hive_metastore)), Settings()) as connection:
        hive = HiveTables(connection)
        told = read_facts(hive, find_named(hive, TableName("sales", "orders")))
    assert told.location == "hdfs://nn:8020/w/orders"
    assert told.txns is not None
    assert (told.txns.high_watermark, len(told.txns.open), len(told.txns.aborted)) == (15, 1, 2)
    assert replace(told, txns=None, name=None, table_id=None, location=None, asked=None) == facts
    assert (
        PartitionFacts(values=("2024-01-01", "a=b/c%"), path="day=2024-01-01/city=a%3Db%2Fc%25")
        in told.partitions
    )


def test_rows_of_aborted_and_open_transactions_stay_away(
    hive_metastore: HiveMetastore,
    written: Path,
    session: Session,
) -> None:
    """In tables whose partitions have odd names; nothing is asked."""
    facts = orders_of("high watermark 5")
    hive_metastore.fill(
        "sales", "orders", f"file:{written}", facts, open=[5], aborted=[3], known=[4]
    )
    session.sql(f"ATTACH TABLE orders FROM '{written}' USING '{url_of(hive_metastore)}'")
    assert ids(session) == [2]
    assert ids(session, "SELECT id FROM orders WHERE city = 'a=b/c%'") == [2]


def test_the_location_may_be_the_metastores(
    hive_metastore: HiveMetastore,
    written: Path,
    session: Session,
) -> None:
    """Without FROM: the table that the URL names, or that is called as the new one."""
    hive_metastore.fill(
        "default", "orders", f"file:{written}/", orders_of("high watermark 5"), aborted=[3]
    )
    session.sql(f"ATTACH TABLE orders USING '{url_of(hive_metastore)}'")
    assert ids(session) == [2, 5]
    session.sql("DETACH TABLE orders")
    session.sql(f"ATTACH TABLE mine USING '{url_of(hive_metastore)}&table=Default.Orders'")
    assert ids(session, "SELECT id FROM mine") == [2, 5]
    with pytest.raises(BindError, match=r"the metastore has no table default\.other"):
        session.sql(f"ATTACH TABLE other USING '{url_of(hive_metastore)}'")
    with pytest.raises(BindError, match="not said where the table lies"):
        session.sql("ATTACH TABLE other READ ONLY")


def test_tables_at_one_location_are_named(
    hive_metastore: HiveMetastore,
    written: Path,
    session: Session,
) -> None:
    """Two databases, and two tables of one, have a table there; the URL says which. Views do not
    count, and neither do tables of other catalogs, or those at locations that begin alike.
    """
    facts = orders_of("high watermark 5")
    hive_metastore.fill("sales", "orders", f"file:{written}", facts, aborted=[3, 5])
    archive = hive_metastore.add_database("archive")
    hive_metastore.add_table(archive, "orders", f"file://{written}", facts)
    hive_metastore.next_write_id(TableName("archive", "orders"), 3)
    hive_metastore.add_table(archive, "v", f"file:{written}", facts, kind="VIRTUAL_VIEW")
    hive_metastore.add_table(archive, "orders_old", f"file:{written}_old", facts)
    spark = hive_metastore.add_database("sales", catalog="spark")
    hive_metastore.add_table(spark, "orders", f"file:{written}", facts)
    source = url_of(hive_metastore)
    with pytest.raises(BindError, match=r"archive\.orders, sales\.orders") as caught:
        session.sql(f"ATTACH TABLE orders FROM '{written}' USING '{source}'")
    assert "?table=sales.orders" in str(caught.value)
    session.sql(f"ATTACH TABLE orders FROM '{written}' USING '{source}&table=sales.orders'")
    assert ids(session) == [2]
    with pytest.raises(BindError, match=r'no table "?at|no table at'):
        session.sql(f"ATTACH TABLE o FROM '{written.parent}' USING '{source}'")


def test_tables_of_other_catalogs_are_not_hives(
    hive_metastore: HiveMetastore,
    written: Path,
    session: Session,
) -> None:
    """The error says where there is one."""
    spark = hive_metastore.add_database("sales", catalog="spark")
    hive_metastore.add_table(spark, "orders", f"file:{written}", orders_of("high watermark 5"))
    with pytest.raises(BindError, match=r'no table sales\.orders, only in its catalog "spark"'):
        session.sql(f"ATTACH TABLE orders USING '{url_of(hive_metastore)}&table=sales.orders'")


def test_what_cannot_be_attached_is_said(
    hive_metastore: HiveMetastore,
    written: Path,
    session: Session,
) -> None:
    """Views, materialized ones, other formats, also of one partition, and types that are not read."""
    fill_with_unattachable(hive_metastore, written)
    check_unattachable(session, f"{url_of(hive_metastore)}&table=sales.", UNATTACHABLE)


def test_plain_and_external_tables_have_no_write_ids(
    hive_metastore: HiveMetastore,
    tmp_path: Path,
    session: Session,
) -> None:
    """All their files are read."""
    with Session(tmp_path / "hive", settings={"acidsql.engine": "local"}) as hive:
        hive.sql("CREATE TABLE plain (k INT) STORED AS ORC")
        hive.sql("INSERT INTO plain VALUES (7)")
    location = tmp_path / "hive" / "plain"
    facts = facts_of("CREATE EXTERNAL TABLE plain (k int) STORED AS ORC", "high watermark 0")
    hive_metastore.add_table(
        hive_metastore.add_database("sales"), "plain", f"file:{location}", facts, kind="EXTERNAL_TABLE", properties={"EXTERNAL": "TRUE"}
    )  # fmt: skip
    source = url_of(hive_metastore)
    assert "rows: plain files" in session.explain(
        f"ATTACH TABLE p FROM '{location}' USING '{source}'"
    )
    session.sql(f"ATTACH TABLE p FROM '{location}' USING '{source}'")
    assert ids(session, "SELECT k FROM p") == [7]


def test_a_compaction_that_is_running_is_not_read(
    hive_metastore: HiveMetastore,
    written: Path,
    session: Session,
) -> None:
    """Its directory is there, and may be half written; the metastore knows its transaction as open.
    So may be one whose number was given out and that does not appear yet.
    """
    if hive_metastore.is_old:
        return  # its compactions have no numbers in their names
    facts = orders_of("high watermark 5")
    hive_metastore.fill("sales", "orders", f"file:{written}", facts, known=[1, 2, 3, 4, 5])
    hive_metastore.txn(60, "o", kind=3)
    hive_metastore.txn(61, "c")
    hive_metastore.txn(63, "c", started=1_700_000_000_000 + 60_000 * 61 + 900)
    for number, partition in ((60, PARTITIONS[1]), (62, PARTITIONS[2])):
        running = written / partition / f"base_0000005_v{number:07}"
        running.mkdir()
        (running / "bucket_00000").write_bytes(b"ORC, and not the end of it")
    session.sql(f"ATTACH TABLE orders FROM '{written}' USING '{url_of(hive_metastore)}'")
    assert ids(session) == [2, 3, 5]


def test_catalogs_of_transactions_are_told_apart(
    hive_metastores: Metastores, written: Path, session: Session
) -> None:
    """Where the tables of transactions have catalogs, those of Hive's own count."""
    metastore = hive_metastores("4.3")
    metastore.fill("sales", "orders", f"file:{written}", orders_of("high watermark 5"), aborted=[3])
    row = {"T2W_DATABASE": "sales", "T2W_TABLE": "orders", "T2W_WRITEID": 2, "T2W_TXNID": 99}
    metastore.insert("TXN_TO_WRITE_ID", T2W_CATALOG="spark", **row)
    metastore.txn_row(99, "a")
    metastore.insert(
        "NEXT_WRITE_ID", NWI_CATALOG="spark", NWI_DATABASE="sales", NWI_TABLE="orders", NWI_NEXT=2
    )
    session.sql(f"ATTACH TABLE orders FROM '{written}' USING '{url_of(metastore)}'")
    assert ids(session) == [2, 5]


# ---- passwords, and servers that do not answer


def test_the_password_is_nowhere(
    hive_metastores: Metastores, postgresql_server: PostgreSQLServer, written: Path, session: Session,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Not on record, in no statement that shows the table, in no error; a wrong one is not repeated
    either.
    """
    monkeypatch.delenv("PGPASSWORD", raising=False)
    metastore = hive_metastores("4.2")
    metastore.fill("sales", "orders", f"file:{written}", orders_of("high watermark 5"), aborted=[3])
    database = metastore.engine.url.database
    secret = "s3cret%40word"

    def source(password: str, rest: str = "") -> str:
        return f"postgresql://{USER}:{password}@127.0.0.1:{postgresql_server.port}/{database}{rest}"

    attach = f"ATTACH TABLE orders FROM '{written}' USING"
    for text in (
        source(secret),
        source(secret, "?table=sales.nope"),
        source(secret, "?nonsense=1"),
    ):
        with pytest.raises((BindError, MetastoreError)) as caught:
            session.sql(f"{attach} '{text}'")
        assert "s3cret" not in f"{caught.value} {caught.value.message}"
    right = quote(PASSWORD, safe="")
    assert right not in session.explain(f"{attach} '{source(right)}'")
    session.sql(f"{attach} '{source(right)}'")
    assert ids(session) == [2, 5]
    told = [
        str(row)
        for query in ("SHOW TBLPROPERTIES orders", "DESCRIBE FORMATTED orders", "SHOW CREATE TABLE orders", "DESCRIBE HEALTH orders")
        for row in session.sql(query).rows()
    ]  # fmt: skip
    assert any("postgresql://" in line for line in told)
    assert not any(right in line or PASSWORD in line for line in told)
    with pytest.raises(AlreadyExistsError) as caught_error:
        session.sql(f"ATTACH TABLE orders FROM '{written}' USING '{source(right)}'")
    assert right not in str(caught_error.value)


def test_what_is_no_metastore_is_said(postgresql: str, written: Path, session: Session) -> None:
    """Another database, none at all, no server, an URL that is none; each at its place."""
    attach = f"ATTACH TABLE orders FROM '{written}' USING"
    for source, words in {
        "postgresql:///": "not the URL of a database",
        "mysql://host:port/d": "not the URL of a database",
        f"{postgresql}&table=orders": "not the name of one",
    }.items():
        with pytest.raises(BindError, match=words) as caught:
            session.sql(f"{attach} '{source}'")
        assert "^^^" in str(caught.value)
    with pytest.raises(MetastoreError, match="cannot ask the metastore postgresql://127"):
        session.sql(f"{attach} 'postgresql://127.0.0.1:1/metastore'")


def test_another_database_is_told(
    hive_metastores: Metastores,
    postgresql_server: PostgreSQLServer,
    written: Path,
    session: Session,
) -> None:
    """It has no tables of Hive."""
    name = postgresql_server.make_database(None)
    with pytest.raises(MetastoreError, match="no metastore of Hive 3 or 4: it has no table"):
        session.sql(f"ATTACH TABLE orders FROM '{written}' USING '{postgresql_server.url(name)}'")
    postgresql_server.drop_database(name)


def test_a_user_who_may_only_read_is_enough(
    hive_metastore: HiveMetastore,
    postgresql_server: PostgreSQLServer,
    written: Path,
    session: Session,
) -> None:
    """SELECT on Hive's tables; nothing is written there."""
    hive_metastore.fill(
        "sales", "orders", f"file:{written}", orders_of("high watermark 5"), aborted=[3]
    )
    database = str(hive_metastore.engine.url.database)
    with postgresql_server.admin(database) as admin:
        admin.execute("DROP ROLE IF EXISTS reader")
        admin.execute("CREATE ROLE reader LOGIN")
        admin.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
        source = url_of(hive_metastore).replace(f"{USER}@", "reader@")
        session.sql(f"ATTACH TABLE orders FROM '{written}' USING '{source}'")
        assert ids(session) == [2, 5]
        admin.execute("REVOKE ALL ON ALL TABLES IN SCHEMA public FROM reader")
        admin.execute("DROP ROLE reader")


def test_the_driver_is_named_where_it_is_missing(
    written: Path,
    session: Session,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """PyMySQL comes with an extra."""
    monkeypatch.setitem(sys.modules, "pymysql", None)
    with pytest.raises(
        MetastoreError, match="driver for mysql://hive@host/d is not installed"
    ) as caught:
        session.sql(f"ATTACH TABLE orders FROM '{written}' USING 'mysql://hive:pw@host/d'")
    assert "acidsql[mysql]" in str(caught.value)


def test_statements_for_mysql_quote_all_names() -> None:
    """As MySQL quotes: ORDER is a column of SORT_COLS."""

    for name, columns in TABLES.items():
        text = str(select(named_table(name, columns)).compile(dialect=mysql.dialect()))
        assert f"FROM `{name}`" in text
        assert all(f"`{name}`.`{column}`" in text for column in columns)
