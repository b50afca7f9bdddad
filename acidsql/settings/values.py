"""The settings of one session: what was set, what it began with, who wants to hear of changes."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping

from acidsql.errors import ProgrammingError
from acidsql.settings.setting import Value, given_text
from acidsql.settings.table import SETTINGS, find_setting
from acidsql.utf8 import check_text

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
