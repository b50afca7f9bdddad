"""COPY INTO: rows of files become a table's, each file once, and what does not fit is told."""

from __future__ import annotations

import datetime
import gzip
import os
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from acidsql.errors import (
    BindError,
    DataError,
    Error,
    IntegrityError,
    UnsupportedStatementError,
    WriteConflictError,
)
from acidsql.session import Session

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
COLUMNS = (
    "id INT, name STRING, price DECIMAL(8,2), day DATE, at TIMESTAMP, ok BOOLEAN, d DOUBLE,"
    " code VARCHAR(3)"
)
LINES = '''id,name,price,day,at,ok,d,code
1,"a, ""b""",1.50,2026-01-01,2026-01-01 05:30:00.25,true,0.1,abc
2,,,,,,,
-3,"two
lines",-2,2026-01-02,2026-01-02,F,1e3,"x"
'''
ROWS = [
    (-3, "two\nlines", Decimal("-2.00"), datetime.date(2026, 1, 2),
     datetime.datetime(2026, 1, 2), False, 1000.0, "x"),
    (1, 'a, "b"', Decimal("1.50"), datetime.date(2026, 1, 1),
     datetime.datetime(2026, 1, 1, 5, 30, 0, 250_000), True, 0.1, "abc"),
    (2, None, None, None, None, None, None, None),
]  # fmt: skip
SELECT = "SELECT * FROM t ORDER BY id"


@pytest.fixture
def alone(alone: Session) -> Session:
    """With an empty table."""
    alone.sql(f"CREATE TABLE t ({COLUMNS}) {ACID}")
    return alone


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory, in which the test is."""
    folder = tmp_path / "in"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def ids(session: Session) -> list[object]:
    return [value for (value,) in session.sql("SELECT id FROM t ORDER BY id")]


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "json", "parquet", "orc", "arrow"])
def test_rows_of_files_become_the_tables(alone: Session, files: Path, kind: str) -> None:
    """Every value as it is, whatever the format; the answer counts rows and files."""
    (files / "a.csv").write_text(LINES)
    if kind not in ("csv", "csv.gz"):
        alone.sql("COPY INTO t FROM 'a.csv'")
        text = ", CAST(code AS STRING) AS code" if kind == "orc" else ", code"
        columns = "id, name, price, day, at, ok, d" + text
        alone.sql(f"COPY (SELECT {columns} FROM t) TO 'b.{kind}'")
        alone.sql("TRUNCATE TABLE t")
    elif kind == "csv.gz":
        (files / "b.csv.gz").write_bytes(gzip.compress(LINES.encode()))
    name = "a.csv" if kind == "csv" else f"b.{kind}"
    done = alone.sql(f"COPY INTO t FROM '{name}'")
    assert str(done) == "COPY INTO: 3 rows inserted, 1 file taken"
    assert done.stats.statement == "COPY INTO"
    assert alone.sql(SELECT).fetchall() == ROWS
    assert done.warnings == ()


def test_several_files_by_a_pattern(alone: Session, files: Path) -> None:
    """All that it means, in the order of their names; nothing where one of them does not fit."""
    for name in ("b", "a", "c"):
        (files / f"{name}.csv").write_text(f"id,name\n{ord(name)},{name}\n")
    done = alone.sql("COPY INTO t (id, name) FROM '[ab].csv'")
    assert (done.stats.rows_inserted, done.stats.files_taken) == (2, 2)
    assert ids(alone) == [97, 98]
    (files / "d.csv").write_text("id,name\n1,x\ny,z\n")
    with pytest.raises(DataError, match=r'line 3 of ".*/d\.csv": column "id" of type int'):
        alone.sql("COPY INTO t (id, name) FROM '*.csv'")
    assert ids(alone) == [97, 98]


def test_columns_are_those_of_a_list_or_of_the_header(alone: Session, files: Path) -> None:
    """By position, and BY NAME in any order of each file; what is not given is NULL."""
    (files / "a.csv").write_text("NAME,id\nx,1\n")
    (files / "b.csv").write_text("id,name\n2,y\n")
    alone.sql("COPY INTO t FROM '?.csv' BY NAME")
    alone.sql("COPY INTO t (name, id) FROM 'a.csv'")
    assert alone.sql("SELECT id, name, day FROM t ORDER BY id").fetchall() == [
        (1, "x", None), (1, "x", None), (2, "y", None),
    ]  # fmt: skip
    with pytest.raises(BindError, match=r"the files have 2 columns, and default\.t takes 8"):
        alone.sql("COPY INTO t FROM 'a.csv'")
    (files / "c.csv").write_text("id,nix\n2,y\n")
    with pytest.raises(Error, match="nix"):
        alone.sql("COPY INTO t FROM 'c.csv' BY NAME")
    with pytest.raises(BindError, match=r"the columns of .*c\.csv"):
        alone.sql("COPY INTO t FROM '*.csv' BY NAME")


def test_another_order_of_columns_is_warned_of(alone: Session, files: Path) -> None:
    """As by INSERT: they go by position."""
    alone.sql(f"CREATE TABLE u (a STRING, b STRING) {ACID}")
    (files / "a.csv").write_text("b,a\n1,2\n")
    [warning] = alone.sql("COPY INTO u FROM 'a.csv'").warnings
    assert "in another order" in str(warning)
    assert alone.sql("SELECT * FROM u").fetchall() == [("1", "2")]


def test_how_text_is_written(alone: Session, files: Path) -> None:
    """The options are those of read_csv."""
    (files / "a.txt").write_text("# from elsewhere\n1;'a;b'\nNA;''\n")
    alone.sql(
        "COPY INTO t (id, name) FROM 'a.txt'"
        " (FORMAT csv, HEADER false, DELIMITER ';', QUOTE \"'\", NULL 'NA', SKIP 1)"
    )
    rows = alone.sql("SELECT id, name FROM t ORDER BY id").fetchall()
    assert rows == [(None, ""), (1, "a;b")]
    (files / "a.tsv").write_text("id\tname\n5\tx\n")
    alone.sql("COPY INTO t FROM 'a.tsv' BY NAME")
    assert ids(alone) == [None, 1, 5]


def test_partitions(alone: Session, files: Path) -> None:
    """One that is named, and those that come with the rows; DEFAULT fills what no file has."""
    alone.sql(
        f"CREATE TABLE p (id INT, n INT DEFAULT 7) PARTITIONED BY (day DATE, k STRING) {ACID}"
    )
    (files / "a.csv").write_text("id,k\n1,x\n2,y\n")
    alone.sql("SET hive.exec.dynamic.partition.mode=nonstrict")
    alone.sql("COPY INTO p PARTITION (day = '2026-01-01', k) (id, k) FROM 'a.csv'")
    (files / "b.csv").write_text("id,day,k\n3,2026-01-02,z\n")
    alone.sql("COPY INTO p FROM 'b.csv' BY NAME")
    assert alone.sql("SELECT id, n, CAST(day AS STRING), k FROM p ORDER BY id").fetchall() == [
        (1, 7, "2026-01-01", "x"), (2, 7, "2026-01-01", "y"), (3, 7, "2026-01-02", "z"),
    ]  # fmt: skip


def test_json_has_names(alone: Session, files: Path) -> None:
    """In any order and case of letters, some of them or none; a list leaves others out."""
    (files / "a.json").write_text(
        '{"ID": 1, "price": 12345678901.25}\n\n{"day": "2026-01-01", "id": "2", "ok": false}\n{}\n'
    )
    with pytest.raises(DataError, match=r'line 1 of ".*": .*'):
        alone.sql("COPY INTO t FROM 'a.json'")
    (files / "b.json").write_text(
        '{"ID": 1, "price": 345678.25}\n\n{"day": "2026-01-01", "id": "2", "ok": false}\n{}\n'
    )
    alone.sql("COPY INTO t FROM 'b.json'")
    assert alone.sql("SELECT id, price, day, ok FROM t ORDER BY id").fetchall() == [
        (None, None, None, None),
        (1, Decimal("345678.25"), None, None),
        (2, None, datetime.date(2026, 1, 1), False),
    ]
    (files / "c.json").write_text('{"id": 5, "x": 1}\n')
    alone.sql("COPY INTO t (id) FROM 'c.json'")
    with pytest.raises(DataError, match='the table has no column "x"'):
        alone.sql("COPY INTO t FROM 'c.json'")
    assert ids(alone) == [None, 1, 2, 5]


def test_nested_values_come_from_what_has_them(alone: Session, files: Path) -> None:
    """From Parquet and JSON; no text of CSV says one."""
    alone.sql(f"CREATE TABLE n (id INT, tags ARRAY<STRING>, s STRUCT<a: INT>) {ACID}")
    (files / "a.json").write_text('{"id": 1, "tags": ["x", null], "s": {"a": 2}}\n{"tags": []}\n')
    alone.sql("COPY INTO n FROM 'a.json'")
    alone.sql("COPY n TO 'a.parquet'")
    alone.sql("COPY INTO n FROM 'a.parquet'")
    whole = (1, ["x", None], {"a": 2})
    assert alone.sql("SELECT * FROM n WHERE id = 1").fetchall() == [whole, whole]
    (files / "a.csv").write_text("id,tags,s\n1,x,y\n")
    with pytest.raises(BindError, match="Cannot convert column from string to array<string>"):
        alone.sql("COPY INTO n FROM 'a.csv'")


# ---- rows that do not fit

BAD = {
    "id": ["x", "99999999999", "1.5", "0x10", '""'],
    "price": ["1.505", "123456789", "one"],
    "day": ["2026-02-30", "2026-1-1", "2026-01-01 10:00:00"],
    "at": ["yesterday", "2026-01-01 25:00:00"],
    "ok": ["maybe", "2"],
    "d": ["1e999", "1,5".replace(",", "x")],
    "code": ["abcd"],
}


@pytest.mark.parametrize(("column", "text"), [(c, text) for c in BAD for text in BAD[c]])
def test_a_value_that_is_none_of_the_columns(
    alone: Session, files: Path, column: str, text: str
) -> None:
    """Nothing is rounded, cut or made NULL: it is an error with file, line, column and value."""
    (files / "a.csv").write_text(f"{column},name\n,a\n\n,b\n{text},c\n")
    with pytest.raises(DataError) as caught:
        alone.sql("COPY INTO t FROM 'a.csv' BY NAME")
    assert caught.value.message.startswith(f'line 5 of "{files}/a.csv": column "{column}" of type')
    assert caught.value.message.endswith(f'cannot hold "{text.strip(chr(34))}"')
    assert caught.value.detail == f"{text},c"
    assert caught.value.span is not None
    assert ids(alone) == []


def test_rows_that_do_not_fit_go_into_a_table(alone: Session, files: Path) -> None:
    """With file, line, text and reason; it is made if it is missing, and the others are taken with
    the same commit.
    """
    (files / "a.csv").write_bytes(
        b'id,name\n1,a\n2,b,c\n"3\n",d\nx,e\n4,"\n5,"f"\n6,\xff\n7,g\n\n8\n9,h\n'
    )
    done = alone.sql("COPY INTO t (id, name) FROM 'a.csv' REJECTS INTO r")
    assert str(done) == "COPY INTO: 5 rows inserted, 4 rows rejected, 1 file taken"
    assert ids(alone) == [1, 3, 4, 7, 9]
    assert done.stats.write_ids == {"default.t": 1, "default.r": 1}
    rows = alone.sql("SELECT file, line, text, reason FROM r ORDER BY line").fetchall()
    assert {file for file, *_ in rows} == {f"{files}/a.csv"}
    assert [tuple(row[1:3]) for row in rows] == [
        (3, "2,b,c"), (6, "x,e"), (9, "6,\ufffd"), (12, "8"),
    ]  # fmt: skip
    assert [reason for *_, reason in rows] == [
        "3 values for 2 columns",
        'column "id" of type int cannot hold "x"',
        'column "name" of type string cannot hold "\ufffd"',
        "1 value for 2 columns",
    ]


def test_a_table_of_rejects_that_is_there(alone: Session, files: Path) -> None:
    """It may have other columns; without those that are told of it is refused."""
    alone.sql(
        f"CREATE TABLE r (text STRING, reason STRING, more INT, line INT, file STRING) {ACID}"
    )
    (files / "a.csv").write_text("id\n1\nx\n")
    for _ in range(2):
        alone.sql("COPY INTO t FROM 'a.csv' BY NAME REJECTS INTO r")
    assert alone.sql("SELECT line, text, more FROM r").fetchall() == [(3, "x", None)] * 2
    for text, message in {
        "CREATE TABLE q (text STRING, reason STRING, line INT) " + ACID: "file",
        "CREATE TABLE q (a INT) STORED AS ORC": "wants a transactional table",
        "CREATE VIEW q AS SELECT 1 AS a": "A view cannot be used as target",
    }.items():
        alone.sql(text)
        with pytest.raises(Error, match=message) as caught:
            alone.sql("COPY INTO t FROM 'a.csv' BY NAME REJECTS INTO q")
        assert caught.value.span is not None
        alone.sql("DROP VIEW q" if "VIEW" in text else "DROP TABLE q")
    with pytest.raises(BindError, match="go into another table"):
        alone.sql("COPY INTO t FROM 'a.csv' BY NAME REJECTS INTO default.t")


def test_not_null_and_check(alone: Session, files: Path) -> None:
    """A NULL where none may be is a row that does not fit; CHECK fails the statement, as by INSERT."""
    alone.sql(f"CREATE TABLE c (id INT NOT NULL, n INT CHECK (n > 0)) {ACID}")
    (files / "a.csv").write_text("id,n\n1,1\n,2\n")
    with pytest.raises(DataError, match=r'line 3 .*: column "id" is NULL'):
        alone.sql("COPY INTO c FROM 'a.csv'")
    alone.sql("COPY INTO c FROM 'a.csv' REJECTS INTO r")
    assert alone.sql("SELECT * FROM c").fetchall() == [(1, 1)]
    (files / "b.csv").write_text("id,n\n1,-1\n")
    with pytest.raises(IntegrityError, match="CHECK constraint"):
        alone.sql("COPY INTO c FROM 'b.csv' REJECTS INTO r")
    assert alone.sql("SELECT count(*) FROM r").fetchall() == [(1,)]


def test_places_in_other_formats(alone: Session, files: Path) -> None:
    """A line of JSON as it is; a row of a file without lines by its number, and as JSON."""
    (files / "a.json").write_text('{"id": 1}\n{"id": "x"}\nnonsense\n{"id": 2} {"id": 3}\n')
    rows = pa.table({"id": pa.array([1, 1 << 40], pa.int64()), "name": ["a", "b"]})
    with pa.OSFile("a.arrow", "wb") as sink, pa.ipc.new_file(sink, rows.schema) as file:
        file.write_table(rows)
    alone.sql("COPY INTO t FROM 'a.json' REJECTS INTO r")
    alone.sql("COPY INTO t (id, name) FROM 'a.arrow' REJECTS INTO r")
    assert ids(alone) == [1, 1]
    told = alone.sql("SELECT line, text FROM r ORDER BY file DESC, line").fetchall()
    assert told == [
        (2, '{"id": "x"}'), (3, "nonsense"), (4, '{"id": 2} {"id": 3}'),
        (2, '{"id": 1099511627776, "name": "b"}'),
    ]  # fmt: skip
    with pytest.raises(DataError, match=r'row 2 of ".*a\.arrow"'):
        alone.sql("COPY INTO t (id, name) FROM 'a.arrow'")


def test_files_that_are_none(alone: Session, files: Path) -> None:
    """What cannot be read at all is an error, REJECTS or not."""
    (files / "a.parquet").write_bytes(b"nonsense")
    (files / "a.csv.gz").write_bytes(b"nonsense")
    (files / "empty.csv").write_bytes(b"")
    alone.sql("CREATE TABLE plain (a INT) STORED AS ORC")
    for statement, message in {
        "COPY INTO t FROM 'a.parquet' REJECTS INTO r": r"a\.parquet",
        "COPY INTO t FROM 'a.csv.gz' REJECTS INTO r": r"a\.csv\.gz",
        "COPY INTO t FROM 'nix.csv'": "No such file",
        "COPY INTO t FROM 'nix*.csv'": "no file is named like",
        "COPY INTO t FROM 's3://b/a.csv'": "other file systems",
    }.items():
        with pytest.raises(Error, match=message):
            alone.sql(statement)
    (files / "some.csv").write_bytes(b"id\n\n")
    for clause in ("BY NAME", "BY NAME ONCE REJECTS INTO r"):
        assert alone.sql(f"COPY INTO t FROM '*e*.csv' {clause}").stats.files_taken == 2
    assert ids(alone) == []


def test_a_table_that_is_not_transactional(alone: Session, files: Path) -> None:
    """It takes rows; what is remembered with a commit, or is one with other rows, it cannot."""
    alone.sql("CREATE TABLE plain (a INT) STORED AS ORC")
    (files / "a.csv").write_text("a\n1\n")
    alone.sql("COPY INTO plain FROM 'a.csv'")
    assert alone.sql("SELECT * FROM plain").fetchall() == [(1,)]
    for clause in ("ONCE", "REJECTS INTO r"):
        with pytest.raises(BindError, match=f"{clause.removesuffix(' r')} wants a transactional"):
            alone.sql(f"COPY INTO plain FROM 'a.csv' {clause}")
    alone.sql("SET acidsql.strict.hive=true")
    with pytest.raises(UnsupportedStatementError, match="not Hive SQL"):
        alone.sql("COPY INTO t FROM 'a.csv'")


# ---- ONCE


def test_files_are_taken_once(alone: Session, files: Path) -> None:
    """By path, size and time: one that was written to is another; what a table took goes with it."""
    (files / "a.csv").write_text("id\n1\n")
    assert alone.sql("COPY INTO t FROM '*.csv' BY NAME ONCE").stats.files_taken == 1
    (files / "b.csv").write_text("id\n2\n")
    done = alone.sql(f"COPY INTO t FROM '{files}/*.csv' BY NAME ONCE")
    assert str(done) == "COPY INTO: 1 row inserted, 1 file taken, 1 file skipped"
    done = alone.sql("COPY INTO t FROM '*.csv' ONCE")
    assert str(done) == "COPY INTO: 2 files skipped"
    assert done.stats.txn_id is None
    os.utime(files / "b.csv", (1, 1))
    alone.sql("COPY INTO t FROM '*.csv' BY NAME ONCE")
    assert ids(alone) == [1, 2, 2]
    alone.sql("COPY INTO t FROM 'a.csv' BY NAME")
    assert ids(alone) == [1, 1, 2, 2]
    alone.sql("ALTER TABLE t RENAME TO u")
    assert alone.sql("COPY INTO u FROM 'a.csv' BY NAME ONCE").stats.files_skipped == 1
    alone.sql("DROP TABLE u")
    alone.sql(f"CREATE TABLE t (id INT) {ACID}")
    assert alone.sql("COPY INTO t FROM '*.csv' ONCE").stats.files_taken == 2


def test_a_failed_statement_takes_no_file(alone: Session, files: Path) -> None:
    """It may be tried again."""
    (files / "a.csv").write_text("id\nx\n")
    with pytest.raises(DataError):
        alone.sql("COPY INTO t FROM 'a.csv' BY NAME ONCE")
    done = alone.sql("COPY INTO t FROM 'a.csv' BY NAME ONCE REJECTS INTO r")
    assert (done.stats.rows_inserted, done.stats.rows_rejected) == (0, 1)
    assert alone.sql("COPY INTO t FROM 'a.csv' ONCE REJECTS INTO r").stats.files_skipped == 1


def test_a_transaction_takes_files_with_its_commit(alone: Session, files: Path) -> None:
    """It knows its own; a rollback gives them back; no table is made in it."""
    (files / "a.csv").write_text("id\n1\nx\n")
    alone.sql(f"CREATE TABLE r (file STRING, line INT, text STRING, reason STRING) {ACID}")
    copy = "COPY INTO t FROM 'a.csv' BY NAME ONCE REJECTS INTO r"
    alone.sql("START TRANSACTION")
    assert alone.sql(copy).stats.files_taken == 1
    assert alone.sql(copy).stats.files_skipped == 1
    with pytest.raises(BindError, match="a new table is not allowed in a transaction"):
        alone.sql("COPY INTO t FROM 'a.csv' BY NAME REJECTS INTO other")
    alone.sql("ROLLBACK")
    alone.sql("START TRANSACTION")
    assert alone.sql(copy).stats.files_taken == 1
    alone.sql("COMMIT")
    assert alone.sql(copy).stats.files_skipped == 1
    assert ids(alone) == [1]


def test_one_of_two_sessions_takes_a_file(alone: Session, files: Path) -> None:
    """The other's statement is run again and leaves it out; a transaction's commit fails."""
    (files / "a.csv").write_text("id\n1\n")
    (files / "b.csv").write_text("id\n2\n")
    with Session(alone.warehouse, settings={"acidsql.engine": "local"}) as other:
        other.sql("START TRANSACTION")
        other.sql("COPY INTO t FROM '?.csv' BY NAME ONCE")
        assert alone.sql("COPY INTO t FROM 'a.csv' BY NAME ONCE").stats.files_taken == 1
        with pytest.raises(WriteConflictError, match=r"has taken the file .*a\.csv"):
            other.sql("COMMIT")
        take_between(alone, other)
        done = other.sql("COPY INTO t FROM '?.csv' BY NAME ONCE")
        assert (done.stats.files_taken, done.stats.files_skipped) == (0, 2)
        assert "run again 1 time" in str(done.warnings[0])
    assert ids(alone) == [1, 2]


def take_between(alone: Session, other: Session) -> None:
    """Has ``alone`` take b.csv after ``other`` has written its rows and before it commits."""
    from acidsql import crash_points

    def take(point: str) -> None:
        if point == "written":
            crash_points.hook = None
            alone.sql("COPY INTO t FROM 'b.csv' BY NAME ONCE")

    crash_points.hook = take


# ---- what is told beforehand


def test_a_dry_run_counts(alone: Session, files: Path) -> None:
    """Nothing is written, taken or made."""
    (files / "a.csv").write_text("id\n1\nx\n")
    lines = [
        line
        for (line,) in alone.sql("DRY RUN COPY INTO t FROM 'a.csv' BY NAME ONCE REJECTS INTO r")
    ]
    assert lines[0] == "COPY INTO default.t FROM 'a.csv': 1 row"
    assert alone.sql("SHOW TABLES").fetchall() == [("t",)]
    assert alone.sql("COPY INTO t FROM 'a.csv' BY NAME ONCE REJECTS INTO r").stats.files_taken == 1


def test_plans(alone: Session, files: Path) -> None:
    """EXPLAIN says how many files there are, what becomes of the others' rows, and what is made."""
    (files / "a.csv").write_text("id\n1\n")
    (files / "b.csv").write_text("id\n2\n")
    alone.sql("COPY INTO t FROM 'a.csv' BY NAME ONCE")
    lines = [line for (line,) in alone.sql("EXPLAIN COPY INTO t FROM '?.csv' BY NAME ONCE")]
    assert lines[:2] == [
        "COPY INTO default.t FROM '?.csv'",
        "  read 1 file, 1 more taken before; rows that do not fit are an error",
    ]
    text = "COPY INTO t FROM '?.csv' BY NAME REJECTS INTO r"
    lines = [line.strip() for (line,) in alone.sql(f"EXPLAIN {text}")]
    assert lines[:4] == [
        "COPY INTO .. REJECTS INTO: all rows become visible together",
        "make table default.r",
        "COPY INTO default.t FROM '?.csv'",
        "read 2 files; rows that do not fit go into default.r",
    ]
    assert "INSERT INTO default.r" not in lines
    assert alone.sql("SHOW TABLES").fetchall() == [("t",)]
    ran = [line for (line,) in alone.sql(f"EXPLAIN ANALYZE {text}")]
    assert sum("write the files on the driver" in line for line in ran) == 2
    assert "INSERT INTO default.r" in str(alone.sql(f"EXPLAIN {text}").fetchall())


@pytest.mark.spark
@pytest.mark.parametrize("path", ["small", "big"])
def test_rows_are_written_by_spark(session: Session, files: Path, path: str) -> None:
    """The same rows, rejects and files on both of its paths."""
    (files / "a.csv").write_text(LINES + "x,,,,,,,\n")
    session.sql("SET acidsql.engine=spark")
    session.sql(f"SET acidsql.write.path={path}")
    session.sql(f"CREATE TABLE t ({COLUMNS}) {ACID}")
    done = session.sql("COPY INTO t FROM 'a.csv' ONCE REJECTS INTO r")
    assert (done.stats.rows_inserted, done.stats.rows_rejected) == (3, 1)
    assert session.sql("COPY INTO t FROM 'a.csv' ONCE REJECTS INTO r").stats.files_skipped == 1
    assert session.sql(SELECT).fetchall() == ROWS
    assert session.sql("SELECT line, text FROM r").fetchall() == [(6, "x,,,,,,,")]
