"""The settings of a session: the table of all there are, their values, and what SET and variables
make of them.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping

from acidsql.errors import ProgrammingError, UnsupportedStatementError
from acidsql.lazy import dataclass
from acidsql.settings.hive_services import COMPACTOR, METASTORE
from acidsql.settings.hive_statements import ACID, INSERTS, LOCKS, QUERIES, TXN
from acidsql.settings.own import OWN
from acidsql.settings.setting import Setting, Value, given_text
from acidsql.utf8 import check_text

# ---- table
#
# Every setting there is, in one table: SET, docs/settings.md and docs/hive-settings.md are made
# from it.


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


# ---- values
#
# The settings of one session: what was set, what it began with, who wants to hear of changes.


_DEFAULTS = {s.name: s.parse(s.default) for s in SETTINGS if s.default is not None}


class Settings:
    """``get`` gives typed values: times in seconds, sizes in bytes. Names that are not in the table
    are plain text.

    ``initial`` is what RESET goes back to. ProgrammingError as for ``set``.  system_properties:
    what SET system:x=y has set.
    """

    def __init__(self, initial: Mapping[str, str | float] | None = None) -> None:
        self._texts: dict[str, str] = {}
        self._values: dict[str, Value] = {}
        self._listeners: list[Callable[[str], None]] = []
        self.system_properties: dict[str, str] = {}
        for name, text in (initial or {}).items():
            self.set(name, given_text(name, text))
        self._initial = dict(self._texts)

    # ---- reading

    def get(self, name: str) -> Value | None:
        """The value, else the default; None for a name that has neither."""
        setting = find_setting(name)
        key = setting.name if setting else name
        return self._values.get(key, _DEFAULTS.get(key))

    def flag(self, name: str) -> bool:
        value = self.get(name)
        if not isinstance(value, bool):
            raise ProgrammingError(f'setting "{name}" is not a switch')
        return value

    def number(self, name: str) -> float:
        value = self.get(name)
        if isinstance(value, str) or value is None:
            raise ProgrammingError(f'setting "{name}" is not a number')
        return value

    def text(self, name: str) -> str:
        """The value as SET prints it; empty for a name that has none."""
        setting = find_setting(name)
        if setting is None:
            return self._texts.get(name, "")
        return self._texts.get(setting.name, setting.default or "")

    def items(self) -> Iterator[tuple[str, Value]]:
        """Every setting that has a value, by name."""
        for name in sorted({*(s.name for s in SETTINGS), *self._values}):
            value = self.get(name)
            if value is not None:
                yield name, value

    def changed(self) -> tuple[str, ...]:
        """The names that were set, by name."""
        return tuple(sorted(self._texts))

    # ---- changing

    def set(self, name: str, text: str) -> None:
        """Sets a value. ProgrammingError for one of the wrong kind and for ``acidsql.*`` names
        there are none of.
        """
        check_text(f"{name}={text}", of="a setting")
        setting = find_setting(name)
        if setting is None:
            _check_unknown(name)
            self._replace(name, text, text)
        else:
            self._replace(setting.name, setting.tidy(text), setting.parse(text, called=name))

    def reset(self, name: str | None = None, *, to_default: bool = False) -> None:
        """Sets a name back to what the session began with, or to the default of the table; None
        resets all.
        """
        setting = find_setting(name) if name is not None else None
        names = self.changed() if name is None else (setting.name if setting else name,)
        for key in names:
            text = None if to_default else self._initial.get(key)
            if text is not None:
                self.set(key, text)
            elif key in self._texts:
                self._replace(key, None, None)

    def on_change(self, listener: Callable[[str], None]) -> None:
        """Has ``listener(name)`` called after every change; if it raises, the old value is back."""
        self._listeners.append(listener)

    def _replace(self, name: str, text: str | None, value: Value | None) -> None:
        before = self._texts.get(name), self._values.get(name)
        self._store(name, text, value)
        try:
            for listener in self._listeners:
                listener(name)
        except Exception:
            self._store(name, *before)
            raise

    def _store(self, name: str, text: str | None, value: Value | None) -> None:
        if text is None or value is None:
            self._texts.pop(name, None)
            self._values.pop(name, None)
        else:
            self._texts[name] = text
            self._values[name] = value


def _check_unknown(name: str) -> None:
    """Refuses unknown names. Those of others are remembered as they are; an unknown one of our own
    can only be a typing mistake.
    """
    lower = name.lower()
    if lower.startswith("acidsql."):
        near = difflib.get_close_matches(
            lower, [s.name for s in SETTINGS if s.name.startswith("acidsql.")], n=1
        )
        raise ProgrammingError(
            f'unknown setting "{name}"', hint=f'did you mean "{near[0]}"?' if near else None
        )


# ---- variables
#
# The name spaces of SET: settings (``hiveconf:``), variables (``hivevar:``), the system's
# properties and the environment.
#
# Hive's SetProcessor, with its words. Unlike there, SET and SET -v leave out the environment and
# the system's properties, which are no settings and would put secrets into logs.


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
