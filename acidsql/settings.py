"""Every setting acidsql knows, in one table: the code, SET and the README's table are made from it.

Names Hive has are Hive's. Any other ``hive.*``, ``spark.*`` or foreign name may be set too and is remembered as text, as Hive
does; ``spark.*`` names are also handed to Spark. Unknown ``acidsql.*`` names are refused: they can only be typing mistakes.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from acidsql.errors import ProgrammingError

Value = bool | int | float | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """``kind`` is bool, int (plain), bytes (with k/m/g), seconds (with ms/s/m/h/d), or a tuple of allowed words."""

    name: str
    kind: str | tuple[str, ...]
    default: Value
    doc: str


SETTINGS: tuple[Setting, ...] = (
    Setting(
        name="acidsql.write.path",
        kind=("auto", "small", "big"),
        default="auto",
        doc="How changed rows are written: `small` brings them to the driver, `big` lets Spark write them, `auto` chooses by size.",
    ),
    Setting(
        name="acidsql.write.driver.max.bytes",
        kind="bytes",
        default=64 << 20,
        doc="The most bytes of changed rows the small write path may bring to the driver.",
    ),
    Setting(
        name="acidsql.read.deletes",
        kind=("auto", "filter", "join"),
        default="auto",
        doc="How delete events are applied: as a key set in the scan's filter, as an anti-join, or chosen by number.",
    ),
    Setting(
        name="acidsql.read.deletes.max.events",
        kind="int",
        default=20_000_000,
        doc="Up to this many delete events are held in memory as a key set; more are applied by an anti-join.",
    ),
    Setting(
        name="acidsql.ansi",
        kind="bool",
        default=False,
        doc="Strict SQL: a failed cast or an overflow is an error. Off, as in Hive, it is NULL.",
    ),
    Setting(
        name="acidsql.spark.fast.start",
        kind="bool",
        default=True,
        doc="Start acidsql's own Spark for short work (C1 compiler, serial collector). Turn off for long jobs.",
    ),
    Setting(
        name="hive.cli.print.header",
        kind="bool",
        default=False,
        doc="Print the column names above the rows.",
    ),
    Setting(name="hive.merge.cardinality.check", kind="bool", default=True, doc="MERGE fails when two source rows would change one target row."),
    Setting(
        name="hive.txn.timeout",
        kind="seconds",
        default=300.0,
        doc="A transaction without a heartbeat for so long is aborted; heartbeats are sent at half of it.",
    ),
)

_BY_NAME = {s.name: s for s in SETTINGS}
_SIZES = {"": 1, "b": 1, "k": 1 << 10, "kb": 1 << 10, "m": 1 << 20, "mb": 1 << 20, "g": 1 << 30, "gb": 1 << 30}
_TIMES = {
    "": 1.0,
    "ms": 1e-3,
    "msec": 1e-3,
    "s": 1.0,
    "sec": 1.0,
    "m": 60.0,
    "min": 60.0,
    "h": 3600.0,
    "hour": 3600.0,
    "d": 86400.0,
    "day": 86400.0,
}


class Settings:
    """The settings of one session. ``get`` gives typed values; names without an entry in the table are plain text."""

    def __init__(self, initial: Mapping[str, str] | None = None) -> None:
        self._values: dict[str, Value] = {}
        self._listeners: list[Callable[[str], None]] = []
        for name, text in (initial or {}).items():
            self.set(name, text)

    def get(self, name: str) -> Value | None:
        setting = _BY_NAME.get(name)
        return self._values.get(name, setting.default if setting else None)

    def flag(self, name: str) -> bool:
        return bool(self.get(name))

    def number(self, name: str) -> float:
        value = self.get(name)
        if isinstance(value, str) or value is None:
            raise ProgrammingError(f'setting "{name}" is not a number')
        return value

    def text(self, name: str) -> str:
        return show_value(self.get(name))

    def set(self, name: str, text: str) -> None:
        """ProgrammingError for a value of the wrong kind and for unknown ``acidsql.*`` names."""
        setting = _BY_NAME.get(name)
        if setting is None and name.startswith("acidsql."):
            near = difflib.get_close_matches(name, _BY_NAME, n=1)
            raise ProgrammingError(f'unknown setting "{name}"', hint=f'did you mean "{near[0]}"?' if near else None)
        self._values[name] = _parse(setting, text) if setting else text
        self._changed(name)

    def reset(self, name: str | None = None) -> None:
        """Back to the default; None resets all."""
        for gone in [name] if name else list(self._values):
            self._values.pop(gone, None)
            self._changed(gone)

    def items(self) -> Iterator[tuple[str, Value]]:
        """Known settings and whatever else was set, by name."""
        for name in sorted({*_BY_NAME, *self._values}):
            value = self.get(name)
            if value is not None:
                yield name, value

    def on_change(self, listener: Callable[[str], None]) -> None:
        """``listener(name)`` is called after every set and reset."""
        self._listeners.append(listener)

    def _changed(self, name: str) -> None:
        for listener in self._listeners:
            listener(name)


def show_value(value: Value | None) -> str:
    """A value as SET prints it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value)


def _parse(setting: Setting, text: str) -> Value:
    word = text.strip()
    match setting.kind:
        case "bool" if word.lower() in ("true", "false"):
            return word.lower() == "true"
        case "int" if re.fullmatch(r"-?\d+", word):
            return int(word)
        case "bytes" if (found := re.fullmatch(r"(\d+)\s*([a-zA-Z]*)", word)) and found[2].lower() in _SIZES:
            return int(found[1]) * _SIZES[found[2].lower()]
        case "seconds" if (found := re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-zA-Z]*)", word)) and found[2].lower() in _TIMES:
            return float(found[1]) * _TIMES[found[2].lower()]
        case tuple() as words if word.lower() in words:
            return word.lower()
    allowed = ", ".join(setting.kind) if isinstance(setting.kind, tuple) else {"bool": "true or false"}.get(setting.kind, setting.kind)
    raise ProgrammingError(f'setting "{setting.name}" cannot be "{text}"', hint=f"Allowed: {allowed}.")


def markdown_table() -> str:
    """The table of the README."""
    rows = ["| setting | default | what it does |", "| --- | --- | --- |"]
    rows += [f"| `{s.name}` | `{show_value(s.default)}` | {s.doc} |" for s in SETTINGS]
    return "\n".join(rows)


if __name__ == "__main__":
    print(markdown_table())
