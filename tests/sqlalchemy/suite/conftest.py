"""A warehouse of its own for SQLAlchemy's tests, on a Spark that starts when a statement needs it."""

from __future__ import annotations

import itertools
import re
import shutil
import tempfile

import pytest
from requirements_of_acidsql import SKIPPED
from sqlalchemy import (
    Column,
    ColumnDefault,
    Connection,
    ForeignKeyConstraint,
    MetaData,
    event,
    inspect,
)
from sqlalchemy.schema import Table
from sqlalchemy.testing import provision

from acidsql.session import Session
from acidsql.settings import values

# As in the other tests, sessions compact by the way only where a test is about it.
values._DEFAULTS["acidsql.compactor.auto"] = False


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    folder = tempfile.mkdtemp(prefix="acidsql-suite-")
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    with Session(folder) as session:
        session.sql("CREATE DATABASE test_schema")
    query = "&".join(
        (
            "master=local[2]",
            "spark.sql.shuffle.partitions=2",
            "spark.driver.memory=1g",
            "acidsql.engine=auto",
        )
    )
    config.option.dburi = [f"acidsql:///{folder}?{query}"]


@event.listens_for(Column, "after_parent_attach")
def _number(column: Column[int], table: object) -> None:
    """Hive has no autoincrement: where a test wants one, its client counts."""
    if column.info.get("test_needs_autoincrement") and isinstance(table, Table):
        numbers = itertools.count(1)
        column.autoincrement = False
        column.default = ColumnDefault(lambda: next(numbers))


@event.listens_for(Table, "before_create")
def _leave_out(table: Table, *_: object, **__: object) -> None:
    """What the dialect refuses and tests of other things have in their tables: indexes, and foreign
    keys to the table itself.
    """
    table.indexes.clear()
    for rule in [*table.constraints]:
        if isinstance(rule, ForeignKeyConstraint) and rule.referred_table is table:
            table.constraints.remove(rule)


@provision.delete_from_all_tables.for_db("acidsql")
def _truncate(connection: Connection, cfg: object, metadata: MetaData) -> None:
    """Between tests: TRUNCATE needs no Spark."""
    inspector, preparer = inspect(connection), connection.dialect.identifier_preparer
    for table in metadata.tables.values():
        if inspector.has_table(table.name, table.schema):
            connection.exec_driver_sql(f"TRUNCATE TABLE {preparer.format_table(table)}")


@pytest.hookimpl(trylast=True)  # behind the plugin's own, which makes the items anew
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        name = re.sub(r"_acidsql\+acidsql(?=::)", "", item.nodeid).split("::", 1)[-1]
        for known in (name.partition("[")[0], name.partition("-")[0]):
            if known in SKIPPED:
                item.add_marker(pytest.mark.skip(reason=SKIPPED[known]))
