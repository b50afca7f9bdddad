"""Tables of another catalog of Spark's, a database behind JDBC, in statements of acidsql."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from acidsql.errors import BindError, TableNotFoundError
from acidsql.session import Session
from acidsql.spark import jvm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.classic]

CATALOG = {
    "": "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog",
    ".url": "jdbc:derby:memory:acidsql_foreign;create=true",
    ".driver": "org.apache.derby.iapi.jdbc.AutoloadedDriver",
}


@pytest.fixture(scope="module")
def user(spark: SparkSession) -> SparkSession:
    """A user's session with a catalog ``db`` and its table APP.ORDERS of ids 2 and 3."""
    user = jvm.clone_session(spark)
    for name, value in CATALOG.items():
        user.conf.set(f"spark.sql.catalog.db{name}", value)
    user.sql("CREATE TABLE db.APP.ORDERS (id INT, n INT)")
    user.sql("INSERT INTO db.APP.ORDERS VALUES (2, 20), (3, 30)")
    return user


@pytest.fixture
def session(user: SparkSession, tmp_path: Path) -> Iterator[Session]:
    """A session beside it, with its own table app.orders of the ids 1 and 2."""
    with Session(tmp_path / "warehouse", spark=user) as session:
        session.sql("CREATE DATABASE app")
        session.sql("CREATE TRANSACTIONAL TABLE app.orders (id INT, n INT) STORED AS ORC")
        session.sql("INSERT INTO app.orders VALUES (1, 1), (2, 2)")
        yield session


def test_a_clone_has_the_catalogs_of_its_session(user: SparkSession) -> None:
    """Not others of the same names, which would keep other tables in mind."""
    managers = [
        one._jsparkSession.sessionState().catalogManager()
        for one in (user, jvm.clone_session(user))
    ]
    assert managers[0].catalog("db").equals(managers[1].catalog("db"))


def test_which_tables_there_are(user: SparkSession) -> None:
    """False for a catalog that is none, too."""
    names = ("`db`.`APP`.`ORDERS`", "`db`.`APP`.`NONE`", "`none`.`APP`.`ORDERS`", "a.b.c.d")
    assert [jvm.has_table(user, name) for name in names] == [True, False, False, False]


def test_statements(session: Session) -> None:
    """They are read by their names, also where a table of ours is called like them."""
    session.sql("INSERT INTO app.orders SELECT id, n FROM db.APP.ORDERS WHERE id > 2")
    session.sql(
        "DELETE FROM app.orders WHERE EXISTS"
        " (SELECT 1 FROM db.APP.ORDERS WHERE db.APP.ORDERS.n = app.orders.n)"
    )
    session.sql(
        "MERGE INTO app.orders t USING db.APP.ORDERS ON t.id = orders.id"
        " WHEN MATCHED THEN UPDATE SET n = orders.n"
    )
    rows = "SELECT o.id, o.n, d.n FROM app.orders o LEFT JOIN db.APP.ORDERS d ON o.id = d.id"
    assert sorted(session.sql(rows)) == [(1, 1, None), (2, 20, 20)]


def test_refusals(session: Session) -> None:
    """A target, and a table that is not there, at their places."""
    for text, kind in {
        "UPDATE db.APP.ORDERS SET n = 1": BindError,
        "SELECT * FROM app.orders WHERE id IN (SELECT id FROM db.APP.NONE)": TableNotFoundError,
    }.items():
        with pytest.raises(kind) as caught:
            session.sql(text)
        assert caught.value.span is not None
        assert caught.value.span.cut(text) in ("db.APP.ORDERS", "db.APP.NONE")
