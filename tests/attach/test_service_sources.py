"""Tables that Hive's metastore knows, told by its service: the same facts as a dump's and its
database's; nothing but reading calls are made, and connections are closed.
"""

from __future__ import annotations

import json
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from acidsql.acid.ids import WriteId
from acidsql.attach.dump import parse_dump
from acidsql.attach.facts import TableFacts
from acidsql.attach.sources.service import PARTITIONS_AT_ONCE, ask_service
from acidsql.attach.sources.urls import parse_service_url
from acidsql.catalog.model import TableName
from acidsql.errors import BindError, MetastoreError
from acidsql.session import Session
from acidsql.settings import Settings
from tests.attach.hive_metastore import HiveMetastore
from tests.attach.hive_service import HiveService, serving
from tests.attach.orders import (
    PARTITIONS,
    UNATTACHABLE,
    check_source_is_needed,
    check_unattachable,
    facts_of,
    fill_with_unattachable,
    ids,
    orders_of,
    orders_written,
)
from tests.attach.test_fixtures import dump_of, rows_of
from tests.session.reading.test_hive_fixtures import NAMES, hive_lines

ORDERS = TableName("sales", "orders")
BOTH = pytest.mark.parametrize("served_metastore", ["3.1", "4.2"], indirect=True)


@pytest.fixture
def written(tmp_path: Path) -> Path:
    return orders_written(tmp_path)


@pytest.fixture
def orders(served_metastore: HiveMetastore, written: Path) -> HiveService:
    """The service that knows sales.orders: write id 3 is aborted, 5 open."""
    facts = orders_of("high watermark 5")
    served_metastore.fill(
        "sales", "orders", f"file:{written}", facts, open=[5], aborted=[3], known=[1, 2, 4]
    )
    assert served_metastore.service is not None
    return served_metastore.service


@pytest.mark.parametrize(("location", "name"), [(n, n) for n in NAMES], indirect=["location"])
def test_the_service_tells_all(
    location: Path, name: str, session: Session, shared: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:  # fmt: skip
    """What Hive wrote reads as it did there, row for row."""
    folder = shared / "hive" / "fixtures"
    known = json.loads((folder / f"{name}.meta.json").read_text())
    facts = parse_dump(dump_of(location, folder, name, tmp_path).read_text(encoding="utf-8"))
    metastore = request.getfixturevalue("served_metastore")
    aborted = known["aborted_write_ids"]
    others = [one for one in range(1, facts.high_watermark + 1) if one not in aborted][-3:]
    metastore.fill("archive", "t", f"file:{location}_old", replace(facts, partitions=()), aborted=[1, 2, 3, 4])  # fmt: skip
    metastore.fill(
        "sales", "t", f"file:{location}", facts, first_txn=30, aborted=aborted,
        known=others if facts.transactional else (),
    )  # fmt: skip
    metastore.txn(2000, "c")  # behind all that compacted it
    source = f"{metastore.service.url}?table=sales.t"
    lines = session.explain(f"ATTACH TABLE t FROM '{location}' USING '{source}'")
    assert f"of the metastore {metastore.service.url})" in lines
    assert "table of Hive: sales.t" in lines
    assert lines.endswith("asked anew for each statement")
    session.sql(f"ATTACH TABLE t FROM '{location}' READ ONLY USING '{source}'")
    with_ids = "ROW__ID" in known["select"]
    expected = sorted(hive_lines(folder / f"{name}.expected.tsv", with_ids=with_ids))
    assert rows_of(session, "t", with_ids=with_ids) == expected


@BOTH
def test_facts_are_those_of_a_dump(served_metastore: HiveMetastore) -> None:
    """Columns, buckets, write ids, and partitions whose values are escaped in their names, are NULL,
    or lie elsewhere: whoever tells them.
    """
    facts = orders_of(
        "high watermark 17", "open 16", "aborted 3 5", "day=2024-01-03/city=far\t/else/where"
    )
    served_metastore.fill(
        "sales", "orders", "hdfs://nn:8020/w/orders", facts, open=[16], aborted=[3, 5], known=[1, 2, 17]
    )  # fmt: skip
    told = told_by(served_metastore)
    assert told.location == "hdfs://nn:8020/w/orders"
    assert told.txns is not None
    assert (told.txns.high_watermark, told.txns.open, told.txns.aborted) == (15, (14,), (12, 13))
    plain = replace(told, txns=None, name=None, table_id=None, location=None)
    assert by_values(plain) == by_values(facts)


def told_by(metastore: HiveMetastore, name: TableName = ORDERS) -> TableFacts:
    assert metastore.service is not None
    return ask_service(parse_service_url(metastore.service.url), name, Settings())


def by_values(facts: TableFacts) -> TableFacts:
    ordered = sorted(facts.partitions, key=lambda one: one.values)
    return replace(facts, partitions=tuple(ordered))


@BOTH
def test_rows_of_aborted_and_open_transactions_stay_away(
    orders: HiveService, written: Path, session: Session
) -> None:
    """In tables whose partitions have odd names; by the name in the URL, and by that of the table."""
    session.sql(f"ATTACH TABLE o FROM '{written}' USING '{orders.url}?table=sales.orders'")
    assert ids(session, "SELECT id FROM o") == [2]
    assert ids(session, "SELECT id FROM o WHERE city = 'a=b/c%'") == [2]
    session.sql("DETACH TABLE o")
    session.sql("CREATE DATABASE sales")
    session.attach("sales.orders", metastore=orders.url)
    assert ids(session, "SELECT id FROM sales.orders") == [2]
    orders.check_left()


def test_framed_messages(
    served_metastore: HiveMetastore, orders: HiveService, written: Path, session: Session
) -> None:
    """Where the URL says so, which stays on record."""
    with serving(served_metastore, framed=True) as framed:
        assert "framed=true" in framed.url
        session.sql(f"ATTACH TABLE orders USING '{framed.url}&table=sales.orders'")
        assert ids(session) == [2]
        properties: Any = dict(
            tuple(row) for row in session.sql("SHOW TBLPROPERTIES orders").rows()
        )
        assert properties["acidsql.attached.source"] == f"{framed.url}&table=sales.orders"


def test_a_table_elsewhere_has_to_be_named(
    orders: HiveService, written: Path, session: Session, tmp_path: Path
) -> None:
    """A service cannot be asked what lies at a location: one found by its name alone must lie there,
    or the wrong write ids would count.
    """
    session.sql("CREATE DATABASE sales")
    (tmp_path / "copy").mkdir()
    attach = f"ATTACH TABLE sales.orders FROM '{tmp_path / 'copy'}' USING"
    with pytest.raises(BindError, match=r"sales\.orders lies at \".*\" in Hive") as caught:
        session.sql(f"{attach} '{orders.url}'")
    assert "?table=sales.orders" in str(caught.value)
    assert "^^^" in str(caught.value)
    session.sql(f"ATTACH TABLE sales.orders FROM 'file://{written}/' USING '{orders.url}'")
    assert ids(session, "SELECT id FROM sales.orders") == [2]
    session.sql("DETACH TABLE sales.orders")
    session.sql(f"{attach} '{orders.url}?table=sales.orders'")
    with pytest.raises(BindError, match=r"the metastore has no table default\.orders"):
        session.sql(f"ATTACH TABLE orders USING '{orders.url}'")


def test_what_cannot_be_attached_is_said(
    served_metastore: HiveMetastore, written: Path, session: Session
) -> None:
    """Views, other formats, also of one partition, types that are not read, and tables of other
    catalogs.
    """
    fill_with_unattachable(served_metastore, written)
    spark = served_metastore.add_database("archive", catalog="spark")
    facts = orders_of("high watermark 5")
    served_metastore.add_table(spark, "orders", f"file:{written}", facts)
    assert served_metastore.service is not None
    tables = {f"sales.{name}": words for name, words in UNATTACHABLE.items()}
    tables["archive.orders"] = r"no table archive\.orders"
    check_unattachable(session, f"{served_metastore.service.url}?table=", tables)


@BOTH
def test_insert_only_and_plain_tables(
    served_metastore: HiveMetastore, tmp_path: Path, session: Session
) -> None:
    """Hive tells of insert-only ones whoever says that it knows them. Plain ones have no write ids."""
    with Session(tmp_path / "hive", settings={"acidsql.engine": "local"}) as hive:
        hive.sql("CREATE TABLE plain (k INT) STORED AS ORC")
        hive.sql("INSERT INTO plain VALUES (7)")
    plain = facts_of("CREATE EXTERNAL TABLE plain (k int) STORED AS ORC", "high watermark 0")
    database = served_metastore.add_database("sales")
    served_metastore.add_table(
        database, "plain", f"file:{tmp_path}/hive/plain", plain, kind="EXTERNAL_TABLE"
    )
    only = facts_of(
        "CREATE TABLE m (k int) STORED AS ORC TBLPROPERTIES ('transactional'='true',"
        " 'transactional_properties'='insert_only')",
        "high watermark 2",
    )
    served_metastore.fill("sales", "m", "file:/m", only, aborted=[1], known=[2])
    assert served_metastore.service is not None
    session.sql(f"ATTACH TABLE p USING '{served_metastore.service.url}?table=sales.plain'")
    assert ids(session, "SELECT k FROM p") == [7]
    told = told_by(served_metastore, TableName("sales", "m"))
    assert (told.insert_only, told.high_watermark, told.aborted) == (True, 2, (1,))


def test_a_compaction_that_is_running_is_not_read(
    served_metastore: HiveMetastore, orders: HiveService, written: Path, session: Session
) -> None:
    """Its directory is there, and may be half written; the metastore knows its transaction as open.
    So may be one whose number was given out and that does not appear yet.
    """
    served_metastore.end(14, "c")
    served_metastore.txn(60, "o", kind=3)
    served_metastore.txn(61, "c")
    served_metastore.txn(63, "c", started=1_700_000_000_000 + 60_000 * 61 + 900)
    for number, partition in ((60, PARTITIONS[1]), (62, PARTITIONS[2])):
        running = written / partition / f"base_0000005_v{number:07}"
        running.mkdir()
        (running / "bucket_00000").write_bytes(b"ORC, and not the end of it")
    session.sql(f"ATTACH TABLE orders FROM '{written}' USING '{orders.url}?table=sales.orders'")
    assert ids(session) == [2, 5]


def test_many_partitions_are_asked_for_in_batches(served_metastore: HiveMetastore) -> None:
    """None of them twice, none forgotten."""
    count = 2 * PARTITIONS_AT_ONCE + 1
    facts = facts_of(
        "CREATE TABLE t (id int) PARTITIONED BY (n int) STORED AS ORC", "high watermark 0", "n=1"
    )
    table = served_metastore.add_table(
        served_metastore.add_database("sales"), "t", "file:/t", facts
    )
    storage = served_metastore._storage("file:/t/p", True, None, -1)
    quoted = served_metastore.quoted
    with served_metastore.engine.begin() as connection:
        for number in range(10_000, 10_000 + count):
            values = {"PART_ID": number, "CREATE_TIME": 1, "LAST_ACCESS_TIME": 0, "PART_NAME": f"n={number}", "SD_ID": storage, "TBL_ID": table}  # fmt: skip
            keys = {"PART_ID": number, "PART_KEY_VAL": str(number), "INTEGER_IDX": 0}
            for of, row in (("PARTITIONS", values), ("PARTITION_KEY_VALS", keys)):
                listed = ", ".join(quoted(of, one) for one in row)
                marks = ", ".join("?" for _ in row)
                connection.exec_driver_sql(
                    f"INSERT INTO {quoted(of, of)} ({listed}) VALUES ({marks})", tuple(row.values())
                )
    told = told_by(served_metastore, TableName("sales", "t"))
    assert sorted(int(one.values[0]) for one in told.partitions) == list(range(10_000, 10_000 + count))  # fmt: skip
    assert served_metastore.service is not None
    assert served_metastore.service.calls.count("get_partitions_by_names") == 3


def test_what_changes_meanwhile_is_asked_for_again(
    served_metastore: HiveMetastore, orders: HiveService, written: Path
) -> None:
    """A service has no snapshot of several calls. A transaction that commits with a new partition
    shows with it or not at all; a table that was altered, or lost a partition, is asked for anew.
    """
    metastore = served_metastore
    committed: list[str] = []

    def commit(name: str) -> None:  # just before partitions are asked for: not seen, or both
        if name == "get_partition_names" and not committed:
            committed.append(name)
            metastore.end(14, "c")

    orders.before = commit
    told = told_by(metastore)
    assert (told.open, len(told.partitions)) == ((5,), 3)
    assert told_by(metastore).open == ()

    gone: list[str] = []

    def drop(name: str) -> None:
        if name == "get_partitions_by_names" and not gone:
            gone.append(name)
            metastore.delete("PARTITIONS", PART_NAME="day=2024-01-01/city=a=b/c%")

    orders.before = drop
    assert len(told_by(metastore).partitions) == 2

    altered: list[str] = []

    def alter(name: str) -> None:
        if name == "get_open_txns" and len(altered) < 1:
            altered.append(name)
            metastore.update("COLUMNS_V2", {"COLUMN_NAME": "total"}, COLUMN_NAME="amount")

    orders.before = alter
    assert [one.name for one in told_by(metastore).columns] == ["id", "total"]

    def alter_always(name: str) -> None:
        if name == "get_open_txns":
            altered.append(name)
            metastore.update("COLUMNS_V2", {"COMMENT": str(len(altered))}, COLUMN_NAME="id")

    orders.before = alter_always
    with pytest.raises(MetastoreError, match="changes in Hive while it is asked for"):
        told_by(metastore)


def test_several_servers_are_tried_in_turn(
    orders: HiveService, written: Path, session: Session
) -> None:
    """The first that answers tells; on record are all of them."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    source = f"thrift://127.0.0.1:{port},{orders.server}"
    session.sql(f"ATTACH TABLE orders USING '{source}?table=sales.orders'")
    assert ids(session) == [2]
    assert f"of the metastore {source})" in session.explain(f"ATTACH TABLE o USING '{source}?table=sales.orders'")  # fmt: skip
    gone = f"thrift://127.0.0.1:{port},127.0.0.1:{port}"
    with pytest.raises(MetastoreError, match="cannot ask the metastore thrift://") as caught:
        session.sql(f"ATTACH TABLE o USING '{gone}?table=sales.orders'")
    assert str(caught.value).count("refused") == 2


def test_other_words_are_refused(session: Session) -> None:
    """What is no URL of a service, at its place; a source says all that lists of columns and ASSUME
    would.
    """
    for source, words in {
        "thrift://": "not the URL of a metastore",
        "thrift://host:port": "not the URL of a metastore",
        "thrift://host:99999": "not the URL of a metastore",
        "thrift://host/path": "not the URL of a metastore",
        "thrift://me:secret@host": "not the URL of a metastore",
        "thrift://host,?table=a.b": "not the URL of a metastore",
        "thrift://host?table=orders": "not the name of one",
        "thrift://host?framed=maybe": '"framed" in the source is true or false',
        "thrift://host?tabel=a.b": "has other options",
        "thrift://host?table=a.b&table=c.d": "has other options",
    }.items():
        with pytest.raises(BindError, match=words) as caught:
            session.sql(f"ATTACH TABLE t USING '{source}'")
        assert "^^^" in str(caught.value)
        assert "secret" not in caught.value.message
    with pytest.raises(BindError, match="a metastore tells what ASSUME would say"):
        session.sql("ATTACH TABLE t FROM '/t' USING 'thrift://host' ASSUME COMMITTED")


def test_urls_may_be_written_in_several_ways() -> None:
    """As hive.metastore.uris has them, with addresses, and without a port."""
    for text, servers in {
        "thrift://a": (("a", 9083),),
        "THRIFT://a:1,b": (("a", 1), ("b", 9083)),
        "thrift://a:1,thrift://b:2": (("a", 1), ("b", 2)),
        "thrift://[::1]:9083": (("::1", 9083),),
    }.items():
        assert parse_service_url(text).servers == servers
    url = parse_service_url("thrift://[::1],b:2?framed=TRUE&table=Sales.Orders")
    assert url.recorded(ORDERS) == "thrift://[::1]:9083,b:2?framed=true&table=sales.orders"
    assert parse_service_url(url.recorded(ORDERS)) == url


def test_a_service_that_does_not_answer_is_an_error(
    served_metastore: HiveMetastore, orders: HiveService, written: Path, session: Session
) -> None:
    """Never what it told last; DESCRIBE, DETACH and ADOPT need no source."""
    served_metastore.end(14, "a")
    session.sql(f"ATTACH TABLE orders USING '{orders.url}?table=sales.orders'")
    assert ids(session) == [2]

    def fail(name: str) -> None:
        raise ConnectionError

    orders.before = fail
    check_source_is_needed(session, "thrift")
    assert ids(session) == [2]
    session.sql("DELETE FROM orders WHERE id = 2")
    assert ids(session) == []


@BOTH
def test_long_runs_of_transactions_that_do_not_count(
    served_metastore: HiveMetastore, written: Path, session: Session
) -> None:
    """Hive 3 reads no ranges of them. Where nothing that counts is left of its transactions, Hive 4
    tells the first of them alone, and none above it counts.
    """
    database = served_metastore.add_database("sales")
    served_metastore.add_table(database, "orders", f"file:{written}", orders_of("high watermark 5"))
    for number, write_id in enumerate(range(1, 21), 10):
        served_metastore.txn(number, "o" if write_id % 10 == 0 else "a", {ORDERS: write_id})
    served_metastore.txn(30, "c")
    told = told_by(served_metastore)
    assert told.txns is not None
    assert (told.txns.high_watermark, len(told.txns.aborted), told.txns.open) == (30, 18, (19, 29))
    first = (WriteId(1),)
    everything = tuple(one for one in range(1, 21) if one % 10)
    assert told.aborted == (everything if served_metastore.is_old else first)
    assert told.high_watermark == (20 if served_metastore.is_old else 1)
    assert served_metastore.service is not None
    session.sql(f"ATTACH TABLE o USING '{served_metastore.service.url}?table=sales.orders'")
    assert ids(session, "SELECT id FROM o") == []
