"""Tables stored as Parquet and as text: what is written comes back, in Hive's forms; what cannot be
kept to is refused.
"""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from acidsql.errors import FormatError, UnsupportedStatementError
from acidsql.session import Session

pytestmark = pytest.mark.spark

TYPES = (
    "id INT, b BOOLEAN, ti TINYINT, si SMALLINT, bi BIGINT, f FLOAT, d DOUBLE, c DECIMAL(20,8), s STRING, ch CHAR(5), vc VARCHAR(4), "
    "bin BINARY, dt DATE, ts TIMESTAMP, a ARRAY<INT>, m MAP<STRING,INT>, st STRUCT<x:INT,y:ARRAY<STRING>>"
)
VALUES = (
    "1, true, 1, 2, 3, 1.5, 2.5, 0.00000001, 'text', 'ab', 'abcdef', unhex('00ff'), DATE '1500-02-28', TIMESTAMP '2024-02-29 12:34:56.789', "
    "array(1, NULL), map('k', 1), named_struct('x', 1, 'y', array('z'))"
)
ROW = (
    1, True, 1, 2, 3, 1.5, 2.5, Decimal("0.00000001"), "text", "ab", "abcd", b"\x00\xff", datetime.date(1500, 2, 28),
    datetime.datetime(2024, 2, 29, 12, 34, 56, 789000), [1, None], [("k", 1)], {"x": 1, "y": ["z"]},
)  # fmt: skip
FORMATS = ("PARQUET", "TEXTFILE")


def rows(session: Session, query: str) -> list[Any]:
    return sorted(session.sql(query).rows(), key=repr)


@pytest.mark.parametrize("stored_as", FORMATS)
def test_every_type(session: Session, stored_as: str) -> None:
    """Literal rows and those of a query, NULLs in every column, and a copy of them all."""
    session.sql(f"CREATE TABLE t ({TYPES}) STORED AS {stored_as}")
    session.sql(f"INSERT INTO t SELECT {VALUES}")
    session.sql(
        "INSERT INTO t (id, s, ch, vc, ts, dt) VALUES (2, 'x', 'q', 'abcdefg', '1965-01-01 00:00:00.5', '2020-01-01'), (3, NULL, NULL, NULL, NULL, NULL)"
    )
    nothing = (None,) * len(ROW)
    second = (
        2,
        *nothing[1:8],
        "x",
        "q",
        "abcd",
        None,
        datetime.date(2020, 1, 1),
        datetime.datetime(1965, 1, 1, 0, 0, 0, 500000),
        None,
        None,
        None,
    )
    expected = sorted([ROW, second, (3, *nothing[1:])], key=repr)
    assert rows(session, "SELECT * FROM t") == expected
    session.sql("INSERT OVERWRITE TABLE t SELECT * FROM t")
    assert rows(session, "SELECT * FROM t") == expected
    assert [str(column.type) for column in session.sql("SELECT ch, vc FROM t").columns] == [
        "char(5)",
        "varchar(4)",
    ]


@pytest.mark.parametrize("stored_as", [*FORMATS, "ORC"])
def test_a_char_column_may_have_a_dot_in_its_name(session: Session, stored_as: str) -> None:
    """CHANGE gives it one, as in Hive; also where ORC files had a shorter column."""
    session.sql(
        f"CREATE TABLE t (a VARCHAR(3), c VARCHAR(2)) PARTITIONED BY (`p q` CHAR(4)) STORED AS {stored_as}"
    )
    session.sql("ALTER TABLE t CHANGE a `a.b` VARCHAR(3)")
    session.sql("ALTER TABLE t CHANGE c `c.d` VARCHAR(2)")
    session.sql("INSERT INTO t VALUES ('abcd', 7, 'x')")
    if stored_as == "ORC":
        session.sql("ALTER TABLE t CHANGE `c.d` `c.d` VARCHAR(5)")
    shown = session.sql("SELECT * FROM t")
    assert [str(value) for (row,) in [shown.rows()] for value in row] == ["abc", "7", "x"]
    assert str(shown.columns[2].type) == "char(4)"


@pytest.mark.parametrize("stored_as", FORMATS)
def test_partitions(session: Session, warehouse: Path, stored_as: str) -> None:
    """Values of partitions are in the names of directories; INSERT OVERWRITE replaces the files of
    those it writes to.
    """
    session.sql(
        f"CREATE TABLE t (id INT, v STRING) PARTITIONED BY (ds DATE, n INT) STORED AS {stored_as}"
    )
    session.sql(
        "INSERT INTO t VALUES (1, 'a', '2020-01-01', 1), (2, 'b', '2020-01-02', 2), (3, 'c', NULL, 2)"
    )
    session.sql(
        "INSERT OVERWRITE TABLE t PARTITION (ds = '2020-01-02', n = 2) SELECT id + 10, v FROM t WHERE n = 2"
    )
    assert rows(session, "SELECT id, CAST(ds AS STRING), n FROM t") == [
        (1, "2020-01-01", 1), (12, "2020-01-02", 2), (13, "2020-01-02", 2), (3, None, 2)]  # fmt: skip
    assert rows(session, "SELECT id FROM t WHERE ds = '2020-01-01'") == [(1,)]
    assert sorted(path.name for path in (warehouse / "t").iterdir()) == [
        "ds=2020-01-01",
        "ds=2020-01-02",
        "ds=__HIVE_DEFAULT_PARTITION__",
    ]


def test_parquet_is_written_in_hives_forms(session: Session, warehouse: Path) -> None:
    """INT96 timestamps, decimals as bytes, stripped CHAR; found by name, whatever their order;
    compressed as the table says.
    """
    session.sql(
        "CREATE TABLE t (id INT, ts TIMESTAMP, c DECIMAL(5,2), ch CHAR(5)) STORED AS PARQUET TBLPROPERTIES ('parquet.compression'='GZIP')"
    )
    session.sql("INSERT INTO t VALUES (1, '2020-01-02 03:04:05.5', 1.5, 'ab')")
    (path,) = [p for p in (warehouse / "t").iterdir() if p.suffix != ".crc"]
    file = pq.ParquetFile(path)
    assert path.name == "000000_0"
    assert [file.schema.column(i).physical_type for i in range(4)] == [
        "INT32",
        "INT96",
        "FIXED_LEN_BYTE_ARRAY",
        "BYTE_ARRAY",
    ]
    assert file.metadata.row_group(0).column(0).compression == "GZIP"
    assert file.read(["ch"]).to_pylist() == [{"ch": "ab"}]
    other = pa.table({"CH": ["too long a text"], "more": [1], "id": pa.array([2], pa.int32())})
    pq.write_table(other, warehouse / "t" / "other")
    assert rows(session, "SELECT id, ts, ch FROM t WHERE id = 2") == [(2, None, "too l")]


def test_both_zeros_are_found(session: Session, warehouse: Path) -> None:
    """0.0 equals -0.0, whichever of them is in a file of Parquet, whose own reader looks for the
    very one: in tables, by path, and where a ``.df`` is asked later.
    """
    session.sql("SET acidsql.engine=spark")
    for zero in ("0.0D", "-0.0D"):
        session.sql("CREATE TABLE z (d DOUBLE, f FLOAT) STORED AS PARQUET")
        # only values that come twice are in a dictionary
        session.sql(f"INSERT INTO z VALUES {', '.join([f'({zero}, {zero})'] * 3)}")
        for relation in ("z", f"parquet.`{warehouse}/z`"):
            asked = ("d = 0.0D", "d = -0.0D", "f IN (-0.0D, 5)", "f >= 0.0D", "d <= -0.0D")
            counts = [f"(SELECT count(*) FROM {relation} WHERE {one})" for one in asked]
            assert session.sql(f"SELECT {', '.join(counts)}").fetchall() == [(3,) * len(asked)]
        frame = session.sql("SELECT * FROM z").df
        assert frame.where("d = -0.0D").count() == frame.where("f = 0.0D").count() == 3
        session.sql("DROP TABLE z")


def test_a_renamed_parquet_column_is_another_one(session: Session) -> None:
    """Files written before have NULL in it, as in Hive; its old name brings the values back."""
    session.sql("CREATE TABLE t (id INT, v STRING) STORED AS PARQUET")
    session.sql("INSERT INTO t VALUES (1, 'a')")
    session.sql("ALTER TABLE t CHANGE v w STRING")
    assert rows(session, "SELECT * FROM t") == [(1, None)]
    session.sql("ALTER TABLE t CHANGE w v STRING")
    assert rows(session, "SELECT * FROM t") == [(1, "a")]


def test_times_of_another_zone_are_refused(session: Session, warehouse: Path) -> None:
    """A file that says its clock was another one's would be read as other times."""
    session.sql("CREATE TABLE t (id INT, ts TIMESTAMP) STORED AS PARQUET")
    rows_of_hive = pa.table(
        {"id": pa.array([1], pa.int32()), "ts": pa.array([0], pa.timestamp("us"))}
    )
    for zone in ("UTC", "Europe/Berlin"):
        with pq.ParquetWriter(
            warehouse / "t" / "f", rows_of_hive.schema, use_deprecated_int96_timestamps=True
        ) as writer:
            writer.write_table(rows_of_hive)
            writer.add_key_value_metadata({"writer.time.zone": zone})
        if zone == "UTC":
            assert rows(session, "SELECT * FROM t") == [(1, datetime.datetime(1970, 1, 1))]
    with pytest.raises(UnsupportedStatementError, match='are of time zone "Europe/Berlin"'):
        session.sql("SELECT * FROM t")


def test_a_foreign_file_is_named(session: Session, warehouse: Path) -> None:
    """What is no Parquet fails the statement."""
    session.sql("CREATE TABLE t (id INT, d DATE) STORED AS PARQUET")
    (warehouse / "t" / "x").write_text("1,2\n")
    with pytest.raises(FormatError, match="t/x"):
        session.sql("SELECT * FROM t").to_arrow()


def test_delimited_text(session: Session, warehouse: Path, tmp_path: Path) -> None:
    """An external table over files of others, with header lines in each, NULL by a table property,
    and lines too short or too long.
    """
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.csv").write_text(
            f"id,name,n\nis a header too\n{number},x|y,1.5\n{number}1,,nil,more\n{number}2\r\n",
            newline="",
        )
    (folder / "_ignored").write_text("9,9,9\n")
    (folder / "short").write_text("only one header line\n")
    session.sql(
        "CREATE EXTERNAL TABLE t (id INT, name ARRAY<STRING>, n DOUBLE) ROW FORMAT DELIMITED FIELDS TERMINATED BY ',' COLLECTION ITEMS TERMINATED BY '|' "
        f"STORED AS TEXTFILE LOCATION '{folder}' TBLPROPERTIES ('skip.header.line.count'='2', 'serialization.null.format'='nil')"
    )
    expected = (
        [(n, ["x", "y"], 1.5) for n in range(3)]
        + [(n * 10 + 1, [], None) for n in range(3)]
        + [(n * 10 + 2, None, None) for n in range(3)]
    )
    assert rows(session, "SELECT * FROM t") == sorted(expected, key=repr)
    assert rows(session, "SELECT count(*) FROM t WHERE name IS NULL") == [(3,)]
    with pytest.raises(UnsupportedStatementError, match="under its skip"):
        session.sql("INSERT INTO t SELECT * FROM t")


def test_text_is_written_with_its_separators(session: Session, warehouse: Path) -> None:
    """Line breaks come back from a table that escapes; without, they break lines, as in Hive."""
    session.sql(
        "CREATE TABLE t (a STRING, b INT) ROW FORMAT DELIMITED FIELDS TERMINATED BY ';' ESCAPED BY '\\\\' NULL DEFINED AS 'null' STORED AS TEXTFILE"
    )
    session.sql("INSERT INTO t VALUES ('x;y\\\\z', 1), (NULL, NULL)")
    assert (warehouse / "t" / "000000_0").read_text() == "x\\;y\\\\z;1\nnull;null\n"
    assert rows(session, "SELECT * FROM t") == [("x;y\\z", 1), (None, None)]


def test_bytes_that_are_no_characters(session: Session, warehouse: Path) -> None:
    """They are shown by marks and stay what they are in a copy."""
    session.sql("CREATE TABLE t (a STRING, b STRING)")
    (warehouse / "t" / "latin").write_bytes(b"caf\xe9\x01x\n")
    assert rows(session, "SELECT * FROM t") == [("caf�", "x")]
    session.sql("CREATE TABLE copy AS SELECT * FROM t")
    assert (warehouse / "copy" / "000000_0").read_bytes() == b"caf\xe9\x01x\n"


@pytest.mark.parametrize("stored_as", ["AVRO", "SEQUENCEFILE", "RCFILE", "JSONFILE"])
def test_other_formats_are_refused(session: Session, stored_as: str) -> None:
    """Before anything is opened."""
    session.sql(f"CREATE TABLE t (id INT) STORED AS {stored_as}")
    for statement in (
        "SELECT * FROM t",
        "INSERT INTO t VALUES (1)",
        f"CREATE TABLE u STORED AS {stored_as} AS SELECT 1 AS one",
    ):
        with pytest.raises(UnsupportedStatementError, match=f"stored as {stored_as}"):
            session.sql(statement)


CHANGED = {
    "a": ("TINYINT", "CAST(-7 AS TINYINT)", "STRING", "-7"),
    "b": ("SMALLINT", "CAST(300 AS SMALLINT)", "FLOAT", 300.0),
    "c": ("INT", "70000", "BIGINT", 70000),
    "d": ("INT", "70000", "DECIMAL(12,2)", Decimal("70000.00")),
    "e": ("BIGINT", "5000000000", "DOUBLE", 5e9),
    "f": ("FLOAT", "CAST(1.5 AS FLOAT)", "VARCHAR(15)", "1.5"),
    "g": ("DATE", "DATE '1500-02-28'", "STRING", "1500-02-28"),
    "h": ("TIMESTAMP", "TIMESTAMP '2024-02-29 12:34:56.5'", "STRING", "2024-02-29 12:34:56.5"),
    "i": ("DECIMAL(5,2)", "1.25", "DECIMAL(7,4)", Decimal("1.2500")),
    "j": ("DECIMAL(25,2)", "1.25", "DOUBLE", 1.25),
    "k": ("TINYINT", "CAST(-7 AS TINYINT)", "INT", -7),
    "l": ("VARCHAR(5)", "'abcde'", "CHAR(3)", "abc"),
}
"""Of a column: the type it had, the value that was stored, the type it has, the value it is now."""


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_parquet_of_other_types_than_the_table_has_now(session: Session, zone: str) -> None:
    """Rows stored before a CHANGE are what a cast makes of them, beside newer ones and in other
    partitions, and are found by the new values.
    """
    session.sql(f"SET spark.sql.session.timeZone={zone}")
    old = ", ".join(f"{name} {before}" for name, (before, *_) in CHANGED.items())
    session.sql(f"CREATE TABLE t ({old}) PARTITIONED BY (p INT) STORED AS PARQUET")
    values = ", ".join(value for _, value, *_ in CHANGED.values())
    session.sql(f"INSERT INTO t PARTITION (p) SELECT {values}, 1")
    for name, (_, _, after, _) in CHANGED.items():
        session.sql(f"ALTER TABLE t CHANGE {name} {name} {after}")
    now = [now for *_, now in CHANGED.values()]
    names = ", ".join(CHANGED)
    session.sql(f"INSERT INTO t PARTITION (p) SELECT {names}, 2 FROM t")
    session.sql(f"INSERT INTO t PARTITION (p) SELECT {names}, 1 FROM t WHERE p = 2")
    found = session.sql(f"SELECT {names}, p FROM t ORDER BY p").rows()
    assert [list(row) for row in found] == [[*now, 1], [*now, 1], [*now, 2]]
    for test in (
        "a = '-7'",
        "g = '1500-02-28'",
        "h LIKE '2024-02-29 12:34%'",
        "c > 69999",
        "d = 70000.00",
        "l = 'abc'",
    ):
        assert session.sql(f"SELECT count(*) FROM t WHERE {test}").fetchall() == [(3,)]
