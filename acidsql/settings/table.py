"""Every setting there is, in one table: SET, docs/settings.md and docs/hive-settings.md are made
from it.
"""

from __future__ import annotations

from collections.abc import Iterable

from acidsql.settings.hive_compactor import COMPACTOR
from acidsql.settings.hive_metastore import METASTORE
from acidsql.settings.hive_query import INSERTS, QUERIES
from acidsql.settings.hive_txn import ACID, LOCKS, TXN
from acidsql.settings.own import OWN
from acidsql.settings.setting import Setting

HIVE: dict[str, tuple[Setting, ...]] = {
    "Transactions": TXN,
    "Locks": LOCKS,
    "ACID tables": ACID,
    "Compaction": COMPACTOR,
    "Inserts": INSERTS,
    "Queries and output": QUERIES,
    "Hive Metastore": METASTORE,
}
SETTINGS: tuple[Setting, ...] = (*OWN, *(setting for group in HIVE.values() for setting in group))

_BY_NAME = {name: setting for setting in SETTINGS for name in (setting.name, *setting.aliases)}


def find_setting(name: str) -> Setting | None:
    """The setting of that name or alias; None for names that are not in the table."""
    return _BY_NAME.get(name)


def markdown_table() -> str:
    """The table of docs/settings.md: the settings that acidsql heeds."""
    return _table("what it does", (s for s in SETTINGS if s.honoured))


def markdown_page() -> str:
    """The text of docs/hive-settings.md below its heading: what acidsql remembers for Hive's
    sake.
    """
    tables = {title: [s for s in group if not s.honoured] for title, group in HIVE.items()}
    return "\n\n".join(
        f"## {title}\n\n{_table('in Hive', settings)}"
        for title, settings in tables.items()
        if settings
    )


def _table(about: str, settings: Iterable[Setting]) -> str:
    rows = ["| setting | default | " + about + " |", "| --- | --- | --- |"]
    rows += [f"| {_names(s)} | {_default(s)} | {s.doc} |" for s in settings]
    return "\n".join(rows)


def _names(setting: Setting) -> str:
    return ", ".join(f"`{name}`" for name in (setting.name, *setting.aliases))


def _default(setting: Setting) -> str:
    return f"`{setting.default}`" if setting.default else "" if setting.default is None else "empty"
