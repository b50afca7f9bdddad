"""Random transactions over tables of any layout: each reader sees what it should at every step, and
Hive could read what is left.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from acidsql.errors import Error, WriteConflictError
from acidsql.session import Session
from tests.lengths import seeds
from tests.session.rows.acid_files import check_files
from tests.session.rows.storage_model import Model, Row
from tests.session.rows.ways import settings_of
from tests.session.transactions.transaction_model import Statement, TransactionModel

pytestmark = pytest.mark.spark

RowId = tuple[int, int, int]
Ids = dict[str, dict[int, RowId]]


@dataclass
class Run:
    """Two sessions, the model, and the ROW__IDs that the first of them and all others saw last."""

    session: Session
    other: Session
    model: TransactionModel
    ids: Ids = field(default_factory=dict)
    committed_ids: Ids = field(default_factory=dict)
    log: list[str] = field(default_factory=list)

    @property
    def chance(self) -> random.Random:
        return self.model.chance

    def execute(self, sql: str, *, who: Session | None = None) -> dict[str, int]:
        """The write ids, by table."""
        self.log.append(f"{'' if who is None else '/* other */ '}{sql};")
        return dict((who or self.session).sql(sql).stats.write_ids)

    def choose_paths(self) -> None:
        for sql in settings_of(self.chance):
            self.execute(sql)
        self.execute(f"SET acidsql.read.deletes={self.chance.choice(['filter', 'join'])}")

    def transaction(self) -> None:
        """One of a few statements, by START TRANSACTION or because autocommit is off."""
        self.execute(self.chance.choice(["START TRANSACTION", "BEGIN", "SET AUTOCOMMIT FALSE"]))
        for _ in range(self.chance.randrange(1, 6)):
            if self.chance.random() < 0.15:
                self.foreign()
            self.step()
        if self.chance.random() < 0.25:
            self.execute("ROLLBACK")
            self.model.rollback()
            self.ids = {name: dict(ids) for name, ids in self.committed_ids.items()}
        else:
            self.commit()
        self.execute("SET AUTOCOMMIT TRUE")
        for name in self.model.models:
            self.check(name)
            self.check_statistics(name)
        check_files(self.session, *self.model.models)

    def step(self) -> None:
        self.choose_paths()
        statement = self.model.statement()
        if statement.fails:
            self.fail(statement)
        else:
            self.succeed(statement)
        # not both: more transactions find more than more looks at one
        look = self.chance.choice([self.check_other, self.check_count])
        look(self.chance.choice(list(self.model.models)))

    def succeed(self, statement: Statement) -> None:
        write_ids = self.execute(statement.sql)
        for change in statement.changes:
            self.check(change.name, change.new, write_ids.get(f"default.{change.name}"))

    def fail(self, statement: Statement) -> None:
        with pytest.raises(Error):
            self.execute(statement.sql)
        for name in self.model.models:
            self.check(name)

    def foreign(self) -> None:
        statement = self.model.foreign()
        self.execute(statement.sql, who=self.other)
        (change,) = statement.changes
        self.check_other(change.name, change.new)
        if self.model.open:
            self.check(change.name)
        else:
            self.ids = {name: dict(ids) for name, ids in self.committed_ids.items()}

    def commit(self) -> None:
        mine = {
            name: {u: ids[u] for u in self.model.born[name] & ids.keys()}
            for name, ids in self.ids.items()
        }
        if self.model.commit():
            self.execute("COMMIT")
            for name, ids in mine.items():
                self.committed_ids[name] = {
                    u: i
                    for u, i in self.committed_ids[name].items()
                    if u in self.model.committed[name]
                } | ids
        else:
            with pytest.raises(WriteConflictError):
                self.execute("COMMIT")
        self.ids = {name: dict(ids) for name, ids in self.committed_ids.items()}

    # ---- what is seen

    def read(self, session: Session, name: str) -> tuple[dict[int, Row], dict[int, RowId]]:
        model = self.model.models[name]
        shown = "NULL" if model.insert_only else "ROW__ID"
        found = list(session.sql(f"SELECT {shown}, * FROM {name}").rows())
        names = [c.name for c in model.all_columns]
        rows = [dict(zip(names, values, strict=True)) for _, *values in found]
        assert len({row["u"] for row in rows}) == len(rows), (
            f"a row is seen twice in {name}: {found}"
        )
        if model.insert_only:
            return {row["u"]: row for row in rows}, {}
        ids = [tuple(row_id.values()) for row_id, *_ in found]
        places = {(row_id, model.partition(row)) for row_id, row in zip(ids, rows, strict=True)}
        assert len(places) == len(rows), f"two rows of {name} have one ROW__ID"
        return {row["u"]: row for row in rows}, {
            row["u"]: i for row, i in zip(rows, ids, strict=True)
        }

    def check(
        self, name: str, new: frozenset[int] = frozenset(), write_id: int | None = None
    ) -> None:
        """The session's own view. ``new``: rows with an id of this write id; all others have the
        one they had. (Insert-only: no ids.)
        """
        rows, ids = self.read(self.session, name)
        assert rows == self.model.models[name].rows, name
        assert {u: i for u, i in ids.items() if u not in new} == {
            u: i for u, i in self.ids[name].items() if u in ids and u not in new
        }
        assert {ids[u][0] for u in new if u in ids} <= {write_id}
        self.ids[name] = ids

    def check_other(self, name: str, new: frozenset[int] = frozenset()) -> None:
        """Everybody else's view: what is committed. ``new``: rows that this one has just written;
        all others keep their ids.
        """
        rows, ids = self.read(self.other, name)
        assert rows == self.model.committed[name], f"{name} as others see it"
        known = self.committed_ids[name]
        assert {u: i for u, i in ids.items() if u not in new} == {
            u: i for u, i in known.items() if u in ids and u not in new
        }
        self.committed_ids[name] = ids

    def check_statistics(self, name: str) -> None:
        """Behind the end of a transaction: where numRows is said to hold it is the
        number of rows.
        """
        told = dict(self.session.sql(f"SHOW TBLPROPERTIES {name}").rows())
        if "BASIC_STATS" in told.get("COLUMN_STATS_ACCURATE", ""):
            assert int(told["numRows"]) == len(self.model.committed[name]), f"numRows of {name}"

    def check_count(self, name: str) -> None:
        model = self.model.models[name]
        condition = model.condition()
        assert list(self.session.sql(f"SELECT count(*) FROM {name}").rows()) == [(len(model.rows),)]
        found = sorted(
            row[0] for row in self.session.sql(f"SELECT u FROM {name} WHERE {condition.sql}").rows()
        )
        assert found == sorted(row["u"] for row in model.meeting(condition)), condition.sql


def make_tables(session: Session, chance: random.Random, names: list[str]) -> list[Model]:
    """Plain, bucketed, partitioned and insert-only ones, some with files of the time before they
    were transactional.
    """
    models = [Model(name, chance) for name in names]
    for model in models:
        session.sql(model.create())
        if model.converted:
            session.sql(model.insert().sql)
            session.sql(f"ALTER TABLE {model.name} SET TBLPROPERTIES ({model.transactional})")
        for _ in range(chance.randrange(2)):
            session.sql(model.insert().sql)
    return models


def run_sequence(
    session: Session, warehouse: Path, spark: SparkSession, seed: int, transactions: int
) -> None:
    chance = random.Random(seed)
    models = make_tables(
        session, chance, [f"t{seed}_{letter}" for letter in "abc"[: chance.randrange(2, 4)]]
    )
    lockless = {"hive.support.concurrency": "false"}  # one thread plays both: nobody could wait
    session.sql("SET hive.support.concurrency=false")
    with Session(warehouse, spark=spark, settings=lockless) as other:
        run = Run(session, other, TransactionModel(chance, models))
        run.log += [f"{model.create()};" for model in models]
        try:
            for model in models:
                _, ids = run.read(session, model.name)
                run.ids[model.name], run.committed_ids[model.name] = ids, dict(ids)
            for _ in range(transactions):
                run.transaction()
                if chance.random() < 0.3:
                    run.foreign()
        except (Exception, pytest.fail.Exception) as error:
            raise AssertionError("\n".join([f"seed {seed}", *run.log, str(error)])) from error
        finally:
            session.rollback()
            session.autocommit = True
    for model in models:
        session.sql(f"DROP TABLE {model.name}")


def test_transactions_are_those_of_the_model(
    session: Session, warehouse: Path, spark: SparkSession
) -> None:
    """Two sequences of two transactions over two or three tables."""
    for seed in range(2):
        run_sequence(session, warehouse, spark, seed, transactions=2)


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("part", range(1, 6))
def test_transactions_are_those_of_the_model_at_length(
    session: Session, warehouse: Path, spark: SparkSession, part: int
) -> None:
    """The same, longer sequences of four transactions each."""
    for seed in seeds(part, 6):
        run_sequence(session, warehouse, spark, seed, transactions=4)
