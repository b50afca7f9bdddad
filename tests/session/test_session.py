"""The Python API: what a session takes, what a result gives, and that Spark is left alone where it
is not needed.
"""

from __future__ import annotations

import datetime
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import acidsql
from acidsql.catalog.model import TableName
from acidsql.dbapi import Connection
from acidsql.errors import (
    BindError,
    ColumnNotFoundError,
    DataError,
    Error,
    ExecutionError,
    InterfaceError,
    ParseError,
    ProgrammingError,
    TableNotFoundError,
)
from acidsql.result import Stats
from acidsql.session import Session

ROOT = Path(__file__).resolve().parents[2]
TABLE = "CREATE TABLE t (id INT, name STRING, amount DECIMAL(10,2), at TIMESTAMP) STORED AS ORC TBLPROPERTIES ('transactional'='true')"


@pytest.mark.processes
def test_import_is_light() -> None:
    """`import acidsql` loads none of the large libraries."""
    code = "import sys, acidsql; print([m for m in ('pyspark', 'sqlglot', 'lark', 'sqlalchemy', 'pyarrow', 'pandas', 'numpy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.processes
def test_what_needs_no_spark(warehouse: Path) -> None:
    """DDL, INSERT VALUES, SHOW, DESCRIBE, EXPLAIN, SET and every refusal do not even import
    pyspark.
    """
    code = f"""
import sys
from acidsql.session import Session
from acidsql.errors import Error
with Session({str(warehouse)!r}) as s:
    for sql in ["{TABLE}", "INSERT INTO t VALUES (1, 'a', 1.5, '2024-01-01 10:00:00')", "INSERT INTO t (id) VALUES (2)", "SHOW TABLES",
                "DESCRIBE FORMATTED t", "SHOW CREATE TABLE t", "SHOW TRANSACTIONS", "EXPLAIN UPDATE t SET name = 'x'", "SET", "SET x=1",
                "EXPLAIN SELECT * FROM t", "CREATE DATABASE d", "USE d", "DROP DATABASE d", "CREATE TABLE p (id INT) STORED AS ORC",
                "INSERT INTO p VALUES (1)", "DROP TABLE t"]:
        s.sql(sql)
    s.sql("CREATE TABLE v (a STRING, b BINARY, c DOUBLE, d TIMESTAMP) STORED AS ORC TBLPROPERTIES ('transactional'='true')")
    import datetime
    s.sql("INSERT INTO v VALUES (?, ?, ?, ?)", ["it's \\ ${{x}}", b"\\x00\\xff", float("nan"), datetime.datetime(2024, 1, 1)])
    for sql in ["SELEC 1", "SELECT * FROM nope", "UPDATE p SET id = 1", "INSERT INTO p VALUES (1, 2)"]:
        try:
            s.sql(sql)
        except Error:
            continue
        raise AssertionError(sql)
    assert not s.spark_started
print([m for m in ("pyspark", "py4j") if m in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.parametrize("opened", [acidsql.Session, acidsql.connect])
def test_the_warehouse_of_who_names_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opened: Callable[..., Session | Connection]
) -> None:
    """Every door of the Python API takes $ACIDSQL_WAREHOUSE, else ./warehouse; what is
    named wins.
    """
    monkeypatch.chdir(tmp_path)
    for value, argument, folder in (
        ("variable", None, "variable"),
        ("variable", "named", "named"),
        ("", None, "warehouse"),
    ):
        monkeypatch.setenv("ACIDSQL_WAREHOUSE", value)
        opened(argument).close()
        assert [path.name for path in tmp_path.iterdir()] == [folder]
        shutil.rmtree(tmp_path / folder)


CURRENT_DIRECTORY = """\
import acidsql, os, tempfile
from urllib.parse import urlsplit

def look_up_and_list(session):
    try:
        session.sql("SELECT * FROM nosuch")
    except acidsql.ProgrammingError:
        print(*sorted(os.listdir(".")))
    session.spark.stop()

with acidsql.Session("w", master="local[1]") as session:
    session.sql("CREATE DATABASE made")
    session.start_spark()
    url = session.spark.conf.get("spark.sql.warehouse.dir")
    print(urlsplit(url).path.startswith(tempfile.gettempdir()))
    look_up_and_list(session)
given = {"spark.sql.warehouse.dir": os.path.abspath("given")}
with acidsql.Session("w", master="local[1]", conf=given) as session:
    session.start_spark()
    look_up_and_list(session)
"""


@pytest.mark.spark
@pytest.mark.classic
def test_spark_leaves_nothing_where_it_is_started(tmp_path: Path) -> None:
    """A Spark of ours keeps its own catalog's directory among the temporary ones, and takes it away
    at the end; one that the user names is the user's."""
    for folder in ("here", "tmp"):
        (tmp_path / folder).mkdir()
    environment = os.environ | {"TMPDIR": str(tmp_path / "tmp"), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", CURRENT_DIRECTORY],
        cwd=tmp_path / "here",
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == ["True", "w", "given w"], done.stderr
    assert not list((tmp_path / "tmp").glob("acidsql-*"))


@pytest.mark.spark
def test_shapes_of_a_result(session: Session) -> None:
    """Rows come as tuples, Arrow, pandas, a DataFrame, an Arrow stream and HTML, all the same."""
    session.sql(TABLE)
    session.sql(
        "INSERT INTO t VALUES (1, 'a', 1.5, '2024-01-01 10:00:00.25'), (2, NULL, NULL, NULL)"
    )
    result = session.sql("SELECT * FROM t ORDER BY id")
    moment = datetime.datetime(2024, 1, 1, 10, 0, 0, 250000)
    assert list(result.rows()) == [(1, "a", Decimal("1.50"), moment), (2, None, None, None)]
    assert [(c.name, str(c.type)) for c in result.columns] == [
        ("id", "int"),
        ("name", "string"),
        ("amount", "decimal(10,2)"),
        ("at", "timestamp"),
    ]
    assert result.to_arrow().schema.field("at").type == pa.timestamp("us")
    assert result.to_pandas()["id"].tolist() == [1, 2]
    assert result.df.count() == 2
    assert pa.table(result).num_rows == 2
    assert ">NULL</em></td>" in result._repr_html_()
    assert result.stats.statement == "SELECT"
    assert [row.tab_name for row in session.sql("SHOW TABLES").df.collect()] == ["t"]


@pytest.mark.spark
def test_stats_tell_what_was_done(session: Session) -> None:
    """DML tells its row counts, transaction, write id, directories and path."""
    session.sql(TABLE)
    inserted = session.sql("INSERT INTO t (id) VALUES (1), (2)")
    assert inserted.columns == ()
    with pytest.raises(InterfaceError):
        inserted.to_arrow()
    stats = session.sql("UPDATE t SET name = 'x' WHERE id = 1").stats
    expected = Stats(
        statement="UPDATE",
        rows_updated=1,
        txn_id=2,
        write_ids={"default.t": 2},
        directories=("t/delete_delta_0000002_0000002_0000", "t/delta_0000002_0000002_0000"),
        path="small",
        seconds=stats.seconds,
    )
    assert stats == expected
    assert session.sql("DELETE FROM t WHERE id = 99").stats.directories == ()


@pytest.mark.spark
def test_parameters(session: Session) -> None:
    """Question marks are filled with values, never with SQL."""
    session.sql(TABLE)
    evil = "x'); DROP TABLE t; -- \\"
    values = [7, evil, Decimal("2.50"), datetime.datetime(2024, 2, 29, 1, 2, 3)]
    session.sql("INSERT INTO t VALUES (?, ?, ?, ?)", values)
    assert list(session.sql("SELECT * FROM t WHERE name = ? AND id = ?", [evil, 7]).rows()) == [
        tuple(values)
    ]


def test_a_mapping_never_fills_question_marks(warehouse: Path) -> None:
    """The keys of a dict are no values: nothing runs."""
    with Session(warehouse) as session:
        session.sql(TABLE)
        session.sql("INSERT INTO t (id, name) VALUES (:id, :name)", {"name": "bob", "id": 1})
        with pytest.raises(ProgrammingError, match="a mapping fills") as caught:
            session.sql("DELETE FROM t WHERE name = ?", {"bob": "ann"})
        assert caught.value.column == 28
        with pytest.raises(ProgrammingError, match="sequence or a mapping"):
            session.sql("DELETE FROM t WHERE name = ?", "b")
        assert not session.spark_started


LONE = ("\ud800", "\udcff")


@pytest.mark.parametrize("lone", LONE)
@pytest.mark.parametrize(
    "text",
    [
        "SELECT '{}'", "SELECT 1 AS `{}`", "INSERT INTO t VALUES (1, '{}', 1, NULL)", "CREATE TABLE `{}` (id INT)", "USE `{}`",
        "CREATE DATABASE `{}`", "CREATE TABLE u (id INT) COMMENT '{}'", "CREATE VIEW v AS SELECT '{}'", "SET x={}", "SET {}=1",
        "SET hivevar:x={}", "SET spark.x={}", "RESET {}", "LOAD DATA INPATH '/tmp/{}' INTO TABLE t", "SHOW TABLES LIKE '{}'",
        "DELETE FROM t WHERE name = '{}'", "CREATE TABLE u (id INT) LOCATION '/tmp/{}'", "EXPLAIN SELECT '{}'", "SELECT 1 -- {}", "{}",
    ],
)  # fmt: skip
def test_text_that_utf8_cannot_write_is_refused(warehouse: Path, text: str, lone: str) -> None:
    """Wherever it stands in a statement, at its place, before anything is asked of Java or the
    store.
    """
    with Session(warehouse) as session:
        session.sql(TABLE)
        for run in (
            session.sql,
            session.explain,
            lambda text: session.sql(text, []),
            lambda text: session.sql(text, {}),
        ):
            with pytest.raises(
                ProgrammingError, match=r"is half of a surrogate pair|is not UTF-8"
            ) as caught:
                run(text.format(lone))
            assert caught.value.column == text.index("{") + 1
            str(caught.value).encode()
        assert not session.spark_started


@pytest.mark.parametrize("lone", LONE)
def test_values_that_utf8_cannot_write_are_refused(warehouse: Path, lone: str) -> None:
    """A parameter is named, with its marker."""
    with Session(warehouse) as session:
        session.sql(TABLE)
        for params in ([1, lone], {"id": 1, "name": lone}):
            markers = "?, ?" if isinstance(params, list) else ":id, :name"
            with pytest.raises(ProgrammingError, match=r'^parameter (2|":name"): ') as caught:
                session.sql(f"INSERT INTO t (id, name) VALUES ({markers})", params)
            assert caught.value.column is not None
            assert caught.value.column > 33
        with pytest.raises(ProgrammingError, match="no marker"):
            session.sql("SELECT 1", {lone: 1})


@pytest.mark.parametrize("lone", LONE)
@pytest.mark.parametrize("options", ["settings", "conf", "master", "database", "warehouse"])
def test_options_that_utf8_cannot_write_are_refused(
    tmp_path: Path, options: str, lone: str
) -> None:
    """Before the session has done anything."""
    given: dict[str, Any] = {"warehouse": tmp_path / "w", "master": None} | {
        options: {
            "settings": {"x": lone},
            "conf": {lone: "1"},
            "warehouse": tmp_path / f"w{lone}",
        }.get(options, lone)
    }
    with pytest.raises(ProgrammingError, match=r"is half of a surrogate pair|is not UTF-8"):
        Session(**given)


def test_a_statement_is_a_str(warehouse: Path) -> None:
    """Bytes are refused in words, not by what happens to them later."""
    statement: Any = b"SHOW TABLES"
    with Session(warehouse) as session:
        for run in (session.sql, session.explain, lambda text: session.sql(text, [])):
            with pytest.raises(InterfaceError, match="a statement is a str, not bytes"):
                run(statement)


def test_variables_of_the_environment_need_not_be_text(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is not UTF-8 is refused when it is asked for; a user's name like that is unknown."""
    for name in ("LOGNAME", "NOT_TEXT"):
        monkeypatch.setenv(name, "\udcff")
    with Session(warehouse) as session:
        assert session.user == "unknown"
        with pytest.raises(ProgrammingError, match="byte 0xff is not UTF-8"):
            session.sql("SET env:NOT_TEXT")


def test_files_whose_names_are_not_utf8_are_named(warehouse: Path, tmp_path: Path) -> None:
    """Neither Java nor the catalog could write such a name: the statement that meets
    one says so. The first one that writes a table looks at all of it, and may be tried again.
    """
    with Session(warehouse) as session:
        session.sql(
            "CREATE TABLE t (id INT) PARTITIONED BY (p STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true')"
        )
        stray = warehouse / "t" / "p=\udcff"
        stray.mkdir()
        with pytest.raises(ExecutionError, match="not UTF-8"):
            session.sql("MSCK REPAIR TABLE t")
        for _ in range(2):
            with pytest.raises(ExecutionError, match='p=\ufffd": its name is not UTF-8'):
                session.sql("INSERT INTO t PARTITION (p='1') VALUES (1)")
        assert session.store.first_write_id(TableName("default", "t")) == 1
        stray.rmdir()
        folder = tmp_path / "in"
        folder.mkdir()
        (folder / "x\udcff").touch()
        for path in (folder, folder / "x*"):
            with pytest.raises(ExecutionError, match='x\ufffd": its name is not UTF-8'):
                session.sql(f"LOAD DATA INPATH '{path}' INTO TABLE t PARTITION (p='1')")
        session.sql("DROP TABLE t")


@pytest.mark.spark
def test_a_spark_session_handed_in(spark: SparkSession, warehouse: Path) -> None:
    """Its temporary views can be read, as they stand at each statement; its settings and its views
    stay as they were.
    """
    keys = (
        "spark.sql.orc.filterPushdown",
        "spark.sql.ansi.enabled",
        "spark.sql.files.openCostInBytes",
        "spark.sql.shuffle.partitions",
    )
    before = {k: spark.conf.get(k) for k in keys}
    spark.range(3).createOrReplaceTempView("numbers")
    try:
        with Session(warehouse, spark=spark) as session:
            session.sql(TABLE)
            session.sql("INSERT INTO t (id) SELECT id FROM numbers WHERE id > 0")
            assert sorted(
                session.sql("SELECT n.id FROM numbers n JOIN t ON n.id = t.id").rows()
            ) == [(1,), (2,)]
            spark.range(10, 12).createOrReplaceTempView("numbers")
            assert sorted(session.sql("SELECT id FROM numbers").rows()) == [(10,), (11,)]
            with pytest.raises(TableNotFoundError):
                session.sql("SELECT * FROM no_such_view")
            assert [view.viewName for view in spark.sql("SHOW VIEWS").collect()] == ["numbers"]
        assert {k: spark.conf.get(k) for k in keys} == before
        assert spark.range(1).count() == 1
    finally:
        spark.catalog.dropTempView("numbers")


@pytest.mark.spark
@pytest.mark.classic
def test_a_time_zone_that_is_set_moves_no_timestamp(spark: SparkSession, warehouse: Path) -> None:
    """Only the clock of now changes. A zone that Spark does not know is refused."""
    at = datetime.datetime(2024, 1, 1, 10)
    with Session(warehouse, spark=spark) as session:
        session.sql(TABLE)
        session.sql("INSERT INTO t VALUES (1, 'a', 1.5, '2024-01-01 10:00:00')")
        session.sql("SET acidsql.engine=spark")
        session.sql("SET spark.sql.session.timeZone=Asia/Tokyo")
        session.sql("UPDATE t SET name = 'b' WHERE at = '2024-01-01 10:00:00'")
        hours = "(unix_timestamp(max(now())) - unix_timestamp()) DIV 3600"
        answer = session.sql(f"SELECT max(name), max(at), {hours} FROM t")
        assert answer.fetchall() == [("b", at, 9)]
        with pytest.raises(Error, match="Nowhere"):
            session.sql("SET spark.sql.session.timeZone=Nowhere/None")
        assert session.sql("SELECT at FROM t").fetchall() == [(at,)]


@pytest.mark.spark
def test_files_can_be_read(session: Session, tmp_path: Path) -> None:
    """A query reads files beside tables."""
    session.spark.range(3).write.parquet(str(tmp_path / "p"))
    session.sql(TABLE)
    session.sql(f"INSERT INTO t (id) SELECT id FROM parquet.`{tmp_path}/p`")
    assert list(
        session.sql(f"SELECT count(*) FROM t JOIN parquet.`{tmp_path}/p` p ON t.id = p.id").rows()
    ) == [(3,)]


@pytest.mark.spark
def test_spark_errors_point_into_the_users_text(session: Session) -> None:
    """A column Spark cannot find is shown at the user's line, also where names were replaced before
    it.
    """
    session.sql(TABLE)
    sql = "SELECT id,\n  nmae\nFROM default.t\nWHERE id > 1"
    with pytest.raises(ColumnNotFoundError) as caught:
        session.sql(sql)
    assert caught.value.line == 2
    assert caught.value.span is not None
    assert caught.value.span.cut(sql) == "nmae"
    with pytest.raises(BindError) as wrong_count:
        session.sql("INSERT INTO t SELECT id FROM t")
    assert wrong_count.value.code == 10044


@pytest.mark.spark
def test_both_write_paths_and_the_choice(session: Session) -> None:
    """A setting forces either path; left alone, the number of changed bytes decides."""
    session.sql(TABLE)
    session.sql("INSERT INTO t (id) SELECT id FROM range(1000)")
    session.sql("SET acidsql.write.driver.max.bytes=1k")
    assert session.sql("UPDATE t SET name = 'a'").stats.path == "big"
    assert session.sql("UPDATE t SET name = 'b' WHERE id = 1").stats.path == "small"
    session.sql("SET acidsql.write.path=big")
    assert session.sql("DELETE FROM t WHERE id = 1").stats.path == "big"
    session.sql("SET acidsql.write.path=small")
    assert session.sql("DELETE FROM t WHERE id > 500").stats.path == "small"
    assert list(session.sql("SELECT count(*), count(name), max(id) FROM t").rows()) == [
        (500, 500, 500)
    ]


@pytest.mark.spark
def test_both_ways_to_apply_deletes(session: Session) -> None:
    """A key set in the filter and an anti-join give the same rows."""
    session.sql(TABLE)
    session.sql("INSERT INTO t (id) SELECT id FROM range(100)")
    session.sql("DELETE FROM t WHERE id % 3 = 0")
    session.sql("UPDATE t SET name = 'u' WHERE id % 5 = 0")
    found = []
    for name, value in (
        ("acidsql.read.deletes", "filter"),
        ("acidsql.read.deletes", "join"),
        ("acidsql.read.deletes.max.events", "1"),
    ):
        session.sql("RESET")
        session.sql(f"SET {name}={value}")
        found.append(
            sorted(session.sql("SELECT ROW__ID, id, name FROM t").to_pandas()["id"].tolist())
        )
    assert found[0] == found[1] == found[2] == [i for i in range(100) if i % 3]


def test_a_closed_session_says_so(warehouse: Path) -> None:
    """After close every statement is an InterfaceError; closing twice is none."""
    session = Session(warehouse)
    session.close()
    session.close()
    with pytest.raises(InterfaceError):
        session.sql("SHOW TABLES")


def test_errors_carry_the_text(warehouse: Path) -> None:
    """An error knows its source and renders the line with a caret."""
    with Session(warehouse) as session:
        with pytest.raises(ParseError) as caught:
            session.sql("INSERT INTO t VALUES (1")
        assert "line 1" in str(caught.value)
        with pytest.raises(TableNotFoundError) as missing:
            session.sql("SELECT *\nFROM missing")
        assert str(missing.value).splitlines()[-2:] == [
            "  line 2: FROM missing",
            "               ^^^^^^^",
        ]


def test_a_spark_that_is_none_is_refused(warehouse: Path) -> None:
    """At once, and not by the first statement that needs it."""
    with pytest.raises(InterfaceError, match="spark is a SparkSession, not str"):
        Session(warehouse, spark="local[2]")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("sql", "message", "mark"),
    [
        ("SELECT", "Syntax error at or near end of input", "^"),
        ("SELECT id FROM t GROUP BY", "Syntax error at or near end of input", "^"),
        ("UPDATE t SET name = {x}", "Syntax error at or near '{'", " ^"),
        ("UPDATE t SET name = array(id)", 'cannot cast "ARRAY<DATE>" to "DATE"', "^^^^^^^^^"),
    ],
)
def test_what_spark_refuses_about_words_of_ours_has_a_place_in_the_users(
    session: Session, sql: str, message: str, mark: str
) -> None:
    """Words that are missing, a type that cannot be stored; none of our own words is named."""
    session.sql(
        "CREATE TABLE t (id DATE, name DATE) STORED AS ORC TBLPROPERTIES ('transactional'='true')"
    )
    with pytest.raises(ProgrammingError) as caught:
        session.sql(sql)
    assert caught.value.message.endswith(message)
    assert str(caught.value).splitlines()[2].endswith(mark)


@pytest.mark.parametrize(
    ("sql", "place"),
    [
        ("SELECT id, max(n) FROM t GROUP BY n", "SELECT id, max(n) FROM t GROUP BY n"),
        ("SELECT 1 FROM t JOIN t u USING (nope)", "SELECT 1 FROM t JOIN t u USING (nope)"),
        ("UPDATE t SET n = 1 WHERE row_number() OVER (ORDER BY id) = 1", "1 WHERE row_number() OVER (ORDER BY id) = 1"),
        ("DELETE FROM t WHERE row_number() OVER (ORDER BY id) = 1", "row_number() OVER (ORDER BY id) = 1"),
        ("MERGE INTO t USING t u ON t.id = u.id WHEN MATCHED THEN UPDATE SET n = max(u.n)",
         "t.id = u.id WHEN MATCHED THEN UPDATE SET n = max(u.n)"),
    ],
)  # fmt: skip
def test_what_spark_gives_no_place_to_has_that_of_the_users_words(
    session: Session, sql: str, place: str
) -> None:
    """An error of the statement as a whole points at all that Spark was given of it."""
    session.sql("CREATE TABLE t (id INT, n INT) STORED AS ORC TBLPROPERTIES ('transactional'='true')")  # fmt: skip
    with pytest.raises(ProgrammingError) as caught:
        session.sql(sql)
    assert caught.value.span is not None
    assert caught.value.span.cut(sql) == place


def test_an_error_of_rows_never_points_at_other_words(session: Session) -> None:
    """What Spark says of its own text is found again in the user's, or has no place."""
    session.sql("CREATE TABLE t (id INT, n INT, s STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true')")  # fmt: skip
    session.sql("INSERT INTO t VALUES (1, 1, 'x')")
    session.sql("SET acidsql.ansi=true")
    session.sql("SET acidsql.engine=spark")
    for text, wrong in (
        ("INSERT INTO t SELECT id, {}, s FROM t", "CAST(concat(s, rand()) AS INT)"),
        ("UPDATE t SET n = {}", "CAST(concat(s, rand()) AS INT)"),
        ("MERGE INTO t USING t u ON t.id = u.id WHEN MATCHED THEN UPDATE SET n = {}", "CAST(concat(u.s, rand()) AS INT)"),
    ):  # fmt: skip
        sql = text.format(wrong)
        with pytest.raises(DataError, match="malformed") as caught:
            session.sql(sql)
        span = caught.value.span
        assert span is None or span.cut(sql) == wrong
    with pytest.raises(DataError, match=r"SET acidsql\.ansi=false"):
        session.sql("SELECT id / (n - 1) + rand() FROM t").rows()


@pytest.mark.parametrize("path", ["{none}", "{none}/*.parquet", "file://{none}"])
def test_a_path_that_does_not_exist_is_no_lost_file(
    session: Session, tmp_path: Path, path: str
) -> None:
    """The error says so at the path, and does not advise to run the statement again."""
    named = path.format(none=tmp_path / "none")
    with pytest.raises(BindError, match=r'^path ".*" does not exist') as caught:
        session.sql(f"SELECT *\nFROM parquet.`{named}`").rows()
    assert (caught.value.line, caught.value.column) == (2, 14)
    assert caught.value.hint is None


def test_a_file_of_another_format_is_named(session: Session, tmp_path: Path) -> None:
    """What Spark found in it stands below the statement."""
    file = tmp_path / "text.txt"
    file.write_text("no columns here")
    with pytest.raises(BindError) as caught:
        session.sql(f"SELECT * FROM parquet.`{file}`").rows()
    assert f"{file} is not a Parquet file" in (caught.value.detail or "")
    assert caught.value.line == 1
