"""Tables for tests, made of CSV files and of Arrow data."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from acidsql import Session
from acidsql.errors import DataError
from acidsql.testing.tables import TableMaker
from acidsql.testing.texts import file_changes, result_text

CSV = 'Id,name,born,code\n1,Ada,1815-12-10,007\n2,"",,\n3,"a, ""b""\nc",1906-12-09,08\n'


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", settings={"acidsql.compactor.auto": "false"}) as opened:
        yield opened
        assert not opened.spark_started


@pytest.fixture
def make(session: Session, tmp_path: Path) -> TableMaker:
    (tmp_path / "people.csv").write_text(CSV, encoding="utf-8")
    return TableMaker(session=session, folder=tmp_path)


def test_a_csv_becomes_a_table(session: Session, make: TableMaker) -> None:
    """Types are those of the values, unless told; an empty cell is NULL, an empty text is none."""
    result = make("people", "people.csv", types={"id": "INT", "code": "CHAR(3)"})
    assert result.stats.rows_inserted == 3
    assert result_text(session.sql("SELECT id, born, code, name FROM people")) == (
        "[id int, born date, code char(3), name string]\n"
        '1\t1815-12-10\t007\tAda\n2\tNULL\tNULL\t\n3\t1906-12-09\t08 \ta, "b"\nc'
    )


def test_the_files_are_those_of_an_insert(session: Session, make: TableMaker) -> None:
    """What it takes on the way leaves nothing: no table, no file, no transaction before it."""
    with file_changes(Path(session.warehouse)) as files:
        make("people", "people.csv", types={"born": "STRING"}, partitioned_by=["born"])
    assert files.lines == tuple(
        f"+ people/born={day}/delta_0000001_0000001_0000/{name}"
        for day in ("1815-12-10", "1906-12-09", "__HIVE_DEFAULT_PARTITION__")
        for name in ("_orc_acid_version", "bucket_00000 rows=1")
    )
    assert [row[0] for row in session.sql("SHOW TABLES").rows()] == ["people"]


def test_every_type_comes_from_arrow(session: Session, make: TableMaker) -> None:
    """Nested values, binary, decimals and microseconds are kept."""
    rows = {
        "small": pa.array([1, None], pa.uint8()),
        "price": pa.array([Decimal("1.25"), None]),
        "data": pa.array([b"\xff", None]),
        "at": pa.array([datetime.datetime(2024, 1, 1, 0, 0, 0, 123456), None]),
        "word": pa.array(["a", None]).dictionary_encode(),
        "list": pa.array([[1, None], None], pa.list_(pa.int16())),
        "pairs": pa.array([[("k", 1.5)], None], pa.map_(pa.string(), pa.float64())),
        "both": pa.array([{"x": 1, "y": "b"}, None]),
    }
    make("everything", pa.table(rows))
    result = session.sql("SELECT * FROM everything")
    assert [str(c.type) for c in result.columns] == [
        "smallint", "decimal(3,2)", "binary", "timestamp", "string",
        "array<smallint>", "map<string,double>", "struct<x:bigint,y:string>",
    ]  # fmt: skip
    values = [rows[name].to_pylist()[0] for name in rows]
    assert sorted(result.rows(), key=str, reverse=True) == [(None,) * 8, tuple(values)]


def test_rows_go_into_a_table_that_is_there(session: Session, make: TableMaker) -> None:
    """Columns match by name, in the types that the table has; a frame of pandas is Arrow, too."""
    session.sql(
        "CREATE TABLE t (b STRING, a TINYINT, c DATE) STORED AS ORC"
        " TBLPROPERTIES ('transactional'='true')"
    )
    make("t", pd.DataFrame({"a": [1, 2], "b": ["x", None]}))
    assert sorted(session.sql("SELECT a, b, c FROM t").rows()) == [(1, "x", None), (2, None, None)]


@pytest.mark.parametrize(
    ("source", "options", "told"),
    [
        (pa.table({"a": [300]}), {"types": {"a": "TINYINT"}}, "300 not in range"),
        (pa.table({"a": [1]}), {"types": {"b": "INT"}}, 'the rows have no column "b"'),
        (pa.table({"a": [1]}), {"partitioned_by": ["b"]}, 'the rows have no column "b"'),
        (
            pa.table({"a": pa.array([0], pa.timestamp("us", tz="UTC"))}),
            {},
            r'column "a" has the type timestamp\[us, tz=UTC\], which SQL has not',
        ),
        (pa.table({"a": pa.array([1], pa.uint64())}), {}, 'column "a" has the type uint64'),
    ],
)
def test_what_cannot_be_kept_is_refused(
    session: Session, make: TableMaker, source: pa.Table, options: dict[str, object], told: str
) -> None:
    """A value that its type cannot hold, and a type that SQL has not, leave no table."""
    with pytest.raises(DataError, match=told):
        make("t", source, **options)  # type: ignore[arg-type]
    assert list(session.sql("SHOW TABLES").rows()) == []
