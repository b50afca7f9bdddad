"""A catalog with a few tables in a real store, and the one call the planner's tests make."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from acidsql.catalog.model import Database
from acidsql.metastore.embedded import EmbeddedMetastore
from acidsql.parser.parse import parse
from acidsql.planner.bind import Surroundings, bind
from acidsql.planner.bind.bound import BoundStatement
from acidsql.planner.bind.bound_catalog import BoundCreateTable

TABLES = (
    "CREATE TABLE t (id INT, name STRING, price DECIMAL(10,2), day DATE, flag BOOLEAN, big BIGINT) STORED AS ORC "
    "TBLPROPERTIES ('transactional'='true')",
    "CREATE TABLE b (id INT, name STRING) CLUSTERED BY (id) INTO 4 BUCKETS STORED AS ORC TBLPROPERTIES ('transactional'='true')",
    "CREATE TABLE plain (id INT, name STRING) STORED AS ORC",
    "CREATE TABLE wide (d DECIMAL(38,10)) STORED AS ORC",
    "CREATE TABLE n (info STRUCT<a:INT,b:STRUCT<c:STRING>>, tags MAP<STRING,INT>, list ARRAY<STRUCT<k:INT>>) STORED AS ORC",
    "CREATE TABLE other.t (id INT, name STRING) STORED AS ORC",
)

Bind = Callable[[str], BoundStatement]


@pytest.fixture(scope="session")
def bound(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bind]:
    """``bound(sql)`` binds a statement against the tables above and changes nothing; Spark's
    session is said to have a view ``v`` and a catalog ``ice``.
    """
    store = EmbeddedMetastore(str(tmp_path_factory.mktemp("bound") / "warehouse"))
    around = Surroundings(
        catalog=store,
        database="default",
        has_view=lambda name: name == "v",
        has_foreign=lambda table: table.parts[0] == "ice",
    )

    def run(sql: str) -> BoundStatement:
        return bind(parse(sql), sql, around)

    store.create_database(Database(name="other", location=f"{store.warehouse}/other.db"))
    for ddl in TABLES:
        made = run(ddl)
        assert isinstance(made, BoundCreateTable)
        store.create_table(made.table)
    yield run
    store.close()
