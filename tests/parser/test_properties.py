"""What holds for every text: our errors only, spans that are the source's own, the same answer from
a compiled sqlglot.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from importlib import metadata
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from acidsql.errors import ParseError, Span, UnsupportedStatementError
from acidsql.parser import statements as ast
from acidsql.parser.parse import parse
from acidsql.parser.script import split
from acidsql.parser.show import show
from acidsql.parser.tokens import scan
from tests.lengths import times
from tests.parser.generated import made_up_statements
from tests.parser.printing import print_statement
from tests.parser.texts import PIECES, any_text, golden_statements, outcome_text, settings_text


def nodes(value: Any, around: Span) -> Iterator[tuple[Any, Span, Span]]:
    """Every node of a statement that has a place, its place, and that of the node around it."""
    if isinstance(value, tuple):
        for item in value:
            yield from nodes(item, around)
    elif is_dataclass(value) and not isinstance(value, Span):
        own = getattr(value, "span", around)
        for field in fields(value):
            found = getattr(value, field.name)
            if isinstance(found, Span):
                yield value, found, around
            else:
                yield from nodes(found, own)


def check_spans(statement: ast.Statement, text: str) -> None:
    for node, span, around in nodes(statement, Span(0, len(text))):
        assert around.start <= span.start < span.end <= around.end
        match node:
            case ast.Fragment():
                assert span.cut(text) == node.text
            case ast.ColumnDefinition():
                assert span.cut(text) == node.type_text
            case ast.Name():
                assert span.cut(text) in (node.text, "`" + node.text.replace("`", "``") + "`")


def outcome(text: str) -> ast.Statement | ParseError | UnsupportedStatementError:
    """Any other error passes through."""
    try:
        return parse(text)
    except (ParseError, UnsupportedStatementError) as error:
        return error


def check_any(text: str) -> None:
    """A statement whose spans are right and that can be shown and printed, or one of the parser's
    errors with its place.
    """
    found = outcome(text)
    if isinstance(found, ParseError | UnsupportedStatementError):
        assert found.source == text
        assert found.span is not None
        assert 0 <= found.span.start <= found.span.end <= len(text)
        assert str(found).startswith(found.message)
        assert not found.message.removesuffix("..").endswith(".")
    else:
        check_spans(found, text)
        assert show(parse(print_statement(found))) == show(found)
        show(found, text)


@pytest.mark.parametrize("text", golden_statements())
def test_spans_are_slices_of_the_source(text: str) -> None:
    """Whatever a statement holds is the source's own text at its span and lies within what it is
    part of.
    """
    check_spans(parse(text), text)


@given(any_text())
def test_tokens_and_gaps_concatenate_to_the_text(text: str) -> None:
    """The tokens and what lies between them are the text, every character of it once."""
    tokens = scan(text).tokens
    edges = [0, *(edge for token in tokens for edge in (token.start, token.end)), len(text)]
    assert edges == sorted(edges)
    assert "".join(text[start:end] for start, end in pairwise(edges)) == text


@given(any_text(), any_text())
def test_statements_and_gaps_concatenate_to_the_script(first: str, second: str) -> None:
    """So are the statements of a script."""
    script = f"{first};\r\n{second}"
    edges = [
        0,
        *(edge for found in split(script) for edge in (found.span.start, found.span.end)),
        len(script),
    ]
    assert edges == sorted(edges)
    assert all(found.text == found.span.cut(script) for found in split(script))


@example("START TRANSACTION ISOLATION--\nLEVEL SNAPSHOT")
@example("CREATE TABLE t (a int UNIQUE NOT /* c */ ENFORCED)")
@example("SET:--=;0")
@example("SET /* c */ a--b=x;y")
@given(any_text() | settings_text())
def test_any_text_parses_or_fails_with_a_parse_error(text: str) -> None:
    """Token soup, good statements cut short or damaged, odd settings: a statement or one of our
    errors, nothing else.
    """
    check_any(text)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@settings(max_examples=times(60_000))
@given(any_text() | settings_text())
def test_any_of_very_many_texts_parses_or_fails_with_a_parse_error(text: str) -> None:
    """The same, thousands of times."""
    check_any(text)


@given(made_up_statements(), st.randoms(use_true_random=False))
def test_the_beginning_of_a_statement_is_unfinished_not_wrong(
    statement: ast.Statement, chance: random.Random
) -> None:
    """Broken off at a blank between two tokens, a statement is a statement already or it is
    incomplete.
    """
    assume(not isinstance(statement, ast.SetVariable | ast.ResetVariable))
    text = print_statement(statement)
    ends = [
        token.end for token in scan(text).tokens if text[token.end : token.end + 1].strip() == ""
    ]
    found = outcome(text[: chance.choice(ends)])
    assert isinstance(found, ast.Statement) or (
        isinstance(found, ParseError) and found.incomplete
    ), found


@given(
    any_text(),
    st.sampled_from(
        ("x", "1", "'s'", ")", "END", "(a)", "INSERT INTO t SELECT 1", "= 1", ", b", "WHERE a")
    ),
)
def test_what_is_wrong_stays_wrong(text: str, more: str) -> None:
    """An error that is not called incomplete is mended by nothing that comes behind it; one clause
    too many is told again once the rest is whole.
    """
    first = outcome(text)
    assume(isinstance(first, ParseError) and not first.incomplete)
    found = outcome(f"{text}\n{more}")
    twice = "given twice" in first.message
    assert isinstance(found, UnsupportedStatementError) or (
        isinstance(found, ParseError) and (twice or not found.incomplete)
    )


def texts_to_compare() -> list[str]:
    """The goldens, and two thousand damaged ones, the same in every run."""
    chance = random.Random(11)
    good = golden_statements()
    damaged = []
    for _ in range(2_000):
        text = chance.choice(good)
        start, size = chance.randrange(len(text)), chance.randrange(12)
        damaged.append(text[:start] + chance.choice(("", *PIECES)) + text[start + size :])
    return [*good, *damaged]


@pytest.mark.processes
def test_a_compiled_sqlglot_gives_the_same_answers() -> None:
    """With sqlglotc installed, statements, spans and errors are those of sqlglot's sources."""
    try:
        metadata.version("sqlglotc")
    except metadata.PackageNotFoundError:
        pytest.skip(
            "sqlglotc, sqlglot's compiled accelerator, is not installed: there is nothing to compare (pip install 'sqlglot[c]')"
        )
    texts = texts_to_compare()
    command = [sys.executable, "-m", "tests.parser.pure_sqlglot"]
    ran = subprocess.run(
        command, input=json.dumps(texts), capture_output=True, text=True, check=True
    )
    assert [outcome_text(text) for text in texts] == json.loads(ran.stdout)


@pytest.mark.processes
def test_sqlglot_from_its_sources_is_what_runs_without_sqlglotc() -> None:
    """The other side of that comparison works everywhere."""
    texts = [*golden_statements()[:20], "SELEC 1", "'"]
    command = [sys.executable, "-m", "tests.parser.pure_sqlglot"]
    ran = subprocess.run(
        command, input=json.dumps(texts), capture_output=True, text=True, check=True
    )
    assert [outcome_text(text) for text in texts] == json.loads(ran.stdout)
