"""Random statements over relations of equal columns read each as itself: what they give and leave is
what SQLite says.
"""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.orc as pa_orc
import pyarrow.parquet as pq
import pytest

from acidsql.session import Session
from acidsql.spark.start.session import derive
from tests.conftest import INTERPRETED
from tests.lengths import seeds
from tests.session.fuzz.random_pairs import (
    ACID,
    FILLED,
    LAYOUTS,
    Anew,
    Cache,
    Change,
    Query,
    Relation,
    Row,
    Script,
    Snapshots,
    Step,
    random_script,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.classic]

SEEDS = seeds(1, 20)
"""Of the scripts that the slow tests run."""
TOGETHER = 20
"""How many one test runs, in one warehouse."""
CHEAP = {**INTERPRETED, "spark.sql.shuffle.partitions": "2"}
"""Settings under which many small queries are cheap."""
SCHEMA = pa.schema([("k", pa.int32()), ("v", pa.string())])


def arrow(rows: Sequence[Row]) -> pa.Table:
    return pa.table({"k": [k for k, _ in rows], "v": [v for _, v in rows]}, schema=SCHEMA)


def literals(rows: Sequence[Row]) -> str:
    texts = [("NULL" if k is None else k, "NULL" if v is None else f"'{v}'") for k, v in rows]
    return ", ".join(f"({k}, {v})" for k, v in texts)


@dataclass
class Run:
    """One script. ``texts``: what each relation is called in statements for acidsql."""

    session: Session
    spark: SparkSession
    folder: Path
    script: Script
    texts: dict[str, str]
    model: sqlite3.Connection
    stack: ExitStack
    log: list[str]

    @classmethod
    @contextmanager
    def of(
        cls, session: Session, spark: SparkSession, folder: Path, script: Script
    ) -> Iterator[Run]:
        with closing(sqlite3.connect(":memory:")) as model, ExitStack() as stack:
            yield cls(session, spark, folder, script, {}, model, stack, [])

    def whole(self) -> None:
        self.settings({"acidsql.engine": "auto", "acidsql.write.path": "small"})
        for relation in self.script.relations:
            self.model.execute(f"CREATE TABLE {relation.name} (k INTEGER, v TEXT)")
            self.make(relation)
            self.fill_model(relation.name, relation.rows)
        for step in self.script.steps:
            self.step(step)
            for relation in self.script.relations if not isinstance(step.action, Query) else ():
                self.query(f"SELECT k, v FROM {{{relation.name}}} x")

    def sql(self, text: str) -> Any:
        self.log.append(f"{text};")
        return self.session.sql(text)

    def settings(self, settings: dict[str, str]) -> None:
        for name, value in settings.items():
            self.sql(f"SET {name}={value}")

    # ---- relations

    def make(self, relation: Relation) -> None:
        name, layout, rows = relation.table, relation.layout, relation.rows
        self.texts[relation.name] = name
        match layout.rpartition("_")[2]:
            case "path":
                path = self.folder / f"{len(os.listdir(self.folder))}_{name}"
                write = pa_orc.write_table if layout == "orc_path" else pq.write_table
                write(arrow(rows), path)
                self.texts[relation.name] = f"{layout.removesuffix('_path')}.`{path}`"
            case "frame":
                frame = arrow(rows)
                given = self.spark.createDataFrame(frame) if layout == "spark_frame" else frame
                self.session.register(name, given)
                self.stack.callback(self.session.unregister, name)
            case "view":
                self.create(f"{name}_of", ACID, rows)
                self.sql(f"CREATE VIEW {name} AS SELECT k, v FROM {name}_of")
                self.stack.callback(self.sql, f"DROP VIEW {name}")
            case "partitions":
                self.make_partition(relation)
            case _:
                self.create(name, LAYOUTS[layout], rows, layout)

    def make_partition(self, relation: Relation) -> None:
        name, stored = relation.table, LAYOUTS[relation.layout]
        self.sql(
            f"CREATE TABLE IF NOT EXISTS {name} (k INT, v STRING) PARTITIONED BY (d STRING) {stored}"
        )
        self.stack.callback(self.sql, f"DROP TABLE IF EXISTS {name}")
        into, _ = relation.target()
        self.sql(f"INSERT INTO {into} VALUES {literals(relation.rows)}")
        self.texts[relation.name] = f"(SELECT k, v FROM {name} WHERE d = '{relation.name}')"

    def create(self, name: str, stored: str, rows: Sequence[Row], layout: str = "") -> None:
        made = LAYOUTS["plain"] if layout == "originals" else stored
        self.sql(f"CREATE TABLE {name} (k INT, v STRING) {made}")
        self.stack.callback(self.sql, f"DROP TABLE IF EXISTS {name}")
        self.sql(f"INSERT INTO {name} VALUES {literals(rows)}")
        if layout == "originals":
            self.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('transactional'='true')")
        if layout == "dead":
            self.sql(f"INSERT INTO {name} VALUES (100, 'gone'), (101, 'gone')")
            self.sql(f"DELETE FROM {name} WHERE k >= 100")

    def fill_model(self, name: str, rows: Sequence[Row]) -> None:
        self.model.execute(f"DELETE FROM {name}")
        self.model.executemany(f"INSERT INTO {name} VALUES (?, ?)", rows)

    # ---- steps

    def step(self, step: Step) -> None:
        self.settings(dict(step.settings))
        match step.action:
            case Query(sql=sql):
                self.query(sql)
            case Change() as change:
                self.change(change)
            case Cache(name=name):
                cached = self.frame(name).cache()
                assert self.of_frame(cached) == self.expected(f"SELECT * FROM {name}")
                self.stack.callback(cached.unpersist)
            case Snapshots(name=name, change=change):
                self.snapshots(name, change)
            case Anew(name=name, rows=rows):
                self.anew(name, rows)

    def expected(self, text: str) -> Counter[tuple[Any, ...]]:
        return Counter(self.model.execute(text).fetchall())

    def query(self, sql: str) -> None:
        names = {relation.name: relation.name for relation in self.script.relations}
        expected = self.expected(sql.format(**names))
        seen = Counter(self.sql(sql.format(**self.texts)).rows())
        assert seen == expected, f"{dict(seen)} is not {dict(expected)}"

    def change(self, change: Change) -> None:
        names = {relation.name: relation.name for relation in self.script.relations}
        for text in change.model:
            self.model.execute(text.format(**names))
        self.sql(change.sql.format(**self.texts))

    def frame(self, name: str) -> DataFrame:
        frame = self.sql(f"SELECT k, v FROM {self.texts[name]} x").df
        assert frame is not None
        self.log.append(f"-- its DataFrame, {name}")
        return frame

    def of_frame(self, frame: DataFrame) -> Counter[tuple[Any, ...]]:
        return Counter(map(tuple, frame.collect()))

    def snapshots(self, name: str, change: Change) -> None:
        rows = f"SELECT k, v FROM {name}"
        before, old = self.frame(name), self.model.execute(rows).fetchall()
        self.change(change)
        after, new = self.frame(name), self.model.execute(rows).fetchall()
        assert self.of_frame(before.union(after)) == Counter([*old, *new])
        assert self.of_frame(after.exceptAll(before)) == Counter(new) - Counter(old)
        shown = before.groupBy().count().crossJoin(after.groupBy().count()).collect()
        assert [tuple(row) for row in shown] == [(len(old), len(new))]

    def anew(self, name: str, rows: Sequence[Row]) -> None:
        relation = next(r for r in self.script.relations if r.name == name)
        assert relation.layout in FILLED
        self.sql(f"DROP TABLE {relation.table}")
        self.create(relation.table, LAYOUTS[relation.layout], rows, relation.layout)
        self.fill_model(name, rows)


def run_script(session: Session, spark: SparkSession, folder: Path, seed: int) -> None:
    """AssertionError with the seed and the statements."""
    with Run.of(session, spark, folder, random_script(seed)) as run:
        try:
            run.whole()
        except Exception as error:
            run.log.append(f"-- {type(error).__name__}: {error}")
            raise AssertionError("\n".join([f"seed {seed}", *run.log])) from error


@pytest.mark.slow
@pytest.mark.parametrize("first", SEEDS[::TOGETHER])
def test_relations_of_equal_columns_are_read_as_themselves(
    tmp_path: Path, spark: SparkSession, first: int
) -> None:
    """Joined, united, nested and merged, in every layout, on both engines and write paths; also
    when one of them is cached, read at two snapshots, or made anew.
    """
    spark = derive(spark, CHEAP)
    folder = tmp_path / "files"
    folder.mkdir()
    with Session(tmp_path / "w", spark=spark) as session:
        for seed in range(first, min(first + TOGETHER, SEEDS.stop)):
            run_script(session, spark, folder, seed)
