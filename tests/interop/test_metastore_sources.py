"""Tables that whole Hives wrote, attached by what their own metastore knows: its Derby is exported as
docs/attach.md says.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from acidsql.session import Session
from tests.attach import derby
from tests.interop.real_hive import RealHive
from tests.interop.test_real_hive import hive as hive

pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.timeout(1500)]

LOCAL = {"acidsql.engine": "local", "acidsql.compactor.auto": "false"}


def of_hive() -> list[str]:
    """Two databases with a table of one name; an aborted and an open write id, a partition that lies
    elsewhere, names that are escaped, a compaction.
    """
    acid = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
    insert = "INSERT INTO sales.orders PARTITION (day, city)"
    return [
        "CREATE DATABASE sales",
        f"CREATE TABLE orders (id INT, amount DECIMAL(10,2)) {acid}",
        "INSERT INTO orders VALUES (100, 1)",
        "CREATE TABLE sales.orders (id INT, amount DECIMAL(10,2)) PARTITIONED BY (day DATE, city STRING)"
        f" CLUSTERED BY (id) INTO 2 BUCKETS {acid}",
        f"{insert} VALUES (1, 1.5, '2024-01-01', 'a=b/c%'), (2, 2.5, '2024-01-02', NULL)",
        f"{insert} VALUES (3, 3.5, '2024-01-01', 'a=b/c%')",
        "!open", "!writeid sales.orders", "!abort",
        "UPDATE sales.orders SET amount = amount + 1 WHERE id = 2",
        "ALTER TABLE sales.orders PARTITION (day='2024-01-01', city='a=b/c%') COMPACT 'major'", "!compact",
        f"{insert} VALUES (4, 4.5, '2024-01-03', 'x y')",
        "DELETE FROM sales.orders WHERE id = 3",
        "CREATE VIEW sales.v AS SELECT id FROM sales.orders",
        "SELECT id, amount, day, city FROM sales.orders",
    ]  # fmt: skip


def test_exports_of_its_derby_tell_all(hive: RealHive, tmp_path: Path) -> None:
    """By location and by name; rows are those that Hive prints."""
    printed = sorted(line.split("\t")[0] for line in hive.run(of_hive())[-1].lines)
    exports = derby.exported(hive.data / "metastore" / "db", tmp_path / "exports")
    with Session(tmp_path / "warehouse", settings=LOCAL) as session:
        session.sql("CREATE DATABASE other")
        session.sql(f"ATTACH TABLE mine USING '{exports}?table=sales.orders'")
        assert sorted(str(row[0]) for row in session.sql("SELECT id FROM mine").rows()) == printed
        table = session.sql("SHOW TBLPROPERTIES mine")
        properties = dict(tuple(row) for row in table.rows())
        assert properties["acidsql.attached.source"].endswith("?table=sales.orders")
        aborted = properties["acidsql.attached.write.ids"].rpartition(":")[2]
        assert aborted == "3"
        session.sql(f"ATTACH TABLE plain_name USING '{exports}?table=default.orders'")
        assert [row[0] for row in session.sql("SELECT id FROM plain_name").rows()] == [100]
