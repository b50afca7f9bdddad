"""Every setting acidsql knows, in one table: the code, SET and docs/settings.md are made from it.

    setting.py      what a setting is; texts to values
    own.py          acidsql.*
    hive_*.py       Hive's names, with Hive's types, units and defaults; rows.py makes their rows
    table.py        all of them; the tables of the pages
    values.py       the settings of one session
    variables.py    SET's name spaces

Any other ``hive.*``, ``spark.*`` or foreign name may be set too and is remembered as text;
``spark.*`` names are also handed to Spark. Unknown ``acidsql.*`` names are refused: they can only
be typing mistakes.
"""

from acidsql.settings.setting import Setting, Value, given_text, show_value
from acidsql.settings.values import (
    SETTINGS,
    Settings,
    Variables,
    find_setting,
    markdown_page,
    markdown_table,
)

__all__ = [
    "SETTINGS",
    "Setting",
    "Settings",
    "Value",
    "Variables",
    "find_setting",
    "given_text",
    "markdown_page",
    "markdown_table",
    "show_value",
]
