"""Hive's and Hadoop's own files of settings: ``hive-site.xml`` in $HIVE_CONF_DIR and
``core-site.xml`` in $HADOOP_CONF_DIR, of which only the settings are read that are asked for. No
other place reads the two variables. Hadoop: Configuration.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from acidsql.errors import MetastoreError
from acidsql.settings import find_setting

_FILES = (("HADOOP_CONF_DIR", "core-site.xml"), ("HIVE_CONF_DIR", "hive-site.xml"))
"""The later one counts."""


def site_values(names: Iterable[str]) -> dict[str, str]:
    """The values that the site's files give to settings, by name; {} where no variable names a
    directory. MetastoreError for a file that cannot be read.
    """
    wanted, values = set(names), dict[str, str]()
    for variable, name in _FILES:
        directory = os.environ.get(variable)
        if directory and (path := Path(directory, name)).is_file():
            for key, value in _properties(path):
                setting = find_setting(key)
                if setting is not None and setting.name in wanted:
                    values[setting.name] = _whole(value, key, path)
    return values


def _properties(path: Path) -> Iterator[tuple[str, str]]:
    from xml.etree import ElementTree

    try:
        root = ElementTree.parse(path).getroot()
    except (OSError, ElementTree.ParseError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise MetastoreError(f'cannot read "{path}": {reason}') from error
    for one in root.iter("property"):
        yield (one.findtext("name") or "").strip(), (one.findtext("value") or "").strip()


def _whole(value: str, name: str, path: Path) -> str:
    """The value. MetastoreError for one that is made of others, which Hadoop would look up."""
    if "${" in value:
        raise MetastoreError(
            f'"{name}" in "{path}" is made of other settings, which is not understood here',
            hint=f"Set {name} in the session.",
        )
    return value
