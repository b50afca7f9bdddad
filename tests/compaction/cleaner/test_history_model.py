"""Random changes, compactions and cleanings, with readers that hold old snapshots: no reader's rows
and ROW__IDs ever change, and the newest rows are those of the changes alone.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from acidsql.files.fileio import path_of
from acidsql.session import Session
from acidsql.storage.snapshots import acid_directory
from tests.compaction.cleaning import ACID, clean_all, cleaner_of, queued
from tests.compaction.compacting import MAJOR, MINOR, find
from tests.lengths import seeds
from tests.session.transactions.crashes import garbage

pytestmark = pytest.mark.spark

Rows = dict[int, int]
Stored = list[tuple[Any, ...]]
STEPS = 10


@pytest.fixture
def sessions(warehouse: Path, spark: SparkSession) -> Iterator[list[Session]]:
    """A writer, a compactor, and two readers."""
    with ExitStack() as opened:
        yield [opened.enter_context(Session(str(warehouse), spark=spark)) for _ in range(4)]


@dataclass(slots=True, kw_only=True)
class History:
    """A table ``name`` of sessions, its rows as they should be, and those that each reader saw, with
    their ROW__IDs, when its transaction began.
    """

    name: str
    sessions: list[Session]
    choice: random.Random
    rows: Rows = field(default_factory=dict)
    seen: dict[int, Stored] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    last: int = 0
    partitioned: bool = False

    def run(self) -> None:
        writer, self.partitioned = self.sessions[0], self.choice.random() < 0.5
        of = "PARTITIONED BY (k STRING)" if self.partitioned else ""
        writer.sql(f"CREATE TABLE {self.name} (id INT, n INT) {of} {ACID}")
        self.insert()
        changes = [self.insert, self.insert, self.insert, self.update, self.delete, self.abort]
        readers = [self.begin_or_end, self.begin_or_end, self.look]
        steps = [*changes, *readers, self.compact, self.compact, self.compact, self.clean]
        for _ in range(STEPS):
            self.choice.choice(steps)()
        for reader in [*self.seen]:
            self.end(reader)
        self.check(writer, self.rows)

    # ---- changes

    def insert(self) -> None:
        new = {self.last + 1 + i: self.choice.randint(0, 9) for i in range(3)}
        self.last += 3
        self.rows |= new
        values = ", ".join(self.value(i, n) for i, n in new.items())
        self.change(f"INSERT INTO {self.name} VALUES {values}")

    def value(self, number: int, n: int) -> str:
        partition = f", '{'ab'[number % 2]}'" if self.partitioned else ""
        return f"({number}, {n}{partition})"

    def update(self) -> None:
        some = self.some()
        self.rows |= {i: self.rows[i] + 1 for i in some}
        self.change(f"UPDATE {self.name} SET n = n + 1 WHERE id IN ({self.listed(some)})")

    def delete(self) -> None:
        some = self.some()
        self.rows = {i: n for i, n in self.rows.items() if i not in some}
        self.change(f"DELETE FROM {self.name} WHERE id IN ({self.listed(some)})")

    def change(self, statement: str) -> None:
        self.said.append(statement)
        self.sessions[0].sql(statement)

    def abort(self) -> None:
        """A change whose write id is never committed."""
        writer = self.sessions[0]
        writer.begin()
        if self.choice.random() < 0.3:
            self.change(f"UPDATE {self.name} SET n = -7")
        else:
            self.change(f"INSERT INTO {self.name} VALUES {self.value(-7, -7)}")
        self.said.append("ROLLBACK")
        writer.rollback()

    def some(self) -> list[int]:
        return self.choice.sample(sorted(self.rows), min(2, len(self.rows)))

    def listed(self, some: list[int]) -> str:
        return ", ".join(map(str, some)) or "0"

    # ---- compactions

    def compact(self) -> None:
        kind = self.choice.choice([MINOR, MAJOR])
        self.said.append(f"compact {kind.name}")
        queued(self.sessions[1], self.name, kind)

    def clean(self) -> None:
        self.said.append("clean")
        clean_all(self.sessions[1])

    # ---- readers

    def begin_or_end(self) -> None:
        reader = self.choice.choice([2, 3])
        if reader in self.seen:
            self.end(reader)
            return
        self.said.append(f"reader {reader} begins")
        self.sessions[reader].begin()
        self.seen[reader] = self.stored(reader)
        assert sorted(row[1:] for row in self.seen[reader]) == sorted(self.rows.items()), self.said

    def end(self, reader: int) -> None:
        self.said.append(f"reader {reader} ends")
        assert self.stored(reader) == self.seen.pop(reader), self.said
        self.sessions[reader].rollback()

    def look(self) -> None:
        for reader, stored in self.seen.items():
            assert self.stored(reader) == stored, self.said
        self.check(self.sessions[1], self.rows)

    def stored(self, reader: int) -> Stored:
        """All rows behind their ROW__IDs."""
        rows = self.sessions[reader].sql(f"SELECT ROW__ID, id, n FROM {self.name}").rows()
        return sorted((tuple(row_id.values()), *row) for row_id, *row in rows)

    def check(self, session: Session, rows: Rows) -> None:
        result = session.sql(f"SELECT id, n FROM {self.name}").rows()
        assert sorted(result) == sorted(rows.items()), self.said


def check_history(sessions: list[Session], seed: int) -> None:
    history = History(name=f"t{seed}", sessions=sessions, choice=random.Random(seed))
    history.run()
    compactor = sessions[1]
    sessions[0].sql(f"INSERT INTO {history.name} VALUES {history.value(0, 0)}")
    queued(compactor, history.name, MAJOR)
    clean_all(compactor)
    cleaner_of(compactor).clean_aborted()
    history.check(compactor, history.rows | {0: 0})
    assert unexplained(compactor, history.name) == [], history.said
    assert garbage(compactor) == []


def unexplained(session: Session, name: str) -> list[str]:
    """The directories that no reader who comes now would read."""
    table = find(session, name)
    write_ids = session.store.valid_write_ids(table.name, session.store.valid_txns())
    roots = [p.location for p in session.store.list_partitions(table)] or [table.location]
    seen = [acid_directory(session.files, path_of(root), write_ids) for root in roots]
    return [path for one in seen for path in (*one.obsolete, *one.aborted)]


@pytest.mark.parametrize("seed", range(3))
def test_no_readers_rows_ever_change(sessions: list[Session], seed: int) -> None:
    """Whatever is changed, compacted and cleaned beside it."""
    check_history(sessions, seed)


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_no_readers_rows_ever_change_in_many_histories(sessions: list[Session]) -> None:
    """A hundred and more."""
    for seed in seeds(1, 120):
        check_history(sessions, seed)
