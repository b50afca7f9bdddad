"""Text is what UTF-8 can write: everything else is refused where it enters, with its place."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.errors import InterfaceError, ProgrammingError
from acidsql.utf8 import argument_text, check_text, decoded, is_text

ANY_CHARACTERS = st.text(st.characters(), max_size=12)


@given(ANY_CHARACTERS)
def test_text_is_what_can_be_encoded(text: str) -> None:
    """Checking and encoding agree, and the error points at the first wrong character and can be
    printed.
    """
    wrong = next((at for at, char in enumerate(text) if "\ud800" <= char <= "\udfff"), None)
    assert is_text(text) == (wrong is None)
    if wrong is None:
        check_text(text)
        return
    with pytest.raises(ProgrammingError) as caught:
        check_text(text)
    assert caught.value.span is not None
    assert caught.value.span.start == wrong
    str(caught.value).encode()


@given(st.binary(max_size=12))
def test_bytes_are_text_or_refused(data: bytes) -> None:
    """What decodes is text; what does not is refused with the offset that Python's
    decoder tells.
    """
    try:
        expected = data.removeprefix(b"\xef\xbb\xbf").decode()
    except UnicodeDecodeError:
        with pytest.raises(ProgrammingError, match="is not UTF-8"):
            decoded(data)
    else:
        assert decoded(data) == expected.replace("\r\n", "\n").replace("\r", "\n")


@pytest.mark.parametrize(
    ("data", "numbers", "caret"),
    [
        (b"\xff", "0xff is not UTF-8 (line 1, column 1, offset 0)", "^"),
        (
            b"SELECT 1;\n  'caf\xe9'",
            "0xe9 is not UTF-8 (line 2, column 7, offset 16)",
            "  'caf\ufffd'",
        ),
        ("é\n€ ".encode() + b"\xc3", "0xc3 is not UTF-8 (line 2, column 3, offset 7)", "€ \ufffd"),
        (b"\xef\xbb\xbfa\x80", "0x80 is not UTF-8 (line 1, column 2, offset 4)", "a\ufffd"),
        (b"\xed\xa0\x80", "0xed is not UTF-8 (line 1, column 1, offset 0)", "^"),
    ],
)
def test_the_place_of_a_byte(data: bytes, numbers: str, caret: str) -> None:
    """Line and column count characters, the offset counts bytes of the file."""
    with pytest.raises(ProgrammingError) as caught:
        decoded(data, of="a.sql")
    assert caught.value.message == f"a.sql: byte {numbers}"
    assert (
        f"({', '.join(numbers.split('(')[1].split(', ')[:2])}"
        == f"(line {caught.value.line}, column {caught.value.column}"
    )
    assert caret in str(caught.value)


def test_halves_of_pairs_and_escaped_bytes_are_told_apart() -> None:
    """A character that stands for a byte is called by the byte."""
    with pytest.raises(
        ProgrammingError,
        match=r"^character U\+D800 is half of a surrogate pair .*\(line 2, column 3\)",
    ):
        check_text("a\nbc\ud800")
    with pytest.raises(
        ProgrammingError, match=r"^a name: byte 0x80 is not UTF-8 \(line 1, column 1\)"
    ):
        check_text("\udc80", of="a name")


@pytest.mark.parametrize("text", [b"SELECT 1", None, 5])
def test_what_is_no_str_is_refused(text: Any) -> None:
    """Bytes are not decoded by guess."""
    with pytest.raises(InterfaceError, match="is a str, not"):
        check_text(text)


def test_arguments_are_read_as_utf8_whatever_the_locale() -> None:
    """What a locale without UTF-8 could not read is read again; what no locale can is refused."""
    escaped = os.fsdecode(b"caf\xff")
    assert argument_text("é") == "é"
    assert argument_text("".join(chr(0xDC00 + byte) for byte in "é".encode())) == "é"
    for wrong in (escaped, "\ud800"):
        with pytest.raises(ProgrammingError):
            argument_text(wrong)
