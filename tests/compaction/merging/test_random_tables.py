"""Tables of any layout under any sequence of statements, with compactions in between: the rows of
the model, every one under the ROW__ID it had.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from acidsql.catalog.partitions import name_of
from acidsql.session import Session
from acidsql.txn.compactions import CompactionState
from tests.compaction.compacting import MAJOR, MINOR, clean, find, work
from tests.lengths import seeds
from tests.session.rows.storage_model import Model
from tests.session.rows.test_storage_model import Run

pytestmark = pytest.mark.spark


class CompactedRun(Run):
    """Statements with compactions between them."""

    compacted = 0

    def step(self) -> None:
        super().step()
        if self.model.chance.random() < 0.7:
            self.compact()

    def compact(self) -> None:
        """The table or each of its partitions; sometimes what became obsolete goes at once."""
        self.choose_path()
        kind = self.model.chance.choice([MINOR, MINOR, MAJOR])
        table = find(self.session, self.model.name)
        partitions = self.session.store.list_partitions(table)
        names = [name_of(table, p) for p in partitions] if table.partition_columns else [None]
        for name in names:
            done = work(self.session, self.model.name, kind, name)
            self.log.append(f"-- {kind.name} of {name}: {done.state.words} {done.message or ''}")
            assert done.state in (CompactionState.READY_FOR_CLEANING, CompactionState.REFUSED)
            if done.state is CompactionState.READY_FOR_CLEANING:
                CompactedRun.compacted += 1
                self.session.store.mark_cleaned(done.compaction_id)
        self.check(None, frozenset())
        if self.model.chance.random() < 0.6:
            clean(self.session, self.model.name)
            self.log.append("-- cleaned")
            self.check(None, frozenset())


def run_sequence(
    session: Session, warehouse: Path, spark: SparkSession, seed: int, steps: int
) -> None:
    run = CompactedRun(session, Model(f"t{seed}", random.Random(seed)))
    try:
        run.make(warehouse)
        for _ in range(steps):
            run.step()
        with Session(warehouse, spark=spark) as other:
            run.check_anew(other)
        run.execute(f"DROP TABLE {run.model.name}")
    except Exception as error:
        raise AssertionError("\n".join([f"seed {seed}", *run.log, str(error)])) from error


def test_compactions_change_no_row(session: Session, warehouse: Path, spark: SparkSession) -> None:
    """Rows, ids and statistics are the same behind every compaction, cleaned or not."""
    before = CompactedRun.compacted
    for seed in range(2):
        run_sequence(session, warehouse, spark, seed, steps=6)
    assert CompactedRun.compacted > before + 1


@pytest.mark.slow
@pytest.mark.parametrize("part", range(1, 4))
def test_compactions_change_no_row_at_length(
    session: Session, warehouse: Path, spark: SparkSession, part: int
) -> None:
    """The same, longer sequences."""
    for seed in seeds(part, 4):
        run_sequence(session, warehouse, spark, seed, steps=10)
