"""Hive's column types: parsed from and printed as Hive writes them (``decimal(10,2)``,
``array<struct<a:int>>``), and as Arrow spells them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from typing import TYPE_CHECKING, assert_never

from acidsql.acid.ids import ROW_ID_PARTS
from acidsql.errors import BindError, Span
from acidsql.lazy import dataclass

if TYPE_CHECKING:
    import pyarrow as pa

PRIMITIVES = (
    "boolean",
    "tinyint",
    "smallint",
    "int",
    "bigint",
    "float",
    "double",
    "string",
    "binary",
    "date",
    "timestamp",
)
ALIASES = {
    "integer": "int",
    "dec": "decimal",
    "numeric": "decimal",
    "double precision": "double",
    "real": "float",
}
MAX_DECIMAL_PRECISION = 38
MAX_CHAR_LENGTH = 255
MAX_VARCHAR_LENGTH = 65535
_FIELD_MARKS = "_.$ "
"""What the name of a struct's field may hold beside letters and digits. Hive:
TypeInfoUtils.isTypeChar.
"""


@dataclass(frozen=True, slots=True)
class PrimitiveType:
    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class DecimalType:
    precision: int = 10
    scale: int = 0

    def __str__(self) -> str:
        return f"decimal({self.precision},{self.scale})"


@dataclass(frozen=True, slots=True)
class CharType:
    """Blank-padded to ``length`` when read by Hive; stored without the padding."""

    length: int

    def __str__(self) -> str:
        return f"char({self.length})"


@dataclass(frozen=True, slots=True)
class VarcharType:
    length: int

    def __str__(self) -> str:
        return f"varchar({self.length})"


@dataclass(frozen=True, slots=True)
class ArrayType:
    element: HiveType

    def __str__(self) -> str:
        return f"array<{self.element}>"


@dataclass(frozen=True, slots=True)
class MapType:
    key: HiveType
    value: HiveType

    def __str__(self) -> str:
        return f"map<{self.key},{self.value}>"


@dataclass(frozen=True, slots=True)
class StructField:
    name: str
    type: HiveType


@dataclass(frozen=True, slots=True)
class StructType:
    fields: tuple[StructField, ...]

    def __str__(self) -> str:
        return "struct<" + ",".join(f"{f.name}:{f.type}" for f in self.fields) + ">"


ROW_ID_TYPE = StructType(
    tuple(
        StructField(name, PrimitiveType(kind))
        for name, kind in zip(ROW_ID_PARTS, ("bigint", "int", "bigint"), strict=True)
    )
)
"""The type of ROW__ID."""

HiveType = PrimitiveType | DecimalType | CharType | VarcharType | ArrayType | MapType | StructType


@lru_cache(maxsize=1024)
def parse_type(text: str) -> HiveType:
    """The type that a text as Hive writes it means, any case, blanks allowed. BindError (span
    relative to ``text``) if it is none.
    """
    reader = _Reader(text)
    hive_type = reader.type()
    reader.blanks()
    if reader.at != len(text):
        raise reader.error("unexpected text after the type")
    return hive_type


class _Reader:
    """A recursive descent over one type text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def error(self, message: str, start: int | None = None) -> BindError:
        begin = self.at if start is None else start
        return BindError(f'{message}: "{self.text}"', span=Span(begin, max(self.at, begin + 1)))

    def blanks(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def take(self, mark: str) -> bool:
        self.blanks()
        if self.text.startswith(mark, self.at):
            self.at += len(mark)
            return True
        return False

    def expect(self, mark: str) -> None:
        if not self.take(mark):
            raise self.error(f'expected "{mark}" in a type')

    def word(self) -> str:
        self.blanks()
        if self.at < len(self.text) and self.text[self.at] == "`":
            end = self.text.find("`", self.at + 1)
            if end < 0:
                raise self.error("unclosed backtick in a type")
            name = self.text[self.at + 1 : end]
            self.at = end + 1
            return name.lower()
        start = self.at
        while self.at < len(self.text) and (
            self.text[self.at].isalnum() or self.text[self.at] in "_$"
        ):
            self.at += 1
        if start == self.at:
            raise self.error("expected a type name")
        return self.text[start : self.at].lower()

    def number(self) -> int:
        word = self.word()
        if not (word.isascii() and word.isdigit()):
            raise self.error("expected a number in a type")
        return int(word)

    def arguments(self) -> list[int]:
        if not self.take("("):
            return []
        numbers = [self.number()]
        while self.take(","):
            numbers.append(self.number())
        self.expect(")")
        return numbers

    def type(self) -> HiveType:
        self.blanks()
        start = self.at
        name = self.word()
        if name == "double" and self.text[self.at :].lstrip().lower().startswith("precision"):
            name = f"{name} {self.word()}"
        name = ALIASES.get(name, name)
        if name in PRIMITIVES:
            return PrimitiveType(name)
        if name == "decimal":
            return self.decimal(start)
        if name in ("char", "varchar"):
            return self.character(name, start)
        if name == "array":
            self.expect("<")
            element = self.type()
            self.expect(">")
            return ArrayType(element)
        if name == "map":
            self.expect("<")
            key = self.type()
            self.expect(",")
            value = self.type()
            self.expect(">")
            return MapType(key, value)
        if name == "struct":
            return self.struct()
        error = self.error("unknown or unsupported column type", start)
        from acidsql.catalog.names import instead_of_type  # few types are wrong

        error.hint = instead_of_type(name)
        raise error

    def decimal(self, start: int) -> DecimalType:
        numbers = self.arguments()
        precision, scale = (*numbers, *(10, 0)[len(numbers) :])[:2] if len(numbers) < 3 else (0, 0)
        if not 1 <= precision <= MAX_DECIMAL_PRECISION or scale > precision:
            raise self.error("decimal wants a precision of 1 to 38 and a scale not above it", start)
        return DecimalType(precision, scale)

    def character(self, name: str, start: int) -> HiveType:
        numbers = self.arguments()
        limit = MAX_CHAR_LENGTH if name == "char" else MAX_VARCHAR_LENGTH
        if len(numbers) != 1 or not 1 <= numbers[0] <= limit:
            error = self.error(f"{name} wants a length of 1 to {limit}", start)
            if not numbers:
                error.hint = f"Write {name.upper()}(n), or STRING for texts of any length."
            raise error
        return CharType(numbers[0]) if name == "char" else VarcharType(numbers[0])

    def struct(self) -> StructType:
        self.expect("<")
        fields = [self.field()]
        while self.take(","):
            fields.append(self.field())
        self.expect(">")
        return StructType(tuple(fields))

    def field(self) -> StructField:
        name = self.field_name()
        self.expect(":")
        return StructField(name, self.type())

    def field_name(self) -> str:
        """A field's name in backticks, or as Hive stores it: without, whatever stands before the
        colon.
        """
        self.blanks()
        start = self.at
        if self.text.startswith("`", start):
            name = self.word()
        else:
            while self.at < len(self.text) and (
                self.text[self.at].isalnum() or self.text[self.at] in _FIELD_MARKS
            ):
                self.at += 1
            name = self.text[start : self.at].strip().lower()
        if not name or not all(c.isalnum() or c in _FIELD_MARKS for c in name):
            raise self.error(
                "expected the name of a field, of letters, digits, blanks and _ . $", start
            )
        return name


def holds(hive_type: HiveType, test: Callable[[HiveType], bool]) -> bool:
    """Whether the type, or one nested in it, passes the test."""
    if test(hive_type):
        return True
    match hive_type:
        case PrimitiveType() | DecimalType() | CharType() | VarcharType():
            return False
        case ArrayType(element):
            return holds(element, test)
        case MapType(key, value):
            return holds(key, test) or holds(value, test)
        case StructType(fields):
            return any(holds(f.type, test) for f in fields)
        case _:
            assert_never(hive_type)


TIMESTAMP_NTZ = PrimitiveType("timestamp_ntz")
"""A type of Spark's that Hive has not: a wall clock that no zone moves. Not every function knows it
that knows TIMESTAMP, as which it is shown.
"""


def shown_type(hive_type: HiveType) -> HiveType:
    """The type of Hive's that a column of an answer has."""
    return PrimitiveType("timestamp") if hive_type == TIMESTAMP_NTZ else hive_type


def is_timestamp(hive_type: HiveType) -> bool:
    return hive_type == PrimitiveType("timestamp")


# ---- what a column may become


_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
"""That the whole numbers of a type may have."""
_WIDTHS = {
    "tinyint": 4,
    "smallint": 6,
    "int": 11,
    "bigint": 20,
    "float": 15,
    "double": 24,
    "date": 10,
    "timestamp": 29,
}
"""Characters of the longest value as text."""
_NUMBERS = ("tinyint", "smallint", "int", "bigint", "decimal", "float", "double")
"""From the narrowest to the widest. Hive: ColumnType.NumericCastOrder."""


def convertible(old: HiveType, new: HiveType) -> bool:
    """Whether every value of ``old`` is one of ``new``: wider numbers, numbers and times as text,
    text as text (cut to its length).

    Hive: ColumnType.areColTypesCompatible, which takes narrower decimals and shorter texts of
    numbers too: those would turn into NULL or into other numbers. It also takes any nested type for
    another of its kind.
    """
    if old == new:
        return True
    before, after = _kind(old), _kind(new)
    if is_text(new):
        return is_text(old) or _width(old) <= _room(new)
    if isinstance(new, DecimalType):
        digits, scale = (
            (old.precision - old.scale, old.scale)
            if isinstance(old, DecimalType)
            else (_DIGITS.get(before, 99), 0)
        )
        return digits <= new.precision - new.scale and scale <= new.scale
    return (
        before in _NUMBERS and after in _NUMBERS and _NUMBERS.index(before) < _NUMBERS.index(after)
    )


def is_text(hive_type: HiveType) -> bool:
    """STRING, CHAR or VARCHAR."""
    return isinstance(hive_type, CharType | VarcharType) or hive_type == PrimitiveType("string")


def _kind(hive_type: HiveType) -> str:
    return "decimal" if isinstance(hive_type, DecimalType) else str(hive_type)


_UNLIMITED = 1 << 31


def _room(text: HiveType) -> int:
    return text.length if isinstance(text, CharType | VarcharType) else _UNLIMITED


def _width(hive_type: HiveType) -> int:
    """The width of the type's longest value; more than any text has room for where there is no text
    of it.
    """
    if isinstance(hive_type, DecimalType):
        return hive_type.precision + 3
    return _WIDTHS.get(str(hive_type), _UNLIMITED + 1)


# ---- Arrow's types


def arrow_type(hive_type: HiveType) -> pa.DataType:
    """The Arrow type of the rows we write; a timestamp is a wall clock without a zone, in
    microseconds. NULL has a type of its own ("void").
    """
    import pyarrow as pa  # what knows types is mostly told without Arrow

    match hive_type:
        case PrimitiveType(name):
            return _arrow_primitives()[name]
        case DecimalType(precision, scale):
            return pa.decimal128(precision, scale)
        case CharType() | VarcharType():
            return pa.string()
        case ArrayType(element):
            return pa.list_(arrow_type(element))
        case MapType(key, value):
            return pa.map_(arrow_type(key), arrow_type(value))
        case StructType(fields):
            return pa.struct([pa.field(f.name, arrow_type(f.type)) for f in fields])
        case _:
            assert_never(hive_type)


@cache
def _arrow_primitives() -> dict[str, pa.DataType]:
    import pyarrow as pa

    return {
        "void": pa.null(),
        "boolean": pa.bool_(),
        "tinyint": pa.int8(),
        "smallint": pa.int16(),
        "int": pa.int32(),
        "bigint": pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "string": pa.string(),
        "binary": pa.binary(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us"),
        "timestamp_ntz": pa.timestamp("us"),
    }
