"""Rows laid out by each output format."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from acidsql.catalog.types import parse_type
from acidsql.rendering.formats import Format, Layout, fitted, need, parse_format, write_rows
from acidsql.result import ResultColumn
from acidsql.width import display_width, shorten, wrapped

PEOPLE = [("id", "int"), ("name", "string"), ("tags", "array<string>")]
ROWS = [(1, "ann", ["x", None]), (20, None, None)]


def rendered(
    columns: Sequence[tuple[str, str]], rows: Sequence[tuple[Any, ...]], **layout: Any
) -> str:
    out = io.StringIO()
    heads = [ResultColumn(name=name, type=parse_type(text)) for name, text in columns]
    assert write_rows(out, heads, iter(rows), Layout(**layout)) == len(rows)
    return out.getvalue()


def test_tsv_is_the_hive_command_lines() -> None:
    """Values as they are, NULL in capitals, no header unless asked for."""
    assert rendered(PEOPLE, ROWS, format=Format.TSV) == '1\tann\t["x",null]\n20\tNULL\tNULL\n'
    assert rendered(PEOPLE, [], format=Format.TSV, header=True) == "id\tname\ttags\n"
    assert rendered([("s", "string")], [("a\tb\nc",)], format=Format.TSV) == "a\tb\nc\n"


def test_csv_quotes_only_where_it_must() -> None:
    """A cell with a comma, a quote or a line break is quoted; NULL and the rest are not."""
    assert (
        rendered(PEOPLE, ROWS, format=Format.CSV, header=True)
        == 'id,name,tags\n1,ann,"[""x"",null]"\n20,NULL,NULL\n'
    )


CELLS = st.text(st.characters(codec="utf-8"))


@given(st.integers(1, 3).flatmap(lambda n: st.lists(st.tuples(*[CELLS] * n), min_size=1)))
@example([("",), ("a\rb",), ("\n",)])
def test_csv_reads_back(rows: list[tuple[str, ...]]) -> None:
    """Whatever the text, a CSV reader gets the same cells, of a single empty one too."""
    columns = [(f"c{number}", "string") for number in range(len(rows[0]))]
    text = rendered(columns, rows, format=Format.CSV)
    assert [tuple(r) for r in csv.reader(io.StringIO(text, newline=""))] == rows
    assert text.endswith("\n")
    assert not text.endswith("\r\n")


def test_json_is_one_object_a_line() -> None:
    """Each line is an object under the column names, nested values nested, NULL null."""
    lines = rendered(PEOPLE, ROWS, format=Format.JSON).splitlines()
    assert [json.loads(line) for line in lines] == [
        {"id": 1, "name": "ann", "tags": ["x", None]},
        {"id": 20, "name": None, "tags": None},
    ]


def test_a_table_may_have_types_below_names() -> None:
    """They count for the width as names do, and are cut as these are."""
    columns = [("id", "int"), ("m", "map<string,int>")]
    rows = [(1, {"a": 1}), (2, None)]
    assert rendered(columns, rows, format=Format.TABLE, types=True) == (
        "+-----+-----------------+\n"
        "| id  | m               |\n"
        "| int | map<string,int> |\n"
        "+-----+-----------------+\n"
        '|   1 | {"a":1}         |\n'
        "|   2 | NULL            |\n"
        "+-----+-----------------+\n"
    )
    assert "| map<stri… |\n" in rendered(columns, rows, format=Format.TABLE, types=True, screen=19)


def test_a_table_is_framed_and_numbers_stand_to_the_right() -> None:
    """The frame fits the widest cell; text to the left, numbers to the right."""
    assert rendered(
        [("id", "int"), ("city", "string")], [(1, "東京"), (100, "Rome")], format=Format.TABLE
    ) == (
        "+-----+------+\n| id  | city |\n+-----+------+\n|   1 | 東京 |\n| 100 | Rome |\n+-----+------+\n"
    )


def test_an_empty_table_shows_its_columns() -> None:
    """No rows: the head of the table and nothing else."""
    assert rendered([("id", "int")], [], format=Format.TABLE) == "+----+\n| id |\n+----+\n"


def test_a_table_cuts_cells_that_are_too_wide() -> None:
    """A cell longer than allowed ends in an ellipsis, the column stays narrow."""
    text = rendered([("s", "string")], [("abcdefghij",)], format=Format.TABLE, widest_cell=5)
    assert text.splitlines()[3] == "| abcd… |"


def test_a_value_cannot_drive_the_terminal() -> None:
    """Control characters in cells and names are shown, not sent."""
    for chosen in (Format.TABLE, Format.VERTICAL):
        text = rendered([("a\x1b[2J", "string")], [("x\ny\x1b]0;t\x07\x9b",)], format=chosen)
        assert "\\x1b" in text
        assert "x\\ny" in text
        assert not set(text) & {"\x1b", "\x07", "\x9b"}


def test_vertical_has_a_line_a_cell() -> None:
    """Name and value side by side, a blank line after each row."""
    assert (
        rendered([("id", "int"), ("name", "string")], [(1, None)], format=Format.VERTICAL)
        == "id    1\nname  NULL\n\n"
    )


def test_a_long_table_streams() -> None:
    """The first line is there before the last row has been asked for."""
    out = io.StringIO()
    seen: list[int] = []

    def rows() -> Any:
        for i in range(5000):
            seen.append(len(out.getvalue()))
            yield (i,)

    write_rows(
        out, [ResultColumn(name="i", type=parse_type("int"))], rows(), Layout(format=Format.TABLE)
    )
    assert seen[0] == 0
    assert 0 < seen[-1] < len(out.getvalue())


@given(st.text(), st.integers(1, 20))
def test_shortened_text_fits(text: str, widest: int) -> None:
    """A cut text is never wider than asked for."""
    visible = "".join(c for c in text if c.isprintable())
    assert display_width(shorten(visible, widest)) <= widest


@pytest.mark.parametrize(
    ("name", "meant"), [("CSV2", Format.CSV), ("tsv2", Format.TSV), ("Table", Format.TABLE)]
)
def test_beelines_names_are_known(name: str, meant: Format) -> None:
    """Beeline's spellings mean our formats."""
    assert parse_format(name) is meant


# -- screens

WIDE = [("id", "bigint"), ("first", "string"), ("second", "string")]


def test_a_table_fits_the_screen() -> None:
    """The widest texts are cut, alike; numbers and what is narrow are not."""
    row = (1234567890, "narrow", "x" * 100)
    lines = rendered(WIDE, [row], format=Format.TABLE, screen=50).splitlines()
    assert {len(line) for line in lines} == {50}
    assert lines[3] == f"| 1234567890 | narrow | {'x' * 23}… |"
    assert rendered(WIDE, [row], format=Format.TABLE) == rendered(
        WIDE, [row], format=Format.TABLE, screen=200
    )


def test_rows_too_wide_for_any_table_are_vertical() -> None:
    """Where numbers alone are too wide, each column has a line, if that is wanted."""
    columns = [(f"c{i}", "bigint") for i in range(5)]
    row = tuple(range(10**9, 10**9 + 5))
    shown = rendered(columns, [row], format=Format.TABLE, screen=40, vertical_if_wide=True)
    assert shown.startswith("c0  1000000000\nc1  1000000001\n")
    assert rendered(columns, [row], format=Format.TABLE, screen=40).startswith("+--")


def test_what_no_table_holds_is_not_cut_in_one() -> None:
    """Where rows are to stay a table that the screen cannot hold, cutting would help nobody."""
    columns = [(f"c{i}", "string") for i in range(12)]
    row = tuple(f"日本語 some text {i}" for i in range(12))
    shown = rendered(columns, [row], format=Format.TABLE, screen=40)
    assert shown == rendered(columns, [row], format=Format.TABLE)
    assert all(text in shown for text in row)


def test_a_single_column_goes_on_in_the_next_line() -> None:
    """Nothing of a plan or of a CREATE TABLE is cut."""
    shown = rendered([("s", "string")], [("abcdefghijklmn",)], format=Format.TABLE, screen=14)
    assert shown.splitlines()[3:5] == ["| abcdefghij |", "| klmn       |"]


@pytest.mark.parametrize("null", ["NULL", "", "\\N"])
def test_null_and_its_text_can_be_told_apart(null: str) -> None:
    """In csv a text that reads like NULL is quoted and NULL is not, also in a column of its own."""
    for columns in ([("a", "string")], [("a", "string"), ("b", "string")]):
        width = len(columns)
        lines = rendered(columns, [(None,) * width, (null,) * width], format=Format.CSV, null=null)
        assert lines == ",".join([null] * width) + "\n" + ",".join([f'"{null}"'] * width) + "\n"


def test_null_has_the_text_that_is_asked_for() -> None:
    """In every format but json, which has a word for it."""
    for layout in (Format.TABLE, Format.VERTICAL, Format.TSV):
        assert "nix" in rendered(PEOPLE, ROWS, format=layout, null="nix")
        assert "NULL" not in rendered(PEOPLE, ROWS, format=layout, null="nix")
    assert "null" in rendered(PEOPLE, ROWS, format=Format.JSON, null="nix")


def test_tsv_can_be_escaped() -> None:
    """Tabs, ends of lines and backslashes inside values are written so that a line is a row."""
    shown = rendered([("s", "string")], [("a\tb\nc\rd\\",)], format=Format.TSV, tabs=False)
    assert shown == "a\\tb\\nc\\rd\\\\\n"


@given(
    needs=st.lists(
        st.tuples(st.integers(1, 40), st.integers(0, 80), st.booleans()), min_size=1, max_size=8
    ),
    screen=st.integers(10, 200),
)
def test_fitted_widths_fit(needs: list[tuple[int, int, bool]], screen: int) -> None:
    """They are never more than the screen and the columns need, never less than can be read."""
    wanted = [need(name, values, is_rigid=rigid) for name, values, rigid in needs]
    widths = fitted(wanted, screen)
    frame = 3 * len(needs) + 1
    if widths is None:
        assert sum(one.least for one in wanted) + frame > screen
        return
    assert sum(widths) + frame <= screen
    assert all(n.least <= w <= max(n.natural, n.least) for n, w in zip(wanted, widths, strict=True))


@given(st.text(), st.integers(2, 12))
def test_wrapped_text_is_all_there(text: str, widest: int) -> None:
    """Its parts are the text again, none of them wider than asked for."""
    parts = list(wrapped(text, widest))
    assert "".join(parts) == text
    assert all(len(part) == 1 or display_width(part) <= widest for part in parts if part.isascii())
