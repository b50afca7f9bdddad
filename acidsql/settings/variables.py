"""The name spaces of SET: settings (``hiveconf:``), variables (``hivevar:``), the system's
properties and the environment.

Hive's SetProcessor, with its words. Unlike there, SET and SET -v leave out the environment and the
system's properties, which are no settings and would put secrets into logs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, MutableMapping

from acidsql.errors import ProgrammingError, UnsupportedStatementError
from acidsql.lazy_dataclass import dataclass
from acidsql.settings.table import find_setting
from acidsql.settings.values import Settings
from acidsql.utf8 import check_text

# Hive: hive.conf.hidden.list, and for variables and properties whatever has the word password in
# its name.
_HIDDEN = re.compile(
    r"passw(or)?d|pa?swd|secret|access.?key|account.?key|oauth2\.credential"
    r"|^acidsql_metastore$"  # the URL may have a password
    r"|^hms_jwt$|http\.additional\.headers$",
    re.IGNORECASE,
)
_SPACES = ("hivevar", "hiveconf", "system", "env", "metaconf")
_UNDEFINED = {
    "hivevar": "{key} is undefined as a hive variable",
    "hiveconf": "{key} is undefined as a hive configuration variable",
    "system": "{name} is undefined as a system property",
    "env": "{key} is undefined as an environmental variable",
}


@dataclass(frozen=True, slots=True)
class Variables:
    """One session's settings and variables, by name space."""

    settings: Settings
    hivevar: MutableMapping[str, str]

    def spaces(self) -> dict[str, Mapping[str, str]]:
        """The name spaces that ``${space:name}`` may name."""
        return {
            "hivevar": self.hivevar,
            "hiveconf": _Texts(self.settings),
            "system": self._system(),
            "env": os.environ,
        }

    def listing(self, *, verbose: bool = False) -> list[str]:
        """Lines ``name=value``, by name: what was set, or all that has a value."""
        names = [name for name, _ in self.settings.items()] if verbose else self.settings.changed()
        lines = {name: self.settings.text(name) for name in names} | {
            f"hivevar:{name}": value for name, value in self.hivevar.items()
        }
        return [
            f"{name}={value}" for name, value in sorted(lines.items()) if not _HIDDEN.search(name)
        ]

    def show(self, key: str) -> str:
        """The line ``key=value``. ProgrammingError for an undefined name of a name space; without
        one the line says so.
        """
        space, name = _parted(key)
        value = self._space(space).get(name)
        if value is None and not space:
            value = self.hivevar.get(name)
        if value is None:
            if space:
                raise ProgrammingError(_UNDEFINED[space].format(key=key, name=name))
            return f"{key} is undefined"
        if _HIDDEN.search(name):
            return f"{key} is a hidden config"
        check_text(line := f"{key}={value}", of="a variable")
        return line

    def set(self, key: str, value: str) -> None:
        """Sets a variable. ProgrammingError for a wrong value, an unknown ``acidsql.*`` name and
        for ``env:``.
        """
        space, name = _parted(key)
        match space:
            case "hivevar":
                self.hivevar[name] = value
            case "system":
                self.settings.system_properties[name] = value
            case "env":
                raise ProgrammingError("env:* variables can not be set.")
            case _:
                self.settings.set(name, value)

    def reset(self, keys: Iterable[str], *, to_default: bool = False) -> None:
        """Runs RESET [-d] keys; all settings without keys. ProgrammingError, with nothing reset, if
        one of them cannot be.
        """
        names = [_setting_name(key, to_default) for key in keys]
        if to_default and not names:
            raise ProgrammingError("No variable names specified")
        if not names:
            self.settings.reset()
        for name in names:
            self.settings.reset(name, to_default=to_default)

    def _space(self, space: str) -> Mapping[str, str]:
        return self.spaces()[space or "hiveconf"]

    def _system(self) -> Mapping[str, str]:
        return {**_java_properties(), **self.settings.system_properties}


class _Texts(Mapping[str, str]):
    """The settings as texts, by every name they have."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def __getitem__(self, name: str) -> str:
        if self._settings.get(name) is None:
            raise KeyError(name)
        return self._settings.text(name)

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self._settings.items())

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _parted(key: str) -> tuple[str, str]:
    """The name space and the name; the name space is empty where there is none."""
    space, colon, name = key.partition(":")
    if not colon or space not in _SPACES:
        return "", key
    if space == "metaconf":
        raise UnsupportedStatementError(
            "SET metaconf: is not supported", hint="The metastore's settings are set without it."
        )
    return space, name


def _setting_name(key: str, to_default: bool) -> str:
    space, name = _parted(key)
    if space not in ("", "hiveconf") or (to_default and find_setting(name) is None):
        raise ProgrammingError(
            f"{key} not found",
            hint=(
                "RESET -d takes settings that have a default."
                if to_default
                else "RESET takes settings."
            ),
        )
    return name


def _java_properties() -> dict[str, str]:
    """The properties of Java that scripts use."""
    return {
        "user.name": os.environ.get("USER") or os.environ.get("LOGNAME") or "",
        "user.home": os.path.expanduser("~"),
        "user.dir": os.getcwd(),
        "java.io.tmpdir": os.environ.get("TMPDIR") or "/tmp",
        "line.separator": "\n",
        "file.separator": "/",
    }
