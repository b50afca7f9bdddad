"""Pools, threads, errors and what Superset asks of a dialect, without Spark."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.dialects import registry

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

registry.register("acidsql", "acidsql.sqlalchemy.dialect", "AcidSqlDialect")


class Colour(Enum):
    RED = "r"
    BLUE = "b"


METADATA = sa.MetaData()
T = sa.Table(
    "t",
    METADATA,
    sa.Column("id", sa.Integer),
    sa.Column("name", sa.String(20)),
    sa.Column("day", sa.Date),
    sa.Column("colour", sa.Enum(Colour, native_enum=False, length=10)),
)


@pytest.fixture
def engine(warehouse: Path) -> Iterator[sa.Engine]:
    opened = sa.create_engine(
        f"acidsql:///{warehouse}?acidsql.engine=local", pool_pre_ping=True, pool_size=2
    )
    METADATA.create_all(opened)
    yield opened
    opened.dispose()


def test_threads_have_connections_of_their_own(engine: sa.Engine) -> None:
    """The pool gives each thread a session; all that they commit is there, once."""

    def work(number: int) -> None:
        for step in range(3):
            with engine.begin() as connection:
                connection.execute(T.insert(), {"id": 10 * number + step})

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with engine.connect() as connection:
        ids = connection.execute(sa.select(T.c.id).order_by(T.c.id)).scalars().all()
    assert ids == [0, 1, 2, 10, 11, 12, 20, 21, 22]


def test_a_closed_connection_is_replaced(engine: sa.Engine) -> None:
    """A session that was closed under the pool is a disconnect: the next connection is new."""
    with engine.connect() as connection:
        connection.connection.dbapi_connection.close()  # type: ignore[union-attr]
        with pytest.raises(exc.DBAPIError) as raised:
            connection.execute(sa.select(T.c.id))
        assert raised.value.connection_invalidated
    with engine.connect() as connection:
        assert connection.execute(sa.select(T.c.id)).all() == []


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("SELECT nix FROM t", exc.ProgrammingError),
        ("SELECT FROM", exc.ProgrammingError),
        ("SELECT * FROM nix", exc.ProgrammingError),
        ("CREATE TABLE t (id INT)", exc.ProgrammingError),
        ("SELECT id FROM t TABLESAMPLE (10 PERCENT)", exc.NotSupportedError),
    ],
)
def test_errors_are_those_of_sqlalchemy(
    engine: sa.Engine, statement: str, kind: type[exc.DBAPIError]
) -> None:
    """Each class of PEP 249 is SQLAlchemy's of the same name, with the error's own text."""
    with engine.connect() as connection, pytest.raises(kind) as raised:
        connection.exec_driver_sql(statement)
    assert str(raised.value.orig).splitlines()[0] in str(raised.value)
    assert not raised.value.connection_invalidated


@pytest.mark.spark
def test_superset_finds_what_it_asks_for(warehouse: Path, spark: SparkSession) -> None:
    """Databases, tables, views and columns; its wrapping, labels, limits and percent signs."""
    engine = sa.create_engine(f"acidsql:///{warehouse}", connect_args={"spark": spark})
    T.create(engine)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE DATABASE d")
        connection.exec_driver_sql("CREATE VIEW d.v AS SELECT id, name FROM default.t")
        connection.execute(T.insert(), [{"id": 1, "name": "50%"}, {"id": 2, "name": "5"}])
    inspector = sa.inspect(engine)
    assert inspector.get_schema_names() == ["d", "default"]
    assert inspector.get_table_names("default") == ["t"]
    assert (inspector.get_table_names("d"), inspector.get_view_names("d")) == ([], ["v"])
    assert inspector.has_table("t", schema="default")
    assert not inspector.has_table("t", schema="nix")
    assert [c["name"] for c in inspector.get_columns("v", schema="d")] == ["id", "name"]
    inner = "SELECT id AS `My id`, name FROM t WHERE name LIKE '%0%%'"
    with engine.connect() as connection:
        got = connection.exec_driver_sql(f"SELECT * FROM ({inner}) AS virtual_table LIMIT 1001")
        assert [tuple(row) for row in got] == [(1, "50%")]
        assert connection.exec_driver_sql(f"{inner} LIMIT 0").cursor.description[0][:2] == (
            "My id",
            "int",
        )
        counted = (
            sa.select(T.c.name.label("Name %"), sa.func.count().label("COUNT(*)"))
            .group_by(T.c.name)
            .order_by(sa.text("`Name %` DESC"))
            .limit(10)
        )
        assert connection.execute(counted).all() == [("50%", 1), ("5", 1)]
        written = str(
            sa.select(T.c.id)
            .where(T.c.name == "it's 50%")
            .compile(engine, compile_kwargs={"literal_binds": True})
        )
        assert written.endswith("WHERE t.name = 'it\\'s 50%'")
        assert connection.exec_driver_sql(written).all() == []
    engine.dispose()


def test_superset_shows_a_table_and_a_range_of_time(engine: sa.Engine) -> None:
    """Its list of columns with their types as text, keys and comment, its sample of the rows from
    a bare cursor, and a filter on time, which it writes as text."""
    columns = "id INT COMMENT 'the key', price DECIMAL(8,2), tags ARRAY<STRING>, at TIMESTAMP"
    day = date(2024, 5, 1)
    rows = [
        {"id": 1, "price": Decimal("2.50"), "at": datetime(2024, 5, 1, 10), "day": day},
        {"id": 2, "price": Decimal(3), "at": None, "day": day},
    ]
    with engine.begin() as connection:
        connection.exec_driver_sql(
            f"CREATE TABLE sold ({columns}) PARTITIONED BY (day DATE) STORED AS ORC"
            " TBLPROPERTIES ('transactional'='true', 'comment'='what was sold')"
        )
        reflected = sa.Table("sold", sa.MetaData(), autoload_with=connection)
        connection.execute(reflected.insert(), rows)
    inspector = sa.inspect(engine)
    shown = inspector.get_columns("sold", schema="default")
    assert {c["name"]: c["type"].compile(engine.dialect) for c in shown} == {
        "id": "INT", "price": "DECIMAL(8,2)", "tags": "ARRAY<STRING>", "at": "TIMESTAMP", "day": "DATE",
    }  # fmt: skip
    assert shown[0]["comment"] == "the key"
    assert inspector.get_indexes("sold", schema="default") == []
    assert inspector.get_pk_constraint("sold", schema="default")["constrained_columns"] == []
    assert inspector.get_table_comment("sold", schema="default") == {"text": "what was sold"}
    names = [sa.column(c["name"]) for c in shown]
    sample = sa.select(*names).select_from(sa.table("sold", schema="default")).limit(100)
    text = str(sample.compile(engine, compile_kwargs={"literal_binds": True}))
    raw = engine.raw_connection()
    try:
        cursor = raw.cursor()
        cursor.execute(text)
        assert [(name, kind) for name, kind, *_ in cursor.description] == [
            ("id", "int"), ("price", "decimal(8,2)"), ("tags", "array<string>"), ("at", "timestamp"), ("day", "date"),
        ]  # fmt: skip
        first, second = sorted(cursor.fetchall())
        assert first == (1, Decimal("2.50"), None, datetime(2024, 5, 1, 10), date(2024, 5, 1))
        assert second[2:4] == (None, None)
        within = "at >= '2024-05-01 00:00:00.000000' AND at < '2024-05-02 00:00:00.000000'"
        cursor.execute(
            f"SELECT id FROM default.sold WHERE {within} AND day >= '2024-05-01' LIMIT 1000"
        )
        assert cursor.fetchall() == [(1,)]
        cursor.close()
    finally:
        raw.close()


@pytest.mark.spark
def test_a_view_of_another_database_is_read_by_its_whole_name(
    warehouse: Path, spark: SparkSession
) -> None:
    """SQLAlchemy writes ``d.v.id`` for a column of a view that was reflected."""
    engine = sa.create_engine(f"acidsql:///{warehouse}", connect_args={"spark": spark})
    T.create(engine)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE DATABASE d")
        connection.exec_driver_sql("CREATE VIEW d.v AS SELECT id FROM default.t")
        connection.execute(T.insert(), {"id": 7})
        view = sa.Table("v", sa.MetaData(), schema="d", autoload_with=connection)
        assert connection.execute(sa.select(view.c.id)).scalars().all() == [7]
        assert connection.exec_driver_sql("SELECT d.v.id FROM d.v WHERE d.v.id = 7").all() == [(7,)]
    engine.dispose()


def test_values_are_those_of_their_columns(engine: sa.Engine) -> None:
    """An enum is its name, written as a literal too; a datetime is a DATE's day."""
    noon = datetime(2024, 1, 2, 12)
    with engine.begin() as connection:
        row = {"id": 1, "day": noon, "colour": Colour.BLUE}
        connection.execute(T.insert(), row)
        named = sa.literal(Colour.BLUE, T.c.colour.type, literal_execute=True)
        query = sa.select(T.c.colour, T.c.day).where(T.c.day == noon.date(), T.c.colour == named)
        assert connection.execute(query).one() == (Colour.BLUE, noon.date())
