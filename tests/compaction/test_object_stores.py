"""Compactions where a directory cannot be renamed: their results are seen from the commit on, whole,
whoever dies meanwhile. The store is an S3 server; nothing here needs Java.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acidsql import crash_points
from acidsql.acid.snapshot import INPUTS_FILE
from acidsql.compaction.doctor.finding import Finding
from acidsql.compaction.doctor.rounds import examine_table, tables_of
from acidsql.errors import SnapshotTooOldError
from acidsql.metastore import opening
from acidsql.session import Session
from acidsql.txn.compactions import CompactionState
from tests.compaction.cleaning import clean_all, cleaner_of, states
from tests.compaction.compacting import MAJOR, MINOR, REBALANCE, NoRenames, find, work, worker
from tests.session.transactions.crashes import killed
from tests.spark.stores import BUCKET, S3Server

ROOT = f"s3://{BUCKET}"
ACID = "TBLPROPERTIES ('transactional'='true')"
INSERT_ONLY = "TBLPROPERTIES ('transactional'='true', 'transactional_properties'='insert_only')"
LONG, SOON = 3600.0, 900.0
"""Seconds; the timeout of a transaction is 300."""


@pytest.fixture(params=["a file", pytest.param("postgresql", marks=pytest.mark.slow)])
def settings(
    s3: S3Server, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> dict[str, str]:
    """Of sessions on a metastore of either kind."""
    if request.param == "postgresql":
        monkeypatch.setenv("ACIDSQL_METASTORE", request.getfixturevalue("postgresql"))
    return {**s3.settings, "acidsql.engine": "local"}


@pytest.fixture
def far(warehouse: Path, settings: dict[str, str]) -> Iterator[Session]:
    """A session with ``t`` on S3: three inserts, an update and a delete."""
    with Session(warehouse, settings=settings) as session:
        make(session, "t")
        yield session
        assert not session.spark_started


def later(warehouse: Path, settings: dict[str, str]) -> Session:
    """A session of an hour later: who was silent since writes nothing any more."""
    return Session(warehouse, settings=settings, clock=lambda: time.time() + LONG)


def make(session: Session, name: str) -> None:
    session.sql(
        f"CREATE TABLE {name} (id INT, v STRING) STORED AS ORC LOCATION '{ROOT}/{name}' {ACID}"
    )
    session.sql(f"INSERT INTO {name} VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    session.sql(f"INSERT INTO {name} VALUES (4, 'd')")
    session.sql(f"UPDATE {name} SET v = 'u' WHERE id = 2")
    session.sql(f"DELETE FROM {name} WHERE id = 3")


ROWS = [(1, "a"), (2, "u"), (4, "d")]


def rows(session: Session, table: str = "t") -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in session.sql(f"SELECT * FROM {table}").rows())


def ids(session: Session, table: str = "t") -> list[tuple[Any, ...]]:
    """Every row with its ROW__ID."""
    found = session.sql(f"SELECT ROW__ID, * FROM {table}").rows()
    return sorted((*i.values(), *values) for i, *values in found)


def names(session: Session, table: str = "t") -> list[str]:
    """The directories of a table that are not hidden."""
    listed = session.files.listing(f"{ROOT}/{table}").directories
    return sorted(listed)


def is_clean(session: Session) -> bool:
    clean_all(session)
    return set(states(session)) <= {"succeeded", "refused", "failed"}


# ---- what is written


def test_a_minor_compaction_has_two_halves(far: Session) -> None:
    """Named by the transaction that makes them be seen; ROW__IDs stay; what went in goes."""
    before = ids(far)
    done = work(far, "t", MINOR)
    assert done.state is CompactionState.READY_FOR_CLEANING
    halves = [name for name in names(far) if "_v" in name]
    visible = f"_v{done.txn_id:07d}"
    assert halves == [f"delete_delta_0000001_0000004{visible}", f"delta_0000001_0000004{visible}"]
    assert ids(far) == before
    assert is_clean(far)
    assert names(far) == halves
    assert ids(far) == before
    assert rows(far) == ROWS


def test_major_compactions_follow_each_other(far: Session) -> None:
    """Each takes in the result of the one before, under its own transaction."""
    first = work(far, "t", MAJOR)
    assert rows(far) == ROWS
    far.sql("INSERT INTO t VALUES (5, 'e')")
    before = ids(far)
    second = work(far, "t", MAJOR)
    assert is_clean(far)
    assert first.txn_id != second.txn_id
    assert names(far) == [f"base_0000005_v{second.txn_id:07d}"]
    assert ids(far) == before
    far.sql("DELETE FROM t WHERE id = 1")
    assert rows(far) == [*ROWS[1:], (5, "e")]


def test_a_table_without_rows_has_an_empty_base(far: Session) -> None:
    """It is seen, though no file in it is."""
    far.sql("DELETE FROM t WHERE id > 0")
    work(far, "t", MAJOR)
    assert rows(far) == []
    assert is_clean(far)
    assert rows(far) == []
    far.sql("INSERT INTO t VALUES (9, 'z')")
    assert rows(far) == [(9, "z")]


def test_a_minor_compaction_of_many_steps(far: Session) -> None:
    """The steps of one compaction read what those before have made; nobody else does."""
    for number in range(5, 10):
        far.sql(f"INSERT INTO t VALUES ({number}, 'n')")
    before = ids(far)
    done = work(far, "t", MINOR, properties={"compactor.hive.compactor.max.num.delta": "3"})
    assert done.state is CompactionState.READY_FOR_CLEANING
    assert is_clean(far)
    assert [name for name in names(far) if name.startswith("delta_")] == [
        f"delta_0000001_0000009_v{done.txn_id:07d}"
    ]
    assert ids(far) == before


def test_partitions_and_rows_without_ids(far: Session) -> None:
    """Each partition by itself; files of an insert-only table are merged into few."""
    far.sql(
        f"CREATE TABLE p (id INT) PARTITIONED BY (ds INT) STORED AS ORC LOCATION '{ROOT}/p' {ACID}"
    )
    far.sql(f"CREATE TABLE m (id INT) STORED AS ORC LOCATION '{ROOT}/m' {INSERT_ONLY}")
    for number in range(3):
        far.sql(f"INSERT INTO p PARTITION (ds = 1) VALUES ({number})")
        far.sql(f"INSERT INTO m VALUES ({number})")
    far.sql("INSERT INTO p PARTITION (ds = 2) VALUES (7)")
    work(far, "p", MAJOR, "ds=1")
    work(far, "m", MAJOR)
    assert is_clean(far)
    assert rows(far, "p") == [(0, 1), (1, 1), (2, 1), (7, 2)]
    assert rows(far, "m") == [(0,), (1,), (2,)]
    assert any("base_0000003_v" in name for name in names(far, "p"))
    assert len(names(far, "m")) == 1


def test_a_rebalance_of_a_base_has_a_name_of_its_own(far: Session) -> None:
    """Its write id is one that nobody sees before the commit: no transaction stands in the name."""
    work(far, "t", MAJOR)
    assert is_clean(far)
    done = work(far, "t", REBALANCE, buckets=2)
    assert done.state is CompactionState.READY_FOR_CLEANING, done.message
    assert "base_0000005" in names(far)
    assert rows(far) == ROWS
    assert is_clean(far)
    assert names(far) == ["base_0000005"]
    assert rows(far) == ROWS


# ---- who sees what


POINTS = [
    "compaction staged",
    "compaction announced",
    "compaction mark copied",
    "compaction file copied",
    "compaction published",
    "compaction done",
    "compaction finished",
]


@pytest.mark.parametrize("type", [MINOR, pytest.param(MAJOR, marks=pytest.mark.slow)])
def test_readers_beside_a_compaction(
    far: Session,
    warehouse: Path,
    settings: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    type: Any,
) -> None:
    """At each of its steps they read all rows once, and change them: of what is not committed they
    see nothing, of what is both halves.
    """
    seen: dict[str, set[bool]] = {}
    with Session(warehouse, settings=settings) as reader:

        def look(point: str) -> None:
            if point in POINTS:
                monkeypatch.setattr(crash_points, "hook", None)
                assert rows(reader) == ROWS
                reader.sql("UPDATE t SET v = 'u' WHERE id = 2")
                assert rows(reader) == ROWS
                plan = reader.sql("EXPLAIN SELECT * FROM t").text
                seen.setdefault(point, set()).add("_v" in plan)
                monkeypatch.setattr(crash_points, "hook", look)

        monkeypatch.setattr(crash_points, "hook", look)
        done = work(far, "t", type)
        monkeypatch.setattr(crash_points, "hook", None)
        assert done.state is CompactionState.READY_FOR_CLEANING, done.message
        assert set(seen) == set(POINTS)
        assert is_clean(far)
        assert rows(reader) == ROWS


@pytest.mark.parametrize("type", ["minor", pytest.param("major", marks=pytest.mark.slow)])
@pytest.mark.parametrize("point", [*POINTS, "compaction counted"])
def test_killed_compactions_on_s3(
    far: Session,
    warehouse: Path,
    settings: dict[str, str],
    point: str,
    type: str,
) -> None:
    """Wherever the process dies readers see each row once; the next compaction is made, and when
    nobody can write any more, nothing is left of the first.
    """
    before = ids(far)
    assert killed(warehouse, point, f"ALTER TABLE t COMPACT '{type}' AND WAIT", **settings)
    assert ids(far) == before
    far.sql("INSERT INTO t VALUES (5, 'e')")
    assert rows(far) == [*ROWS, (5, "e")]
    before = ids(far)
    far.store.revoke_compactions()
    if point == "compaction finished":
        far.sql(f"ALTER TABLE t COMPACT '{type}' AND WAIT")
    else:
        assert worker(far).run_once()
    assert ids(far) == before
    with later(warehouse, settings) as cleaning:
        cleaner_of(cleaning).clean_aborted()
        clean_all(cleaning)
        assert set(states(cleaning)) == {"succeeded"}
        assert not cleaning.store.aborted_writes(10)
    assert ids(far) == before
    txns = {name.partition("_v")[2] for name in names(far) if "_v" in name}
    assert len(txns) == 1
    assert all(not name.startswith(".acidsql") for name in far.files.names(f"{ROOT}/t"))


def test_what_is_not_committed_is_never_seen_later(
    far: Session,
    warehouse: Path,
    settings: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However many transactions have come since: that it was aborted is known as long as anything
    of it is there.
    """
    monkeypatch.setattr(opening, "KEPT_TXNS", 1)
    monkeypatch.setattr(opening, "HOUSEKEEPING_INTERVAL", 1)
    before = ids(far)
    statement = "ALTER TABLE t COMPACT 'major' AND WAIT"
    assert killed(warehouse, "compaction file copied", statement, **settings)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("acidsql.commit.recovery.Recovery.after", lambda self: None)
        make(far, "other")
        far.sql("INSERT INTO other VALUES (1, 'x')")
        far.sql("INSERT INTO other VALUES (1, 'x')")
    assert any("_v" in name for name in names(far))
    assert ids(far) == before


def test_a_clean_up_that_dies_half_way(
    far: Session, warehouse: Path, settings: dict[str, str]
) -> None:
    """What says whose directory it is goes last: half of it is seen by nobody."""
    make(far, "other")
    before = ids(far)
    statement = "ALTER TABLE t COMPACT 'major' AND WAIT"
    assert killed(warehouse, "compaction published", statement, **settings)
    insert = "INSERT INTO other VALUES (1, 'x')"
    assert killed(warehouse, "uncommitted file deleted", insert, **settings)
    [left] = [name for name in names(far) if "_v" in name]
    assert INPUTS_FILE in far.files.names(f"{ROOT}/t/{left}")
    assert ids(far) == before
    with later(warehouse, settings) as cleaning:
        cleaning.sql(insert)
    assert not [name for name in names(far) if "_v" in name]
    assert ids(far) == before


def test_a_compaction_that_failed_is_forgotten(
    far: Session, warehouse: Path, settings: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its worker has said so, and nothing of it is under way once a transaction of its age would
    have timed out: it is off the record then, though its process lives.
    """
    before = ids(far)

    def fail(point: str) -> None:
        if point == "compaction file copied":
            raise OSError("refused")

    monkeypatch.setattr(crash_points, "hook", fail)
    assert work(far, "t", MAJOR).state is CompactionState.FAILED
    monkeypatch.setattr(crash_points, "hook", None)
    cleaner_of(far).clean_aborted()
    assert far.store.aborted_writes(1) != ()
    with Session(warehouse, settings=settings, clock=lambda: time.time() + SOON) as cleaning:
        cleaner_of(cleaning).clean_aborted()
        assert cleaning.store.aborted_writes(1) == ()
    assert not [name for name in names(far) if "_v" in name]
    assert ids(far) == before


def test_a_file_that_comes_late_is_not_seen(
    far: Session, warehouse: Path, settings: dict[str, str]
) -> None:
    """What a request brings that was under way when the files were removed: the directory is known
    as ours until none can be.
    """
    before = ids(far)
    statement = "ALTER TABLE t COMPACT 'major' AND WAIT"
    assert killed(warehouse, "compaction published", statement, **settings)
    [left] = [name for name in names(far) if "_v" in name]
    late = f"{ROOT}/t/{left}/bucket_00000"
    content = far.files.read(late)
    make(far, "other")
    assert not far.files.exists(late)
    assert ids(far) == before
    far.files.write(late, content)
    assert ids(far) == before
    with later(warehouse, settings) as cleaning:
        cleaner_of(cleaning).clean_aborted()
    assert not far.files.exists(f"{ROOT}/t/{left}")
    assert ids(far) == before


def test_numbers_of_others_transactions_mean_nothing_here(far: Session, s3: S3Server) -> None:
    """What Hive has compacted is seen, though a transaction of this store with its number was
    aborted: it does not say what it was made from.
    """
    far.begin()
    far.sql("INSERT INTO t VALUES (8, 'r')")
    far.rollback()
    aborted = far.store.valid_txns().aborted[-1]
    done = work(far, "t", MAJOR)
    assert is_clean(far)
    [ours] = names(far)
    theirs = f"base_{ours.split('_')[1]}_v{aborted:07d}"
    io = far.files
    for name in io.names(f"{ROOT}/t/{ours}"):
        if name != INPUTS_FILE:
            io.copy_file(f"{ROOT}/t/{ours}/{name}", f"{ROOT}/t/{theirs}/{name}")
    io.delete_tree(f"{ROOT}/t/{ours}")
    assert done.txn_id != aborted
    assert rows(far) == ROWS


# ---- cleaning


def test_the_cleaner_waits_for_readers(
    far: Session, warehouse: Path, settings: dict[str, str]
) -> None:
    """Results that are fetched late, and transactions, read what they saw; then it goes."""
    with Session(warehouse, settings=settings) as reader:
        result = reader.sql("SELECT * FROM t")
        work(far, "t", MAJOR)
        assert not is_clean(far)
        assert sorted(tuple(row) for row in result.rows()) == ROWS
        assert is_clean(far)
        reader.begin()
        assert rows(reader) == ROWS
        far.sql("DELETE FROM t WHERE id = 1")
        work(far, "t", MAJOR)
        assert not is_clean(far)
        assert rows(reader) == ROWS
        reader.commit()
        assert is_clean(far)
        assert rows(reader) == ROWS[1:]


@pytest.mark.parametrize("type", [MINOR, MAJOR])
def test_who_looks_for_the_first_time_behind_the_cleaner(
    far: Session, warehouse: Path, settings: dict[str, str], type: Any
) -> None:
    """A transaction that is older than a compaction reads its result, or is told that it is too
    old: never fewer rows.
    """
    with Session(warehouse, settings=settings) as reader:
        make(far, "other")
        reader.begin()
        assert rows(reader, "other") == ROWS
        far.sql("INSERT INTO t VALUES (5, 'e')")
        work(far, "t", type)
        assert is_clean(far)
        if type is MINOR:
            assert rows(reader) == ROWS
        else:
            with pytest.raises(SnapshotTooOldError):
                rows(reader)
        reader.rollback()
        assert rows(reader) == [*ROWS, (5, "e")]


@pytest.mark.parametrize(
    "point", ["cleaning claimed", "some obsolete removed", "obsolete removed", "outputs final"]
)
def test_killed_cleaners_on_s3(
    far: Session,
    warehouse: Path,
    settings: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    point: str,
) -> None:
    """Wherever one stops, nothing is missed, and the next one ends its work."""
    monkeypatch.setattr("acidsql.compaction.cleaner.FILES_AT_ONCE", 1)
    before = ids(far)
    work(far, "t", MINOR)

    def stop(reached: str) -> None:
        if reached == point:
            raise KeyboardInterrupt

    monkeypatch.setattr(crash_points, "hook", stop)
    with pytest.raises(KeyboardInterrupt):
        clean_all(far)
    monkeypatch.setattr(crash_points, "hook", None)
    assert ids(far) == before
    assert is_clean(far)
    assert ids(far) == before
    assert len(names(far)) == 2


def test_health_says_who_cannot_read_it(far: Session) -> None:
    """Before anything is compacted there, and behind it."""
    told = [row for row in far.sql("DESCRIBE HEALTH t").rows() if row[0] == "compaction"]
    assert any("_v" in str(row) and "Hive 3.1" in str(row) for row in told), told


def test_the_doctor_finds_nothing_wrong(far: Session, warehouse: Path, settings: Any) -> None:
    """Neither with results, empty ones too, nor with what a killed compaction has left; that is
    what nobody reads, in DESCRIBE HEALTH too.
    """
    make(far, "other")
    far.sql("DELETE FROM other WHERE id > 0")
    work(far, "other", MAJOR)
    work(far, "t", MINOR)
    assert diagnose(far) == []
    far.sql("INSERT INTO t VALUES (5, 'e')")
    statement = "ALTER TABLE t COMPACT 'major' AND WAIT"
    assert killed(warehouse, "compaction published", statement, **settings)
    far.store.reap()
    assert diagnose(far) == []
    assert "result of a compaction that was never committed" in notes(far)
    facts = {(row[0], row[1]): row[2] for row in far.sql("DESCRIBE HEALTH t").rows()}
    assert "base" not in facts["files", "directories"]
    assert any(item == "aborted" for section, item in facts if section == "files"), facts


def diagnose(session: Session) -> list[str]:
    return [str(finding) for finding in examined(session) if finding.severity != "note"]


def notes(session: Session) -> list[str]:
    return [finding.title for finding in examined(session) if finding.severity == "note"]


def examined(session: Session) -> list[Finding]:
    tables = tables_of(session.store)
    return [f for table in tables for f in examine_table(session.store, session.files, table)]


@pytest.mark.spark
@pytest.mark.classic
@pytest.mark.parametrize("type", [MINOR, MAJOR])
def test_large_ones_are_made_by_spark(
    session: Session, monkeypatch: pytest.MonkeyPatch, type: Any
) -> None:
    """And read by it: local files, of which none is renamed."""
    monkeypatch.setattr(session.files, "_local", NoRenames())
    session.sql("SET acidsql.engine=spark")
    session.sql(f"CREATE TABLE t (id INT, v STRING) STORED AS ORC {ACID}")
    session.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    session.sql("INSERT INTO t VALUES (4, 'd')")
    session.sql("UPDATE t SET v = 'u' WHERE id = 2")
    session.sql("DELETE FROM t WHERE id = 3")
    before = ids(session)
    session.sql("SET acidsql.write.path=big")
    done = work(session, "t", type)
    assert done.state is CompactionState.READY_FOR_CLEANING, done.message
    listed = session.files.listing(find(session, "t").location).directories
    assert any(name.endswith(f"_v{done.txn_id:07d}") for name in listed)
    assert ids(session) == before
    clean_all(session)
    assert ids(session) == before
    assert rows(session) == ROWS
