"""pandas on an engine: frames to tables and back, without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import pandas
import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import registry
from sqlalchemy.exc import CompileError, SAWarning

registry.register("acidsql", "acidsql.sqlalchemy.dialect", "AcidSqlDialect")

DTYPES = {"amount": sa.Numeric(8, 2), "raw": sa.LargeBinary, "day": sa.Date}


@pytest.fixture
def engine(warehouse: Path) -> Iterator[sa.Engine]:
    opened = sa.create_engine(f"acidsql:///{warehouse}?acidsql.engine=local")
    yield opened
    opened.dispose()


def frame() -> pandas.DataFrame:
    return pandas.DataFrame(
        {
            "id": [1, 2, 3],
            "name": ["it's 100% \\ ?", None, ":x"],
            "at": [datetime(2024, 1, 2, 3, 4, 5, 678900), None, datetime(1999, 12, 31)],
            "ok": [True, False, True],
            "amount": [Decimal("1.10"), None, Decimal("2.00")],
            "raw": [b"\x00\xff", b"", None],
            "day": [date(2024, 1, 2), None, date(1969, 7, 20)],
        }
    )


def test_a_frame_comes_back_as_it_went(engine: sa.Engine) -> None:
    """Text, timestamps, decimals, bytes, dates and NULL of each; to_sql tells the rows."""
    assert frame().to_sql("t", engine, index=False, dtype=DTYPES) == 3
    back = pandas.read_sql("SELECT * FROM t ORDER BY id", engine, coerce_float=False)
    rows = back.astype(object).where(back.notna(), None).to_dict("records")
    sent = frame().astype(object)
    assert rows == sent.where(sent.notna(), None).to_dict("records")
    table = pandas.read_sql_table("t", engine)
    assert sorted(table["id"]) == [1, 2, 3]


@pytest.mark.parametrize("method", [None, "multi"])
def test_what_is_there_is_kept_replaced_or_refused(engine: sa.Engine, method: str | None) -> None:
    """if_exists, in chunks, by executemany and by one INSERT of many rows."""
    rows = frame()[["id", "name"]]

    def write(if_exists: str) -> None:
        rows.to_sql(
            "t",
            engine,
            index=False,
            if_exists=if_exists,
            chunksize=2,
            method=method,  # type: ignore[arg-type]
        )

    def count() -> int:
        return int(pandas.read_sql("SELECT count(*) AS n FROM t", engine)["n"][0])

    for if_exists, expected in (("fail", 3), ("append", 6), ("replace", 3)):
        write(if_exists)
        assert count() == expected
    with pytest.raises(ValueError, match="already exists"):
        write("fail")
    read = pandas.read_sql("SELECT id FROM t WHERE id > ? ORDER BY id", engine, params=(1,))
    assert read["id"].tolist() == [2, 3]
    named = sa.text("SELECT id FROM t WHERE name = :name")
    assert pandas.read_sql(named, engine, params={"name": ":x"})["id"].tolist() == [3]
    chunks = pandas.read_sql("SELECT id FROM t ORDER BY id", engine, chunksize=2)
    assert [len(chunk) for chunk in chunks] == [2, 1]


def test_an_index_is_left_out_with_a_warning(engine: sa.Engine) -> None:
    """pandas asks for one by default; the rows are written. A unique one is refused."""
    with pytest.warns(SAWarning, match="Hive has no indexes: ix_t_index of t is left out"):
        frame()[["id"]].to_sql("t", engine)
    read = pandas.read_sql("SELECT * FROM t ORDER BY id", engine)
    assert read.values.tolist() == [[0, 1], [1, 2], [2, 3]]
    unique = sa.Table("u", sa.MetaData(), sa.Column("id", sa.Integer, unique=True, index=True))
    with pytest.raises(CompileError, match="none that keeps values unique"):
        unique.create(engine)
