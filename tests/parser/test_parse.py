"""parse: statements in, dataclasses out, and nothing but our own errors."""

from __future__ import annotations

import pickle

import pytest

from acidsql.errors import Error, ParseError, Span, UnsupportedStatementError
from acidsql.parser import statements as ast
from acidsql.parser.parse import parse
from acidsql.parser.show import show
from tests.parser.texts import golden_statements


def error_of(text: str) -> Error:
    with pytest.raises(Error) as caught:
        parse(text)
    return caught.value


@pytest.mark.parametrize("text", golden_statements())
def test_surroundings_do_not_matter(text: str) -> None:
    """Blanks, comments and semicolons around a statement change its place and nothing else."""
    before = " -- 'lead\r\n\t/* ; */"
    moved = parse(f"{before}{text}\n;; ")
    assert show(moved) == show(parse(text))
    assert moved.span.start == len(before)


@pytest.mark.parametrize("text", [text for text in golden_statements() if "\n" in text])
def test_windows_line_ends_are_blanks(text: str) -> None:
    """A statement typed on Windows is the same statement."""
    assert show(parse(text.replace("\n", "\r\n"))).replace("\\r", "") == show(parse(text))


@pytest.mark.parametrize("text", golden_statements())
def test_keywords_are_case_insensitive(text: str) -> None:
    """A statement in lower case is the same statement."""
    if not any(quote in text for quote in "'\"`"):
        assert show(parse(text)).lower() == show(parse(text.lower())).lower()


def test_every_statement_class_is_in_a_golden() -> None:
    """The parse goldens hold every kind of statement there is."""
    seen = {type(parse(text)) for text in golden_statements()}
    assert {kind.__name__ for kind in ast.Statement.__args__} == {kind.__name__ for kind in seen}


def outcome(text: str) -> ast.Statement | ParseError | UnsupportedStatementError:
    """Any other error passes through."""
    try:
        return parse(text)
    except (ParseError, UnsupportedStatementError) as error:
        return error


@pytest.mark.parametrize("text", golden_statements())
def test_a_statement_cut_short_is_incomplete_or_a_statement(text: str) -> None:
    """The beginning of a good statement, cut between tokens, is never called wrong: it is a
    statement or it is incomplete.
    """
    words = text.split(" ")
    for count in range(1, len(words)):
        beginning = " ".join(words[:count])
        found = outcome(beginning)
        assert not isinstance(found, ParseError) or found.incomplete, beginning


def test_a_text_without_a_statement_is_incomplete() -> None:
    """Nothing, blanks and comments ask for more; a lone semicolon does not."""
    for text in ("", " \n", "-- only a comment", "/* c */"):
        error = error_of(text)
        assert isinstance(error, ParseError)
        assert error.incomplete
    error = error_of(";")
    assert isinstance(error, ParseError)
    assert not error.incomplete


def test_one_text_is_one_statement() -> None:
    """A second statement is refused at the semicolon, also behind SET."""
    for text in ("SELECT 1; SELECT 2", "SET a=b; SELECT 2", "SET a=it's; SELECT x"):
        error = error_of(text)
        assert error.message == 'unexpected ";", expected one statement'
        assert error.span == Span(text.index(";"), text.index(";") + 1)


def test_the_error_names_what_was_expected() -> None:
    """Expected words are sorted, keywords first; at most eight are shown and all are kept; the hint
    knows what was meant.
    """
    error = error_of("DELETE FORM t")
    assert isinstance(error, ParseError)
    assert error.message == 'unexpected "FORM", expected FROM'
    assert error.expected == ("FROM",)
    assert error.hint == "did you mean FROM?"
    error = error_of("SELEC 1")
    assert isinstance(error, ParseError)
    assert error.message.endswith(", ..")
    assert error.message.count(",") == 9
    assert len(error.expected) > 8
    assert "SELECT" in error.expected


def test_an_alias_that_was_a_misspelt_keyword_is_hinted_at() -> None:
    """A misspelt clause word passes for an alias; the hint comes at the next word."""
    assert error_of("DELETE FROM t WHRE a = 1").hint == 'did you mean WHERE instead of "WHRE"?'


def test_errors_survive_pickling() -> None:
    """A parse error crosses processes with all it knows."""
    error = error_of("UPDATE t SET a =")
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == str(error)
    assert copy.incomplete
    assert copy.expected == error.expected


@pytest.mark.parametrize(
    "word",
    [
        "compact",
        "locks",
        "transactions",
        "date",
        "timestamp",
        "user",
        "location",
        "comment",
        "values_",
        "wait",
        "desc",
    ],
)
def test_keywords_of_other_statements_are_names(word: str) -> None:
    """A word is a keyword only where a statement can have it."""
    statement = parse(f"UPDATE {word} AS {word} SET {word} = {word}.{word} WHERE {word}")
    assert isinstance(statement, ast.Update)
    assert statement.target.parts[0].text == word
    assert statement.alias is not None
    created = parse(f"CREATE TABLE {word} ({word} int, {word} int)")
    assert isinstance(created, ast.CreateTable)
    assert [column.name.text for column in created.columns] == [word, word]


def test_reserved_words_are_names_in_backticks_only() -> None:
    """SELECT cannot name a table, `SELECT` can."""
    error = error_of("DROP TABLE select")
    assert error.message == '"select" is a reserved word and cannot be a name as it is'
    assert error.hint == "Put it in backticks: `select`."
    dropped = parse("DROP TABLE `select`")
    assert isinstance(dropped, ast.DropTable)
    assert dropped.name.parts[0].text == "select"


def test_a_keyword_gives_way_to_a_name_when_the_next_word_wants_it() -> None:
    """A table may be called as a word that could stand in its place."""
    for text in (
        "DESCRIBE extended",
        "DESCRIBE FORMATTED formatted",
        "SHOW LOCKS extended EXTENDED",
        "DESCRIBE database.extended",
    ):
        statement = parse(text)
        assert isinstance(statement, ast.Describe | ast.ShowLocks)
        assert statement.name is not None
        assert statement.name.parts[-1].text in ("extended", "formatted")


def test_set_keeps_its_value_verbatim() -> None:
    """Behind the first ``=`` everything belongs to the value, but for blanks at its ends."""
    for text, key, value in (
        ("SET a.b=c", "a.b", "c"),
        ("set hivevar:x =  'y;z' ;", "hivevar:x", "'y;z'"),
        ("/* c */ SET a=b=c", "a", "b=c"),
        ("SET a=", "a", ""),
        ("SET a=it's", "a", "it's"),
        ("SET a = -- x", "a", "-- x"),
        ("SET a=--b 'c ; -- done", "a", "--b 'c"),
    ):
        statement = parse(text)
        assert isinstance(statement, ast.SetVariable)
        assert (statement.key, statement.value) == (key, value)


def test_set_is_no_prefix() -> None:
    """Only the word SET sets."""
    assert isinstance(error_of("SETTINGS"), ParseError)


@pytest.mark.parametrize(
    "text",
    [
        "GRANT ALL ON t TO USER x",
        "EXPLAIN REVOKE x",
        "CREATE TEMPORARY FUNCTION f AS 'x'",
        "ALTER TABLE t TOUCH",
        "dfs -ls /",
    ],
)
def test_what_hive_knows_is_unsupported_not_wrong(text: str) -> None:
    """Statements of Hive that acidsql has not are named, not called syntax errors."""
    assert isinstance(error_of(text), UnsupportedStatementError)


@pytest.mark.parametrize("depth", [10, 1000])
def test_deep_brackets_are_no_problem(depth: int) -> None:
    """Brackets are balanced without recursion, to the depth that is allowed."""
    text = "SELECT " + "(" * depth + "1" + ")" * depth
    assert isinstance(parse(text), ast.Query)
    assert isinstance(parse(f"UPDATE t SET a = {text[7:]}"), ast.Update)
    error = error_of(text[:-1])
    assert isinstance(error, ParseError)
    assert error.incomplete


@pytest.mark.parametrize("after", [0, 300])
@pytest.mark.parametrize("before", [0, 300])
def test_long_lines_are_quoted_near_the_place(before: int, after: int) -> None:
    """Of a line that no terminal shows the error quotes what is around the place."""
    text = f"/*{'a ' * before}*/ DROP TABLE SELECT {'b ' * after}"
    quoted, carets = str(error_of(text)).splitlines()[1:3]
    assert len(quoted) < 190
    assert quoted.startswith("  line 1: .. ") == (before > 0)
    assert quoted.endswith(" ..") == (after > 0)
    assert quoted[carets.index("^") : len(carets)] == "SELECT"
