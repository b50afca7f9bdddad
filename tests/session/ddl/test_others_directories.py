"""Directories that are somebody else's: a metastore's own, another table's, another database's. No
statement takes, moves or deletes what lies there. No Java.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from acidsql.errors import BindError
from acidsql.metastore.stores import database_file
from acidsql.session import Session
from acidsql.storage import load

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"


@pytest.fixture
def session(warehouse: Path) -> Iterator[Session]:
    with Session(warehouse) as opened:
        yield opened


def rows(session: Session, text: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in session.sql(text).rows()]


@pytest.fixture(params=["itself", "below", "dots", "link", "other warehouse"])
def stores_own(request: pytest.FixtureRequest, warehouse: Path, session: Session) -> Iterator[str]:
    """A way to say a directory of a metastore; it has all its files afterwards."""
    store = warehouse / "_acidsql"
    match request.param:
        case "itself":
            yield str(store)
        case "below":
            yield f"{store}/below"
        case "dots":
            yield f"{warehouse}/t/../../{warehouse.name}/_acidsql"
        case "link":
            link = warehouse.parent / "link"
            link.symlink_to(store)
            yield str(link)
        case _:
            with Session(warehouse.parent / "other"):
                yield str(warehouse.parent / "other" / "_acidsql")
    names = {path.name for path in store.iterdir()}
    assert names == {"metastore.db", "metastore.db-shm", "metastore.db-wal"}


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE new (a STRING) LOCATION '{}'",
        "CREATE EXTERNAL TABLE new (a STRING) LOCATION '{}'",
        "CREATE EXTERNAL TABLE new LIKE t LOCATION '{}'",
        "CREATE DATABASE new LOCATION '{}'",
        "ALTER TABLE t SET LOCATION '{}'",
        "ALTER TABLE p ADD PARTITION (k=1) LOCATION '{}'",
        "ALTER TABLE p PARTITION (k=0) SET LOCATION '{}'",
    ],
)
def test_a_metastores_directory_is_nobodys_location(
    session: Session, stores_own: str, statement: str
) -> None:
    """Whoever dropped what lay there would delete every table's catalog."""
    session.sql("CREATE TABLE t (a STRING) STORED AS TEXTFILE")
    session.sql("CREATE TABLE p (a STRING) PARTITIONED BY (k INT) STORED AS TEXTFILE")
    session.sql("ALTER TABLE p ADD PARTITION (k=0)")
    with pytest.raises(BindError, match="is a metastore's own") as caught:
        session.sql(statement.format(stores_own))
    assert caught.value.span is not None
    assert rows(session, "SHOW TABLES") == [("p",), ("t",)]
    assert rows(session, "SHOW DATABASES") == [("default",)]


def test_no_table_is_called_after_the_metastores_directory(
    session: Session, warehouse: Path
) -> None:
    """In the database that lies where it does."""
    session.sql(f"CREATE TABLE t (a INT) {ACID}")
    for statement in (
        "CREATE EXTERNAL TABLE _acidsql (a STRING)",
        f"CREATE TABLE _acidsql (a INT) {ACID}",
        "ALTER TABLE t RENAME TO _acidsql",
    ):
        with pytest.raises(BindError, match="is a metastore's own"):
            session.sql(statement)
    assert rows(session, "SHOW TABLES") == [("t",)]
    session.sql("CREATE DATABASE _acidsql")
    session.sql(f"CREATE TABLE _acidsql._acidsql (a INT) {ACID}")
    session.sql("DROP DATABASE _acidsql CASCADE")
    assert (warehouse / "_acidsql" / "metastore.db").exists()


def test_a_directory_that_is_only_called_so_is_like_any_other(tmp_path: Path) -> None:
    """A warehouse may lie below one."""
    with Session(tmp_path / "_acidsql" / "warehouse") as session:
        session.sql(f"CREATE TABLE t (a INT) {ACID}")
        session.sql("INSERT INTO t VALUES (1)")
        assert rows(session, "SELECT count(*) FROM t") == [(1,)]


@pytest.mark.parametrize("path", ["metastore.db", "metastore.db-*", "", "*", "../_acidsql/m*"])
@pytest.mark.parametrize("local", ["", "LOCAL "])
def test_a_metastores_files_are_not_loaded(
    session: Session, warehouse: Path, path: str, local: str
) -> None:
    """They would be moved away from it, or shown as rows."""
    session.sql("CREATE TABLE t (a STRING) STORED AS TEXTFILE")
    with pytest.raises(BindError, match="Invalid path"):
        session.sql(f"LOAD DATA {local}INPATH '{warehouse}/_acidsql/{path}' INTO TABLE t")
    assert (warehouse / "_acidsql" / "metastore.db").exists()
    assert database_file.DIRECTORY == load._STORE


# ---- databases


def test_a_dropped_database_leaves_the_tables_of_others(session: Session, warehouse: Path) -> None:
    """Its directory may be one in which another database has a table, or is one itself."""
    above = warehouse.parent / "above"
    session.sql(f"CREATE DATABASE outer_one LOCATION '{above}'")
    session.sql(f"CREATE DATABASE inner_one LOCATION '{above}/inner'")
    session.sql(f"CREATE TABLE inner_one.t (a INT) {ACID}")
    session.sql(
        f"CREATE TABLE t (a INT) STORED AS ORC LOCATION '{above}/lodger' TBLPROPERTIES ('transactional'='true')"
    )
    session.sql(f"CREATE TABLE outer_one.own (a INT) {ACID}")
    for name in ("inner_one.t", "t", "outer_one.own"):
        session.sql(f"INSERT INTO {name} VALUES (1)")
    session.sql("DROP DATABASE outer_one CASCADE")
    assert not (above / "own").exists()
    assert rows(session, "SELECT count(*) FROM inner_one.t") == [(1,)]
    assert rows(session, "SELECT count(*) FROM t") == [(1,)]
    session.sql("DROP DATABASE inner_one CASCADE")
    assert [path.name for path in above.iterdir()] == ["lodger"]


def test_a_database_at_the_warehouse_leaves_it(session: Session, warehouse: Path) -> None:
    """Neither the default database's tables nor the metastore are its own."""
    for location in (warehouse, warehouse.parent):
        session.sql(f"CREATE DATABASE d LOCATION '{location}'")
        session.sql(f"CREATE TABLE IF NOT EXISTS kept (a INT) {ACID}")
        session.sql("INSERT INTO kept VALUES (1)")
        session.sql("DROP DATABASE d")
    assert rows(session, "SELECT count(*) FROM kept") == [(2,)]


def test_a_database_does_not_lie_in_a_table(session: Session, warehouse: Path) -> None:
    """It would go with it."""
    session.sql(f"CREATE TABLE t (a INT) {ACID}")
    for location in (warehouse / "t", warehouse / "t" / "below"):
        with pytest.raises(BindError, match=r"overlaps that of table default\.t"):
            session.sql(f"CREATE DATABASE d LOCATION '{location}'")


def test_a_table_does_not_share_its_default_directory(session: Session, warehouse: Path) -> None:
    """Though it is empty yet: another table may lie there by LOCATION."""
    session.sql(f"CREATE EXTERNAL TABLE e (a STRING) LOCATION '{warehouse}/t'")
    with pytest.raises(BindError, match=r"overlaps that of table default\.e"):
        session.sql(f"CREATE TABLE t (a INT) {ACID}")
    assert rows(session, "SHOW TABLES") == [("e",)]


def test_external_tables_without_transactions_may_share_a_directory(
    session: Session, tmp_path: Path
) -> None:
    """As in Hive; a note says it. The files outlive either table."""
    place = f"STORED AS ORC LOCATION '{tmp_path}/both'"
    assert session.sql(f"CREATE EXTERNAL TABLE e (a INT) {place}").notes == ()
    [note] = session.sql(f"CREATE EXTERNAL TABLE f (a INT) {place}").notes
    assert "is that of table default.e, too" in note
    session.sql("INSERT INTO e VALUES (1)")
    session.sql("INSERT INTO f VALUES (2)")
    assert sorted(rows(session, "SELECT a FROM f")) == sorted(rows(session, "SELECT a FROM e"))
    session.sql("DROP TABLE e")
    assert sorted(rows(session, "SELECT a FROM f")) == [(1,), (2,)]
    session.sql(
        f"CREATE EXTERNAL TABLE p (a INT) PARTITIONED BY (d STRING) LOCATION '{tmp_path}/p'"
    )
    [note] = session.sql(f"ALTER TABLE p ADD PARTITION (d='x') LOCATION '{tmp_path}/both'").notes
    assert "is that of table default.f, too" in note
    session.sql(f"CREATE EXTERNAL TABLE g (a INT) STORED AS ORC LOCATION '{tmp_path}/g'")
    [note, _] = session.sql(f"ALTER TABLE g SET LOCATION '{tmp_path}/both'").notes
    assert "is that of table default.f, too" in note


def test_no_other_tables_share_a_directory(session: Session, tmp_path: Path) -> None:
    """Whoever owns the files, or gives their rows ids; nor does one become such a table."""
    place = f"LOCATION '{tmp_path}/both'"
    session.sql(f"CREATE EXTERNAL TABLE e (a INT) STORED AS ORC {place}")
    purged = "TBLPROPERTIES ('external.table.purge'='true')"
    for sql in (
        f"CREATE TABLE f (a INT) STORED AS ORC {place}",
        f"CREATE TABLE f (a INT) STORED AS ORC {place} TBLPROPERTIES ('transactional'='true')",
        f"CREATE EXTERNAL TABLE f (a INT) STORED AS ORC {place} {purged}",
        f"CREATE EXTERNAL TABLE f (a INT) STORED AS ORC LOCATION '{tmp_path}/both/below'",
    ):
        with pytest.raises(BindError, match=r"overlaps that of table default\.e"):
            session.sql(sql)
    session.sql(f"CREATE EXTERNAL TABLE f (a INT) STORED AS ORC {place}")
    for properties in ("'external.table.purge'='true'", "'EXTERNAL'='FALSE'"):
        with pytest.raises(BindError, match=r"overlaps that of table default\.e"):
            session.sql(f"ALTER TABLE f SET TBLPROPERTIES ({properties})")
