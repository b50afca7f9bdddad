"""The README says what the program does now."""

from __future__ import annotations

from pathlib import Path

from acidsql.settings import markdown_table

README = Path(__file__).resolve().parent.parent / "README.md"


def test_settings_table_is_the_one_of_the_code() -> None:
    """The README's table of settings is the one `python -m acidsql.settings` prints."""
    text = README.read_text()
    _, _, rest = text.partition("<!-- settings: made by `python -m acidsql.settings` -->\n")
    table, _, _ = rest.partition("\n<!-- end of settings -->")
    assert table == markdown_table()
