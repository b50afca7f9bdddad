"""``%acidsql`` at the prompt of IPython on a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from acidsql.session import Session
from tests.cli.terminal import Terminal
from tests.notebook.test_kernel import LATE

pytest.importorskip("IPython", reason="needs the extra notebook")
pytestmark = pytest.mark.processes
TABLE = "CREATE TABLE t (id INT) STORED AS ORC TBLPROPERTIES ('transactional'='true')"


def test_a_long_statement_shows_a_line_and_ctrl_c_ends_it(tmp_path: Path) -> None:
    """The line is there while the statement runs, and gone in the end; IPython goes on."""
    with Session(tmp_path / "warehouse", settings={"acidsql.engine": "local"}) as holder:
        holder.sql(TABLE)
        holder.begin()
        holder.sql("INSERT INTO t VALUES (1)")
        options = ("--no-banner", "--no-confirm-exit", "--colors=NoColor")
        folder = str(tmp_path / "ipython")
        with Terminal(tmp_path, *options, module="IPython", IPYTHONDIR=folder) as terminal:
            terminal.wait_for("In [1]:")
            terminal.type("%load_ext acidsql\r")
            terminal.wait_for("In [2]:")
            terminal.type("%acidsql DROP TABLE t\r")
            terminal.wait_for("\r\x1b[Krunning, 1 s\r\x1b[K")
            terminal.type("\x03")
            assert "Traceback" not in terminal.wait_for("KeyboardInterrupt")
            terminal.wait_for("In [3]:")
            terminal.type("print(111*111)\r")
            terminal.wait_for("12321")
            terminal.wait_for("In [4]:")
            terminal.type("\x04")
            assert terminal.close() == 0
        holder.rollback()
        assert list(holder.sql("SHOW TABLES").rows()) == [("t",)]


def test_rows_that_come_late_show_a_line_before_their_out(tmp_path: Path) -> None:
    """The prompt ``Out[..]`` comes with the rows; Ctrl-C ends the reading without a traceback."""
    (tmp_path / "late.py").write_text(LATE)
    options = ("--no-banner", "--no-confirm-exit", "--colors=NoColor")
    folder = str(tmp_path / "ipython")
    with Terminal(tmp_path, *options, module="IPython", IPYTHONDIR=folder) as terminal:
        terminal.wait_for("In [1]:")
        terminal.type("%load_ext acidsql\r")
        terminal.wait_for("In [2]:")
        terminal.type("%run late.py\r")
        terminal.wait_for("In [3]:")
        terminal.type("late(threading.Event())\r")
        assert "Out[3]" not in terminal.wait_for("\r\x1b[Krunning, 1 s\r\x1b[K")
        terminal.type("\x03")
        shown = terminal.wait_for("KeyboardInterrupt")
        assert "Traceback" not in shown
        assert "Out[3]" not in shown
        terminal.wait_for("In [4]:")
        terminal.type("late()\r")
        terminal.wait_for("Out[4]:")
        terminal.wait_for("| n |")
        terminal.wait_for("In [5]:")
        terminal.type("\x04")
        assert terminal.close() == 0
