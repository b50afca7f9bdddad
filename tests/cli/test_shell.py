"""The prompt, with plain lines and on a real pseudo-terminal."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from acidsql.cli.console import Console
from acidsql.cli.runner import Runner
from acidsql.cli.shell.loop import prompt, run_shell
from acidsql.cli.shell.reading import LinesReader, is_whole
from acidsql.session import Session
from tests.cli.terminal import Terminal

CREATE = "CREATE TABLE t (id INT) STORED AS ORC TBLPROPERTIES ('transactional'='true');"


class Typist:
    """Types lines and remembers the prompts it was shown."""

    def __init__(self, *lines: str) -> None:
        self.lines = list(lines)
        self.prompts: list[str] = []

    def __call__(self, shown: str) -> str:
        self.prompts.append(shown)
        if not self.lines:
            raise EOFError
        return self.lines.pop(0)


@pytest.fixture
def session(warehouse: Path) -> Iterator[Session]:
    with Session(str(warehouse)) as opened:
        yield opened


def type_lines(session: Session, *lines: str) -> tuple[str, str, list[str]]:
    """stdout, stderr and the prompts of a shell into which the lines were typed."""
    rows, notes, typist = io.StringIO(), io.StringIO(), Typist(*lines)
    run_shell(
        Runner(session=session, console=Console(rows, notes)),
        LinesReader(typist),
        start_spark=False,
    )
    return rows.getvalue(), notes.getvalue(), typist.prompts


def test_a_statement_may_take_several_lines(session: Session) -> None:
    """Lines are read until the semicolon; the continuation has a prompt of its own."""
    rows, _, prompts = type_lines(session, "SHOW", "  DATABASES", ";")
    assert rows == "default\n"
    assert prompts == ["acidsql (default)> ", "     ... ", "     ... ", "acidsql (default)> "]


def test_a_line_that_is_not_utf8_is_refused(session: Session) -> None:
    """Its byte is told at its place, and the shell goes on."""

    class Terminal(Typist):
        def __call__(self, shown: str) -> str:
            return super().__call__(shown).encode(errors="surrogateescape").decode()

    rows, notes = io.StringIO(), io.StringIO()
    runner = Runner(session=session, console=Console(rows, notes))
    lines = ("SET", "x=\udcff;", "SHOW DATABASES;")
    run_shell(runner, LinesReader(Terminal(*lines)), start_spark=False)
    assert "error: byte 0xff is not UTF-8 (line 2, column 3)" in notes.getvalue()
    assert rows.getvalue() == "default\n"


def test_the_prompt_shows_the_database(session: Session) -> None:
    """USE shows in the next prompt."""
    session.sql("CREATE DATABASE sales")
    session.sql("USE sales")
    assert prompt(session) == "acidsql (sales)> "


def test_the_prompt_shows_an_open_transaction(session: Session) -> None:
    """A star from START TRANSACTION, or the first statement without autocommit, to the end."""
    insert = "INSERT INTO t VALUES (1);"
    plain, star = "acidsql (default)> ", "acidsql (default)*> "
    _, _, prompts = type_lines(
        session, CREATE, "BEGIN;", insert, "COMMIT;", "SET AUTOCOMMIT FALSE;", insert, "ROLLBACK;"
    )
    assert prompts == [plain, plain, star, star, plain, plain, star, plain]


@pytest.mark.parametrize("line", ["quit", None], ids=["quit", "end of input"])
def test_leaving_rolls_back(session: Session, warehouse: Path, line: str | None) -> None:
    """What was not committed is gone, and the user is told; where nothing was changed there is
    nothing to tell.
    """
    _, notes, _ = type_lines(
        session, CREATE, "BEGIN;", "INSERT INTO t VALUES (1);", *filter(None, [line])
    )
    assert notes.endswith("the open transaction was rolled back\n")
    assert not session.in_transaction
    assert list((warehouse / "t").iterdir()) == []
    assert "rolled back" not in type_lines(session, "BEGIN;", *filter(None, [line]))[1]


def test_an_error_does_not_end_the_shell(session: Session) -> None:
    """A failed statement drops the rest of its line and nothing else."""
    rows, notes, _ = type_lines(session, "DESCRIBE nothing; SHOW DATABASES;", "SHOW DATABASES;")
    assert rows == "default\n"
    assert "nothing" in notes


def test_backslash_g_turns_the_table(session: Session) -> None:
    r"""``\G`` instead of ``;`` shows a line a column."""
    assert type_lines(session, "SHOW DATABASES\\G")[0] == "database_name  default\n\n"


@pytest.mark.parametrize("word", ["quit", "exit;", ".quit", "!q", "  QUIT ; "])
def test_there_are_many_ways_out(session: Session, word: str) -> None:
    """Each of them leaves what comes behind unread."""
    assert type_lines(session, word, "SHOW DATABASES;")[0] == ""


def test_commands(session: Session, tmp_path: Path) -> None:
    """.tables, .schema, .mode, .timer, source and the shell."""
    (tmp_path / "s.sql").write_text("SHOW TABLES;")
    rows, notes, _ = type_lines(
        session,
        CREATE,
        ".tables",
        ".tables x*",
        ".mode json",
        f"source {tmp_path}/s.sql;",
        ".timer off",
        "SHOW TABLES;",
        "!sh echo $((1+1))",
    )
    assert rows == 't\n{"tab_name": "t"}\n{"tab_name": "t"}\n2\n'
    assert notes.endswith("1 row\n")
    rows, _, _ = type_lines(session, ".schema t")
    assert rows.startswith("CREATE TABLE")


def test_lines_pasted_together_are_a_script(session: Session) -> None:
    """A paste of commands and statements runs each line as what it is."""
    lines = [".sh echo it's; true '", ".mode json", "SHOW DATABASES;", "SHOW DATABASES\\G"]
    rows, notes, _ = type_lines(session, "\n".join(lines))
    assert rows == "its; true \n" + '{"database_name": "default"}\n' + "database_name  default\n\n"
    assert "error" not in notes


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (".nonsense", 'unknown command ".nonsense"'),
        (".mode xml", 'unknown output format "xml"'),
        (".timer maybe", "on or off"),
        ("source /not/there.sql;", 'cannot read "/not/there.sql"'),
        ("!sh exit 3", "exit code 3"),
        (".help", ".schema TABLE"),
    ],
)
def test_commands_explain_themselves(session: Session, line: str, told: str) -> None:
    """A command that cannot be done says why, and the shell goes on."""
    rows, notes, _ = type_lines(session, line, "SHOW DATABASES;")
    assert told in notes
    assert rows == "default\n"


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("", True),
        ("SELECT 1", False),
        ("SELECT 1;", True),
        ("SELECT ';", False),
        ("SELECT 1 -- ;", False),
        ("SELECT 1\\G", True),
        ("SELECT '\\G", False),
        (".tables", True),
        ("source x.sql", True),
        ("exit", True),
        ("exit_code", False),
        ("-- c\n.tables", True),
        (".sh echo 'it", True),
        (".tables\nSELECT 1", False),
        ("SELECT 1\n.tables", False),
        ("SELECT '\n.tables", False),
        ("/*\n.tables", False),
    ],
)
def test_enter_ends_a_whole_input(text: str, whole: bool) -> None:
    """A semicolon ends a statement unless it stands in quotes or a comment; commands need none."""
    assert is_whole(text) is whole


# -- a real terminal


@pytest.mark.processes
def test_a_terminal_gets_a_prompt_a_table_and_a_history(tmp_path: Path) -> None:
    """On a terminal: a prompt, several lines to a statement, a framed table, Ctrl-C giving up a
    line, Ctrl-D leaving.
    """
    with Session(tmp_path / "warehouse") as session:
        session.sql("CREATE TABLE t (id INT) STORED AS ORC")
    with Terminal(tmp_path) as terminal:
        terminal.wait_for("acidsql (default)>")
        terminal.type("SHOW\r")
        terminal.wait_for("     ...")
        terminal.type("DATABASES;\r")
        terminal.wait_for("| database_name |")
        terminal.wait_for("| default       |")
        terminal.wait_for("1 row (")
        terminal.wait_for("acidsql (default)>")
        terminal.type("SELECT nonsense\x03")
        terminal.wait_for("interrupted")
        terminal.wait_for("acidsql (default)>")
        terminal.type("USE nowhere;\r")
        terminal.wait_for("error: ")
        terminal.wait_for("acidsql (default)>")
        terminal.type("\x04")
        assert terminal.close() == 0
        assert "+DATABASES;" in (tmp_path / "state" / "acidsql" / "history").read_text()


@pytest.mark.processes
def test_ctrl_r_searches_the_history(tmp_path: Path) -> None:
    """Ctrl-R looks back for what is typed, with an empty prompt and in the second line of a
    statement; what it brings back can be run, and Ctrl-G gives the search up."""
    with Session(tmp_path / "warehouse") as session:
        session.sql("CREATE TABLE t (id INT) STORED AS ORC")
    with Terminal(tmp_path) as terminal:
        terminal.wait_for("acidsql (default)>")
        terminal.type("SHOW DATABASES LIKE 'def*';\r")
        terminal.wait_for("1 row (")
        terminal.wait_for("acidsql (default)>")
        terminal.type("\x12")
        terminal.wait_for("reverse-i-search")
        terminal.type("LIKE 'd")
        terminal.wait_for("LIKE 'd")
        terminal.type("\r\r")
        terminal.wait_for("1 row (")
        terminal.wait_for("acidsql (default)>")
        terminal.type("SHOW\r")
        terminal.wait_for("     ...")
        terminal.type("\x12")
        terminal.wait_for("reverse-i-search")
        terminal.type("nothing of the kind\x07")
        terminal.wait_for("     ...")
        terminal.type("DATABASES LIKE 'x*';\r")
        terminal.wait_for("0 rows (")
        terminal.wait_for("acidsql (default)>")
        terminal.type("\x04")
        assert terminal.close() == 0


@pytest.mark.processes
def test_an_init_script_comes_before_the_prompt(tmp_path: Path) -> None:
    """-i on a terminal runs first and the prompt shows what it did; quit leaves."""
    (tmp_path / "init.sql").write_text("CREATE DATABASE sales; USE sales;")
    with Terminal(tmp_path, "-i", "init.sql", "-S") as terminal:
        terminal.wait_for("acidsql (sales)>")
        terminal.type("quit\r")
        assert terminal.close() == 0


@pytest.mark.processes
@pytest.mark.spark
def test_a_statement_that_waits_for_spark_says_so_and_can_be_given_up(tmp_path: Path) -> None:
    """While Spark starts: what needs none is answered; what does says that it waits, and why;
    Ctrl-C brings the prompt back; leaving is clean."""
    (tmp_path / "tmp").mkdir()
    with Terminal(tmp_path, start_spark=True, TMPDIR=str(tmp_path / "tmp")) as terminal:
        terminal.wait_for("acidsql (default)>")
        terminal.type(f"{CREATE} INSERT INTO t VALUES (1); SELECT id + 41 FROM t;\r")
        terminal.wait_for("42 |")
        terminal.wait_for("acidsql (default)>")
        terminal.type("SELECT id FROM t LATERAL VIEW explode(array(1)) e AS n;\r")
        terminal.wait_for("waiting for Spark to start: what stands behind FROM")
        terminal.type("\x03")
        terminal.wait_for("interrupted")
        terminal.wait_for("acidsql (default)>")
        terminal.type("quit;\r")
        assert terminal.close() == 0
        assert "Traceback" not in terminal.seen
    assert list((tmp_path / "tmp").iterdir()) == []
