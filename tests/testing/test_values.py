"""The fixture ``acidsql_snapshot`` and those beside it, in the tests of somebody else's project."""

from __future__ import annotations

from pathlib import Path

import pytest

ALONE = "-p no:cacheprovider -p no:hypothesispytest -p no:timeout -p no:xdist".split()
TESTS = """
    import pytest

    @pytest.fixture
    def t(acidsql_session, acidsql_table):
        import pyarrow
        acidsql_table("t", pyarrow.table({"a": [3, 1, 2]}))
        return acidsql_session

    def test_rows(t, acidsql_snapshot):
        assert t.sql("SELECT * FROM t") == acidsql_snapshot
        assert acidsql_snapshot == t.sql("SELECT a FROM t ORDER BY a DESC")
        assert t.sql("DELETE FROM t WHERE a > 1") == acidsql_snapshot(name="count")

    def test_plan(t, acidsql_snapshot):
        assert t.explain("DELETE FROM t") == acidsql_snapshot

    def test_files(t, acidsql_files, acidsql_snapshot):
        with acidsql_files() as files:
            t.sql("DELETE FROM t WHERE a = 1")
        assert files == acidsql_snapshot
        with acidsql_files() as files:
            t.sql("DELETE FROM t WHERE a = 1")
        assert files == acidsql_snapshot(name="again")

    def test_error(t, acidsql_snapshot, acidsql_warehouse):
        with pytest.raises(Exception) as caught:
            t.sql(f"LOAD DATA INPATH '{acidsql_warehouse}/none' INTO TABLE t")
        assert caught == acidsql_snapshot
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeini("[pytest]\nacidsql_spark = none")
    pytester.makepyfile(test_t=TESTS)
    return pytester


def texts(project: pytest.Pytester) -> dict[str, str]:
    folder = project.path / "__snapshots__" / "test_t"
    return {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.out")}


def test_values_are_kept_as_goldens_say_them(project: pytest.Pytester) -> None:
    """Results, counts, plans, file changes and errors have one readable file each."""
    project.runpytest_inprocess(*ALONE, "--snapshot-update").assert_outcomes(passed=4)
    kept = texts(project)
    assert kept["test_rows"] == "[a bigint]\n1\n2\n3\n"
    assert kept["test_rows.1"] == "[a bigint]\n3\n2\n1\n"
    assert kept["test_rows[count]"] == "2 deleted\n"
    assert kept["test_plan"].startswith("DELETE FROM default.t\n")
    assert kept["test_files"] == (
        "+ t/delete_delta_0000002_0000002_0000/_orc_acid_version\n"
        "+ t/delete_delta_0000002_0000002_0000/bucket_00000 rows=1\n"
    )
    assert kept["test_files[again]"] == "no changes\n"
    assert "Error: " in kept["test_error"]
    assert "$WAREHOUSE/none" in kept["test_error"]
    result = project.runpytest_inprocess(*ALONE)
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["7 snapshots passed."])


def test_a_difference_fails_with_its_lines(project: pytest.Pytester) -> None:
    """The assertion shows a diff of the texts, and no objects."""
    project.runpytest_inprocess(*ALONE, "--snapshot-update").assert_outcomes(passed=4)
    path = project.path / "__snapshots__" / "test_t" / "test_rows.out"
    path.write_text("[a bigint]\n1\n2\n4\n", encoding="utf-8")
    result = project.runpytest_inprocess(*ALONE)
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["E *-4", "E *+3"])


def test_what_is_not_asserted_any_more_is_unused(project: pytest.Pytester) -> None:
    """A text that no assertion reads fails the run, and an update removes it."""
    project.runpytest_inprocess(*ALONE, "--snapshot-update").assert_outcomes(passed=4)
    path = project.path / "test_t.py"
    path.write_text(path.read_text().replace('(name="again")', '(name="twice")'), encoding="utf-8")
    result = project.runpytest_inprocess(*ALONE, "--snapshot-update")
    result.stdout.fnmatch_lines(["*1 snapshot generated. 1 unused snapshot deleted."])
    assert {"test_files", "test_files[twice]"} <= set(texts(project))
    assert "test_files[again]" not in texts(project)


def test_other_values_are_refused(pytester: pytest.Pytester) -> None:
    """What has no text of its own fails and says what has."""
    pytester.makepyfile("def test_list(acidsql_snapshot): assert [1] == acidsql_snapshot")
    result = pytester.runpytest_inprocess(*ALONE, "--snapshot-update")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*TypeError: acidsql_snapshot compares a Result, *, not list"])


def test_nothing_starts_spark_where_none_is_wanted(pytester: pytest.Pytester) -> None:
    """Under ``acidsql_spark = none`` a statement that needs Spark fails, as the marker says."""
    pytester.makeini("[pytest]\nacidsql_spark = none\nacidsql_golden = golden")
    script = pytester.mkdir("golden") / "window.sql"
    script.write_text("SELECT row_number() OVER (ORDER BY 1)", encoding="utf-8")
    result = pytester.runpytest_inprocess(*ALONE, "-m", "not spark")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["window.sql: line 1: *acidsql.engine=local does not carry*"])


def test_plans_and_files_are_shown(pytester: pytest.Pytester) -> None:
    """``-- !acid show: plan, files`` prints a plan before what came of it, and the files behind."""
    pytester.makeini("[pytest]\nacidsql_spark = none\nacidsql_golden = golden")
    script: Path = pytester.mkdir("golden") / "both.sql"
    script.write_text(
        "CREATE TABLE t (a INT) STORED AS ORC TBLPROPERTIES ('transactional'='true');\n"
        "-- !acid show: plan, files\nINSERT INTO t VALUES (1);\n"
        "-- expect error ColumnNotFoundError\nDELETE FROM t WHERE b = 1;",
        encoding="utf-8",
    )
    pytester.runpytest_inprocess(*ALONE, "--snapshot-update").assert_outcomes(passed=1)
    lines = script.with_suffix(".out").read_text(encoding="utf-8").splitlines()
    first = lines.index("> INSERT INTO t VALUES (1)")
    assert lines[first + 1] == "INSERT INTO default.t"
    counted = lines.index("1 inserted")
    assert lines[counted - 1] == "  commit"
    assert lines[counted + 2] == "+ t/delta_0000001_0000001_0000/bucket_00000 rows=1"
    assert lines[-3].startswith("ColumnNotFoundError: ")
