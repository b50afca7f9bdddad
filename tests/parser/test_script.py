"""Scripts: splitting, what is complete, variables."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.errors import ProgrammingError, Span
from acidsql.parser.parse import parse
from acidsql.parser.script import is_complete, split, substitute
from acidsql.parser.show import show
from acidsql.parser.tokens import scan, skip_blank
from tests.parser.texts import any_text, golden_statements


def texts(script: str) -> list[str]:
    return [found.text for found in split(script)]


def test_semicolons_in_quotes_and_comments_do_not_split() -> None:
    """Only a semicolon between tokens ends a statement; comments around statements are dropped."""
    script = "-- a;b\nSELECT ';', \";\", `;` /* ; */ -- ;\n FROM t;\r\n;; /*;*/ DELETE FROM t;"
    assert texts(script) == ["SELECT ';', \";\", `;` /* ; */ -- ;\n FROM t", "DELETE FROM t"]


def test_what_is_never_closed_belongs_to_the_last_statement() -> None:
    """The statements before it are kept."""
    assert texts("SELECT 1; SELECT 'a; SELECT 2;\n") == ["SELECT 1", "SELECT 'a; SELECT 2;"]
    assert texts("SELECT 1; /* a; ") == ["SELECT 1", "/* a;"]


def test_set_keeps_its_value_to_the_semicolon_of_its_line() -> None:
    """The value of SET is no SQL: comment marks and lone quotes in it do not reach the next
    statement.
    """
    script = "SET a=--b 'c ; SELECT 1 -- d\n; set x = /* y */; SET q='z;z';\nSET m=1\n  2; SET;UPDATE t\nSET a='--;';"
    assert texts(script) == [
        "SET a=--b 'c", "SELECT 1", "set x = /* y */", "SET q='z;z'", "SET m=1\n  2", "SET", "UPDATE t\nSET a='--;'",
    ]  # fmt: skip
    for text in texts(script):
        parse(text)
    assert is_complete(script)
    assert is_complete("SET a=it's;")
    assert not is_complete("SET a=it's")


@given(st.lists(any_text(), max_size=5).map(";".join))
def test_splitting_loses_no_character(script: str) -> None:
    """Between the statements there are only blanks, comments and semicolons, whatever
    the script.
    """
    at = 0
    for found in split(script):
        assert found.span.cut(script) == found.text
        assert found.text == found.text.strip()
        assert is_blank(script[at : found.span.start])
        at = found.span.end
    assert is_blank(script[at:])


def is_blank(gap: str) -> bool:
    found = scan(gap)
    return found.unclosed is None and all(token.is_mark(";") for token in found.tokens)


@given(
    st.lists(
        st.sampled_from(
            [text for text in golden_statements() if not text.upper().startswith("SET")]
        ),
        max_size=8,
    ),
    st.sampled_from([";", ";\r\n", " ; -- c ;\n", "\n;/* ; */"]),
)
def test_joined_statements_come_apart_again(statements: list[str], by: str) -> None:
    """Statements joined to a script are split into the same statements, which parse to the same."""
    found = split(by.join(statements))
    assert [show(parse(one.text)) for one in found] == [show(parse(one)) for one in statements]


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("", True), ("  -- c", True), ("SELECT 1", False), ("SELECT 1;", True), ("SELECT 1; -- c", True), ("SELECT 1 -- c;", False),
        ("SELECT ';", False), ("SELECT 1; SELECT", False), ("SELECT `a;", False), ("/* c ;", False), ("SELEC 1;", True), ("(;", True),
    ],
)  # fmt: skip
def test_a_shell_knows_when_to_run(text: str, complete: bool) -> None:
    """A text is run when nothing is open and the last statement has its semicolon, be it right or
    wrong.
    """
    assert is_complete(text) is complete


@given(any_text())
def test_a_closed_text_with_a_semicolon_is_complete(text: str) -> None:
    """A text in which nothing is open is complete with a semicolon on a new line."""
    closed = scan(text).unclosed is None
    assert is_complete(f"{text}\n;") is closed or not closed
    assert skip_blank(text, 0) <= len(text)


def hash_line_end(text: str, start: int) -> int | None:
    """The end of a line that begins with ``#``, as a shell's commands might."""
    return len(text[start:].split("\n")[0]) + start if text[start] == "#" else None


def test_command_lines_stand_where_a_statement_may_begin() -> None:
    """A command ends with its line, whatever stands in it; in a statement, a string or a comment
    its mark is text."""
    script = "#it's; a /* b\nSELECT 1\n# 2, '\n#x';\n-- '\n# c;d\n/*\n#e */ SET q=it's;\n#f\n;#'g"
    pieces = split(script, hash_line_end)
    assert [(one.text, one.is_command) for one in pieces] == [
        ("#it's; a /* b", True),
        ("SELECT 1\n# 2, '\n#x'", False),
        ("# c;d", True),
        ("SET q=it's", False),
        ("#f", True),
        ("#'g", True),
    ]
    assert all(one.span.cut(script) == one.text and one.is_closed for one in pieces)


def test_variables_are_replaced_everywhere() -> None:
    """Hive's variables are text, also in quotes and in names that look like another name space."""
    text = (
        "SELECT ${hivevar:a}, '${b}', ${hiveconf:c}, ${env:HOME}, ${system:user}, ${e:f}, $a, ${}"
    )
    variables = {"a": "1", "b": "2", "e:f": "4"}
    others = {"hiveconf": {"c": "3"}, "env": {"HOME": "/h"}, "system": {"user": "u"}}
    assert substitute(text, hivevar=variables, **others) == "SELECT 1, '2', 3, /h, u, 4, $a, ${}"


@pytest.mark.parametrize("key", ["x", "hivevar:x", "hiveconf:x", "env:x", "system:x", "other:x"])
@pytest.mark.parametrize(
    "text",
    ["SELECT ${{{}}}", "SELECT 'a${{{}}}'", "SET a=-- ${{{}}}", "/* c */ SELECT '${{{}}}"],
)
def test_an_undefined_variable_is_refused_at_its_place(text: str, key: str) -> None:
    """Each name space says that it has no such name, also in a string, which would be compared
    with the name itself."""
    with pytest.raises(ProgrammingError) as caught:
        substitute(text.format(key))
    assert caught.value.message == f'variable "{key}" is undefined'
    assert caught.value.source == text.format(key)
    start = text.index("$")
    assert caught.value.span == Span(start, start + len(f"${{{key}}}"))


def test_an_undefined_variable_of_a_value_is_refused() -> None:
    """The text that is shown is that in which the value stands."""
    with pytest.raises(ProgrammingError, match='variable "b" is undefined') as caught:
        substitute("SELECT ${a}", hivevar={"a": "1 + ${b}"})
    assert caught.value.source == "SELECT 1 + ${b}"


@pytest.mark.parametrize(
    "text",
    ["SELECT 1 -- ${x}\n + 2", "SELECT /* ${x} */ 'a'", "SELECT 1 -- ${x}"],
)
def test_an_undefined_variable_in_a_comment_is_none(text: str) -> None:
    """What is switched off stays as it is."""
    assert substitute(text) == text


def test_variables_may_hold_variables() -> None:
    """A value is looked through again; one that holds itself is an error."""
    assert (
        substitute("${a}", hivevar={"a": "${b}${hiveconf:c}", "b": "1"}, hiveconf={"c": "2"})
        == "12"
    )
    with pytest.raises(ProgrammingError, match="levels deep"):
        substitute("${a}", hivevar={"a": "x${a}"})


def test_a_long_script_comes_apart_whole() -> None:
    """Thousands of statements, each with its text, and its place in the script."""
    statements = [f"UPDATE t{i} SET a = {i}, b = 'x;y' WHERE id = {i}" for i in range(3_000)]
    script = "".join(f"{text}; -- c;\n" for text in statements)
    found = split(script)
    assert [one.text for one in found] == statements
    assert all(one.span.cut(script) == one.text for one in found)
