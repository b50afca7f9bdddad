"""What a setting is, its row in the tables, and how the text of ``SET k=v`` becomes its value.
Hive: HiveConf.ConfVars.isType, Validator, HiveConf.toTime.
"""

from __future__ import annotations

import math
import re
from typing import Literal

from acidsql.errors import ProgrammingError
from acidsql.lazy import dataclass

Value = bool | int | float | str
Kind = Literal["bool", "int", "long", "float", "bytes", "seconds", "text"] | tuple[str, ...]

_HIVE_TYPES = {
    "bool": "BOOLEAN",
    "int": "INT",
    "long": "LONG",
    "float": "FLOAT",
    "seconds": "STRING(TIME)",
}
_ALLOWED = {
    "bool": "true, false",
    "int": "a whole number",
    "long": "a whole number",
    "float": "a number",
    "bytes": "a size such as 1000000, 512k or 64m",
}
_UNITS = {"s": "seconds", "ms": "milliseconds", "h": "hours", "d": "days"}
_BITS = {"int": 31, "long": 63}
_SIZES = {
    "": 1,
    "b": 1,
    "k": 1 << 10,
    "kb": 1 << 10,
    "m": 1 << 20,
    "mb": 1 << 20,
    "g": 1 << 30,
    "gb": 1 << 30,
}
_SECONDS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
# Hive takes every word that begins so: "min", "mins", "minutes".
_LONG_UNITS = {
    "day": "d",
    "hour": "h",
    "min": "m",
    "sec": "s",
    "msec": "ms",
    "usec": "us",
    "nsec": "ns",
}
BLANKS = "".join(map(chr, range(0x21)))
"""What Java trims, and so Hive."""
_WHOLE = re.compile(r"[+-]?[0-9]+")
_NUMBER_AND_UNIT = re.compile(r"(-?[0-9]+)\s*(\S*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A setting: one name SET knows.

    kind: ``seconds`` is a time with a unit (ms, s, min, h, d), kept as seconds; ``bytes`` a size
    (k, m, g); a tuple the words allowed. default: as SET prints it; None where Hive has none.
    aliases: other names of the same value. unit: of a time given without one.  low, high: the least
    and the largest number; a time must be more than ``low``. honoured: whether acidsql heeds it;
    the others are checked and remembered, so that scripts written for Hive run.
    """

    name: str
    kind: Kind
    default: str | None
    doc: str
    aliases: tuple[str, ...] = ()
    unit: str = "s"
    low: int | None = None
    high: int | None = None
    honoured: bool = False

    def parse(self, text: str, *, called: str | None = None) -> Value:
        """The value of ``text``. ProgrammingError, in Hive's words for Hive's names, if it is none;
        it names the alias ``called``.
        """
        word = text.strip(BLANKS)
        value = self._read(word)
        name = called or self.name
        problem = (
            self._wrong_type(name, word) if value is None else self._out_of_bounds(word, value)
        )
        if value is None or problem is not None:
            raise self._refused(name, text, problem or "")
        return value

    def tidy(self, text: str) -> str:
        """``text`` as SET prints it: switches and words in lower case, all else as it
        was written.
        """
        word = text.strip(BLANKS)
        return word.lower() if self.kind == "bool" or isinstance(self.kind, tuple) else word

    def _read(self, word: str) -> Value | None:
        match self.kind:
            case "bool":
                return {"true": True, "false": False}.get(word.lower())
            case "int" | "long":
                return _whole(word, _BITS[self.kind])
            case "float":
                return _number(word)
            case "bytes":
                match = re.fullmatch(r"([0-9]+)\s*([a-zA-Z]*)", word)
                return (
                    int(match[1]) * _SIZES[match[2].lower()]
                    if match and match[2].lower() in _SIZES
                    else None
                )
            case "seconds":
                match = _NUMBER_AND_UNIT.fullmatch(word)
                unit = _time_unit(match[2], self.unit) if match else None
                return int(match[1]) * _SECONDS[unit] if match and unit else None
            case "text":
                return word
            case words:
                return word.lower() if word.lower() in words else None

    def _wrong_type(self, name: str, word: str) -> str:
        if isinstance(self.kind, tuple):
            return f"in validation : Invalid value.. expects one of [{', '.join(self.kind)}]"
        if self.kind == "seconds" and (match := _NUMBER_AND_UNIT.fullmatch(word)):
            return f"in validation : Invalid time unit {match[2]}"
        return f"because {name} expects {_HIVE_TYPES.get(self.kind, 'STRING')} type value"

    def _out_of_bounds(self, word: str, value: Value) -> str | None:
        if isinstance(value, str) or self.low is None:
            return None
        if self.kind == "seconds":
            return (
                f"in validation : {word} is smaller than {self.low} sec"
                if value <= self.low
                else None
            )
        if value < self.low or (self.high is not None and value > self.high):
            return (
                f"in validation : Invalid value  {word}, which should be in between {self.low} and"
                f" {self.high}"
            )
        return None

    def _refused(self, name: str, text: str, problem: str) -> ProgrammingError:
        own = name.startswith("acidsql.")
        message = (
            f'setting "{name}" cannot be "{text}"'
            if own
            else f"'SET {name}={text}' FAILED {problem}."
        )
        return ProgrammingError(message, hint=f"Allowed: {self.allowed()}.")

    def allowed(self) -> str:
        """The values allowed, in words."""
        if isinstance(self.kind, tuple):
            return ", ".join(self.kind)
        if self.kind == "seconds":
            least = "" if self.low is None else f" of more than {self.low}"
            return (
                f"a time{least} such as 500ms, 30s, 5min, 12h or 7d; without a unit it is in"
                f" {_UNITS[self.unit]}"
            )
        bounds = "" if self.low is None else f" from {self.low}"
        bounds += "" if self.high is None else f" to {self.high}"
        return _ALLOWED.get(self.kind, "any text") + bounds


def show_value(value: Value | None) -> str:
    """A value as text: ``true``, ``300``, the empty text for None."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value)


def given_text(name: str, value: object) -> str:
    """A value that a program gives, as SET writes it. ProgrammingError for what is neither a text
    nor a number nor a truth.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return show_value(value)
    raise ProgrammingError(
        f'setting "{name}" is given {type(value).__name__}: a value is a text, a number or a bool'
    )


def _whole(word: str, bits: int) -> int | None:
    number = int(word) if _WHOLE.fullmatch(word) else None
    return number if number is not None and -(1 << bits) <= number < 1 << bits else None


def _number(word: str) -> float | None:
    try:
        number = float(word) if word.isascii() and "_" not in word else math.nan
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _time_unit(word: str, default: str) -> str | None:
    """A key of ``_SECONDS``; None for what is no unit of time."""
    unit = word.lower()
    if unit in ("", "l"):
        return default
    if unit in _SECONDS:
        return unit
    return next((short for long, short in _LONG_UNITS.items() if unit.startswith(long)), None)


# ---- rows of Hive's tables
#
# One function a kind, so that a row of Hive's tables fits a line: name, default, what it does in
# Hive.


Unit = Literal["ms", "s", "h", "d"]


def switch(
    name: str, default: bool | None, doc: str, *aliases: str, honoured: bool = False
) -> Setting:
    text = None if default is None else str(default).lower()
    return Setting(
        name=name, kind="bool", default=text, doc=doc, aliases=aliases, honoured=honoured
    )


def whole(
    name: str,
    default: int,
    doc: str,
    *aliases: str,
    kind: Literal["int", "long"] = "int",
    low: int | None = None,
    high: int | None = None,
    honoured: bool = False,
) -> Setting:
    return Setting(
        name=name,
        kind=kind,
        default=str(default),
        doc=doc,
        aliases=aliases,
        low=low,
        high=high,
        honoured=honoured,
    )


def fraction(name: str, default: str, doc: str, *aliases: str, honoured: bool = False) -> Setting:
    return Setting(
        name=name, kind="float", default=default, doc=doc, aliases=aliases, honoured=honoured
    )


def time(
    name: str,
    default: str,
    doc: str,
    *aliases: str,
    unit: Unit = "s",
    low: int | None = None,
    honoured: bool = False,
) -> Setting:
    return Setting(
        name=name,
        kind="seconds",
        default=default,
        doc=doc,
        aliases=aliases,
        unit=unit,
        low=low,
        honoured=honoured,
    )


def words(
    name: str, allowed: str, default: str, doc: str, *aliases: str, honoured: bool = False
) -> Setting:
    return Setting(
        name=name,
        kind=tuple(allowed.split()),
        default=default,
        doc=doc,
        aliases=aliases,
        honoured=honoured,
    )


def text(
    name: str, default: str | None, doc: str, *aliases: str, honoured: bool = False
) -> Setting:
    return Setting(
        name=name, kind="text", default=default, doc=doc, aliases=aliases, honoured=honoured
    )
