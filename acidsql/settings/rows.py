"""One function a kind, so that a row of Hive's tables fits a line: name, default, what it does in
Hive.
"""

from __future__ import annotations

from typing import Literal

from acidsql.settings.setting import Setting

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
