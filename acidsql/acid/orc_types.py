"""ORC's type tree: as written in a footer (pre-order, a node's children after it) and as the
six-field ACID event.

A file whose data columns lie flat beside an empty ``row`` has its types in the same pre-order as
one whose data columns are children of ``row``: that is why a footer edit alone can turn the one
into the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntEnum
from functools import lru_cache
from weakref import WeakValueDictionary

from acidsql.acid.orc_footer_pb2 import Type
from acidsql.lazy import dataclass

EVENT_FIELDS = ("operation", "originalTransaction", "bucket", "rowId", "currentTransaction", "row")
ID_FIELDS = EVENT_FIELDS[1:4]
"""The columns that tell a row's identity, as a delete event holds them."""

ROW_FIELD = "row"
ORIGINAL_TRANSACTION_COLUMN, BUCKET_COLUMN, ROW_COLUMN = 2, 3, 4
"""Type (and statistics) numbers of the id columns in an event file; 0 is the root."""
EVENT_ROW_COLUMN = len(EVENT_FIELDS)
"""That of ``row``."""

_MAX_PRECISION = 38


class OrcKind(IntEnum):
    """Type.Kind of orc_proto.proto."""

    BOOLEAN = 0
    BYTE = 1
    SHORT = 2
    INT = 3
    LONG = 4
    FLOAT = 5
    DOUBLE = 6
    STRING = 7
    BINARY = 8
    TIMESTAMP = 9
    LIST = 10
    MAP = 11
    STRUCT = 12
    UNION = 13
    DECIMAL = 14
    DATE = 15
    VARCHAR = 16
    CHAR = 17
    TIMESTAMP_INSTANT = 18


_CHILDREN = {OrcKind.LIST: 1, OrcKind.MAP: 2}
_TEXT = {
    OrcKind.BYTE: "tinyint",
    OrcKind.SHORT: "smallint",
    OrcKind.LONG: "bigint",
    OrcKind.LIST: "array",
    OrcKind.UNION: "uniontype",
}


@dataclass(frozen=True, slots=True, kw_only=True, weakref_slot=True)
class OrcType:
    """One type with its children; ``names`` are a struct's field names. Prints as ORC
    and Hive do.
    """

    kind: OrcKind
    children: tuple[OrcType, ...] = ()
    names: tuple[str, ...] = ()
    maximum_length: int = 0
    precision: int = 0
    scale: int = 0

    def __str__(self) -> str:
        word = _TEXT.get(self.kind, self.kind.name.lower())
        match self.kind:
            case OrcKind.STRUCT:
                fields = zip(self.names, self.children, strict=True)
                return f"{word}<{','.join(f'{n}:{t}' for n, t in fields)}>"
            case OrcKind.LIST | OrcKind.MAP | OrcKind.UNION:
                return f"{word}<{','.join(map(str, self.children))}>"
            case OrcKind.CHAR | OrcKind.VARCHAR:
                return f"{word}({self.maximum_length})"
            case OrcKind.DECIMAL:
                return f"{word}({self.precision},{self.scale})"
            case _:
                return word


def struct_type(names: Sequence[str], children: Sequence[OrcType]) -> OrcType:
    return OrcType(kind=OrcKind.STRUCT, names=tuple(names), children=tuple(children))


def event_type(row: OrcType) -> OrcType:
    """The schema of an ACID file over a table's data columns. Hive:
    SchemaEvolution.createEventSchema.
    """
    integer, long = OrcType(kind=OrcKind.INT), OrcType(kind=OrcKind.LONG)
    return struct_type(EVENT_FIELDS, (integer, long, integer, long, long, row))


def encode_types(root: OrcType) -> list[bytes]:
    """The ``Type`` messages of a footer, in pre-order."""
    return [_encode(node, first_child) for node, first_child in _numbered(root)]


@lru_cache(maxsize=256)
def decode_types(messages: tuple[bytes, ...]) -> OrcType:
    """The tree of a footer's ``Type`` messages, one object for all equal ones.

    DecodeError, ValueError, IndexError or RecursionError if they make none.
    """
    root = _decode([Type.FromString(message) for message in messages], 0)
    return _trees.setdefault(root, root)


_trees: WeakValueDictionary[OrcType, OrcType] = WeakValueDictionary()


def preorder(root: OrcType) -> Iterator[OrcType]:
    yield root
    for child in root.children:
        yield from preorder(child)


def column_numbers(row: OrcType, *, in_events: bool) -> tuple[int, ...]:
    """The type numbers of a struct's fields in a file of it, or in an ACID file of it."""
    numbers, number = [], len(EVENT_FIELDS) + 1 if in_events else 1
    for child in row.children:
        numbers.append(number)
        number += sum(1 for _ in preorder(child))
    return tuple(numbers)


def same_storage(stored: OrcType, declared: OrcType) -> bool:
    """Whether one node's bytes may be read as the other: equal, but for CHAR and VARCHAR, stored as
    STRING, and DATE, which may be as INT.
    """
    if declared.kind in (OrcKind.CHAR, OrcKind.VARCHAR):
        return stored.kind in (OrcKind.STRING, declared.kind)
    if declared.kind is OrcKind.DATE:
        return stored.kind in (OrcKind.INT, OrcKind.DATE)
    return stored.kind == declared.kind and (stored.precision, stored.scale) == (
        declared.precision,
        declared.scale,
    )


def _numbered(root: OrcType) -> Iterator[tuple[OrcType, tuple[int, ...]]]:
    """Each node in pre-order with the type numbers of its children."""
    nodes = list(preorder(root))
    sizes = _sizes(root)
    for number, node in enumerate(nodes):
        children = []
        child = number + 1
        for _ in node.children:
            children.append(child)
            child += sizes[child]
        yield node, tuple(children)


def _sizes(root: OrcType) -> list[int]:
    """How many types each node stands for, itself included, in pre-order."""
    sizes: list[int] = []

    def visit(node: OrcType) -> int:
        at = len(sizes)
        sizes.append(0)
        sizes[at] = 1 + sum(visit(child) for child in node.children)
        return sizes[at]

    visit(root)
    return sizes


def _encode(node: OrcType, children: tuple[int, ...]) -> bytes:
    message = Type(kind=node.kind, subtypes=children, fieldNames=node.names)
    if node.kind in (OrcKind.CHAR, OrcKind.VARCHAR):
        message.maximumLength = node.maximum_length
    if node.kind is OrcKind.DECIMAL:
        message.precision, message.scale = node.precision, node.scale
    return message.SerializeToString()


def _decode(messages: Sequence[Type], number: int) -> OrcType:
    message = messages[number]
    children = tuple(message.subtypes)
    if any(child <= number for child in children):
        raise ValueError(f"type {number} has a child before it")
    kind, names = OrcKind(message.kind), tuple(map(text, message.fieldNames))
    if len(children) != (
        len(names) if kind is OrcKind.STRUCT else _CHILDREN.get(kind, len(children))
    ) or not all(names):
        raise ValueError(
            f"type {number} is a {kind.name.lower()} of {len(children)} types and {len(names)}"
            " names"
        )
    precision, scale = _precision_and_scale(message, number) if kind is OrcKind.DECIMAL else (0, 0)
    return OrcType(
        kind=kind,
        children=tuple(_decode(messages, child) for child in children),
        names=names,
        maximum_length=message.maximumLength,
        precision=precision,
        scale=scale,
    )


def text(value: str | bytes, errors: str = "strict") -> str:
    """A text of a message; protobuf hands out bytes where it is not UTF-8, which are a ValueError
    unless ``errors`` says what stands for them.
    """
    return value if isinstance(value, str) else value.decode(errors=errors)


def _precision_and_scale(message: Type, number: int) -> tuple[int, int]:
    precision, scale = message.precision, message.scale
    if not max(1, scale) <= precision <= _MAX_PRECISION:
        raise ValueError(f"type {number} is a decimal({precision},{scale})")
    return precision, scale
