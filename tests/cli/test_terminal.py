"""What only a terminal shows: its width and height, keys, Ctrl-C, the editor and the pager."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from acidsql.session import Session
from acidsql.width import display_width
from tests.cli.terminal import PROMPT, Terminal

pytestmark = pytest.mark.processes
LOCAL = ("--hiveconf", "acidsql.engine=local")
ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"


@pytest.fixture
def beside(tmp_path: Path) -> Iterator[Session]:
    """A session on the shell's warehouse, which has rows that are too many or too wide for a small
    screen."""
    with Session(tmp_path / "warehouse") as session:
        session.sql(f"CREATE TABLE customers (id INT, name STRING, note STRING) {ACID}")
        rows = ", ".join(f"({i}, 'name {i}', '{'long ' * 9}')" for i in range(30))
        session.sql(f"INSERT INTO customers VALUES {rows}")
        columns = ", ".join(f"column_{i} BIGINT" for i in range(9))
        session.sql(f"CREATE TABLE wide ({columns}) {ACID}")
        session.sql(f"INSERT INTO wide VALUES ({', '.join(['123456789'] * 9)})")
        yield session


def test_rows_fit_the_screen(beside: Session, tmp_path: Path) -> None:
    """Texts are cut to the width, numbers never: rows of many are vertical. More rows than are asked
    for are counted, and .last has them all; a pager gets what the screen does not hold."""
    with Terminal(tmp_path, *LOCAL, columns=44, lines=12) as terminal:
        terminal.wait_for(PROMPT)
        shown = terminal.run("SELECT * FROM customers WHERE id = 7;", until="1 row (")
        assert "|  7 | name 7 | long long long long long … |" in shown
        shown = terminal.run("SELECT * FROM wide;", until="1 row (")
        assert "column_8  123456789" in shown
        shown = terminal.run(".right", until="columns 1 to 3 of 9")
        assert "| column_0  | column_1  | column_2  |" in shown
        terminal.run(".right", until="columns 4 to 6 of 9")
        terminal.run(".right", until="columns 7 to 9 of 9")
        terminal.run(".right", until="no columns to the right")
        shown = terminal.run(".left", until="columns 4 to 6 of 9")
        assert "| 123456789 | 123456789 | 123456789 |" in shown
        terminal.run("SET acidsql.shell.rows=5;", until="done")
        shown = terminal.run("SELECT id FROM customers;", until="5 of 30 rows shown (")
        assert "|  4 |" in shown
        assert "|  5 |" not in shown
        terminal.run(".once all.csv", until=PROMPT)
        terminal.run(".last csv", until="30 rows (")
        assert (tmp_path / "all.csv").read_text() == "".join(f"{i}\n" for i in range(30))
        terminal.run(".pager sed s/^/P:/", until=PROMPT)
        shown = terminal.run("SELECT id FROM customers;", until="30 rows (")
        assert "P:| 29 |" in shown
        shown = terminal.run("SELECT id FROM customers WHERE id < 2;", until="2 rows (")
        assert "P:" not in shown
        terminal.type("\x04")
        assert terminal.close() == 0


def test_the_shell_is_as_it_was_configured(beside: Session, tmp_path: Path) -> None:
    """The configuration file sets what the prompt is like, vi's keys among it; what is wrong there is
    told and the rest holds. The editor changes the last statement, which runs then; Tab completes
    the columns of an alias."""
    folder = tmp_path / "config" / "acidsql"
    folder.mkdir(parents=True)
    (folder / "shell.sql").write_text("SET acidsql.nonsense=1;\n.null nix\n.keys vi\n")
    with Terminal(tmp_path, *LOCAL, EDITOR="sed -i s/DATABASES/TABLES/") as terminal:
        terminal.wait_for("shell.sql:1: ")
        terminal.wait_for(PROMPT)
        terminal.type("xSHOW DATABASES;\x1b0x\r")
        terminal.wait_for("| default       |")
        terminal.wait_for(PROMPT)
        terminal.run(".edit", until="| customers |")
        shown = terminal.run(".history 4", until="SHOW TABLES;")
        assert "SHOW DATABASES;" in shown
        terminal.run("SELECT max(note) FROM customers WHERE id > 99;", until="| nix ")
        terminal.type("SELECT count(*) FROM customers c WHERE c.na")
        terminal.wait_for(".na")
        terminal.type("\t")
        terminal.wait_for("me")
        terminal.type(" = 'name 3';\r")
        terminal.wait_for("1 row (")
        terminal.wait_for(PROMPT)
        terminal.type("\x04")
        assert terminal.close() == 0


def test_what_show_tells_is_for_people(beside: Session, tmp_path: Path) -> None:
    """On a terminal times are times, and a table has the columns that the screen holds, what is asked
    for most in front; every column is there behind \\G, and in other formats as Hive has them."""
    [(enqueued,)] = _compacted(beside, "enqueuetime")
    moment = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(enqueued / 1000))
    with Terminal(tmp_path, *LOCAL, columns=80) as terminal:
        terminal.wait_for(PROMPT)
        shown = terminal.run("SHOW COMPACTIONS;", until="1 row, 6 of 20 columns (")
        assert all(len(line) <= 80 for line in shown.splitlines() if line.startswith(("|", "+")))
        assert "| compactionid | tabname   | partname | type " in shown
        assert moment in shown
        shown = terminal.run("SHOW COMPACTIONS\\G", until="1 row (")
        assert f"enqueuetime      {moment}" in shown
        assert "hightestwriteid" in shown
        beside.begin()
        beside.sql("INSERT INTO wide SELECT * FROM wide")
        shown = terminal.run("SHOW LOCKS;", until=" columns (")
        assert "lock_state" in shown
        shown = terminal.run("SHOW LOCKS\\G", until="rows (" if "2 rows" in shown else "row (")
        assert re.search(r"acquired_at     \d{4}-\d\d-\d\d \d\d:\d\d:\d\d", shown)
        beside.rollback()
        terminal.run("SHOW COMPACTIONS;", until="1 row, 6 of 20 columns (")
        shown = terminal.run(".last csv", until="1 row (")
        assert f",{enqueued}," in shown
        terminal.type("\x04")
        assert terminal.close() == 0


def _compacted(session: Session, column: str) -> list[tuple[int]]:
    """What SHOW COMPACTIONS tells in a column of numbers once one has been asked for."""
    session.sql("ALTER TABLE customers COMPACT 'minor' AND WAIT")
    result = session.sql("SHOW COMPACTIONS")
    at = [one.name for one in result.columns].index(column)
    return [(int(row[at]),) for row in result.rows()]


def test_an_error_fits_the_screen(beside: Session, tmp_path: Path) -> None:
    """The line is cut around the place, wide characters counted, and the carets stand below it."""
    with Terminal(tmp_path, *LOCAL, columns=50) as terminal:
        terminal.wait_for(PROMPT)
        text = f"SELECT '{'日本語' * 20}', nope, '{'日本語' * 20}' FROM customers;"
        terminal.type(f"{text}\r")
        terminal.wait_for('column "nope" does not exist')
        shown = terminal.wait_for("\n\x1b").split("\n")
        [quoted] = [line for line in shown if line.startswith("  line 1: ")]
        carets = shown[shown.index(quoted) + 1]
        assert display_width(quoted) <= 50
        assert display_width(quoted[: quoted.index("nope")]) == carets.index("^^^^")
        terminal.wait_for(PROMPT)
        terminal.type("\x04")
        assert terminal.close() == 0


@pytest.mark.parametrize("editor", [True, False], ids=["prompt_toolkit", "lines"])
def test_what_is_typed_ahead_is_at_the_next_prompt(
    beside: Session, tmp_path: Path, editor: bool
) -> None:
    """The line that shows how far a statement is does not mix with it; nothing of it is lost."""
    module = {} if editor else {"module": "tests.cli.without_toolkit"}
    with Terminal(tmp_path, "--lazy-spark", *LOCAL, **module) as terminal:
        terminal.wait_for(PROMPT)
        beside.begin()
        beside.sql("INSERT INTO customers VALUES (99, 'x', 'y')")
        terminal.type("DROP TABLE customers;\r")
        terminal.wait_for("running, 1 s")
        terminal.type("SHOW TAB")
        before = terminal.wait_for("running, 2 s")
        terminal.type("LES;")
        before += terminal.wait_for("running, 3 s")
        beside.rollback()
        before += terminal.wait_for("done; ")
        assert "SHOW" not in before
        terminal.wait_for(PROMPT)
        terminal.wait_for("LES")
        terminal.type("\r")
        assert "wide" in terminal.wait_for("1 row (")
        terminal.wait_for(PROMPT)
        terminal.type("\x04")
        assert terminal.close() == 0


def test_every_row_is_deleted_only_if_that_is_meant(beside: Session, tmp_path: Path) -> None:
    """DELETE without WHERE asks: a mere Enter leaves the rows, yes deletes them; not where the
    setting is off."""
    with Terminal(tmp_path, *LOCAL) as terminal:
        terminal.wait_for(PROMPT)
        terminal.type("DELETE FROM wide;\r")
        terminal.wait_for("DELETE without WHERE deletes every row of wide")
        terminal.wait_for("[y/N/d] ")
        terminal.run("", until="not run")
        assert beside.sql("SELECT count(*) FROM wide").to_arrow()[0][0].as_py() == 1
        terminal.run("SET acidsql.shell.careful=false;", until="done")
        terminal.run("UPDATE wide SET column_1 = 1;", until="1 row updated")
        terminal.run("SET acidsql.shell.careful=true;", until="done")
        terminal.type("DELETE FROM wide;\r")
        terminal.wait_for("[y/N/d] ")
        terminal.run("y", until="1 row deleted")
        terminal.type("\x04")
        assert terminal.close() == 0


def test_ctrl_c_gives_the_prompt_back(beside: Session, tmp_path: Path) -> None:
    """However often it is pressed: in a command of the system, while a statement waits for a lock,
    at a question, while rows are printed; the shell goes on, and nothing of the statement is done."""
    with Terminal(tmp_path, *LOCAL) as terminal:
        terminal.wait_for(PROMPT)
        terminal.type(".sh echo $((111*111)); sleep 60\r")
        terminal.wait_for("12321")
        _interrupt(terminal)
        beside.begin()
        beside.sql("INSERT INTO customers VALUES (99, 'x', 'y')")
        terminal.type("DROP TABLE customers;\r")
        terminal.wait_for("running, 1 s")
        _interrupt(terminal, times=20)
        beside.rollback()
        terminal.type("DELETE FROM wide;\r")
        terminal.wait_for("[y/N/d] ")
        _interrupt(terminal)
        rows = ", ".join(f"({i}, '{'x' * 200}')" for i in range(1000))
        beside.sql(f"CREATE TABLE many (id INT, name STRING) {ACID}")
        beside.sql(f"INSERT INTO many VALUES {rows}")
        terminal.run("SET acidsql.shell.rows=0;", until="done")
        terminal.type("SELECT * FROM many;\r")
        terminal.wait_for("|   1 |")
        _interrupt(terminal, times=3)
        shown = terminal.run("SHOW TABLES;", until="3 rows (")
        assert "customers" in shown
        terminal.type("\x04")
        assert terminal.close() == 0


@pytest.mark.spark
def test_ctrl_c_does_not_wait_for_spark_to_start(beside: Session, tmp_path: Path) -> None:
    """A statement that needs Spark is given up while Spark looks for a master that never answers,
    as often as it is asked for; the shell goes on, and ends."""
    with socket.create_server(("127.0.0.1", 0)) as master:
        address = f"spark://127.0.0.1:{master.getsockname()[1]}"
        with Terminal(tmp_path, "--master", address) as terminal:
            terminal.wait_for(PROMPT)
            terminal.type("SELECT count(*) AS c FROM wide LATERAL VIEW explode(array(1)) e AS n;\r")
            terminal.wait_for("waiting for Spark to start: what stands behind FROM")
            master.settimeout(60)
            silent, _ = master.accept()
            with silent:
                terminal.type("\x03")
                terminal.wait_for("interrupted", seconds=10)
                terminal.wait_for(PROMPT)
                terminal.type("SELECT uuid();\r")
                terminal.wait_for("waiting for Spark to start")
                terminal.type("\x03")
                terminal.wait_for("interrupted", seconds=10)
                terminal.wait_for(PROMPT)
                terminal.run("SHOW TABLES;", until="2 rows (")
                terminal.type("\x04")
                assert terminal.close() == 0


def _interrupt(terminal: Terminal, times: int = 1) -> None:
    """Presses Ctrl-C and waits for the prompt."""
    terminal.type("\x03" * times)
    terminal.wait_for("interrupted")
    terminal.wait_for(PROMPT)
