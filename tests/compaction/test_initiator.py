"""The Initiator asks for what is due, once, and says why it does not."""

from __future__ import annotations

import pytest

from acidsql.catalog.model import TableName
from acidsql.compaction.initiator import GAVE_UP, Initiator, Where
from acidsql.session import Session
from acidsql.txn.compactions import Compaction, CompactionState, CompactionType
from tests.compaction.conftest import ACID
from tests.contracts import Clock

T = TableName("default", "t")
NAME = "host-1"
ENOUGH = 11


@pytest.fixture
def said() -> list[tuple[Where, str]]:
    return []


@pytest.fixture
def initiator(small: Session, clock: Clock, said: list[tuple[Where, str]]) -> Initiator:
    return Initiator(
        store=small.store,
        files=small.files,
        settings=small.settings,
        clock=clock,
        name=NAME,
        say=lambda where, what: said.append((where, what)),
    )


def fill(session: Session, table: str = "t", partition: str = "", times: int = ENOUGH) -> None:
    for number in range(times):
        session.sql(f"INSERT INTO {table} {partition} VALUES ({number})")


def make(session: Session, properties: str = "", *, times: int = ENOUGH) -> None:
    session.sql(f"CREATE TABLE t (id INT) {ACID.format(properties)}")
    fill(session, times=times)


def entries(session: Session) -> list[tuple[str | None, CompactionType, CompactionState]]:
    return [(c.request.partition, c.request.type, c.state) for c in session.store.compactions()]


def fail(session: Session, clock: Clock, *, after: float = 0.0) -> Compaction:
    """Takes the next entry and fails with it."""
    entry = session.store.next_compaction("worker-1")
    assert entry is not None
    session.store.begin_compaction(entry.compaction_id)
    clock.now += after
    session.store.end_compaction(entry.compaction_id, CompactionState.FAILED, "no room")
    return entry


def test_what_is_due_is_asked_for_once(small: Session, initiator: Initiator) -> None:
    """A table with too many deltas gets one entry, which the Initiator has signed; while it waits
    there is no second one.
    """
    make(small)

    assert initiator.run_once()
    assert not initiator.run_once()

    [entry] = small.store.compactions()
    assert (entry.request.table, entry.request.initiator) == (T, NAME)
    assert entry.request.type is CompactionType.MAJOR  # there is no base
    assert entry.state is CompactionState.INITIATED


def test_too_few_deltas_are_left_alone(
    small: Session, initiator: Initiator, said: list[tuple[Where, str]]
) -> None:
    """Below the thresholds nothing is asked for, and the reason is said."""
    make(small, times=ENOUGH - 1)

    assert not initiator.run_once()

    assert entries(small) == []
    assert said == [((T, None), "not compacted: 10 of 10 delta directories allowed, and no base")]


def test_only_what_was_written_to_is_looked_at_again(
    small: Session, initiator: Initiator, said: list[tuple[Where, str]], clock: Clock
) -> None:
    """After the first run, which looks at all tables, those are that have changed since."""
    make(small, times=1)
    small.sql(f"CREATE TABLE other (id INT) {ACID.format('')}")
    small.sql("INSERT INTO other VALUES (1)")
    clock.now += 3600
    initiator.run_once()
    assert [where[0].table for where, _ in said] == ["other", "t"]
    said.clear()
    clock.now += 3600
    initiator.run_once()
    assert said == []
    clock.now += 3600
    small.sql("INSERT INTO other VALUES (2)")

    initiator.run_once()

    assert [where[0].table for where, _ in said] == ["other"]


@pytest.mark.parametrize("place", ["table", "database"])
@pytest.mark.parametrize("name", ["NO_AUTO_COMPACTION", "no_auto_compaction"])
def test_no_auto_compaction_is_kept_to(
    small: Session, initiator: Initiator, said: list[tuple[Where, str]], place: str, name: str
) -> None:
    """What a table or its database forbids is not asked for, however many deltas there are."""
    if place == "database":
        small.sql(f"CREATE DATABASE d WITH DBPROPERTIES ('{name}'='true')")
        small.sql("USE d")
        make(small)
    else:
        make(small, f", '{name}'='TRUE'")

    assert not initiator.run_once()

    assert entries(small) == []
    assert said[-1][1].endswith("has NO_AUTO_COMPACTION")


def test_insert_only_tables_may_be_left_out(small: Session, initiator: Initiator) -> None:
    """hive.compactor.compact.insert.only says whether insert-only tables are compacted by
    themselves.
    """
    make(small, ", 'transactional_properties'='insert_only'")
    small.settings.set("hive.compactor.compact.insert.only", "false")
    assert not initiator.run_once()
    small.settings.set("hive.compactor.compact.insert.only", "true")

    assert initiator.consider([(T, None)]) == 1


def test_a_pool_is_the_tables_or_its_databases(small: Session, initiator: Initiator) -> None:
    """An entry goes to the pool that the table says, or else its database."""
    small.sql("CREATE DATABASE d WITH DBPROPERTIES ('hive.compactor.worker.pool'='of database')")
    small.sql("USE d")
    make(small)
    small.sql(
        "CREATE TABLE own (id INT) STORED AS ORC TBLPROPERTIES"
        " ('transactional'='true', 'hive.compactor.worker.pool'='of table')"
    )
    fill(small, "own")

    initiator.run_once()

    pools = {c.request.table.table: c.request.pool for c in small.store.compactions()}
    assert pools == {"t": "of database", "own": "of table"}


def test_partitions_are_compacted_each_by_itself(small: Session, initiator: Initiator) -> None:
    """Of a table with partitions those are asked for that are due; one that was dropped is none."""
    small.sql(f"CREATE TABLE t (id INT) PARTITIONED BY (p INT) {ACID.format('')}")
    for partition, times in (("1", ENOUGH), ("2", 2), ("3", ENOUGH)):
        fill(small, partition=f"PARTITION (p={partition})", times=times)
    small.sql("ALTER TABLE t DROP PARTITION (p=3)")

    assert initiator.consider([(T, "p=1"), (T, "p=2"), (T, "p=3"), (T, None)]) == 1

    assert entries(small) == [("p=1", CompactionType.MAJOR, CompactionState.INITIATED)]


def test_pauses_after_failures_grow(small: Session, initiator: Initiator, clock: Clock) -> None:
    """After two failures in a row there is a pause, which the history tells once, in Hive's words
    and with its end; then it is tried again, and the next pause is twice as long.
    """
    make(small)
    pauses = []
    for _ in range(4):
        assert initiator.run_once()
        fail(small, clock, after=1.0)
        failed = clock.now
        while not initiator.judge((T, None)).type:
            initiator.run_once()
            clock.now += 60
        pauses.append(clock.now - failed)

    assert pauses[0] == 0  # one failure is none
    assert 300 <= pauses[1] <= 360
    assert 2 * pauses[1] <= pauses[2] <= 3 * pauses[1]
    assert 2 * pauses[2] <= pauses[3] <= 3 * pauses[2]
    notes = [c for c in small.store.compactions() if c.state is CompactionState.DID_NOT_INITIATE]
    assert len(notes) == 3
    assert all(c.message and c.message.startswith(GAVE_UP) for c in notes)


def test_a_success_ends_the_pause(small: Session, initiator: Initiator, clock: Clock) -> None:
    """A compaction by hand that succeeds counts: the next one is asked for as ever."""
    make(small)
    for _ in range(2):
        assert initiator.run_once()
        fail(small, clock)
    assert initiator.judge((T, None)).type is None
    request = small.store.compactions()[0].request
    by_hand = small.store.enqueue_compaction(request).compaction_id
    assert small.store.next_compaction("worker-1") is not None
    small.store.begin_compaction(by_hand)
    small.store.finish_compaction(by_hand)

    assert initiator.judge((T, None)).type is CompactionType.MAJOR


def test_what_an_open_transaction_hides_is_looked_at_later(
    warehouse: object, small: Session, initiator: Initiator, clock: Clock
) -> None:
    """Writes above an open transaction count for nothing; when that has ended they do, though
    nothing was written since.
    """
    make(small, times=0)
    with Session(str(warehouse), metastore=small.store.metastore or "", clock=clock) as other:
        other.begin()
        other.sql("INSERT INTO t VALUES (0)")
        fill(small)
        assert not initiator.run_once()
        other.rollback()
        clock.now += 3600

        assert initiator.run_once()


def test_what_cannot_be_looked_at_is_noted_once(
    small: Session, initiator: Initiator, clock: Clock
) -> None:
    """A table whose threshold is no number is an entry of the history, with the reason, however
    often it is looked at; the others are served.
    """
    name = "compactorthreshold.hive.compactor.delta.num.threshold"
    make(small, f", '{name}'='ten'")
    small.sql(f"CREATE TABLE other (id INT) {ACID.format('')}")
    fill(small, "other")

    for _ in range(3):
        initiator.run_once()
        clock.now += 10

    by_table = {c.request.table.table: c for c in small.store.compactions()}
    assert len(small.store.compactions()) == 2
    assert by_table["t"].state is CompactionState.DID_NOT_INITIATE
    assert "expects INT" in (by_table["t"].message or "")
    assert by_table["other"].state is CompactionState.INITIATED


def test_judging_changes_nothing(small: Session, initiator: Initiator) -> None:
    """What would be done can be asked for at any time, and is then still to be done."""
    make(small)

    decision = initiator.judge((T, None))

    assert decision.type is CompactionType.MAJOR
    assert decision.why == "11 delta directories, more than 10, and no base"
    assert entries(small) == []


def test_one_look_judges_all_as_of_one_moment(small: Session, initiator: Initiator) -> None:
    """What is written after the first judgement counts for none of the others; a base that was made
    meanwhile, of what the look does not know of, is judged as it is now.
    """
    small.sql(f"CREATE TABLE t (id INT) PARTITIONED BY (p INT) {ACID.format('')}")
    for partition in ("1", "2", "3"):
        fill(small, partition=f"PARTITION (p={partition})", times=2)
    judge = initiator.judging()
    first = judge((T, "p=1"))
    for partition in ("2", "3"):
        fill(small, partition=f"PARTITION (p={partition})")
    small.sql("ALTER TABLE t PARTITION (p=3) COMPACT 'major' AND WAIT")

    assert judge((T, "p=2")) == first
    assert judge((T, "p=3")).why == "there are no deltas"
    assert initiator.judge((T, "p=2")).type is CompactionType.MAJOR
