"""The first rows of a result as a table of text, for ``print`` and a Python prompt. The shell has
tables of its own, which show every row.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

from acidsql.catalog.text import plain_text
from acidsql.catalog.types import DecimalType, HiveType, PrimitiveType

MAX_ROWS = 20
_WIDEST_CELL = 40
_NUMBERS = frozenset({"tinyint", "smallint", "int", "bigint", "float", "double"})


def text_table(
    columns: Sequence[tuple[str, HiveType]], rows: Iterable[Sequence[Any]], count: int
) -> str:
    """The lines of a table of ``rows``, the first of ``count``, and of how many there are. Cells
    beside others are cut to 40 columns of the screen; control characters are shown as escapes.
    """
    printers = [plain_text(hive_type) for _, hive_type in columns]
    widest = _WIDEST_CELL if len(columns) > 1 else None  # lone columns are plans and the like
    shown = [
        ["NULL" if v is None else _cell(p(v), widest) for p, v in zip(printers, row, strict=True)]
        for row in rows
    ]
    names = [_cell(name, widest) for name, _ in columns]
    widths = [max(map(_width, cells)) for cells in zip(names, *shown, strict=True)]
    right = [_is_number(hive_type) for _, hive_type in columns]
    rule = "+" + "+".join("-" * (width + 2) for width in widths) + "+"
    lines = [rule, _line(names, widths, [False] * len(names)), rule]
    lines += (_line(cells, widths, right) for cells in shown)
    lines += [rule] if shown else []
    more = count - len(shown)
    lines.append(f"{_rows(count)}, {more:,} of them not shown" if more else _rows(count))
    return "\n".join(lines)


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


def _is_number(hive_type: HiveType) -> bool:
    match hive_type:
        case PrimitiveType(name):
            return name in _NUMBERS
        case _:
            return isinstance(hive_type, DecimalType)


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    padded = []
    for cell, width, to_the_right in zip(cells, widths, right, strict=True):
        blanks = " " * (width - _width(cell))
        padded.append(blanks + cell if to_the_right else cell + blanks)
    return f"| {' | '.join(padded)} |"


def _cell(text: str, widest: int | None) -> str:
    if not text.isprintable():
        text = "".join(c if c.isprintable() else _escape(c) for c in text)
    if widest is None or _width(text) <= widest:
        return text
    width, kept = 1, []
    for character in text:
        width += _width(character)
        if width > widest:
            break
        kept.append(character)
    return "".join(kept) + "…"


def _escape(character: str) -> str:
    return character.encode("unicode_escape", "backslashreplace").decode("ascii")


def _width(text: str) -> int:
    """The columns of the screen that a text takes: wide characters two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )
