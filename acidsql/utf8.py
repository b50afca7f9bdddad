"""Which text there can be: what UTF-8 can write, and how bytes become such text.

Python's text may hold halves of surrogate pairs, which no encoding can write. Most of them stand
for bytes that were not UTF-8 (``surrogateescape``: arguments, file names, the environment). They
are refused where text enters; behind the doors every text can be encoded.
"""

from __future__ import annotations

import codecs
import os

from acidsql.errors import InterfaceError, ProgrammingError, Span

SQLSTATE = "22021"  # character not in repertoire
_ESCAPED_BYTES = range(0xDC80, 0xDD00)
_BOM = codecs.BOM_UTF8


def is_text(text: str) -> bool:
    """Whether UTF-8 can write it."""
    return text.isascii() or _unwritable(text) is None


def _unwritable(text: str) -> int | None:
    """The offset of the first character that UTF-8 cannot write."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return error.start
    return None


def check_text(text: str, *, of: str | None = None) -> None:
    """ProgrammingError, with its span, for a character that UTF-8 cannot write.

    ``of`` says in the error what the text is. InterfaceError for what is no ``str`` at all.
    """
    if not isinstance(text, str):
        raise InterfaceError(f"{of or 'a statement'} is a str, not {type(text).__name__}")
    if not is_text(text):
        raise _refused(text, _unwritable(text) or 0, of=of)


def decoded(data: bytes, *, of: str | None = None) -> str:
    """The text of UTF-8 bytes, without a byte order mark and with ``\\n`` alone at the ends of
    lines.

    ProgrammingError with line, column and offset of the first byte that is not UTF-8.
    """
    start = len(_BOM) if data.startswith(_BOM) else 0
    try:
        text = data[start:].decode()
    except UnicodeDecodeError as error:
        at = len(data[start : start + error.start].decode())
        shown = data[start:].decode(errors="surrogateescape")
        raise _refused(shown, at, of=of, offset=start + error.start) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def argument_text(text: str) -> str:
    """An argument of the command line as the UTF-8 that it was written in, whatever the locale.

    ProgrammingError, with its span, if it was not.
    """
    if is_text(text):
        return text
    try:
        data = os.fsencode(text)
    except UnicodeEncodeError as error:
        raise _refused(text, error.start) from None
    return decoded(data)


def _refused(
    text: str, at: int, *, of: str | None = None, offset: int | None = None
) -> ProgrammingError:
    code = ord(text[at])
    is_byte = code in _ESCAPED_BYTES
    what = f"byte 0x{code - 0xDC00:02x} is not UTF-8"
    if not is_byte:
        what = f"character U+{code:04X} is half of a surrogate pair and no text"
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    numbers = f"line {line}, column {column}" + ("" if offset is None else f", offset {offset}")
    return ProgrammingError(
        f"{f'{of}: ' if of else ''}{what} ({numbers})",
        hint="SQL text, names and values are UTF-8." if is_byte else None,
        sqlstate=SQLSTATE,
        span=Span(at, at + 1),
        source=text,
    )
