"""How wide text is on a terminal, and text that is cut or padded to a width. Control characters are
shown as escapes, so that a value can neither break a frame nor drive the terminal.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

ELLIPSIS = "…"

_ESCAPES = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))} | {
    0x09: "\\t",
    0x0A: "\\n",
    0x0D: "\\r",
}


def visible(text: str) -> str:
    """``text`` with escapes for its control characters."""
    return text if text.isprintable() else text.translate(_ESCAPES)


def display_width(text: str) -> int:
    """The number of terminal columns: East Asian wide characters take two, combining marks none."""
    if text.isascii():
        return len(text)
    width = _wcswidth(text)
    return width if width >= 0 else sum(map(_character_width, text))


def _character_width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _wcswidth(text: str) -> int:
    """wcwidth's answer (it knows emoji sequences), or -1 where it is not installed or has none."""
    try:
        from wcwidth import wcswidth
    except ImportError:
        return -1
    return int(wcswidth(text))


def shorten(text: str, widest: int | None) -> str:
    """``text`` cut to ``widest`` terminal columns, the last of them an ellipsis."""
    if widest is None or display_width(text) <= widest:
        return text
    kept, width = [], len(ELLIPSIS)
    for character in text:
        width += _character_width(character)
        if width > widest:
            break
        kept.append(character)
    return "".join(kept) + ELLIPSIS


def wrapped(text: str, widest: int) -> Iterator[str]:
    """``text`` in parts of at most ``widest`` terminal columns; there is one at least."""
    begin, width = 0, 0
    for at, character in enumerate(text):
        width += _character_width(character)
        if width > widest and at > begin:
            yield text[begin:at]
            begin, width = at, _character_width(character)
    yield text[begin:]


def padded(text: str, width: int, *, right: bool = False) -> str:
    """``text`` with blanks up to ``width`` columns; ``right``: in front of it."""
    blanks = " " * (width - display_width(text))
    return blanks + text if right else text + blanks
