"""Every setting acidsql knows, in one table: the code, SET and docs/settings.md are made from it.

setting.py          what a setting is; texts to values; rows of the tables
own.py              acidsql.*
hive_statements.py  Hive's names for transactions, inserts and queries: its types, units, defaults
hive_services.py    its names for compaction and its metastore
values.py           all of them; the settings of one session; SET's name spaces; tables of the pages
__main__.py         prints these tables

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
