"""What syrupy does for golden scripts: it writes, compares, reports what is unused and removes it."""

from __future__ import annotations

from pathlib import Path

import pytest

OUTSIDE = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-p", "no:timeout")
ALONE = (*OUTSIDE, "-p", "no:xdist")
INI = "[pytest]\nacidsql_golden = golden\nacidsql_golden_modes = trees parse\n"
VARIANTS = "acidsql_golden_variants =\n    trees acidsql.ansi=true\n    trees acidsql.ansi=false\n"
NAMES = ("first", "second", "third")


@pytest.fixture
def trees(pytester: pytest.Pytester) -> Path:
    """The folder of three scripts in the mode ``parse``, without expected texts."""
    pytester.makeini(INI)
    folder = pytester.mkdir("golden") / "trees"
    folder.mkdir()
    for name in NAMES:
        (folder / f"{name}.sql").write_text(f"SHOW TABLES; DROP TABLE {name}", encoding="utf-8")
    return folder


def kept(folder: Path) -> set[str]:
    return {path.stem for path in folder.glob("*.out")}


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_what_is_written_is_counted(pytester: pytest.Pytester, trees: Path) -> None:
    """syrupy tells at the end how many were written, changed, and passed."""
    pytester.runpytest_inprocess(*ALONE, "--snapshot-update").stdout.fnmatch_lines(
        ["3 snapshots generated."]
    )
    edit(trees / "first.out", "ShowTables", "Show")
    pytester.runpytest_inprocess(*ALONE, "--snapshot-update").stdout.fnmatch_lines(
        ["2 snapshots passed. 1 snapshot updated."]
    )
    pytester.runpytest_inprocess(*ALONE).stdout.fnmatch_lines(["3 snapshots passed."])


def test_only_new_ones_are_written_if_so_asked(pytester: pytest.Pytester, trees: Path) -> None:
    """``--snapshot-update-new-only`` leaves what is there, which goes on to be compared."""
    (trees / "first.out").write_text("other\n", encoding="utf-8")
    result = pytester.runpytest_inprocess(*ALONE, "--snapshot-update-new-only")
    result.assert_outcomes(passed=2, failed=1)
    assert (trees / "first.out").read_text(encoding="utf-8") == "other\n"
    assert kept(trees) == set(NAMES)


@pytest.mark.parametrize(
    "selection", [(), ("golden",), ("golden/trees/third.out",), ("-k", "third"), ("-m", "not slow")]
)
def test_an_unused_file_is_reported_and_removed(
    pytester: pytest.Pytester, trees: Path, selection: tuple[str, ...]
) -> None:
    """An .out whose script is gone fails the run and is counted; an update removes it and nothing
    else, whatever part of the suite that file is selected with.
    """
    pytester.runpytest_inprocess(*ALONE, "--snapshot-update").assert_outcomes(passed=3)
    (trees / "third.sql").unlink()
    result = pytester.runpytest_inprocess(*ALONE, *selection)
    assert result.parseoutcomes()["failed"] == 1
    result.stdout.fnmatch_lines(
        [
            "third.out has no third.sql beside it: --snapshot-update removes it",
            "*1 snapshot unused.",
        ]
    )
    assert kept(trees) == set(NAMES)
    result = pytester.runpytest_inprocess(*ALONE, *selection, "--snapshot-update")
    result.stdout.fnmatch_lines(["*1 unused snapshot deleted.", "Deleted third (*third.out)"])
    assert result.ret == pytest.ExitCode.OK
    assert kept(trees) == {"first", "second"}


def test_another_file_is_left_out_of_it(pytester: pytest.Pytester, trees: Path) -> None:
    """A run of one script says nothing of what lies beside it, and removes nothing."""
    pytester.runpytest_inprocess(*ALONE, "--snapshot-update").assert_outcomes(passed=3)
    (trees / "third.sql").unlink()
    script = "golden/trees/first.sql"
    pytester.runpytest_inprocess(*ALONE, script, "--snapshot-update").assert_outcomes(passed=1)
    assert kept(trees) == set(NAMES)


def test_the_text_of_a_script_that_fails_is_kept(pytester: pytest.Pytester, trees: Path) -> None:
    """A script that cannot be run, or is skipped, has a text still: an update does not remove it."""
    pytester.runpytest_inprocess(*ALONE, "--snapshot-update").assert_outcomes(passed=3)
    (trees / "third.sql").write_text("SHOW TABELS", encoding="utf-8")
    pytester.makeconftest(
        """
        import pytest

        def pytest_collection_modifyitems(items):
            items[0].add_marker(pytest.mark.skip)
        """
    )
    result = pytester.runpytest_inprocess(*ALONE, "--snapshot-update")
    result.assert_outcomes(passed=1, failed=1, skipped=1)
    assert kept(trees) == set(NAMES)


def test_an_unused_file_can_be_borne(pytester: pytest.Pytester, trees: Path) -> None:
    """``--snapshot-warn-unused`` lets the run pass."""
    pytester.runpytest_inprocess(*ALONE, "--snapshot-update").assert_outcomes(passed=3)
    (trees / "third.sql").unlink()
    result = pytester.runpytest_inprocess(*ALONE, "--snapshot-warn-unused")
    result.stdout.fnmatch_lines(["*1 snapshot unused."])
    assert result.ret == pytest.ExitCode.OK


def test_other_snapshots_below_a_root_are_left_alone(
    pytester: pytest.Pytester, trees: Path
) -> None:
    """Tests in Python may lie among the scripts: their snapshots are no expected texts without a
    script, be they syrupy's own or ours.
    """
    test = """
        def test_both(snapshot, acidsql_snapshot):
            assert {"a": 1} == snapshot
            assert "text" == acidsql_snapshot
    """
    (trees / "test_value.py").write_text("\n".join(s[8:] for s in test.splitlines()))
    for options in (("--snapshot-update",), (), ("--snapshot-update",), ()):
        result = pytester.runpytest_inprocess(*ALONE, *options)
        result.assert_outcomes(passed=4)
        assert result.ret == pytest.ExitCode.OK
    folder = trees / "__snapshots__"
    assert (folder / "test_value" / "test_both.out").read_text(encoding="utf-8") == "text\n"
    assert (folder / "test_value.ambr").exists()


def test_a_hunk_names_its_statement(pytester: pytest.Pytester, trees: Path) -> None:
    """A difference is a unified diff: above each hunk stands the statement it is about, and blanks
    at the end of a line show.
    """
    pytester.runpytest_inprocess(*ALONE, "--snapshot-update").assert_outcomes(passed=3)
    edit(trees / "second.out", "`second`", "`third`")
    edit(trees / "first.out", "ShowTables", "ShowTables ")
    result = pytester.runpytest_inprocess(*ALONE)
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["@@ * @@ > SHOW TABLES", "-ShowTables·", "+ShowTables"])
    result.stdout.fnmatch_lines(["@@ * @@ > DROP TABLE second"])


def test_only_the_first_variant_writes(pytester: pytest.Pytester, trees: Path) -> None:
    """All variants are compared with one file; another that differs fails, in an update too."""
    pytester.makeini(INI + VARIANTS)
    for name in NAMES[1:]:
        (trees / f"{name}.sql").unlink()
    (trees / "first.sql").write_text("SET acidsql.ansi", encoding="utf-8")
    pytester.makeini((INI + VARIANTS).replace("trees parse", "trees error"))
    for options in (("--snapshot-update",), ()):
        result = pytester.runpytest_inprocess(*ALONE, *options)
        result.assert_outcomes(passed=1, failed=1)
        result.stdout.fnmatch_lines(["*-acidsql.ansi=true", "*+acidsql.ansi=false"])
    assert "ansi=true" in (trees / "first.out").read_text(encoding="utf-8")


@pytest.mark.processes
def test_processes_of_xdist_agree(pytester: pytest.Pytester, trees: Path) -> None:
    """With ``-n 2`` files are written once, by the first variant, and each is used or unused as in
    one process: nothing that another process has used is reported, or removed.
    """
    pytester.makeini(INI + VARIANTS)
    two = (*OUTSIDE, "-n", "2", "-W", "error")
    result = pytester.runpytest_subprocess(*two, "--snapshot-update")
    result.assert_outcomes(passed=3, skipped=3)
    assert kept(trees) == set(NAMES)
    (trees / "third.sql").unlink()
    result = pytester.runpytest_subprocess(*two)
    result.assert_outcomes(passed=4, failed=1)
    result.stdout.fnmatch_lines(["2 snapshots passed. 1 snapshot unused."])
    result = pytester.runpytest_subprocess(*two, "--dist", "loadfile", "--snapshot-update")
    result.assert_outcomes(passed=5)
    result.stdout.fnmatch_lines(["2 snapshots passed. 1 unused snapshot deleted."])
    assert kept(trees) == {"first", "second"}


@pytest.mark.parametrize("golden", [True, False])
def test_without_syrupy_it_is_told_what_is_needed(
    pytester: pytest.Pytester, trees: Path, golden: bool
) -> None:
    """A project with goldens stops at once, a test in Python fails; both name the extra."""
    pytester.makeini(INI if golden else "[pytest]\n")
    pytester.makepyfile("def test_value(acidsql_snapshot): assert 'x' == acidsql_snapshot")
    result = pytester.runpytest_inprocess(*ALONE, "-p", "no:syrupy")
    if golden:
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines(["*pip install 'acidsql?pytest?'*"])
    else:
        result.assert_outcomes(errors=1)
        result.stdout.fnmatch_lines(["*pip install 'acidsql?pytest?'*"])


def test_a_project_may_have_snapshots_of_its_own(pytester: pytest.Pytester, trees: Path) -> None:
    """Where the fixture ``snapshot`` is overridden, goldens are kept as they are without that."""
    pytester.makeconftest(
        """
        import pytest
        from syrupy.extensions.json import JSONSnapshotExtension

        @pytest.fixture
        def snapshot(snapshot):
            return snapshot.use_extension(JSONSnapshotExtension)
        """
    )
    pytester.makepyfile(
        """
        def test_json(snapshot, acidsql_snapshot):
            assert {"a": 1} == snapshot
            assert "text" == acidsql_snapshot
        """
    )
    for options in (("--snapshot-update",), ()):
        result = pytester.runpytest_inprocess(*ALONE, *options)
        result.assert_outcomes(passed=4)
        assert result.ret == pytest.ExitCode.OK
    assert (trees / "first.out").read_text(encoding="utf-8").startswith("> SHOW TABLES\n")
    assert len(list(pytester.path.rglob("*.json"))) == 1


def test_a_snapshot_that_is_not_of_syrupy_is_named(pytester: pytest.Pytester, trees: Path) -> None:
    """Another plugin may have taken the name of the fixture."""
    pytester.makeconftest("import pytest\n@pytest.fixture\ndef snapshot():\n    return 1")
    result = pytester.runpytest_inprocess(*ALONE, "golden/trees/first.sql")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*TypeError: the fixture snapshot is int, not syrupy's"])
