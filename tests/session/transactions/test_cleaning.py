"""Who cleans up behind others takes nothing away that anybody may still need, and forgets nothing
whose files may still be there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from acidsql import crash_points
from acidsql.acid.ids import WriteId
from acidsql.catalog.model import TableName
from acidsql.errors import TransactionAbortedError
from acidsql.files import local_files
from acidsql.metastore import opening
from acidsql.session import Session
from acidsql.txn.manager import OperationType, TxnComponent, TxnState
from tests.session.transactions.crashes import garbage, rows_of, run_all

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
T = TableName("default", "t")


class Clock:
    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def sessions(warehouse: Path, clock: Clock) -> Iterator[tuple[Session, Session]]:
    """Two sessions without Spark on one warehouse, with a table ``t`` of one row."""
    with Session(warehouse, clock=clock) as one, Session(warehouse, clock=clock) as other:
        run_all(one, [f"CREATE TABLE t (id INT) {ACID}", "INSERT INTO t VALUES (1)"])
        yield one, other


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Callable[[], object]], None]:
    """``meanwhile(point, do)``: something is done when a statement comes to the point first."""

    def at(point: str, do: Callable[[], object]) -> None:
        def reached(name: str) -> None:
            if name == point:
                monkeypatch.setattr(crash_points, "hook", None)
                do()

        monkeypatch.setattr(crash_points, "hook", reached)

    return at


def aborted(session: Session, table: TableName = T) -> tuple[int, ...]:
    """The write ids that readers know as aborted."""
    return session.store.valid_write_ids(table, session.store.valid_txns()).aborted


def names(warehouse: Path, table: str = "t") -> list[str]:
    return sorted(path.name for path in (warehouse / table).iterdir())


def leave(session: Session, warehouse: Path, *directories: str) -> None:
    """Leaves what an aborted transaction with the next write id has published: ``{w}`` stands for
    that.
    """
    opened = session.store.begin([T])
    for directory in directories:
        path = warehouse / "t" / directory.format(w=f"{opened.write_ids[T]:07d}")
        path.mkdir(parents=True)
        (path / "_orc_acid_version").write_bytes(b"2")
    session.store.abort(opened.txn_id)


# ---- a process that is alive


@pytest.mark.parametrize(
    "statements", [("INSERT INTO t VALUES (2)",), ("INSERT OVERWRITE TABLE t VALUES (2)",), ("TRUNCATE TABLE t",)]
)  # fmt: skip
def test_one_that_was_silent_for_too_long(
    sessions: tuple[Session, Session], clock: Clock, statements: tuple[str, ...]
) -> None:
    """Its staged files are taken away; its COMMIT fails clean, and nothing of it gets a name."""
    late, other = sessions
    late.begin()
    run_all(late, statements)
    clock.now += 301
    other.sql("INSERT INTO t VALUES (3)")
    assert not [path for path in Path(late.warehouse, "t").iterdir() if path.name[0] == "."]
    with pytest.raises(TransactionAbortedError) as caught:
        late.commit()
    assert caught.value.detail == "its heartbeat timed out"
    assert rows_of(other, "t") == [(1,), (3,)]
    late.sql("INSERT INTO t VALUES (4)")
    assert rows_of(other, "t") == [(1,), (3,), (4,)]


@pytest.mark.parametrize("point", ["staged", "settled", "directory made", "announced"])
@pytest.mark.parametrize("statement", ["INSERT INTO t VALUES (2)", "TRUNCATE TABLE t"])
def test_aborted_by_others_in_the_middle(
    sessions: tuple[Session, Session],
    warehouse: Path,
    clock: Clock,
    meanwhile: Callable[[str, Callable[[], object]], None],
    point: str,
    statement: str,
) -> None:
    """Wherever it is, whatever is cleaned under it: TransactionAbortedError, and no directory of it
    has a name, not even the empty base of a TRUNCATE.
    """
    late, other = sessions
    seen: list[list[str]] = []

    def clean() -> None:
        clock.now += 301
        other.sql("SET hive.support.concurrency=false")
        other.sql("INSERT INTO t VALUES (3)")
        seen.append(names(warehouse))

    meanwhile(point, clean)
    with pytest.raises(TransactionAbortedError):
        late.sql(statement)
    deltas = ["delta_0000001_0000001_0000", "delta_0000003_0000003_0000"]
    assert seen == [deltas]
    assert names(warehouse) == deltas
    assert rows_of(other, "t") == [(1,), (3,)]
    assert aborted(other) == (2,)  # while its process lives


def test_an_open_transaction_keeps_its_files(
    sessions: tuple[Session, Session], warehouse: Path
) -> None:
    """However many others write and clean beside it."""
    one, other = sessions
    one.begin()
    one.sql("INSERT INTO t VALUES (2)")
    leave(other, warehouse, "base_{w}")
    for number in (3, 4):
        other.sql(f"INSERT INTO t VALUES ({number})")
    one.commit()
    assert rows_of(one, "t") == [(1,), (2,), (3,), (4,)]
    one.sql("INSERT INTO t VALUES (5)")
    assert garbage(one) == []


def test_staging_of_another_store_stays(sessions: tuple[Session, Session], warehouse: Path) -> None:
    """One with the id of a transaction that nobody has opened here yet."""
    one, _ = sessions
    (warehouse / "t" / ".acidsql_999_ab").mkdir()
    leave(one, warehouse)
    one.sql("INSERT INTO t VALUES (2)")
    assert ".acidsql_999_ab" in names(warehouse)


# ---- whose directory it is


def test_a_table_made_anew_keeps_its_files(
    sessions: tuple[Session, Session],
    warehouse: Path,
    meanwhile: Callable[[str, Callable[[], object]], None],
) -> None:
    """One that was dropped and made again while its predecessor was looked at, and whose rows have
    the write ids that were aborted in that.
    """
    one, other = sessions
    leave(one, warehouse, "delta_{w}_{w}_0000")

    def make_anew() -> None:
        other.sql("SET hive.support.concurrency=false")
        run_all(other, ["DROP TABLE t", f"CREATE TABLE t (id INT) {ACID}"])
        run_all(other, [f"INSERT INTO t VALUES ({number})" for number in (7, 8, 9)])

    one.sql(f"CREATE TABLE other (id INT) {ACID}")
    leave(one, warehouse, "delta_{w}_{w}_0000")
    meanwhile("staging cleaned", make_anew)
    one.sql("INSERT INTO other VALUES (1)")
    assert rows_of(one, "t") == [(7,), (8,), (9,)]


def test_a_wide_directory_keeps_the_record(
    sessions: tuple[Session, Session], warehouse: Path
) -> None:
    """A stream of Hive's, or a compaction of Hive 3, may have rows of an aborted write id in a
    directory with others: it stays, and the id stays aborted.
    """
    one, _ = sessions
    leave(one, warehouse, "delta_{w}_{w}_0000", "delta_0000001_0000003")
    one.sql("INSERT INTO t VALUES (2)")
    assert names(warehouse) == [
        "delta_0000001_0000001_0000",
        "delta_0000001_0000003",
        "delta_0000003_0000003_0000",
    ]
    assert aborted(one) == (2,)


def test_a_compacted_base_is_nobody_s_garbage(
    sessions: tuple[Session, Session], warehouse: Path
) -> None:
    """One may have the number of an aborted write id, the highest that it has passed over."""
    one, _ = sessions
    leave(one, warehouse, "base_{w}")
    marker = warehouse / "t" / "base_0000002" / "_metadata_acid"
    marker.write_text('{"thisFileVersion":"0","dataFormat":"compacted"}')
    one.sql("INSERT INTO t VALUES (2)")
    assert "base_0000002" in names(warehouse)
    assert aborted(one) == ()


@pytest.mark.parametrize("what", ["p PARTITION (k = 1)", "p"])
def test_what_lies_elsewhere_is_never_forgotten(
    sessions: tuple[Session, Session], tmp_path: Path, what: str
) -> None:
    """A table or partition that got another location may come back to where the rows are."""
    one, _ = sessions
    table = TableName("default", "p")
    run_all(
        one,
        [
            f"CREATE TABLE p (id INT) PARTITIONED BY (k INT) {ACID}",
            "INSERT INTO p VALUES (1, 1)",
        ],
    )
    opened = one.store.begin([table])
    write_id = opened.write_ids[table]
    component = TxnComponent(
        table=table, partition="k=1", operation=OperationType.INSERT, write_id=write_id
    )
    one.store.add_components(opened.txn_id, [component])
    one.store.abort(opened.txn_id)
    one.sql(f"ALTER TABLE {what} SET LOCATION '{(tmp_path / 'elsewhere').as_uri()}'")
    one.sql("INSERT INTO t VALUES (2)")
    assert aborted(one, table) == (write_id,)


# ---- beside others


def test_two_cleaners_at_once(
    sessions: tuple[Session, Session],
    warehouse: Path,
    meanwhile: Callable[[str, Callable[[], object]], None],
) -> None:
    """The second takes up what the first has just looked at; neither hinders the other."""
    one, other = sessions
    for point in ("staging cleaned", "directories hidden", "directories cleaned"):
        leave(one, warehouse, "delta_{w}_{w}_0000", "delete_delta_{w}_{w}_0001")
        (warehouse / "t" / f".acidsql_{one.store.valid_txns().high_watermark}_ab").mkdir()
        meanwhile(point, lambda: other.sql("INSERT INTO t VALUES (2)"))
        one.sql("INSERT INTO t VALUES (3)")
    assert rows_of(one, "t") == sorted([(1,), *[(2,), (3,)] * 3])
    assert garbage(one) == []


def test_a_reader_beside_a_cleaner(
    sessions: tuple[Session, Session], warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A directory that vanishes while it is listed is no error, and no row is missed."""
    one, _ = sessions
    leave(one, warehouse, "delta_{w}_{w}_0000")
    vanishing = warehouse / "t" / "delta_0000002_0000002_0000"
    (vanishing / "bucket_00000").write_bytes(b"")
    real = local_files.is_hidden

    def hidden(name: str) -> bool:
        if name == "bucket_00000" and not one.store.list_locks():
            one._spine.recovery.after()
        return real(name)

    monkeypatch.setattr(local_files, "is_hidden", hidden)
    assert rows_of(one, "t") == [(1,)]
    assert not vanishing.exists()
    assert garbage(one) == []


def test_what_cannot_be_cleaned_is_no_failure(
    sessions: tuple[Session, Session], warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is tried again after a while, and nothing is forgotten before."""
    one, other = sessions
    leave(one, warehouse, "delta_{w}_{w}_0000")

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(type(one.files), "names", refuse)
        one.sql("INSERT INTO t VALUES (2)")
    assert aborted(one) == (2,)
    one.sql("INSERT INTO t VALUES (3)")
    assert aborted(one) == (2,)  # not tried again yet
    one._spine.recovery.clock = lambda: float("inf")
    one.sql("INSERT INTO t VALUES (4)")
    assert aborted(one) == ()
    assert garbage(other) == []


def test_records_of_ended_transactions_go_with_house_keeping(
    sessions: tuple[Session, Session], warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once cleaned, an aborted transaction is one of the last thousand that SHOW TRANSACTION knows,
    as a committed one is; then it is forgotten.
    """
    one, _ = sessions
    leave(one, warehouse, "delta_{w}_{w}_0000")
    one.sql("INSERT INTO t VALUES (2)")
    assert [txn.state for txn in one.store.list_txns()] == ["a"]
    monkeypatch.setattr(opening, "KEPT_TXNS", 1)
    monkeypatch.setattr(opening, "HOUSEKEEPING_INTERVAL", 1)
    run_all(one, ["INSERT INTO t VALUES (3)"] * 3)
    assert one.store.list_txns() == ()


def test_a_partition_that_others_add_meanwhile_keeps_its_directory(
    warehouse: Path, meanwhile: Callable[[str, Callable[[], object]], None]
) -> None:
    """Though it is empty, as one that never came to be is: that is asked when it is to go."""
    with Session(warehouse) as session, session.open_beside() as other:
        session.sql(f"CREATE TABLE p (id INT) PARTITIONED BY (k STRING) {ACID}")
        table = TableName("default", "p")
        opened = session.store.begin([table])
        written = TxnComponent(
            table=table, partition="k=a", operation=OperationType.INSERT, write_id=WriteId(1)
        )
        session.store.add_components(opened.txn_id, [written])
        (warehouse / "p" / "k=a" / "delta_0000001_0000001_0000").mkdir(parents=True)
        session.store.abort(opened.txn_id)
        meanwhile("directories hidden", lambda: other.sql("ALTER TABLE p ADD PARTITION (k='a')"))
        session.sql("INSERT INTO p PARTITION (k='b') VALUES (1)")
        assert names(warehouse, "p") == ["k=a", "k=b"]
        assert rows_of(session, "p") == [(1, "b")]


def test_who_was_aborted_adds_no_partition(
    sessions: tuple[Session, Session],
    warehouse: Path,
    meanwhile: Callable[[str, Callable[[], object]], None],
) -> None:
    """Its directories are cleaned away by then: a partition would have none."""
    late, other = sessions
    late.sql(f"CREATE TABLE p (id INT) PARTITIONED BY (k STRING) {ACID}")

    def abort_and_clean() -> None:
        [txn_id] = [info.txn_id for info in other.store.list_txns() if info.state is TxnState.OPEN]
        other.sql(f"ABORT TRANSACTIONS {txn_id}")
        other.sql("INSERT INTO t VALUES (2)")

    meanwhile("unstaged", abort_and_clean)
    with pytest.raises(TransactionAbortedError):
        late.sql("INSERT INTO p VALUES (1, 'a')")
    assert names(warehouse, "p") == []
    assert late.sql("SHOW PARTITIONS p").fetchall() == []
