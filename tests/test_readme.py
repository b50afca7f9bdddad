"""The README and the list of Hive's settings say what the program does now."""

from __future__ import annotations

from pathlib import Path

from acidsql.settings import markdown_page, markdown_table

ROOT = Path(__file__).resolve().parent.parent
END = "\n<!-- end of settings -->"


def test_settings_table_is_the_one_of_the_code() -> None:
    """The README's table of settings is the one `python -m acidsql.settings` prints."""
    _, _, rest = (ROOT / "README.md").read_text().partition("<!-- settings: made by `python -m acidsql.settings` -->\n")
    assert rest.partition(END)[0] == markdown_table()


def test_the_list_of_names_without_effect_is_the_one_of_the_code() -> None:
    """docs/hive-settings.md is what `python -m acidsql.settings hive` prints."""
    _, _, rest = (
        (ROOT / "docs" / "hive-settings.md").read_text().partition("<!-- settings: made by `python -m acidsql.settings hive` -->\n")
    )
    assert rest.partition(END)[0] == markdown_page()
