"""Errors of statements that a session puts together point into what its user wrote."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.errors import BindError, Error, InterfaceError, Span
from acidsql.parser.parameters import bind_parameters, bound_span
from acidsql.session import Session
from acidsql.session.own_text import enclosed, move

FRAME = pd.DataFrame({"id": [1], "name": ["b"]})


WRONG: dict[str, tuple[Callable[[Session], object], list[str]]] = {
    "a filter": (
        lambda s: s.scan("t", filter="id > 1\n AND nme = 'x'"),
        ["  line 2:  AND nme = 'x'", "               ^^^"],
    ),
    "the end of a filter": (
        lambda s: s.scan("t", filter="id >  "),
        ["  line 1: id >  ", "              ^"],
    ),
    "a bracket of a filter": (
        lambda s: s.scan("t", filter="id > 1) OR (1=1"),
        ["  line 1: id > 1) OR (1=1", "                ^"],
    ),
    "a condition": (
        lambda s: s.table("t").delete("idd > 1"),
        ["  line 1: idd > 1", "          ^^^"],
    ),
    "a condition with values": (
        lambda s: s.table("t").delete("id = ?\n OR nme = ?", ["a\nb", 2]),
        ["  line 3:  OR nme = 2", "              ^^^"],
    ),
    "a condition without its value": (
        lambda s: s.table("t").delete("id = ? AND name = ?", [1]),
        ["  line 1: id = ? AND name = ?", "                            ^"],
    ),
    "one of several values": (
        lambda s: s.table("t").update({"name": "'x'", "id": "idd + 1"}, "id = 1"),
        ["  line 1: idd + 1", "          ^^^"],
    ),
    "the condition behind values": (
        lambda s: s.table("t").update({"name": "DEFAULT", "id": "id + ?"}, "idd = ?", [1, 2]),
        ["  line 1: idd = 2", "          ^^^"],
    ),
    "a clause of a merge": (
        lambda s: s.table("t").merge(
            FRAME, ["id"], [("s.name = 'x'", "delete"), ("s.nme = 'x'", "update")]
        ),
        ["  line 1: s.nme = 'x'", "            ^^^"],
    ),
    "a plan": (
        lambda s: s.table("t").explain().delete("idd > 1"),
        ["  line 1: idd > 1", "          ^^^"],
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_an_error_counts_in_the_users_own_text(people: Session, case: str) -> None:
    """Its line, its column and the line it quotes are those of what was given."""
    run, place = WRONG[case]
    with pytest.raises(Error) as caught:
        run(people)
    assert str(caught.value).splitlines()[1:3] == place


@pytest.mark.parametrize(
    "run",
    [
        lambda s: s.scan("tt"), lambda s: s.table("tt").delete("id = 1"), lambda s: s.table("tt").append(FRAME),
        lambda s: s.table("t").update({"nme": "1"}, "id = 1"),
        lambda s: s.table("t").merge(FRAME, ["id"], {"nme": "s.name"}),
    ],
)  # fmt: skip
def test_words_that_nobody_wrote_are_not_quoted(
    people: Session, run: Callable[[Session], object]
) -> None:
    """A name that was given as such stands in the message, and its error has no line."""
    with pytest.raises(BindError, match=r"tt|nme") as caught:
        run(people)
    assert caught.value.line is None
    assert "line" not in str(caught.value)


def test_frames_are_called_frames(people: Session) -> None:
    """That of a statement has no name of its own, a registered one is called by its name."""
    with pytest.raises(Error, match=r'^.Error 10004.: column "nme" does not exist in the frame\n'):
        people.table("t").merge(FRAME, ["id"], {"name": "s.nme"})
    people.register("f", FRAME)
    with pytest.raises(Error, match=r'"nme" does not exist in table "default.t" or frame "f"\n'):
        people.sql("SELECT nme FROM t, f")


def test_what_is_no_text_is_refused_as_such(people: Session) -> None:
    """A filter and a condition are SQL, and columns a list."""
    for run in (lambda: people.scan("t", filter=5), lambda: people.table("t").delete(True)):  # type: ignore[arg-type]
        with pytest.raises(InterfaceError, match="is no text of SQL"):
            run()
    with pytest.raises(InterfaceError, match="a list of names"):
        people.scan("t", "id")


@given(st.lists(st.sampled_from(["a\n", "? ", "'?'", "é", " + "]), max_size=6).map("".join))
def test_a_place_is_found_behind_values_of_any_length(text: str) -> None:
    """Every character of a user's text is found again when values stand in the statement."""
    statement = f"DELETE FROM t WHERE {enclosed('?')} OR {enclosed(text)}"
    values = ["it's\nlong"] * (statement.replace("'?'", "").count("?"))
    bound = bind_parameters(statement, values)
    at = statement.index(enclosed(text), 25) + 2
    part = bound_span(statement, values, Span(at, at + len(text)))
    for start in range(part.start, part.end):
        error = Error("x", span=Span(start, start + 1), source=bound)
        move(error, statement, ["?", text], values)
        assert error.source == part.cut(bound)
        assert error.span == Span(start - part.start, start - part.start + 1)
