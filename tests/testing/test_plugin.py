"""The plugin as a project of somebody else uses it: its own ini file, its own goldens, its own run of pytest."""

from __future__ import annotations

from pathlib import Path

import pytest

from acidsql.session import Session
from acidsql.testing import golden

SCRIPT = "CREATE TABLE t (a INT) STORED AS ORC;\nUPDATE t SET b = 1;\n"
OUTSIDE = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-p", "no:timeout")


@pytest.fixture(scope="module", autouse=True)
def loaded(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Imports everything once: a run inside this one forgets the modules it imported, and SQLAlchemy cannot be imported twice."""
    path = tmp_path_factory.mktemp("loaded")
    with Session(str(path)) as session:
        golden.run_compiled("error", SCRIPT, session)
        golden.run_compiled("plan", "CREATE TABLE u (a INT) STORED AS ORC; INSERT INTO u VALUES (1)", session)
        golden.run_script("INSERT INTO u VALUES (1); SHOW TABLES", session, path)


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project with one golden script of the family ``error`` and no expected text yet."""
    pytester.makeini("[pytest]\nacidsql_golden = golden")
    folder = pytester.mkdir("golden") / "error"
    folder.mkdir()
    (folder / "unknown.sql").write_text(SCRIPT, encoding="utf-8")
    return pytester


def run(project: pytest.Pytester, *options: str) -> pytest.RunResult:
    return project.runpytest_inprocess(*OUTSIDE, *options)


def expected_path(project: pytest.Pytester) -> Path:
    return project.path / "golden" / "error" / "unknown.out"


def test_a_missing_expected_text_fails_and_is_shown(project: pytest.Pytester) -> None:
    """Nothing is written unasked; the message says how to write it and what it would be."""
    result = run(project)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*unknown.out is missing*--snapshot-update*", "*> UPDATE t SET b = 1*"])
    assert not expected_path(project).exists()


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
    path.write_text(path.read_text(encoding="utf-8").replace("\nok\n", "\nfine\n"), encoding="utf-8")
    result = run(project)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["-fine", "+ok"])


def test_an_orphan_fails(project: pytest.Pytester) -> None:
    """An expected text whose script is gone does not lie about unseen."""
    run(project, "--snapshot-update")
    expected_path(project).rename(expected_path(project).with_name("gone.out"))
    result = run(project)
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*gone.out has no gone.sql beside it*"])


def test_a_misspelt_directive_fails(project: pytest.Pytester) -> None:
    """A script that cannot be read says why, without a traceback."""
    (project.path / "golden" / "error" / "unknown.sql").write_text("-- !acid shwo: files\nSELECT 1;\n", encoding="utf-8")
    result = run(project)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["unknown.sql: line 1: unknown directive*"])


def test_other_sql_files_are_left_alone(pytester: pytest.Pytester) -> None:
    """Without the ini setting the plugin collects nothing."""
    (pytester.mkdir("golden") / "a.sql").write_text(SCRIPT, encoding="utf-8")
    run(pytester).assert_outcomes()


def test_variants_run_a_family_once_each(project: pytest.Pytester) -> None:
    """Each variant is a test of its own, and only the first writes the expected text."""
    project.makeini(
        "[pytest]\nacidsql_golden = golden\nacidsql_golden_variants =\n    error acidsql.ansi=true\n    error acidsql.ansi=false\n"
    )
    result = run(project, "--snapshot-update", "-v")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*unknown?acidsql.ansi=true? PASSED*", "*unknown?acidsql.ansi=false? PASSED*"])


def test_scripts_run_on_the_session_the_project_brings(pytester: pytest.Pytester) -> None:
    """Families that run take the fixture ``acidsql_session``, which a conftest.py may override."""
    pytester.makeini("[pytest]\nacidsql_golden = golden")
    pytester.makeconftest(
        """
        import pytest
        from acidsql.session import Session

        @pytest.fixture
        def acidsql_session(acidsql_warehouse):
            with Session(str(acidsql_warehouse)) as session:
                session.sql("CREATE TABLE mine (a INT) STORED AS ORC TBLPROPERTIES ('transactional'='true')")
                yield session
        """
    )
    folder = pytester.mkdir("golden") / "run"
    folder.mkdir()
    (folder / "mine.sql").write_text("-- !acid show: files\nINSERT INTO mine VALUES (1), (2);\nSHOW TABLES;\n", encoding="utf-8")
    run(pytester, "--snapshot-update").assert_outcomes(passed=1)
    assert (folder / "mine.out").read_text(encoding="utf-8").splitlines()[:4] == [
        "> INSERT INTO mine VALUES (1), (2)",
        "2 inserted",
        "+ mine/delta_0000001_0000001_0000/_orc_acid_version",
        "+ mine/delta_0000001_0000001_0000/bucket_00000 rows=2",
    ]
