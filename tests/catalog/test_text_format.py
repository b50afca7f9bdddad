"""The separators of a text table, as Hive finds them in its properties."""

from __future__ import annotations

from dataclasses import replace

import pytest

from acidsql.catalog.model import STORAGES, FileFormat, Table, TableName
from acidsql.catalog.text import TextFormat, text_format, text_problem

DEFAULTS = "\x01\x02\x03\x04\x05\x06\x07\x08"


def table(serde: dict[str, str], properties: dict[str, str] | None = None) -> Table:
    storage = replace(STORAGES[FileFormat.TEXTFILE], serde_properties=serde)
    name = TableName("default", "t")
    return Table(
        name=name,
        columns=(),
        location="/t",
        file_format=FileFormat.TEXTFILE,
        storage=storage,
        properties=properties or {},
    )


def test_defaults() -> None:
    """Control characters, nothing escaped, NULL is \\N; ``serialization.format`` = 1 means the
    first of them.
    """
    expected = TextFormat(separators=DEFAULTS, escape=None, null="\\N", header_lines=0)
    assert text_format(table({})) == text_format(table({"serialization.format": "1"})) == expected


@pytest.mark.parametrize(
    ("value", "separator"),
    [
        (",", ","),
        ("\t", "\t"),
        ("9", "\t"),
        ("||", "|"),
        ("44", ","),
        ("", "\x01"),
        ("-1", None),
        ("10", None),
        ("é", None),
    ],
)
def test_a_separator_is_a_character_or_the_number_of_a_byte(
    value: str, separator: str | None
) -> None:
    """Of several characters the first counts; what is no ASCII character or a line break is
    refused.
    """
    found = table({"field.delim": value, "serialization.format": value})
    if separator is None:
        assert text_problem(found) == f'text with "field.delim"="{value}"'
    else:
        assert text_problem(found) is None
        assert text_format(found).separators == separator + DEFAULTS[1:]


def test_properties_of_the_table_go_before_those_of_its_serde() -> None:
    """Hive merges the two."""
    found = text_format(
        table(
            {
                "field.delim": ",",
                "collection.delim": ";",
                "mapkey.delim": ":",
                "escape.delim": "\\",
                "serialization.null.format": "q",
            },
            {"serialization.null.format": "", "field.delim": "|", "skip.header.line.count": "2"},
        )
    )
    assert found == TextFormat(
        separators="|;:" + DEFAULTS[3:], escape="\\", null="", header_lines=2
    )
