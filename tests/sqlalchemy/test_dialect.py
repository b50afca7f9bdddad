"""The dialect without Spark: URLs, DDL, what is refused, inserts, reflection."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pandas
import pytest
import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy.dialects import registry
from sqlalchemy.exc import ArgumentError, CompileError, IntegrityError, NoSuchTableError

from acidsql.sqlalchemy import STRING, AcidSqlDialect, Array, Map, Struct

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

registry.register("acidsql", "acidsql.sqlalchemy.dialect", "AcidSqlDialect")


@pytest.fixture
def engine(warehouse: Path) -> Iterator[sa.Engine]:
    opened = sa.create_engine(f"acidsql:///{warehouse}")
    yield opened
    opened.dispose()


def orders(metadata: sa.MetaData) -> sa.Table:
    return sa.Table(
        "orders",
        metadata,
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("day", sa.Date, comment="of the order"),
        sa.Column("order", sa.String(20), server_default="it's", comment="a 'name'"),
        sa.Column("amount", sa.Numeric(10, 2)),
        sa.Column("tags", Array(STRING)),
        sa.Column("parts", Map(STRING, Struct({"a": sa.Integer, "b": sa.Numeric(5, 2)}))),
        comment="what was sold",
        acidsql_partition_by=["day"],
        acidsql_clustered_by=["id"],
        acidsql_buckets=2,
    )


def test_a_table_is_reflected_as_it_was_made(engine: sa.Engine) -> None:
    """Columns, types, comments, defaults, partitions, buckets and the key come back."""
    metadata = sa.MetaData()
    made = orders(metadata)
    metadata.create_all(engine)
    found = sa.Table("orders", sa.MetaData(), autoload_with=engine)
    process = AcidSqlDialect().type_compiler_instance.process
    assert {c.name: process(c.type) for c in found.c} == {c.name: process(c.type) for c in made.c}
    assert [c.name for c in found.c if c.info.get("acidsql_partition")] == ["day"]
    assert [c.name for c in found.primary_key] == ["id"]
    assert (found.comment, found.c.order.comment) == ("what was sold", "a 'name'")
    assert found.dialect_options["acidsql"]["partition_by"] == ["day"]
    assert found.dialect_options["acidsql"]["buckets"] == 2
    assert found.dialect_options["acidsql"]["properties"]["transactional"] == "true"
    inspector = sa.inspect(engine)
    assert inspector.get_table_names() == ["orders"]
    assert inspector.get_schema_names() == ["default"]
    assert not inspector.get_columns("orders")[0]["nullable"]
    with pytest.raises(NoSuchTableError):
        inspector.get_columns("other")


def test_many_rows_are_one_statement(engine: sa.Engine) -> None:
    """An executemany of INSERT is one write; its rows are counted, and undone by a rollback."""
    table = sa.Table(
        "t", sa.MetaData(), sa.Column("id", sa.Integer), sa.Column("n", sa.Numeric(9, 2))
    )
    table.create(engine)
    with engine.begin() as connection:
        done = connection.execute(
            table.insert(),
            [{"id": i, "n": Decimal("1.50")} for i in range(50)],
            execution_options={"preserve_rowcount": True},
        )
        assert done.rowcount == 50
    with engine.connect() as connection:
        connection.execute(table.insert().values([{"id": 1}, {"id": 2}]))
        connection.rollback()
        count = sa.select(sa.func.count()).select_from(table)
        assert connection.execute(count).scalar_one() == 50
        session = connection.connection.dbapi_connection.session  # type: ignore[union-attr]
        assert not session.spark_started


def test_a_missing_value_is_an_integrity_error(engine: sa.Engine) -> None:
    """An error of the cursor is SQLAlchemy's of the same name."""
    table = sa.Table("t", sa.MetaData(), sa.Column("id", sa.Integer, nullable=False))
    table.create(engine)
    with engine.begin() as connection, pytest.raises(IntegrityError):
        connection.execute(table.insert(), {"id": None})


def test_changes_return_their_rows(engine: sa.Engine) -> None:
    """RETURNING of INSERT, UPDATE and DELETE, also what a server's default gave to the ORM."""
    base = orm.declarative_base()

    class Order(base):  # type: ignore[misc, valid-type]
        __tablename__ = "orders"
        id = sa.Column(sa.Integer, primary_key=True, autoincrement=False)
        state = sa.Column(sa.String(10), server_default="new")
        __mapper_args__ = {"eager_defaults": True}  # noqa: RUF012

    base.metadata.create_all(engine)
    t = Order.__table__
    with orm.Session(engine) as session:
        order = Order(id=1)
        session.add(order)
        session.flush()
        assert "state" in sa.inspect(order).dict  # it came with the INSERT
        assert order.state == "new"
        session.commit()
    with engine.begin() as connection:
        inserted = t.insert().values([{"id": 2}, {"id": 3}]).returning(t.c.id, t.c.state)
        assert connection.execute(inserted).all() == [(2, "new"), (3, "new")]
        paid = t.update().where(t.c.id > 1).values(state="paid").returning(t.c.id, t.c.state)
        assert sorted(connection.execute(paid).all()) == [(2, "paid"), (3, "paid")]
        assert connection.execute(t.delete().where(t.c.id == 1).returning(t)).all() == [(1, "new")]


def test_autocommit_is_an_isolation_level(engine: sa.Engine) -> None:
    """AUTOCOMMIT is for its connection alone; the pool gives it back as it was."""
    with engine.connect() as connection:
        assert connection.get_isolation_level() == "SNAPSHOT"
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        assert connection.connection.dbapi_connection.autocommit  # type: ignore[union-attr]
    with engine.connect() as connection:
        assert connection.get_isolation_level() == "SNAPSHOT"


def test_urls_say_what_connect_is_given() -> None:
    """The path, arguments, Spark's settings and settings by name; two slashes are refused."""
    dialect = AcidSqlDialect()
    url = sa.make_url("acidsql:////srv/w?database=d&spark.ui.enabled=true&hive.txn.timeout=60s")
    assert dialect.create_connect_args(url) == (
        ["/srv/w"],
        {"database": "d", "conf": {"spark.ui.enabled": "true"}, "hive.txn.timeout": "60s"},
    )
    assert dialect.create_connect_args(sa.make_url("acidsql:///w")) == (["w"], {})
    with pytest.raises(ArgumentError, match="three slashes"):
        dialect.create_connect_args(sa.make_url("acidsql://w"))


@pytest.mark.parametrize(
    "column",
    [
        sa.Column("a", sa.Integer, autoincrement=True, primary_key=True),
        sa.Column("a", sa.Integer, sa.Identity()),
        sa.Column("a", sa.Integer, sa.Computed("1")),
        sa.Column("a", sa.Integer, sa.Sequence("s")),
        sa.Column("a", sa.Integer, sa.ForeignKey("o.id", ondelete="CASCADE")),
        sa.Column("a", sa.Integer, sa.ForeignKey("o.id", deferrable=True)),
        sa.Column("a", sa.Time),
        sa.Column("a", sa.DateTime(timezone=True)),
        sa.Column("a", sa.JSON),
        sa.Column("a", sa.CHAR(256)),
    ],
)
def test_what_hive_has_not_is_refused(column: sa.Column[object]) -> None:
    """No part of a definition is dropped in silence."""
    metadata = sa.MetaData()
    sa.Table("o", metadata, sa.Column("id", sa.Integer))
    table = sa.Table("t", metadata, column)
    with pytest.raises(CompileError):
        sa.schema.CreateTable(table).compile(dialect=AcidSqlDialect())


@pytest.mark.spark
def test_queries_and_changes_run(warehouse: Path, spark: SparkSession) -> None:
    """Core's statements run on Spark; nested values, escapes and limits come back as they went."""
    engine = sa.create_engine(f"acidsql:///{warehouse}", connect_args={"spark": spark})
    metadata = sa.MetaData()
    table = orders(metadata)
    metadata.create_all(engine)
    tricky = "\\ ' ${x} ? %"
    parts = {"p": {"a": 1, "b": Decimal("2.50")}, "q": {"a": None, "b": None}}
    day = date(2024, 1, 2)
    rows = [
        {"id": 1, "day": day, "order": tricky, "tags": ["x", None], "parts": parts},
        {"id": 2, "day": day, "order": "b", "tags": [], "parts": {}},
        {"id": 3, "day": None, "order": None, "tags": None, "parts": None},
    ]
    with engine.begin() as connection:
        connection.execute(table.insert(), rows)
        query = sa.select(table.c[tuple(rows[0])]).order_by(table.c.id)
        assert [dict(row) for row in connection.execute(query).mappings()] == rows
        written = sa.select(table.c.id).where(
            table.c.order == sa.literal(tricky, literal_execute=True)
        )
        assert connection.execute(written).scalars().all() == [1]
        page = sa.select(table.c.id).order_by(table.c.id).limit(1).offset(1)
        assert connection.execute(page).scalars().all() == [2]
        ids = connection.execute(sa.select(table.c.id).where(table.c.id.in_([]))).scalars().all()
        assert ids == []
        changed = connection.execute(table.update().where(table.c.id == 2).values(amount=7))
        assert changed.rowcount == 1
        assert connection.execute(table.delete().where(table.c.id.in_([1, 3]))).rowcount == 2
        copied = table.insert().from_select(
            ["id", "amount", "day"], sa.select(table.c.id + 10, table.c.amount, table.c.day)
        )
        connection.execute(copied)
    with engine.connect() as connection:
        ranked = sa.select(
            table.c.id, sa.func.row_number().over(order_by=table.c.id.desc()).label("n")
        ).cte("ranked")
        query = sa.select(ranked.c.id, ranked.c.n).order_by(ranked.c.n)
        assert [tuple(row) for row in connection.execute(query)] == [(12, 1), (2, 2)]
        frame = pandas.DataFrame({"a": [1, 2], "b": ["x", None], "c": [1.5, 2.5]})
        frame.to_sql("frames", connection, index=False)
        back = pandas.read_sql("SELECT * FROM frames ORDER BY a", connection)
        assert back.values.tolist()[0] == [1, "x", 1.5]
    engine.dispose()
