"""Of tables with many partitions those alone are read from the store that a condition may need."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from acidsql.errors import TransactionAbortedError
from acidsql.metastore.rows import partitions as stored
from acidsql.session import Session

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
DAYS = ("2024-01-01", "2024-01-02", "2024-02-01", "a/b", "a=b", "A%2Fb", "ä", "10", "9")
HOURS = tuple(range(-2, 8))
ROWS = [(at, day, hour) for at, (day, hour) in enumerate((d, h) for d in DAYS for h in HOURS)]


@pytest.fixture
def tables(alone: Session) -> Session:
    """Two tables alike, a row in each partition; the second has other rows."""
    for name, more in (("t", 0), ("u", 1000)):
        alone.sql(f"CREATE TABLE {name} (id INT) PARTITIONED BY (ds STRING, hr INT) {ACID}")
        values = ", ".join(f"({at + more}, '{day}', {hour})" for at, day, hour in ROWS)
        alone.sql(f"INSERT INTO {name} VALUES {values}")
    return alone


CASES: list[tuple[str, Callable[[str, int], bool]]] = [
    ("hr < 0", lambda day, hour: hour < 0),
    ("hr >= 7 AND ds > 'a'", lambda day, hour: hour >= 7 and day > "a"),
    ("ds > 'a' AND ds < 'b'", lambda day, hour: "a" < day < "b"),
    ("ds LIKE '2024-01%'", lambda day, hour: day.startswith("2024-01")),
    ("substr(ds, 1, 1) = 'A'", lambda day, hour: day[:1] == "A"),
    ("length(ds) = hr", lambda day, hour: len(day) == hour),
    ("ds <> '10' AND hr BETWEEN 5 AND 6", lambda day, hour: day != "10" and hour in (5, 6)),
    ("ds >= '2024-01-01' AND ds < '2024-02'", lambda day, hour: day.startswith("2024-01")),
    (
        "ds BETWEEN '10' AND '2024-01-02' AND hr <> 3",
        lambda day, hour: "10" <= day <= "2024-01-02" and hour != 3,
    ),
    ("ds <= 'a'", lambda day, hour: day <= "a"),
    ("'2024-01-02' <= ds", lambda day, hour: day >= "2024-01-02"),
    (
        "(ds > '2024-01-02' AND ds < '9') OR ds < '11'",
        lambda day, hour: "2024-01-02" < day < "9" or day < "11",
    ),
    ("ds > 'b' AND ds < 'a'", lambda day, hour: False),
    ("hr > 100", lambda day, hour: False),
    ("hr > -100", lambda day, hour: True),
    ("ds = 'a/b' OR hr = 3", lambda day, hour: day == "a/b" or hour == 3),
]


def ids(rows: Iterable[Any]) -> list[int]:
    return sorted(row[0] for row in rows)


@pytest.mark.parametrize(("condition", "holds"), CASES, ids=[sql for sql, _ in CASES])
def test_rows_are_those_of_the_condition(
    tables: Session, condition: str, holds: Callable[[str, int], bool]
) -> None:
    """SELECT, count, UPDATE and DELETE take the rows of the partitions that meet it, and of no
    other table.
    """
    wanted = [at for at, day, hour in ROWS if holds(day, hour)]
    others = [at for at, *_ in ROWS if at not in wanted]
    assert ids(tables.sql(f"SELECT id FROM t WHERE {condition}").rows()) == wanted
    [(count,)] = tables.sql(f"SELECT count(*) FROM t WHERE {condition}").rows()
    assert count == len(wanted)
    changed = tables.sql(f"UPDATE t SET id = id + 500 WHERE {condition}").stats.rows_updated
    assert changed == len(wanted)
    assert tables.sql(f"DELETE FROM t WHERE {condition}").stats.rows_deleted == len(wanted)
    assert ids(tables.sql("SELECT id FROM t").rows()) == others
    assert ids(tables.sql("SELECT id FROM u").rows()) == [at + 1000 for at, *_ in ROWS]


def test_few_partitions_are_read_from_the_store(
    tables: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The facts of a partition that a range leaves out are not asked for, by a statement that
    changes rows neither, nor by one that adds some.
    """
    read: list[int] = []
    listed = stored._read

    def counted(*args: Any) -> Any:
        found = listed(*args)
        read.append(len(found))
        return found

    monkeypatch.setattr(stored, "_read", counted)
    assert len(list(tables.sql("SELECT id FROM t WHERE hr < 0").rows())) == 2 * len(DAYS)
    assert max(read) == 2 * len(DAYS)
    read.clear()
    assert "partitions: 18 of 90" in str(tables.sql("EXPLAIN SELECT id FROM t WHERE hr < 0"))
    assert max(read) == 2 * len(DAYS)
    new = ", ".join(f"(7000, '{day}', {hour})" for day in (*DAYS, "new") for hour in (0, 77))
    for sql in (
        "SELECT count(*) FROM t WHERE hr < 0",
        "UPDATE t SET id = id + 1 WHERE hr < 0",
        "DELETE FROM t WHERE hr < 0 AND id > 50",
        "INSERT INTO t SELECT id, ds, hr FROM t WHERE hr < 0",
        f"INSERT INTO t VALUES {new}",
    ):
        read.clear()
        result = tables.sql(sql)
        if result.columns:
            list(result.rows())
        assert max(read, default=0) <= 4 * len(DAYS), sql  # numbers may be spelled otherwise
    [(count,)] = tables.sql("SELECT count(*) FROM t WHERE hr = 77 AND id = 7000").rows()
    assert count == len(DAYS) + 1


def test_two_looks_at_a_table_are_of_one_moment(
    tables: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A partition that goes between two looks of a statement at its table, which its lock keeps
    from those of our own store, is not read by one of them alone.
    """
    sql = "SELECT id FROM t WHERE hr < 0 UNION ALL SELECT id FROM t WHERE hr < 1"
    twice, once = ([at for at, _, hour in ROWS if hour < end] for end in (0, 1))
    assert ids(tables.sql(sql).rows()) == sorted(twice + once)
    listed, looks = tables.store.list_partitions, list[Any]()

    def one_gone(table: Any, among: Any = None) -> Any:
        looks.append(among)
        return listed(table, among)[len(looks) - 1 :]

    monkeypatch.setattr(tables.store, "list_partitions", one_gone)
    with pytest.raises(TransactionAbortedError, match="were added or dropped"):
        list(tables.sql(sql).rows())
    assert len(set(looks)) == 2
