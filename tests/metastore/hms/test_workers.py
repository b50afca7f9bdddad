"""``acidsql compactor`` as a worker of a Hive metastore's queue. Whole Hives are asked in tests/interop."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from acidsql import crash_points
from acidsql.acid.ids import Base, parse_directory
from acidsql.catalog.model import TableName
from acidsql.errors import MetastoreError, NotSupportedError
from acidsql.metastore.hive.calls.reading import Method
from acidsql.metastore.hive.client import Client
from acidsql.metastore.hms.workers import GIVEN_BACK, properties_of
from acidsql.session import Session
from acidsql.txn.compactions import CompactionRequest, CompactionType
from acidsql.txn.locks import LockComponent, LockRequest, LockType
from tests.cli.running import Ran, called
from tests.metastore.hms.service import HiveService, Struct
from tests.metastore.hms.test_session import ACID, LOCAL, closing, opened, rows

WORKER = "host-1"
T = TableName("d", "t")


@pytest.fixture
def service(tmp_path: Path) -> Iterator[HiveService]:
    """A Hive 4 with a table of four deltas and two delete deltas, and a partition of as many."""
    served = HiveService(tmp_path / "hive", "4.0.1")
    try:
        with Session(metastore=served.url, settings=LOCAL) as session:
            session.sql("CREATE DATABASE d")
            session.sql(f"CREATE TABLE d.t (id INT, name STRING) {ACID}")
            session.sql(f"CREATE TABLE d.p (id INT) PARTITIONED BY (k STRING) {ACID}")
            for number in range(3):
                session.sql(f"INSERT INTO d.t VALUES ({number}, 'a')")
                session.sql(f"INSERT INTO d.p PARTITION (k='x') VALUES ({number})")
            session.sql("UPDATE d.t SET name = 'B' WHERE id = 1")
            session.sql("DELETE FROM d.t WHERE id = 0")
            session.sql("DELETE FROM d.p WHERE id = 0")
        yield served
    finally:
        served.close()


@pytest.fixture
def session(service: HiveService) -> Iterator[Session]:
    with Session(metastore=service.url, settings=LOCAL) as session:
        yield session


def with_ids(session: Session, table: str) -> list[str]:
    return sorted(str(row) for row in session.sql(f"SELECT ROW__ID, * FROM {table}").rows())


def work(capsys: pytest.CaptureFixture[str], service: HiveService, *options: str) -> Ran:
    return called(capsys, "compactor", "--metastore", service.url, "--once", *options)


def names(service: HiveService, below: str = "t") -> set[str]:
    home = service.warehouse / "d.db" / below
    return {one.name for one in home.iterdir() if not one.name.startswith(".")}


def new_names(service: HiveService, before: set[str], below: str = "t") -> list[str]:
    return sorted(names(service, below) - before)


@pytest.mark.parametrize("kind", ["minor", "major"])
def test_rows_and_their_ids_stay(
    service: HiveService, session: Session, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    """The outputs have the worker's transaction in their names; Hive's cleaner does the rest."""
    home = service.warehouse / "d.db" / "t"
    ids, before = with_ids(session, "d.t"), names(service)
    asked = session.sql(f"ALTER TABLE d.t COMPACT '{kind}'")
    assert list(asked.notes) == ["Compaction enqueued with id 1"]
    ran = work(capsys, service)
    assert ran.code == 0, ran.err
    (entry,) = service.compactions
    assert (entry["state"], entry["hightestWriteId"]) == ("ready for cleaning", 5)
    made = new_names(service, before)
    parsed = [parse_directory(name) for name in made]
    assert [one.visibility_txn_id for one in parsed if one] == [entry["txnId"]] * len(made)
    assert [isinstance(one, Base) for one in parsed] == [kind == "major"] * len(made)
    assert len(made) == (1 if kind == "major" else 2)
    for name in made:
        files = {one.name for one in (home / name).iterdir()}
        assert files == {"_orc_acid_version", "bucket_00000"}
    assert with_ids(session, "d.t") == ids
    for name in before:
        for file in (home / name).iterdir():
            file.unlink()
        (home / name).rmdir()
    assert with_ids(session, "d.t") == ids
    session.sql("UPDATE d.t SET name = 'C' WHERE id = 1")
    assert rows(session) == [(1, "C"), (2, "a")]
    assert service.store.list_locks() == ()
    assert service.store.valid_txns().open == ()


def test_a_partition(
    service: HiveService, session: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is compacted where it lies; the statement waits for whoever does that."""
    ids, before = with_ids(session, "d.p"), names(service, "p/k=x")
    with ThreadPoolExecutor(1) as pool:
        statement = "ALTER TABLE d.p PARTITION (k='x') COMPACT 'major' AND WAIT"
        waiting = pool.submit(session.sql, statement)
        while not waiting.done():
            assert work(capsys, service).code == 0
        assert waiting.result().notes[-1] == (
            "Compaction with id 1 finished with status: ready for cleaning"
        )
    assert len(new_names(service, before, "p/k=x")) == 1
    assert with_ids(session, "d.p") == ids


def test_many_deltas_are_merged_in_steps(
    service: HiveService, session: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each step takes what the one before has made, though nobody else sees that yet."""
    ids, before = with_ids(session, "d.t"), names(service)
    few = "('compactor.hive.compactor.max.num.delta'='2')"
    session.sql(f"ALTER TABLE d.t COMPACT 'minor' WITH OVERWRITE TBLPROPERTIES {few}")
    assert work(capsys, service).code == 0
    made = new_names(service, before)
    assert len(made) > 2
    assert {"delta_0000001_0000005", "delete_delta_0000001_0000005"} < {
        name.partition("_v")[0] for name in made
    }
    assert with_ids(session, "d.t") == ids


def test_statistics_are_believed_still(
    service: HiveService, session: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    """The rows are what they were."""
    parameters = service.tables[T]["parameters"]
    parameters |= {"COLUMN_STATS_ACCURATE": '{"BASIC_STATS":"true"}'}
    session.sql("ALTER TABLE d.t COMPACT 'major'")
    assert work(capsys, service).code == 0
    assert "COLUMN_STATS_ACCURATE" in service.tables[T]["parameters"]


def test_nothing_to_do_is_refused(
    service: HiveService, session: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    """In Hive's words; and what only has old files goes to the cleaner."""
    session.sql("ALTER TABLE d.t COMPACT 'major'")
    assert work(capsys, service).code == 0
    session.sql("ALTER TABLE d.t COMPACT 'major'")
    session.sql(f"CREATE TABLE d.empty (id INT) {ACID}")
    session.sql("ALTER TABLE d.empty COMPACT 'major'")
    assert work(capsys, service).code == 0
    _, again, empty = service.compactions
    assert again["state"] == "ready for cleaning"
    assert empty["state"] == "refused"
    assert empty["errorMessage"].startswith("None of the compaction thresholds met")
    assert service.store.valid_txns().open == ()


def test_half_of_a_result_is_never_seen(
    service: HiveService,
    session: Session,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A minor compaction has given one of two directories its name, and fails: without the other
    one, whose delete events belong to it, deleted rows would come back.
    """
    ids, before = with_ids(session, "d.t"), names(service)

    def fail(point: str) -> None:
        if point == "compaction published":
            assert len(new_names(service, before)) == 1
            assert with_ids(session, "d.t") == ids
            raise OSError("no space left")

    session.sql("ALTER TABLE d.t COMPACT 'minor'")
    monkeypatch.setattr(crash_points, "hook", fail)
    assert work(capsys, service).code == 1
    (entry,) = service.compactions
    assert (entry["state"], entry["errorMessage"]) == (
        "failed",
        "cannot read or write: no space left",
    )
    assert new_names(service, before) == []
    assert with_ids(session, "d.t") == ids


def test_a_result_whose_commit_is_lost(
    service: HiveService, session: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    """Carried out or not: the rows are the same, and the entry ends as the transaction has."""
    ids = with_ids(session, "d.t")
    for after, state in ((False, "failed"), (True, "ready for cleaning")):
        session.sql("ALTER TABLE d.t COMPACT 'minor'")
        closing(service, "commit_txn", times=4, after=after)
        work(capsys, service)
        closing(service, "", times=0, after=after)
        assert service.compactions[-1]["state"] == state
        assert with_ids(session, "d.t") == ids
        assert service.store.valid_txns().open == ()


def test_who_has_lost_its_entry_shows_nothing(service: HiveService, session: Session) -> None:
    """Another worker has it, by the moment at which it was taken: that one says how it ends."""
    session.sql("ALTER TABLE d.t COMPACT 'minor'")
    store = opened(service)
    entry = store.next_compaction(WORKER)
    assert entry is not None
    begun = store.begin_compaction(entry.compaction_id, lease=entry.lease)
    store.heartbeat_compaction(entry.compaction_id, lease=entry.lease)
    service.compactions[0]["start"] += 1
    table = store.find_table(T)
    assert table is not None
    with (
        pytest.raises(MetastoreError, match="not this worker's any more"),
        store.publishing(entry.compaction_id, table, None, lease=entry.lease),
    ):
        raise AssertionError("nothing is published")
    with pytest.raises(MetastoreError, match="not this worker's any more"):
        store.finish_compaction(entry.compaction_id, lease=entry.lease)
    store.abort(begun.txn_id)
    assert service.compactions[0]["state"] == "working"
    store.close()


def test_an_entry_whose_giving_was_not_heard(service: HiveService, session: Session) -> None:
    """The worker finds it by its own name."""
    session.sql("ALTER TABLE d.t COMPACT 'minor'")
    store = opened(service)
    closing(service, "find_next_compact2", times=1, after=True)
    entry = store.next_compaction(WORKER)
    assert entry is not None
    assert entry.compaction_id == 1
    assert store.next_compaction(WORKER) is None
    store.close()


def test_what_is_given_back_is_asked_for_again(service: HiveService, session: Session) -> None:
    """With all that belongs to the request, and without a failure that would count."""
    given = {"compactor.acidsql.write.path": "small", "tblprops.a:b": "c d"}
    texts = ", ".join(f"'{key}'='{value}'" for key, value in given.items())
    session.sql(
        f"ALTER TABLE d.t COMPACT 'minor' POOL 'few' WITH OVERWRITE TBLPROPERTIES ({texts})"
    )
    store = opened(service)
    assert store.next_compaction(WORKER) is None
    entry = store.next_compaction(WORKER, pool="few")
    assert entry is not None
    assert entry.request.properties == given
    begun = store.begin_compaction(entry.compaction_id, lease=entry.lease)
    store.return_compaction(entry.compaction_id, lease=entry.lease)
    assert store.valid_txns().is_aborted(begun.txn_id)
    first, second = service.compactions
    assert (first["state"], first["errorMessage"]) == ("refused", GIVEN_BACK)
    again = store.next_compaction(WORKER, pool="few")
    assert again is not None
    assert (again.compaction_id, again.request) == (second["id"], entry.request)
    store.close()


def test_a_locked_table_fails_as_in_hive(
    service: HiveService, session: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever drops it keeps workers out."""
    session.sql("ALTER TABLE d.t COMPACT 'minor'")
    dropping = LockComponent(database="d", table="t", partition=None, type=LockType.EXCLUSIVE)
    lock = service.store.lock(LockRequest(components=(dropping,)))
    before = names(service)
    assert work(capsys, service).code == 1
    service.store.unlock(lock.lock_id)
    (entry,) = service.compactions
    assert entry["state"] == "failed"
    assert "is locked" in entry["errorMessage"]
    assert names(service) == before
    assert service.store.valid_txns().open == ()


def test_a_rebalance_is_left_to_hive(
    service: HiveService, session: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    """ROW__IDs change in it; nothing of it is done, and what follows in the queue is."""
    session.sql("ALTER TABLE d.t COMPACT 'rebalance'")
    session.sql("ALTER TABLE d.p PARTITION (k='x') COMPACT 'major'")
    assert work(capsys, service).code == 0
    refused, done = service.compactions
    assert (refused["state"], done["state"]) == ("refused", "ready for cleaning")
    assert "acidsql makes no rebalancing compaction" in refused["errorMessage"]


def test_what_is_of_no_partition_is_the_cleaners(
    service: HiveService, session: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is told up to which write id, and as whom to delete."""
    request = CompactionRequest(
        table=TableName("d", "p"), partition=None, type=CompactionType.MAJOR, initiator="hive-1"
    )
    store = opened(service)
    assert store.enqueue_compaction(request).accepted
    store.close()
    assert work(capsys, service).code == 0
    (entry,) = service.compactions
    assert (entry["state"], entry["hightestWriteId"]) == ("ready for cleaning", 4)
    assert service.store.valid_txns().is_valid(entry["txnId"])


def test_a_dropped_table_is_refused(
    service: HiveService, session: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    """In Hive's words."""
    session.sql("ALTER TABLE d.t COMPACT 'minor'")
    session.sql("DROP TABLE d.t")
    assert work(capsys, service).code == 0
    (entry,) = service.compactions
    assert entry["state"] == "refused"
    assert entry["errorMessage"].startswith("Unable to find table d.t")


def test_hive_has_the_other_roles(service: HiveService, capsys: pytest.CaptureFixture[str]) -> None:
    """Its initiator and its cleaner know what ours do not."""
    for option in ("--initiator", "--cleaner"):
        ran = work(capsys, service, option)
        assert ran.code == 1
        assert "cannot have an initiator or a cleaner of acidsql" in ran.err


def test_hive_3_gives_nothing_to_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its workers ask the database."""
    served = HiveService(tmp_path / "hive", "3.1.3")
    try:
        ran = work(capsys, served)
        assert ran.code == 1
        assert "cannot give compactions to workers of acidsql" in ran.err
        store = opened(served)
        assert store.next_compaction(WORKER, only=1) is None
        with pytest.raises(NotSupportedError):
            store.next_compaction(WORKER)
        store.close()
    finally:
        served.close()


@pytest.mark.parametrize(
    ("text", "properties"),
    [
        ("", {}),
        ("0:", {}),
        ("1:1:a2:bc", {"a": "bc"}),
        ("2:1:a0:3:b:c3:d1:", {"a": "", "b:c": "d1:"}),
        ("2:1:a-1:1:b1:c", {"b": "c"}),
    ],
)
def test_properties(text: str, properties: Struct) -> None:
    """Each text stands behind its length."""
    assert properties_of(text) == properties


def test_other_texts_are_no_properties() -> None:
    """Nothing is guessed."""
    for text in ("a=b", "1:a", "2:1:a1:b"):
        with pytest.raises(MetastoreError, match="no properties of a compaction"):
            properties_of(text)


@pytest.mark.parametrize("committed", [False, True], ids=["at work", "committed"])
def test_entries_of_the_dead_are_ended(
    service: HiveService,
    session: Session,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    committed: bool,
) -> None:
    """By the next worker of acidsql on the host, since Hive would wait for a day. What Hive's own
    worker has is left to it.
    """
    ids = with_ids(session, "d.t")
    session.sql("ALTER TABLE d.p PARTITION (k='x') COMPACT 'minor'")
    session.sql("ALTER TABLE d.t COMPACT 'minor'")
    service._find_next_compact2({"workerId": "host-7", "workerVersion": "4.0.1"})
    if child := os.fork():
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    else:
        point = "mark_compacted" if committed else "commit_txn"
        call = Client.call

        def die(self: Client, method: Method, **arguments: Any) -> Any:
            if method.name == point:
                os._exit(9)
            return call(self, method, **arguments)

        monkeypatch.setattr(Client, "call", die)
        work(capsys, service)
        os._exit(1)
    assert [one["state"] for one in service.compactions] == ["working", "working"]
    assert work(capsys, service).code == 0
    ended = "ready for cleaning" if committed else "refused"
    assert [one["state"] for one in service.compactions] == ["working", ended]
    assert with_ids(session, "d.t") == ids
    assert service.store.valid_txns().open == ()


def test_metrics_are_given(
    service: HiveService, session: Session, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """As of a warehouse: what the queue and the directories tell."""
    session.sql("ALTER TABLE d.t COMPACT 'major'")
    target = tmp_path / "metrics"
    ran = work(capsys, service, "--metrics", str(target))
    assert ran.code == 0, ran.err
    assert "compaction_num_working" in target.read_text()
