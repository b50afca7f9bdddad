"""The health of a table: what is said of its files, of who holds it up, of what will be done and
what helps.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from acidsql.acid.ids import WriteId
from acidsql.catalog.model import TableName
from acidsql.compaction.examination import path_health
from acidsql.compaction.health import TableHealth
from acidsql.compaction.layout import State
from acidsql.compaction.picture import ASCII, facts, picture, size_words
from acidsql.errors import BindError, ExecutionError, ProgrammingError, TableNotFoundError
from acidsql.files.local_files import LOCAL
from acidsql.session import Session
from acidsql.txn.compactions import CompactionRequest, CompactionState, CompactionType
from acidsql.txn.locks import LockComponent, LockRequest, LockType
from acidsql.txn.readers import ReadRequest
from tests.compaction.cleaning import clean_all, queued
from tests.compaction.test_doctor import examine, unpacked

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
NOW = 1_700_000_000.0
T = TableName("default", "t")
FIRST = "delta_0000001_0000001_0000"


@pytest.fixture
def clock() -> list[float]:
    return [NOW]


@pytest.fixture
def session(warehouse: Path, clock: list[float]) -> Iterator[Session]:
    """A session that needs no Spark, whose time stands still."""
    with Session(warehouse, metastore="", clock=lambda: clock[0]) as session:
        session.sql(f"CREATE TABLE t (id INT, name STRING) {ACID}")
        session.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
        yield session


def said(health: TableHealth, section: str) -> dict[str, str]:
    """What is said in a section, by item."""
    return {item: value for name, item, value in facts(health) if name == section}


# ---- files


def test_files_and_rows(session: Session, warehouse: Path) -> None:
    """What a scan reads, by kinds and sizes, with the rows of the footers."""
    session.sql("INSERT INTO t VALUES (4, 'd')")
    health = session.health("t")
    sizes = sum(path.stat().st_size for path in (warehouse / "t").rglob("bucket_*"))
    total = health.total
    assert (total.deltas, total.files, total.bytes, total.rows) == (2, 2, sizes, 4)
    assert (total.small_files, total.small_bytes, total.deletes) == (2, sizes, 0)
    assert (total.files_then, total.bytes_then) == (1, sizes)
    assert health.kind == "full ACID"
    assert said(health, "files")["rows"] == "4"


def test_delete_ratio(shared: Path, session: Session, warehouse: Path) -> None:
    """Delete events count against the rows that there are in the files, whoever wrote them."""
    table = unpacked("merged.hive3", shared, session, warehouse)
    total = session.health(table).total
    assert total.rows is not None
    assert total.deletes is not None
    assert total.delete_deltas == 2
    assert total.deletes == 2
    assert total.delete_ratio == total.deletes / total.rows
    assert total.bytes_then < total.bytes


def test_obsolete_aborted_and_garbage(session: Session, warehouse: Path) -> None:
    """What no reader needs is counted apart, and what is staged by an open transaction is not."""
    session.sql("TRUNCATE TABLE t")
    aborted, still_open = session.store.open_txn(), session.store.open_txn()
    session.store.allocate_write_id(aborted, T)
    session.store.abort(aborted)
    shutil.copytree(warehouse / "t" / FIRST, warehouse / "t" / "delta_0000003_0000003_0000")
    for txn in (aborted, still_open):
        staged = warehouse / "t" / f".acidsql_{txn}_x"
        staged.mkdir()
        (staged / "bucket_00000").write_bytes(b"12345")
    health = session.health("t")
    size = (warehouse / "t" / FIRST / "bucket_00000").stat().st_size
    total = health.total
    assert (total.bases, total.obsolete, total.obsolete_bytes) == (1, 1, size)
    assert (total.aborted, total.aborted_bytes) == (1, size)
    assert (total.garbage, total.garbage_bytes) == (1, 5)
    assert total.rows == 0


def test_partitions_are_summed(session: Session) -> None:
    """A table has the sum of its partitions; one of them can be asked for alone."""
    session.sql(f"CREATE TABLE p (id INT) PARTITIONED BY (ds STRING) {ACID}")
    session.sql("INSERT INTO p VALUES (1, 'x'), (2, 'y'), (3, 'y')")
    health = session.health("p")
    assert [p.name for p in health.partitions] == ["ds=x", "ds=y"]
    assert [p.figures.rows for p in health.partitions] == [1, 2]
    assert health.total.rows == 3
    one = session.health("p PARTITION (ds='y')")
    assert (one.total.rows, len(one.partitions)) == (2, 1)


def test_other_kinds_of_tables(session: Session) -> None:
    """Insert-only and plain tables have what there is to say of them, views nothing."""
    session.sql(
        "CREATE TABLE m (id INT) STORED AS ORC TBLPROPERTIES"
        " ('transactional'='true', 'transactional_properties'='insert_only')"
    )
    session.sql("INSERT INTO m VALUES (1)")
    session.sql("CREATE TABLE plain (id INT) STORED AS ORC")
    session.sql("INSERT INTO plain VALUES (1), (2)")
    session.sql("CREATE VIEW v AS SELECT 1 AS one")
    assert (session.health("m").kind, session.health("m").total.rows) == ("insert-only", 1)
    plain = session.health("plain")
    assert (plain.kind, plain.total.rows, plain.write_ids) == ("not transactional", 2, None)
    with pytest.raises(BindError, match="is a view and has no files"):
        session.health("v")
    with pytest.raises(TableNotFoundError):
        session.health("nope")
    with pytest.raises((ProgrammingError, TableNotFoundError)):
        session.health("")


def test_damage_is_said_and_stops_nothing(session: Session, warehouse: Path) -> None:
    """A file that cannot be read, or a layout that is not Hive's, is a line of its own, and the
    doctor is what helps.
    """
    (warehouse / "t" / FIRST / "bucket_00000").write_bytes(b"nonsense")
    health = session.health("t")
    assert health.partitions[0].layout.unreadable == (f"{FIRST}/bucket_00000",)
    assert "unreadable files" in said(health, "problem")
    assert health.mends[0] == "acidsql doctor default.t"
    (warehouse / "t" / "delta_nonsense").mkdir()
    health = session.health("t")
    assert "not a valid name" in said(health, "problem")["layout"]
    assert "nobody can tell" in said(health, "initiator")["will do"]


def test_a_directory_that_cannot_be_listed(session: Session, warehouse: Path) -> None:
    """What the file system refuses is the statement's error."""
    (warehouse / "t" / "loop").symlink_to(warehouse / "t" / "loop")
    with pytest.raises(ExecutionError, match="DESCRIBE HEALTH failed"):
        session.sql("DESCRIBE HEALTH t")


def test_a_copied_table_without_a_catalog(shared: Path, session: Session, warehouse: Path) -> None:
    """A directory shows its layout by names and footers, also with partitions in it."""
    unpacked("part_mixed.hive4", shared, session, warehouse)
    health = path_health(LOCAL, str(warehouse / "part_mixed"), now=NOW)
    assert health.kind == "unknown to the catalog"
    assert health.total.rows == session.health("part_mixed").total.rows
    assert len(health.partitions) == 4
    assert health.write_ids is not None
    assert health.write_ids.high_watermark == 3
    assert "mend" not in {section for section, _, _ in facts(health)}


# ---- who holds it up


def test_open_transactions_and_locks(session: Session, clock: list[float]) -> None:
    """Who has a write id open since when, with which statement, and who locks the table."""
    txn = session.store.open_txn()
    write_id = session.store.allocate_write_id(txn, T)
    asked = LockComponent(database="default", table="t", type=LockType.SHARED_WRITE)
    request = LockRequest(components=(asked,), statement="UPDATE t\n   SET id = 1")
    session.store.lock(request, txn)
    clock[0] = NOW + 7200
    health = session.health("t")
    (write,) = health.open_writes
    assert (write.write_id, write.txn_id, write.user) == (write_id, txn, session.user)
    assert health.compactable == WriteId(write_id - 1)
    assert health.oldest_txn is not None
    assert (health.oldest_txn.txn_id, health.oldest_txn.writes) == (txn, True)
    assert health.oldest_lock is not None
    words = said(health, "write ids")[f"{write_id} is open"]
    assert "2 h" in words
    assert words.endswith(": UPDATE t SET id = 1")
    assert said(health, "mend")["run if nobody needs it any more"] == f"ABORT TRANSACTIONS {txn}"
    assert "SHARED_WRITE" in said(health, "transactions")["oldest lock"]


def test_a_transaction_elsewhere(session: Session) -> None:
    """The oldest open transaction is told, though it has not written here."""
    session.store.open_txn()
    health = session.health("t")
    assert health.open_writes == ()
    assert "has not written here" in said(health, "transactions")["oldest open"]


# ---- what will be done


def test_the_initiators_reasons(session: Session) -> None:
    """What it will do and why; why not; and the statement that does it now."""
    assert "1 of 10 delta directories allowed" in said(session.health("t"), "initiator")["will do"]
    for number in range(11):
        session.sql(f"INSERT INTO t VALUES ({number}, 'x')")
    health = session.health("t")
    assert said(health, "initiator")["will do"].startswith("major compaction: 12 delta")
    assert health.mends == ("ALTER TABLE `default`.`t` COMPACT 'major'",)
    session.sql("ALTER TABLE t SET TBLPROPERTIES ('NO_AUTO_COMPACTION'='true')")
    assert "NO_AUTO_COMPACTION" in said(session.health("t"), "initiator")["will do"]


def test_the_queue(session: Session) -> None:
    """Entries of the table are told, those of others are not; one that waits is a reason."""
    for name in (T, TableName("default", "other")):
        session.store.enqueue_compaction(
            CompactionRequest(table=name, partition=None, type=CompactionType.MINOR, initiator="x")
        )
    health = session.health("t")
    assert said(health, "compactions") == {"1": "minor, initiated"}
    assert said(health, "initiator")["will do"] == "nothing: compaction 1 is initiated"


def test_what_keeps_the_cleaner(session: Session, clock: list[float]) -> None:
    """A failed cleaning with its reason, a table that is not to be cleaned, and obsolete files of
    which no compaction speaks.
    """
    session.sql("TRUNCATE TABLE t")
    assert "no compaction waits" in said(session.health("t"), "cleaner")["waits because"]
    request = CompactionRequest(table=T, partition=None, type=CompactionType.MAJOR, initiator="x")
    entry = session.store.enqueue_compaction(request).compaction_id
    session.store.next_compaction("host-1")
    session.store.begin_compaction(entry)
    session.store.finish_compaction(entry, WriteId(2))
    retry = int((clock[0] + 300) * 1000)
    session.store.postpone_cleaning(entry, "disk full", retry_after=retry)
    health = session.health("t")
    assert health.compactions[0].state is CompactionState.READY_FOR_CLEANING
    assert "cleaning has failed 1 times" in health.blockers[0]
    assert "disk full" in health.blockers[0]
    assert health.mends == ("acidsql compactor --once --cleaner",)
    session.sql("ALTER TABLE t SET TBLPROPERTIES ('NO_CLEANUP'='true')")
    assert session.health("t").blockers[0] == "the table has NO_CLEANUP"


def test_nothing_is_changed(session: Session, warehouse: Path) -> None:
    """Looking at a table leaves files and store as they are."""
    before = {p: p.stat().st_mtime_ns for p in (warehouse / "t").rglob("*")}
    txns, entries = session.store.list_txns(), session.store.compactions()
    session.health("t")
    assert {p: p.stat().st_mtime_ns for p in (warehouse / "t").rglob("*")} == before
    assert (session.store.list_txns(), session.store.compactions()) == (txns, entries)


# ---- the picture


def many_deltas(session: Session) -> TableHealth:
    for number in range(60):
        session.sql(f"INSERT INTO t VALUES ({number}, 'x')")
    return session.health("t")


@pytest.mark.parametrize("width", [80, 100])
def test_picture_fits(session: Session, width: int) -> None:
    """Lines are as wide as asked for, whatever there is; deltas beyond a number are summed up."""
    text = picture(many_deltas(session), width=width)
    wide = [line for line in text.splitlines() if len(line) > width]
    assert [line for line in wide if "location: " not in line] == []
    assert "21 more directories" in text


def test_picture_places_directories_along_the_write_ids(session: Session) -> None:
    """Each directory stands where its write ids are, and says by its mark what is made of it."""
    session.sql("TRUNCATE TABLE t")
    session.sql("INSERT INTO t VALUES (1, 'x')")
    lines = picture(session.health("t"), marks=ASCII).splitlines()
    bars = [line for line in lines[lines.index("layout") :] if line.startswith("  ")]
    assert bars == [
        "  base         2 ######..   0 files        0 B      0 rows",
        f"  delta        1 ..xx....    1 file {size_of_delta(session, 1)}      3 rows",
        f"  delta        3 ......++    1 file {size_of_delta(session, 3)}       1 row",
    ]
    assert picture(session.health("t"), marks=ASCII).isascii()


def size_of_delta(session: Session, write_id: int) -> str:
    layout = session.health("t").partitions[0].layout
    (delta,) = (d for d in layout.directories if d.path and d.high == write_id)
    return f"{size_words(delta.bytes):>10}"


def test_html_is_escaped(session: Session) -> None:
    """Names are whatever users made them: none becomes markup, in text or in attributes."""
    session.sql(f"CREATE TABLE p (id INT) PARTITIONED BY (ds STRING) {ACID}")
    session.sql("""INSERT INTO p VALUES (1, '<script>alert("x")</script>')""")
    shown = session.health("p")._repr_html_()
    assert "<script" not in shown
    assert "%3Cscript" in shown or "&lt;script" in shown


def test_control_characters_do_not_reach_a_terminal(session: Session) -> None:
    """A statement or a name with escapes is shown as text."""
    txn = session.store.open_txn()
    session.store.allocate_write_id(txn, T)
    asked = LockComponent(database="default", table="t", type=LockType.SHARED_READ)
    session.store.lock(LockRequest(components=(asked,), statement="SELECT '\x1b[2J'"), txn)
    assert "\x1b" not in str(session.health("t"))


def test_progress_is_told(session: Session) -> None:
    """Whoever waits hears how many footers of how many are read."""
    session.sql("INSERT INTO t VALUES (4, 'd')")
    heard: list[tuple[int, int]] = []
    session.health("t", lambda done, known: heard.append((done, known)))
    assert heard[0] == (0, 2)
    assert heard[-1] == (2, 2)


def test_statement_and_object_say_the_same(session: Session) -> None:
    """DESCRIBE HEALTH has the facts of the object as rows of text."""
    result = session.sql("DESCRIBE HEALTH t")
    assert [column.name for column in result.columns] == ["section", "item", "value"]
    assert [tuple(row) for row in result.rows()] == session.health("t").facts


@pytest.mark.parametrize(
    ("size", "words"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (150 << 20, "150 MiB"), (3 << 50, "3.0 PiB")],
)
def test_sizes_are_short(size: int, words: str) -> None:
    """Sizes are said in a few characters."""
    assert size_words(size) == words


def test_states_are_those_of_a_reader(session: Session) -> None:
    """Each directory has one state, and those read are what a scan reads."""
    session.sql("TRUNCATE TABLE t")
    layout = session.health("t").partitions[0].layout
    assert {d.path: d.state for d in layout.directories} == {
        FIRST: State.OBSOLETE,
        "base_0000002": State.READ,
    }


# ---- behind compactions


def test_a_reader_keeps_the_cleaner(session: Session, clock: list[float]) -> None:
    """A registered read from before the commit is named with its statement; a later one is none of
    the cleaner's business.
    """
    session.sql("INSERT INTO t VALUES (4, 'd')")
    read = ReadRequest(tables=(T,), statement="SELECT *\n  FROM t", lease_seconds=3600)
    old = session.store.open_reader(read)
    clock[0] = NOW + 60
    queued(session, "t", CompactionType.MAJOR)
    clock[0] = NOW + 120
    session.store.open_reader(read)
    health = session.health("t")
    assert len(health.readers) == 2
    (blocker,) = health.blockers
    assert blocker.startswith(f"compaction 1: {session.user}@")
    assert blocker.endswith(": SELECT * FROM t")
    assert "1 d" not in said(health, "transactions")["oldest of the readers"]
    assert old.reader_id is not None
    session.store.close_readers([old.reader_id])
    assert session.health("t").blockers == ()


def test_files_that_are_kept_on_purpose(session: Session) -> None:
    """History that is kept is a reason, and says until when."""
    session.sql("INSERT INTO t VALUES (4, 'd')")
    queued(session, "t", CompactionType.MAJOR)
    session.sql("ALTER TABLE t SET TBLPROPERTIES ('acidsql.history.retention'='1h')")
    assert "its files are kept until 2023-11-14 23:13:20 UTC" in session.health("t").blockers[0]


@pytest.mark.parametrize("kind", [CompactionType.MINOR, CompactionType.MAJOR])
def test_the_layout_of_a_compacted_table(session: Session, kind: CompactionType) -> None:
    """Inputs are obsolete, the outcome is read, as many rows are there as before; the doctor finds
    nothing wrong with either.
    """
    for number in range(3):
        session.sql(f"INSERT INTO t VALUES ({number}, 'x')")
    before = session.health("t").total.rows
    queued(session, "t", kind)
    health = session.health("t")
    assert (health.total.rows, health.total.obsolete, health.total.files) == (before, 4, 1)
    assert examine(session) == []
    clean_all(session)
    assert session.health("t").total.obsolete == 0
    assert examine(session) == []
