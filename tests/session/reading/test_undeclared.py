"""Files of write ids that were never given out here: others wrote them, and nothing is taken for
committed by itself.
"""

from __future__ import annotations

import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from acidsql.acid.ids import WriteId
from acidsql.catalog.model import Table, TableName
from acidsql.cli.main import main
from acidsql.compaction.merging.carrying_out import COMPACTED
from acidsql.errors import OperationalError
from acidsql.files.local_files import LOCAL
from acidsql.session import Session
from acidsql.storage.undeclared import find_undeclared, runs

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
NAME = TableName("default", "aborted")


@pytest.fixture
def session(warehouse: Path, shared: Path) -> Iterator[Session]:
    """A table that Hive 3 wrote: of its write ids 1 to 4 the second and the third were aborted."""
    folder = shared / "hive" / "fixtures"
    if not folder.is_dir():
        pytest.skip(f"no tables written by Hive in {folder}")
    with Session(warehouse) as session:
        session.sql((folder / "aborted.hive3.ddl.sql").read_text().rstrip(";\n"))
        with tarfile.open(folder / "aborted.hive3.tar.gz") as archive:
            archive.extractall(
                warehouse, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {})
            )
        yield session
        assert not session.spark_started


def names(warehouse: Path) -> list[str]:
    return sorted(path.name for path in (warehouse / "aborted").iterdir())


def read(session: Session) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in session.sql("SELECT * FROM aborted").rows())


def test_a_read_says_what_it_does_not_see(session: Session) -> None:
    """Once for a statement, however often it reads the table; nothing of it is guessed."""
    for text in ("SELECT * FROM aborted", "SELECT count(*) FROM aborted WHERE id > 0"):
        [warning] = session.sql(text).warnings
        assert "rows of table default.aborted are not read" in warning.message
        assert "5 directories (1-4)" in warning.message
        assert '"delta_0000001_0000001_0000"' in (warning.detail or "")
        assert "acidsql doctor default.aborted --committed" in (warning.hint or "")
    assert read(session) == []


def test_nothing_is_written_under_others_ids(session: Session, warehouse: Path) -> None:
    """Not even by the tenth attempt, and what lies there stays whoever cleans up."""
    before = names(warehouse)
    for text in ["INSERT INTO aborted VALUES (9, 'x')", "UPDATE aborted SET name = 'x'"] * 5:
        with pytest.raises(OperationalError, match="has files of write ids up to 4"):
            session.sql(text)
    assert session.store.first_write_id(NAME) == 1
    session.sql(f"CREATE TABLE other (id INT) {ACID}")
    with session.transaction():
        with pytest.raises(OperationalError, match="never given out here"):
            session.sql("INSERT INTO aborted VALUES (9, 'x')")
        session.sql("INSERT INTO other VALUES (1)")
    assert list(session.sql("SELECT count(*) FROM other").rows()) == [(1,)]
    session.sql("INSERT INTO other VALUES (2)")
    assert (names(warehouse), read(session)) == (before, [])


def test_who_writes_first_does_not_take_the_next_ones_files_for_others(warehouse: Path) -> None:
    """Two begin to write to a new table; the first goes on when the second has committed."""
    with Session(warehouse) as first, Session(warehouse) as second:
        for name, layout, key in (("t", "", ""), ("p", "PARTITIONED BY (day STRING)", ", '1'")):
            first.sql(f"CREATE TABLE {name} (id INT, name STRING) {layout} {ACID}")
            first.sql("START TRANSACTION")
            first.sql(f"UPDATE {name} SET name = 'x' WHERE id = 1")
            second.sql(f"INSERT INTO {name} VALUES (2, 'b'{key})")
            first.sql(f"INSERT INTO {name} VALUES (1, 'a'{key})")
            first.sql("COMMIT")
            assert first.sql(f"SELECT id FROM {name} ORDER BY id").fetchall() == [(1,), (2,)]


@pytest.mark.parametrize("stray", ["delta_0000001_0000001_0000", "delta_0000007_0000007_0000"])
def test_files_of_others_are_found_beside_those_of_a_second_writer(
    warehouse: Path, stray: str
) -> None:
    """Of the first write id of a table, and of ids that were not given out yet."""
    with Session(warehouse) as first, Session(warehouse) as second:
        first.sql(f"CREATE TABLE t (id INT, name STRING) {ACID}")
        first.sql("START TRANSACTION")
        first.sql("UPDATE t SET name = 'x' WHERE id = 1")
        second.sql("INSERT INTO t VALUES (2, 'b')")
        shutil.copytree(warehouse / "t" / "delta_0000002_0000002_0000", warehouse / "t" / stray)
        with pytest.raises(OperationalError, match="that were never given out here"):
            first.sql("INSERT INTO t VALUES (1, 'a')")
        first.sql("ROLLBACK")


def test_files_that_come_later_are_not_taken_away(session: Session, warehouse: Path) -> None:
    """A directory that has the name of the next one fails the statement, and outlives it."""
    session.sql(f"CREATE TABLE t (id INT, name STRING) {ACID}")
    session.sql("INSERT INTO t VALUES (1, 'a')")
    late = warehouse / "t" / "delta_0000002_0000002_0000"
    shutil.copytree(warehouse / "aborted" / late.name, late)
    with pytest.raises(OperationalError, match="already exists"):
        session.sql("INSERT INTO t VALUES (2, 'b')")
    session.sql("INSERT INTO t VALUES (3, 'c')")
    assert (late / "bucket_00000").exists()
    assert sorted(session.sql("SELECT id FROM t").rows()) == [(1,), (3,)]


def doctor(warehouse: Path, *options: str) -> int:
    return main(["doctor", "--warehouse", str(warehouse), "aborted", *options])


def test_doctor_is_told_what_counts(
    session: Session, warehouse: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """``--repair`` does not know; who names the write ids gets Hive's rows, and may go on."""
    assert doctor(warehouse) == 1
    told = capsys.readouterr().out
    assert "which of the write ids 1-4 were committed is not in the files" in told
    assert doctor(warehouse, "--repair") == 1
    assert "1 finding left, 0 mended" in capsys.readouterr().err
    for options, why in (
        (["--committed", "1,4"], "nothing is said of the write ids 2-3"),
        (["--committed", "1-4", "--aborted", "2"], "write ids 2 are said to be committed, and"),
        (["--committed", "1-5"], "write id 1-5 is not one that is to be decided"),
        (["--committed", "one"], '"one" is no write id'),
    ):
        assert doctor(warehouse, *options) == 1
        assert why in capsys.readouterr().err
    assert read(session) == []
    assert doctor(warehouse, "--committed", "rest", "--aborted", "2,3") == 0
    assert "write ids 1, 4 committed and 2-3 aborted" in capsys.readouterr().err
    assert read(session) == [(1, "a"), (2, "b"), (4, "d")]
    assert session.sql("SELECT * FROM aborted").warnings == ()
    session.sql("INSERT INTO aborted VALUES (5, 'e')")
    session.sql("DELETE FROM aborted WHERE id = 1")
    assert read(session) == [(2, "b"), (4, "d"), (5, "e")]
    assert "delta_0000002_0000002_0000" in names(warehouse)


def test_a_table_that_was_compacted_is_refused_until_it_is_taken_over(
    session: Session, warehouse: Path
) -> None:
    """Its base hides what it was made of; by itself it proves that all in it counts."""
    table = warehouse / "aborted"
    shutil.rmtree(table / "delta_0000002_0000002_0000")
    for name in ("delta_0000003_0000003_0000", "delete_delta_0000003_0000003_0000"):
        shutil.rmtree(table / name)
    shutil.rmtree(table / "delta_0000004_0000004_0000")
    (table / "delta_0000001_0000001_0000").rename(table / "base_0000004")
    (table / "base_0000004" / "_metadata_acid").write_bytes(COMPACTED)
    with pytest.raises(OperationalError, match="nothing can be read of table"):
        session.sql("SELECT * FROM aborted")
    assert doctor(warehouse, "--repair") == 0
    assert read(session) == [(1, "a"), (2, "b")]


# ---- what directories prove

PROOFS: dict[str, tuple[list[str], str]] = {
    "an insert": (["delta_0000001_0000001_0000"], "1"),
    "an overwriting": (["base_0000002"], "2"),
    "a compacted base": (["base_0000002+", "delta_0000001_0000001_0000"], ""),
    "and an insert above": (["base_0000002+", "delta_0000003_0000003_0000"], "3"),
    "a wide delta may be a stream's": (["delta_0000001_0000003"], "1-3"),
    "a base of a transaction that may have failed": (
        ["base_0000002_v0000021", "delta_0000001_0000001_0000"],
        "1-2",
    ),
    "and one whose inputs are gone": (["base_0000002_v0000021"], ""),
    "both kinds of a range": (["delta_0000001_0000002_v0000021", "delete_delta_0000001_0000002_v0000021"], ""),
    "a failed one beside another": (["delta_0000001_0000002_v0000021", "delta_0000001_0000002_v0000022"], "1-2"),
    "Hive 3's minor compaction may be half a stream's": (["delta_0000001_0000002", "delete_delta_0000001_0000002"], "1-2"),
    "an empty base of a failed compaction": (["base_0000002_v0000021-", "delta_0000001_0000001_0000"], "1-2"),
    "a copy inside a base": (["base_0000002+", "base_0000002/base_0000002+"], ""),
    "another inside a base": (["base_0000002+", "base_0000002/base_0000003"], "2"),
    "above what is known": (["delta_0000001_0000009"], "1-9"),
}  # fmt: skip


@pytest.mark.parametrize("what", PROOFS)
def test_what_directories_prove(tmp_path: Path, what: str) -> None:
    """Alone, whether the transactions of their rows were committed."""
    directories, left = PROOFS[what]
    for name in directories:
        path = tmp_path / name.rstrip("+-")
        path.mkdir()
        if not name.endswith("-"):
            (path / "bucket_00000").write_bytes(b"x")
        if name.endswith("+"):
            (path / "_metadata_acid").write_bytes(COMPACTED)
    table = Table(name=NAME, columns=(), location=str(tmp_path))
    undeclared = find_undeclared(LOCAL, table, [], WriteId(0))
    assert undeclared is not None
    assert runs(undeclared.write_ids) == left
    assert find_undeclared(LOCAL, table, [], undeclared.highest) is None
