"""Frames under names: relations that a session's statements read."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from acidsql.errors import AlreadyExistsError, BindError, DataError, InterfaceError
from acidsql.session import Session

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"


@pytest.fixture
def alone(alone: Session, frames_folder: Path) -> Iterator[Session]:
    """With a table; when the session is gone no frame is left."""
    alone.sql(f"CREATE TABLE t (id INT, name STRING) {ACID}")
    yield alone
    alone.close()
    gc.collect()
    assert os.listdir(frames_folder) == []


FRAME = pa.table({"ID": pa.array([1, 2], pa.int32()), "name": ["a", None]})


def test_statements_read_a_frame(alone: Session) -> None:
    """SELECT, INSERT .. SELECT and MERGE .. USING, as often as they like, of a stream too."""
    alone.register("Df", FRAME.to_reader())
    assert alone.sql("SELECT name FROM df WHERE id = 1").fetchall() == [("a",)]
    assert alone.sql("SELECT count(*) n, max(x.id) FROM DF x").fetchall() == [(2, 2)]
    assert alone.sql("INSERT INTO t SELECT id, name FROM df").stats.rows_inserted == 2
    merge = "MERGE INTO t USING df ON t.id = df.id WHEN MATCHED AND df.id = 1 THEN DELETE"
    assert alone.sql(merge).stats.rows_deleted == 1
    with alone.transaction():
        alone.sql("INSERT INTO t SELECT id + 10, name FROM df")
    assert sorted(row[0] for row in alone.sql("SELECT id FROM t")) == [2, 11, 12]
    alone.unregister("DF")
    with pytest.raises(BindError, match=r"Table not found default\.df"):
        alone.sql("SELECT * FROM df")


def test_no_name_has_two_meanings(alone: Session) -> None:
    """A table of the name refuses the frame, one that comes later every statement that names it."""
    with pytest.raises(AlreadyExistsError, match=r"table default\.t exists"):
        alone.register("T", FRAME)
    alone.register("df", FRAME)
    with pytest.raises(InterfaceError, match='registered as "df" already'):
        alone.register("DF", FRAME)
    alone.sql("CREATE TABLE df (x INT) STORED AS ORC")
    with pytest.raises(BindError) as caught:
        alone.sql("SELECT * FROM df")
    assert '"df" is a frame of the session and table default.df' in str(caught.value)
    assert "^^" in str(caught.value)
    assert alone.sql("SELECT x FROM default.df").fetchall() == []
    with pytest.raises(InterfaceError, match='no frame is registered as "other"'):
        alone.unregister("other")
    with pytest.raises(InterfaceError, match="cannot be called"):
        alone.register("no name", FRAME)


def test_a_frame_is_only_read(alone: Session) -> None:
    """It is no table to write to, nor one that a view could last on."""
    alone.register("df", FRAME)
    with pytest.raises(BindError, match="is a frame, which can only be read"):
        alone.sql("INSERT INTO df VALUES (1, 'a')")
    with pytest.raises(BindError, match='a view cannot use "df"'):
        alone.sql("CREATE VIEW v AS SELECT * FROM df")
    alone.sql("DROP TABLE IF EXISTS df")
    assert len(alone.sql("SELECT * FROM df")) == 2
    assert alone.sql("SHOW TABLES").fetchall() == [("t",)]


def test_rows_stay_for_results(alone: Session) -> None:
    """Of a frame that is unregistered, until the result has gone."""
    alone.register("df", FRAME)
    late = alone.sql("SELECT id FROM df ORDER BY id")
    alone.unregister("df")
    gc.collect()
    assert late.fetchall() == [(1,), (2,)]


def test_types_of_a_frame(alone: Session) -> None:
    """Each of Arrow's that SQL has is the type which holds its values; others are refused."""
    alone.register(
        "df",
        pa.table(
            {
                "u8": pa.array([255], pa.uint8()),
                "u64": pa.array([2**64 - 1], pa.uint64()),
                "f16": pa.array([0.5], pa.float16()),
                "kind": pa.array(["a"]).dictionary_encode(),
                "a b": pa.array([[1]], pa.large_list(pa.int16())),
                "s": pa.array([{"X": 1}]),
            }
        ),
    )
    result = alone.sql("SELECT * FROM df")
    assert [(c.name, str(c.type)) for c in result.columns] == [
        ("u8", "smallint"),
        ("u64", "decimal(20,0)"),
        ("f16", "float"),
        ("kind", "string"),
        ("a b", "array<smallint>"),
        ("s", "struct<x:bigint>"),
    ]
    [row] = result
    assert (row[0], int(row[1]), *row[2:]) == (255, 2**64 - 1, 0.5, "a", [1], {"x": 1})
    with pytest.raises(BindError, match='column "t" of the frame is of type time64'):
        alone.register("bad", pa.table({"t": pa.array([1], pa.time64("us"))}))
    with pytest.raises(BindError, match="no columns"):
        alone.register("bad", pa.table({}))
    alone.sql("SET acidsql.frames.directory=/nowhere/at/all")
    with pytest.raises(DataError, match="cannot be kept"):
        alone.register("bad", FRAME)
