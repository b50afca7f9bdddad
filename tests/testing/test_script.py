"""Reading golden scripts: which directive speaks of which statement."""

from __future__ import annotations

import pytest

from acidsql.testing.script import FILES, PLAN, ScriptError, read_steps


def test_statements_come_with_their_lines_and_without_leading_comments() -> None:
    """Comments around a statement are not part of it, comments inside are."""
    steps = read_steps("-- about t\nSELECT 1;\n\n-- about u\nSELECT -- two\n  2\n;\n")
    assert [(s.text, s.line) for s in steps] == [("SELECT 1", 2), ("SELECT -- two\n  2", 5)]


def test_show_and_sort_hold_on_error_and_conf_do_not() -> None:
    """``show`` and ``sort`` stay until told otherwise; ``error`` and the act of setting belong to
    the next statement.
    """
    text = (
        "-- !acid show: files\n-- !acid sort: none\n-- !acid conf: a.b=c=d\n-- !acid error: ParseError\nSELECT 1;\n"
        "SELECT 2;\n-- !acid show: rows\n-- !acid sort: rows\n-- !acid error:\nSELECT 3;\n"
    )
    first, second, third = read_steps(text)
    assert (first.shows(FILES), first.sort, first.settings, first.error) == (
        True,
        False,
        (("a.b", "c=d"),),
        "ParseError",
    )
    assert (second.shows(FILES), second.sort, second.settings, second.error) == (
        True,
        False,
        (),
        None,
    )
    assert (third.shows(FILES), third.sort, third.error) == (False, True, "")


def test_an_expected_error_has_two_spellings() -> None:
    """``-- expect error`` is about the next statement, with or without the name of the class."""
    steps = read_steps(
        "-- expect error ParseError\nSELECT 1;\nSELECT 2;\n  -- expect error\nSELECT 3;\n"
        "-- !acid error: ParseError\nSELECT 4;"
    )
    assert [step.error for step in steps] == ["ParseError", None, "", "ParseError"]


def test_files_and_plans_are_shown_together() -> None:
    """``show`` takes several words; ``rows`` alone ends it."""
    both, neither = read_steps(
        "-- !acid show: plan, files\nSELECT 1;\n-- !acid show: rows\nSELECT 2;"
    )
    assert both.shown == {PLAN, FILES}
    assert neither.shown == set()


@pytest.mark.parametrize(
    "directive", ["show: files, flies", "show: flies", "sort: yes", "nope: 1", "error"]
)
def test_unknown_directives_are_refused(directive: str) -> None:
    """A misspelt directive fails the script and names its line."""
    with pytest.raises(ScriptError, match="line 2"):
        read_steps(f"SELECT 1;\n-- !acid {directive}\nSELECT 2;\n")


def test_a_directive_in_a_string_is_text() -> None:
    """Only a line of its own before a statement is a directive."""
    (step,) = read_steps("SELECT '\n-- !acid show: files\n';")
    assert not step.shows(FILES)
