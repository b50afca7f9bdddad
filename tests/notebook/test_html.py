"""What a notebook shows of a result and of a statement that runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from acidsql.notebook import bar_html
from acidsql.session import Session

TABLE = (
    "CREATE TABLE t (id INT, name STRING, d DECIMAL(6,2), tags ARRAY<STRING>)"
    " STORED AS ORC TBLPROPERTIES ('transactional'='true')"
)


@pytest.fixture
def local(warehouse: Path) -> Iterator[Session]:
    """A session without Spark, with the table ``t``."""
    with Session(warehouse, settings={"acidsql.engine": "local"}) as opened:
        opened.sql(TABLE)
        yield opened


def test_many_rows_are_counted_and_few_shown(local: Session) -> None:
    """Fifty rows at most are shown, the rest is told; a long value is cut."""
    values = ", ".join(f"({n}, '{'x' * 600}')" for n in range(1060))
    local.sql(f"INSERT INTO t (id, name) VALUES {values}")
    html = local.sql("SELECT id, name FROM t")._repr_html_()
    assert html.count("<tr>") == 51
    assert html.endswith("<div>1,060 rows, 1,010 more than are shown</div>")
    assert "x" * 499 + "…" in html
    assert "x" * 500 not in html
    few = local.sql("SELECT id FROM t WHERE id < 50")._repr_html_()
    assert few.count("<tr>") == 51
    assert few.endswith("<div>50 rows</div>")


def test_values_are_texts_of_their_types(local: Session) -> None:
    """Numbers stand to the right, with their digits; what looks like HTML or TeX is text."""
    local.sql(
        "INSERT INTO t (id, name, d) VALUES (-1, '<script>&\"$a$ \\\\(b\\\\)', 2), (NULL, NULL, NULL)"
    )
    html = local.sql("SELECT id AS `<n>`, name, d, tags FROM t")._repr_html_()
    assert '<th style="text-align:right">&lt;n&gt;<br><small>int</small></th>' in html
    assert "<small>decimal(6,2)</small>" in html
    assert "<small>array&lt;string&gt;</small>" in html
    assert '<td style="text-align:right">2.00</td>' in html
    assert "&lt;script&gt;&amp;&quot;&#36;a&#36; &#92;(b&#92;)" in html
    assert html.count(">NULL</em>") == 5
    assert "<div>0 rows</div>" in local.sql("SELECT id FROM t WHERE id = 9")._repr_html_()


def test_changes_are_counted(local: Session) -> None:
    """DML says which rows it changed, a MERGE which clause did; DDL that it is done."""
    inserted = local.sql("INSERT INTO t (id, name) VALUES (1, 'a'), (2, 'b')")
    assert inserted._repr_html_() == "<div>INSERT: 2 rows inserted</div>"
    updated = local.sql("UPDATE t SET name = 'c' WHERE id = 1")
    assert updated._repr_html_() == "<div>UPDATE: 1 row updated</div>"
    assert (
        local.sql("DELETE FROM t WHERE id = 9")._repr_html_()
        == "<div>DELETE: no rows changed</div>"
    )
    local.sql(
        "CREATE TABLE s (id INT, name STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true')"
    )
    local.sql("INSERT INTO s VALUES (1, 'x'), (3, 'y')")
    merged = local.sql(
        "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET name = s.name"
        " WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.name, NULL, NULL)"
    )._repr_html_()
    assert merged.startswith("<div>MERGE: 1 row inserted, 1 row updated; WHEN MATCHED")
    assert local.sql("DROP TABLE s")._repr_html_() == "<div>DROP TABLE: done</div>"


def test_warnings_stand_below(local: Session) -> None:
    """A literal that its column cannot hold is told where the result is shown."""
    html = local.sql("INSERT INTO t (id) VALUES ('x')")._repr_html_()
    assert html.startswith("<div>INSERT: 1 row inserted</div><div>warning: ")


def test_the_bar_shows_tasks() -> None:
    """A bar without an end while no job of Spark's runs."""
    assert bar_html(None, 2.4) == "<progress></progress> running, 2 s"
    assert (
        bar_html((3, 1200), 61)
        == '<progress value="3" max="1200"></progress> 3 of 1,200 tasks, 61 s'
    )
    assert 'max="1"' in bar_html((0, 0), 1)
