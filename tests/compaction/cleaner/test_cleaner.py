"""A cleaner takes away what compactions made obsolete, and only that, when nobody needs it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from acidsql.acid.snapshot import INPUTS_FILE
from acidsql.compaction.cleaner import Cleaner
from acidsql.files.local_files import LocalFileIO
from acidsql.session import Session
from acidsql.txn.compactions import CompactionState
from acidsql.txn.reading import ReadSnapshot
from tests.compaction.cleaning import ACID, clean_all, cleaner_of, entry_of, queued, states
from tests.compaction.compacting import MAJOR, MINOR, directories, find
from tests.session.transactions.crashes import garbage, rows_of


@pytest.fixture
def opened(warehouse: Path) -> Iterator[Session]:
    """A session without Spark."""
    with Session(str(warehouse)) as session:
        yield session


def make(session: Session, name: str = "t", *, inserts: int = 3) -> None:
    session.sql(f"CREATE TABLE {name} (id INT) {ACID}")
    for number in range(inserts):
        session.sql(f"INSERT INTO {name} VALUES ({number})")


def test_what_a_compaction_replaced_is_removed(opened: Session) -> None:
    """After a minor one, and after a major one; nothing else, and then the entry has succeeded."""
    make(opened)
    before = rows_of(opened, "t")
    for kind, left in ((MINOR, "delta_0000001_0000003"), (MAJOR, "base_0000003")):
        if kind is MAJOR:
            opened.sql("INSERT INTO t VALUES (9)")
            left, before = "base_0000004", [*before, (9,)]
        queued(opened, "t", kind)
        assert len(directories(opened, "t")) > 1
        assert cleaner_of(opened).run_once()
        assert directories(opened, "t") == [left]
        assert rows_of(opened, "t") == before
        assert not cleaner_of(opened).run_once()
    assert states(opened) == ["succeeded", "succeeded"]


def test_each_partition_is_cleaned_by_itself(opened: Session) -> None:
    """One call a partition; what is written later stays."""
    opened.sql(f"CREATE TABLE p (id INT) PARTITIONED BY (k STRING) {ACID}")
    for number in range(2):
        opened.sql(f"INSERT INTO p VALUES ({number}, 'a'), ({number}, 'b')")
    assert len(queued(opened, "p", MAJOR)) == 2
    opened.sql("INSERT INTO p VALUES (5, 'a')")
    assert cleaner_of(opened).run_once()
    assert cleaner_of(opened).run_once()
    assert not cleaner_of(opened).run_once()
    assert [d for d in directories(opened, "p") if "/" in d] == [
        "k=a/base_0000002",
        "k=a/delta_0000003_0000003_0000",
        "k=b/base_0000002",
    ]
    assert rows_of(opened, "p") == [(0, "a"), (0, "b"), (1, "a"), (1, "b"), (5, "a")]


def test_a_reader_keeps_the_files_of_its_table_alone(opened: Session) -> None:
    """Those of another table go; and its own once it is closed."""
    make(opened)
    make(opened, "u")
    with ReadSnapshot(opened.store) as reader:
        reader.write_ids(find(opened, "t").name)
        queued(opened, "t", MAJOR)
        queued(opened, "u", MAJOR)
        clean_all(opened)
        assert states(opened) == ["ready for cleaning", "succeeded"]
        assert len(directories(opened, "t")) == 4
        assert directories(opened, "u") == ["base_0000003"]
    clean_all(opened)
    assert directories(opened, "t") == ["base_0000003"]


def test_who_reads_behind_the_compaction_holds_nobody_up(opened: Session) -> None:
    """A stream of readers would keep the files for ever."""
    make(opened)
    queued(opened, "t", MAJOR)
    with ReadSnapshot(opened.store) as reader:
        reader.write_ids(find(opened, "t").name)
        clean_all(opened)
    assert directories(opened, "t") == ["base_0000003"]


def test_a_minor_compaction_keeps_what_a_later_major_one_needs(opened: Session) -> None:
    """Cleaning behind the first looks at nothing that the second made, though it hides all."""
    make(opened)
    first = queued(opened, "t", MINOR)
    with ReadSnapshot(opened.store) as between:
        between.write_ids(find(opened, "t").name)
        opened.sql("INSERT INTO t VALUES (7)")
        queued(opened, "t", MAJOR)
        clean_all(opened)
        assert entry_of(opened, first[0].compaction_id).state is CompactionState.SUCCEEDED
        assert directories(opened, "t") == [
            "base_0000004",
            "delta_0000001_0000003",
            "delta_0000004_0000004_0000",
        ]
    clean_all(opened)
    assert directories(opened, "t") == ["base_0000004"]


def test_files_are_kept_for_as_long_as_is_asked(opened: Session) -> None:
    """By the setting, the table's property, and Hive's delayed clean-up: by the longest of them."""
    make(opened)
    opened.sql("ALTER TABLE t SET TBLPROPERTIES ('acidsql.history.retention'='2h')")
    queued(opened, "t", MAJOR)
    now = [0.0]
    cleaner = Cleaner(
        store=opened.store, files=opened.files, settings=opened.settings, clock=lambda: now[0]
    )
    committed = opened.store.compactions()[0].committed
    assert committed is not None
    for setting, hours in (
        ("hive.compactor.delayed.cleanup.enabled=true", 2),
        ("hive.compactor.cleaner.retention.time.seconds=3h", 3),
        ("acidsql.history.retention=4h", 4),
    ):
        opened.sql(f"SET {setting}")
        now[0] = committed / 1000 + hours * 3600 - 0.002
        assert not cleaner.run_once()
    now[0] += 0.003
    assert cleaner.run_once()


def test_a_table_with_no_cleanup_is_left_alone(opened: Session) -> None:
    """And its entry says why."""
    make(opened)
    opened.sql("ALTER TABLE t SET TBLPROPERTIES ('NO_CLEANUP'='true')")
    queued(opened, "t", MAJOR)
    clean_all(opened)
    assert states(opened) == ["refused"]
    assert len(directories(opened, "t")) == 4


def test_what_aborted_writes_have_left_is_not_the_cleaners(opened: Session) -> None:
    """Its directories stay for whoever looks after aborted transactions, and hide no row: an
    overwriting that was never committed is no base.
    """
    make(opened)
    before = rows_of(opened, "t")
    with opened.begin_work([find(opened, "t").name]) as aborted:
        assert aborted.txn.write_id(find(opened, "t").name) == 4
    stray = Path(find(opened, "t").location) / "base_0000004"
    stray.mkdir()
    [entry] = queued(opened, "t", MINOR)
    assert entry.highest_write_id == 4
    clean_all(opened)
    assert directories(opened, "t") == ["base_0000004", "delta_0000001_0000003"]
    assert rows_of(opened, "t") == before
    cleaner_of(opened).clean_aborted()
    assert (stray.exists(), garbage(opened)) == (False, [])
    assert rows_of(opened, "t") == before


class NamesOnlyIO(LocalFileIO):
    """A file system that cannot rename, as object stores cannot."""

    def renames(self, path: str) -> bool:
        return False

    def move_directory(self, old: str, new: str) -> None:
        raise AssertionError(f"{old} was to be renamed")


def test_files_go_where_nothing_can_be_renamed(opened: Session) -> None:
    """One after the other; nothing hidden is made."""
    make(opened)
    before = rows_of(opened, "t")
    queued(opened, "t", MAJOR)
    cleaner = Cleaner(
        store=opened.store, files=NamesOnlyIO(), settings=opened.settings, clock=time.time
    )
    assert cleaner.run_once()
    assert directories(opened, "t") == ["base_0000003"]
    assert rows_of(opened, "t") == before


def test_a_retention_that_is_no_time_keeps_the_files(opened: Session) -> None:
    """And the entry says why."""
    make(opened)
    opened.sql("ALTER TABLE t SET TBLPROPERTIES ('acidsql.history.retention'='a week')")
    [entry] = queued(opened, "t", MAJOR)
    clean_all(opened)
    waiting = entry_of(opened, entry.compaction_id)
    assert (waiting.state, waiting.attempts) == (CompactionState.READY_FOR_CLEANING, 1)
    assert waiting.message is not None
    assert "acidsql.history.retention" in waiting.message
    assert len(directories(opened, "t")) == 4


class StuckIO(LocalFileIO):
    """Directories that nobody can move or delete."""

    def move_directory(self, old: str, new: str) -> None:
        raise PermissionError(13, os.strerror(13), old)

    def delete_tree(self, path: str) -> None:
        if "delta_" in path:
            raise PermissionError(13, os.strerror(13), path)
        super().delete_tree(path)


def test_what_fails_is_tried_again_with_growing_pauses(opened: Session) -> None:
    """300 s, twice that, and so on; after the last attempt the entry has failed, by the reason."""
    make(opened)
    [entry] = queued(opened, "t", MAJOR)
    opened.sql("SET hive.compactor.cleaner.retry.maxattempts=2")
    now = [0.0]
    cleaner = Cleaner(
        store=opened.store, files=StuckIO(), settings=opened.settings, clock=lambda: now[0]
    )
    now[0] = (entry.committed or 0) / 1000 + 1
    for attempt in range(2):
        assert not cleaner.run_once()
        waiting = entry_of(opened, entry.compaction_id)
        assert waiting.attempts == attempt + 1
        assert waiting.retry_after == int(now[0] * 1000) + 300_000 * 2**attempt
        assert not cleaner.run_once()
        now[0] = waiting.retry_after / 1000
    assert cleaner.run_once()
    failed = entry_of(opened, entry.compaction_id)
    assert failed.state is CompactionState.FAILED
    assert failed.message is not None
    assert "Permission denied" in failed.message


def notes(session: Session, name: str = "t") -> list[str]:
    """The directories that say what they were made from."""
    home = Path(find(session, name).location)
    return sorted(path.parent.name for path in home.rglob(INPUTS_FILE))


def test_an_output_that_is_final_says_nothing_of_its_inputs(opened: Session) -> None:
    """As soon as they are gone, and not before; a second cleaner finds nothing to do."""
    make(opened)
    before = rows_of(opened, "t")
    queued(opened, "t", MINOR)
    assert notes(opened) == ["delta_0000001_0000003"]
    with ReadSnapshot(opened.store) as reader:
        reader.write_ids(find(opened, "t").name)
        opened.sql("INSERT INTO t VALUES (9)")
        queued(opened, "t", MAJOR)
        assert notes(opened) == ["base_0000004", "delta_0000001_0000003"]
    clean_all(opened)
    assert directories(opened, "t") == ["base_0000004"]
    assert notes(opened) == []
    assert rows_of(opened, "t") == [*before, (9,)]
    opened.sql("DELETE FROM t WHERE id = 9")
    assert rows_of(opened, "t") == before


def test_a_range_keeps_saying_that_no_aborted_row_is_in_it(opened: Session) -> None:
    """Else nobody could tell when the record of an aborted write id may go."""
    make(opened, inserts=1)
    with opened.begin_work([find(opened, "t").name]) as aborted:
        aborted.txn.write_id(find(opened, "t").name)
    opened.store.leave_writes(aborted.txn_id)
    opened.sql("INSERT INTO t VALUES (9)")
    before = rows_of(opened, "t")
    queued(opened, "t", MINOR)
    clean_all(opened)
    assert directories(opened, "t") == ["delta_0000001_0000003"]
    assert notes(opened) == ["delta_0000001_0000003"]
    assert rows_of(opened, "t") == before
