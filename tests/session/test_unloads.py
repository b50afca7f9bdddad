"""COPY .. TO and INSERT OVERWRITE DIRECTORY: rows of queries as files that no table has."""

from __future__ import annotations

import datetime
import gzip
import json
import os
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import csv, orc
from pyarrow import parquet as pq

from acidsql.catalog.model import Column
from acidsql.catalog.text import strict_json
from acidsql.catalog.types import arrow_type, parse_type
from acidsql.errors import BindError, DataError, Error, ExecutionError, UnsupportedStatementError
from acidsql.session import Session
from acidsql.storage.unload.formats import json_lines

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
COLUMNS = "id INT, name STRING, n DECIMAL(6,2), day DATE, at TIMESTAMP, tags ARRAY<STRING>"
ROWS = [
    {
        "id": 1,
        "name": 'a, "b"',
        "n": Decimal("1.50"),
        "day": datetime.date(2026, 1, 1),
        "at": datetime.datetime(2026, 1, 1, 5, 30),
        "tags": ["x", None],
    },
    {"id": 2, "name": None, "n": None, "day": None, "at": None, "tags": None},
    {
        "id": 3,
        "name": "",
        "n": Decimal("-2.00"),
        "day": datetime.date(2026, 1, 2),
        "at": None,
        "tags": [],
    },
]


@pytest.fixture
def alone(alone: Session) -> Session:
    """With a table of the rows."""
    alone.create_table("t", pa.Table.from_pylist(ROWS, schema=_schema()))
    return alone


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """An empty directory."""
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


def _schema() -> pa.Schema:
    return pa.schema(
        [
            ("id", pa.int32()),
            ("name", pa.string()),
            ("n", pa.decimal128(6, 2)),
            ("day", pa.date32()),
            ("at", pa.timestamp("us")),
            ("tags", pa.list_(pa.string())),
        ]
    )


def _arrow(path: Path) -> pa.Table:
    with pa.ipc.open_file(path) as file:
        return file.read_all()


READERS: dict[str, Callable[[Path], pa.Table]] = {
    "parquet": pq.read_table,
    "orc": orc.read_table,
    "arrow": _arrow,
}


@pytest.mark.parametrize("kind", READERS)
def test_a_table_becomes_a_file(alone: Session, out: Path, kind: str) -> None:
    """Whose rows are the table's, in its types; the rows are counted."""
    path = out / f"t.{kind}"
    done = alone.sql(f"COPY t TO '{path}'")
    assert (done.stats.statement, done.stats.rows_copied) == ("COPY", 3)
    assert str(done) == "COPY: 3 rows written"
    rows = READERS[kind](path)
    assert rows.cast(_schema()).to_pylist() == ROWS
    assert os.listdir(out) == [path.name]


def test_json_has_a_line_for_each_row(alone: Session, out: Path) -> None:
    """Under the names of the columns, values inside of others too."""
    alone.sql(f"COPY t TO '{out}/t.json'")
    lines = (out / "t.json").read_text().splitlines()
    assert json.loads(lines[0])["tags"] == ["x", None]
    assert json.loads(lines[1]) == dict.fromkeys(ROWS[0]) | {"id": 2}


def test_json_is_that_of_single_values() -> None:
    """However a column is written: texts with and without escapes, numbers, decimals, NULLs, slices."""
    kinds = "boolean int bigint double string string decimal(12,2) decimal(30,10) date timestamp binary array<string>"
    values = [
        [True, -1, 2**63 - 1, 0.1, "plain é", 'a "b" \\ \n\x01\x7f', Decimal("-1.50"), Decimal("0.0000001000"),
         datetime.date(2026, 1, 1), datetime.datetime(2026, 1, 1, 5, 0, 0, 5000), b"\x00\xff", ["x", None]],
        [None] * 12,
        [False, 0, -(2**63), float("nan"), "", "", Decimal("0.00"), Decimal("1.0000000000"),
         datetime.date(1, 1, 1), datetime.datetime(1, 1, 1), b"", []],
    ]  # fmt: skip
    columns = [Column(name=f"c{n}", type=parse_type(kind)) for n, kind in enumerate(kinds.split())]
    arrays = [
        pa.array([row[n] for row in values], arrow_type(column.type))
        for n, column in enumerate(columns)
    ]
    batch = pa.RecordBatch.from_arrays(arrays, names=[column.name for column in columns])
    expected = [
        "{"
        + ",".join(
            f'"{c.name}":{strict_json(c.type)(v)}' for c, v in zip(columns, row, strict=True)
        )
        + "}"
        for row in values
    ]
    assert json_lines(columns)(batch).decode().splitlines() == expected
    assert json_lines(columns)(batch.slice(1)).decode().splitlines() == expected[1:]
    json.loads(expected[0])


def test_csv_tells_null_from_the_empty_text(alone: Session, out: Path) -> None:
    """A NULL is nothing, a text stands in quotes; header and delimiter may be chosen."""
    query = "(SELECT id, name FROM t WHERE id > 1)"
    alone.sql(f"COPY {query} TO '{out}/t.csv'")
    assert (out / "t.csv").read_text() == '"id","name"\n2,\n3,""\n'
    alone.sql(f"COPY {query} TO '{out}/t.csv' (HEADER false, DELIMITER ';', OVERWRITE)")
    assert (out / "t.csv").read_text() == '2;\n3;""\n'
    alone.sql(f"COPY {query} TO '{out}/t.tsv.gz'")
    assert gzip.decompress((out / "t.tsv.gz").read_bytes()) == b'"id"\t"name"\n2\t\n3\t""\n'


@pytest.mark.parametrize(
    ("kind", "compression"),
    [("parquet", "zstd"), ("orc", "none"), ("arrow", "zstd"), ("json", "gzip"), ("csv", "zstd")],
)
def test_files_are_compressed_as_asked(
    alone: Session, out: Path, kind: str, compression: str
) -> None:
    """By what each format has."""
    alone.sql(f"COPY (SELECT id FROM t) TO '{out}/t' (FORMAT {kind}, COMPRESSION {compression})")
    if kind == "parquet":
        group = pq.ParquetFile(out / "t").metadata.row_group(0)
        assert group.column(0).compression == "ZSTD"
    elif kind in READERS:
        assert READERS[kind](out / "t").column("id").to_pylist() == [1, 2, 3]
    else:
        assert pa.input_stream(out / "t", compression=compression).read().endswith(b"\n")


def test_partitions_are_directories(alone: Session, out: Path) -> None:
    """Named as Hive names them, NULL too, without their columns in the files."""
    alone.sql(f"COPY t TO '{out}/p' (FORMAT parquet, PARTITION_BY (Day, id))")
    files = sorted(str(p.relative_to(out / "p")) for p in (out / "p").rglob("*.parquet"))
    assert files == [
        "day=2026-01-01/id=1/part-0.parquet",
        "day=2026-01-02/id=3/part-0.parquet",
        "day=__HIVE_DEFAULT_PARTITION__/id=2/part-0.parquet",
    ]
    assert pq.ParquetFile(out / "p" / files[0]).schema_arrow.names == ["name", "n", "at", "tags"]
    alone.sql(f"COPY (SELECT 1 AS a, 'x/y' AS b) TO '{out}/q' (FORMAT csv, PARTITION_BY b)")
    assert os.listdir(out / "q") == ["b=x%2Fy"]


def test_many_partitions_have_few_files_open(alone: Session, out: Path) -> None:
    """More directories than files may be open at once, and no row is lost."""
    alone.register("many", pa.table({"k": range(400), "v": ["x"] * 400}))
    alone.sql(f"COPY (SELECT * FROM many) TO '{out}/p' (FORMAT csv, PARTITION_BY k)")
    assert len(os.listdir(out / "p")) == 400
    assert csv.read_csv(out / "p" / "k=399" / "part-0.csv").to_pylist() == [{"v": "x"}]


def test_what_is_there_stays_unless_it_is_to_go(alone: Session, out: Path) -> None:
    """OVERWRITE true puts the rows in its place, files and directories, but never one of the other
    kind.
    """
    path = out / "t.csv"
    path.write_text("mine")
    with pytest.raises(BindError, match="exists already") as caught:
        alone.sql(f"COPY (SELECT id FROM t) TO '{path}'")
    assert "OVERWRITE true" in str(caught.value)
    assert path.read_text() == "mine"
    alone.sql(f"COPY (SELECT id FROM t) TO '{path}' (OVERWRITE true)")
    assert path.read_text() == '"id"\n1\n2\n3\n'
    with pytest.raises(BindError, match="is a file, where a directory is to be"):
        alone.sql(f"COPY t TO '{path}' (FORMAT parquet, PARTITION_BY id, OVERWRITE)")
    (out / "p").mkdir()
    (out / "p" / "old").write_text("old")
    with pytest.raises(BindError, match="exists already"):
        alone.sql(f"COPY t TO '{out}/p' (FORMAT parquet, PARTITION_BY id)")
    with pytest.raises(BindError, match="is a directory, where a file is to be"):
        alone.sql(f"COPY t TO '{out}/p' (FORMAT parquet, OVERWRITE)")
    alone.sql(f"COPY t TO '{out}/p' (FORMAT parquet, PARTITION_BY id, OVERWRITE)")
    assert sorted(os.listdir(out / "p")) == ["id=1", "id=2", "id=3"]
    assert sorted(os.listdir(out)) == ["p", "t.csv"]


def test_a_statement_that_fails_leaves_what_was_there(alone: Session, out: Path) -> None:
    """No file of its own, and the old one as it was."""
    (out / "h").mkdir()
    (out / "h" / "old").write_text("old")
    with pytest.raises(DataError, match='a value of column "name" holds the end'):
        alone.sql(
            f"INSERT OVERWRITE DIRECTORY '{out}/h' ROW FORMAT DELIMITED FIELDS TERMINATED BY ','"
            " SELECT id, name FROM t"
        )
    assert [os.listdir(out), os.listdir(out / "h")] == [["h"], ["old"]]
    with pytest.raises(BindError, match="CSV has no way"):
        alone.sql(f"COPY t TO '{out}/t.csv'")
    assert os.listdir(out) == ["h"]


def test_two_writers_of_one_file(
    alone: Session, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one who comes later finds the other's file, and leaves it."""
    from acidsql.storage.unload.unloading import Unloading

    put = Unloading.put_in_place

    def late(self: Unloading) -> None:
        (out / "t.csv").write_text("the other's")
        put(self)

    monkeypatch.setattr(Unloading, "put_in_place", late)
    with pytest.raises(ExecutionError, match="made by another meanwhile"):
        alone.sql(f"COPY (SELECT id FROM t) TO '{out}/t.csv'")
    assert (out / "t.csv").read_text() == "the other's"
    assert os.listdir(out) == ["t.csv"]


def test_a_directory_that_cannot_be_put_in_place_leaves_the_old_one(
    alone: Session, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second rename that fails is undone by giving the old directory its name again."""
    (out / "p").mkdir()
    (out / "p" / "old").write_text("old")
    rename = os.rename

    def failing(old: str, new: str) -> None:
        if old.endswith(".copying") and new.endswith("/p"):
            raise PermissionError(13, "Permission denied", new)
        rename(old, new)

    monkeypatch.setattr(os, "rename", failing)
    with pytest.raises(ExecutionError, match="COPY failed"):
        alone.sql(f"COPY t TO '{out}/p' (FORMAT parquet, PARTITION_BY id, OVERWRITE)")
    assert [os.listdir(out), os.listdir(out / "p")] == [["p"], ["old"]]


def test_rows_are_those_of_one_snapshot_and_of_the_transaction(alone: Session, out: Path) -> None:
    """A transaction's own rows are among them; its end does not matter to the file."""
    alone.sql("START TRANSACTION")
    alone.sql("DELETE FROM t WHERE id > 1")
    alone.sql(f"COPY (SELECT id FROM t) TO '{out}/t.csv'")
    alone.sql("ROLLBACK")
    assert (out / "t.csv").read_text() == '"id"\n1\n'
    assert len(alone.sql("SELECT * FROM t")) == 3


def test_a_dry_run_writes_nothing(alone: Session, out: Path) -> None:
    """It says what would be done."""
    alone.sql("SET acidsql.dry.run=true")
    lines = [line for (line,) in alone.sql(f"COPY t TO '{out}/t.parquet'")]
    assert lines[-1] == f'  put the file "{out}/t.parquet" in place'
    assert os.listdir(out) == []


def test_explain_analyze_writes(alone: Session, out: Path) -> None:
    """What ran is what EXPLAIN says, with rows, files and bytes."""
    lines = [line for (line,) in alone.sql(f"EXPLAIN ANALYZE COPY t TO '{out}/t.parquet'")]
    assert "write the rows as parquet on the driver (3 rows" in lines[-2]
    size = os.path.getsize(out / "t.parquet")
    assert f"(1 files, {size} bytes" in lines[-1]


def test_the_warehouse_takes_no_files_of_others(alone: Session, tmp_path: Path) -> None:
    """Nor is a directory replaced that holds it, or in which the program runs."""
    with pytest.raises(BindError, match="lies in the warehouse"):
        alone.sql(f"COPY t TO '{tmp_path}/w/t/x.parquet'")
    with pytest.raises(BindError, match="would be replaced with all that is in it"):
        alone.sql(f"COPY t TO '{tmp_path}' (FORMAT parquet, PARTITION_BY id, OVERWRITE)")
    with pytest.raises(BindError, match="would be replaced with all that is in it"):
        alone.sql("INSERT OVERWRITE DIRECTORY '/' SELECT id FROM t")


def test_relative_paths_begin_in_the_working_directory(
    alone: Session, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file URL is a local path, too."""
    monkeypatch.chdir(out)
    alone.sql("COPY (SELECT id FROM t) TO 'a.csv'")
    alone.sql(f"COPY (SELECT id FROM t) TO 'file://{out}/b.csv'")
    assert sorted(os.listdir(out)) == ["a.csv", "b.csv"]


@pytest.mark.parametrize(
    ("statement", "what", "place"),
    [
        ("COPY t TO 'x'", "does not tell the format", "'x'"),
        ("COPY t TO 'x.csv' (FORMAT xls)", 'there is no format "xls"', "FORMAT xls"),
        ("COPY t TO 'x.csv' (FORMATS csv)", "COPY has no option FORMATS", "FORMATS"),
        ("COPY t TO 'x.csv' (HEADER 1)", "HEADER is true or false", "HEADER 1"),
        ("COPY t TO 'x.csv' (DELIMITER 'ab')", "one character", "DELIMITER 'ab'"),
        ("COPY t TO 'x.orc' (HEADER)", "HEADER is for FORMAT csv", "HEADER"),
        ("COPY t TO 'x.orc' (COMPRESSION gzip)", "orc has no compression", "COMPRESSION gzip"),
        ("COPY t TO 'x.orc' (PARTITION_BY (a + 1))", "wants names of columns", "a + 1"),
        ("COPY t TO 'x.orc' (PARTITION_BY)", "wants names of columns", "PARTITION_BY"),
        ("COPY t TO 'x.orc' (PARTITION_BY (id, ID))", "twice", "ID"),
        ("COPY t TO 'x.orc' (PARTITION_BY (id, nix))", "no column", "nix"),
        ("COPY t TO 'x.orc' (PARTITION_BY (tags))", "names no directory", "tags"),
        ("COPY (SELECT 1 AS a) TO 'x.orc' (PARTITION_BY (a))", "no column is left", "a"),
        ("COPY (SELECT 1 AS a, 2 AS A) TO 'x.orc'", "two columns are called", "'x.orc'"),
        ("COPY t TO 'nowhere/x.orc'", "there is no directory", "'nowhere/x.orc'"),
        ("COPY nix TO 'x.orc'", "Table not found", "nix"),
        ("COPY t TO ''", "no path", "''"),
        ("COPY t TO 's3://b/x.orc'", "local file system alone", "'s3://b/x.orc'"),
        ("INSERT OVERWRITE DIRECTORY 'x' STORED AS AVRO SELECT 1", "AVRO files", "AVRO"),
        (
            "INSERT OVERWRITE DIRECTORY 'x' ROW FORMAT DELIMITED ESCAPED BY '\\\\' SELECT 1",
            "ESCAPED BY is not supported",
            "ESCAPED BY '\\\\'",
        ),
        (
            "INSERT OVERWRITE DIRECTORY 'x' ROW FORMAT DELIMITED FIELDS TERMINATED BY '' SELECT 1",
            "one character",
            "FIELDS TERMINATED BY ''",
        ),
    ],
)
def test_what_is_refused(
    alone: Session,
    out: Path,
    monkeypatch: pytest.MonkeyPatch,
    statement: str,
    what: str,
    place: str,
) -> None:
    """With its place; nothing is written."""
    monkeypatch.chdir(out)
    with pytest.raises(Error, match=what) as caught:
        alone.sql(statement)
    assert caught.value.span is not None
    assert caught.value.span.cut(statement) == place
    assert os.listdir(out) == []


def test_what_only_spark_makes_is_refused_at_its_place(alone: Session, out: Path) -> None:
    """Where there is to be no Spark; nothing is written."""
    statement = f"COPY (SELECT stack(1, id) AS a FROM t) TO '{out}/v.parquet'"
    with pytest.raises(UnsupportedStatementError, match="STACK") as caught:
        alone.sql(statement)
    assert caught.value.span is not None
    assert caught.value.span.cut(statement).startswith("stack")
    assert os.listdir(out) == []


# ---- INSERT OVERWRITE DIRECTORY


def test_a_directory_as_hive_writes_it(alone: Session, out: Path) -> None:
    """Lines of text with Hive's characters, or with those that are asked for; what was there is
    gone.
    """
    (out / "h").mkdir()
    (out / "h" / "old").write_text("old")
    done = alone.sql(f"INSERT OVERWRITE LOCAL DIRECTORY '{out}/h' SELECT id, name, n, at FROM t")
    assert done.stats.rows_copied == 3
    assert os.listdir(out / "h") == ["000000_0"]
    lines = (out / "h" / "000000_0").read_text()
    assert lines == (
        '1\x01a, "b"\x011.50\x012026-01-01 05:30:00\n2\x01\\N\x01\\N\x01\\N\n3\x01\x01-2.00\x01\\N\n'
    )
    alone.sql(
        f"INSERT OVERWRITE DIRECTORY '{out}/h'"
        " ROW FORMAT DELIMITED FIELDS TERMINATED BY ';' NULL DEFINED AS '-'"
        " SELECT id, name FROM t WHERE id = 2"
    )
    assert (out / "h" / "000000_0").read_text() == "2;-\n"


@pytest.mark.parametrize("kind", ["ORC", "PARQUET"])
def test_a_directory_of_other_files(alone: Session, out: Path, kind: str) -> None:
    """STORED AS says which."""
    alone.sql(f"INSERT OVERWRITE DIRECTORY '{out}/h' STORED AS {kind} SELECT * FROM t")
    rows = READERS[kind.lower()](out / "h" / "000000_0")
    assert rows.cast(_schema()).to_pylist() == ROWS
    assert alone.sql(f"SELECT count(*) FROM {kind.lower()}.`{out}/h`").fetchall() == [(3,)]


@pytest.mark.spark
def test_rows_of_spark_go_the_same_way(session: Session, tmp_path: Path) -> None:
    """A query that is Spark's writes the same file."""
    session.sql(f"CREATE TABLE t (id INT, name STRING) {ACID}")
    session.sql("INSERT INTO t VALUES (1, 'a'), (2, NULL)")
    query = "SELECT *, row_number() OVER (ORDER BY id DESC) AS r FROM t ORDER BY id"
    session.sql("SET acidsql.engine=spark")
    done = session.sql(f"COPY ({query}) TO '{tmp_path}/t.csv'")
    assert done.stats.rows_copied == 2
    assert (tmp_path / "t.csv").read_text() == '"id","name","r"\n1,"a",2\n2,,1\n'
