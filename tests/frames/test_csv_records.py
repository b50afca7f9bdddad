"""Records of CSV are told apart as pyarrow's reader does it."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import csv

from acidsql.frames.file_sources import Dialect, dialect_of, find_records, names_of, records

PLAIN = Dialect(header=True, delimiter=",", quote='"', null="", skip=0)
PARTS = st.sampled_from(['"', '""', ",", "\n", "\r\n", "\r", "a", "b,", ' "x"', '"q\n"', "\n\n"])


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a test writes its text."""
    return tmp_path_factory.mktemp("csv") / "a.csv"


def narrow(path: Path, dialect: Dialect) -> list[tuple[int, str]]:
    """The records that pyarrow refuses because they have not one column, with their numbers."""
    told: list[tuple[int, str]] = []

    def note(row: Any) -> str:
        told.append((row.number, row.text))
        return "skip"

    reader = csv.open_csv(
        str(path),
        csv.ReadOptions(column_names=["c"], use_threads=False),
        csv.ParseOptions(
            delimiter=dialect.delimiter,
            quote_char=dialect.quote or False,
            newlines_in_values=True,
            invalid_row_handler=note,
        ),
        csv.ConvertOptions(column_types={"c": pa.binary()}),
    )
    reader.read_all()
    return told


@given(st.lists(PARTS, max_size=12).map("".join), st.sampled_from(['"', ""]))
def test_as_pyarrow_tells_them(path: Path, text: str, quote: str) -> None:
    """The record of a number is the same, wherever its quotes and lines end."""
    dialect = Dialect(header=False, delimiter=",", quote=quote, null="", skip=0)
    text += "\nx,y\n"
    path.write_text(text, newline="")
    told = narrow(path, dialect)
    own = list(find_records(str(path), dialect, [number for number, _ in told]))
    assert [record.text for record in own] == [row.rstrip("\r\n") for _, row in told]


def test_lines_are_counted_from_one(path: Path) -> None:
    """Blank ones and those inside of values count, and those before the header."""
    path.write_text('\ufeffid,name\n\n1,"a\n\nb"\r\n2,c\r3,d\n"4')
    assert [(r.line, r.text) for r in records(str(path), PLAIN)] == [
        (1, "id,name"), (3, '1,"a\n\nb"'), (6, "2,c"), (7, "3,d"), (8, '"4'),
    ]  # fmt: skip
    skipping = Dialect(header=True, delimiter=",", quote='"', null="", skip=2)
    assert next(records(str(path), skipping)).line == 3


def test_names(tmp_path: Path) -> None:
    """Of the header, between quotes or not; of compressed files, too."""
    packed = tmp_path / "a.tsv.gz"
    packed.write_bytes(gzip.compress(b'"a\tb"\tc\n1\t2\n'))
    assert names_of(str(packed), dialect_of(str(packed), {})) == ["a\tb", "c"]
    empty = tmp_path / "e.csv"
    empty.write_bytes(b"\n")
    assert names_of(str(empty), PLAIN) == []
