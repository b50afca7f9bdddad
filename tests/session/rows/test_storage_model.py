"""Tables of any layout under any sequence of statements: the rows of the model, and every untouched
row under its old ROW__ID.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from acidsql.acid.bucketing import bucket_numbers
from acidsql.acid.ids import decode
from acidsql.catalog.model import TableName
from acidsql.catalog.statistics import is_accurate
from acidsql.catalog.types import arrow_type, parse_type
from acidsql.planner.bind.bound_catalog import BoundAnalyze
from acidsql.session import Session
from acidsql.txn.reading import ReadSnapshot
from tests.lengths import seeds
from tests.session.rows.storage_model import Model, Row
from tests.session.rows.ways import settings_of

pytestmark = pytest.mark.spark

RowId = tuple[int, int, int]
DELETES = ("filter", "join")
NO_ID = (-1, -1)
"""Rows of an insert-only table have no ROW__ID."""


@dataclass
class Run:
    """One table, its model, and where each row was seen last."""

    session: Session
    model: Model
    ids: dict[int, RowId] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)

    def execute(self, sql: str) -> int | None:
        """The write id, if the statement has one."""
        self.log.append(f"{sql};")
        return self.session.sql(sql).stats.write_ids.get(f"default.{self.model.name}")

    def make(self, warehouse: Path) -> None:
        """The empty table, or one with plain files that has become transactional."""
        self.execute(self.model.create())
        if not self.model.converted:
            return
        for _ in range(self.model.chance.randrange(1, 5)):
            self.choose_path()
            self.execute(self.model.insert().sql)
        if not self.model.bucketed_by:
            self.move_into_directories(warehouse / self.model.name)
        self.execute(
            f"ALTER TABLE {self.model.name} SET TBLPROPERTIES ({self.model.transactional})"
        )
        self.check(None, frozenset(self.model.rows))

    def move_into_directories(self, folder: Path) -> None:
        """Some of the files, as a UNION ALL of Hive on Tez leaves them."""
        for path in sorted(folder.rglob("0*")):
            if self.model.chance.random() < 0.3:
                below = path.parent / f"HIVE_UNION_SUBDIR_{self.model.chance.randrange(1, 3)}"
                if not (below / path.name).exists():
                    below.mkdir(exist_ok=True)
                    path.rename(below / path.name)
                    self.log.append(f"-- {path} moved to {below}")

    def choose_path(self) -> None:
        for sql in settings_of(self.model.chance):
            self.execute(sql)

    def step(self) -> None:
        self.choose_path()
        step = self.model.statement()
        write_id = self.execute(step.sql)
        self.check(write_id, step.new)
        if self.model.chance.random() < 0.5:
            self.check_condition()

    def read(self, session: Session, deletes: str) -> dict[int, tuple[RowId, Row]]:
        session.sql(f"SET acidsql.read.deletes={deletes}")
        row_id = (
            f"named_struct('w', {NO_ID[0]}L, 'b', {NO_ID[1]}, 'r', u)"
            if self.model.insert_only
            else "ROW__ID"
        )
        found = list(session.sql(f"SELECT {row_id}, * FROM {self.model.name}").rows())
        names = [c.name for c in self.model.all_columns]
        rows = {}
        for row_id, *values in found:
            row = dict(zip(names, values, strict=True))
            rows[row["u"]] = (tuple(row_id.values()), row)
        assert len(rows) == len(found), f"a row is seen twice: {found}"
        return rows

    def check(self, write_id: int | None, new: frozenset[int]) -> None:
        """``new``: rows with an id of this write id; all others have the one they had."""
        seen = self.read(self.session, self.model.chance.choice(DELETES))
        assert {u: row for u, (_, row) in seen.items()} == self.model.rows
        ids = {u: row_id for u, (row_id, _) in seen.items()}
        assert {u: i for u, i in ids.items() if u not in new} == {
            u: i for u, i in self.ids.items() if u in ids and u not in new
        }
        assert {ids[u][0] for u in new} <= {NO_ID[0] if self.model.insert_only else write_id or 0}
        places = [(row_id, self.model.partition(seen[u][1])) for u, row_id in ids.items()]
        assert len(set(places)) == len(places), "two rows with one ROW__ID"
        self.check_buckets(seen)
        self.check_numbers()
        self.ids = ids

    def check_buckets(self, seen: dict[int, tuple[RowId, Row]]) -> None:
        model = self.model
        if model.bucketed_by and seen and not model.insert_only:
            types = {c.name: c.type for c in model.columns}
            keys = [
                (
                    pa.array(
                        [row[n] for _, row in seen.values()], arrow_type(parse_type(types[n]))
                    ),
                    types[n],
                )
                for n in model.bucketed_by
            ]
            expected = bucket_numbers(
                keys, model.buckets, 1 if model.bucketing_version == 1 else 2
            ).tolist()
            assert [decode(row_id[1]).bucket for row_id, _ in seen.values()] == expected

    def check_numbers(self) -> None:
        """``count(*)`` is right, with Spark and without; so are statistics, which always hold but
        after a conversion.
        """
        for without_spark in ("true", "false")[: 1 + (self.model.chance.random() < 0.2)]:
            self.session.sql(f"SET hive.compute.query.using.stats={without_spark}")
            assert list(self.session.sql(f"SELECT count(*) FROM {self.model.name}").rows()) == [
                (len(self.model.rows),)
            ]
        self.session.sql("SET hive.compute.query.using.stats=true")
        table = self.session.store.find_table(TableName("default", self.model.name))
        assert table is not None
        partitions = self.session.store.list_partitions(table) if table.partition_columns else None
        action = BoundAnalyze(
            table=table, partitions=partitions, columns=(), noscan=True, words="", facts=()
        )
        with ReadSnapshot(self.session.store) as visible:
            found = self.session.engine.analyze(action, self.session.engine.snapshots(visible))
        for one in found:
            kept = table.statistics if one.partition is None else one.partition.statistics
            assert is_accurate(kept) or self.model.converted, (kept, one)
            if is_accurate(kept):
                assert (kept["numFiles"], kept["totalSize"]) == (str(one.files), str(one.bytes))
                # Only the rows of ORC files can be told without reading them.
                assert kept["numRows"] == str(one.rows) or self.model.stored_as != "ORC"

    def check_condition(self) -> None:
        """A query that may skip partitions, buckets and stripes finds all rows it should."""
        condition = self.model.condition()
        sql = f"SELECT u FROM {self.model.name} WHERE {condition.sql}"
        self.log.append(f"{sql};")
        found = sorted(row[0] for row in self.session.sql(sql).rows())
        assert found == sorted(row["u"] for row in self.model.meeting(condition))
        assert self.count(f" WHERE {condition.sql}") == len(found)

    def count(self, condition: str) -> int:
        """By the footers of the files where they can tell."""
        [(count,)] = self.session.sql(f"SELECT count(*) FROM {self.model.name}{condition}").rows()
        return int(count)

    def check_anew(self, session: Session) -> None:
        """Another session sees the same, whichever way it applies the deletes."""
        for deletes in DELETES:
            assert {u: row_id for u, (row_id, _) in self.read(session, deletes).items()} == self.ids


def run_sequence(
    session: Session, warehouse: Path, spark: SparkSession, seed: int, steps: int
) -> None:
    chance = random.Random(seed)
    run = Run(session, Model(f"t{seed}", chance))
    try:
        run.make(warehouse)
        for _ in range(steps):
            run.step()
        with Session(warehouse, spark=spark) as other:
            run.check_anew(other)
        run.execute(f"DROP TABLE {run.model.name}")
        assert not (warehouse / run.model.name).exists()
    except Exception as error:
        raise AssertionError("\n".join([f"seed {seed}", *run.log, str(error)])) from error


def test_rows_and_ids_are_those_of_the_model(
    session: Session, warehouse: Path, spark: SparkSession
) -> None:
    """Plain, bucketed, partitioned and converted tables under random statements."""
    for seed in range(3):
        run_sequence(session, warehouse, spark, seed, steps=6)


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("part", range(1, 6))
def test_rows_and_ids_are_those_of_the_model_at_length(
    session: Session, warehouse: Path, spark: SparkSession, part: int
) -> None:
    """The same, longer sequences."""
    for seed in seeds(part, 8):
        run_sequence(session, warehouse, spark, seed, steps=8)
