"""Random types, literals, expressions and conditions as SQL text that means the same to acidsql and
to plain Spark.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from acidsql.catalog.types import (
    ArrayType,
    CharType,
    DecimalType,
    HiveType,
    MapType,
    PrimitiveType,
    StructType,
    VarcharType,
    parse_type,
)
from tests.session.rows.storage_model import literal

DECIMALS = "decimal(5,5) decimal(8,2) decimal(18,0) decimal(19,3) decimal(38,0) decimal(38,10) decimal(38,38)"
TEXTS = ("string", "varchar(3)", "varchar(20)", "char(4)")
INTEGERS = ("tinyint", "smallint", "int", "bigint")
NUMBERS = (*INTEGERS, "float", "double", *DECIMALS.split())
SCALARS = ("boolean", *NUMBERS, *TEXTS, "binary", "date", "timestamp")
KEYS = (
    *INTEGERS,
    *(
        "boolean",
        "double",
        "decimal(8,2)",
        "decimal(38,10)",
        "string",
        "varchar(3)",
        "char(4)",
        "date",
        "timestamp",
    ),
)
"""Types of partition columns."""

LITERALS: dict[str, tuple[str, ...]] = {
    "boolean": ("true", "FALSE"),
    "tinyint": ("0", "-1", "7Y", "-128", "127", "- 5"),
    "smallint": ("0", "+300", "-300S", "-32768", "32767"),
    "int": ("0", "3", "-7", "2147483647", "-2147483648", "1073741824"),
    "bigint": ("0", "5L", "-5", "9223372036854775807", "-9223372036854775808", "8589934592"),
    "float": (
        "0.0F",
        "1.5F",
        "-2.25D",
        "3.4028234E38F",
        "1E-38F",
        "0.1F",
        "CAST('-Infinity' AS FLOAT)",
        "CAST('NaN' AS FLOAT)",
    ),
    "double": (
        *("0.0D", "-0.0D", "0.1", "-.5D", "1e10", "1.7976931348623157e308", "4.9E-324", "-1e-7"),
        *("CAST('NaN' AS DOUBLE)", "CAST('Infinity' AS DOUBLE)", "CAST('-Infinity' AS DOUBLE)"),
    ),
    "decimal(5,5)": ("0.0", "0.99999", "-0.00001", ".5"),
    "decimal(8,2)": ("0", "12.34", "-1.5", "999999.99", "-999999.99", "0.005", "1.005BD"),
    "decimal(18,0)": ("0", "999999999999999999", "-999999999999999999", "0.5", "-1.5"),
    "decimal(19,3)": ("0.000", "9999999999999999.999", "-0.001", "12.3456"),
    "decimal(38,0)": ("0", "12345678901234567890", "-1"),
    "decimal(38,10)": ("0.0000000001", "-123456789012345678.0123456789", "7"),
    "decimal(38,38)": ("0.0", "0.12345678901234567890123456", "-0.5"),
    "string": tuple(
        map(
            literal,
            (
                *(
                    "",
                    " ",
                    "a",
                    "A",
                    "b",
                    "ab ",
                    " ab",
                    "abcdef",
                    "ü",
                    "日本語",
                    "😀x",
                    "e\u0301",
                    "it's",
                    'back\\slash "q"',
                    "a\nb",
                ),
                *(
                    "\t",
                    "NULL",
                    "\\N",
                    "1",
                    "-7",
                    " 12 ",
                    "1.5",
                    "1e3",
                    "true",
                    "2024-02-29",
                    "0001-01-01",
                    "%",
                    "_h",
                    "|",
                    "{1}",
                    "--;",
                    "a/b=c:d",
                    "\u0001#^",
                ),
            ),
        )
    ),
    "binary": (
        "unhex('')",
        "unhex('00')",
        "unhex('ff00fe')",
        "CAST('text' AS BINARY)",
        "unhex('c3bc')",
    ),
    "date": tuple(
        f"DATE '{day}'"
        for day in (
            "0001-01-01",
            "1200-03-04",
            "1582-10-04",
            "1582-10-15",
            "1969-12-31",
            "1970-01-01",
            "2024-02-29",
            "9999-12-31",
        )
    ),
    "timestamp": tuple(
        f"TIMESTAMP '{moment}'"
        for moment in (
            *(
                "0001-01-01 00:00:00",
                "1200-03-04 01:02:03",
                "1582-10-04 23:59:59.999999",
                "1899-12-31 23:59:59.5",
            ),
            *(
                "1969-12-31 23:59:59.999999",
                "1970-01-01 00:00:00",
                "2024-02-29 12:34:56.789",
                "2024-02-29 00:00:00",
            ),
            "9999-12-31 23:59:59.999999",
        )
    ),
}

LIMITS: dict[str, tuple[str, ...]] = {
    "double": ("1e-400", "-1e-400"),
    "decimal(8,2)": ("-0.0", "-0.001"),
    "decimal(38,0)": ("9" * 38, "-" + "9" * 38, "9" * 30),
    "decimal(38,10)": ("9" * 28 + "." + "9" * 10, "-" + "9" * 28 + ".9999999999", "0." + "9" * 30),
    "decimal(38,38)": ("0." + "9" * 38, "-0." + "0" * 37 + "1"),
    "string": ("'٣'", "'１２'", "'\u00a07'", "'7\u3000'", "'२०२४-०२-२९'"),
}
"""Literals at the limits of their types, and some that are stored as NULL."""

_ALIKE = (frozenset(NUMBERS), frozenset(TEXTS), frozenset(("date", "timestamp")))


@cache
def hive_type(text: str) -> HiveType:
    return parse_type(text)


@dataclass(frozen=True)
class Named:
    """A column, as it is written in an expression, and its type."""

    sql: str
    type: str


@dataclass(frozen=True)
class Relation:
    """What a sub-query may read. ``favoured``: as of ``Draw.condition``."""

    name: str
    columns: Sequence[Named]
    favoured: Sequence[Named] = ()


@dataclass
class Draw:
    """Draws SQL. ``tables``: what sub-queries may read.

    ``palette``: the few literals of each type that are used, so that values meet.
    """

    chance: random.Random
    tables: Sequence[Relation] = ()
    palette: dict[str, list[str]] = field(default_factory=dict)

    # ---- types

    def column_type(self) -> str:
        return self.nested_type(2) if self.chance.random() < 0.2 else self.chance.choice(SCALARS)

    def nested_type(self, depth: int) -> str:
        def inner() -> str:
            return (
                self.nested_type(depth - 1)
                if depth > 1 and self.chance.random() < 0.3
                else self.chance.choice(SCALARS)
            )

        match self.chance.randrange(3):
            case 0:
                return f"array<{inner()}>"
            case 1:
                return f"map<{self.chance.choice(('string', 'int', 'varchar(20)', 'date', 'decimal(8,2)'))},{inner()}>"
            case _:
                return f"struct<x:{inner()},y:{inner()}>"

    # ---- literals

    def literal(self, kind: str, *, nulls: float = 0.15) -> str:
        """Of this type, or one that is stored as it: a nested one is put together of literals of
        its parts.
        """
        if self.chance.random() < nulls:
            return "NULL"
        match hive_type(kind):
            case ArrayType(element):
                return f"array({', '.join(self.typed(str(element)) for _ in range(self.chance.randrange(4)))})"
            case MapType(key, value):
                keys = self.chance.sample(DISTINCT[str(key)], self.chance.randrange(4))
                return f"map({', '.join(f'CAST({k} AS {cast_type(str(key))}), {self.typed(str(value))}' for k in keys)})"
            case StructType(fields):
                parts = ", ".join(f"'{f.name}', {self.typed(str(f.type))}" for f in fields)
                return f"named_struct({parts})"
        return self.chance.choice(self._literals("string" if kind in TEXTS else kind))

    def _literals(self, kind: str) -> list[str]:
        if kind not in self.palette:
            pool = LITERALS[kind]
            self.palette[kind] = self.chance.sample(pool, min(4, len(pool)))
            if kind in LIMITS and self.chance.random() < 0.25:
                self.palette[kind][-1] = self.chance.choice(LIMITS[kind])
        return self.palette[kind]

    def constant(self, kind: str) -> str:
        """A literal that is one token, but for a sign, or NULL."""
        return next(
            (text for text in [self.literal(kind) for _ in range(9)] if "(" not in text), "NULL"
        )

    def typed(self, kind: str) -> str:
        """A literal as exactly this type."""
        return f"CAST({self.literal(kind)} AS {cast_type(kind)})"

    def cell(self, kind: str) -> str:
        """What VALUES may hold for a column of this type: mostly its own literal, at times one of
        another type, or an expression.
        """
        if kind not in SCALARS or self.chance.random() < 0.8:
            return self.literal(kind)
        if self.chance.random() < 0.2:
            return self.expression(kind, (), 1)
        return self.literal(self.chance.choice(_stored_as(kind)), nulls=0)

    # ---- expressions

    def expression(self, kind: str, scope: Sequence[Named], depth: int = 2) -> str:
        """Of a type that can be cast to ``kind``, over the columns of ``scope``."""
        own = [c.sql for c in scope if c.type == kind]
        if own and self.chance.random() < 0.4:
            return self.chance.choice(own)
        others = [c.sql for c in scope if c.type in _stored_as(kind)] if kind in SCALARS else []
        if others and self.chance.random() < 0.3:
            return self.chance.choice(others)
        if depth <= 0:
            return self.typed(kind)
        deeper = [self.expression(kind, scope, depth - 1) for _ in range(2)]
        exact = [f"CAST({text} AS {cast_type(kind)})" for text in deeper]
        match self.chance.randrange(7):
            case 0:
                return f"CASE WHEN {self.condition(scope, 1)} THEN {exact[0]} ELSE {exact[1]} END"
            case 1:
                return f"coalesce({', '.join(exact)})"
            case 2 | 3:
                return self._computed(kind, exact)
            case 4:
                return f"IF({self.condition(scope, 0)}, {exact[0]}, NULL)"
            case _:
                return self.typed(kind)

    def _computed(self, kind: str, of: Sequence[str]) -> str:
        one, other = of
        if kind in NUMBERS:
            return self.chance.choice(
                (
                    f"{one} + {other}",
                    f"{one} - {other}",
                    f"({one} * {other})",
                    f"-{one}",
                    f"{one} / 3",
                    f"{one} % 5",
                )
            )
        if kind in TEXTS:
            texts = (
                f"concat({one}, {other})",
                f"upper({one})",
                f"lower({one})",
                f"substring({one}, 2)",
                f"reverse({one})",
                f"trim({one})",
            )
            return self.chance.choice(texts)
        match hive_type(kind):
            case PrimitiveType("boolean"):
                return f"({one} AND NOT {other})"
            case PrimitiveType("date"):
                return f"IF(year({one}) BETWEEN 1600 AND 9000, date_add({one}, {self.chance.randrange(-400, 400)}), {other})"
            case PrimitiveType("timestamp"):
                hours = self.chance.randrange(-4000, 4000)
                return f"IF(year({one}) BETWEEN 1600 AND 9000, {one} + INTERVAL '{hours}' HOUR, {other})"
            case PrimitiveType("binary"):
                return f"concat({one}, {other})"
            case ArrayType():
                return self.chance.choice(
                    (f"concat({one}, {other})", f"reverse({one})", f"slice({one}, 1, 1)")
                )
        return one

    # ---- conditions

    def condition(
        self, scope: Sequence[Named], depth: int = 2, *, favoured: Sequence[Named] = ()
    ) -> str:
        """``favoured``: columns that are asked about more often, being what partitions and buckets
        are chosen by.
        """
        if not scope:
            return self.chance.choice(("TRUE", "1 = 0", "CAST(NULL AS BOOLEAN)"))
        if depth > 0 and self.chance.random() < 0.45:
            parts = [self.condition(scope, depth - 1, favoured=favoured) for _ in range(2)]
            match self.chance.randrange(5):
                case 0 | 1:
                    return f"{parts[0]} AND {parts[1]}"
                case 2 | 3:
                    return f"({parts[0]} OR {parts[1]})"
                case _:
                    return f"NOT ({parts[0]})"
        if self.tables and depth > 1 and self.chance.random() < 0.25:
            one = self._of_subquery(scope)
            if self.chance.random() < 0.5:
                return one
            return f"({one} {self.chance.choice(('AND', 'AND', 'OR'))} {self._of_subquery(scope)})"
        column = self.chance.choice(favoured if favoured and self.chance.random() < 0.5 else scope)
        return self._of_column(column, scope)

    def _of_column(self, column: Named, scope: Sequence[Named]) -> str:
        name, kind = column.sql, column.type
        choice = self.chance.randrange(12)
        if choice == 0 or isinstance(hive_type(kind), MapType) or "map<" in kind:
            return f"{name} IS {self.chance.choice(('', 'NOT '))}NULL"
        own = [c.sql for c in scope if c.type == kind and c.sql != name]
        if own and choice == 1:
            return f"{name} {self._operator()} {self.chance.choice(own)}"
        if kind not in SCALARS:
            return f"{name} {self._operator()} {self.typed(kind)}"
        match choice:
            case 2 | 3 | 4:
                several = [
                    self._compared(kind, nulls=0.1)
                    for _ in range(self.chance.choice((1, 2, 2, 3, 9)))
                ]
                return f"{name} {self.chance.choice(('', '', 'NOT '))}IN ({', '.join(several)})"
            case 5:
                return f"{name} BETWEEN {self._compared(kind)} AND {self._compared(kind)}"
            case 6 if kind in TEXTS:
                return f"{name} LIKE '{self.chance.choice(('a%', '%b%', '_', '%', 'ab_', ''))}'"
            case 6 if kind == "boolean":
                return name
            case 7:
                return f"{self._compared(kind)} {self._operator()} {name}"
            case 8 if kind in INTEGERS:
                return f"{name} % 3 = {self.chance.randrange(3)}"
            case 8:
                return f"CAST({name} AS STRING) = {self.literal('string')}"
        return f"{name} {self._operator()} {self._compared(kind)}"

    def _of_subquery(self, scope: Sequence[Named]) -> str:
        table, condition = self._read("q")
        pairs = _meeting(scope, table.columns)
        if not pairs or self.chance.random() < 0.25:
            return f"EXISTS (SELECT 1 FROM {table.name} q WHERE {condition})"
        mine, theirs = self.chance.choice(pairs)
        if mine.type != "binary" and self.chance.random() < 0.3:
            function = self.chance.choice(("max", "min"))
            one = f"(SELECT {function}({theirs.sql}) FROM {table.name} q WHERE {condition})"
            return f"{mine.sql} {self._operator()} {one}"
        if self.chance.random() < 0.3:
            other, further = self._read("r")
            if inner := _meeting(table.columns, other.columns):
                it, its = self.chance.choice(inner)
                condition += (
                    f" AND {it.sql} IN (SELECT {its.sql} FROM {other.name} r WHERE {further})"
                )
        word = self.chance.choice(("", "NOT "))
        return f"{mine.sql} {word}IN (SELECT {theirs.sql} FROM {table.name} q WHERE {condition})"

    def _read(self, alias: str) -> tuple[Relation, str]:
        """A relation, whose columns are those of ``alias``, and a condition on it."""
        table = self.chance.choice(self.tables)
        columns, favoured = (
            [Named(f"{alias}.{c.sql}", c.type) for c in some]
            for some in (table.columns, table.favoured)
        )
        return Relation(table.name, columns), self.condition(columns, 0, favoured=favoured)

    def _operator(self) -> str:
        return self.chance.choice(("=", "=", "=", "<", "<=", ">", ">=", "<>", "!=", "<=>"))

    def _compared(self, kind: str, nulls: float = 0.05) -> str:
        """A literal beside a column: of its type, or at times of one like it."""
        alike = next((sorted(kinds) for kinds in _ALIKE if kind in kinds), [kind])
        return self.literal(
            self.chance.choice(alike) if self.chance.random() < 0.2 else kind, nulls=nulls
        )


def _meeting(some: Sequence[Named], others: Sequence[Named]) -> list[tuple[Named, Named]]:
    """The pairs of columns of one scalar type."""
    return [(c, d) for c in some for d in others if c.type == d.type and c.type in SCALARS]


DISTINCT: dict[str, tuple[str, ...]] = {
    "string": ("''", "'a'", "'b '", "'ü'"),
    "varchar(20)": ("''", "'a'", "'b '", "'ü'"),
    "int": ("0", "-1", "2147483647"),
    "date": ("DATE '0001-01-01'", "DATE '2024-02-29'", "DATE '9999-12-31'"),
    "decimal(8,2)": ("0", "1.5", "-999999.99"),
}
"""Keys of maps, none twice."""


def cast_type(kind: str) -> str:
    """The type in a CAST: limits of length are for columns."""
    return _without_limits(hive_type(kind))


def _without_limits(kind: HiveType) -> str:
    match kind:
        case CharType() | VarcharType():
            return "string"
        case ArrayType(element):
            return f"array<{_without_limits(element)}>"
        case MapType(key, value):
            return f"map<{_without_limits(key)},{_without_limits(value)}>"
        case StructType(fields):
            return f"struct<{','.join(f'{f.name}:{_without_limits(f.type)}' for f in fields)}>"
        case PrimitiveType() | DecimalType():
            return str(kind)


def _stored_as(kind: str) -> tuple[str, ...]:
    """The types whose values a column of this type takes."""
    if kind in TEXTS:
        return tuple(k for k in SCALARS if k != "binary")
    if kind in NUMBERS:
        return ("boolean", *NUMBERS, *TEXTS)
    return {"boolean": ("boolean", *TEXTS), "binary": ("binary", *TEXTS)}.get(
        kind, ("date", "timestamp", "string")
    )
