"""A result as a notebook shows it: the head of its rows under names and types, and its numbers."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from acidsql.catalog.text import plain_text
from acidsql.catalog.types import DecimalType, HiveType, PrimitiveType

SHOWN_ROWS = 50
_SHOWN_CHARACTERS = 500
_NUMBERS = frozenset(("tinyint", "smallint", "int", "bigint", "float", "double"))
_LEFT, _RIGHT = ' style="text-align:left"', ' style="text-align:right"'


def rows_html(
    columns: Sequence[tuple[str, HiveType]], rows: Iterable[Sequence[object]], total: int
) -> str:
    """A table of ``rows``, the first of ``total``: at most SHOWN_ROWS of them, long values cut."""
    sides = [_RIGHT if _is_number(hive_type) else _LEFT for _, hive_type in columns]
    head = "".join(
        f"<th{side}>{_text(name)}<br><small>{_text(str(hive_type))}</small></th>"
        for side, (name, hive_type) in zip(sides, columns, strict=True)
    )
    printers = [plain_text(hive_type) for _, hive_type in columns]
    body = "".join(
        "<tr>"
        + "".join(
            f"<td{side}>{_NULL if value is None else _text(_cut(printer(value)))}</td>"
            for side, printer, value in zip(sides, printers, row, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    more = f", {total - SHOWN_ROWS:,} more than are shown" if total > SHOWN_ROWS else ""
    return table + line_html(f"{count_of(total, 'row')}{more}")


_NULL = '<em style="opacity:0.6">NULL</em>'


def line_html(text: str) -> str:
    """One line of text below or instead of rows."""
    return f"<div>{_text(text)}</div>"


def count_of(number: int, noun: str) -> str:
    """``1 row``, ``2,000 rows``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _is_number(hive_type: HiveType) -> bool:
    if isinstance(hive_type, PrimitiveType):
        return hive_type.name in _NUMBERS
    return isinstance(hive_type, DecimalType)


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"


def _text(text: str) -> str:
    """Escaped, so that a value is never read as HTML; nor as TeX, which notebooks look for."""
    return html.escape(text).replace("$", "&#36;").replace("\\", "&#92;")
