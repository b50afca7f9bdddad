"""Random statements on random tables of all types and layouts leave the rows that plain Spark says
they must.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from acidsql.errors import Error
from acidsql.session import Session
from tests.lengths import seeds
from tests.session.fuzz.random_dml import Script, Step, Table, random_script
from tests.session.fuzz.spark_oracle import Oracle, Outcome, cheap, comparable
from tests.session.rows.acid_files import check_files

pytestmark = pytest.mark.spark

SEEDS = seeds(1, 40)
"""Of the scripts that the slow tests run."""
TOGETHER = 20
"""How many one test runs, in one warehouse."""


class Run:
    """One script, on tables that are there as long as it runs."""

    def __init__(self, session: Session, spark: SparkSession, script: Script) -> None:
        self.session = session
        self.script = script
        self.oracle = Oracle(spark, script.tables)

    def whole(self) -> int:
        """Gives the number of statements that were carried out. AssertionError, or what the product
        raised and should not have.
        """
        with self.tables():
            outcomes = [self.step(step) for step in self.script.steps]
            for table, condition in self.script.queries():
                self.check_rows(table.name, self.oracle.rows[table.name])
                if condition:
                    self.check_query(table, condition)
            for pair in self.script.pairs:
                self.check_pair(pair)
            check_files(self.session, *(t.name for t in self.script.tables))
        return sum(not outcome.errors for outcome in outcomes)

    @contextmanager
    def tables(self) -> Iterator[None]:
        try:
            for table in self.script.tables:
                self.session.sql(table.create())
            yield
        finally:
            self.session.rollback()
            for table in self.script.tables:
                self.session.sql(f"DROP TABLE IF EXISTS {table.name}")

    def step(self, step: Step) -> Outcome:
        for setting in step.settings():
            self.session.sql(setting)
        sql, expected = step.statement.sql(), self.oracle.apply(step.statement)
        if expected.errors:
            self.fail(sql, expected)
        else:
            self.succeed(sql, expected)
        for name, rows in self.oracle.rows.items():
            assert list(self.session.sql(f"SELECT count(*) FROM {name}").rows()) == [
                (len(rows),)
            ], f"count(*) of {name} behind {sql}"
        return expected

    def succeed(self, sql: str, expected: Outcome) -> None:
        stats = self.session.sql(sql).stats
        counts = (stats.rows_inserted, stats.rows_updated, stats.rows_deleted)
        assert counts == (expected.inserted, expected.updated, expected.deleted), sql
        assert tuple(count for _, count in stats.clauses) == expected.clauses, sql

    def fail(self, sql: str, expected: Outcome) -> None:
        with pytest.raises(expected.errors):
            self.session.sql(sql)

    def check_query(self, table: Table, condition: str) -> None:
        query = f"{table.name} WHERE {condition}"
        try:
            expected = self.oracle.select(table, condition)
        except PySparkException:
            self.fail(f"SELECT * FROM {query}", Outcome(errors=(Error,)))
        else:
            self.check_rows(query, expected)

    def check_pair(self, query: str) -> None:
        try:
            expected = Counter(map(comparable, self.oracle.rows_of(query)))
        except PySparkException:
            return
        # a filter holds the ids of dead rows, and no two are alike to Spark
        for engine, deletes in (("auto", "filter"), ("spark", "join")):
            self.session.sql(f"SET acidsql.engine={engine}")
            self.session.sql(f"SET acidsql.read.deletes={deletes}")
            seen = Counter(map(comparable, self.session.sql(query).rows()))
            assert seen == expected, (
                f"{query} has {seen - expected} and has not {expected - seen} ({engine})"
            )

    def check_rows(self, query: str, expected: Iterable[dict[str, Any]]) -> None:
        seen = Counter(map(comparable, self.session.sql(f"SELECT * FROM {query}").rows()))
        wanted = Counter(comparable(list(row.values())) for row in expected)
        assert seen == wanted, (
            f"SELECT * FROM {query} has {seen - wanted} and has not {wanted - seen}"
        )


def run_script(session: Session, spark: SparkSession, seed: int) -> int:
    """AssertionError with the fewest statements that fail too."""
    script = random_script(seed)
    try:
        return Run(session, spark, script).whole()
    except (Exception, pytest.fail.Exception) as error:
        least, error = smaller(session, spark, script, error)
        raise AssertionError(f"seed {seed}\n{least}\n{error}") from error


def smaller(
    session: Session, spark: SparkSession, script: Script, error: BaseException
) -> tuple[Script, BaseException]:
    """A part of the script that fails too: statements are left out as long as that can be done."""
    for shorter in script.shorter():
        try:
            Run(session, spark, shorter).whole()
        except (Exception, pytest.fail.Exception) as again:
            return smaller(session, spark, shorter, again)
    return script, error


@pytest.mark.slow
@pytest.mark.parametrize("first", SEEDS[::TOGETHER])
def test_random_statements_do_what_spark_would_do(
    tmp_path: Path, spark: SparkSession, first: int
) -> None:
    """Rows, counts and files after each script; a failing one is named by its seed and its fewest
    statements.
    """
    tried = range(first, min(first + TOGETHER, SEEDS.stop))
    spark = cheap(spark)
    with Session(tmp_path / "w", spark=spark) as session:
        assert sum(run_script(session, spark, seed) for seed in tried) > len(tried)
