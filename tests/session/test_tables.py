"""DataFrames in: rows of a table, by the statements that a user would write."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from acidsql.errors import (
    AlreadyExistsError,
    BindError,
    CardinalityError,
    ColumnNotFoundError,
    DataError,
    InterfaceError,
    NotNullError,
    ParseError,
    TableNotFoundError,
    UnsupportedStatementError,
)
from acidsql.session import Session
from acidsql.session.transaction import Attempts

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"


@pytest.fixture
def alone(alone: Session) -> Session:
    """With a table."""
    alone.sql(f"CREATE TABLE t (id INT, name STRING, n DECIMAL(6,2)) {ACID}")
    return alone


def _rows(session: Session, table: str = "t") -> list[tuple[Any, ...]]:
    return sorted(session.sql(f"SELECT * FROM {table}"), key=repr)


SAMPLE = {"Name": ["a", None], "ID": [1, 2], "n": [1.25, 2.0]}


KINDS = pa.table(
    {
        "Id": pa.array([1, 2, 3], pa.int32()),
        "day": [datetime.date(2026, 1, 1), datetime.date(2026, 1, 1), None],
        "n": pa.array([Decimal("1.50"), None, Decimal("-2.25")], pa.decimal128(6, 2)),
        "tags": [["a"], [], None],
        "at": [datetime.datetime(2026, 1, 1, 5), None, None],
    }
)


def test_a_frame_becomes_a_table(alone: Session) -> None:
    """With its columns, their types and its rows, transactional, and without Java; it takes changes
    as any other.
    """
    made = alone.create_table("Made", KINDS)
    assert made.stats.rows_inserted == 3
    types = {row[0]: row[1] for row in alone.sql("DESCRIBE made")}
    assert types == {
        "id": "int",
        "day": "date",
        "n": "decimal(6,2)",
        "tags": "array<string>",
        "at": "timestamp",
    }
    assert alone.sql("SELECT * FROM made ORDER BY id").to_arrow().to_pylist() == [
        {name.lower(): value for name, value in row.items()} for row in KINDS.to_pylist()
    ]
    assert alone.sql("DELETE FROM made WHERE id = 2").stats.rows_changed == 1
    alone.create_table("default.of_pandas", pd.DataFrame(SAMPLE))
    assert _rows(alone, "of_pandas") == [("a", 1, 1.25), (None, 2, 2.0)]
    assert not alone.spark_started


def test_a_frame_becomes_a_table_with_partitions(alone: Session) -> None:
    """The columns named are the table's last ones, and its rows lie in their partitions."""
    alone.create_table("made", KINDS, ["DAY"])
    assert [row[0] for row in alone.sql("SHOW PARTITIONS made")] == [
        "day=2026-01-01",
        "day=__HIVE_DEFAULT_PARTITION__",
    ]
    assert sorted(row[0] for row in alone.sql("SELECT id FROM made WHERE day IS NULL")) == [3]
    plan = alone.table("other").explain().create(KINDS, ["day"])
    assert plan.startswith("CREATE TABLE .. AS\n  table: default.other\n")


@pytest.mark.parametrize(
    ("frame", "keys", "error", "told"),
    [
        (KINDS, ["zz"], ColumnNotFoundError, "zz"),
        (KINDS, ["tags"], BindError, "Partition column must be of primitive type"),
        (pa.table({"a": [1]}), ["a"], BindError, "a table cannot have partition columns only"),
        (pa.table({}), (), BindError, "the frame has no columns"),
        (pa.table({"a": [1], "A": [2]}), (), BindError, 'two columns of one name: "a" and "A"'),
        (
            pa.table({"a": [1], "v": pa.nulls(1)}),
            (),
            BindError,
            'column "v" of the frame is NULL everywhere, so it has no type',
        ),
        (
            pa.table({"at": pa.array([0], pa.timestamp("us", "Europe/Berlin"))}),
            (),
            BindError,
            '"at"',
        ),
    ],
)
def test_what_no_table_can_have_is_refused(
    alone: Session, frame: Any, keys: list[str], error: type[Exception], told: str
) -> None:
    """Before there is one."""
    with pytest.raises(error, match=told):
        alone.create_table("made", frame, keys)
    assert [row[0] for row in alone.sql("SHOW TABLES")] == ["t"]


def test_a_table_is_made_once(alone: Session) -> None:
    """One that is there stays as it was; in a transaction none is made."""
    with pytest.raises(AlreadyExistsError):
        alone.create_table("t", KINDS)
    assert _rows(alone) == []


def test_every_kind_of_frame_is_taken(alone: Session, frames_folder: Path) -> None:
    """pandas, Arrow's tables, batches and readers, results, and whatever gives a stream."""
    table = pa.table(SAMPLE)
    alone.register("df", table)

    class Stream:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return table.__arrow_c_stream__(requested_schema)

    frames = [
        pd.DataFrame(SAMPLE),
        table,
        table.to_batches()[0],
        table.to_reader(),
        Stream(),
        alone.sql("SELECT * FROM df"),
    ]
    for number, frame in enumerate(frames, 1):
        assert alone.table("t").append(frame).stats.rows_inserted == 2
        expected = [(1, "a", Decimal("1.25"))] * number + [(2, None, Decimal("2.00"))] * number
        assert _rows(alone) == expected
    alone.unregister("df")
    del frames, frame
    assert os.listdir(frames_folder) == []


def test_polars_frames_are_taken(alone: Session) -> None:
    """A DataFrame; of a LazyFrame nothing is computed."""
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"id": [1], "name": ["ä"], "n": [Decimal("0.10")]})
    alone.table("t").append(frame)
    assert _rows(alone) == [(1, "ä", Decimal("0.10"))]
    with pytest.raises(InterfaceError, match=r"polars has no rows yet"):
        alone.table("t").append(frame.lazy())
    assert alone.sql("SELECT name FROM t").to_polars()["name"].to_list() == ["ä"]
    assert polars.DataFrame(alone.sql("SELECT id FROM t"))["id"].to_list() == [1]


def test_columns_are_matched_by_name(alone: Session) -> None:
    """Whatever their order and case; what is missing or too much is listed, with what was meant."""
    t = alone.table("T")
    with pytest.raises(ColumnNotFoundError) as caught:
        t.append(pa.table({"id": [1], "nmae": ["a"], "n": [1], "x": [0]}))
    assert str(caught.value) == (
        'the columns of the frame are not those of table default.t: it has no "name", and the'
        ' table has no "nmae", "x"\nhint: did you mean "name" for "nmae"?'
    )
    with pytest.raises(ColumnNotFoundError, match=r"columns=\[\.\.\]"):
        t.append(pa.table({"id": [1]}))
    with pytest.raises(BindError, match='two columns of one name: "id" and "ID"'):
        t.append(pa.table({"id": [1], "ID": [2]}))
    with pytest.raises(ColumnNotFoundError, match="reset_index"):
        t.append(pd.DataFrame({"name": ["a"], "n": [1]}, index=pd.Index([7], name="id")))
    t.append(pa.table({"id": [1], "other": ["is left out"]}), columns=["ID"])
    assert _rows(alone) == [(1, None, None)]
    with pytest.raises(ColumnNotFoundError, match='has no column "nam"'):
        t.append(pa.table({"id": [1]}), columns=["id", "nam"])


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ({"id": [1, 2**40]}, r'row 1 of the frame: column "id" of type int cannot hold "1099511'),
        ({"id": ["1", "2"]}, r'column "id" is of type int, that of the frame (large_)?string'),
        ({"n": [1.005, 1.0]}, r'row 0 of the frame: column "n" of type decimal\(6,2\) cannot hold'),
        ({"id": [1.5, 2.0]}, r'row 0 of the frame: column "id" of type int cannot hold "1.5"'),
        (
            {"n": pd.to_timedelta([1, 2])},
            r'column "n" is of type decimal\(6,2\), that of the frame duration',
        ),
        ({"name": [1, "a"]}, "values of several types"),
    ],
)
def test_values_that_would_change_are_refused(
    alone: Session,
    tmp_path: Path,
    frames_folder: Path,
    column: dict[str, Any],
    message: str,
) -> None:
    """Before anything is written: no transaction has begun, no file is left."""
    frame = pd.DataFrame({"id": [1, 2], "name": ["a", "b"], "n": [1, 2]} | column)
    with pytest.raises((DataError, BindError), match=message):
        alone.table("t").append(frame)
    assert _rows(alone) == []
    assert os.listdir(frames_folder) == []
    assert list(alone.sql("SHOW TRANSACTIONS")) == []
    assert not [p for p in (tmp_path / "w" / "t").rglob("*") if "delta" in p.name]


def test_whole_numbers_beside_nulls_are_whole(alone: Session) -> None:
    """pandas makes doubles of them; a column of whole numbers takes them back."""
    alone.table("t").append(pd.DataFrame({"id": [1, None], "name": [None, "b"], "n": [None, 2]}))
    assert _rows(alone) == [(1, None, None), (None, "b", Decimal("2.00"))]


def test_merge_updates_and_inserts(alone: Session) -> None:
    """By default all columns; with mappings, conditions and parameters what they say."""
    t = alone.table("t")
    t.append(pa.table({"id": [1, 2], "name": ["a", "b"], "n": [1, 2]}))
    stats = t.merge(pa.table({"id": [2, 3], "name": ["B", "C"], "n": [20, 30]}), on=["ID"]).stats
    assert (stats.rows_updated, stats.rows_inserted) == (1, 1)
    assert [row[:2] for row in _rows(alone)] == [(1, "a"), (2, "B"), (3, "C")]

    changes = pa.table({"id": [1, 2, 4, 5], "op": ["d", "u", "u", "d"]})
    t.merge(
        changes,
        on=["id"],
        when_matched=[("s.op = 'd'", "delete"), (None, {"name": "concat(t.name, ?)", "n": "NULL"})],
        when_not_matched=[("s.op <> 'd'", {"id": "s.id", "name": "s.op"})],
        params=["!"],
    )
    assert _rows(alone) == [(2, "B!", None), (3, "C", Decimal("30.00")), (4, "u", None)]
    t.merge(pa.table({"id": [2, 3]}), on=["id"], when_matched="delete", when_not_matched=None)
    assert [row[0] for row in _rows(alone)] == [4]
    texts = pa.table({"id": [4], "n": ["0.5"]})
    t.merge(
        texts, on=["id"], when_matched={"n": "CAST(s.n AS DECIMAL(6,2))"}, when_not_matched=None
    )
    assert _rows(alone) == [(4, "u", Decimal("0.50"))]
    t.merge(pa.table({"id": [4, 9], "n": [7, 9]}), on=["id"], when_not_matched=None)
    assert _rows(alone) == [(4, "u", Decimal("7.00"))]


def test_merge_refuses_what_it_cannot_mean(alone: Session) -> None:
    """Two rows for one; no columns to match or to set; a frame without what is inserted."""
    t = alone.table("t")
    t.append(pa.table({"id": [1], "name": ["a"], "n": [1]}))
    with pytest.raises(CardinalityError):
        t.merge(pa.table({"id": [1, 1], "name": ["x", "y"], "n": [1, 2]}), on=["id"])
    with pytest.raises(BindError, match='no column "id", which rows are matched on'):
        t.merge(pa.table({"n": [1]}), on=["id"], when_not_matched=None)
    with pytest.raises(ColumnNotFoundError, match='it has no "name"'):
        t.merge(pa.table({"id": [1], "n": [1]}), on=["id"])
    with pytest.raises(ColumnNotFoundError, match='the table has no "extra"'):
        t.merge(pa.table({"id": [1], "extra": [1]}), on=["id"], when_not_matched=None)
    with pytest.raises(BindError, match="no column to update"):
        t.merge(pa.table({"id": [1]}), on=["id"], when_not_matched=None)
    frame = pa.table({"id": [1], "name": ["a"], "n": [1]})
    for wrong in ({"on": []}, {"on": "id"}, {"on": ["id"], "when_matched": "replace"}):
        with pytest.raises(InterfaceError):
            t.merge(frame, **wrong)
    with pytest.raises(InterfaceError, match="does nothing"):
        t.merge(frame, on=["id"], when_matched=None, when_not_matched=None)
    assert len(_rows(alone)) == 1


def test_update_and_delete(alone: Session) -> None:
    """With SQL expressions, whose values are parameters."""
    t = alone.table("t")
    t.append(pa.table({"id": [1, 2, 3], "name": ["a", "b", "c"], "n": [1, 2, 3]}))
    assert t.update({"name": "upper(name)", "n": "n * ?"}, "id > ?", [2, 1]).stats.rows_updated == 2
    assert t.delete("name = :name", {"name": "a"}).stats.rows_deleted == 1
    assert _rows(alone) == [(2, "B", Decimal("4.00")), (3, "C", Decimal("6.00"))]


@pytest.mark.parametrize("text", ["1 = 1) OR (1 = 1", "true; DROP TABLE t", "id = 1 --", ""])
def test_an_expression_ends_where_it_ends(alone: Session, text: str) -> None:
    """What is more than one expression is none, and nothing of it is carried out."""
    t = alone.table("t")
    t.append(pa.table({"id": [1, 2], "name": ["a", "b"], "n": [1, 2]}))
    try:
        t.delete(text)
    except (ParseError, BindError):
        assert len(_rows(alone)) == 2
    else:  # a comment ends with its line
        assert (text, [row[0] for row in _rows(alone)]) == ("id = 1 --", [2])


def test_overwriting(alone: Session) -> None:
    """All of a table, one partition, or those of the rows; a choice must be made."""
    alone.table("t").append(pa.table({"id": [1], "name": ["a"], "n": [1]}))
    alone.table("t").overwrite(pa.table({"id": [2], "name": ["b"], "n": [2]}))
    assert [row[0] for row in _rows(alone)] == [2]

    alone.sql(f"CREATE TABLE p (id INT) PARTITIONED BY (day DATE, k INT) {ACID}")
    p = alone.table("p")
    day, other = datetime.date(2026, 1, 1), datetime.date(2026, 1, 2)
    p.append(pa.table({"id": [1, 2, 3], "day": [day, day, other], "k": [1, 2, 1]}))
    with pytest.raises(BindError, match="which of them are to be overwritten"):
        p.overwrite(pa.table({"id": [9]}))
    with pytest.raises(BindError, match=r"all of its partition columns: day, k"):
        p.overwrite(pa.table({"id": [9]}), partitions=["day"])
    p.overwrite(pa.table({"id": [9]}), partitions={"day": day, "K": 1})
    assert [row[0] for row in _rows(alone, "p")] == [2, 3, 9]
    p.overwrite(pa.table({"id": [8], "k": [2]}), partitions={"day": day, "k": None})
    assert [row[0] for row in _rows(alone, "p")] == [3, 8, 9]
    p.overwrite(pa.table({"id": [7], "day": [other], "k": [1]}), partitions=["day", "k"])
    assert sorted(row[0] for row in _rows(alone, "p")) == [7, 8, 9]
    with pytest.raises(BindError, match='column "day" says where a row lies'):
        p.merge(pa.table({"id": [7], "day": [other], "k": [1]}), on=["id"])
    p.merge(
        pa.table({"id": [6, 5], "day": [other, day], "k": [1, 5]}),
        on=["id", "day", "k"],
        when_matched=None,
    )
    assert sorted(row[0] for row in _rows(alone, "p")) == [5, 6, 7, 8, 9]


def test_plans_are_those_of_sql(alone: Session) -> None:
    """``explain()`` shows them, writes nothing and leaves a stream unread."""
    t = alone.table("t")
    stream = pa.table({"id": [1], "name": ["a"], "n": [1]}).to_reader()
    plan = t.explain().append(stream)
    alone.register("df", pa.table({"id": pa.array([1], pa.int32()), "name": ["a"], "n": [1]}))
    assert plan.splitlines()[0] == "INSERT INTO default.t"
    assert "  read id, name, n of session:frames.the:frame" in plan.splitlines()
    merge = t.explain().merge(pa.table({"id": [1], "n": [1]}), on=["id"], when_not_matched=None)
    sql = alone.explain(
        "MERGE INTO t USING df s ON t.`id` = s.`id` WHEN MATCHED THEN UPDATE SET n = s.n"
    )
    assert merge.replace("the:frame", "df") == sql.replace("id, name, n", "id, n")
    assert t.explain().delete("id = ?", [1]) == alone.explain("DELETE FROM t WHERE (\nid = 1\n)")
    assert t.explain().update({"n": "1"}, "id = 1").splitlines()[0] == "UPDATE default.t"
    assert t.explain().overwrite(stream).splitlines()[0].startswith("INSERT OVERWRITE")
    assert _rows(alone) == []
    assert t.append(stream).stats.rows_inserted == 1


def test_a_stream_is_read_once(alone: Session) -> None:
    """Whoever gives it twice is told: the second time would add nothing, or a part."""
    reader = pa.table(SAMPLE).to_reader()
    with pytest.raises(ColumnNotFoundError):
        alone.table("t").append(reader, columns=["id", "other"])
    alone.table("t").append(reader)
    with pytest.raises(InterfaceError, match="the stream was read before"):
        alone.table("t").append(reader)

    class Once:
        def __init__(self) -> None:
            self.rows = [pa.table(SAMPLE)]

        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            rows = self.rows.pop() if self.rows else pa.table(SAMPLE).slice(0, 0)
            return rows.__arrow_c_stream__(requested_schema)

    once = Once()
    alone.table("t").append(once)
    with pytest.raises(InterfaceError, match="the stream was read before"):
        alone.table("t").append(once)
    assert len(_rows(alone)) == 4


def test_a_stream_that_breaks_writes_nothing(alone: Session, frames_folder: Path) -> None:
    """Its error comes out as it is; the rows before it are not there."""
    schema = pa.schema({"id": pa.int32(), "name": pa.string(), "n": pa.int32()})

    def batches() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch([[1], ["a"], [1]], schema=schema)
        raise OSError("the source is gone")

    with pytest.raises(OSError, match="the source is gone"):
        alone.table("t").append(pa.RecordBatchReader.from_batches(schema, batches()))
    assert (_rows(alone), os.listdir(frames_folder)) == ([], [])


def test_rows_of_a_stream_survive_a_statement_that_is_run_again(
    alone: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stream was read by then: no row is lost, none comes twice."""
    alone.sql("SET acidsql.retries=1")
    alone.sql("SET hive.lock.numretries=0")
    t = alone.table("t")
    reader = pa.table({"id": [1, 2], "name": ["x", "y"], "n": [1, 2]}).to_reader()
    with alone.open_beside() as other:
        monkeypatch.setattr(Attempts, "_pause", lambda attempts: other.rollback())
        other.begin()
        other.sql("INSERT INTO t VALUES (7, 'other', 7)")
        result = t.overwrite(reader)
    assert "run again 1 time" in result.warnings[0].message
    assert [row[:2] for row in _rows(alone)] == [(1, "x"), (2, "y")]


def test_frames_in_a_transaction(alone: Session) -> None:
    """They are written with it, and gone with it."""
    t = alone.table("t")
    alone.begin()
    t.append(pa.table({"id": [1], "name": ["a"], "n": [1]}))
    with pytest.raises(DataError):
        t.append(pa.table({"id": [2**40], "name": ["a"], "n": [1]}))
    assert len(_rows(alone)) == 1
    alone.rollback()
    assert _rows(alone) == []
    t.append(pa.table({"id": [1], "name": ["a"], "n": [1]}))
    alone.sql(f"CREATE TABLE u (id INT) {ACID}")
    with alone.transaction():
        t.merge(pa.table({"id": [1, 2], "name": ["b", "c"], "n": [1, 2]}), on=["id"])
        alone.table("u").append(pa.table({"id": [3]}))
        assert alone.sql("SELECT id FROM u").fetchall() == [(3,)]
    assert [row[:2] for row in _rows(alone)] == [(1, "b"), (2, "c")]
    assert _rows(alone, "u") == [(3,)]


def test_rules_of_the_table_hold(alone: Session) -> None:
    """DEFAULT fills what a frame does not name; NOT NULL refuses."""
    alone.sql(f"CREATE TABLE r (id INT NOT NULL, k INT DEFAULT 7, v VARCHAR(3), c CHAR(3)) {ACID}")
    r = alone.table("r")
    r.append(pa.table({"id": [1], "v": ["abc"], "c": ["x"]}), columns=["id", "v", "c"])
    assert _rows(alone, "r") == [(1, 7, "abc", "x")]
    with pytest.raises(NotNullError):
        r.append(pa.table({"id": [None], "k": [1], "v": ["a"], "c": ["a"]}))
    with pytest.raises(DataError, match=r'of type varchar\(3\) cannot hold "abcd"'):
        r.append(pa.table({"id": [2], "k": [1], "v": ["abcd"], "c": ["a"]}))


def test_names_of_tables(alone: Session) -> None:
    """A table that is not there, a view, and what is no name."""
    frame = pa.table({"id": [1]})
    with pytest.raises(TableNotFoundError, match=r"Table not found default\.tt"):
        alone.table("tt").append(frame)
    alone.sql("CREATE VIEW v AS SELECT id FROM t")
    with pytest.raises(BindError, match="is a view"):
        alone.table("v").append(frame)
    for name in ("a.b.c", "", "a."):
        with pytest.raises(BindError, match="is no name of a table"):
            alone.table(name)
    with pytest.raises(InterfaceError, match="list is no frame"):
        alone.table("t").append([{"id": 1}])


def test_an_update_of_a_text(alone: Session) -> None:
    """What is set is a mapping."""
    with pytest.raises(InterfaceError, match="set is a mapping of columns to SQL, not str"):
        alone.table("t").update("id = 1", "id = 2")  # type: ignore[arg-type]


def test_times_that_arrow_cannot_write_are_refused(alone: Session) -> None:
    """Java would take a fraction of a second before 1970 for another time."""
    alone.sql(f"CREATE TABLE times (at TIMESTAMP) {ACID}")
    early = datetime.datetime(1969, 12, 31, 23, 0, 0, 500)
    with pytest.raises(UnsupportedStatementError, match="the frame holds a date"):
        alone.table("times").append(pa.table({"at": [early]}))
    ancient = datetime.datetime(1700, 1, 1, 1)
    alone.table("times").append(pa.table({"at": [ancient]}))
    assert _rows(alone, "times") == [(ancient,)]
