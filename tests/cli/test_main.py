"""The command line as a user or a scheduler meets it: arguments in; stdout, stderr and the exit
code out.
"""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TextIO

import pytest

from acidsql.cli.console import Console
from acidsql.cli.ctrl_c import left_by_ctrl_c
from acidsql.cli.runner import ExitCode, Runner, Script, Tally
from acidsql.session import Session
from tests.cli.running import Ran, called

CREATE = "CREATE TABLE t (id INT, name STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true')"


Run = Callable[..., Ran]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Calls the command in this process, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ACIDSQL_WAREHOUSE", raising=False)

    def call(*arguments: str, stdin: str | TextIO = "") -> Ran:
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin) if isinstance(stdin, str) else stdin)
        return called(capsys, *arguments)

    return call


def acidsql_process(*arguments: str, cwd: Path, **options: object) -> subprocess.Popen[str]:
    """The command as a process of its own."""
    command = [sys.executable, "-m", "acidsql", *arguments]
    path = {"PYTHONPATH": str(Path(__file__).parents[2])}
    pipes = {
        "stdin": subprocess.DEVNULL,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
    } | options
    return subprocess.Popen(command, cwd=cwd, env=os.environ | path, text=True, **pipes)  # type: ignore[call-overload,no-any-return]


def test_rows_and_notes_go_separate_ways(run: Run) -> None:
    """Rows stand alone on stdout as Hive's TSV; counts and times are on stderr."""
    ran = run("-e", CREATE, "-e", "DESCRIBE t")
    assert ran.code == 0
    assert ran.out == "id\tint\t\nname\tstring\t\n"
    assert "done; " in ran.err
    assert "2 rows (" in ran.err


def test_an_insert_tells_what_it_did(run: Run) -> None:
    """Row count, transaction and write id are told."""
    ran = run("-e", f"{CREATE}; INSERT INTO t VALUES (1, 'a'), (2, NULL)")
    assert ran.out == ""
    assert "2 rows inserted; txn 1, write id 1; " in ran.err


def test_silence_keeps_only_rows(run: Run) -> None:
    """-S leaves stderr empty when all goes well."""
    assert run("-S", "-e", f"{CREATE}; SHOW TABLES") == Ran(0, "t\n", "")


def test_what_hive_tells_on_its_console_is_told(run: Run) -> None:
    """On stderr, before the summary, and not with -S."""
    ran = run("-e", f"{CREATE}; ALTER TABLE t COMPACT 'minor'")
    assert (ran.code, ran.out) == (0, "")
    assert "Compaction enqueued with id 1\n" in ran.err


def test_losses_are_told(run: Run) -> None:
    """A literal that its column cannot hold is named on stderr at its place, also with -S; the exit
    code stays 0.
    """
    ran = run("-S", "-e", f"{CREATE}; INSERT INTO t VALUES ('abc', 'a')")
    assert ran.code == 0
    assert ran.out == ""
    assert ran.err == (
        """warning: column "id" of type int cannot hold 'abc': NULL is stored\n"""
        "  line 1: INSERT INTO t VALUES ('abc', 'a')\n"
        "                                ^^^^^\n"
    )


def test_verbose_shows_statements(run: Run) -> None:
    """-v shows each statement before it runs, not on stdout."""
    ran = run("-v", "-e", "SHOW DATABASES")
    assert ran.out == "default\n"
    assert ran.err.startswith("SHOW DATABASES;\n")


def test_scripts_run_in_the_order_given(run: Run, tmp_path: Path) -> None:
    """-i comes first, then -e and -f in their order."""
    (tmp_path / "init.sql").write_text("CREATE DATABASE first_one;")
    (tmp_path / "more.sql").write_text("SHOW DATABASES LIKE 'f*';")
    ran = run(
        "-e",
        "SHOW DATABASES LIKE 'd*'",
        "-f",
        "more.sql",
        "-i",
        "init.sql",
        "-e",
        "SHOW DATABASES LIKE 'd*'",
    )
    assert ran.out == "default\nfirst_one\ndefault\n"


def test_stdin_is_a_script(run: Run) -> None:
    """Without -e and -f, and with -f -, the statements come from stdin."""
    assert run(stdin="SHOW DATABASES;").out == "default\n"
    assert run("-f", "-", stdin="SHOW DATABASES").out == "default\n"


def test_a_failure_stops_a_script(run: Run) -> None:
    """What stands behind a failed statement does not run, and the code is 1."""
    ran = run("-e", "SHOW DATABASES; DESCRIBE nothing; SHOW DATABASES", "-e", "SHOW DATABASES")
    assert ran.code == ExitCode.FAILED
    assert ran.out == "default\n"
    assert "nothing" in ran.err


def test_force_goes_on(run: Run) -> None:
    """--force runs the rest, and the code still tells of the failure."""
    ran = run("--force", "-e", "DESCRIBE nothing; SHOW DATABASES", "-e", "SHOW DATABASES")
    assert ran.code == ExitCode.FAILED
    assert ran.out == "default\ndefault\n"


def test_an_error_names_file_and_line(run: Run, tmp_path: Path) -> None:
    """An error in a script points at the file's line, not at the statement's."""
    (tmp_path / "s.sql").write_text("-- one\nSHOW DATABASES;\n\nSHOW\n  TABELS;\n")
    ran = run("-f", "s.sql")
    assert ran.err.splitlines()[1].startswith('s.sql:5: unexpected "TABELS"')
    assert "  line 5:   TABELS;\n            ^^^^^^" in ran.err


def test_an_error_in_substituted_text_still_has_its_line(run: Run, tmp_path: Path) -> None:
    """Where a variable moved the text, the line is the script's and the shown text is what ran."""
    (tmp_path / "s.sql").write_text("\n\nDESCRIBE ${nothing};")
    ran = run("--hivevar", "nothing=a_name_that_is_longer", "-f", "s.sql")
    assert ran.err.startswith("s.sql:3: ")
    assert "DESCRIBE a_name_that_is_longer" in ran.err


def test_a_never_closed_quote_is_told(run: Run) -> None:
    """An unfinished string is an error of its statement; those before it have run."""
    ran = run("-e", "SHOW DATABASES; SELECT 'abc")
    assert ran.code == ExitCode.FAILED
    assert ran.out == "default\n"
    assert "string is never closed" in ran.err


def test_variables_are_filled_in(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """hivevar, hiveconf and the environment, also set within the script."""
    monkeypatch.setenv("DB_OF_ENV", "c")
    ran = run(
        "--hivevar", "a=x", "-d", "b=y", "--hiveconf", "my.z=z", "-S", "-e",
        "CREATE DATABASE ${a}${hivevar:b}${hiveconf:my.z}${env:DB_OF_ENV}; SET hivevar:p='x*'; SHOW DATABASES LIKE ${p}",
    )  # fmt: skip
    assert ran == Ran(0, "xyzc\n", "")


def test_an_undefined_variable_is_named_at_its_place(run: Run, tmp_path: Path) -> None:
    """A DELETE whose day is not given deletes nothing and says which variable is missing."""
    script = "-- ${not_used}\nDELETE FROM t\nWHERE name <> '${hivevar:day}';\n"
    (tmp_path / "s.sql").write_text(script)
    ran = run("-f", "s.sql")
    assert ran.code == ExitCode.FAILED
    assert ran.err.splitlines()[:3] == [
        's.sql:3: variable "hivevar:day" is undefined',
        "  line 3: WHERE name <> '${hivevar:day}';",
        "                         ^^^^^^^^^^^^^^",
    ]


def test_substitution_can_be_turned_off(run: Run) -> None:
    """With hive.variable.substitute=false ``${x}`` is text, as in Hive."""
    script = "SHOW DATABASES LIKE '${x}'"
    ran = run("-S", "-d", "x=d*", "-e", f"SET hive.variable.substitute=false; {script}")
    assert ran == Ran(0, "", "")
    assert run("-S", "-d", "x=d*", "-e", script) == Ran(0, "default\n", "")


def test_the_warehouse_is_the_flag_then_the_variable_then_here(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """--warehouse, else ACIDSQL_WAREHOUSE, else ./warehouse."""
    run("-e", "SHOW DATABASES")
    assert (tmp_path / "warehouse" / "_acidsql").is_dir()
    monkeypatch.setenv("ACIDSQL_WAREHOUSE", str(tmp_path / "variable"))
    run("-e", "SHOW DATABASES")
    assert (tmp_path / "variable").is_dir()
    run("--warehouse", "flag", "-e", "SHOW DATABASES")
    assert (tmp_path / "flag").is_dir()


def test_the_database_to_start_in(run: Run) -> None:
    """--database is USE; one that does not exist is an error before anything runs."""
    run("-e", "CREATE DATABASE d")
    assert run("--database", "d", "-S", "-e", f"{CREATE}; SHOW TABLES IN d").out == "t\n"
    assert run("--database", "nope", "-e", "SHOW DATABASES").code == ExitCode.FAILED


@pytest.mark.parametrize(
    ("options", "printed"),
    [
        (["--header"], "database_name\ndefault\n"),
        (["--hiveconf", "hive.cli.print.header=true"], "database_name\ndefault\n"),
        (["--outputformat", "csv2", "--header"], "database_name\ndefault\n"),
        (["--outputformat", "json"], '{"database_name": "default"}\n'),
        (["--outputformat", "vertical"], "database_name  default\n\n"),
        (["--no-header"], "default\n"),
    ],
)
def test_output_formats(run: Run, options: list[str], printed: str) -> None:
    """Format and header are as asked for."""
    assert run(*options, "-e", "SHOW DATABASES").out == printed


def test_client_commands_work_in_scripts(run: Run, tmp_path: Path) -> None:
    """source, !sh and quit are understood where a statement could stand; the bare words may be
    closed by a semicolon."""
    (tmp_path / "inner.sql").write_text("SHOW DATABASES;")
    script = (
        "source inner.sql; \n!sh echo hello;\n .mode json\nSHOW DATABASES; quit; SHOW DATABASES"
    )
    assert run("-S", "-e", script) == Ran(0, 'default\nhello\n{"database_name": "default"}\n', "")


COMMANDS_AND_SQL = """\
-- it's a comment
.sh echo 'one; two'   # it's no SQL
SHOW DATABASES LIKE
'd*
!sh echo no command';
/*
.sh echo no command
*/
help
SHOW DATABASES;
source inner.sql
exit
SELECT nonsense;
"""


@pytest.mark.parametrize("way", ["-e", "-f", "stdin", "-i", "source"])
def test_a_command_is_a_line_of_its_own(run: Run, tmp_path: Path, way: str) -> None:
    """In every script a command ends with its line: neither does it swallow the SQL below it, nor
    is it taken for one inside a statement, a string or a comment."""
    (tmp_path / "inner.sql").write_text("SHOW DATABASES;")
    (tmp_path / "s.sql").write_text(COMMANDS_AND_SQL)
    arguments = {
        "-e": ["-e", COMMANDS_AND_SQL],
        "-f": ["-f", "s.sql"],
        "-i": ["-i", "s.sql", "-e", ""],
        "source": ["-e", "source s.sql"],
        "stdin": [],
    }
    ran = run("-S", *arguments[way], stdin=COMMANDS_AND_SQL if way == "stdin" else "")
    assert (ran.code, ran.out) == (0, "one; two\ndefault\ndefault\n")
    assert ".schema TABLE" in ran.err


@pytest.mark.parametrize("command", [".sh echo no", "/* c */ !sh echo no; SHOW DATABASES"])
def test_a_command_behind_something_on_its_line_is_refused(run: Run, command: str) -> None:
    """It is neither run nor taken for SQL."""
    ran = run("-S", "-e", f"SHOW DATABASES; {command}")
    assert (ran.code, ran.out) == (1, "default\n")
    assert "does not begin its line" in ran.err
    assert "^" in ran.err


def test_an_unknown_command_has_its_line(run: Run, tmp_path: Path) -> None:
    """A mistyped command is told like a mistyped statement."""
    (tmp_path / "s.sql").write_text("SHOW DATABASES;\n  .nonsense it's\nSHOW DATABASES;\n")
    ran = run("-S", "-f", "s.sql")
    assert ran.err.startswith('s.sql:2: unknown command ".nonsense"\n  line 2:   .nonsense it\'s\n')
    assert (ran.code, ran.out) == (1, "default\n")


def test_a_script_that_sources_itself_ends(run: Run, tmp_path: Path) -> None:
    """Endless sourcing is an error, not a crash."""
    (tmp_path / "loop.sql").write_text("source loop.sql;")
    ran = run("-f", "loop.sql")
    assert ran.code == ExitCode.FAILED
    assert "files deep" in ran.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["--outputformat", "xml"],
        ["--hivevar", "x"],
        ["-f", "not there.sql"],
        ["--no-such-option"],
        ["no-such-command"],
    ],
)
def test_wrong_usage_is_2(run: Run, arguments: list[str]) -> None:
    """Arguments that make no sense run nothing."""
    ran = run("-e", CREATE, *arguments)
    assert ran.code == ExitCode.USAGE
    assert ran.err
    assert run("-S", "-e", "SHOW TABLES").out == ""


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--warehousee", "x", "-e", CREATE], "--warehousee; did you mean --warehouse?"),
        (["--ware=x", "-e", CREATE], "--ware=x; did you mean --warehouse?"),
        (["doctor", "--repai"], "--repai; did you mean --repair?"),
        (["doctor", "--repair", "--xyz"], "--xyz"),
    ],
)
def test_a_mistyped_option_is_named(run: Run, arguments: list[str], told: str) -> None:
    """By itself, and not by its value; none is taken for a longer one, sub-commands' neither."""
    ran = run(*arguments)
    assert ran.code == ExitCode.USAGE
    assert ran.err.endswith(f"acidsql: error: unrecognized arguments: {told}\n")
    assert run("-S", "-e", "SHOW TABLES").out == ""


def test_a_file_that_is_not_text_is_refused(run: Run, tmp_path: Path) -> None:
    """A script in another encoding is wrong usage, not a decoding crash."""
    (tmp_path / "latin.sql").write_bytes("SHOW DATABASES LIKE 'é'".encode("latin-1"))
    ran = run("-f", "latin.sql")
    assert ran.code == ExitCode.USAGE
    assert "not UTF-8" in ran.err


@pytest.mark.parametrize(
    "option", ["-e", "--hivevar", "--hiveconf", "--conf", "--database", "--master"]
)
def test_arguments_that_are_not_utf8_are_wrong_usage(run: Run, option: str) -> None:
    """The option, the byte and its place are told, and nothing runs."""
    ran = run("-e", CREATE, option, "é=\n1\udcff")
    assert ran.code == ExitCode.USAGE
    assert ran.out == ""
    assert option in ran.err.splitlines()[-1]
    assert "byte 0xff is not UTF-8 (line 2, column 2, offset 5)" in ran.err
    assert run("-S", "-e", "SHOW TABLES").out == ""


@pytest.mark.parametrize("arguments", [[], ["-f", "-"], ["-f", "bad.sql"], ["-i", "bad.sql"]])
def test_scripts_that_are_not_utf8_run_nothing(
    run: Run, tmp_path: Path, arguments: list[str]
) -> None:
    """Not even the statements before the byte run, which is told with its place."""
    data = f"{CREATE};\nSET x=".encode() + b"\xff;"
    (tmp_path / "bad.sql").write_bytes(data)
    offset = data.index(b"\xff")
    # as it is in a locale that passes wrong bytes through
    stdin = io.TextIOWrapper(io.BytesIO(data), "utf-8", "surrogateescape")
    ran = run(*arguments, stdin=stdin)
    assert ran.code == ExitCode.USAGE
    assert (
        f": byte 0xff is not UTF-8 (line 2, column 7, offset {offset})\n  line 2: SET x=\ufffd;\n"
        in ran.err
    )
    assert run("-S", "-e", "SHOW TABLES").out == ""


def test_stdin_is_utf8_whatever_the_locale(run: Run) -> None:
    """Bytes are what a pipe carries; the locale has no say in them."""
    data = io.BytesIO("\ufeffSET x=é;\r\nSET x".encode())
    assert run("-S", stdin=io.TextIOWrapper(data, "latin-1")).out == "x=é\n"


def test_a_sourced_file_that_is_not_utf8_is_a_failed_statement(run: Run, tmp_path: Path) -> None:
    """The statement fails at its line, and the byte is told."""
    (tmp_path / "bad.sql").write_bytes(b"SET x=\xff;")
    ran = run("-e", "source bad.sql;")
    assert ran.code == ExitCode.FAILED
    assert ran.err.startswith(
        "error: bad.sql: byte 0xff is not UTF-8 (line 1, column 7, offset 6)\n"
    )


def test_variables_that_are_not_utf8_are_no_bugs(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes of the environment reach a statement by its variables."""
    monkeypatch.setenv("NOT_TEXT", "\udcff")
    for statement in ("SET x=${env:NOT_TEXT}", "SET env:NOT_TEXT"):
        ran = run("-e", statement)
        assert ran.code == ExitCode.FAILED
        assert "byte 0xff is not UTF-8" in ran.err


def test_the_version_is_told(run: Run) -> None:
    """--version names acidsql, Spark and Python."""
    ran = run("--version")
    assert ran.code == 0
    assert "acidsql " in ran.out
    assert "pyspark " in ran.out


@pytest.mark.parametrize(
    ("tally", "code"),
    [
        (Tally(), ExitCode.OK),
        (Tally(changed=True), ExitCode.OK),
        (Tally(failed=1), ExitCode.RETRY),
        (Tally(failed=1, changed=True), ExitCode.FAILED),
        (Tally(failed=2, failed_for_good=1), ExitCode.FAILED),
    ],
)
def test_75_promises_that_nothing_was_changed(tally: Tally, code: ExitCode) -> None:
    """A retryable failure behind a statement that changed rows is no invitation to run it all
    again.
    """
    assert tally.exit_code is code


INSERT = "INSERT INTO t VALUES (1, 'a')"


def deltas(tmp_path: Path) -> list[str]:
    return sorted(p.name for p in (tmp_path / "warehouse" / "t").iterdir())


def test_a_script_that_ends_in_a_transaction_has_failed(run: Run, tmp_path: Path) -> None:
    """Its changes are rolled back, which is told and makes the exit code 1; where there are none
    nothing is amiss.
    """
    run("-e", CREATE)
    ran = run("-e", f"START TRANSACTION; {INSERT}")
    assert ran.code == ExitCode.FAILED
    assert "the input ended in an open transaction, which was rolled back" in ran.err
    assert "COMMIT" in ran.err
    assert deltas(tmp_path) == []
    assert run("-e", f"SET AUTOCOMMIT FALSE; {INSERT}").code == ExitCode.FAILED
    assert run("-e", "START TRANSACTION; SHOW TABLES").code == ExitCode.OK
    assert run("-e", f"SET AUTOCOMMIT FALSE; {INSERT}; ROLLBACK").code == ExitCode.OK
    assert deltas(tmp_path) == []


def test_a_transaction_over_several_scripts(run: Run, tmp_path: Path) -> None:
    """The scripts of one call are one session: a transaction may begin in one and end
    in another.
    """
    (tmp_path / "begin.sql").write_text("START TRANSACTION;")
    # DDL in a transaction
    assert run("-e", CREATE, "-i", "begin.sql", "-e", "SHOW TABLES").code == ExitCode.FAILED
    assert (
        run("-e", CREATE, "-f", "begin.sql", "-e", INSERT, "-e", "COMMIT", "-e", INSERT).code
        == ExitCode.OK
    )
    assert deltas(tmp_path) == ["delta_0000001_0000001_0000", "delta_0000002_0000002_0000"]


def test_a_failure_in_a_transaction(run: Run, tmp_path: Path) -> None:
    """It ends the script, and so rolls back, which is told; with --force the rest can still be
    committed.
    """
    script = f"START TRANSACTION; {INSERT}; INSERT INTO nothing VALUES (1); {INSERT}; COMMIT"
    ran = run("-e", CREATE, "-e", script)
    assert ran.code == ExitCode.FAILED
    assert ran.err.endswith("the open transaction was rolled back\n")
    assert deltas(tmp_path) == []
    ran = run("--force", "-e", script)
    assert ran.code == ExitCode.FAILED
    assert "rolled back" not in ran.err
    assert deltas(tmp_path) == ["delta_0000002_0000002_0000", "delta_0000002_0000002_0001"]


def test_a_transaction_that_lost_may_be_run_again(warehouse: Path) -> None:
    """A conflict at COMMIT is exit code 75 although statements had changed rows: none of it was
    committed.
    """

    def tally_of(*ends: str, disturb: bool) -> Tally:
        with Session(warehouse) as session, Session(warehouse) as other:
            runner = Runner(
                session=session, console=Console(io.StringIO(), io.StringIO()), force=True
            )
            session.sql(CREATE.replace("TABLE t", "TABLE IF NOT EXISTS t"))
            runner.run(Script("START TRANSACTION; INSERT OVERWRITE TABLE t VALUES (2, 'b');"))
            if disturb:
                other.sql("SET hive.support.concurrency=false")
                other.sql(INSERT)
            runner.run(Script("; ".join(ends)))
            return runner.tally

    assert tally_of("COMMIT", disturb=True).exit_code is ExitCode.RETRY
    assert tally_of("COMMIT", INSERT, disturb=True).exit_code is ExitCode.FAILED
    assert not tally_of("ROLLBACK", disturb=True).changed
    assert tally_of("COMMIT", disturb=False).changed
    assert tally_of("SET AUTOCOMMIT TRUE", disturb=False).changed


@pytest.fixture
def heeded_interrupts() -> Iterator[None]:
    """Python's own way with Ctrl-C, also where the tests run as a background job, which
    ignores it.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heeded_interrupts")
def test_ctrl_c_interrupts_and_a_second_one_leaves(warehouse: Path) -> None:
    """The first becomes KeyboardInterrupt, the second, while the first is being dealt with, ends
    the program with 130.
    """
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), left_by_ctrl_c():
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before

    def twice() -> None:
        with left_by_ctrl_c():
            try:
                signal.raise_signal(signal.SIGINT)
            finally:
                signal.raise_signal(signal.SIGINT)

    def twice_in_a_statement() -> None:
        with left_by_ctrl_c(), session.turn.taken():
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)

    with Session(str(warehouse)) as session:
        for run in (twice, twice_in_a_statement):
            with pytest.raises(SystemExit) as left:
                run()
            assert left.value.code == ExitCode.INTERRUPTED
            assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.processes
def test_a_reader_that_leaves_early_is_no_drama(tmp_path: Path) -> None:
    """``acidsql .. | head -1``: no traceback when the pipe breaks, and what was not run counts as a
    failure.
    """
    many = "CREATE DATABASE d1; " + "SHOW DATABASES; " * 300
    process = acidsql_process("-S", "--header", "-e", many, cwd=tmp_path)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait() == 1
    assert err == ""


@pytest.mark.processes
def test_a_process_keeps_foreign_output_off_stdout(tmp_path: Path) -> None:
    """What other code in the process writes to descriptor 1 lands on stderr; the rows do not."""
    code = (
        "import os, sys\n"
        "from acidsql.cli.main import stdout_for_rows\n"
        "with stdout_for_rows(sys.stdout, keep=False) as rows:\n"
        "    rows.write('row\\n'); os.write(1, b'noise\\n')\n"
        "print('after')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
        stdin=subprocess.DEVNULL,
    )
    assert done.stdout == "row\nafter\n"
    assert done.stderr == "noise\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
def test_rows_that_cannot_be_written_are_no_bug(tmp_path: Path) -> None:
    """A full disk behind standard output is told as such."""
    with open("/dev/full", "w") as full:
        process = acidsql_process("-e", "SELECT 1", cwd=tmp_path, stdout=full)
        _, err = process.communicate()
    assert err == "acidsql: cannot write the rows: No space left on device\n"
    assert process.returncode == ExitCode.FAILED


def test_nothing_runs_without_a_standard_output(tmp_path: Path) -> None:
    """Where it is closed, rows would be lost: wrong usage."""
    code = f"import sys; sys.stdout = None; from acidsql.cli.main import main; sys.exit(main(['-e', {CREATE!r}]))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stderr == "acidsql: standard output is closed: rows have nowhere to go\n"
    assert done.returncode == ExitCode.USAGE
    assert not (tmp_path / "warehouse").exists()


@pytest.mark.spark
def test_a_whole_process_gives_hives_rows(tmp_path: Path) -> None:
    """From the shell's point of view: a table made, filled, changed and read; only rows
    on stdout.
    """
    script = f"{CREATE}; INSERT INTO t VALUES (1, 'a'), (2, NULL); UPDATE t SET name = 'b' WHERE id = 2; SELECT * FROM t ORDER BY id"
    process = acidsql_process("--master", "local[1]", "-e", script, cwd=tmp_path)
    out, err = process.communicate()
    assert out == "1\ta\n2\tb\n"
    assert "1 row updated; txn 2, write id 2; " in err
    assert process.returncode == 0
