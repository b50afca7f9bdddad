"""Result rows as text: one function an output format, each a stream of lines.

tsv is the Hive command line's: values as they are, ``NULL``, no quoting. csv quotes where it must,
as the standard library's ``csv`` does. json is one object a line (JSON lines) under the column
names, so that a result of any size can be read as it comes. table and vertical are Beeline's, for
people: control characters are shown as escapes, so that a value can neither break the frame nor
drive the terminal.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import chain, islice
from typing import Any, NamedTuple, Protocol, TextIO

from acidsql.catalog.text import plain_text, strict_json
from acidsql.catalog.types import DecimalType, HiveType, PrimitiveType
from acidsql.lazy import dataclass
from acidsql.width import display_width, padded, shorten, visible, wrapped

# ---- widths that fit
#
# How wide the columns of a table are on a screen that does not hold them as they are.


LEAST = 8
"""A text that is cut to less than this tells nothing."""


class Need(NamedTuple):
    """The width that a column would have, and the least it can be cut to."""

    natural: int
    least: int


def need(name: int, values: int, *, is_rigid: bool) -> Need:
    """What a column needs whose name and widest value have these widths. ``is_rigid``: a value that
    is cut would be another one, as a number's.
    """
    natural = max(name, values)
    return Need(natural, max(values, 1) if is_rigid else min(natural, LEAST))


def fitted(needs: Sequence[Need], screen: int) -> list[int] | None:
    """The widths of columns in a frame that is at most ``screen`` wide: the widest ones are cut,
    and alike. None where they cannot be cut enough.
    """
    room = screen - 3 * len(needs) - 1
    if sum(need.least for need in needs) > room:
        return None
    low, high = 0, max((need.natural for need in needs), default=0)
    while low < high:
        middle = (low + high + 1) // 2
        if sum(_widths(needs, middle)) <= room:
            low = middle
        else:
            high = middle - 1
    return _widths(needs, low)


def _widths(needs: Sequence[Need], cap: int) -> list[int]:
    return [max(need.least, min(need.natural, cap)) for need in needs]


# ---- formats


NULL = "NULL"
SAMPLE_ROWS = 1000


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
    columns).

    ``widest_cell`` cuts longer cells of a table, None cuts nothing; ``screen``: the columns of the
    terminal that a table is fitted to, which is shown ``vertical_if_wide`` if it cannot be.
    ``null`` stands for NULL, but in json; ``tabs`` leaves those inside values of tsv as they are.
    ``types``: the heads of a table have them below the names.
    """

    format: Format = Format.TSV
    header: bool = False
    widest_cell: int | None = None
    screen: int | None = None
    vertical_if_wide: bool = False
    null: str = NULL
    tabs: bool = True
    types: bool = False


class Column(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def type(self) -> HiveType: ...


Row = Sequence[Any]
Cells = Sequence[str | None]


def write_rows(out: TextIO, columns: Sequence[Column], rows: Iterable[Row], layout: Layout) -> int:
    """Writes every row to ``out`` as it comes; how many there were."""
    counted = Counter(rows)
    out.writelines(row_lines(columns, counted, layout))
    return counted.count


def row_lines(columns: Sequence[Column], rows: Iterable[Row], layout: Layout) -> Iterator[str]:
    """The lines of the rows, each with its end, as they come."""
    match layout.format:
        case Format.JSON:
            return json_lines(columns, rows)
        case Format.TABLE:
            return table_lines(columns, rows, layout)
        case Format.VERTICAL:
            return vertical_lines(columns, _texts(columns, rows), layout.null)
        case Format.CSV:
            return delimited_lines(columns, rows, layout, _csv_line)
        case Format.TSV:
            return delimited_lines(
                columns, rows, layout, _tsv_line if layout.tabs else _escaped_line
            )


class Counter:
    """Rows, and how many of them were asked for so far."""

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
    layout: Layout,
    line: Callable[[Cells, str], str],
) -> Iterator[str]:
    if layout.header:
        yield line([c.name for c in columns], layout.null) + "\n"
    for cells in _texts(columns, rows):
        yield line(cells, layout.null) + "\n"


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


def vertical_lines(
    columns: Sequence[Column], cells: Iterable[Cells], null: str = NULL
) -> Iterator[str]:
    names = [visible(c.name) for c in columns]
    width = max(map(display_width, names), default=0)
    heads = [padded(name, width) for name in names]
    for texts in cells:
        for head, text in zip(heads, texts, strict=True):
            yield f"{head}  {null if text is None else visible(text)}\n"
        yield "\n"


def table_lines(columns: Sequence[Column], rows: Iterable[Row], layout: Layout) -> Iterator[str]:
    """The lines of a frame as wide as the first rows need, and as the screen allows: the cells of
    several columns are cut for it, those of a single one go on in the next line. A later row that
    is wider sticks out, or is cut as they are. Where cutting does not help nothing is cut.
    """
    texts = _texts(columns, rows)
    sample = list(islice(texts, SAMPLE_ROWS))
    shown = [_shown(cells, layout) for cells in sample]
    heads = _heads(columns, layout)
    right = [is_number(c.type) for c in columns]
    widths = [max(map(display_width, column)) for column in zip(*heads, *shown, strict=True)]
    lines: Iterable[Sequence[str]] = chain(shown, (_shown(cells, layout) for cells in texts))
    caps: Sequence[int | None] = [None] * len(widths)
    if layout.screen is None or frame_width(widths) <= layout.screen:
        pass
    elif len(columns) == 1:
        widths = [max(layout.screen - frame_width([0]), LEAST)]
        lines = ([part] for [text] in lines for part in wrapped(text, widths[0]))
    else:
        needs = _needs(heads, shown, right)
        fit = fitted(needs, layout.screen)
        if fit is not None:
            widths = fit
            caps = [None if rigid else width for rigid, width in zip(right, widths, strict=True)]
        elif layout.vertical_if_wide:
            yield from vertical_lines(columns, chain(sample, texts), layout.null)
            return
    yield from _framed(heads, lines, widths, caps, right)


def needs_of(columns: Sequence[Column], rows: Iterable[Row], layout: Layout) -> list[Need]:
    """What the columns of a table need whose rows are all there."""
    shown = [_shown(cells, layout) for cells in _texts(columns, rows)]
    right = [is_number(c.type) for c in columns]
    return _needs(_heads(columns, layout), shown, right)


def _heads(columns: Sequence[Column], layout: Layout) -> list[list[str]]:
    """The lines above the rows of a table."""
    heads = [_shown([c.name for c in columns], layout)]
    if layout.types:
        heads.append(_shown([str(c.type) for c in columns], layout))
    return heads


def _needs(
    heads: Sequence[Sequence[str]], shown: Iterable[Sequence[str]], right: Sequence[bool]
) -> list[Need]:
    names = (max(map(display_width, of_column)) for of_column in zip(*heads, strict=True))
    return [
        need(name, max(map(display_width, values), default=0), is_rigid=rigid)
        for name, rigid, *values in zip(names, right, *shown, strict=True)
    ]


def _shown(cells: Cells, layout: Layout) -> list[str]:
    """Cells of a table as they are shown, before they are fitted to a screen."""
    return [
        layout.null if text is None else shorten(visible(text), layout.widest_cell)
        for text in cells
    ]


def frame_width(widths: Sequence[int]) -> int:
    """The width of a frame around columns of these widths."""
    return sum(widths) + 3 * len(widths) + 1


def _framed(
    heads: Sequence[Sequence[str]],
    rows: Iterable[Sequence[str]],
    widths: Sequence[int],
    caps: Sequence[int | None],
    right: Sequence[bool],
) -> Iterator[str]:
    """The lines of a frame. Heads are cut to the widths, cells to the ``caps``; those of the
    columns that are ``right`` stand at the right.
    """
    rule = "+" + "+".join("-" * (width + 2) for width in widths) + "+\n"

    def line(cells: Iterable[str]) -> str:
        return "| " + " | ".join(cells) + " |\n"

    yield rule
    for head in heads:
        yield line(padded(shorten(text, w), w) for text, w in zip(head, widths, strict=True))
    yield rule
    last = rule
    for cells in rows:
        last = line(
            padded(shorten(text, cap), width, right=r)
            for text, cap, width, r in zip(cells, caps, widths, right, strict=True)
        )
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


def _tsv_line(cells: Cells, null: str) -> str:
    return "\t".join([null if text is None else text for text in cells])


_TSV_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


def _escaped_line(cells: Cells, null: str) -> str:
    return "\t".join([null if text is None else text.translate(_TSV_ESCAPES) for text in cells])


class _Echo:
    """A file for ``csv.writer``, whose ``writerow`` gives back what ``write`` does."""

    def write(self, text: str) -> str:
        return text


# Python 3.12 and older quote just those ends of lines that are in their own: so both of them are.
_CSV_LINE_END = "\r\n"
_csv_writer = csv.writer(_Echo(), lineterminator=_CSV_LINE_END)


def _csv_line(cells: Cells, null: str) -> str:
    """A line of csv. A text that reads like NULL is quoted, and NULL never is."""
    if null in cells or (null == "" and cells == [None]):
        return ",".join(_csv_cell(text, null) for text in cells)
    line: str = _csv_writer.writerow([null if text is None else text for text in cells])
    return line.removesuffix(_CSV_LINE_END)


def _csv_cell(text: str | None, null: str) -> str:
    if text is None:
        return null
    if text == null:
        return '"' + text.replace('"', '""') + '"'
    line: str = _csv_writer.writerow([text])
    return line.removesuffix(_CSV_LINE_END)
