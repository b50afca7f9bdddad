"""SQL of the store as it is asked for, in SQLAlchemy's words but without SQLAlchemy, which takes
longer to import than most statements take.

``select(TXNS.c.TXN_ID).where(TXNS.c.TXN_STATE == "o")`` is kept as what was called with what. Its
text is the same for all values: by it the SQL of SQLite is found that was compiled ahead (see
``sqlite``). SQLAlchemy itself makes the statement where there is none yet, and for PostgreSQL.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from threading import RLock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlalchemy import BigInteger as BigInteger
    from sqlalchemy import Boolean as Boolean
    from sqlalchemy import Column as Column
    from sqlalchemy import ColumnElement as ColumnElement
    from sqlalchemy import CompoundSelect as CompoundSelect
    from sqlalchemy import Connection as Connection
    from sqlalchemy import Delete as Delete
    from sqlalchemy import Double as Double
    from sqlalchemy import ForeignKey as ForeignKey
    from sqlalchemy import Index as Index
    from sqlalchemy import Insert as Insert
    from sqlalchemy import Integer as Integer
    from sqlalchemy import MetaData as MetaData
    from sqlalchemy import Row as Row
    from sqlalchemy import Select as Select
    from sqlalchemy import String as String
    from sqlalchemy import Table as Table
    from sqlalchemy import Text as Text
    from sqlalchemy import Update as Update
    from sqlalchemy import and_ as and_
    from sqlalchemy import bindparam as bindparam
    from sqlalchemy import column as column
    from sqlalchemy import delete as delete
    from sqlalchemy import exists as exists
    from sqlalchemy import false as false
    from sqlalchemy import func as func
    from sqlalchemy import insert as insert
    from sqlalchemy import literal as literal
    from sqlalchemy import not_ as not_
    from sqlalchemy import null as null
    from sqlalchemy import or_ as or_
    from sqlalchemy import select as select
    from sqlalchemy import table as table
    from sqlalchemy import true as true
    from sqlalchemy import union_all as union_all
    from sqlalchemy import update as update

_OPERATORS = frozenset("__eq__ __ne__ __lt__ __le__ __gt__ __ge__ __add__ __sub__".split())
_TAKE_VALUES = _OPERATORS | frozenset(
    "in_ not_in is_not_distinct_from startswith values limit".split()
)
"""What is called with values that are no part of a statement's text, as SQLAlchemy binds them."""

_making = RLock()
"""Held while SQLAlchemy makes a piece, as each is made once."""

Binder = Callable[[object], object]
"""What stands for a value in a statement."""


class Expression:
    """A piece of SQL. ``_text`` has marks for its ``_values``; pieces are never changed."""

    __slots__ = ("_real", "_text", "_values")
    _real: Any
    _text: str
    _values: tuple[object, ...]

    def __getattr__(self, name: str) -> Any:
        if name in ("_text", "_values"):
            self._text, self._values = self._written()
            return object.__getattribute__(self, name)
        if name.startswith("_"):
            raise AttributeError(name)
        return _Attribute(self, name)

    def __call__(self, *args: object, **options: object) -> Any:
        return _Call(self, args, options)

    def _written(self) -> tuple[str, tuple[object, ...]]:
        raise NotImplementedError

    def _make(self, bind: Binder) -> Any:
        """What SQLAlchemy makes of it; ``real`` does not ask twice for one without values."""
        raise NotImplementedError

    # ---- operators, each a method of SQLAlchemy's columns

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> Any:
        return self._operated("__eq__", other)

    def __ne__(self, other: object) -> Any:
        return self._operated("__ne__", other)

    def __lt__(self, other: object) -> Any:
        return self._operated("__lt__", other)

    def __le__(self, other: object) -> Any:
        return self._operated("__le__", other)

    def __gt__(self, other: object) -> Any:
        return self._operated("__gt__", other)

    def __ge__(self, other: object) -> Any:
        return self._operated("__ge__", other)

    def __add__(self, other: object) -> Any:
        return self._operated("__add__", other)

    def __sub__(self, other: object) -> Any:
        return self._operated("__sub__", other)

    def __and__(self, other: object) -> Any:
        return self._operated("__and__", other)

    def __or__(self, other: object) -> Any:
        return self._operated("__or__", other)

    def __invert__(self) -> Any:
        return self._operated("__invert__")

    def _operated(self, operator: str, *others: object) -> Any:
        return _Call(_Attribute(self, operator), others, {})

    # ---- what SQLAlchemy's connections ask of a statement

    def _execute_on_connection(self, *args: Any) -> Any:
        return real(self)._execute_on_connection(*args)

    def _execute_on_scalar(self, *args: Any) -> Any:
        return real(self)._execute_on_scalar(*args)


class _Name(Expression):
    """One of SQLAlchemy's own names."""

    __slots__ = ()

    def __init__(self, name: str) -> None:
        self._text, self._values = name, ()

    def _make(self, bind: Binder) -> Any:
        from acidsql.metastore.sql import sqlite

        return sqlite.named(self._text)


class _Attribute(Expression):
    __slots__ = ("_name", "_owner")

    def __init__(self, owner: Expression, name: str) -> None:
        self._owner, self._name = owner, name

    def _written(self) -> tuple[str, tuple[object, ...]]:
        return f"{self._owner._text}.{self._name}", self._owner._values

    def _make(self, bind: Binder) -> Any:
        return getattr(real(self._owner, bind), self._name)


class _Call(Expression):
    __slots__ = ("_args", "_function", "_options")

    def __init__(
        self, function: Expression, args: tuple[object, ...], options: Mapping[str, object]
    ) -> None:
        self._function, self._args, self._options = function, args, options

    def _written(self) -> tuple[str, tuple[object, ...]]:
        values = [*self._function._values]
        bound = self._takes_values
        texts = [_written(arg, values, bound=bound) for arg in self._args]
        for name, option in self._options.items():
            texts.append(f"{name}={_written(option, values, bound=bound)}")
        return f"{self._function._text}({', '.join(texts)})", tuple(values)

    @property
    def _takes_values(self) -> bool:
        function = self._function
        name = function._name if isinstance(function, _Attribute) else function._text
        return name in _TAKE_VALUES

    def _make(self, bind: Binder) -> Any:
        function = real(self._function, bind)
        value = bind if self._takes_values else None
        args = [_built(arg, bind, value) for arg in self._args]
        options = {name: _built(option, bind, value) for name, option in self._options.items()}
        return function(*args, **options)


class _Column(Expression):
    """A column of a table."""

    __slots__ = ("name", "table")

    def __init__(self, table: _Table, name: str) -> None:
        self.table, self.name = table, name
        self._text, self._values = f"{table.name}.c.{name}", ()

    def _make(self, bind: Binder) -> Any:
        return real(self.table).c[self.name]


class _Columns:
    """The columns of a table, by name."""

    def __init__(self, table: _Table, names: list[str]) -> None:
        self._columns = {name: _Column(table, name) for name in names}

    @property
    def columns(self) -> _Columns:
        return self

    def __getattr__(self, name: str) -> _Column:
        try:
            return self._columns[name]
        except KeyError:
            raise AttributeError(name) from None

    def __getitem__(self, name: str) -> _Column:
        return self._columns[name]

    def __contains__(self, name: str) -> bool:
        return name in self._columns

    def __iter__(self) -> Iterator[_Column]:
        return iter(self._columns.values())


class _MetaData(Expression):
    """The tables of a schema."""

    __slots__ = ("tables",)

    def __init__(self) -> None:
        self.tables: dict[str, _Table] = {}
        self._text, self._values = "MetaData()", ()

    def _make(self, bind: Binder) -> Any:
        return _Name("MetaData")._make(bind)()

    @property
    def sorted_tables(self) -> list[_Table]:
        """The tables, each behind those it refers to."""
        for one in self.tables.values():
            real(one)
        return [self.tables[one.name] for one in real(self).sorted_tables]


class _Table(Expression):
    __slots__ = ("_items", "_metadata", "_options", "c", "name", "primary_key")

    def __init__(self, name: str, metadata: _MetaData, *items: _Call, **options: object) -> None:
        self.name, self._metadata, self._items, self._options = name, metadata, items, options
        self._text, self._values = name, ()
        columns = [one for one in items if one._function is Column]
        self.c = _Columns(self, [str(one._args[0]) for one in columns])
        keys = [str(one._args[0]) for one in columns if "primary_key" in one._options]
        self.primary_key = _Columns(self, keys)
        metadata.tables[name] = self

    __hash__ = object.__hash__
    __eq__ = object.__eq__  # a table is compared with none

    def _make(self, bind: Binder) -> Any:
        items = [real(one) for one in self._items]
        return _Name("Table")._make(bind)(self.name, real(self._metadata), *items, **self._options)


def _written(part: object, values: list[object], *, bound: bool) -> str:
    """The text of what something is called with; its values are added to ``values``."""
    if isinstance(part, Expression):
        values += part._values
        return part._text
    if isinstance(part, dict):
        names = (_written(name, values, bound=False) for name in part)
        texts = (_written(value, values, bound=bound) for value in part.values())
        pairs = [f"{name}: {text}" for name, text in zip(names, texts, strict=True)]
        return f"{{{', '.join(pairs)}}}"
    if part is None or isinstance(part, bool) or not bound:
        if isinstance(part, list | tuple):
            return f"[{', '.join(_written(one, values, bound=False) for one in part)}]"
        return repr(part)
    values.append(part)
    if isinstance(part, str):
        return "?str"
    return "?all" if isinstance(part, Collection) else f"?{_kind(part)}"


def _kind(value: object) -> str:
    return "int" if isinstance(value, int) else type(value).__name__


def _built(part: object, bind: Binder, value: Binder | None) -> object:
    """What SQLAlchemy is given for it, in the order of ``_written``."""
    if isinstance(part, Expression):
        return real(part, bind)
    if isinstance(part, dict):
        names = [_built(name, bind, None) for name in part]
        built = [_built(one, bind, value) for one in part.values()]
        return dict(zip(names, built, strict=True))
    if value is None and isinstance(part, list | tuple):
        return [_built(one, bind, None) for one in part]
    return part if value is None or part is None or isinstance(part, bool) else value(part)


def real(expression: Any, bind: Binder = lambda value: value) -> Any:
    """What SQLAlchemy makes of a piece, once where it has no values."""
    if expression._values:
        return expression._make(bind)
    with _making:
        try:
            return object.__getattribute__(expression, "_real")
        except AttributeError:
            expression._real = expression._make(bind)
            return expression._real


if not TYPE_CHECKING:
    MetaData, Table, Column = _MetaData, _Table, _Name("Column")
    BigInteger, Boolean, Double, Integer, String, Text = map(
        _Name, ("BigInteger", "Boolean", "Double", "Integer", "String", "Text")
    )
    ForeignKey, Index = _Name("ForeignKey"), _Name("Index")
    select, insert, update, delete = map(_Name, ("select", "insert", "update", "delete"))
    union_all, exists, table, column = map(_Name, ("union_all", "exists", "table", "column"))
    and_, or_, not_, func = map(_Name, ("and_", "or_", "not_", "func"))
    bindparam, literal = _Name("bindparam"), _Name("literal")
    true, false, null = map(_Name, ("true", "false", "null"))
    # what stands in annotations alone
    ColumnElement = CompoundSelect = Connection = Row = Any
    Select = Insert = Update = Delete = Any
