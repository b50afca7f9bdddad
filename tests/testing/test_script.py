"""Reading golden scripts: which directive speaks of which statement."""

from __future__ import annotations

import pytest

from acidsql.testing.script import ScriptError, read_steps


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
    assert (first.show_files, first.sort, first.settings, first.error) == (
        True,
        False,
        (("a.b", "c=d"),),
        "ParseError",
    )
    assert (second.show_files, second.sort, second.settings, second.error) == (
        True,
        False,
        (),
        None,
    )
    assert (third.show_files, third.sort, third.error) == (False, True, "")


@pytest.mark.parametrize("directive", ["show: flies", "sort: yes", "nope: 1", "error"])
def test_unknown_directives_are_refused(directive: str) -> None:
    """A misspelt directive fails the script and names its line."""
    with pytest.raises(ScriptError, match="line 2"):
        read_steps(f"SELECT 1;\n-- !acid {directive}\nSELECT 2;\n")


def test_a_directive_in_a_string_is_text() -> None:
    """Only a line of its own before a statement is a directive."""
    (step,) = read_steps("SELECT '\n-- !acid show: files\n';")
    assert not step.show_files
