"""The commands of the shell, and what it asks before every row is changed."""

from __future__ import annotations

import csv
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from acidsql.catalog.model import Column
from acidsql.catalog.types import parse_type
from acidsql.cli.commands.csv_file import Counted, CsvFile
from acidsql.cli.commands.help import help_of_statement, help_text, statement_sections
from acidsql.cli.shell.loop import prompt
from acidsql.session import Session
from tests.cli.test_shell import type_lines

CREATE = (
    "CREATE TABLE t (id INT, name STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true');"
)


@pytest.fixture
def session(warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    """A session in a directory of its own, whose user has configured nothing."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    with Session(str(warehouse), settings={"acidsql.engine": "local"}) as opened:
        yield opened


def test_output_goes_to_a_file(session: Session, tmp_path: Path) -> None:
    """.output takes rows until it is ended, .once those of one statement; a file that cannot be
    written is told."""
    rows, notes, _ = type_lines(
        session,
        ".output a.txt",
        "SHOW DATABASES;",
        ".output",
        ".once b.txt",
        "SHOW DATABASES;",
        "SHOW DATABASES;",
        ".output no/such/c.txt",
    )
    assert rows == "default\n"
    assert (tmp_path / "a.txt").read_text() == (tmp_path / "b.txt").read_text() == "default\n"
    assert 'cannot write "no/such/c.txt"' in notes


def test_the_last_rows_are_shown_again(session: Session) -> None:
    """.last does not run the query, in another format if one is named; without a query there is
    nothing to show."""
    rows, notes, _ = type_lines(
        session, ".last", CREATE, "INSERT INTO t VALUES (1, 'a');", "SELECT * FROM t;",
        "DELETE FROM t WHERE id = 1;", ".last json", ".last",
    )  # fmt: skip
    assert rows == '1\ta\n{"id": 1, "name": "a"}\n1\ta\n'
    assert "there was no query yet" in notes


def test_columns_are_walked_through(session: Session) -> None:
    """Without a screen all are one page; behind the last and before the first there is none, and
    another query begins anew."""
    rows, notes, _ = type_lines(
        session, ".right", "SELECT 1 AS a, 'x' AS b;", ".left", ".right", ".right",
        "SET acidsql.shell.types=true;", "SELECT 2 AS c;", ".right",
    )  # fmt: skip
    table = "+---+---+\n| a | b |\n+---+---+\n| 1 | x |\n+---+---+\n"
    assert rows == f"1\tx\n{table}2\n+-----+\n| c   |\n| int |\n+-----+\n|   2 |\n+-----+\n"
    assert "there was no query yet" in notes
    assert notes.count("there are no columns to the left") == 1
    assert notes.count("there are no columns to the right") == 1
    assert "columns 1 to 2 of 2" in notes


def test_explain_is_about_the_last_statement(session: Session) -> None:
    """.explain shows its plan, or that of the statement that follows; .locks and .describe are
    statements too, and none of them is the last statement."""
    rows, notes, _ = type_lines(
        session, ".explain", CREATE, "SELECT count(*) FROM t;", ".locks", ".describe t", ".explain",
        ".explain DELETE FROM t WHERE id = 1;",
    )  # fmt: skip
    assert "there was no statement yet" in notes
    assert "id\tint\t\n" in rows
    assert "SELECT" in rows.partition("name\tstring\t\n")[2]
    assert "DELETE FROM default.t" in rows


def test_timing_is_turned_on_and_off(session: Session) -> None:
    r"""psql's ``\timing`` turns it over."""
    _, notes, _ = type_lines(session, "\\timing", "SHOW DATABASES;", "\\timing", "SHOW DATABASES;")
    assert "timing is off\n1 row\n" in notes
    assert "1 row (" in notes


def test_history_has_the_inputs(session: Session) -> None:
    """The last ones with their numbers, lines under each other."""
    rows, _, _ = type_lines(session, "SHOW", "DATABASES;", "SHOW TABLES;", ".history 2")
    assert rows.endswith("    2  SHOW TABLES;\n    3  .history 2\n")
    rows, _, _ = type_lines(session, "SHOW", "DATABASES;", ".history")
    assert "    1  SHOW\n       DATABASES;\n" in rows


def test_an_editor_changes_the_last_statement(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it leaves runs; what it leaves as it was does not, nor where it fails."""
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", "sed -i s/DATABASES/TABLES/")
    rows, notes, _ = type_lines(session, CREATE, "SHOW DATABASES;", ".edit", ".edit", ".edit 2")
    assert rows == "default\nt\nt\n"
    assert "nothing was changed, nothing runs" in notes
    monkeypatch.setenv("EDITOR", "false")
    rows, notes, _ = type_lines(session, "SHOW DATABASES;", ".edit", ".edit 77")
    assert rows == "default\n"
    assert 'the editor "false" ended with exit code 1' in notes
    assert "the history has no input 77" in notes


def test_named_queries(session: Session) -> None:
    """They are kept over sessions, have variables for one run, and are listed and forgotten."""
    type_lines(session, CREATE, "INSERT INTO t VALUES (1, 'a'), (2, 'b');")
    type_lines(
        session, ".save one SELECT name FROM t WHERE id = ${id}", "SHOW TABLES;", ".save two"
    )
    rows, notes, _ = type_lines(
        session, ".query one id=2", ".query two", ".query", ".query one", ".forget two",
        ".query two", ".save a/b",
    )  # fmt: skip
    assert rows == "b\nt\n"
    assert "one: SELECT name FROM t WHERE id = ${id};\ntwo: SHOW TABLES;\n" in notes
    assert 'variable "id" is undefined' in notes
    assert 'there is no query "two"' in notes
    assert '"a/b" is no name' in notes


@pytest.mark.parametrize("command", [".edit", ".history"])
def test_what_needs_a_person_says_so_in_a_script(session: Session, command: str) -> None:
    """A script that asks for an editor is told that there is none, and does not hang."""
    import io

    from acidsql.cli.console import Console
    from acidsql.cli.runner import Runner, Script

    notes = io.StringIO()
    assert not Runner(session=session, console=Console(io.StringIO(), notes)).run(Script(command))
    assert f'"{command}" works at a prompt only' in notes.getvalue()


# -- CSV


def test_csv_comes_back_as_it_went(session: Session, tmp_path: Path) -> None:
    """Quotes, commas, ends of lines, NULL and the word NULL: what .once writes .import reads."""
    values = "(1, 'a, \"b\"'), (2, NULL), (3, 'NULL'), (4, 'two\\nlines'), (5, ''), (6, 'ü')"
    _, notes, _ = type_lines(
        session, CREATE, CREATE.replace("TABLE t", "TABLE u"), f"INSERT INTO t VALUES {values};",
        ".mode csv", ".header on", ".once t.csv", "SELECT * FROM t;", ".import t.csv u",
    )  # fmt: skip
    assert notes.endswith("6 rows inserted\n")
    assert list(session.sql("SELECT * FROM u").rows()) == list(
        session.sql("SELECT * FROM t").rows()
    )
    with (tmp_path / "t.csv").open(newline="") as file:
        assert next(csv.reader(file)) == ["id", "name"]


def test_import_takes_all_rows_or_none(session: Session, tmp_path: Path) -> None:
    """A row with a cell too many, a value that does not fit, a text that is none: each is told by
    its line, however far behind it is, and nothing is inserted."""
    good = "".join(f'{i},"x\n,y"\n' for i in range(6000))
    (tmp_path / "bad.csv").write_text(good + "\n1,2,3\n")
    (tmp_path / "odd.csv").write_text(f"id,name\n{good}12345678901,x\n")
    (tmp_path / "bytes.csv").write_bytes(good.encode() + b"1,a\n2,\xff\n")
    (tmp_path / "empty.csv").write_text("1,a\n,b\n")
    (tmp_path / "other.csv").write_text("a\n")
    _, notes, _ = type_lines(session, CREATE, ".import other.csv t", ".import x.csv t")
    assert 'the first line of "other.csv" has 1 cell, the table 2 columns' in notes
    assert 'cannot read "x.csv"' in notes
    files = ("bad", "odd", "bytes", "empty")
    _, notes, _ = type_lines(session, *(f".import {name}.csv t" for name in files))
    assert 'line 12002 of "bad.csv" has 3 cells instead of 2' in notes
    assert 'line 12002 of "odd.csv": column "id" of type int cannot hold "12345678901"' in notes
    assert 'line 12002 of "bytes.csv" is not UTF-8' in notes
    assert 'line 2 of "empty.csv": column "id" of type int cannot hold ""' in notes
    assert list(session.sql("SELECT count(*) FROM t").rows()) == [(0,)]
    _, notes, _ = type_lines(session, ".null ''", ".import empty.csv t")
    assert "2 rows inserted" in notes
    assert list(session.sql("SELECT * FROM t").rows()) == [(1, "a"), (None, "b")]


def test_import_names_a_file_that_is_no_csv(session: Session, tmp_path: Path) -> None:
    """Parquet and ORC are told by their first bytes, with the statement that takes their rows."""
    import pyarrow as pa
    from pyarrow import orc, parquet

    rows = pa.table({"id": pa.array([1], pa.int32()), "name": ["a"]})
    parquet.write_table(rows, tmp_path / "rows.csv")
    orc.write_table(rows, tmp_path / "rows.orc")
    _, notes, _ = type_lines(session, CREATE, ".import rows.csv t", ".import rows.orc t")
    assert '"rows.csv" is no CSV: it is Parquet' in notes
    assert f"INSERT INTO default.t SELECT .. FROM parquet.`{tmp_path / 'rows.csv'}`." in notes
    assert '"rows.orc" is no CSV: it is ORC' in notes
    assert list(session.sql("SELECT count(*) FROM t").rows()) == [(0,)]


def test_import_makes_a_table_that_is_not_there(session: Session, tmp_path: Path) -> None:
    """Of CSV by its first line, of other formats by name or by their first bytes; NULL as the shell
    writes it comes back. What cannot be read makes none.
    """
    import pyarrow as pa
    from pyarrow import parquet

    (tmp_path / "people.txt").write_text('id,name\n1,"NULL"\n,NULL\n')
    (tmp_path / "lines.jsonl").write_text('{"a":1.5}\n')
    parquet.write_table(pa.table({"k": [1]}), tmp_path / "rows.csv")
    _, notes, _ = type_lines(
        session, ".import people.txt made;", ".import lines.jsonl default.lines",
        ".import rows.csv parted", ".import none.csv nothing",
    )  # fmt: skip
    assert notes.count("2 rows inserted") == 1
    assert session.sql("SELECT * FROM made").fetchall() == [(1, "NULL"), (None, None)]
    assert session.sql("SELECT * FROM lines").fetchall() == [(1.5,)]
    assert session.sql("SELECT * FROM parted").fetchall() == [(1,)]
    assert 'cannot read "none.csv"' in notes
    session.sql("UPDATE made SET id = 2 WHERE id IS NULL")
    assert sorted(session.sql("SHOW TABLES")) == [("lines",), ("made",), ("parted",)]


def test_how_much_is_read_is_known(tmp_path: Path) -> None:
    """For the line on the terminal: nothing at first, all of it in the end."""
    path = tmp_path / "large.csv"
    path.write_text("".join(f"{i},{'x' * 100}\n" for i in range(30_000)))
    columns = [Column(name=n, type=parse_type(t)) for n, t in (("id", "int"), ("name", "string"))]
    counted = Counted()
    file = CsvFile(path=str(path), columns=columns, skipped=0, null="NULL", counted=counted)
    reader = file.reader()
    assert counted.bytes == 0
    assert reader.read_all().num_rows == 30_000
    assert counted.bytes == path.stat().st_size


CELLS = {
    "tinyint": ["1", "-128", " 7 ", "+5"],
    "bigint": ["9223372036854775807", "-9223372036854775808", "12"],
    "float": ["0.1", "3.4028234e38", "16777217", "inf", "1e-3"],
    "double": ["0.1", "1e300", "-.5", "nan", "0.12345678901234567"],
    "decimal(6,2)": ["1", "-9999.99", "1e2", "0.5", " 1.256 "],
    "boolean": ["true", "F", "yes", "0"],
    "date": ["2024-02-29", "2024-2-9", "1999"],
    "timestamp": ["2024-01-02 03:04:05", "2024-01-02T03:04:05.123456", "2024-1-2", "1969-12-31 01:02:03"],
    "char(3)": ["a", "abc ", ""],
    "varchar(3)": ["abc", "äöü"],
    "binary": ["ab", ""],
}  # fmt: skip


@pytest.mark.parametrize("hive_type", CELLS)
def test_cells_are_what_literals_are(session: Session, tmp_path: Path, hive_type: str) -> None:
    """A cell is stored as the INSERT of its text stores it, in each of its forms."""
    session.sql(f"CREATE TABLE c (id INT, v {hive_type}) STORED AS ORC")
    session.sql(f"CREATE TABLE l (id INT, v {hive_type}) STORED AS ORC")
    cells = list(enumerate([*CELLS[hive_type], None]))
    with (tmp_path / "c.csv").open("w", newline="") as file:
        csv.writer(file).writerows((i, "NULL" if cell is None else cell) for i, cell in cells)
    _, notes, _ = type_lines(session, ".import c.csv c")
    assert f"{len(cells)} rows inserted" in notes
    certain = [(i, cell) for i, cell in cells if cell not in ("3.4028234e38", "16777217")]
    session.sql(f"INSERT INTO l VALUES {', '.join(str((i, cell)) if cell is not None else f'({i}, NULL)' for i, cell in certain)}")  # fmt: skip
    stored = {row[0]: row[1] for row in session.sql("SELECT * FROM c").rows()}
    for i, value in session.sql("SELECT * FROM l").rows():
        assert stored[i] == value or value != value
    if hive_type == "float":
        assert stored[1] == float(np.float32("3.4028234e38"))
        assert stored[2] == 16777216.0


@pytest.mark.parametrize(
    ("hive_type", "cell"),
    [
        ("tinyint", "128"), ("int", "1.5"), ("int", "2147483648"), ("decimal(4,2)", "100"),
        ("date", "2024-02-30"), ("timestamp", "2024-02-30 01:02:03"), ("boolean", "maybe"),
        ("timestamp", "2024-01-02T03:04:05Z"), ("varchar(2)", "abc"), ("double", "x"),
    ],
)  # fmt: skip
def test_a_cell_that_does_not_fit_is_refused(
    session: Session, tmp_path: Path, hive_type: str, cell: str
) -> None:
    """Its line is told, and nothing becomes NULL or shorter."""
    session.sql(f"CREATE TABLE c (v {hive_type}) STORED AS ORC")
    (tmp_path / "c.csv").write_text(f"v\nNULL\n{cell}\n")
    _, notes, _ = type_lines(session, ".import c.csv c")
    assert f'line 3 of "c.csv": column "v" of type {hive_type} cannot hold "{cell}"' in notes
    assert list(session.sql("SELECT * FROM c").rows()) == []


def test_load_of_quoted_csv_says_how(session: Session, tmp_path: Path) -> None:
    """The quotes become part of the values, as in Hive, with a warning that names the other way;
    tables of other formats refuse the file with a hint."""
    (tmp_path / "a.csv").write_text('1,"a, b"\n')
    (tmp_path / "b.csv").write_text("1,b\n")
    text = "CREATE TABLE x (id INT, name STRING) ROW FORMAT DELIMITED FIELDS TERMINATED BY ',' STORED AS TEXTFILE;"
    load = "LOAD DATA LOCAL INPATH '{}.csv' INTO TABLE {};"
    _, notes, _ = type_lines(session, text, load.format("a", "x"))
    assert '".import a.csv x" reads them as CSV' in notes
    assert "warning" not in type_lines(session, load.format("b", "x"))[1]
    assert ".import FILE TABLE" in type_lines(session, CREATE, load.format("a", "t"))[1]


def test_ctrl_c_at_the_prompt_breaks_no_commit(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the commit nothing is done; from then on the statement is carried out, and said so."""
    pressed = []

    def reached(point: str) -> None:
        if point in ("written", "committed") and point not in pressed:
            pressed.append(point)
            signal.raise_signal(signal.SIGINT)

    insert = "INSERT INTO t VALUES (1, 'a');"
    type_lines(session, CREATE)
    monkeypatch.setattr("acidsql.crash_points.hook", reached)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        rows, notes, _ = type_lines(session, insert, "SELECT * FROM t;", insert, "SELECT * FROM t;")
    finally:
        signal.signal(signal.SIGINT, before)
    assert pressed == ["written", "committed"]
    assert rows == "1\ta\n"
    told = [line for line in notes.splitlines() if line.startswith("interrupted")]
    assert told == ["interrupted", "interrupted; the statement had been carried out"]


# -- care


def test_a_change_of_every_row_is_asked_about(session: Session) -> None:
    """Whatever is no yes leaves the rows and drops the rest of the input; a dry run tells and asks
    again; with WHERE nobody is asked, nor where the setting is off."""
    insert = "INSERT INTO t VALUES (1, 'a'), (2, 'b');"
    _, notes, prompts = type_lines(
        session,
        CREATE,
        insert,
        "DELETE FROM t; SHOW DATABASES;",
        "",
        "UPDATE t SET name = 'x';",
        "n",
    )
    assert "warning: DELETE without WHERE deletes every row of t\nnot run\n" in notes
    assert "warning: UPDATE without WHERE changes every row of t\nnot run\n" in notes
    assert "run it? yes, no, or dry run first [y/N/d] " in prompts
    assert list(session.sql("SELECT * FROM t").rows()) == [(1, "a"), (2, "b")]
    _, notes, _ = type_lines(
        session, "UPDATE t SET name = 'x' WHERE id = 1;", "DELETE FROM t;", "y"
    )
    assert "1 row updated" in notes
    assert "2 rows deleted" in notes
    _, notes, _ = type_lines(session, "SET acidsql.shell.careful=false;", "DELETE FROM t;")
    assert "warning" not in notes


@pytest.mark.spark
def test_a_dry_run_comes_before_the_answer(session: Session, tmp_path: Path) -> None:
    """It tells how many rows there are, and leaves them where the second answer is no."""
    session.settings.set("acidsql.engine", "auto")
    rows, notes, _ = type_lines(
        session, CREATE, "INSERT INTO t VALUES (1, 'a');", "DELETE FROM t;", "d", "n"
    )
    assert "DELETE FROM default.t: 1 row" in rows
    assert notes.endswith("not run\n")
    assert list(session.sql("SELECT id FROM t").rows()) == [(1,)]


def test_the_prompt_shows_a_lost_transaction(session: Session) -> None:
    """An exclamation mark once others have ended it, until ROLLBACK."""
    type_lines(session, CREATE)
    session.begin()
    session.sql("INSERT INTO t VALUES (1, 'a')")
    assert prompt(session) == "acidsql (default)*> "
    with session.open_beside() as beside:
        [txn] = [row[0] for row in beside.sql("SHOW TRANSACTIONS").rows() if str(row[0]).isdigit()]
        beside.sql(f"ABORT TRANSACTIONS {txn}")
    assert prompt(session) == "acidsql (default)!> "
    session.rollback()
    assert prompt(session) == "acidsql (default)> "


# -- help


def test_help_tells_how_statements_are_written(session: Session) -> None:
    """help with the beginning of a statement; of several only their synopses; .help of a command;
    what there is no help for is told."""
    _, notes, _ = type_lines(
        session, "help delete;", "help show;", ".help .mode", "help frobnicate;", "help;"
    )
    assert "DELETE FROM table [[AS] name] [WHERE condition] [RETURNING r" in notes
    assert "Deletes rows" in notes
    assert "SHOW TABLES" in notes
    assert "SHOW LOCKS" in notes
    assert ".mode [FORMAT]\n  output format" in notes
    assert 'there is no help for "frobnicate"' in notes
    assert ".schema TABLE" in notes


def test_there_is_help_for_every_section_of_the_page() -> None:
    """Each statement of docs/statements.md by its heading, without marks of the page's language."""
    assert len(statement_sections()) > 50
    for section in statement_sections():
        text = help_of_statement(section.title)
        assert section.synopsis in text
        assert "```" not in text
        assert "](" not in text


def test_help_is_broken_between_words() -> None:
    """Paragraphs fit a screen; synopses and examples keep their lines. So does the list of commands."""
    text, whole = help_of_statement("truncate", 60), help_of_statement("truncate")
    prose = [line for line in text.splitlines() if not line.startswith((" ", "TRUNCATE"))]
    assert max(map(len, prose)) <= 60 < max(map(len, whole.splitlines()))
    assert text.split() == whole.split()
    for width in (50, 80):
        commands = help_text(width).splitlines()[2:-2]
        assert max(map(len, commands)) <= width
        assert " ".join(commands).split() == " ".join(help_text().splitlines()[2:-2]).split()
