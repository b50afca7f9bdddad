"""What the store's statements are compiled to: ahead, and when they are asked for."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest
import sqlalchemy

from acidsql.metastore.sql import or_, real, select, sqlite, update
from acidsql.metastore.sql.sqlite import Pool
from acidsql.metastore.tables import SDS, TBLS
from tests.metastore.ahead import compiled_ahead, text_of


@pytest.fixture
def metastore_url() -> None:
    """The file is what it is about."""


def test_what_was_compiled_ahead_is_what_sqlalchemy_compiles() -> None:
    """`python -m tests.metastore.ahead` makes the file that the package has."""
    assert sqlite.AHEAD.read_text(encoding="utf-8") == text_of(compiled_ahead())


def test_the_words_are_sqlalchemys() -> None:
    """A statement is what SQLAlchemy makes of the same calls; values are none of its text."""
    table = real(TBLS)
    of = or_(TBLS.c.TBL_NAME == "t", TBLS.c.TBL_ID.in_([1, 2]), TBLS.c.OWNER.is_(None))
    statement = select(TBLS.c.TBL_ID + 1).where(~of).order_by(TBLS.c.TBL_ID.desc()).limit(3)
    theirs = sqlalchemy.or_(
        table.c.TBL_NAME == "t", table.c.TBL_ID.in_([1, 2]), table.c.OWNER.is_(None)
    )
    expected = sqlalchemy.select(table.c.TBL_ID + 1).where(~theirs)
    expected = expected.order_by(table.c.TBL_ID.desc()).limit(3)
    assert real(statement).compare(expected)
    assert statement._values == (1, "t", [1, 2], 3)  # type: ignore[attr-defined]
    other = select(TBLS.c.TBL_ID + 8).where(
        ~or_(TBLS.c.TBL_NAME == "u", TBLS.c.TBL_ID.in_([]), TBLS.c.OWNER.is_(None))
    )
    assert statement._text.startswith(other._text)  # type: ignore[attr-defined]


def test_what_is_null_or_true_is_part_of_the_text() -> None:
    """IS NULL is another statement than =, and so is another kind of value."""
    name, flag = TBLS.c.OWNER, SDS.c.IS_COMPRESSED
    texts = {
        one._text  # type: ignore[attr-defined]
        for one in (name == "a", name == "b", name == None, name == 1, flag == True, flag == False)  # noqa: E711, E712
    }
    assert len(texts) == 5


@pytest.mark.parametrize("names", [[], ["a"], ["a", "b", "c"]])
def test_lists_are_as_long_as_they_are(names: list[str]) -> None:
    """An empty list is in nothing; what stands before and behind a list is bound where it stands."""
    pool = Pool(lambda: sqlite3.connect(":memory:"))
    with pool.connect() as connection:
        connection.exec_driver_sql('CREATE TABLE "TBLS" ("TBL_ID", "TBL_NAME", "OWNER")')
        connection.exec_driver_sql("INSERT INTO \"TBLS\" VALUES (1, 'a', 'x'), (2, 'b', 'y')")
        of = (TBLS.c.TBL_ID > 0, TBLS.c.TBL_NAME.in_(names), TBLS.c.OWNER != "z")
        rows = connection.execute(select(TBLS.c.TBL_NAME, TBLS.c.OWNER).where(*of)).all()
        assert rows == [(a, b) for a, b in (("a", "x"), ("b", "y")) if a in names]
        assert [row.OWNER for row in rows] == [row._asdict()["OWNER"] for row in rows]
        changed = update(TBLS).where(TBLS.c.TBL_NAME.not_in(names)).values(OWNER=None)
        assert connection.execute(changed).rowcount == 2 - len(rows)
    pool.dispose()


def test_what_was_not_committed_is_rolled_back() -> None:
    """A connection that is given back is as good as new; a pool keeps some."""
    opened: list[sqlite3.Connection] = []

    def connect() -> sqlite3.Connection:
        opened.append(sqlite3.connect(":memory:", isolation_level=None))
        return opened[-1]

    pool = Pool(connect, kept=1)
    with pool.connect() as connection:
        connection.exec_driver_sql("CREATE TABLE t (a)")
        connection.exec_driver_sql("BEGIN")
        connection.exec_driver_sql("INSERT INTO t VALUES (1)")
    with pool.connect() as connection, pool.connect():
        assert connection.exec_driver_sql("SELECT count(*) FROM t").scalar() == 0
    assert len(opened) == 2
    with pool.connect():
        pool.dispose()
    for one in opened:
        with closing(one), pytest.raises(sqlite3.ProgrammingError, match="closed"):
            one.execute("SELECT 1")


@pytest.mark.processes
def test_the_store_needs_no_sqlalchemy() -> None:
    """Until it is asked for what was not compiled ahead, or lies in PostgreSQL."""
    code = "import sys, acidsql.metastore.embedded; print('sqlalchemy' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert ran.stdout == "False\n"
