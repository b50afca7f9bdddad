"""Names and values that were made to harm: each is refused before anything is made, or is a name
like any other. No Java.
"""

from __future__ import annotations

import os
import string
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from acidsql.catalog.model import DEFAULT_PARTITION
from acidsql.errors import Error
from acidsql.session import Session
from acidsql.testing.texts import STORE
from tests.metastore.conftest import MEMORY

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
HOSTILE = (
    "..", ".", "../x", "../../x", "/", "//", "/etc", "a/b", "a/../../b", "~", "a\0b", "\0", "a\nb", "\r", "\t",
    "'; DROP TABLE kept; --", '"', "`", "``", "'", "--", "/*", "${env:HOME}", "$x", "%00", "%2e%2e%2f", ":memory:", "a:b",
    "_acidsql", "_hidden", ".hidden", "delta_0000001_0000001_0000", "base_1", "__HIVE_DEFAULT_PARTITION__", "kept",
    "é", "İ", "\u017f", "名", "😀", "\u202e", "e\u0301", "\x7f", "\x1f", " ", " a", "a ", "a b", "\\", "*", "?", "[a]", "{a}", "#", "=", "k=1",
    "row__id", "select", "null", "n" * 128, "n" * 129, "n" * 255, "n" * 256, "n" * 5000, "é" * 128, "'" * 64,
)  # fmt: skip
NAMES = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(string.printable + "\0é😀", min_size=1, max_size=12),
    st.lists(st.sampled_from(["..", "/", ".", "a", " ", "'", "`", "%"]), min_size=1, max_size=6).map("".join),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8),
)  # fmt: skip

ALIKE = st.sampled_from(
    ["", " ", "_", "1", "%", "%20", "`", "'", "/", ".", "=", "\\", "é", "e\u0301"]
)
"""What a second name has behind the first, which is then easily taken for it."""


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def literal(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'").replace("\0", "\\0") + "'"


class World:
    """A warehouse with one table, and a file beside it."""

    def __init__(self, top: Path, session: Session) -> None:
        self.top, self.session = top, session
        (top / "secret").write_text("keep out")
        session.sql(f"CREATE TABLE kept (id INT) {ACID}")
        session.sql("INSERT INTO kept VALUES (1), (2)")

    def state(self) -> tuple[object, ...]:
        """All files but the store's, and all that the catalog lists."""
        files = {
            (str(path), path.read_bytes() if path.is_file() else None)
            for path in self.top.rglob("*")
            if STORE not in path.parts
        }
        store = self.session.store
        names = {name: store.list_tables(name) for name in store.list_databases()}
        return files, names, self.rows("SELECT count(*) FROM kept")

    def rows(self, text: str) -> list[tuple[object, ...]]:
        return [tuple(row) for row in self.session.sql(text).rows()]

    def paths(self) -> set[Path]:
        return {path for path in self.top.rglob("*") if STORE not in path.parts}

    @contextmanager
    def refused_or_undone(self) -> Iterator[None]:
        """What is done in here either fails with an error of ours, or undoes itself: afterwards all
        is as before.
        """
        before = self.state()
        with suppress(Error):
            yield
        assert self.state() == before


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    memory = MEMORY if os.path.isdir(MEMORY) else None  # not to wait for disks
    with tempfile.TemporaryDirectory(dir=memory) as top, Session(Path(top, "warehouse")) as session:
        yield World(Path(top), session)


def hostile(count: int) -> settings:
    return settings(
        max_examples=count,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )


@hostile(30)
@given(name=NAMES)
@example(name="..")
@example(name="a/b")
@example(name="T-1 %2F*?")
@example(name="a`b'c\"")
@example(name="'; DROP TABLE kept; --")
def test_a_table_of_any_name(world: World, name: str) -> None:
    """It is refused, or made, filled, counted, shown and dropped; its files lie in one directory of
    the warehouse.
    """
    with world.refused_or_undone():
        before = world.paths()
        world.session.sql(f"CREATE TABLE {quoted(name)} (id INT) {ACID}")
        world.session.sql(f"INSERT INTO {quoted(name)} VALUES (1), (2), (3)")
        assert world.rows(f"SELECT count(*) FROM {quoted(name)}") == [(3,)]
        assert (name.lower(),) in world.rows("SHOW TABLES")
        definition = "\n".join(
            str(line) for (line,) in world.rows(f"SHOW CREATE TABLE {quoted(name)}")
        )
        new = world.paths() - before
        (directory,) = {path for path in new if path.parent == world.top / "warehouse"}
        assert all(path == directory or directory in path.parents for path in new)
        world.session.sql(f"ALTER TABLE {quoted(name)} RENAME TO other")
        world.session.sql(f"ALTER TABLE other RENAME TO {quoted(name)}")
        assert world.rows(f"SELECT count(*) FROM {quoted(name)}") == [(3,)]
        world.session.sql(f"DROP TABLE {quoted(name)}")
        world.session.sql(definition)
        assert (name.lower(),) in world.rows("SHOW TABLES")
        world.session.sql(f"DROP TABLE {quoted(name)}")


@hostile(25)
@given(name=NAMES)
@example(name="..")
@example(name="a b")
def test_a_database_of_any_name(world: World, name: str) -> None:
    """Likewise, with a table in it."""
    with world.refused_or_undone():
        before = world.paths()
        world.session.sql(f"CREATE DATABASE {quoted(name)}")
        world.session.sql(f"CREATE TABLE {quoted(name)}.{quoted('a b')} (id INT) {ACID}")
        world.session.sql(f"INSERT INTO {quoted(name)}.{quoted('a b')} VALUES (1)")
        assert world.rows(f"SELECT count(*) FROM {quoted(name)}.{quoted('a b')}") == [(1,)]
        assert (name.lower(),) in world.rows("SHOW DATABASES")
        new = world.paths() - before
        (directory,) = {path for path in new if path.parent == world.top / "warehouse"}
        assert all(path == directory or directory in path.parents for path in new)
        world.session.sql(f"DROP DATABASE {quoted(name)} CASCADE")


@hostile(25)
@given(name=NAMES)
def test_a_column_of_any_name(world: World, name: str) -> None:
    """It is refused when the table is made or, where Spark could not read it, when it is written."""
    with world.refused_or_undone():
        world.session.sql(f"CREATE TABLE c ({quoted(name)} INT, z STRING) {ACID}")
        try:
            world.session.sql(f"INSERT INTO c ({quoted(name)}, z) VALUES (1, 'a'), (2, 'b')")
            assert world.rows("SELECT count(*) FROM c") == [(2,)]
            assert (
                name.lower() in str(world.rows("DESCRIBE c"))
                or not name.isprintable()
                or (set(name) & set("'\\"))
            )
        finally:
            world.session.sql("DROP TABLE c")


@hostile(30)
@given(name=NAMES, more=ALIKE, swapped=st.booleans())
@example(name="a", more="%20", swapped=False)
@example(name="a b", more="", swapped=True)
@example(name="İ", more="", swapped=True)
def test_two_tables_of_like_names_are_two_or_one(
    world: World, name: str, more: str, swapped: bool
) -> None:
    """The second is the first one, and then there already, or a table of its own: what changes one
    changes nothing of the other.
    """
    other = (name.swapcase() if swapped else name) + more
    session, first, second = world.session, quoted(name), quoted(other)
    with world.refused_or_undone():
        session.sql(f"CREATE TABLE {first} (id INT, v STRING) {ACID}")
        try:
            session.sql(f"INSERT INTO {first} VALUES (1, 'a'), (2, 'b')")
            try:
                session.sql(f"CREATE TABLE {second} (id INT, v STRING) {ACID}")
            except Error:
                assert world.rows(f"SELECT v FROM {first} WHERE id = 2") == [("b",)]
                return
            try:
                session.sql(f"INSERT INTO {second} VALUES (2, 'c'), (3, 'd')")
                session.sql(f"UPDATE {first} SET v = 'u' WHERE id = 2")
                session.sql(f"DELETE FROM {second} WHERE id = 3")
                session.sql(
                    f"MERGE INTO {first} t USING {second} s ON t.id = s.id"
                    " WHEN MATCHED THEN UPDATE SET v = concat(t.v, s.v)"
                )
                assert sorted(world.rows(f"SELECT * FROM {first}")) == [(1, "a"), (2, "uc")]
                assert world.rows(f"SELECT * FROM {second}") == [(2, "c")]
                session.sql(f"TRUNCATE TABLE {first}")
                assert world.rows(f"SELECT count(*) FROM {second}") == [(1,)]
            finally:
                session.sql(f"DROP TABLE {second}")
        finally:
            session.sql(f"DROP TABLE {first}")


@pytest.mark.spark
@hostile(6)
@given(name=NAMES, more=ALIKE)
@example(name="a`b c", more="%")
@example(name="d=1", more="")
def test_tables_and_partitions_of_like_names_in_one_statement(
    session: Session, name: str, more: str
) -> None:
    """Of equal columns, read by Spark: each is read as itself, and so is each partition."""
    tables = [quoted(name), quoted(f"{name}{more or '_'}")]
    values = [literal(f"v{name}"), literal(f"v{name}{more or '_'}")]
    made: list[str] = []
    try:
        for number, table in enumerate(tables):
            with suppress(Error):
                session.sql(
                    f"CREATE TABLE {table} (k INT, v STRING) PARTITIONED BY (d STRING) {ACID}"
                )
                made.append(table)
                for place, value in enumerate(values):
                    k = 10 * number + place
                    session.sql(
                        f"INSERT INTO {table} VALUES ({k}, 'x', {value}), (50, 'y', {value})"
                    )
        if len(made) < 2:
            return
        first, second = tables
        session.sql("SET acidsql.engine=spark")

        def rows(text: str) -> list[tuple[object, ...]]:
            return [tuple(row) for row in session.sql(text).rows()]

        least = [f"(SELECT min(k) FROM {t} WHERE d = {v})" for t in tables for v in values]
        assert rows(f"SELECT {', '.join(least)}") == [(0, 1, 10, 11)]
        united = f"SELECT k FROM {first} UNION SELECT k FROM {second}"
        assert sorted(rows(united)) == [(0,), (1,), (10,), (11,), (50,)]
        session.sql(
            f"DELETE FROM {first} WHERE k IN (SELECT k FROM {second}) AND k IN (SELECT k FROM {first})"
        )
        assert sorted(rows(f"SELECT k FROM {first}")) == [(0,), (1,)]
        assert rows(f"SELECT count(*) FROM {second}") == [(4,)]
    finally:
        session.sql("SET acidsql.engine=auto")
        for table in made:
            session.sql(f"DROP TABLE {table}")


@hostile(30)
@given(name=NAMES, value=NAMES)
@example(name="k", value="../../../secret")
@example(name="k", value="..")
@example(name="a/b", value="")
def test_a_partition_of_any_name_and_value(world: World, name: str, value: str) -> None:
    """Its directory is one below the table's, however it was made, and goes with it alone."""
    with world.refused_or_undone():
        key = f"{quoted(name)}={literal(value)}"
        world.session.sql(f"CREATE TABLE p (id INT) PARTITIONED BY ({quoted(name)} STRING) {ACID}")
        try:
            before = world.paths()
            world.session.sql(f"INSERT INTO p PARTITION ({key}) VALUES (1)")
            world.session.sql(
                f"INSERT INTO p PARTITION ({quoted(name)}) VALUES (2, {literal(value)})"
            )
            new = world.paths() - before
            table = world.top / "warehouse" / "p"
            (directory,) = {path for path in new if path.parent == table}
            assert all(path == directory or directory in path.parents for path in new)
            assert world.rows("SELECT count(*) FROM p") == [(2,)]
            assert len(world.rows("SHOW PARTITIONS p")) == 1
            if not value:  # it stands where NULL does
                key = f"{quoted(name)}='{DEFAULT_PARTITION}'"
            world.session.sql(f"ALTER TABLE p DROP PARTITION ({key})")
            assert world.paths() == before
            world.session.sql(f"ALTER TABLE p ADD PARTITION ({key})")
            assert world.rows("SELECT count(*) FROM p") == [(0,)]
        finally:
            world.session.sql("DROP TABLE p")


@pytest.mark.spark
def test_spark_is_given_names_as_names(session: Session) -> None:
    """All marks in one name of a database, a table, a column, a partition column and a value: each
    kind of statement means what it says.
    """
    marks = " !\"#%&'()*+,-;<=>?@[]^{|}~"
    database, table, key = (quoted(f"{kind}{marks}`z") for kind in ("d", "t", "k"))
    column, value = quoted(f"c{marks}/$\\z"), f"v{marks}`:/.\\$\tz"
    name = f"{database}.{table}"
    session.sql(f"CREATE DATABASE {database}")
    session.sql(
        f"CREATE TABLE {name} ({column} INT, z STRING) PARTITIONED BY ({key} STRING) {ACID}"
    )
    rows = f"(1, 'a', {literal(value)}), (2, 'b', {literal(value)}), (3, 'c', 'o')"
    session.sql(f"INSERT INTO {name} VALUES {rows}")
    session.sql(f"UPDATE {name} SET z = 'u' WHERE {column} = 1 AND {key} = {literal(value)}")
    session.sql(f"DELETE FROM {name} WHERE {table}.{column} = 2")
    session.sql(
        f"MERGE INTO {name} t USING (SELECT 3 AS x UNION ALL SELECT 4) s ON t.{column} = s.x"
        f" WHEN MATCHED THEN UPDATE SET z = 'm'"
        f" WHEN NOT MATCHED THEN INSERT VALUES (s.x, 'n', {literal(value)})"
    )
    session.sql(f"INSERT INTO {name} SELECT {column} + 10, z, {key} FROM {name} WHERE {column} = 4")
    found = sorted(map(tuple, session.sql(f"SELECT {column}, z, {key} FROM {name}").rows()))
    assert found == [(1, "u", value), (3, "m", "o"), (4, "n", value), (14, "n", value)]
    session.sql(f"DROP DATABASE {database} CASCADE")


def test_a_session_starts_in_a_database_of_any_name(tmp_path: Path) -> None:
    """Its name stands in backticks, of which it may have some itself."""
    with Session(tmp_path / "w") as session:
        session.sql("CREATE DATABASE `a``b c`")
    with Session(tmp_path / "w", database="a`b c") as session:
        assert session.database == "a`b c"
