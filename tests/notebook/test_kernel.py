"""``%load_ext acidsql`` in a real IPython kernel, as a notebook has it."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acidsql.session import Session
from tests.notebook.kernel import SECONDS, Notebook, notebook_in

pytestmark = pytest.mark.processes
PAGE = Path(__file__).resolve().parents[2] / "docs" / "notebook.md"
TABLE = "CREATE TABLE t (id INT, name STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true')"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("notebook")


@pytest.fixture(scope="module")
def notebook(folder: Path) -> Iterator[Notebook]:
    """One kernel, which is started in ``folder``, with the extension and a table ``t``."""
    with notebook_in(folder) as opened:
        assert opened.run("%load_ext acidsql").reply["status"] == "ok"
        done = opened.run(f"%%acidsql\n{TABLE};\nINSERT INTO t VALUES (1, 'a<b>$x$'), (2, NULL);")
        assert done.reply["status"] == "ok", done.traceback
        yield opened


def test_a_cell_shows_rows_with_their_types(notebook: Notebook) -> None:
    """The HTML has names, types, escaped values, NULL and the count; a cell shows every result."""
    shown = notebook.run("%%acidsql\nSELECT count(*) AS n FROM t;\nSELECT * FROM t ORDER BY id")
    assert shown.reply["status"] == "ok", shown.traceback
    assert len(shown.html) == 2
    assert "n<br><small>bigint</small>" in shown.html[0]
    assert "<div>1 row</div>" in shown.html[0]
    assert "a&lt;b&gt;&#36;x&#36;" in shown.html[1]
    assert "NULL</em>" in shown.html[1]
    assert "<div>2 rows</div>" in shown.html[1]


def test_variables_go_in_and_results_come_out(notebook: Notebook) -> None:
    """``:name`` is a Python variable, also a local one; ``=`` and ``-o`` take the result."""
    code = """
def names(wanted):
    r = %acidsql SELECT name FROM t WHERE id IN (:wanted) OR name = '${wanted} {wanted} $wanted'
    return list(r.rows())
print(names([1]), names([1, 2]))
limit = 1
"""
    assert notebook.run(code).text == "[('a<b>$x$',)] [('a<b>$x$',), (None,)]\n"
    kept = notebook.run("%%acidsql -o few\nSELECT id FROM t WHERE id <= :limit")
    assert (kept.reply["status"], kept.html) == ("ok", [])
    assert notebook.run("print(list(few.rows()))").text == "[(1,)]\n"
    missing = notebook.run("%acidsql SELECT id FROM t WHERE id = :absent")
    assert 'no variable "absent"' in missing.traceback


def test_the_session_is_shared_with_python(notebook: Notebook, folder: Path) -> None:
    """``%acidsql`` alone gives the session; ``--session`` takes one; ``--warehouse`` opens one."""
    mine = notebook.run("s = %acidsql\nprint(list(s.sql('SELECT max(id) FROM t').rows()))")
    assert mine.text == "[(2,)]\n"
    other = folder / "other warehouse"
    code = f"""
%acidsql --warehouse "{other}" --set acidsql.engine=local
fresh = %acidsql
_ = fresh.sql('CREATE DATABASE sales')
print(fresh.settings.text('acidsql.engine'), list(fresh.sql('SHOW DATABASES').rows()))
import acidsql
door = acidsql.connect('warehouse', autocommit=True)
%acidsql --session door
n = %acidsql SELECT count(*) FROM t
print(list(n.rows()))
"""
    assert notebook.run(code).text == "local [('default',), ('sales',)]\n[(2,)]\n"
    assert any(other.iterdir())


def test_an_error_is_short(notebook: Notebook) -> None:
    """Only the rendered error is shown, from magics and Python alike; %tb has the traceback."""
    for code in ("%acidsql SELECT * FROM nix", "%%acidsql\nSELECT *\nFROM nix"):
        failed = notebook.run(code)
        assert failed.reply["status"] == "error"
        assert failed.reply["ename"] == "TableNotFoundError"
        assert failed.traceback.startswith("TableNotFoundError: [Error 10001]: Table not found")
        assert failed.traceback.endswith("^^^")
        assert "Traceback" not in failed.traceback
    assert "spine.py" in notebook.run("%tb").traceback
    assert "Traceback" in notebook.run("1 / 0").traceback
    assert "what is --nix" in notebook.run("%acidsql --nix 1").text


def test_the_page_is_true(notebook: Notebook) -> None:
    """Every Python block of docs/notebook.md is a cell that runs, one after the other."""
    cells = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(cells) >= 6
    shown = []
    for cell in cells:
        done = notebook.run(cell)
        assert done.reply["status"] == "ok", (cell, done.traceback)
        shown += done.html
    assert any("total<br><small>decimal(20,2)</small>" in html for html in shown)
    kept = notebook.run("print(len(frame), list(mine.sql('SELECT id FROM orders').rows()))")
    assert kept.text == "2 [(1,), (2,), (3,), (4,)]\n"
    assert notebook.run("import sys; print('pyspark' in sys.modules)").text == "False\n"


def test_an_interrupt_ends_a_waiting_statement(notebook: Notebook, folder: Path) -> None:
    """The kernel's interrupt ends the statement with KeyboardInterrupt; the kernel goes on. A
    statement that takes long shows a bar, which is gone in the end.
    """
    notebook.run("%acidsql --warehouse warehouse")
    with Session(folder / "warehouse") as holder:
        holder.begin()
        holder.sql("INSERT INTO t VALUES (3, 'c')")
        waiting = notebook.send("%acidsql DROP TABLE t")
        began = time.monotonic()
        while not any("Waiting" in str(row) or "WAITING" in str(row) for row in _locks(folder)):
            assert time.monotonic() - began < SECONDS
        bar = _bar(notebook, waiting)
        notebook.manager.interrupt_kernel()
        ended = notebook.outcome(waiting)
        holder.rollback()
    assert bar.startswith("<progress></progress> running, ")
    assert ended.reply["ename"] == "KeyboardInterrupt"
    assert ended.traceback == "KeyboardInterrupt"
    assert ended.html[-1] == ""
    assert notebook.run("print(42)").text == "42\n"


LATE = """
import threading, pyarrow
from acidsql.catalog.types import PrimitiveType
from acidsql.errors import DataError
from acidsql.result import Result, ResultColumn, Stats

def late(wait=None, error=None):
    fetched = []
    def fetch():
        fetched.append(1)
        if wait is not None:
            wait.wait()
        if error is not None:
            raise error
        return pyarrow.table({"n": [len(fetched)]})
    return Result([ResultColumn(name="n", type=PrimitiveType("bigint"))], Stats(), fetch=fetch)
"""
"""Results whose rows come when they are asked for: late, or not at all."""


def test_rows_that_come_while_they_are_shown(notebook: Notebook) -> None:
    """They are read once, under the bar, which is gone in the end; an interrupt ends that by its name
    alone, as an error by its text, and the cell has failed. What is not shown is not read."""
    assert notebook.run(LATE).reply["status"] == "ok"
    for code in ("late(threading.Event())", "display(late(threading.Event()))"):
        waiting = notebook.send(code)
        bar = _bar(notebook, waiting)
        notebook.manager.interrupt_kernel()
        ended = notebook.outcome(waiting)
        assert bar.startswith("<progress></progress> running, ")
        assert ended.reply["ename"] == "KeyboardInterrupt"
        assert ended.traceback == "KeyboardInterrupt"
        assert ended.html[-1] == ""
    for code in ("late(error=DataError('no'))", "display(late(error=DataError('no')))\nprint(1)"):
        failed = notebook.run(code)
        assert failed.reply["status"] == "error"
        assert (failed.traceback, failed.html, failed.text) == ("DataError: no", [], "")
    assert "<td" in notebook.run("late()").html[0]
    assert notebook.run("late()").html[0].count(">1</td>") == 1
    assert notebook.run("late(threading.Event());").html == []


def test_the_extension_can_go_and_come_back(notebook: Notebook) -> None:
    """%unload_ext takes the magics and the short errors away, %load_ext brings them back."""
    assert "not found" in notebook.run("%unload_ext acidsql\n%acidsql").text
    code = "import acidsql\nacidsql.Session('warehouse').sql('SELECT * FROM nix')"
    assert "Traceback" in notebook.run(code).traceback
    assert "Traceback" in notebook.run(f"{LATE}\nlate(error=DataError('no'))").traceback
    assert (
        "%acidsql alone gives the session" in notebook.run("%load_ext acidsql\n%acidsql --set").text
    )
    assert "Traceback" not in notebook.run("%acidsql SELECT * FROM nix").traceback


def _locks(folder: Path) -> list[tuple[Any, ...]]:
    with Session(folder / "warehouse") as other:
        return list(other.sql("SHOW LOCKS").rows())


def _bar(notebook: Notebook, message_id: str) -> str:
    while True:
        message = notebook.client.get_iopub_msg(timeout=SECONDS)
        if message["msg_type"] == "display_data":
            assert message["parent_header"]["msg_id"] == message_id
            return str(message["content"]["data"]["text/html"])
