"""Result rows as text: one function an output format, each a stream of lines.

tsv is the Hive command line's: values as they are, ``NULL``, no quoting. csv quotes where it must,
as the standard library's ``csv`` does. json is one object a line (JSON lines) under the column
names, so that a result of any size can be read as it comes. table and vertical are Beeline's, for
people: control characters are shown as escapes, so that a value can neither break the frame nor
drive the terminal.
"""

from __future__ import annotations

import csv
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import chain, islice
from typing import Any, Protocol, TextIO

from acidsql.catalog.text import plain_text, strict_json
from acidsql.catalog.types import DecimalType, HiveType, PrimitiveType
from acidsql.lazy_dataclass import dataclass

NULL = "NULL"
SAMPLE_ROWS = 1000
ELLIPSIS = "…"


class Format(StrEnum):
    TABLE = "table"
    VERTICAL = "vertical"
    CSV = "csv"
    TSV = "tsv"
    JSON = "json"


ALIASES = {"csv2": Format.CSV, "tsv2": Format.TSV, "jsonl": Format.JSON}
FORMAT_NAMES = (*(f.value for f in Format), *ALIASES)


def parse_format(name: str) -> Format:
    """The format of this name. ValueError for a word that names no format."""
    word = name.lower()
    return ALIASES.get(word) or Format(word)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How rows are to be laid out. ``header`` is for csv and tsv (the others always name the
    columns); ``widest_cell`` cuts longer cells of a table, None cuts nothing.
    """

    format: Format = Format.TSV
    header: bool = False
    widest_cell: int | None = None


class Column(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def type(self) -> HiveType: ...


Row = Sequence[Any]
Cells = Sequence[str | None]


def write_rows(out: TextIO, columns: Sequence[Column], rows: Iterable[Row], layout: Layout) -> int:
    """Writes every row to ``out`` as it comes; how many there were."""
    counted = _Counter(rows)
    match layout.format:
        case Format.JSON:
            out.writelines(json_lines(columns, counted))
        case Format.TABLE:
            out.writelines(table_lines(columns, counted, layout.widest_cell))
        case Format.VERTICAL:
            out.writelines(vertical_lines(columns, counted))
        case Format.CSV:
            out.writelines(delimited_lines(columns, counted, header=layout.header, line=_csv_line))
        case Format.TSV:
            out.writelines(delimited_lines(columns, counted, header=layout.header, line=_tsv_line))
    return counted.count


class _Counter:
    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = rows
        self.count = 0

    def __iter__(self) -> Iterator[Row]:
        for row in self.rows:
            self.count += 1
            yield row


def delimited_lines(
    columns: Sequence[Column],
    rows: Iterable[Row],
    *,
    header: bool,
    line: Callable[[Sequence[str]], str],
) -> Iterator[str]:
    if header:
        yield line([c.name for c in columns]) + "\n"
    for cells in _texts(columns, rows):
        yield line([NULL if text is None else text for text in cells]) + "\n"


def json_lines(columns: Sequence[Column], rows: Iterable[Row]) -> Iterator[str]:
    heads = [strict_json(PrimitiveType("string"))(c.name) + ": " for c in columns]
    printers = [strict_json(c.type) for c in columns]
    for row in rows:
        yield (
            "{"
            + ", ".join(
                head + printer(value)
                for head, printer, value in zip(heads, printers, row, strict=True)
            )
            + "}\n"
        )


def vertical_lines(columns: Sequence[Column], rows: Iterable[Row]) -> Iterator[str]:
    names = [_visible(c.name) for c in columns]
    width = max(map(display_width, names), default=0)
    heads = [_padded(name, width) for name in names]
    for cells in _texts(columns, rows):
        for head, text in zip(heads, cells, strict=True):
            yield f"{head}  {NULL if text is None else _visible(text)}\n"
        yield "\n"


def table_lines(
    columns: Sequence[Column], rows: Iterable[Row], widest_cell: int | None = None
) -> Iterator[str]:
    """The lines of a frame as wide as the first rows need; a later row that is wider sticks out."""

    def shown(cells: Cells) -> list[str]:
        return [NULL if text is None else shorten(_visible(text), widest_cell) for text in cells]

    names = shown([c.name for c in columns])
    right = [is_number(c.type) for c in columns]
    lines = map(shown, _texts(columns, rows))
    sample = list(islice(lines, SAMPLE_ROWS))
    widths = [max(map(display_width, column)) for column in zip(names, *sample, strict=True)]
    rule = "+" + "+".join("-" * (width + 2) for width in widths) + "+\n"

    def line(cells: Sequence[str], to_the_right: Sequence[bool]) -> str:
        padded = (
            _padded(text, width, right=r)
            for text, width, r in zip(cells, widths, to_the_right, strict=True)
        )
        return "| " + " | ".join(padded) + " |\n"

    yield rule
    yield line(names, [False] * len(names))
    yield rule
    last = rule
    for cells in chain(sample, lines):
        last = line(cells, right)
        yield last
    if last is not rule:
        yield rule


def is_number(hive_type: HiveType) -> bool:
    match hive_type:
        case DecimalType():
            return True
        case PrimitiveType(name):
            return name in ("tinyint", "smallint", "int", "bigint", "float", "double")
        case _:
            return False


def _texts(columns: Sequence[Column], rows: Iterable[Row]) -> Iterator[Cells]:
    printers = [plain_text(c.type) for c in columns]
    for row in rows:
        yield [
            None if value is None else printer(value)
            for printer, value in zip(printers, row, strict=True)
        ]


def _tsv_line(cells: Sequence[str]) -> str:
    return "\t".join(cells)


class _Echo:
    """A file for ``csv.writer``, whose ``writerow`` gives back what ``write`` does."""

    def write(self, text: str) -> str:
        return text


# Python 3.12 and older quote just those ends of lines that are in their own: so both of them are.
_CSV_LINE_END = "\r\n"
_csv_writer = csv.writer(_Echo(), lineterminator=_CSV_LINE_END)


def _csv_line(cells: Sequence[str]) -> str:
    line: str = _csv_writer.writerow(cells)
    return line.removesuffix(_CSV_LINE_END)


# -- width on a terminal

_ESCAPES = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))} | {
    0x09: "\\t",
    0x0A: "\\n",
    0x0D: "\\r",
}


def _visible(text: str) -> str:
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


def _padded(text: str, width: int, *, right: bool = False) -> str:
    blanks = " " * (width - display_width(text))
    return blanks + text if right else text + blanks
