"""``* EXCLUDE (c)``: a star without some columns, which is ``* EXCEPT (c)`` to Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from acidsql.errors import Error
from acidsql.session import Session

QUERIES = {
    "SELECT * EXCLUDE (name) FROM t": (["id", "n"], (1, 2)),
    "SELECT * EXCEPT (name) FROM t": (["id", "n"], (1, 2)),
    "SELECT x.* EXCLUDE (NAME, `n`), id + 1 AS next FROM t x": (["id", "next"], (1, 2)),
    "SELECT ROW__ID.rowid, * EXCLUDE (name) FROM t": (["rowid", "id", "n"], (0, 1, 2)),
    "SELECT n, t.* EXCLUDE (id) FROM t WHERE id = 1": (["n", "name", "n"], (2, "a", 2)),
    "SELECT * EXCLUDE (x) FROM '{folder}/a.csv'": (["y"], (6,)),
}


def check(session: Session, folder: Path) -> None:
    """Holds the queries to what they give."""
    (folder / "a.csv").write_text("x,y\n5,6\n")
    session.sql("CREATE TRANSACTIONAL TABLE t (id INT, name STRING, n INT)")
    session.sql("INSERT INTO t VALUES (1, 'a', 2)")
    for query, (names, row) in QUERIES.items():
        answer = session.sql(query.format(folder=folder))
        assert ([column.name for column in answer.columns], answer.fetchall()) == (names, [row])


def test_the_driver_leaves_columns_out(alone: Session, tmp_path: Path) -> None:
    """Of tables and files, with ROW__ID beside it; what is no column is not its own to tell."""
    check(alone, tmp_path)
    for query in ("SELECT * EXCLUDE (nix) FROM t", "SELECT * EXCLUDE (id, name, n) FROM t"):
        with pytest.raises(Error, match=r"acidsql\.engine=local"):
            alone.sql(query)


@pytest.mark.spark
def test_spark_leaves_columns_out(session: Session, tmp_path: Path) -> None:
    """The same, and in views, joins and without brackets."""
    session.sql("SET acidsql.engine=spark")
    check(session, tmp_path)
    session.sql("CREATE VIEW v AS SELECT * EXCLUDE (name) FROM t")
    assert session.sql("SELECT * FROM v").fetchall() == [(1, 2)]
    joined = "SELECT a.* EXCLUDE id, b.id FROM t a JOIN t b ON a.id = b.id"
    assert session.sql(joined).fetchall() == [("a", 2, 1)]
    with pytest.raises(Error, match="nix"):
        session.sql("SELECT * EXCLUDE (nix) FROM t").fetchall()
