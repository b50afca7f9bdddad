"""A statement as an indented tree a person can check.

Names are shown in backticks, slices of the source in angle brackets, strings in double quotes;
fields at their default are left out. With the source at hand, every inner node also shows the slice
that its span covers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, Field, fields
from enum import Enum
from typing import Any

from acidsql.errors import Span
from acidsql.parser.statements import (
    Fragment,
    Name,
    PartitionItem,
    PartitionSpec,
    Property,
    QualifiedName,
    Statement,
)

INDENT = "  "


def show(statement: Statement, source: str | None = None) -> str:
    """The statement as lines of text, one for each field."""
    return "\n".join([type(statement).__name__, *_indented(_fields(statement, source))])


def _fields(value: Any, source: str | None) -> Iterator[str]:
    for field in fields(value):
        content = getattr(value, field.name)
        if not isinstance(content, Span) and not _is_default(field, content):
            yield from _field(field.name, content, source)


def _field(name: str, value: Any, source: str | None) -> Iterator[str]:
    if (simple := _simple(value)) is not None:
        yield f"{name}: {simple}"
    elif isinstance(value, tuple):
        yield f"{name}:"
        for item in value:
            yield from _indented(_node(item, source))
    else:
        head, *rest = _node(value, source)
        yield f"{name}: {head}"
        yield from rest


def _node(value: Any, source: str | None) -> Iterator[str]:
    if (simple := _simple(value)) is not None:
        yield simple
        return
    span = getattr(value, "span", None)
    yield type(value).__name__ + (
        f" <{_one_line(span.cut(source))}>" if span is not None and source is not None else ""
    )
    yield from _indented(_fields(value, source))


def _simple(value: Any) -> str | None:  # noqa: C901 (flat: a case for each kind)
    """What fits on the line of its field, or None."""
    match value:
        case None | bool():
            return str(value).lower()
        case Enum():
            return str(value.value)
        case int():
            return str(value)
        case str():
            return _quoted(value)
        case Name():
            return f"`{value.text}`"
        case QualifiedName():
            return ".".join(f"`{part.text}`" for part in value.parts)
        case Fragment():
            return f"<{_one_line(value.text)}>"
        case Property():
            return f"{_quoted(value.key)} = {_quoted(value.value)}"
        case PartitionItem():
            return f"`{value.name.text}`" + (
                f" {value.operator} <{value.value.text}>" if value.value else ""
            )
        case PartitionSpec():
            return f"({_simple(value.items)})"
        case tuple():
            return _tuple(value)
    return None


def _tuple(items: tuple[Any, ...]) -> str | None:
    """The items on one line, where each is simple and no tuple itself; else None."""
    if any(isinstance(item, tuple) for item in items):
        return None
    shown = [_simple(item) for item in items]
    return (
        None
        if any(item is None for item in shown)
        else ", ".join(item for item in shown if item is not None) or "()"
    )


def _quoted(text: str) -> str:
    return f'"{_one_line(text)}"'


def _one_line(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\r", "\\r").replace("\n", "\\n").replace("\t", "\\t")


def _is_default(field: Field[Any], value: Any) -> bool:
    return value is None or (field.default is not MISSING and value == field.default)


def _indented(lines: Iterator[str]) -> Iterator[str]:
    return (INDENT + line for line in lines)
