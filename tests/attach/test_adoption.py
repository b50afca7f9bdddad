"""ADOPT TABLE: a table that is attached becomes one of this warehouse. No row is lost, what did not
count never comes back, and ids never collide.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import orc

from acidsql.catalog.model import TableKind, TableName
from acidsql.errors import BindError, ExecutionError, SnapshotTooOldError, WriteConflictError
from acidsql.session import Session

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
LOCAL = {"acidsql.engine": "local", "acidsql.compactor.auto": "false"}


@pytest.fixture
def others(tmp_path: Path) -> Path:
    """The warehouse of others: ``t``, of which write id 2 is to be left out, ``u`` with the same
    columns, and partitions.
    """
    with Session(tmp_path / "others", settings=LOCAL) as session:
        for name in ("t", "u"):
            session.sql(f"CREATE TABLE {name} (k INT, v STRING) {ACID}")
            session.sql(f"INSERT INTO {name} VALUES (1, 'a'), (2, 'b')")
            session.sql(f"INSERT INTO {name} VALUES (3, 'c')")
            session.sql(f"DELETE FROM {name} WHERE k = 1")
        session.sql(f"CREATE TABLE p (k INT) PARTITIONED BY (d STRING) {ACID}")
        session.sql("INSERT INTO p PARTITION (d) VALUES (1, 'x'), (2, 'x'), (3, 'y')")
    return tmp_path / "others"


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", settings=LOCAL) as opened:
        yield opened


def rows(session: Session, query: str) -> list[tuple[object, ...]]:
    return sorted(session.sql(query).rows(), key=str)


def attach(session: Session, others: Path, name: str = "t", clause: str = "EXCEPT (2)") -> None:
    session.sql(f"ATTACH TABLE {name} FROM '{others / name}' ASSUME COMMITTED {clause}")


def ids(session: Session, table: str) -> list[str]:
    return [str(row[0]) for row in session.sql(f"SELECT ROW__ID FROM {table}").rows()]


@pytest.mark.parametrize("store", ["sqlite", "postgresql"])
def test_all_changes_work_from_then_on(
    store: str, tmp_path: Path, others: Path, request: pytest.FixtureRequest
) -> None:
    """With ids behind those of others; what was left out stays out, and its directory goes."""
    url = request.getfixturevalue("postgresql") if store == "postgresql" else ""
    with Session(tmp_path / "warehouse", metastore=url, settings=LOCAL) as session:
        attach(session, others)
        attach(session, others, "u", "")
        result = session.sql("ADOPT TABLE t NOT CLUSTERED")
        assert result.notes[0] == "the next write id is 4"
        assert not (others / "t" / "delta_0000002_0000002_0000").exists()
        session.sql("INSERT INTO t VALUES (4, 'd'), (5, 'e')")
        session.sql("UPDATE t SET v = 'B' WHERE k = 2")
        session.sql("DELETE FROM t WHERE k = 5")
        session.sql(
            "MERGE INTO t USING u ON t.k = u.k WHEN MATCHED THEN UPDATE SET v = upper(u.v)"
            " WHEN NOT MATCHED THEN INSERT VALUES (u.k, u.v)"
        )
        expected = [(2, "B"), (3, "c"), (4, "d")]
        assert rows(session, "SELECT * FROM t") == expected
        assert len(set(ids(session, "t"))) == 3
        for kind in ("minor", "major"):
            session.sql(f"ALTER TABLE t COMPACT '{kind}' AND WAIT")
            assert rows(session, "SELECT * FROM t") == expected
        session.sql("INSERT OVERWRITE TABLE t SELECT * FROM u")
        assert rows(session, "SELECT * FROM t") == rows(session, "SELECT * FROM u")
        table = session.store.find_table(TableName("default", "t"))
        assert table is not None
        assert table.kind is TableKind.MANAGED
        session.sql("DROP TABLE t")
        assert not (others / "t").exists()


def test_a_compaction_of_others_is_seen_whatever_our_transactions_are(
    session: Session, others: Path
) -> None:
    """A base of their transaction 2 has nothing to do with our transaction 2, which was aborted:
    no reader, no compactor, no cleaner and no doctor takes one for the other.
    """
    with Session(others, settings=LOCAL) as theirs:
        theirs.sql("ALTER TABLE t COMPACT 'major' AND WAIT")
        theirs.sql("INSERT INTO t VALUES (4, 'd')")
    [base] = [path for path in (others / "t").iterdir() if path.name.startswith("base_")]
    for file in base.glob("_acidsql*"):
        file.unlink()
    base.rename(base.with_name("base_0000003_v0000002"))
    for _ in range(3):
        session.store.abort(session.store.open_txn())
    attach(session, others, clause="")
    session.sql("ADOPT TABLE t NOT CLUSTERED")
    expected = [(2, "b"), (3, "c"), (4, "d")]
    assert rows(session, "SELECT * FROM t") == expected
    session.sql("ALTER TABLE t COMPACT 'minor' AND WAIT")
    assert rows(session, "SELECT * FROM t") == expected
    session.sql("INSERT INTO t VALUES (5, 'e')")
    session.sql("ALTER TABLE t COMPACT 'major' AND WAIT")
    assert rows(session, "SELECT * FROM t") == [*expected, (5, "e")]
    assert [path.name for path in (others / "t").iterdir() if "base" in path.name] != []


def test_a_compaction_that_never_committed_is_removed(session: Session, others: Path) -> None:
    """Else it would hide all rows from Hive, and from the cleaner."""
    (others / "t" / "base_0000003_v0000021").mkdir()
    attach(session, others, clause="")
    assert "removed" in session.explain("ADOPT TABLE t NOT CLUSTERED")
    result = session.sql("ADOPT TABLE t NOT CLUSTERED")
    assert "base_0000003_v0000021" in result.warnings[0].message
    assert not (others / "t" / "base_0000003_v0000021").exists()
    session.sql("INSERT INTO t VALUES (4, 'd')")
    assert rows(session, "SELECT k FROM t") == [(2,), (3,), (4,)]
    assert session.store.valid_txns().high_watermark > 21


def test_what_cannot_be_removed_is_not_adopted(
    session: Session, others: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store is as it was, and the next try goes through."""
    (others / "t" / "base_0000003_v0000021").mkdir()
    attach(session, others)
    txns = session.store.valid_txns()

    def refuse(self: object, path: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    with monkeypatch.context() as patched:
        patched.setattr(type(session.files), "delete_tree", refuse)
        with pytest.raises(ExecutionError, match="Permission denied"):
            session.sql("ADOPT TABLE t NOT CLUSTERED")
    assert session.store.valid_txns() == txns
    assert (others / "t" / "base_0000003_v0000021").exists()
    with pytest.raises(BindError, match="attached read only"):
        session.sql("DELETE FROM t")
    session.sql("ADOPT TABLE t NOT CLUSTERED")
    session.sql("DELETE FROM t")
    assert rows(session, "SELECT * FROM t") == []


def test_very_many_write_ids_that_do_not_count(
    session: Session, others: Path, tmp_path: Path
) -> None:
    """A busy table of Hive: ids without directories, transactions in the millions. House-keeping,
    which every so many transactions forgets old ones, forgets none that is needed.
    """
    first = others / "t" / "delta_0000001_0000001_0000"
    first.rename(others / "t" / "delta_0000001_0000001_v5000000")
    with Session(others, settings=LOCAL) as theirs:
        text = theirs.dump("t").replace("high watermark 3", "high watermark 3000")
    lines = [f"aborted {number}" for number in (2, *range(1000, 1700))]
    (tmp_path / "dump").write_text(text + "\n".join(lines) + "\n")
    session.attach("t", others / "t", dump=tmp_path / "dump")
    assert session.adopt("t").notes[1].startswith("701 write ids count as aborted")
    assert session.store.valid_txns().high_watermark == 5_000_702
    for number in range(70):
        session.sql(f"INSERT INTO t VALUES ({100 + number}, 'n')")
    assert len(rows(session, "SELECT * FROM t")) == 71
    session.sql("ALTER TABLE t COMPACT 'major' AND WAIT")
    assert len(rows(session, "SELECT * FROM t")) == 71


def test_buckets_are_asked_for(session: Session, others: Path) -> None:
    """Files do not tell; EXPLAIN says so, and nothing is adopted meanwhile."""
    attach(session, others)
    with pytest.raises(BindError, match="do not tell whether"):
        session.sql("ADOPT TABLE t")
    assert "buckets: to be said" in session.explain("ADOPT TABLE t")
    with pytest.raises(BindError, match="attached read only"):
        session.sql("INSERT INTO t VALUES (9, 'z')")


def bucketed(session: Session, others: Path, version: int = 2) -> None:
    with Session(others, settings=LOCAL) as theirs:
        theirs.sql(
            "CREATE TABLE b (k INT, v STRING) CLUSTERED BY (k) INTO 3 BUCKETS STORED AS ORC"
            f" TBLPROPERTIES ('transactional'='true', 'bucketing_version'='{version}')"
        )
        values = ", ".join(f"({k}, 'v{k}')" for k in range(40))
        theirs.sql(f"INSERT INTO b VALUES {values}")
    attach(session, others, "b", "")


@pytest.mark.parametrize("version", [1, 2])
def test_rows_tell_the_hash_of_buckets(version: int, session: Session, others: Path) -> None:
    """New rows lie beside those of others; what is said wrongly is refused."""
    bucketed(session, others, version)
    for wrong, message in (
        ("CLUSTERED BY (k) INTO 2 BUCKETS", "files of bucket 2, and 2 buckets"),
        ("CLUSTERED BY (v) INTO 3 BUCKETS", "other buckets than CLUSTERED BY says"),
        ("CLUSTERED BY (k) INTO 5 BUCKETS", "other buckets than CLUSTERED BY says"),
        (
            f"CLUSTERED BY (k) INTO 3 BUCKETS TBLPROPERTIES ('bucketing_version'='{3 - version}')",
            "other buckets than CLUSTERED BY says",
        ),
    ):
        with pytest.raises(BindError, match=message):
            session.sql(f"ADOPT TABLE b {wrong}")
    session.sql("ADOPT TABLE b CLUSTERED BY (k) INTO 3 BUCKETS")
    table = session.store.find_table(TableName("default", "b"))
    assert table is not None
    assert table.bucketing is not None
    assert (table.bucketing.columns, table.bucketing.count) == (("k",), 3)
    assert table.bucketing.version == version
    bucket = "SELECT ROW__ID.bucketid FROM b WHERE k = 7"
    before = rows(session, bucket)
    session.sql("INSERT INTO b VALUES (7, 'again')")
    assert rows(session, bucket) == [*before, *before]


def test_rows_that_fit_both_hashes_do_not_tell(session: Session, others: Path) -> None:
    """The property says it then."""
    with Session(others, settings=LOCAL) as theirs:
        theirs.sql(f"CREATE TABLE b (k INT) CLUSTERED BY (k) INTO 4 BUCKETS {ACID}")
        theirs.sql("INSERT INTO b VALUES (1)")
        theirs.sql("DELETE FROM b")
    attach(session, others, "b", "")
    with pytest.raises(BindError, match="do not tell by which"):
        session.sql("ADOPT TABLE b CLUSTERED BY (k) INTO 4 BUCKETS")
    session.adopt("b", clustered_by="k", buckets=4, bucketing_version=1)
    session.sql("INSERT INTO b VALUES (1), (2)")
    assert rows(session, "SELECT * FROM b") == [(1,), (2,)]


def test_a_file_that_is_no_bucket_tells(session: Session, others: Path) -> None:
    """A plain table that Spark wrote is surely not clustered."""
    with Session(others, settings=LOCAL) as theirs:
        theirs.sql("CREATE TABLE plain (k INT) STORED AS ORC")
        theirs.sql("INSERT INTO plain VALUES (1), (2)")
    [file] = [one for one in (others / "plain").iterdir() if one.is_file()]
    file.rename(file.with_name("part-00000-c000.snappy.orc"))
    session.sql(f"ATTACH TABLE plain FROM '{others / 'plain'}'")
    with pytest.raises(BindError, match="named like no bucket"):
        session.sql("ADOPT TABLE plain CLUSTERED BY (k) INTO 2 BUCKETS")
    session.sql("ADOPT TABLE plain")
    session.sql("INSERT INTO plain VALUES (3)")
    assert rows(session, "SELECT * FROM plain") == [(1,), (2,), (3,)]


def _new_rows(others: Path) -> None:
    with Session(others, settings=LOCAL) as theirs:
        theirs.sql("INSERT INTO t VALUES (4, 'd')")


def _compacted(others: Path) -> None:
    shutil.copytree(
        others / "t" / "delta_0000001_0000001_0000", others / "t" / "delta_0000001_0000001_v0000077"
    )


@pytest.mark.parametrize(
    ("change", "told"), [(_new_rows, "is of write id 4"), (_compacted, "by transaction 77")]
)
def test_what_somebody_still_writes_is_not_adopted(
    change: object, told: str, session: Session, others: Path
) -> None:
    """Rows that came since would never count. EXPLAIN says it, too."""
    attach(session, others)
    assert callable(change)
    change(others)
    with pytest.raises(BindError, match="somebody still writes it") as raised:
        session.sql("ADOPT TABLE t NOT CLUSTERED")
    assert told in (raised.value.detail or "")
    assert "refused, because" in session.explain("ADOPT TABLE t NOT CLUSTERED")
    assert dict(session.sql("SHOW TBLPROPERTIES t").rows())["acidsql.attached"] == "read only"


def test_new_partitions_are_told(session: Session, others: Path) -> None:
    """Nobody knows of their rows."""
    attach(session, others, "p", "")
    with Session(others, settings=LOCAL) as theirs:
        theirs.sql("INSERT INTO p PARTITION (d) VALUES (4, 'z')")
    with pytest.raises(BindError, match="somebody still writes it") as raised:
        session.sql("ADOPT TABLE p NOT CLUSTERED")
    assert "p/d=z is the directory of a new partition" in (raised.value.detail or "")


def test_what_was_open_and_is_compacted_now_is_told(
    session: Session, others: Path, tmp_path: Path
) -> None:
    """A dump calls write id 2 open; a compaction has taken it in since."""
    dump = tmp_path / "dump"
    with Session(others, settings=LOCAL) as theirs:
        text = theirs.dump("t")
        theirs.sql("ALTER TABLE t COMPACT 'major' AND WAIT")
    dump.write_text(f"{text}open 2\n")
    session.attach("t", others / "t", dump=dump)
    with pytest.raises(BindError, match="somebody still writes it") as raised:
        session.sql("ADOPT TABLE t")
    assert "takes in write id 2, which was open" in (raised.value.detail or "")


def test_partitions_are_adopted(session: Session, others: Path) -> None:
    """Old and new ones take changes; statistics that somebody measured before are unknown."""
    attach(session, others, "p", "")
    session.sql("ANALYZE TABLE p PARTITION (d) COMPUTE STATISTICS")
    session.sql("ADOPT TABLE p NOT CLUSTERED")
    told = rows(session, "DESCRIBE FORMATTED p PARTITION (d='x')")
    assert not any("numRows" in str(row) for row in told)
    session.sql("UPDATE p SET k = k + 10 WHERE d = 'x'")
    session.sql("INSERT INTO p PARTITION (d) VALUES (4, 'z')")
    session.sql("ALTER TABLE p PARTITION (d='x') COMPACT 'major' AND WAIT")
    assert rows(session, "SELECT k, d FROM p") == [(11, "x"), (12, "x"), (3, "y"), (4, "z")]
    assert rows(session, "SELECT count(*) FROM p") == [(4,)]


def test_explain_and_dry_run_change_nothing(session: Session, others: Path) -> None:
    """They say what would be assumed, each with its reason."""
    attach(session, others)
    before = sorted(os.walk(others / "t"))
    text = session.explain("ADOPT TABLE t NOT CLUSTERED")
    assert text.replace(str(others), "$OTHERS").splitlines() == [
        "ADOPT TABLE default.t",
        "  location: $OTHERS/t: written to from then on; DROP TABLE deletes it",
        "  buckets: none (as given)",
        "  next write id: 4 (behind the highest when it was attached)",
        "  never to count; removed where nothing else is in it (ASSUME COMMITTED EXCEPT (2)):",
        "    2: $OTHERS/t/delta_0000002_0000002_0000",
        "  statistics: unknown",
    ]
    for clause in (" NOT CLUSTERED", ""):  # without one the files are looked into
        session.sql("SET acidsql.dry.run=true")
        lines = [row[0] for row in session.sql(f"ADOPT TABLE t{clause}").rows()]
        session.sql("SET acidsql.dry.run=false")
        assert "\n".join(lines) == session.explain(f"ADOPT TABLE t{clause}")
    assert sorted(os.walk(others / "t")) == before
    with pytest.raises(BindError, match="attached read only"):
        session.sql("DELETE FROM t")


def test_a_transaction_that_reads_it_stands_in_the_way(session: Session, others: Path) -> None:
    """It would see other write ids after that; one that reads it only later is told that it is too
    old, while rows are there that do not count: here in a directory of two transactions.
    """
    (others / "t" / "delta_0000001_0000001_0000").rename(others / "t" / "delta_0000001_0000002")
    attach(session, others)
    with Session(session.warehouse, settings=LOCAL) as reader, reader.transaction():
        assert rows(reader, "SELECT k FROM t") == [(2,)]
        with pytest.raises(WriteConflictError, match=r"being read by transaction txnid:\d+"):
            session.sql("ADOPT TABLE t NOT CLUSTERED")
        assert rows(reader, "SELECT k FROM t") == [(2,)]
    session.sql(f"CREATE TABLE mine (k INT) {ACID}")
    with Session(session.warehouse, settings=LOCAL) as late, late.transaction():
        assert rows(late, "SELECT k FROM mine") == []
        session.sql("ADOPT TABLE t NOT CLUSTERED")
        with pytest.raises(SnapshotTooOldError):
            late.sql("SELECT k FROM t")
    assert rows(session, "SELECT k FROM t") == [(2,)]


def test_a_scan_that_has_begun_goes_on(session: Session, others: Path) -> None:
    """Its files are kept for it, whatever becomes of the table."""
    attach(session, others, clause="")
    scan = session.scan("t")
    session.sql("ADOPT TABLE t NOT CLUSTERED")
    session.sql("DELETE FROM t")
    session.sql("ALTER TABLE t COMPACT 'major' AND WAIT")
    assert sorted(scan.to_arrow().column("k").to_pylist()) == [2, 3]
    assert rows(session, "SELECT * FROM t") == []


def test_health_and_doctor_have_nothing_to_say(session: Session, others: Path) -> None:
    """Committed write ids of others have no record here, and are no finding."""
    attach(session, others, clause="EXCEPT (1)")
    session.sql("ADOPT TABLE t NOT CLUSTERED")
    session.sql("INSERT INTO t VALUES (4, 'd')")
    from acidsql.compaction.doctor.rounds import examine_table

    table = session.store.find_table(TableName("default", "t"))
    assert table is not None
    assert examine_table(session.store, session.files, table) == []


def test_only_what_is_attached_is_adopted(session: Session, others: Path) -> None:
    """A table of this warehouse is not; adopting twice neither; and what is said is checked."""
    attach(session, others)
    for statement, message in (
        ("ADOPT TABLE t CLUSTERED BY (k) INTO 2 BUCKETS NOT CLUSTERED", "clustered or it is not"),
        ("ADOPT TABLE t CLUSTERED BY (n) INTO 2 BUCKETS", "n"),
        ("ADOPT TABLE t NOT CLUSTERED TBLPROPERTIES ('bucketing_version'='2')", "says nothing"),
        ("ADOPT TABLE t TBLPROPERTIES ('a'='b')", 'no property "a"'),
        ("ADOPT TABLE nothing", "nothing"),
    ):
        with pytest.raises(BindError, match=message):
            session.sql(statement)
    session.sql("ADOPT TABLE t NOT CLUSTERED")
    with pytest.raises(BindError, match="is not attached"):
        session.sql("ADOPT TABLE t NOT CLUSTERED")
    with pytest.raises(BindError, match="not attached"):
        session.sql("DETACH TABLE t")
    with pytest.raises(BindError, match="not for users"):
        session.sql("ALTER TABLE t UNSET TBLPROPERTIES ('acidsql.attached.txns')")


def test_what_a_dump_calls_open_is_named(session: Session, others: Path, tmp_path: Path) -> None:
    """Nobody knows what became of it: it never counts, and the result says so."""
    with Session(others, settings=LOCAL) as theirs:
        (tmp_path / "dump").write_text(f"{theirs.dump('t')}open 2\naborted 1\n")
    session.attach("t", others / "t", dump=tmp_path / "dump")
    text = session.explain("ADOPT TABLE t")
    assert "open, and never to count; removed" in text
    assert "2: " in text
    [warning] = session.sql("ADOPT TABLE t").warnings
    assert warning.message == (
        f"open when that was told, and never to count: 2: {others}/t/delta_0000002_0000002_0000"
    )
    assert rows(session, "SELECT * FROM t") == []


def test_files_are_loaded(session: Session, others: Path, tmp_path: Path) -> None:
    """LOAD DATA gives them a write id of ours; their rows can be changed."""
    attach(session, others)
    session.sql("ADOPT TABLE t NOT CLUSTERED")
    orc.write_table(
        pa.table({"k": pa.array([7, 8], pa.int32()), "v": ["g", "h"]}), str(tmp_path / "000000_0")
    )
    session.sql(f"LOAD DATA LOCAL INPATH '{tmp_path / '000000_0'}' INTO TABLE t")
    session.sql("DELETE FROM t WHERE k = 7")
    session.sql("ALTER TABLE t COMPACT 'major' AND WAIT")
    assert rows(session, "SELECT * FROM t") == [(2, "b"), (8, "h")]


def test_python_adopts(session: Session, others: Path) -> None:
    """``session.adopt`` is the statement."""
    session.attach("t", others / "t", aborted=[2])
    session.adopt("t", clustered_by=())
    session.sql("INSERT INTO t VALUES (4, 'd')")
    assert rows(session, "SELECT k FROM t") == [(2,), (4,)]


def test_it_goes_on_by_a_dump(session: Session, others: Path, tmp_path: Path) -> None:
    """An adopted table is attached elsewhere as any other."""
    attach(session, others)
    session.sql("ADOPT TABLE t NOT CLUSTERED")
    session.sql("UPDATE t SET v = 'B'")
    (tmp_path / "dump").write_text(session.dump("t"))
    with Session(tmp_path / "third", settings=LOCAL) as third:
        third.attach("t", others / "t", dump=tmp_path / "dump")
        assert rows(third, "SELECT * FROM t") == [(2, "B")]


@pytest.mark.spark
def test_spark_changes_it_too(session: Session, others: Path, spark: object) -> None:
    """Beside a table of like columns that is still attached."""
    attach(session, others)
    attach(session, others, "u", "")
    session.sql("ADOPT TABLE t NOT CLUSTERED")
    settings = {"acidsql.engine": "spark", "acidsql.compactor.auto": "false"}
    with Session(session.warehouse, spark=spark, settings=settings) as other:  # type: ignore[arg-type]
        other.sql("INSERT INTO t SELECT k + 10, v FROM u")
        other.sql("UPDATE t SET v = concat(v, '!') WHERE k > 10")
        other.sql("DELETE FROM t WHERE k = 13")
        assert rows(other, "SELECT k, v FROM t") == [(12, "b!"), (2, "b")]
        assert rows(other, "SELECT t.k, u.k FROM t JOIN u ON t.k = u.k") == [(2, 2)]
