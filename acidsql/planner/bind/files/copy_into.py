"""COPY INTO: which files a table takes, what their columns are, and where the rows go that do not
fit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from acidsql.catalog.model import Column, Table, TableName
from acidsql.catalog.path_relation import CopiedFiles, FileSource, FileStamp
from acidsql.catalog.types import PrimitiveType
from acidsql.errors import BindError, Error, Span, UnsupportedStatementError
from acidsql.expressions.spark_words import identifier
from acidsql.parser import statements as ast
from acidsql.planner.bind.bound import BoundCopy, BoundCopyInto, BoundInsert, BoundPartition
from acidsql.planner.bind.bound_catalog import BoundCreateTable
from acidsql.planner.bind.files.sources import file_source, of_kind
from acidsql.planner.bind.files.unload import flag, word_of
from acidsql.planner.bind.files.whole import all_of
from acidsql.planner.bind.insert import bind_partition, bound_insert, insert_columns, insert_target
from acidsql.planner.bind.local.scope import Copies
from acidsql.planner.bind.names import Names
from acidsql.planner.bind.tables import (
    check_storable,
    columns_by_name,
    did_you_mean,
    in_other_order,
    other_order,
    rules_of,
)

_FORMATS = ("csv", "json", "parquet", "orc", "arrow")
_OPTIONS = ("FORMAT", "HEADER", "DELIMITER", "QUOTE", "NULL", "SKIP")
_OTHER_NAMES = {"DELIM": "DELIMITER", "SEP": "DELIMITER", "NULLSTR": "NULL"}
_REJECTED = (("file", "STRING"), ("line", "BIGINT"), ("text", "STRING"), ("reason", "STRING"))


def bind_copy_into(names: Names, statement: ast.CopyInto) -> BoundInsert | BoundCopyInto:
    """BindError and DataError for files that are none of the table's, by their columns."""
    _check_not_strict(names, statement)
    insert = _as_insert(statement)
    table = insert_target(names, insert)
    _check_transactional(table, statement)
    partition = bind_partition(names, table, insert)
    wanted = insert_columns(names, table, statement.columns, partition)
    copies = names.around.copies()
    source = _source(names, statement)
    with_place = _Placed(statement.path.span, names.source)
    with with_place:
        stamps = copies.stamps(source)
    taken = copies.taken(table, stamps) if statement.once else frozenset()
    left = tuple(stamp for stamp in stamps if stamp not in taken)
    with with_place:
        given = _given_columns(copies, source, left)
    files = CopiedFiles(
        source=source,
        files=left,
        columns=_columns(names, statement, table, partition, wanted, source, given),
        not_null=tuple(rule.column for rule in rules_of(table) if rule.column is not None),
        by_name=statement.by_name is not None or source.kind == "json",
        some_columns=statement.columns is not None,
        keeps_rejected=statement.rejects is not None,
    )
    _check_texts(files, statement)
    fitting, misfits = copies.relations(files)
    query = all_of(names, fitting, statement.path.span)
    span = statement.path.span
    bound = bound_insert(names, insert, table, partition, files.columns, query, span)
    copied = BoundCopy(
        given=statement.path.text,
        files=left,
        skipped=len(taken),
        once=statement.once is not None,
        rejects=None if statement.rejects is None else names.table_name(statement.rejects),
    )
    main = replace(bound, copied=copied)
    if statement.rejects is None:
        return main
    return _with_rejects(names, statement, statement.rejects, main, misfits)


def _as_insert(statement: ast.CopyInto) -> ast.Insert:
    """The INSERT that is made of the rows."""
    return ast.Insert(
        span=statement.span,
        target=statement.target,
        columns=statement.columns,
        source=ast.Fragment(text=statement.path.text, span=statement.path.span),
        partition=statement.partition,
    )


def _check_not_strict(names: Names, statement: ast.CopyInto) -> None:
    if names.around.settings.flag("acidsql.strict.hive"):
        raise UnsupportedStatementError(
            "COPY INTO is not Hive SQL",
            hint="SET acidsql.strict.hive=false allows it.",
            span=statement.span,
        )


def _check_transactional(table: Table, statement: ast.CopyInto) -> None:
    """What is remembered with a commit, and what is one with other rows, wants a transaction."""
    for word, clause in (("ONCE", statement.once), ("REJECTS INTO", statement.rejects)):
        if clause is not None and not table.is_transactional:
            raise BindError(
                f"{word} wants a transactional table, and {table.name} is none", span=clause.span
            )


class _Placed:
    """Errors inside are at a place of the statement."""

    def __init__(self, span: Span, source: str) -> None:
        self._span, self._source = span, source

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Error) and error.span is None:
            error.span, error.source = self._span, self._source


# ---- files and their columns


def _given_columns(
    copies: Copies, source: FileSource, files: Sequence[FileStamp]
) -> tuple[str, ...] | None:
    """The names of the files' columns; None where they have none. BindError where files differ."""
    first: tuple[str, ...] | None = None
    for file in files:
        names = copies.columns(source, file)
        if names is None:
            return None
        if not names:  # an empty file has no rows, whatever its columns are
            continue
        if first is not None and sorted(map(str.lower, names)) != sorted(map(str.lower, first)):
            raise BindError(
                f'the columns of "{file.path}" are not those of "{files[0].path}"',
                detail=f"{', '.join(names)} beside {', '.join(first)}",
            )
        first = first or names
    return first


def _columns(
    names: Names,
    statement: ast.CopyInto,
    table: Table,
    partition: BoundPartition | None,
    wanted: tuple[Column, ...],
    source: FileSource,
    given: tuple[str, ...] | None,
) -> tuple[Column, ...]:
    """The columns of the table that the files give, in their order. ``wanted``: those that they are
    to give by position.
    """
    span = statement.path.span
    if statement.by_name is not None and source.kind != "json":
        if given is None and not dict(source.options).get("header", True):
            raise BindError("BY NAME wants files with a header", span=statement.by_name.span)
        if given is None:  # there is nothing left to take
            return wanted
        return columns_by_name(table, partition, given, names.source, span)
    if given is not None and len(given) != len(wanted):
        raise BindError(
            f"the files have {len(given)} columns, and {table.name} takes {len(wanted)}",
            detail=f"{', '.join(given)} beside {', '.join(c.name for c in wanted)}",
            hint="Name the columns that they are, COPY INTO t (a, b) FROM .., or write BY NAME.",
            span=span,
        )
    if given is not None and statement.columns is None and in_other_order(wanted, given):
        names.around.warn(other_order(table, span))
    return wanted


def _check_texts(files: CopiedFiles, statement: ast.CopyInto) -> None:
    """BindError for a column that no text of CSV says a value of."""
    if files.source.kind == "csv":
        for column in files.columns:
            check_storable(PrimitiveType("string"), column, statement.path.span)


def _source(names: Names, statement: ast.CopyInto) -> FileSource:
    path, given = statement.path, dict[str, ast.CopyOption]()
    for option in statement.options:
        word = option.name.text.upper()
        word = _OTHER_NAMES.get(word, word)
        if word not in _OPTIONS:
            hint = did_you_mean(word, _OPTIONS) or f"There are {', '.join(_OPTIONS)}."
            raise BindError(
                f"COPY INTO has no option {option.name.text}", hint=hint, span=option.name.span
            )
        given[word] = option
    kind = _kind(names, path, given.get("FORMAT"))
    for word, option in given.items():
        if word != "FORMAT" and kind != "csv":
            raise BindError(f"{word} is for FORMAT csv, the files are {kind}", span=option.span)
    return of_kind(kind, path.text, tuple(sorted(_values(given).items())))


def _kind(names: Names, path: ast.Path, option: ast.CopyOption | None) -> str:
    if option is None:
        kind = file_source(
            path.text, path.span, names.source, "COPY INTO t FROM '..' (FORMAT csv)"
        ).kind
    else:
        kind = word_of(option).lower()
    if kind not in _FORMATS:
        hint = did_you_mean(kind, _FORMATS) or f"There are {', '.join(_FORMATS)}."
        span = path.span if option is None else option.span
        raise BindError(f'COPY INTO reads no files of format "{kind}"', hint=hint, span=span)
    return kind


def _values(given: Mapping[str, ast.CopyOption]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for word, option in given.items():
        match word:
            case "HEADER":
                values["header"] = flag(option, True)
            case "SKIP":
                text = word_of(option)
                if not text.isdecimal():
                    raise BindError("SKIP is a whole number", span=option.span)
                values["skip"] = int(text)
            case "DELIMITER" | "QUOTE":
                text = word_of(option)
                if not (len(text) == 1 and text.isascii()) and (text or word != "QUOTE"):
                    raise BindError(f"{word} is one character", span=option.span)
                values[word.lower()] = text
            case "NULL":
                values["null"] = word_of(option)
    return values


# ---- rows that do not fit


def _with_rejects(
    names: Names,
    statement: ast.CopyInto,
    into: ast.QualifiedName,
    main: BoundInsert,
    misfits: Table,
) -> BoundCopyInto:
    name = names.table_name(into)
    if name == main.table.name:
        raise BindError("rows that do not fit go into another table", span=into.span)
    if names.catalog.find_table(name) is None:
        with _Placed(into.span, names.source):
            making = _making(names, name)
        return BoundCopyInto(legs=(main,), making=making, span=statement.span)
    insert = ast.Insert(
        span=into.span,
        target=into,
        columns=None,
        source=ast.Fragment(text=into.span.cut(names.source), span=into.span),
        by_name=ast.Fragment(text="", span=into.span),
    )
    table = insert_target(names, insert)
    if not table.is_transactional:
        raise BindError(
            f"REJECTS INTO wants a transactional table, and {name} is none", span=into.span
        )
    query = all_of(names, misfits, into.span)
    partition = bind_partition(names, table, insert)
    leg = bound_insert(names, insert, table, partition, (), query, into.span)
    return BoundCopyInto(legs=(main, leg), span=statement.span)


def _making(names: Names, name: TableName) -> BoundCreateTable:
    """What makes the table of the rows that do not fit."""
    from acidsql.parser.parse import parse
    from acidsql.planner.bind.ddl.catalog import bind_catalog

    columns = ", ".join(f"{identifier(column)} {kind}" for column, kind in _REJECTED)
    text = (
        f"CREATE TRANSACTIONAL TABLE IF NOT EXISTS {identifier(name.database)}."
        f"{identifier(name.table)} ({columns}) STORED AS ORC"
    )
    statement = parse(text)
    assert isinstance(statement, ast.CreateTable)
    try:
        bound = bind_catalog(Names(text, names.around), statement)
    except Error as error:
        error.span = None
        raise
    assert isinstance(bound, BoundCreateTable)
    return bound
