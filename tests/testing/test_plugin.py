"""The plugin as a project of somebody else uses it: its own ini file, its own goldens, its own run
of pytest.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from tests.bench.scripts import small_scripts

SCRIPT = "CREATE TABLE t (a INT) STORED AS ORC;\nUPDATE t SET b = 1;\n"
OUTSIDE = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-p", "no:timeout")


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project with one golden script in the mode ``error`` and no expected text yet."""
    pytester.makeini("[pytest]\nacidsql_golden = golden\nacidsql_golden_modes = refused error")
    folder = pytester.mkdir("golden") / "refused"
    folder.mkdir()
    (folder / "unknown.sql").write_text(SCRIPT, encoding="utf-8")
    return pytester


def run(project: pytest.Pytester, *options: str) -> pytest.RunResult:
    return project.runpytest_inprocess(*OUTSIDE, *options)


def expected_path(project: pytest.Pytester) -> Path:
    return project.path / "golden" / "refused" / "unknown.out"


def test_a_missing_expected_text_fails_and_is_shown(project: pytest.Pytester) -> None:
    """Nothing is written unasked; the message says how to write it and what it would be."""
    result = run(project)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*unknown.out is missing*--snapshot-update*", "*> UPDATE t SET b = 1*"]
    )
    assert not expected_path(project).exists()


def test_a_script_that_is_not_utf8_fails_at_its_byte(project: pytest.Pytester) -> None:
    """The place is told, and no traceback."""
    (project.path / "golden" / "refused" / "unknown.sql").write_bytes(b"SHOW TABLES;\n'\xff'")
    result = run(project)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["unknown.sql: byte 0xff is not UTF-8 (line 2, column 2, offset 14)"]
    )


def test_update_writes_what_then_passes(project: pytest.Pytester) -> None:
    """``--snapshot-update`` writes the file, and the next run agrees with it."""
    run(project, "--snapshot-update").assert_outcomes(passed=1)
    text = expected_path(project).read_text(encoding="utf-8")
    assert text.startswith("> CREATE TABLE t (a INT) STORED AS ORC\nok\n\n> UPDATE t SET b = 1\n")
    assert str(project.path) not in text
    run(project).assert_outcomes(passed=1)


def test_a_difference_is_a_line_diff(project: pytest.Pytester) -> None:
    """A changed outcome fails with the lines that differ."""
    run(project, "--snapshot-update")
    path = expected_path(project)
    path.write_text(
        path.read_text(encoding="utf-8").replace("\nok\n", "\nfine\n"), encoding="utf-8"
    )
    result = run(project)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["-fine", "+ok"])


def test_a_misspelt_directive_fails(project: pytest.Pytester) -> None:
    """A script that cannot be read says why, without a traceback."""
    script = expected_path(project).with_suffix(".sql")
    script.write_text("-- !acid shwo: files\nSELECT 1;\n", encoding="utf-8")
    result = run(project)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["unknown.sql: line 1: unknown directive*"])
    result.stdout.no_fnmatch_line("*another exception*")


def test_other_sql_files_are_left_alone(pytester: pytest.Pytester) -> None:
    """Without the ini setting the plugin collects nothing."""
    (pytester.mkdir("golden") / "a.sql").write_text(SCRIPT, encoding="utf-8")
    run(pytester).assert_outcomes()


INI = "[pytest]\nacidsql_golden = golden\n"


def test_variants_run_a_folder_once_each(project: pytest.Pytester) -> None:
    """Each variant is a test of its own, and only the first writes the expected text."""
    modes = "acidsql_golden_modes = refused error\n"
    variants = "\n    refused acidsql.ansi=true\n    refused acidsql.ansi=false"
    project.makeini(f"{INI}{modes}acidsql_golden_variants ={variants}")
    result = run(project, "--snapshot-update", "-v")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        ["*unknown?acidsql.ansi=true? PASSED*", "*unknown?acidsql.ansi=false? PASSED*"]
    )


@pytest.mark.parametrize("mode", ["run", "parse", "plan", "error"])
def test_an_error_is_expected_in_every_mode(project: pytest.Pytester, mode: str) -> None:
    """One that comes passes and is printed; one that does not, or is another, fails the test."""
    project.makeini(f"{INI}acidsql_spark = none\nacidsql_golden_modes = refused {mode}")
    script = expected_path(project).with_suffix(".sql")
    script.write_text("-- expect error ParseError\nSHOW TABELS;", encoding="utf-8")
    run(project, "--snapshot-update").assert_outcomes(passed=1)
    assert "\nParseError: " in expected_path(project).read_text(encoding="utf-8")
    script.write_text("-- expect error BindError\nSHOW TABELS;", encoding="utf-8")
    told = "unknown.sql: line 2: *was to fail with BindError, but failed with ParseError: *"
    run(project).stdout.fnmatch_lines([told])
    script.write_text("-- expect error ParsError\nSHOW TABELS;", encoding="utf-8")
    told = 'unknown.sql: line 1: there is no error "ParsError", did you mean "ParseError"?'
    run(project).stdout.fnmatch_lines([told])
    script.write_text("-- expect error\nSHOW TABLES;", encoding="utf-8")
    result = run(project)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["unknown.sql: line 2: *was to fail with an error, but did not"])


def test_a_variant_holds_in_every_mode(project: pytest.Pytester) -> None:
    """The setting of a variant is one of the session that compiles, too."""
    modes = "acidsql_golden_modes = refused error\n"
    project.makeini(f"{INI}{modes}acidsql_golden_variants = refused acidsql.ansi=true")
    expected_path(project).with_suffix(".sql").write_text("SET acidsql.ansi;", encoding="utf-8")
    run(project, "--snapshot-update").assert_outcomes(passed=1)
    assert "acidsql.ansi=true" in expected_path(project).read_text(encoding="utf-8")


CONFTEST = """
    import pytest
    from acidsql.session import Session

    @pytest.fixture
    def acidsql_session(acidsql_warehouse):
        with Session(str(acidsql_warehouse)) as session:
            session.sql(
                "CREATE TABLE mine (a INT) STORED AS ORC TBLPROPERTIES ('transactional'='true')"
            )
            yield session
"""
SHOWS_FILES = "-- !acid show: files\nINSERT INTO mine VALUES (1), (2);\nSHOW TABLES;\n"


@pytest.mark.parametrize("place", ["run", "parse", "plan", "error", "."])
def test_scripts_run_on_the_session_the_project_brings(
    pytester: pytest.Pytester,
    place: str,
) -> None:
    """Scripts take the fixture ``acidsql_session``, which a conftest.py may override, whatever
    their folder is called."""
    pytester.makeini(INI)
    pytester.makeconftest(CONFTEST)
    folder = pytester.mkdir("golden") / place
    folder.mkdir(exist_ok=True)
    (folder / "mine.sql").write_text(SHOWS_FILES, encoding="utf-8")
    run(pytester, "--snapshot-update").assert_outcomes(passed=1)
    assert (folder / "mine.out").read_text(encoding="utf-8").splitlines()[:4] == [
        "> INSERT INTO mine VALUES (1), (2)",
        "2 inserted",
        "+ mine/delta_0000001_0000001_0000/_orc_acid_version",
        "+ mine/delta_0000001_0000001_0000/bucket_00000 rows=2",
    ]


@pytest.mark.processes
def test_a_strict_project_runs_them_too(pytester: pytest.Pytester) -> None:
    """The plugin's own markers and settings are known to pytest. In a process of its own: this one
    knows the marker already."""
    pytester.makeini(INI)
    pytester.makeconftest(CONFTEST)
    (pytester.mkdir("golden") / "mine.sql").write_text(SHOWS_FILES, encoding="utf-8")
    options = ("--strict-markers", "--strict-config", "-W", "error", "--snapshot-update")
    pytester.runpytest_subprocess(*OUTSIDE, *options).assert_outcomes(passed=1)


def test_the_root_has_a_mode_too(project: pytest.Pytester) -> None:
    """``.`` stands for the scripts that lie in no folder."""
    (project.path / "golden" / "tree.sql").write_text("SHOW TABLES", encoding="utf-8")
    project.makeini(f"{INI}acidsql_golden_modes =\n    refused error\n    . parse")
    run(project, "--snapshot-update").assert_outcomes(passed=2)
    text = (project.path / "golden" / "tree.out").read_text(encoding="utf-8")
    assert text.startswith("> SHOW TABLES\nShowTables")


def test_what_runs_is_marked_spark(project: pytest.Pytester) -> None:
    """``-m "not spark"`` leaves out what may need Java; pytest knows the marker."""
    project.makeini(INI)
    run(project, "-m", "not spark").assert_outcomes(deselected=1)
    known = run(project, "--markers").stdout
    known.fnmatch_lines(["@pytest.mark.spark: needs a Java virtual machine"])


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            "modes = refused explain",
            '*modes: unknown mode "explain", expected run, parse, plan, error',
        ),
        ("modes = refused", '*modes: expected a folder and a word on it, not "refused"'),
        ("modes = refusd error", '*modes: no folder "refusd" below acidsql_golden'),
        ("variants = refusd a=b", '*variants: no folder "refusd" below acidsql_golden'),
        ("variants = refused", '*variants: expected a folder and a word on it, not "refused"'),
    ],
)
def test_a_setting_that_cannot_be_meant_is_refused(
    project: pytest.Pytester,
    line: str,
    told: str,
) -> None:
    """A misspelt mode or folder stops the run, or the scripts would run in another way unseen."""
    project.makeini(f"{INI}acidsql_golden_{line}")
    result = run(project)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([told])


def test_a_root_that_is_not_there_is_refused(project: pytest.Pytester) -> None:
    """Or a run without a single golden would pass."""
    project.makeini("[pytest]\nacidsql_golden = goldn")
    result = run(project)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(['*acidsql_golden: no folder "*goldn"'])


@pytest.mark.parametrize(("spark", "groups"), [("local[2]", {"spark"}), ("none", set())])
def test_what_may_need_spark_is_one_group_of_xdist(
    project: pytest.Pytester, spark: str, groups: set[str]
) -> None:
    """``--dist loadgroup`` gives all of it to one process, so that one Spark serves the run."""
    project.makeini(f"{INI}acidsql_golden_modes = . parse\nacidsql_spark = {spark}")
    (project.path / "golden" / "tree.sql").write_text("SHOW TABLES", encoding="utf-8")
    items, _ = project.inline_genitems(*OUTSIDE)
    assert {item.name for item in items} == {"unknown", "tree"}
    marked = {item.name: {m.args[0] for m in item.iter_markers("xdist_group")} for item in items}
    assert marked == {"unknown": groups, "tree": set()}


def test_the_modules_of_the_package_are_not_rewritten() -> None:
    """pytest parses nothing of ours for assertions: neither in a user's run nor in this one; those
    of the contracts, which are tests, it explains.
    """
    names = ("acidsql.session", "acidsql.testing.golden", "tests.contracts.locks")
    loaders = [type(import_module(name).__loader__).__name__ for name in names]
    assert loaders == ["SourceFileLoader", "SourceFileLoader", "AssertionRewritingHook"]


@pytest.mark.processes
def test_scripts_of_small_tables_need_no_spark(pytester: pytest.Pytester) -> None:
    """A process of pytest that runs them does not import pyspark. What it takes is a measure of
    ``tests/bench``.
    """
    pytester.makeini(f"{INI}acidsql_spark = none")
    pytester.makeconftest(
        "import sys\ndef pytest_unconfigure():\n    print('with Spark:', 'pyspark' in sys.modules)"
    )
    small_scripts(pytester.mkdir("golden"), 3)
    written = pytester.runpytest_subprocess(*OUTSIDE, "--snapshot-update")
    written.assert_outcomes(passed=3)
    written.stdout.fnmatch_lines(["with Spark: False"])
