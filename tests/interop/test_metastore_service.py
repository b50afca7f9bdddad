"""Tables that whole Hives write while they are attached read only by their metastore's service: what
Hive commits next shows at once, and nothing that it does not commit.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from acidsql.acid.ids import DeleteDelta, Delta, parse_directory
from acidsql.session import Session
from tests.interop.real_hive import Ran, RealHive
from tests.interop.served_hive import ServedHive, serving, stop_at
from tests.interop.test_real_hive import hive as hive

pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.timeout(1500)]

LOCAL = {"acidsql.engine": "local", "acidsql.compactor.auto": "false"}
ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true')"
FIRST = "day=2024-01-01/city=a%3Db%2Fc%25"
NEW = "sales.db/orders/day=2024-01-04/city=new one"
COMPACTED = "ALTER TABLE sales.orders PARTITION (day='2024-01-01', city='a=b/c%') COMPACT"
STEPS = {
    "written": (),
    "updated": ("UPDATE sales.orders SET amount = amount + 1 WHERE id IN (1, 2)",),
    "merged": (
        "MERGE INTO sales.orders o USING (SELECT 1 AS id UNION ALL SELECT 3 UNION ALL SELECT 7) s ON o.id = s.id"
        " WHEN MATCHED AND s.id = 3 THEN DELETE WHEN MATCHED THEN UPDATE SET amount = 99.5"
        " WHEN NOT MATCHED THEN INSERT VALUES (s.id, 7.5, '2024-01-04', 'new one')",
    ),
    "open": (
        "!open",
        "!writeid sales.orders",
        f"!sh cd '{NEW}' && cp -r delta_0000005_0000005_* delta_0000006_0000006_0000",
    ),
    "aborted": ("!abort",),
    "inserted": (
        "INSERT INTO sales.orders PARTITION (day, city) VALUES (8, 8.5, '2024-01-01', 'a=b/c%')",
        "ALTER TABLE sales.orders DROP PARTITION (day='2024-01-02', city='__HIVE_DEFAULT_PARTITION__')",
    ),
    "minor": (f"{COMPACTED} 'minor'", "!worker"),
    "cleaned": ("!cleaner",),
    "major": (f"{COMPACTED} 'major'", "!compact"),
    "later": ("DELETE FROM sales.orders WHERE id = 1",),
}  # fmt: skip
"""What Hive does before each look; the last look is behind a compaction that was cleaned up."""
SELECT = "SELECT id, amount, day, city FROM sales.orders"


def script() -> Iterator[str]:
    """Two databases with a table of one name, an insert-only one, an aborted write id."""
    insert = "INSERT INTO sales.orders PARTITION (day, city)"
    yield "CREATE DATABASE sales"
    yield f"CREATE TABLE orders (id INT, amount DECIMAL(10,2)) {ACID}"
    yield "INSERT INTO orders VALUES (100, 1)"
    yield (
        "CREATE TABLE sales.orders (id INT, amount DECIMAL(10,2)) PARTITIONED BY (day DATE, city STRING)"
        f" CLUSTERED BY (id) INTO 2 BUCKETS {ACID}"
    )
    yield (
        "CREATE TABLE sales.lines (id INT) STORED AS ORC TBLPROPERTIES ('transactional'='true',"
        " 'transactional_properties'='insert_only')"
    )
    yield "INSERT INTO sales.lines VALUES (5)"
    yield "CREATE VIEW sales.v AS SELECT id FROM sales.orders"
    yield f"{insert} VALUES (1, 1.5, '2024-01-01', 'a=b/c%'), (2, 2.5, '2024-01-02', NULL)"
    yield f"{insert} VALUES (3, 3.5, '2024-01-01', 'a=b/c%'), (4, 4.5, '2024-01-03', 'x y')"
    yield from ("!open", "!writeid sales.orders", "!abort")
    for step, lines in STEPS.items():
        yield from lines
        yield from (f"!echo {step}", SELECT, stop_at(step))


def test_what_hive_commits_next_shows_at_once(hive: RealHive, tmp_path: Path) -> None:
    """UPDATE, MERGE, a minor and a major compaction, partitions that come and go. Rows of a
    transaction that is open, or was aborted, do not show.
    """
    seen: dict[str, list[str]] = {}
    with (
        serving(hive, list(script()), tmp_path / "served") as served,
        Session(tmp_path / "acidsql", settings=LOCAL) as session,
    ):
        for step in STEPS:
            served.wait_for(step)
            if step == "written":
                attached(session, served, hive.version)
            seen[step] = [
                "\t".join("NULL" if one is None else str(one) for one in row)
                for row in session.sql(SELECT.replace("sales.orders", "mine")).rows()
            ]
            if step == "minor":
                assert compacted(hive)
            served.go_on(step)
        printed = rows_by_step(served.ran.result())
    assert {step: sorted(rows) for step, rows in seen.items()} == printed
    assert printed["written"] != printed["updated"] != printed["merged"] == printed["aborted"]
    assert printed["inserted"] == printed["minor"] == printed["cleaned"] == printed["major"]


def attached(session: Session, served: ServedHive, version: int) -> None:
    """By its name, where the metastore has it; others as they are."""
    made = f"ATTACH TABLE mine USING '{served.url}?table=sales.orders'"
    assert f"of the metastore {served.url})" in session.explain(made)
    session.sql(made)
    session.sql(f"ATTACH TABLE orders USING '{served.url}'")
    assert [row[0] for row in session.sql("SELECT id FROM orders").rows()] == [100]
    session.attach("lines", metastore=f"{served.url}?table=sales.lines")
    assert [row[0] for row in session.sql("SELECT id FROM lines").rows()] == [5]
    with pytest.raises(Exception, match="is a view in Hive"):
        session.sql(f"ATTACH TABLE v USING '{served.url}?table=sales.v'")
    with pytest.raises(Exception, match=r"no table sales\.nope"):
        session.sql(f"ATTACH TABLE nope USING '{served.url}?table=sales.nope'")
    properties = dict(tuple(row) for row in session.sql("SHOW TBLPROPERTIES mine").rows())
    assert properties["acidsql.attached.write.ids"].rpartition(":")[2] == "3"
    assert properties["acidsql.attached.table.id"].isdigit() == (version == 4)


def compacted(hive: RealHive) -> bool:
    """Whether the result of a compaction lies beside what it took in."""
    home = hive.warehouse / "sales.db" / "orders" / FIRST
    names = [parse_directory(one.name) for one in home.iterdir() if one.is_dir()]
    ranges = [
        one
        for one in names
        if isinstance(one, Delta | DeleteDelta) and one.min_write_id < one.max_write_id
    ]
    return 0 < len(ranges) < len(names)


def rows_by_step(ran: list[Ran]) -> dict[str, list[str]]:
    rows: dict[str, list[str]] = {}
    step = ""
    for one in ran:
        if one.text.startswith("echo "):
            step = one.text.removeprefix("echo ")
        elif one.text == SELECT:
            rows[step] = sorted(_as_ours(line) for line in one.lines)
    return rows


def _as_ours(line: str) -> str:
    """Hive prints the partition of NULLs by its name."""
    return line.replace("__HIVE_DEFAULT_PARTITION__", "NULL")
