"""LOAD DATA: files become files of a table as they are, and no file is ever lost."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import orc
from pyarrow import parquet as pq

from acidsql import crash_points
from acidsql.errors import (
    BindError,
    Error,
    ExecutionError,
    IntegrityError,
    UnsupportedStatementError,
)
from acidsql.session import Session

pytestmark = pytest.mark.spark

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
INSERT_ONLY = "TBLPROPERTIES ('transactional'='true', 'transactional_properties'='insert_only')"
ROWS = pa.table({"id": pa.array([1, 2], pa.int32()), "v": ["a", "b"]})


def rows(session: Session, query: str = "SELECT * FROM t") -> list[Any]:
    return sorted(session.sql(query).rows(), key=repr)


def names(folder: Path) -> list[str]:
    paths = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".crc")
    return sorted(path.relative_to(folder).as_posix() for path in paths)


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    """A folder with two ORC files, and some that are hidden."""
    folder = tmp_path / "in"
    folder.mkdir()
    for name in ("b.orc", "a.orc", "_hidden", ".hidden"):
        orc.write_table(ROWS, folder / name)
    return folder


@pytest.fixture
def table(session: Session) -> Session:
    session.sql(f"CREATE TABLE t (id INT, v STRING) {ACID}")
    return session


# ---- full ACID


def test_copies_become_raw_files_of_a_delta(table: Session, warehouse: Path, inbox: Path) -> None:
    """Unchanged, named as Hive names them in the order of their names, without a version file;
    their rows have ids and can be changed.
    """
    done = table.sql(f"LOAD DATA LOCAL INPATH '{inbox}' INTO TABLE t")
    assert (done.stats.statement, done.stats.rows_inserted, done.stats.directories) == (
        "LOAD DATA",
        4,
        ("t/delta_0000001_0000001_0000",),
    )
    assert names(warehouse / "t") == [
        "delta_0000001_0000001_0000/000000_0",
        "delta_0000001_0000001_0000/000001_0",
    ]
    assert (warehouse / "t/delta_0000001_0000001_0000/000000_0").read_bytes() == (
        inbox / "a.orc"
    ).read_bytes()
    assert rows(table, "SELECT ROW__ID.writeid, ROW__ID.bucketid, ROW__ID.rowid, id FROM t") == [
        (1, 536870912, 0, 1), (1, 536870912, 1, 2), (1, 536936448, 0, 1), (1, 536936448, 1, 2)]  # fmt: skip
    table.sql("UPDATE t SET v = 'z' WHERE id = 2")
    assert rows(table) == [(1, "a"), (1, "a"), (2, "z"), (2, "z")]
    assert names(inbox) == [".hidden", "_hidden", "a.orc", "b.orc"]


@pytest.mark.parametrize(
    ("columns", "stored", "expected"),
    [
        ("a, b", ("b", "a"), [(2, 1)]),  # by name
        ("a, b", ("_col0", "_col1"), [(1, 2)]),  # by position: the file has no names
        ("`_col1`, `_col0`", ("_col0", "_col1"), [(1, 2)]),
        ("`_col1`", ("_col0", "_col1"), [(1,)]),
        ("`_colour`, `_column`", ("_colour", "_column"), [(1, 2)]),
        # by name in Hive, by position in Spark
        (
            "`_column`, `_colour`",
            ("_colour", "_column"),
            None,
        ),
    ],
)
@pytest.mark.parametrize("transactional", ["true", "false"])
def test_names_and_places_of_columns(
    session: Session,
    tmp_path: Path,
    columns: str,
    stored: tuple[str, ...],
    expected: list[Any] | None,
    transactional: str,
) -> None:
    """Columns of a file are found by their names, or by their places where those are numbers; what
    Spark would mix up is refused.
    """
    orc.write_table(
        pa.table(
            {name: pa.array([value], pa.int32()) for value, name in enumerate(stored, start=1)}
        ),
        tmp_path / "f.orc",
    )
    typed = columns.replace(",", " INT,")
    session.sql(
        f"CREATE TABLE t ({typed} INT) STORED AS ORC TBLPROPERTIES ('transactional'='{transactional}')"
    )
    load = f"LOAD DATA LOCAL INPATH '{tmp_path}/f.orc' INTO TABLE t"
    if expected is None:
        with pytest.raises(UnsupportedStatementError, match="another order"):
            session.sql(load)
        assert rows(session) == []
        return
    session.sql(load)
    assert rows(session) == expected
    if transactional == "true":
        first = columns.partition(",")[0]
        session.sql(f"UPDATE t SET {first} = 7")
        assert rows(session) == [(7, *expected[0][1:])]


def test_overwriting_makes_a_base(table: Session, warehouse: Path, inbox: Path) -> None:
    """What was there is hidden; a pattern says which files."""
    table.sql("INSERT INTO t VALUES (9, 'old')")
    table.sql(f"LOAD DATA LOCAL INPATH '{inbox}/[^b]*.orc' OVERWRITE INTO TABLE t")
    assert names(warehouse / "t" / "base_0000002") == ["000000_0"]
    assert rows(table, "SELECT ROW__ID.writeid, id FROM t") == [(2, 1), (2, 2)]


def test_a_move_takes_the_files_away_when_the_rows_are_there(
    table: Session, warehouse: Path, inbox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not before: whatever fails, they are where they were."""

    def fail(at: str, point: str) -> None:
        if point == at:
            raise OSError("no")

    for failing in ("begun", "directory made", "file published", "written"):
        monkeypatch.setattr(crash_points, "reached", partial(fail, failing))
        with pytest.raises((Error, OSError)):
            table.sql(f"LOAD DATA INPATH '{inbox}' INTO TABLE t")
        monkeypatch.undo()
        assert names(inbox) == [".hidden", "_hidden", "a.orc", "b.orc"]
        assert rows(table) == []
        assert names(warehouse / "t") == []
    table.sql(f"LOAD DATA INPATH 'file:{inbox}' INTO TABLE t")
    assert names(inbox) == [".hidden", "_hidden"]
    assert len(rows(table)) == 4


def test_a_file_that_cannot_be_deleted_is_named(
    table: Session, inbox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rows are loaded; loading it again would double them."""

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(table.files), "delete_file", refuse)
    with pytest.raises(
        ExecutionError, match=r"a\.orc\" are loaded, but the file could not be deleted"
    ):
        table.sql(f"LOAD DATA INPATH '{inbox}/a.orc' INTO TABLE t")
    assert len(rows(table)) == 2


def test_partitions_are_made(session: Session, warehouse: Path, inbox: Path) -> None:
    """All rows go to the one that is named."""
    session.sql(f"CREATE TABLE t (id INT, v STRING) PARTITIONED BY (ds DATE, n INT) {ACID}")
    for verb in ("INTO", "INTO", "OVERWRITE INTO"):
        session.sql(
            f"LOAD DATA LOCAL INPATH '{inbox}/a.orc' {verb} TABLE t PARTITION (n = '01', ds = '2020-01-01')"
        )
    assert rows(session, "SELECT id, CAST(ds AS STRING), n FROM t") == [
        (1, "2020-01-01", 1),
        (2, "2020-01-01", 1),
    ]
    assert rows(session, "SHOW PARTITIONS t") == [("ds=2020-01-01/n=1",)]
    assert names(warehouse / "t")[0] == "ds=2020-01-01/n=1/base_0000003/000000_0"


@pytest.mark.parametrize("path", ["small", "big"])
def test_buckets_and_rules_make_an_insert_of_it(
    session: Session, warehouse: Path, inbox: Path, path: str
) -> None:
    """Each row goes to its bucket; a row that breaks a rule stops the statement."""
    session.sql(
        f"CREATE TABLE t (id INT, v STRING, CHECK (id < 10)) PARTITIONED BY (p STRING) CLUSTERED BY (id) INTO 2 BUCKETS {ACID}"
    )
    session.sql(f"SET acidsql.write.path={path}")
    session.sql(f"LOAD DATA INPATH '{inbox}/a.orc' INTO TABLE t PARTITION (p = 'x')")
    assert names(warehouse / "t" / "p=x" / "delta_0000001_0000001_0000") == [
        "_orc_acid_version",
        "bucket_00000",
        "bucket_00001",
    ]
    assert rows(session) == [(1, "a", "x"), (2, "b", "x")]
    assert names(inbox) == [".hidden", "_hidden", "b.orc"]
    orc.write_table(pa.table({"id": pa.array([20], pa.int32()), "v": ["c"]}), inbox / "c.orc")
    with pytest.raises(IntegrityError):
        session.sql(f"LOAD DATA INPATH '{inbox}/c.orc' INTO TABLE t PARTITION (p = 'x')")
    assert (inbox / "c.orc").exists()


# ---- other tables


def test_insert_only_tables_keep_the_names(session: Session, warehouse: Path, inbox: Path) -> None:
    """In a delta or a base of their own; of two files of one name the second is a copy."""
    session.sql(f"CREATE TABLE t (id INT, v STRING) STORED AS ORC {INSERT_ONLY}")
    (inbox / "more").mkdir()
    shutil.copy(inbox / "a.orc", inbox / "more" / "a.orc")
    session.sql(f"LOAD DATA LOCAL INPATH '{inbox}/{{.,more}}/a.orc' INTO TABLE t")
    session.sql(f"LOAD DATA LOCAL INPATH '{inbox}/b.orc' OVERWRITE INTO TABLE t")
    assert names(warehouse / "t") == [
        "base_0000002/b.orc",
        "delta_0000001_0000001_0000/a.orc",
        "delta_0000001_0000001_0000/a_copy_1.orc",
    ]
    assert rows(session) == [(1, "a"), (2, "b")]


def test_text_and_parquet(session: Session, warehouse: Path, tmp_path: Path) -> None:
    """Plain tables take files beside those they have; OVERWRITE replaces them."""
    session.sql("CREATE TABLE t (id INT, v STRING) ROW FORMAT DELIMITED FIELDS TERMINATED BY ','")
    (tmp_path / "x.csv").write_text("1,a\n")
    (tmp_path / "empty").touch()
    for verb in ("INTO", "INTO"):
        session.sql(f"LOAD DATA LOCAL INPATH '{tmp_path}/{{x.csv,empty}}' {verb} TABLE t")
    assert names(warehouse / "t") == ["empty", "empty_copy_1", "x.csv", "x_copy_1.csv"]
    assert rows(session) == [(1, "a"), (1, "a")]
    session.sql(f"LOAD DATA INPATH '{tmp_path}/x.csv' OVERWRITE INTO TABLE t")
    assert rows(session) == [(1, "a")]
    assert not (tmp_path / "x.csv").exists()
    session.sql("CREATE TABLE p (id INT, v STRING) STORED AS PARQUET")
    pq.write_table(ROWS, tmp_path / "rows.parquet")
    assert (
        session.sql(
            f"LOAD DATA LOCAL INPATH '{tmp_path}/rows.parquet' INTO TABLE p"
        ).stats.rows_inserted
        == 2
    )
    assert rows(session, "SELECT * FROM p") == [(1, "a"), (2, "b")]


# ---- refusals


def test_files_that_do_not_fit(
    table: Session, warehouse: Path, inbox: Path, tmp_path: Path
) -> None:
    """Another format, ACID events, columns that are not the table's: nothing is loaded, with Hive's
    words.
    """
    table.sql("INSERT INTO t VALUES (1, 'a')")
    (tmp_path / "text").write_text("1,a\n")
    pq.write_table(ROWS, tmp_path / "parquet")
    events = warehouse / "t" / "delta_0000001_0000001_0000" / "bucket_00000"
    table.sql("CREATE TABLE plain (id INT, v STRING) STORED AS ORC")
    table.sql("CREATE TABLE txt (id INT, v STRING)")
    table.sql("CREATE TABLE par (id STRING, v STRING) STORED AS PARQUET")
    table.sql(f"CREATE TABLE other (id INT, v ARRAY<STRING>) {ACID}")
    format_words = "does not match the file format of the destination table"
    for path, name, words in (
        (tmp_path / "text", "t", format_words),
        (tmp_path / "parquet", "t", format_words),
        (inbox / "a.orc", "txt", format_words),
        (tmp_path / "parquet", "txt", format_words),
        (tmp_path / "text", "par", format_words),
        (events, "t", r"10413.*bucket_00000. was created by Acid write"),
        (events, "plain", "10413"),
        (
            inbox / "a.orc",
            "other",
            r'column "v" of the table is array<string>, that of the file to load is string',
        ),
        (
            tmp_path / "parquet",
            "par",
            r'column "id" of the table is string, that of the file to load is int32',
        ),
    ):
        with pytest.raises(BindError, match=words):
            table.sql(f"LOAD DATA LOCAL INPATH '{path}' INTO TABLE {name}")
    (tmp_path / "rows.json").write_text("{}\n")
    (tmp_path / "packed").write_bytes(b"\x1f\x8b\x08rest")
    for path, name, what, hint in (
        (tmp_path / "text", "t", "is text, table default.t is stored as orc", "'file.csv'"),
        (tmp_path / "rows.json", "t", "is text", f"FROM json.`{tmp_path}/rows.json`"),
        (tmp_path / "packed", "t", "is packed by gzip", "'file.csv'"),
        (
            tmp_path / "parquet",
            "t",
            "is Parquet, table default.t is stored as orc",
            f"INSERT INTO default.t SELECT .. FROM parquet.`{tmp_path}/parquet`",
        ),
        (inbox / "a.orc", "par", "is ORC", f"INTO default.par SELECT .. FROM orc.`{inbox}/a.orc`"),
    ):
        with pytest.raises(BindError, match=format_words) as caught:
            table.sql(f"LOAD DATA LOCAL INPATH '{path}' INTO TABLE {name}")
        assert what.lower() in str(caught.value.detail).lower()
        assert hint in str(caught.value.hint)
    assert rows(table) == [(1, "a")]
    assert [rows(table, f"SELECT * FROM {name}") for name in ("plain", "txt", "par", "other")] == [
        [],
        [],
        [],
        [],
    ]


def test_paths_that_mean_no_file(
    table: Session, inbox: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing there, nothing but hidden files, a directory inside; LOCAL begins where the program
    runs.
    """
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "_x").touch()
    for path in (tmp_path / "none", tmp_path / "empty", inbox / "*.csv", inbox / "_hidden"):
        with pytest.raises(BindError, match=r"Invalid path .* No files matching path"):
            table.sql(f"LOAD DATA LOCAL INPATH '{path}' INTO TABLE t")
    (inbox / "deeper").mkdir()
    with pytest.raises(BindError, match="source contains directory"):
        table.sql(f"LOAD DATA LOCAL INPATH '{inbox}' INTO TABLE t")
    monkeypatch.chdir(inbox)
    table.sql("LOAD DATA LOCAL INPATH '?.orc' INTO TABLE t")
    assert len(rows(table)) == 4


def test_not_in_a_transaction_of_several_statements(table: Session, inbox: Path) -> None:
    """What it moves could not be rolled back."""
    with (
        pytest.raises(BindError, match="LOAD DATA is not allowed in a transaction"),
        table.transaction(),
    ):
        table.sql(f"LOAD DATA INPATH '{inbox}' INTO TABLE t")
    assert names(inbox) == [".hidden", "_hidden", "a.orc", "b.orc"]
