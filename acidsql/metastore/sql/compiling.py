"""Statements of the store as the SQL of SQLite: what SQLAlchemy compiles them to.

``sqlite.json`` has what most statements of users need, compiled ahead, so that their processes need
no SQLAlchemy; ``python -m tests.metastore.ahead`` makes it anew, and a test compares. What is not
there is compiled when it is asked for.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from acidsql.metastore.sql import Expression, real

AHEAD = Path(__file__).with_name("sqlite.json")
_MOST_KEPT = 1000
"""Statements beyond them, which differ by what is asked for, are compiled again."""

VALUE = "value_"
"""What the names of values begin with, before their numbers."""


class Compiled(NamedTuple):
    """A statement's text.

    ``params``: what is bound, in order: the number of a value of the statement, the name of a
    parameter, or a constant alone in a list. ``lists``: the ones among them that stand for several
    values, each with what is written for none. ``booleans``: which columns of a result are.
    """

    sql: str
    params: Sequence[int | str | list[Any]]
    lists: Mapping[str, str] = {}
    booleans: Sequence[int] = ()


known: dict[str, Compiled] = {}
"""What this process has asked for, by what it is found by."""


def _key(statement: Expression, names: Collection[str]) -> str:
    """What a statement is found by. ``names``: of the parameters it is given."""
    text = statement._text
    return f"{text} {' '.join(names)}" if names and not text.startswith("select(") else text


def compiled(statement: Any, names: Collection[str]) -> Compiled:
    """A statement, of the store's or one of SQLAlchemy's, with parameters of these names."""
    if not isinstance(statement, Expression):
        return _compile(statement, names)
    key = _key(statement, names)
    entry = known.get(key)
    if entry is None:
        ahead = _ahead()["statements"].get(key)
        entry = _compile_now(statement, names) if ahead is None else Compiled(*ahead)
        if len(known) >= _MOST_KEPT:
            known.clear()
        known[key] = entry
    return entry


@cache
def _ahead() -> Any:
    return json.loads(AHEAD.read_text(encoding="utf-8"))


def creation() -> Mapping[str, Sequence[str]]:
    """What makes each table of the schema and its indexes."""
    tables: Mapping[str, Sequence[str]] = _ahead()["tables"]
    return tables


# ---- by SQLAlchemy


def named(name: str) -> Any:
    """What SQLAlchemy means by a name."""
    import sqlalchemy

    return getattr(sqlalchemy, name)


@cache
def dialect() -> Any:
    """SQLite's, whatever its version is here."""
    from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite

    return SQLiteDialect_pysqlite()


def _compile_now(statement: Expression, names: Collection[str]) -> Compiled:
    """What SQLAlchemy compiles a statement to."""
    from sqlalchemy import bindparam

    count = 0

    def bind(value: object) -> object:
        nonlocal count
        count += 1
        name = f"{VALUE}{count - 1}"
        if isinstance(value, str) or not isinstance(value, Collection):
            return bindparam(name, value)
        return bindparam(name, expanding=True)

    return _compile(real(statement, bind), names)


def _compile(statement: Any, names: Collection[str]) -> Compiled:
    text = statement.compile(dialect=dialect(), column_keys=list(names))
    binds = {name: text.binds[name] for name in text.positiontup}
    lists = {
        name: text.visit_empty_set_op_expr([bind.type], bind.expand_op)
        for name, bind in binds.items()
        if bind in text.post_compile_params
    }
    params = [_param(name, binds[name]) for name in text.positiontup]
    return Compiled(str(text), params, lists, _booleans(text))


def _param(name: str, bind: Any) -> int | str | list[Any]:
    if name.startswith(VALUE):
        return int(name.removeprefix(VALUE))
    return name if bind.required else [bind.value]


def _booleans(text: Any) -> list[int]:
    from sqlalchemy import Boolean

    types = [column.type for column in text._result_columns]
    return [at for at, one in enumerate(types) if isinstance(one, Boolean)]


def create_texts(metadata: Any, dialect: Any) -> dict[str, list[str]]:
    """The texts of CREATE TABLE and its indexes, by table, each behind those it refers to."""
    from sqlalchemy.schema import CreateIndex, CreateTable

    texts = {}
    for table in metadata.sorted_tables:
        indexes = sorted(table.indexes, key=lambda index: str(index.name))
        elements: list[Any] = [CreateTable(table), *map(CreateIndex, indexes)]
        texts[table.name] = [str(element.compile(dialect=dialect)) for element in elements]
    return texts
