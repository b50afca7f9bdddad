"""JupySQL's ``%sql`` over acidsql's dialect in a real IPython kernel: what docs/sqlalchemy.md shows.
JupySQL is in no extra; its step in the project's own checks installs it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from acidsql.session import Session
from tests.notebook.kernel import Cell, Notebook, notebook_in

pytestmark = pytest.mark.processes
PAGE = Path(__file__).resolve().parents[2] / "docs" / "sqlalchemy.md"
ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
QUIET = {"PLOOMBER_STATS_ENABLED": "false", "PLOOMBER_VERSION_CHECK_DISABLED": "1"}
"""JupySQL reports its use to its makers otherwise."""


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Notebook]:
    """A kernel beside a warehouse ``sales``, after the cell of the page."""
    pytest.importorskip("jupysql_plugin", reason="needs JupySQL: pip install jupysql")
    folder = tmp_path_factory.mktemp("jupysql")
    with Session(folder / "sales") as session:
        session.sql(f"CREATE TABLE orders (id INT, customer STRING, day DATE) {ACID}")
        session.sql("INSERT INTO orders VALUES (1, 'ann', '2024-05-01'), (2, NULL, '2024-05-02')")
    with notebook_in(folder, **QUIET) as opened:
        page = PAGE.read_text(encoding="utf-8").partition("## JupySQL")[2]
        [cell] = re.findall(r"```text\n(%load_ext sql.*?)```", page, re.DOTALL)
        ran(opened, "least = 1")
        assert "1" in ran(opened, cell).html[-1]
        yield opened


def ran(notebook: Notebook, code: str) -> Cell:
    cell = notebook.run(code)
    assert cell.reply["status"] == "ok", (code, cell.traceback, cell.text)
    assert not cell.traceback, cell.traceback
    return cell


def test_queries_and_their_values(notebook: Notebook) -> None:
    """Rows are shown as a table; in Python they have the types of their columns."""
    shown = ran(notebook, "%%sql\nSELECT * FROM orders\nORDER BY id")
    assert all(f"<td>{value}</td>" in shown.html[-1] for value in ("ann", "None", "2024-05-02"))
    code = (
        "r = %sql SELECT id, day FROM orders WHERE id > :least\nprint(list(r), r.DataFrame().shape)"
    )
    assert "(2, datetime.date(2024, 5, 2))" in ran(notebook, code).text
    assert ran(notebook, code).text.rstrip().endswith("(1, 2)")


def test_changes_are_committed(notebook: Notebook) -> None:
    """What a cell inserts, another connection sees."""
    ran(notebook, "%%sql\nINSERT INTO orders VALUES (3, 'eve', '2024-05-03')")
    ran(notebook, "%%sql\nUPDATE orders SET customer = 'x%' WHERE id = 3")
    code = (
        "import acidsql\n"
        "print(list(acidsql.Session('sales').sql('SELECT customer FROM orders WHERE id = 3').rows()))"
    )
    assert ran(notebook, code).text == "[('x%',)]\n"


def test_tables_and_columns(notebook: Notebook) -> None:
    """What %sqlcmd asks of the dialect."""
    assert "orders" in str(ran(notebook, "%sqlcmd tables").html)
    columns = str(ran(notebook, "%sqlcmd columns --table orders").html)
    assert all(name in columns for name in ("id", "customer", "day", "DATE"))


def test_an_error_is_told(notebook: Notebook) -> None:
    """By acidsql's words; the connection goes on."""
    failed = notebook.run("%sql SELECT * FROM nix")
    assert "Table not found" in failed.traceback + failed.text + str(failed.html)
    assert "2" in ran(notebook, "%sql SELECT count(*) FROM orders WHERE id < 3").html[-1]
