"""UPDATE, DELETE, INSERT .. SELECT and MERGE by the driver against the same by Spark: rows, ROW__IDs,
counts, directories and errors, over columns of every type.
"""

from __future__ import annotations

import datetime
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from acidsql.errors import DataError, Error
from acidsql.expressions.vectors import Vector
from acidsql.plan.operators import LocalRows
from acidsql.result import Stats
from acidsql.session import Session
from tests.expressions.vectors.cases import CASES, COLUMNS, TYPES
from tests.expressions.vectors.spark_answers import VIEW, batch_of, compiled, shown, view
from tests.expressions.vectors.test_spark import rows_made
from tests.lengths import seeds

pytestmark = pytest.mark.spark

ROWS = 24
VALUE = re.compile(r"'[^']*'|-?\d[\w.+-]*")
"""A value in an error's text: which row of several Spark comes to first is anybody's guess."""
PART = "concat('p', pmod({}, 2))"
ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
LAYOUTS = (
    ACID,
    f"PARTITIONED BY (part STRING) {ACID}",
    f"CLUSTERED BY (id) INTO 3 BUCKETS {ACID}",
)


def _expressions() -> Iterator[tuple[str, bool]]:
    """Each understood expression, and whether it is a condition."""
    for name, sqls in CASES.items():
        for sql in sqls if not name.startswith("CURRENT") else ():
            vector = compiled(sql, ansi=False)
            assert isinstance(vector, Vector)
            yield sql, str(vector.type) == "boolean"


VALUES = [sql for sql, _ in _expressions()]
CONDITIONS = [sql for sql, holds in _expressions() if holds]


@dataclass
class Statements:
    """Draws statements about ``t``, whose columns are those of ``src`` and perhaps a partition's."""

    chance: random.Random
    keys: tuple[str, ...]

    def draw(self) -> str:
        return self.chance.choice(
            [self.update, self.update, self.delete, self.insert, self.merge]
        )()

    def condition(self) -> str:
        """Mostly of some rows, so that some are left."""
        one = f"({self.chance.choice(CONDITIONS)})"
        match self.chance.randrange(4):
            case 0:
                return f"id % {self.chance.randrange(2, 5)} = 0 AND {one}"
            case 1:
                return (
                    f"{one} {self.chance.choice(['AND', 'OR'])} ({self.chance.choice(CONDITIONS)})"
                )
            case 2:
                return f"id % 3 = {self.chance.randrange(3)}"
        return one

    def sets(self, value: Callable[[], str]) -> str:
        names = self.chance.sample(list(COLUMNS), self.chance.randrange(1, 4))
        return ", ".join(f"{name} = {value()}" for name in names)

    def value(self) -> str:
        return self.chance.choice(VALUES)

    def update(self) -> str:
        return f"UPDATE t SET {self.sets(self.value)} WHERE {self.condition()}"

    def delete(self) -> str:
        return f"DELETE FROM t WHERE id % 4 = 1 AND {self.condition()}"

    def insert(self) -> str:
        names = self.chance.sample(list(COLUMNS), 3)
        columns = ", ".join(["id", *names, *self.keys])
        values = ", ".join(
            ["id + 100", *(self.value() for _ in names), *(f"'{k}'" for k in self.keys)]
        )
        into, where = f"INSERT INTO t ({columns}) SELECT {values}", self.condition()
        return self.chance.choice(
            [f"{into} FROM src WHERE {where}", f"FROM src {into} WHERE {where}"]
        )

    def exploded(self) -> str:
        """A source whose rows stand in it."""
        ids = ", ".join(str(self.chance.randrange(2 * ROWS)) for _ in range(3))
        one, two = self.chance.choices(CASES["literal"], k=2)
        return f"(SELECT explode(array({ids})) AS sid, {one} AS v1, {two} AS v2, TRUE AS c1) o"

    def merge(self) -> str:
        source = (
            self.exploded()
            if self.chance.random() < 0.2
            else (
                f"(SELECT id + {self.chance.randrange(ROWS)} AS sid, {self.value()} AS v1,"
                f" {self.value()} AS v2, {self.chance.choice(CONDITIONS)} AS c1 FROM src"
                f" WHERE {self.condition()}) o"
            )
        )
        on = "t.id = o.sid" + self.chance.choice(["", f" AND {self.chance.choice(CONDITIONS)}"])
        clauses = [
            f"WHEN MATCHED AND {self.chance.choice(['c1', *self.of_target()])} THEN"
            f" {self.chance.choice(['DELETE', f'UPDATE SET {self.sets(self.of_either)}'])}",
            f"WHEN MATCHED THEN UPDATE SET {self.sets(self.of_either)}",
            f"WHEN NOT MATCHED{self.chance.choice(['', ' AND c1'])} THEN INSERT ({', '.join(['id', 'i', 's', *self.keys])})"
            f" VALUES ({', '.join(['sid', 'v1', 'v2', *(PART.format('sid') for _ in self.keys)])})",
        ]
        chosen = [clause for clause in clauses if self.chance.random() < 0.6] or clauses[1:]
        return f"MERGE INTO t USING {source} ON {on} {' '.join(chosen)}"

    def of_target(self) -> list[str]:
        return self.chance.sample(CONDITIONS, 2)

    def of_either(self) -> str:
        return self.chance.choice(["v1", "v2", self.value()])


class PartedError(Exception):
    """One of the pair has carried out what the other need not: nothing more is to be compared."""


@dataclass
class Pair:
    """Two warehouses with the same tables: what is done in one without Spark, if it can be, is done
    by Spark in the other. ``local``: how many statements were.
    """

    ours: Session
    sparks: Session
    local: int = 0
    log: list[str] = field(default_factory=list)

    def both(self, sql: str) -> None:
        """The statement leaves and tells the same in both."""
        self.log.append(sql)
        results = [self._outcome(session, sql) for session in (self.ours, self.sparks)]
        if [one[0] for one in results] == [DataError, DataError]:
            return  # of several values that cannot be, any may be told
        if results[1][0] is DataError and re.search(r"ON t.id = o.sid AND", sql):
            raise PartedError  # Spark may ask the rest of ON of rows whose keys are not equal
        assert results[0] == results[1]

    def _outcome(self, session: Session, sql: str) -> tuple[Any, ...]:
        try:
            stats = session.sql(sql).stats
        except Error as error:
            return type(error), VALUE.sub("_", error.message)
        if session is self.ours:
            self.local += any(isinstance(r.operator, LocalRows) for r in stats.steps) and not any(
                r.in_vain for r in stats.steps
            )
        return _told(stats)

    def check(self) -> None:
        """Both have the same rows, and the same ROW__IDs: which of the rows of a statement has which
        follows the order of writing.
        """
        columns = ", ".join(["id", *COLUMNS])
        tables = [
            session.sql(f"SELECT ROW__ID, {columns} FROM t").to_arrow()
            for session in (self.ours, self.sparks)
        ]
        ids, *others = zip(*(map(_compared, table.columns) for table in tables), strict=True)
        assert sorted(ids[0]) == sorted(ids[1])
        ours, sparks = zip(*others, strict=True)
        assert Counter(zip(*ours, strict=True)) == Counter(zip(*sparks, strict=True))


def _compared(column: pa.ChunkedArray) -> list[Any]:
    """Values as they are compared. ORC's Java reader gives all zeros of a batch the sign of the
    first: see docs/semantics.md.
    """
    return ["0.0" if value == "-0.0" else value for value in shown(column)]


def _told(stats: Stats) -> tuple[Any, ...]:
    counts = (stats.rows_inserted, stats.rows_updated, stats.rows_deleted, stats.clauses)
    return counts, stats.txn_id, stats.write_ids, stats.directories


def fill(session: Session, layout: str, keys: Sequence[str]) -> None:
    names, types = ", ".join(COLUMNS), ", ".join(f"{n} {t}" for n, t in TYPES.items())
    session.sql(f"CREATE TABLE src (id INT, {types}) {ACID}")
    session.sql(f"CREATE TABLE t (id INT, {types}) {layout}")
    session.sql(f"INSERT INTO src SELECT row, {names} FROM {VIEW}")
    columns = ", ".join(["id", names, *keys])
    values = ", ".join([f"id, {names}", *(PART.format("id") for _ in keys)])
    session.sql(f"INSERT INTO t ({columns}) SELECT {values} FROM src")


def _storable(row: dict[str, Any], *, modern: bool) -> dict[str, Any]:
    """The row without moments that no file can hold: the last second before 1970. ``modern``: and
    without any before, which only Java writes.
    """
    epoch = datetime.datetime(1970, 1, 1)

    def fits(value: Any) -> bool:
        match value:
            case datetime.datetime():
                last = epoch - datetime.timedelta(seconds=1) < value < epoch
                return not (last or (modern and not epoch <= value < datetime.datetime(2200, 1, 1)))
            case datetime.date():
                return not modern or value >= epoch.date()
        return True

    return {name: value if fits(value) else None for name, value in row.items()}


def run_pair(spark: SparkSession, folder: Path, seed: int, statements: int) -> int:
    """How many of the statements the driver carried out."""
    chance = random.Random(seed)
    layout = chance.choice(LAYOUTS)
    keys = ("part",) if "PARTITIONED" in layout else ()
    drawn = Statements(chance, keys)
    rows = [_storable(row, modern=bool(seed % 4)) for row in rows_made(ROWS, seed)]
    view(spark, batch_of(rows))
    with ExitStack() as stack:
        opened = [
            stack.enter_context(Session(folder / f"{engine}{seed}", spark=spark))
            for engine in ("auto", "spark")
        ]
        for session, engine in zip(opened, ("auto", "spark"), strict=True):
            session.sql("SET acidsql.engine=spark")
            fill(session, layout, keys)
            session.sql(f"SET acidsql.engine={engine}")
            session.sql(f"SET acidsql.ansi={str(seed % 3 == 2).lower()}")
        pair = Pair(*opened)
        try:
            for _ in range(statements):
                in_transaction = chance.random() < 0.3
                if in_transaction:
                    pair.both("START TRANSACTION")
                    pair.both(drawn.draw())
                pair.both(drawn.draw())
                pair.check()
                if in_transaction:
                    pair.both(chance.choice(["COMMIT", "COMMIT", "ROLLBACK"]))
            pair.check()
        except PartedError:
            return pair.local
        except Exception as error:
            raise AssertionError("\n".join([f"seed {seed}", *pair.log, str(error)])) from error
        return pair.local


def test_a_change_by_the_driver_is_sparks(spark: SparkSession, tmp_path: Path) -> None:
    """A few random statements: the same rows under the same ids, the same counts and directories, or
    the same error.
    """
    assert sum(run_pair(spark, tmp_path, seed, statements=3) for seed in range(2)) >= 2


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("part", range(1, 5))
def test_changes_by_the_driver_are_sparks_at_length(
    spark: SparkSession, tmp_path: Path, part: int
) -> None:
    """The same, hundreds of statements, of which each table sees some by the driver on average."""
    tried = seeds(part, 6)
    by_driver = sum(run_pair(spark, tmp_path, seed, statements=6) for seed in tried)
    assert by_driver > len(tried) or len(tried) < 6
