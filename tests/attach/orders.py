"""A partitioned table of orders that another warehouse wrote: its files, and what a dump says of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from acidsql.attach.dump import parse_dump
from acidsql.attach.facts import TableFacts
from acidsql.errors import BindError, MetastoreError
from acidsql.session import Session
from tests.attach.hive_metastore import HiveMetastore

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"


ORDERS = (
    "CREATE TABLE orders (id int, amount decimal(10,2)) PARTITIONED BY (day date, city string)"
    " CLUSTERED BY (id) INTO 4 BUCKETS STORED AS ORC TBLPROPERTIES ('transactional'='true', 'bucketing_version'='2')"
)  # fmt: skip
PARTITIONS = ("day=2024-01-01/city=São Paulo", "day=2024-01-01/city=a%3Db%2Fc%25", "day=2024-01-02/city=__HIVE_DEFAULT_PARTITION__")  # fmt: skip


def orders_of(*lines: str) -> TableFacts:
    return facts_of(ORDERS, *lines, *PARTITIONS)


def ids(session: Session, query: str = "SELECT id FROM orders") -> list[int]:
    return sorted(row[0] for row in session.sql(query).rows())


def facts_of(ddl: str, *lines: str) -> TableFacts:
    return parse_dump("\n".join([f"{ddl};", *lines]) + "\n")


def orders_written(tmp_path: Path) -> Path:
    """The directory of a table by day and city that another warehouse wrote: write ids 1 to 5, of
    which 3 and 5 are of one partition, with names that have to be escaped.
    """
    with Session(
        tmp_path / "hive", settings={"acidsql.engine": "local", "acidsql.compactor.auto": "false"}
    ) as hive:
        hive.sql(
            f"CREATE TABLE orders (id INT, amount DECIMAL(10,2)) PARTITIONED BY (day DATE, city STRING) {ACID}"
        )
        hive.sql(
            "INSERT INTO orders PARTITION (day, city) VALUES (1, 1.5, '2024-01-01', 'São Paulo')"
        )
        hive.sql("INSERT INTO orders PARTITION (day, city) VALUES (2, 2.5, '2024-01-01', 'a=b/c%')")
        hive.sql("INSERT INTO orders PARTITION (day, city) VALUES (3, 3.5, '2024-01-02', NULL)")
        hive.sql("DELETE FROM orders WHERE id = 1")
        hive.sql("INSERT INTO orders PARTITION (day, city) VALUES (5, 5.5, '2024-01-02', NULL)")
    return tmp_path / "hive" / "orders"


UNATTACHABLE = {
    "v": "is a view", "mv": "is a materialized view", "lines": "TextInputFormat", "mixed": r"partition \(2024-01-01, x\)",
    "torn": "not whole", "odd": 'column "id" of sales.odd',
}  # fmt: skip
"""Tables that no source has attached, and why not."""


def fill_with_unattachable(metastore: HiveMetastore, written: Path) -> None:
    """Gives a metastore these tables, in its database ``sales``."""
    facts = orders_of("high watermark 5")
    database = metastore.add_database("sales")
    add = metastore.add_table
    add(database, "v", None, facts, kind="VIRTUAL_VIEW")
    add(database, "mv", f"file:{written}", facts, kind="MATERIALIZED_VIEW")
    add(database, "lines", f"file:{written}", facts, orc=False)
    mixed = add(database, "mixed", f"file:{written}", facts)
    metastore.add_partition(
        mixed, "day=2024-01-01/city=x", ("2024-01-01", "x"), f"file:{written}/x", orc=False
    )
    torn = add(database, "torn", f"file:{written}", facts)
    metastore.add_partition(torn, "day=2024-01-01", ("2024-01-01",), f"file:{written}/x")
    union = add(database, "odd", f"file:{written}", facts)
    metastore.update("COLUMNS_V2", {"TYPE_NAME": "uniontype<int>"}, CD_ID=union, COLUMN_NAME="id")


def check_unattachable(session: Session, url: str, tables: Mapping[str, str]) -> None:
    """Each is refused with its reason, at the source. ``url``: up to the name of the table."""
    for name, words in tables.items():
        with pytest.raises(BindError, match=words) as caught:
            session.sql(f"ATTACH TABLE t USING '{url}{name}'")
        assert "^^^" in str(caught.value)
    assert not list(session.sql("SHOW TABLES").rows())


def check_source_is_needed(session: Session, kind: str) -> None:
    """While the source of ``orders`` does not answer nobody reads it; who asks nothing of its rows
    needs no source. ``kind``: the scheme of its URL. The table is adopted then.
    """
    with pytest.raises(MetastoreError, match=f"cannot ask the metastore {kind}://") as caught:
        ids(session)
    assert "is asked for each statement" in str(caught.value)
    with pytest.raises(MetastoreError):
        session.sql("SELECT count(*) FROM orders")
    assert list(session.sql("DESCRIBE orders").rows())
    session.sql("ADOPT TABLE orders")
