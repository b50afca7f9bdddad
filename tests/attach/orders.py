"""A partitioned table of orders that another warehouse wrote: its files, and what a dump says of it."""

from __future__ import annotations

from pathlib import Path

from acidsql.attach.dump import parse_dump
from acidsql.attach.facts import TableFacts
from acidsql.session import Session

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
