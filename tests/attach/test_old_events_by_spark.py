"""Spark and the driver merge events of ACID version 1 alike."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from acidsql.session import Session
from tests.attach.old_tables import DELETE, INSERT, UPDATE, Event, write_events
from tests.attach.test_old_events import FILE, check_history

pytestmark = pytest.mark.spark

ENGINES = ("spark", "local")


@pytest.fixture
def session(warehouse: Path, spark: SparkSession) -> Iterator[Session]:
    """A session on the shared Spark."""
    with Session(warehouse, spark=spark) as opened:
        yield opened


def history(seed: int) -> list[object]:
    """Transactions of several statements, and compactions."""
    random = Random(seed)
    kinds = ["insert", "insert", "update", "delete"]
    steps: list[object] = []
    for _ in range(random.randint(4, 12)):
        if random.random() < 0.2:
            steps.append(random.choice(["minor", "major"]))
            continue
        count = random.randint(1, 5)
        aborted = random.random() < 0.2
        steps.append([(random.choice(kinds), random.randrange(8), aborted) for _ in range(count)])
    return steps


@pytest.mark.parametrize("seed", range(10))
def test_both_engines_find_the_rows_of_the_model(seed: int, session: Session) -> None:
    """Of random histories, with their ROW__IDs; and count them."""
    session.sql("CREATE DATABASE other")
    check_history(history(seed), ENGINES, session)


def test_partitions_of_both_kinds(session: Session, tmp_path: Path) -> None:
    """One that is merged beside others that are read as ever, with deletes of their own."""
    session.sql("CREATE DATABASE other")
    home = tmp_path / "old"
    old, new = home / "Day=2014-01-01", home / "Day=2014-01-02"
    first = [Event(INSERT, 1, 0, row, 1, (row, f"{row}")) for row in range(4)]
    write_events(old / "delta_0000001_0000001_0000" / FILE, first, stripe=2)
    second = [Event(UPDATE, 1, 0, 3, 2, (3, None)), Event(DELETE, 1, 0, 0, 2)]
    write_events(old / "delta_0000002_0000002_0000" / FILE, second)
    write_events(new / "delta_0000001_0000001_0000" / FILE, first)
    write_events(new / "delete_delta_0000002_0000002_0000" / FILE, [Event(DELETE, 1, 0, 1, 2)])
    session.sql(f"ATTACH TABLE t PARTITIONED BY (day DATE) FROM '{home}' ASSUME COMMITTED")
    found = {}
    for engine in ENGINES:
        session.sql(f"SET acidsql.engine={engine}")
        found[engine] = sorted(
            ((i["rowid"], str(day)), key, name)
            for i, key, name, day in session.sql("SELECT ROW__ID, * FROM t").rows()
        )
        assert list(session.sql("SELECT id FROM t WHERE day = '2014-01-01' AND name IS NULL").rows()) == [(3,)]  # fmt: skip
        assert list(session.sql("SELECT count(*) FROM t").rows()) == [(6,)]
    assert found["spark"] == found["local"] == [
        ((0, "2014-01-02"), 0, "0"), ((1, "2014-01-01"), 1, "1"), ((2, "2014-01-01"), 2, "2"),
        ((2, "2014-01-02"), 2, "2"), ((3, "2014-01-01"), 3, None), ((3, "2014-01-02"), 3, "3"),
    ]  # fmt: skip


def test_queries_that_only_spark_knows(session: Session, tmp_path: Path) -> None:
    """See the merged rows, too."""
    session.sql("CREATE DATABASE other")
    write_events(
        tmp_path / "old" / "delta_0000001_0000002" / FILE,
        [Event(INSERT, 1, 0, 0, 1, (1, "a")), Event(UPDATE, 1, 0, 0, 2, (1, "b"))],
    )
    session.sql(f"ATTACH TABLE t FROM '{tmp_path / 'old'}' ASSUME COMMITTED")
    sql = "SELECT collect_list(l.name) FROM t l JOIN t r ON l.id = r.id"
    assert list(session.sql(sql).rows()) == [(["b"],)]
