"""What an error quotes of the text it is about, and where its carets stand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.errors import ProgrammingError, Span
from acidsql.width import display_width

LINES = st.text(st.sampled_from("ab (,'日語é"), max_size=300)


@given(before=LINES, word=st.sampled_from(["x", "nope", "列名", "n" * 50]), after=LINES)
@pytest.mark.parametrize("screen", [40, 80, 200, None])
def test_carets_stand_below_what_they_mean(
    screen: int | None, before: str, word: str, after: str
) -> None:
    """In a line of any length, with characters that are two columns wide, on screens of any width:
    the line fits, and the carets begin below the first character that is spoken of."""
    text = f"{before}{word}{after}"
    span = Span(len(before), len(before) + len(word)).shift(len("SELECT\n"))
    error = ProgrammingError("wrong", span=span, source=f"SELECT\n{text}\nFROM t")
    _, quoted, carets = error.rendered(screen).split("\n")
    assert display_width(quoted) <= (screen or 160 + len("  line 2: .. " + " .."))
    at = next(i for i in range(len(quoted)) if display_width(quoted[:i]) == carets.index("^"))
    assert quoted[at] == word[0]
    shown = quoted.removeprefix("  line 2: ").removeprefix(".. ").removesuffix(" ..")
    assert shown in text
    if shown == text:
        assert carets.count("^") == display_width(word)


def test_what_would_drive_the_terminal_is_shown() -> None:
    """Control characters in a statement are escapes where it is quoted, and counted as such."""
    source = "SELECT '\x1b[2J', nope"
    error = ProgrammingError("wrong", span=Span(source.index("nope"), len(source)), source=source)
    _, quoted, carets = str(error).split("\n")
    assert quoted == "  line 1: SELECT '\\x1b[2J', nope"
    assert quoted[carets.index("^") :] == "nope"
