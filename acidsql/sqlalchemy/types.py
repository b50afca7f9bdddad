"""Column types: Hive's own as SQLAlchemy types, their literals, and both from Hive's type text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, assert_never

from sqlalchemy import types as sqltypes
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeEngine

from acidsql.catalog import types as hive
from acidsql.expressions.spark_words import identifier, spark_type
from acidsql.parser.parameters import Written, literal

Convert = Callable[[Any], Any]


class TINYINT(sqltypes.Integer):
    """Hive's TINYINT: one byte."""

    __visit_name__ = "TINYINT"


class STRING(sqltypes.Text):
    """Hive's STRING: text of any length."""

    __visit_name__ = "STRING"


class DOUBLE(sqltypes.DOUBLE[float]):
    """Hive's DOUBLE, eight bytes."""


class _Nested(TypeEngine[Any]):
    """A type with parts: a value is written as one constant expression of Spark's."""

    hashable = False

    @property
    def hive_type(self) -> hive.HiveType:
        """Hive's type, for which all parts must have one."""
        from acidsql.sqlalchemy.dialect import AcidSqlDialect

        return hive.parse_type(AcidSqlDialect().type_compiler_instance.process(self))

    def bind_processor(self, dialect: Dialect) -> Convert:
        hive_type = self.hive_type
        return lambda value: Written(constant(value, hive_type))

    def literal_processor(self, dialect: Dialect) -> Convert:
        hive_type = self.hive_type
        return lambda value: constant(value, hive_type)

    def result_processor(self, dialect: Dialect, coltype: object) -> Convert:
        hive_type = self.hive_type
        return lambda value: _read(value, hive_type)


class Array(_Nested):
    """``array<item>``; values are lists."""

    __visit_name__ = "acidsql_array"

    def __init__(self, item_type: TypeEngine[Any] | type[TypeEngine[Any]]) -> None:
        self.item_type = sqltypes.to_instance(item_type)


class Map(_Nested):
    """``map<key,value>``; values are dicts."""

    __visit_name__ = "acidsql_map"

    def __init__(
        self,
        key_type: TypeEngine[Any] | type[TypeEngine[Any]],
        value_type: TypeEngine[Any] | type[TypeEngine[Any]],
    ) -> None:
        self.key_type = sqltypes.to_instance(key_type)
        self.value_type = sqltypes.to_instance(value_type)


class Struct(_Nested):
    """``struct<name:type,..>``, given as a dict of types; values are dicts."""

    __visit_name__ = "acidsql_struct"

    def __init__(self, fields: Mapping[str, TypeEngine[Any] | type[TypeEngine[Any]]]) -> None:
        self.fields = tuple((name, sqltypes.to_instance(kind)) for name, kind in fields.items())

    def __repr__(self) -> str:
        return f"Struct({dict(self.fields)!r})"


def constant(value: Any, hive_type: hive.HiveType) -> str:
    """The expression that gives a Python value of a type. ProgrammingError for one without."""
    typed = spark_type(hive_type)
    if value is None:
        return f"CAST(NULL AS {typed})"
    match hive_type:
        case hive.ArrayType(element):
            inner = f"array({', '.join(constant(item, element) for item in value)})"
        case hive.MapType(key, item_type):
            parts = [constant(k, key) + ", " + constant(v, item_type) for k, v in value.items()]
            inner = f"map({', '.join(parts)})"
        case hive.StructType(fields):
            if unknown := set(value) - {f.name for f in fields}:
                raise ValueError(f"the struct has no field {', '.join(sorted(unknown))}")
            parts = [f"{literal(f.name)}, {constant(value.get(f.name), f.type)}" for f in fields]
            inner = f"named_struct({', '.join(parts)})"
        case _:
            inner = literal(value)
    return f"CAST({inner} AS {typed})"


def _read(value: Any, hive_type: hive.HiveType) -> Any:
    """A value as the cursor gives it, with dicts for the lists of pairs that maps are."""
    if value is None:
        return None
    match hive_type:
        case hive.ArrayType(element):
            return [_read(item, element) for item in value]
        case hive.MapType(key, item_type):
            return {_read(k, key): _read(v, item_type) for k, v in value}
        case hive.StructType(fields):
            return {f.name: _read(value[f.name], f.type) for f in fields}
        case _:
            return value


_PRIMITIVES: Mapping[str, type[TypeEngine[Any]]] = {
    "boolean": sqltypes.BOOLEAN,
    "tinyint": TINYINT,
    "smallint": sqltypes.SMALLINT,
    "int": sqltypes.INTEGER,
    "bigint": sqltypes.BIGINT,
    "float": sqltypes.REAL,
    "double": DOUBLE,
    "string": STRING,
    "binary": sqltypes.BINARY,
    "date": sqltypes.DATE,
    "timestamp": sqltypes.TIMESTAMP,
}


def column_type(hive_type: hive.HiveType) -> TypeEngine[Any]:
    """SQLAlchemy's type for one of Hive's."""
    match hive_type:
        case hive.PrimitiveType(name):
            return _PRIMITIVES[name]()
        case hive.DecimalType(precision, scale):
            return sqltypes.DECIMAL(precision, scale)
        case hive.CharType(length):
            return sqltypes.CHAR(length)
        case hive.VarcharType(length):
            return sqltypes.VARCHAR(length)
        case hive.ArrayType(element):
            return Array(column_type(element))
        case hive.MapType(key, value):
            return Map(column_type(key), column_type(value))
        case hive.StructType(fields):
            return Struct({f.name: column_type(f.type) for f in fields})
        case _:
            assert_never(hive_type)


# -- literals: those of the cursor's parameters, so that a value is the same either way


class _Literal(TypeEngine[Any]):
    def literal_processor(self, dialect: Dialect) -> Convert:
        bind = self.bind_processor(dialect)
        return lambda value: literal(value if bind is None else bind(value))


class _String(_Literal, sqltypes.String): ...


class _Enum(_Literal, sqltypes.Enum): ...


class _Date(_Literal, sqltypes.Date):
    """A datetime is cut to its day, which a comparison with a DATE would not do."""

    def bind_processor(self, dialect: Dialect) -> Convert:
        return lambda value: value.date() if isinstance(value, datetime) else value


class _DateTime(_Literal, sqltypes.DateTime): ...


class _Binary(_Literal, sqltypes.LargeBinary): ...


class _Numeric(_Literal, sqltypes.Numeric[Any]): ...


class _Float(_Literal, sqltypes.Float[Any]): ...


COLUMN_SPECIFICATIONS: dict[type[TypeEngine[Any]], type[TypeEngine[Any]]] = {
    sqltypes.String: _String,
    sqltypes.Enum: _Enum,
    sqltypes.Date: _Date,
    sqltypes.DateTime: _DateTime,
    sqltypes.LargeBinary: _Binary,
    sqltypes.Numeric: _Numeric,
    sqltypes.Float: _Float,
}


def field_text(name: str, type_text: str) -> str:
    """A field of a struct's type."""
    return f"{identifier(name)}:{type_text}"
