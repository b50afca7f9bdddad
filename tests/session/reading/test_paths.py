"""Files that a statement names by their path: what the driver reads itself, and what it leaves to
Spark, with the reason.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import orc
from pyarrow import parquet as pq

from acidsql.errors import BindError, Error, ParseError, UnsupportedStatementError
from acidsql.session import Session
from acidsql.storage.by_path.relations import batches_of, relation_at

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
ROWS = pa.table({"K": pa.array([1, 2, 3], pa.int64()), "v": ["a", "b", None]})
FORMATS = ("parquet", "orc")


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Session]:
    """A session that never starts Spark."""
    with Session(tmp_path / "w", settings={"acidsql.engine": "local"}) as session:
        yield session
        assert not session.spark_started


def write(format: str, rows: pa.Table, path: Path) -> str:
    """Writes a file; the relation that it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if format == "orc":
        orc.write_table(rows, path)
    else:
        pq.write_table(rows, path)
    return f"{format}.`{path}`"


def reason(session: Session, relation: str) -> str:
    """Why the relation is left to Spark, as EXPLAIN says and ``acidsql.engine=local`` refuses it."""
    with pytest.raises(UnsupportedStatementError) as caught:
        session.sql(f"SELECT * FROM {relation}").rows()
    assert "^" in str(caught.value)
    told = caught.value.message.removeprefix("acidsql.engine=local does not carry this out: ")
    session.sql("SET acidsql.engine=auto")
    assert f"engine: spark ({told})" in session.explain(f"SELECT * FROM {relation}")
    session.sql("SET acidsql.engine=local")
    return told


# ---- what is read


@pytest.mark.parametrize("format", FORMATS)
def test_the_driver_reads_a_file(alone: Session, tmp_path: Path, format: str) -> None:
    """Columns in the case the file has them, by whatever case and alias they are named; all that a
    table may be asked.
    """
    file = write(format, ROWS, tmp_path / f"rows.{format}")
    answer = alone.sql(f"SELECT * FROM {file}")
    assert [column.name for column in answer.columns] == ["K", "v"]
    assert answer.fetchall() == [(1, "a"), (2, "b"), (3, None)]
    assert alone.sql(f"SELECT s.v, k + 1 n FROM {file} AS s WHERE s.K > 1").fetchall() == [
        ("b", 3),
        (None, 4),
    ]
    assert alone.sql(f"SELECT count(*), max(k) FROM {file}").fetchall() == [(3, 3)]
    assert alone.sql(f"SELECT s.* FROM {file} s ORDER BY k DESC LIMIT 1").fetchall() == [(3, None)]
    with_url = file.replace("`/", "`file:///")
    assert alone.sql(f"SELECT v FROM {with_url} WHERE k = 1").fetchall() == [("a",)]


@pytest.mark.parametrize("format", FORMATS)
def test_the_driver_writes_what_it_reads_by_path(
    alone: Session, tmp_path: Path, format: str
) -> None:
    """INSERT, INSERT OVERWRITE, CREATE TABLE AS, and MERGE from a path and from a query of one."""
    file = write(format, ROWS, tmp_path / "rows")
    alone.sql(f"CREATE TABLE t (k BIGINT, v STRING) {ACID}")
    assert alone.sql(f"INSERT INTO t SELECT * FROM {file}").stats.rows_inserted == 3
    assert alone.sql(f"INSERT OVERWRITE TABLE t SELECT k, v FROM {file}").stats.rows_inserted == 3
    news = write(format, pa.table({"k": [3, 4], "V": ["c", "d"]}), tmp_path / "news")
    stats = alone.sql(
        f"MERGE INTO t USING {news} s ON t.k = s.k WHEN MATCHED THEN UPDATE SET *"
        " WHEN NOT MATCHED THEN INSERT *"
    ).stats
    assert (stats.rows_updated, stats.rows_inserted) == (1, 1)
    alone.sql(
        f"MERGE INTO t USING (SELECT k FROM {news} WHERE v = 'd') s ON t.k = s.k"
        " WHEN MATCHED THEN DELETE"
    )
    assert alone.sql("SELECT * FROM t ORDER BY k").fetchall() == [(1, "a"), (2, "b"), (3, "c")]
    alone.sql(f"CREATE TABLE made STORED AS ORC AS SELECT * FROM {news}")
    assert alone.sql("SELECT v FROM made ORDER BY k").fetchall() == [("c",), ("d",)]
    with alone.transaction():
        alone.sql(f"INSERT INTO t SELECT k + 10, v FROM {news}")
    assert alone.sql("SELECT count(*) FROM t").fetchall() == [(5,)]


@pytest.mark.parametrize("format", FORMATS)
def test_a_directory_is_its_files_that_are_not_hidden(
    alone: Session, tmp_path: Path, format: str
) -> None:
    """Not what a job leaves beside them, and a name that looks like a partition makes no column."""
    folder = tmp_path / "day=1"
    for number in (1, 2):
        write(format, ROWS, folder / f"part-{number}")
    (folder / "_SUCCESS").touch()
    (folder / ".part-0.crc").write_bytes(b"?")
    write(format, ROWS, folder / "_temporary" / "part-3")
    for path in (folder, f"{folder}/"):
        answer = alone.sql(f"SELECT * FROM {format}.`{path}`")
        assert [column.name for column in answer.columns] == ["K", "v"]
        assert len(answer.fetchall()) == 6


def test_explain_says_who_reads(alone: Session, tmp_path: Path) -> None:
    """The columns and the most bytes before, files and bytes behind."""
    file = write("parquet", ROWS, tmp_path / "rows")
    size = (tmp_path / "rows").stat().st_size
    assert f"read k of {file}\n" in alone.explain(f"SELECT K FROM {file}")
    ran = [row[0] for row in alone.sql(f"EXPLAIN ANALYZE SELECT v FROM {file}").rows()]
    assert ran[1].startswith(f"  read v of {file} (1 files, {size} bytes, ")
    alone.sql("SET acidsql.engine=auto")
    assert "engine: local up to 256 MB of k, else spark" in alone.explain(f"SELECT K FROM {file}")
    alone.sql("SET acidsql.local.max.bytes=10")
    assert "local up to 10 bytes of k" in alone.explain(f"SELECT k FROM {file}")
    alone.sql("SET acidsql.engine=spark")
    assert "engine" not in alone.explain(f"SELECT k FROM {file}")


# ---- one state of each file


@pytest.mark.parametrize("format", FORMATS)
def test_rows_that_come_later_are_those_of_the_statement(
    alone: Session, tmp_path: Path, format: str
) -> None:
    """Another file under the name, or none, changes nothing."""
    file = write(format, ROWS, tmp_path / "rows")
    replaced, gone = (alone.sql(f"SELECT k FROM {file}") for _ in range(2))
    write(format, pa.table({"other": ["x"]}), tmp_path / "new")
    os.replace(tmp_path / "new", tmp_path / "rows")
    assert replaced.fetchall() == [(1,), (2,), (3,)]
    (tmp_path / "rows").unlink()
    assert gone.fetchall() == [(1,), (2,), (3,)]


@pytest.mark.parametrize("format", FORMATS)
def test_a_file_that_is_written_to_gives_no_rows(
    alone: Session, tmp_path: Path, format: str
) -> None:
    """They might be those of two states; without Spark, who reads it again, it is refused."""
    file = write(format, ROWS, tmp_path / "rows")
    late = alone.sql(f"SELECT k FROM {file}")
    data = (tmp_path / "rows").read_bytes()
    with open(tmp_path / "rows", "r+b") as opened:
        opened.write(data)
        opened.write(b"more")
    with pytest.raises(UnsupportedStatementError, match="is written to while it is read"):
        late.fetchall()


# ---- what is left to Spark


def _with(name: str) -> Callable[[str, Path], str]:
    def make(format: str, root: Path) -> str:
        write(format, ROWS, root / "d" / "part-1")
        write(format, ROWS, root / "d" / name)
        return f"{format}.`{root}/d`"

    return make


def _at(path: str) -> Callable[[str, Path], str]:
    def make(format: str, root: Path) -> str:
        write(format, ROWS, root / "rows")
        return f"{format}.`{path.format(root=root)}`"

    return make


def _holding(**columns: pa.Array) -> Callable[[str, Path], str]:
    return lambda format, root: write(format, pa.table(columns), root / "rows")


def _of_bytes(data: bytes) -> Callable[[str, Path], str]:
    def make(format: str, root: Path) -> str:
        (root / "rows").write_bytes(data)
        return f"{format}.`{root}/rows`"

    return make


def _two_schemas(format: str, root: Path) -> str:
    write(format, ROWS, root / "d" / "1")
    write(format, pa.table({"K": [1], "w": [1]}), root / "d" / "2")
    return f"{format}.`{root}/d`"


def _one_name_twice(format: str, root: Path) -> str:
    return write(format, pa.table([[1], [2]], names=["a", "A"]), root / "rows")


def _no_files(format: str, root: Path) -> str:
    (root / "d").mkdir()
    return f"{format}.`{root}/d`"


def _many(format: str, root: Path) -> str:
    (root / "d").mkdir()
    for number in range(101):
        (root / "d" / str(number)).touch()
    return f"{format}.`{root}/d`"


def _stale_sums(format: str, root: Path) -> str:
    file = write(format, ROWS, root / "rows")
    (root / ".rows.crc").write_bytes(bytes(8))
    return file


LEFT = {
    "missing": (_at("{root}/none"), "a path that does not exist"),
    "relative": (_at("rows/none"), "a path that does not exist"),
    "elsewhere": (_at("hdfs://host/rows"), "on another file system"),
    "no host": (_at("hdfs:///rows"), "on another file system"),
    "pattern": (_at("{root}*/rows"), "other characters"),
    "choice": (_at("{root}/{{rows,more}}"), "other characters"),
    "percent": (_at("{root}/ro%77s"), "other characters"),
    "colon": (_at("{root}/a:b"), "other characters"),
    "dots": (_at("{root}/../rows"), "other characters"),
    "slashes": (_at("{root}//rows"), "other characters"),
    "umlaut": (_at("{root}/röws"), "other characters"),
    "hidden": (_at("{root}/_rows"), "hidden name"),
    "partitions": (_with("k=1/part-1"), "others below it"),
    "directories": (_with("more/part-1"), "others below it"),
    "summary": (_with("_metadata"), "describe the others"),
    "common": (_with("_common_metadata"), "describe the others"),
    "stream": (_with("_spark_metadata/0"), "describe the others"),
    "colon below": (_with("a:b"), "other characters"),
    "nothing": (_no_files, "without files"),
    "many": (_many, "more than 100 files"),
    "empty": (_of_bytes(b""), "empty or no file"),
    "corrupt": (_of_bytes(b"not a file of the format"), "cannot be read"),
    "two schemas": (_two_schemas, "files of different columns"),
    "one name twice": (_one_name_twice, "two columns have"),
    "dot": (_holding(**{"a.b": pa.array([1])}), "names of columns"),
    "fields": (_holding(s=pa.array([{"A": 1}])), "other than plain names"),
    "sums": (_stale_sums, "that of its checksums"),
}


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(("make", "words"), LEFT.values(), ids=LEFT)
def test_what_is_not_sure_is_left_to_spark(
    alone: Session,
    tmp_path: Path,
    format: str,
    make: Callable[[str, Path], str],
    words: str,
) -> None:
    """EXPLAIN says why; ``acidsql.engine=local`` refuses it in the same words."""
    assert words in reason(alone, make(format, tmp_path))


WHOLE = {
    "nanoseconds": (pa.array([1], pa.timestamp("ns")), "INT64 as Timestamp"),
    "time": (pa.array([1], pa.time64("us")), "INT64 as Time"),
    "half": (pa.array([1.0], pa.float16()), "FIXED_LEN_BYTE_ARRAY as Float16"),
    "nothing": (pa.nulls(1), "INT32 as Null"),
}


@pytest.mark.parametrize(("values", "words"), WHOLE.values(), ids=WHOLE)
def test_a_type_that_spark_refuses_is_left_to_it(
    alone: Session, tmp_path: Path, values: pa.Array, words: str
) -> None:
    """Whichever column is asked for: Spark looks at all of them."""
    file = write("parquet", pa.table({"k": [1], "c": values}), tmp_path / "rows")
    assert f'column "c", {words}' in reason(alone, file)
    with pytest.raises(UnsupportedStatementError):
        alone.sql(f"SELECT k FROM {file}").rows()


WAYS = {
    "brotli": ({"compression": "brotli"}, "compressed by BROTLI"),
    "lz4": ({"compression": "lz4"}, "compressed by LZ4"),
    "split": (
        {"use_dictionary": False, "column_encoding": {"K": "BYTE_STREAM_SPLIT"}},
        "encoded as BYTE_STREAM_SPLIT",
    ),
    "delta": (
        {"use_dictionary": False, "column_encoding": {"K": "DELTA_BINARY_PACKED"}},
        "encoded as DELTA_BINARY_PACKED",
    ),
}


@pytest.mark.parametrize(("ways", "words"), WAYS.values(), ids=WAYS)
def test_what_spark_may_not_be_able_to_read_is_left_to_it(
    alone: Session, tmp_path: Path, ways: dict[str, Any], words: str
) -> None:
    """Codecs that it may not have, and encodings that its readers do not all know."""
    pq.write_table(ROWS, tmp_path / "rows", **ways)
    assert words in reason(alone, f"parquet.`{tmp_path}/rows`")


def test_a_column_that_is_sparks_is_so_where_it_is_used(alone: Session, tmp_path: Path) -> None:
    """The others are read without it; a count finds one that it may read."""
    rows = pa.table({"l": pa.array([[1]], pa.list_(pa.date32())), "k": [7]})
    file = write("parquet", rows, tmp_path / "rows")
    assert reason(alone, file) == "dates and timestamps inside other values"
    assert alone.sql(f"SELECT k FROM {file}").fetchall() == [(7,)]
    assert alone.sql(f"SELECT count(*) FROM {file}").fetchall() == [(1,)]
    only = write("parquet", rows.select(["l"]), tmp_path / "only")
    with pytest.raises(UnsupportedStatementError, match="inside other values"):
        alone.sql(f"SELECT count(*) FROM {only}")


def test_clocks_without_a_zone_are_given_out_and_stored(alone: Session, tmp_path: Path) -> None:
    """As TIMESTAMP; what functions make of them is Spark's, and so is a zone to store them in."""
    clock = datetime.datetime(2024, 2, 29, 12, 30, 15)
    rows = pa.table({"k": [1, 2], "c": pa.array([clock, None], pa.timestamp("us"))})
    file = write("parquet", rows, tmp_path / "rows")
    answer = alone.sql(f"SELECT c, min(c) FROM {file} GROUP BY c ORDER BY c DESC")
    assert [str(column.type) for column in answer.columns] == ["timestamp", "timestamp"]
    assert answer.fetchall() == [(clock, clock), (None, None)]
    alone.sql(f"CREATE TABLE made STORED AS ORC AS SELECT * FROM {file}")
    alone.sql(f"CREATE TABLE t (k BIGINT, c TIMESTAMP) {ACID}")
    alone.sql(f"INSERT INTO t SELECT * FROM {file} WHERE k = 1")
    alone.sql(
        f"MERGE INTO t USING {file} s ON t.k = s.k WHEN MATCHED THEN UPDATE SET *"
        " WHEN NOT MATCHED THEN INSERT *"
    )
    for table in ("made", "t"):
        stored = alone.sql(f"SELECT c, year(c) FROM {table} ORDER BY k").fetchall()
        assert stored == [(clock, 2024), (None, None)]
    alone.sql("CREATE TABLE n (k BIGINT, c BIGINT) STORED AS ORC")
    for text in (
        f"SELECT year(c) FROM {file}",
        f"SELECT hour(max(c)) FROM {file}",
        f"SELECT k FROM {file} WHERE c > TIMESTAMP '2020-01-01 00:00:00'",
        f"INSERT INTO n SELECT * FROM {file}",
        f"MERGE INTO t USING {file} s ON t.c = s.c WHEN MATCHED THEN DELETE",
    ):
        with pytest.raises(UnsupportedStatementError, match=r"acidsql\.engine=local"):
            alone.sql(text)
    alone.sql("SET spark.sql.session.timeZone=Europe/Berlin")
    assert alone.sql(f"SELECT c FROM {file}").fetchall() == [(clock,), (None,)]
    alone.sql(f"INSERT INTO t SELECT * FROM {file}")
    assert alone.sql("SELECT c FROM t WHERE c IS NOT NULL").fetchall() == [(clock,)] * 2


OLD = {
    "date": pa.array([-150_000], pa.date32()),
    "far date": pa.array([3_000_000], pa.date32()),
    "timestamp": pa.array([-2_300_000_000], pa.timestamp("s", "UTC")),
    "far timestamp": pa.array([1 << 60], pa.timestamp("us", "UTC")),
    "farthest": pa.array([1 << 62], pa.timestamp("ms", "UTC")),
}


@pytest.mark.parametrize("values", OLD.values(), ids=OLD)
def test_times_that_calendars_tell_differently_are_left_to_spark(
    alone: Session, tmp_path: Path, values: pa.Array
) -> None:
    """They only show in the rows."""
    file = write("parquet", pa.table({"c": values}), tmp_path / "rows")
    late = alone.sql(f"SELECT c FROM {file}")
    with pytest.raises(UnsupportedStatementError, match=r"far year|cannot be read"):
        late.rows()


def test_text_that_is_none_is_left_to_spark(alone: Session, tmp_path: Path) -> None:
    """Spark takes any bytes for text."""
    broken = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff"]).buffers())
    file = write("parquet", pa.table({"c": broken}), tmp_path / "rows")
    with pytest.raises(UnsupportedStatementError, match="UTF8"):
        alone.sql(f"SELECT c FROM {file}").rows()


@pytest.mark.parametrize(
    "setting",
    [
        "spark.sql.parquet.binaryAsString=true",
        "spark.sql.files.ignoreCorruptFiles=true",
        "spark.sql.caseSensitive=true",
        "spark.sql.orc.mergeSchema=true",
    ],
)
def test_spark_reads_by_the_rules_that_it_was_given(
    alone: Session, tmp_path: Path, setting: str
) -> None:
    """The driver knows no others than those that hold without any."""
    file = write("parquet", ROWS, tmp_path / "rows")
    alone.sql(f"SET {setting}")
    assert reason(alone, file) == f"what {setting.partition('=')[0]} changes"


def test_a_spark_that_may_see_other_files_reads_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of a cluster, or one whose Hadoop is configured somewhere."""
    monkeypatch.setattr("acidsql.spark.jvm.running_session_if_any", lambda: None)
    file = write("parquet", ROWS, tmp_path / "rows")
    local = {"acidsql.engine": "local"}
    with Session(tmp_path / "w", master="spark://host:7077", settings=local) as session:
        assert reason(session, file) == "files of the machines of a cluster"
    conf = {"spark.hadoop.fs.defaultFS": "hdfs://host"}
    with Session(tmp_path / "w", conf=conf, settings=local) as session:
        assert reason(session, file) == "files of a Hadoop that is configured"
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    with Session(tmp_path / "w", settings=local) as session:
        assert reason(session, file) == "files of a Spark that is configured elsewhere"


def test_moments_need_a_zone_that_is_no_other(alone: Session, tmp_path: Path) -> None:
    """Parquet has moments, which the clock of the session's zone shows; ORC has wall clocks."""
    alone.sql("SET spark.sql.session.timeZone=Europe/Berlin")
    moments = pa.table({"c": pa.array([1], pa.timestamp("us", "UTC"))})
    assert "zone Europe/Berlin" in reason(alone, write("parquet", moments, tmp_path / "rows"))
    clocks = pa.table({"c": pa.array([1], pa.timestamp("us"))})
    shown = alone.sql(f"SELECT c FROM {write('orc', clocks, tmp_path / 'more')}").fetchall()
    assert shown == [(datetime.datetime(1970, 1, 1, 0, 0, 0, 1),)]


def test_a_database_of_a_formats_name_has_tables(alone: Session, tmp_path: Path) -> None:
    """As it has today: no path is looked at."""
    file = write("parquet", ROWS, tmp_path / "rows")
    alone.sql("CREATE DATABASE parquet")
    with pytest.raises(Exception, match="Table not found"):
        alone.sql(f"SELECT * FROM {file}")


def test_other_formats_are_left_to_spark(alone: Session, tmp_path: Path) -> None:
    """With the name of the format."""
    (tmp_path / "rows").write_text("1\n")
    assert reason(alone, f"csv.`{tmp_path}/rows`") == "csv files by their path"


def test_a_path_is_a_relation_of_its_own(alone: Session, tmp_path: Path) -> None:
    """Joined with a table, in a sub-query or beside another it is read as a table is. It has no name
    of its own, and no ROW__ID.
    """
    file = write("parquet", ROWS, tmp_path / "rows")
    alone.sql(f"CREATE TABLE t (k BIGINT, v STRING) {ACID}")
    alone.sql("INSERT INTO t VALUES (2, 'x'), (4, 'y')")
    other = write("orc", ROWS.slice(1), tmp_path / "other")
    for text, rows in {
        f"SELECT a.k, t.v FROM {file} a JOIN t ON a.k = t.k": [(2, "x")],
        f"SELECT v FROM t WHERE k IN (SELECT k FROM {file})": [("x",)],
        f"SELECT a.k, b.k FROM {file} a, {other} b, {file} c WHERE a.k = b.k AND c.k = 1": [
            (2, 2),
            (3, 3),
        ],
        f"WITH q AS (SELECT * FROM {file}) SELECT count(*) FROM q": [(3,)],
        f"SELECT k FROM {file} EXCEPT SELECT k FROM {other}": [(1,)],
    }.items():
        assert sorted(alone.sql(text)) == rows, text
    assert alone.sql(f"DELETE FROM t WHERE k IN (SELECT k FROM {file})").stats.rows_deleted == 1
    for text in (
        f"SELECT x.* FROM {file}",
        f"SELECT rows.k FROM {file}",
        f"SELECT row__id FROM {file}",
    ):
        with pytest.raises(UnsupportedStatementError, match=r"acidsql\.engine=local"):
            alone.sql(text)


# ---- a string in the place of a table


@pytest.mark.parametrize("format", FORMATS)
def test_a_string_names_a_file(
    alone: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str
) -> None:
    """Behind FROM, by its suffix, in quotes of both kinds, relative or not; in all that takes a
    query.
    """
    write(format, ROWS, tmp_path / f"rows.{format}")
    monkeypatch.chdir(tmp_path)
    whole = [(1, "a"), (2, "b"), (3, None)]
    assert list(alone.sql(f"SELECT * FROM '{tmp_path}/rows.{format}'")) == whole
    assert list(alone.sql(f'SELECT *\nFROM "rows.{format}"')) == whole
    asked = f"SELECT max(f.k), count(*) FROM 'rows.{format}' AS f WHERE f.k > 1"
    assert list(alone.sql(asked)) == [(3, 2)]
    alone.sql(f"CREATE TRANSACTIONAL TABLE t AS SELECT k, v FROM 'rows.{format}'")
    alone.sql(f"INSERT INTO t SELECT k + 10, v FROM 'rows.{format}' f")
    merged = alone.sql(
        f"MERGE INTO t USING (SELECT * FROM 'rows.{format}') s ON t.k = s.k"
        " WHEN MATCHED THEN DELETE"
    )
    assert merged.stats.rows_deleted == 3
    assert sorted(alone.sql("SELECT k FROM t")) == [(11,), (12,), (13,)]


@pytest.mark.parametrize(
    ("path", "error", "told", "hint"),
    [
        ("rows.txt", BindError, '"rows.txt" does not tell the format', "read_csv('rows.txt')"),
        ("rows.orc.gz", BindError, '"rows.orc.gz" does not tell the format', "read_parquet"),
        ("some/folder", BindError, '"some/folder" does not tell the format', "read_parquet"),
        ("ro`ws.orc", ParseError, "no backtick and no backslash", ""),
    ],
)
def test_a_string_that_names_no_file(
    alone: Session, path: str, error: type[Error], told: str, hint: str
) -> None:
    """The error points at it."""
    alone.sql(f"CREATE TABLE t (k BIGINT) {ACID}")
    with pytest.raises(error, match=told) as caught:
        alone.sql(f"SELECT *\nFROM '{path}'").rows()
    assert (caught.value.line, caught.value.column) == (2, 6)
    assert hint in (caught.value.hint or "")


@pytest.mark.spark
def test_strings_name_files_for_spark(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In joins, lists of tables, sub-queries, WITH and views; strings elsewhere are values. A
    relative path is below the directory in which the statement was written, not Spark's.
    """
    monkeypatch.chdir(tmp_path)
    one, other = f"'{tmp_path}/one.parquet'", f"'{tmp_path}/other.orc'"
    write("parquet", ROWS, tmp_path / "one.parquet")
    write("orc", ROWS.slice(1), tmp_path / "other.orc")
    session.sql("SET acidsql.engine=spark")
    session.sql(f"CREATE TABLE t (k BIGINT, v STRING) {ACID}")
    session.sql(f"INSERT INTO t SELECT * FROM {other}")
    session.sql("CREATE VIEW seen AS SELECT k FROM 'one.parquet' WHERE v IS NOT NULL")
    monkeypatch.chdir(tmp_path.parent)
    for query, rows in {
        f"SELECT a.k, b.v FROM {one} a JOIN {other} AS b ON a.k = b.k": [(2, "b"), (3, None)],
        f"SELECT t.k, a.k FROM t, {one} a WHERE t.k = a.k + 1": [(2, 1), (3, 2)],
        f"SELECT k FROM (SELECT k FROM {one}) EXCEPT SELECT k FROM {other}": [(1,)],
        f"WITH w AS (SELECT * FROM {other}) SELECT count(*) FROM w LEFT JOIN {one} x ON x.k = w.k": [
            (2,)
        ],
        f"SELECT k FROM t WHERE k IN (SELECT k FROM {one} WHERE k > 2)": [(3,)],
        "SELECT * FROM seen": [(1,), (2,)],
        "SELECT trim('x' FROM 'xa.orc'), 'b.orc'": [("a.orc", "b.orc")],
        "SELECT * FROM VALUES 'a.orc', 'b.orc'": [("a.orc",), ("b.orc",)],
        "SELECT k FROM t GROUP BY k, 'a.orc' ORDER BY k, 'b.orc'": [(2,), (3,)],
    }.items():
        assert sorted(session.sql(query), key=repr) == rows, query
    with pytest.raises(BindError, match=r'^path ".*none.orc" does not exist'):
        session.sql(f"SELECT * FROM '{tmp_path}/none.orc'").rows()


def test_memory_does_not_grow_with_the_row_groups(tmp_path: Path) -> None:
    """Of a Parquet file of 48 MB a few of its 24 groups lie in memory at a time."""
    random, path = np.random.default_rng(5), tmp_path / "rows.parquet"
    schema = pa.schema({"n": pa.int64(), "m": pa.int64()})
    with pq.ParquetWriter(path, schema, use_dictionary=False) as writer:
        for _ in range(24):
            arrays = [random.integers(0, 1 << 62, 1 << 17) for _ in schema]
            writer.write_table(pa.table(arrays, schema=schema))
    assert path.stat().st_size > 48 << 20
    before, most, rows = pa.total_allocated_bytes(), 0, 0
    for batch in batches_of(relation_at("parquet", str(path)), ("n", "m")):
        most, rows = max(most, pa.total_allocated_bytes() - before), rows + batch.num_rows
    assert rows == 24 << 17
    assert most < 16 << 20
