"""Files that pyarrow reads in the place of a table: CSV, JSON and Arrow, in quotes and by functions."""

from __future__ import annotations

import datetime
import gzip
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import orc
from pyarrow import parquet as pq

from acidsql.errors import BindError, ColumnNotFoundError, DataError, Error
from acidsql.session import Session

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
TEXT = (
    'Id,name,day,at,clock\n1,a,2026-01-01,2026-01-01T05:00:00Z,10:30:00\n2,"",,,\n3,,2026-01-02,,\n'
)
ROWS = [
    (1, "a", datetime.date(2026, 1, 1), datetime.datetime(2026, 1, 1, 5), "10:30:00"),
    (2, "", None, None, None),
    (3, None, datetime.date(2026, 1, 2), None, None),
]


@pytest.fixture
def here(alone: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    """In a directory with a file ``rows.csv``."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text(TEXT)
    return alone


def types(session: Session, query: str) -> list[tuple[str, str]]:
    return [(column.name, str(column.type)) for column in session.sql(query).columns]


def rows(session: Session, query: str) -> list[tuple[Any, ...]]:
    return session.sql(query).fetchall()


def test_a_csv_file_is_a_table(here: Session) -> None:
    """Of the types that pyarrow tells; what is empty is NULL, what is empty in quotes a text."""
    assert types(here, "SELECT * FROM 'rows.csv'") == [
        ("id", "bigint"),
        ("name", "string"),
        ("day", "date"),
        ("at", "timestamp"),
        ("clock", "string"),
    ]
    assert rows(here, "SELECT * FROM 'rows.csv'") == ROWS
    assert rows(here, "SELECT rows.name FROM 'rows.csv' WHERE ID > 2") == [(None,)]
    assert rows(here, 'SELECT f.id FROM "rows.csv" AS f ORDER BY f.id DESC LIMIT 1') == [(3,)]
    assert rows(here, "SELECT count(*), max(id) FROM read_csv('rows.csv') r") == [(3, 3)]


def test_a_file_is_what_statements_write_of(here: Session) -> None:
    """CREATE TABLE AS, INSERT .. SELECT, MERGE, and COPY back into a file."""
    here.sql("CREATE TRANSACTIONAL TABLE t AS SELECT id, name FROM 'rows.csv'")
    here.sql("INSERT INTO t SELECT id + 10, name FROM 'rows.csv'")
    merged = here.sql(
        "MERGE INTO t USING (SELECT id, name FROM 'rows.csv') s ON t.id = s.id"
        " WHEN MATCHED AND s.id = 1 THEN DELETE WHEN MATCHED THEN UPDATE SET name = 'm'"
        " WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.name)"
    )
    assert (merged.stats.rows_deleted, merged.stats.rows_updated) == (1, 2)
    merged = here.sql(
        "MERGE INTO t USING 'rows.csv' ON t.id = rows.id WHEN MATCHED AND rows.id = 9 THEN DELETE"
        " WHEN NOT MATCHED AND rows.id = 9 THEN INSERT VALUES (rows.id, rows.name)"
    )
    assert merged.stats.rows_changed == 0
    expected = [(2, "m"), (3, "m"), (11, "a"), (12, ""), (13, None)]
    assert sorted(rows(here, "SELECT * FROM t")) == expected
    here.sql("COPY t TO 'back.csv'")
    assert sorted(rows(here, "SELECT * FROM 'back.csv'")) == expected


@pytest.mark.parametrize("name", ["a.parquet", "a.orc", "a.json", "a.arrow", "a.tsv.gz", "a.csv"])
def test_what_copy_writes_comes_back(here: Session, name: str) -> None:
    """Of each format, the same rows."""
    here.sql(f"COPY (SELECT id, name, day FROM 'rows.csv') TO '{name}'")
    back = "SELECT id, name, CAST(day AS DATE) FROM"
    assert rows(here, f"{back} '{name}'") == [row[:3] for row in ROWS]


def test_tables_of_arrow_and_json(here: Session, tmp_path: Path) -> None:
    """Arrow's files and streams, lines of JSON with values inside of others, keys that are missing."""
    table = pa.table({"k": [1, 2], "tags": [["x"], None]})
    with pa.ipc.new_file("file.arrow", table.schema) as writer:
        writer.write(table)
    with pa.ipc.new_stream("stream.arrow", table.schema) as writer:
        writer.write(table)
    (tmp_path / "a.json").write_text('{"k":1,"s":{"n":[1,2]}}\n{"k":2.5,"more":"x"}\n')
    (tmp_path / "b.jsonl").write_text('{"k":3}\n')
    for name in ("file", "stream"):
        assert rows(here, f"SELECT * FROM '{name}.arrow'") == [(1, ["x"]), (2, None)]
        assert rows(here, f"SELECT k FROM read_arrow('{name}.arrow')") == [(1,), (2,)]
    assert rows(here, "SELECT * FROM 'a.json'") == [(1.0, {"n": [1, 2]}, None), (2.5, None, "x")]
    assert rows(here, "SELECT * FROM read_json('b.jsonl')") == [(3,)]


def test_options_of_csv(here: Session, tmp_path: Path) -> None:
    """By name, with the names that other systems have for them, too."""
    (tmp_path / "odd.txt").write_text("# made today\n1;'a;b';-\n2;'c';3\n")
    options = "skip => 1, header => false, delim => ';', null => '-'"
    call = f"""read_csv('odd.txt', quote => "'", {options})"""
    assert rows(here, f"SELECT * FROM {call}") == [(1, "a;b", None), (2, "c", 3)]
    call = "read_csv('rows.csv', all_text => true)"
    assert rows(here, f"SELECT id, day FROM {call} WHERE id = '1'") == [("1", "2026-01-01")]


def test_several_files_are_one_table(here: Session, tmp_path: Path) -> None:
    """In the order of their names; a type holds the values of all."""
    (tmp_path / "rows2.csv").write_text("name,Id,day,at,clock\nd,4.5,,,\n")
    (tmp_path / "more.csv.gz").write_bytes(gzip.compress(b"a\n1\n"))
    assert types(here, "SELECT id FROM 'rows*.csv'") == [("id", "double")]
    assert rows(here, "SELECT id, name FROM 'rows*.csv'")[-1] == (4.5, "d")
    assert rows(here, "SELECT * FROM 'more.csv.gz'") == [(1,)]
    (tmp_path / "rows3.csv").write_text("x\n1\n")
    with pytest.raises(BindError, match=r'rows3.csv" are not those of'):
        here.sql("SELECT * FROM 'rows*.csv'")
    (tmp_path / "rows3.csv").write_text("Id,name,day,at,clock\nnone,,,,\n")
    with pytest.raises(BindError, match="columns of different types"):
        here.sql("SELECT * FROM 'rows*.csv'")


@pytest.mark.parametrize("kind", ["csv", "parquet", "orc", "arrow"])
def test_merge_names_a_file(here: Session, kind: str) -> None:
    """As its source, by its name or an alias."""
    here.sql(f"COPY (SELECT id, name FROM 'rows.csv') TO 'new.{kind}'")
    here.sql("CREATE TRANSACTIONAL TABLE t (id BIGINT, name STRING)")
    merge = f"MERGE INTO t USING 'new.{kind}' AS s ON t.id = s.id"
    done = here.sql(f"{merge} WHEN NOT MATCHED THEN INSERT *")
    assert done.stats.rows_inserted == 3
    done = here.sql(f"{merge} AND s.id > 1 WHEN MATCHED THEN UPDATE SET name = 'm'")
    assert done.stats.rows_updated == 2
    assert sorted(rows(here, "SELECT * FROM t")) == [(1, "a"), (2, "m"), (3, "m")]
    with pytest.raises(BindError, match="alias") as caught:
        here.sql(f"MERGE INTO t USING 'new.{kind}' AS t ON t.id = t.id WHEN MATCHED THEN DELETE")
    assert caught.value.code == 10008


@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_patterns_of_files_that_spark_knows(here: Session, kind: str) -> None:
    """Are read by the driver, where all files have the same columns; and by functions."""
    table = pa.table({"k": [1, 2]})
    write = pq.write_table if kind == "parquet" else orc.write_table
    for name in ("x1", "x2", "y"):
        write(table, f"{name}.{kind}")
    assert sorted(rows(here, f"SELECT k FROM 'x*.{kind}'")) == [(1,), (1,), (2,), (2,)]
    assert rows(here, f"SELECT count(*) FROM 'x?.{kind}'") == [(4,)]
    assert rows(here, f"SELECT k FROM read_{kind}('y.{kind}') AS f WHERE k > 1") == [(2,)]
    with pytest.raises(Error, match="does not exist"):
        here.sql(f"SELECT * FROM 'z*.{kind}'")
    write(table, f"_x3.{kind}")
    with pytest.raises(Error, match="of a hidden name"):
        here.sql(f"SELECT * FROM '*.{kind}'")


def test_a_result_keeps_the_rows_it_has_not_given_yet(here: Session, frames_folder: Path) -> None:
    """Whatever becomes of the file; once it has gone nothing is left."""
    late = here.sql("SELECT id FROM 'rows.csv'")
    os.remove("rows.csv")
    here.sql("SELECT 1").fetchall()
    assert late.fetchall() == [(1,), (2,), (3,)]
    del late
    assert list(frames_folder.iterdir()) == []


def test_a_file_is_read_as_it_is_when_the_statement_begins(here: Session, tmp_path: Path) -> None:
    """Each statement reads it anew."""
    assert rows(here, "SELECT count(*) FROM 'rows.csv'") == [(3,)]
    (tmp_path / "rows.csv").write_text("id\n1\n")
    assert rows(here, "SELECT * FROM 'rows.csv'") == [(1,)]


def test_explain_reads_no_rows(here: Session, tmp_path: Path) -> None:
    """It needs the columns alone: a line that is at fault behind the first 16 MB is not met."""
    (tmp_path / "bad.csv").write_text("a,b\n" + "1,2\n" * 5_000_000 + "3\n")
    here.sql("EXPLAIN SELECT a FROM 'bad.csv'")
    with pytest.raises(DataError, match=r"line 5000002 of .*bad\.csv") as caught:
        here.sql("SELECT a FROM 'bad.csv'")
    assert "1 value for 2 columns" in str(caught.value)
    assert caught.value.column == 15


@pytest.mark.parametrize(
    ("query", "error", "what", "place"),
    [
        ("SELECT * FROM 'none.csv'", BindError, "cannot be read", "'none.csv'"),
        ("SELECT * FROM 'none*.csv'", BindError, "no file is named like", "'none*.csv'"),
        ("SELECT * FROM 's3://b/a.csv'", BindError, "other file systems", "'s3://b/a.csv'"),
        ("SELECT * FROM 'folder.csv'", BindError, "is no file", "'folder.csv'"),
        ("SELECT * FROM 'empty.csv'", DataError, "cannot be read", "'empty.csv'"),
        ("SELECT * FROM 'rows.csv' WHERE nix = 1", ColumnNotFoundError, "nix", "nix"),
        ("SELECT * FROM read_csv(rows)", BindError, "wants the path", "rows"),
        ("SELECT * FROM read_csv('rows.csv', 1)", BindError, "name => value", "1"),
        ("SELECT * FROM read_csv('rows.csv', heade => true)", BindError, "no option", "heade"),
        ("SELECT * FROM read_csv('rows.csv', a = 1)", BindError, "name => value", "a = 1"),
        ("SELECT * FROM read_csv('rows.csv', header => 1)", BindError, "true or false", "1"),
        ("SELECT * FROM read_csv('rows.csv', skip => 'a')", BindError, "a whole number", "'a'"),
        ("SELECT * FROM read_csv('rows.csv', sep => ';;')", BindError, "one character", "';;'"),
        ("SELECT * FROM read_json('a', header => true)", BindError, "no option", "header"),
    ],
)
def test_what_is_refused(
    here: Session, tmp_path: Path, query: str, error: type[Error], what: str, place: str
) -> None:
    """With its place."""
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "empty.csv").touch()
    with pytest.raises(error, match=what) as caught:
        here.sql(query)
    assert caught.value.span is not None
    assert caught.value.span.cut(query) == place


def test_views_name_no_files_that_pyarrow_reads(here: Session) -> None:
    """Nobody would read them in another session."""
    with pytest.raises(BindError, match="a view cannot use"):
        here.sql("CREATE VIEW v AS SELECT * FROM 'rows.csv'")


@pytest.mark.spark
def test_both_engines_see_the_same_rows(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark is handed what pyarrow has read: joined with a table, and with another file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text(TEXT)
    whole = "SELECT * FROM 'rows.csv' ORDER BY id"
    read = rows(session, whole)
    session.sql("SET acidsql.engine=spark")
    assert rows(session, whole) == read == ROWS
    session.sql(f"CREATE TABLE t (id INT, v STRING) {ACID}")
    session.sql("INSERT INTO t VALUES (1, 'x'), (3, 'y')")
    joined = (
        "SELECT rows.id, t.v, b.name FROM 'rows.csv' JOIN t ON t.id = rows.id"
        " LEFT JOIN read_csv('rows.csv', all_text => true) AS b ON b.id = rows.id ORDER BY 1"
    )
    assert rows(session, joined) == [(1, "x", "a"), (3, "y", None)]
    pq.write_table(pa.table({"k": [1]}), "p1.parquet")
    pq.write_table(pa.table({"k": [2]}), "p2.parquet")
    assert rows(session, "SELECT k FROM 'p*.parquet' ORDER BY k") == [(1,), (2,)]
