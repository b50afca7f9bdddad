"""The records of CSV files, told apart as pyarrow's reader does it, with the lines that they begin
at, which it does not tell. A file is read so where a record of it cannot be, and for its header.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from acidsql.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How the records of a file are written. ``quote``: "" for none; ``skip``: so many lines at its
    beginning are none.
    """

    header: bool
    delimiter: str
    quote: str
    null: str
    skip: int

    @property
    def nulls(self) -> list[str]:
        """The texts without quotes that stand for NULL."""
        return ["", self.null]


def dialect_of(path: str, options: Mapping[str, Any]) -> Dialect:
    """What the options of ``read_csv`` say of a file, and its name where they do not."""
    return Dialect(
        header=options.get("header", True),
        delimiter=options.get("delimiter") or ("\t" if ".tsv" in path.lower() else ","),
        quote=options.get("quote", '"'),
        null=options.get("null", ""),
        skip=options.get("skip", 0),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """``line``: that it begins at, counted from 1. ``text``: without the end of its last line."""

    line: int
    text: str


def records(path: str, dialect: Dialect) -> Iterator[Record]:
    """The records of a file, its header among them; blank lines are none."""
    with pa.input_stream(path, compression="detect") as stream:
        text = io.TextIOWrapper(stream, "utf-8-sig", "surrogateescape", newline="")
        parts: list[str] = []
        first, inside = 0, False
        for number, line in enumerate(text, 1):
            if number <= dialect.skip or (not inside and not line.rstrip("\r\n")):
                continue
            first = first if inside else number
            parts.append(line)
            inside = _ends_inside(line, inside, dialect)
            if not inside:
                yield _record(first, parts)
                parts = []
        if parts:
            yield _record(first, parts)


def _record(line: int, parts: Sequence[str]) -> Record:
    text = "".join(parts).rstrip("\r\n")
    return Record(line=line, text=text.encode(errors="surrogateescape").decode(errors="replace"))


def _ends_inside(line: str, inside: bool, dialect: Dialect) -> bool:
    """Whether a line ends between quotes; ``inside``: it begins there. A quote opens at the
    beginning of a field alone, and two of them between quotes are one.
    """
    quote = dialect.quote
    if not quote or quote not in line:
        return inside
    at = 0
    if not inside and line.startswith(quote):
        inside, at = True, 1
    while True:
        if inside:
            at = line.find(quote, at) + 1
            if not at:
                return True
            if line.startswith(quote, at):
                at += 1
            else:
                inside = False
        else:
            at = line.find(dialect.delimiter + quote, at) + 2
            if at < 2:
                return False
            inside = True


def names_of(path: str, dialect: Dialect) -> list[str]:
    """The names in the header of a file; none of an empty one."""
    import csv

    for record in records(path, dialect):
        reader = csv.reader(
            record.text.splitlines(keepends=True),
            delimiter=dialect.delimiter,
            quotechar=dialect.quote or None,
            quoting=csv.QUOTE_MINIMAL if dialect.quote else csv.QUOTE_NONE,
        )
        return next(reader)
    return []


def find_records(path: str, dialect: Dialect, numbers: Sequence[int]) -> Iterator[Record]:
    """The records of these numbers, which rise, counted from 1, the header's."""
    wanted = iter(numbers)
    number = next(wanted, None)
    for count, record in enumerate(records(path, dialect), 1):
        if number is None:
            return
        if count == number:
            yield record
            number = next(wanted, None)
