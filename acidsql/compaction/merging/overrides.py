"""The properties that one compaction may be given, by its request or by its table.

``compactor.<setting>`` is a setting for the time of the compaction, ``tblprops.<property>`` a
property that the table has for as long; those of WITH OVERWRITE TBLPROPERTIES go before the
table's. Settings of Hadoop's jobs mean nothing here. Hive: CompactorMR.overrideMRProps,
overrideTblProps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

from acidsql.catalog.model import Table
from acidsql.errors import ProgrammingError
from acidsql.settings import Settings

SETTING_PREFIX, PROPERTY_PREFIX = "compactor.", "tblprops."


def overridden_settings(settings: Settings, table: Table, given: Mapping[str, str]) -> Settings:
    """The settings of a compaction. A name or value that there is not is passed over."""
    changed = Settings({name: settings.text(name) for name in settings.changed()})
    for properties in (table.properties, given):
        for name, text in _without_prefix(properties, SETTING_PREFIX):
            with suppress(ProgrammingError):
                changed.set(name, text)
    return changed


def overridden_table(table: Table, given: Mapping[str, str]) -> Table:
    """The table as the compaction is to see it."""
    properties = dict(_without_prefix(given, PROPERTY_PREFIX))
    return replace(table, properties={**table.properties, **properties})


def _without_prefix(properties: Mapping[str, str], prefix: str) -> Iterator[tuple[str, str]]:
    for name, text in properties.items():
        if name.startswith(prefix):
            yield name.removeprefix(prefix), text
