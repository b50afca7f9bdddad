"""A statement as an indented tree a person can check: field names, values, and the text of every span."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, Field, fields
from typing import Any

from acidsql.errors import Span
from acidsql.parser.statements import Fragment, Name, QualifiedName, Statement

INDENT = "  "


def show(statement: Statement, source: str | None = None) -> str:
    """One line a field; fields at their default are left out. ``source``, when given, adds the slice of each span."""
    return "\n".join(_node(statement, source))


def _node(value: Any, source: str | None) -> Iterator[str]:
    yield type(value).__name__
    for field in fields(value):
        found = getattr(value, field.name)
        if not _is_default(field, found):
            yield from _indented(_field(field.name, found, source))


def _field(name: str, value: Any, source: str | None) -> Iterator[str]:
    if isinstance(value, Span):
        if source is not None:
            yield f"{name}: [{value.start}:{value.end}] {_quoted(value.cut(source))}"
    elif (simple := _simple(value)) is not None:
        yield f"{name}: {simple}"
    elif isinstance(value, tuple):
        yield f"{name}:"
        for item in value:
            yield from _indented(_item(item, source))
    else:
        first, *rest = _node(value, source)
        yield f"{name}: {first}"
        yield from rest


def _item(value: Any, source: str | None) -> Iterator[str]:
    simple = _simple(value)
    lines = [simple] if simple is not None else list(_node(value, source)) if not isinstance(value, tuple) else [_row(value)]
    yield f"- {lines[0]}"
    yield from (f"{INDENT}{line}" for line in lines[1:])


def _row(items: tuple[Any, ...]) -> str:
    return "(" + ", ".join(_simple(item) or repr(item) for item in items) + ")"


def _simple(value: Any) -> str | None:
    """What fits behind a field's name."""
    match value:
        case Name():
            return f"`{value.text}`"
        case QualifiedName():
            return ".".join(f"`{part.text}`" for part in value.parts)
        case Fragment():
            return f"<{_one_line(value.text)}>"
        case str():
            return _quoted(value)
        case bool() | int() | None:
            return str(value).lower()
        case _:
            return None


def _quoted(text: str) -> str:
    return f'"{_one_line(text)}"'


def _one_line(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\r", "\\r").replace("\n", "\\n").replace("\t", "\\t")


def _is_default(field: Field[Any], value: Any) -> bool:
    return value is None or (field.default is not MISSING and value == field.default)


def _indented(lines: Iterator[str]) -> Iterator[str]:
    return (INDENT + line for line in lines)
