"""What a table may be: checks on targets, and CREATE TABLE's own rules (Hive: TransactionalValidationListener)."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from acidsql.acid.ids import MAX_BUCKET_ID
from acidsql.catalog.model import Bucketing, Column, Database, FileFormat, Table, TableKind, TableName
from acidsql.catalog.types import ArrayType, HiveType, MapType, PrimitiveType, StructType, parse_type
from acidsql.errors import BindError, Span, UnsupportedStatementError
from acidsql.parser import statements as ast

_NAME = re.compile(r"[a-z0-9_]+")
_CODECS = ("ZLIB", "SNAPPY", "LZ4", "NONE")
_HIDDEN_COLUMNS = frozenset({"row__id", "input__file__name", "block__offset__inside__file"})
_MAX_BUCKETS = MAX_BUCKET_ID + 1


def close_names(name: str, known: Iterable[str]) -> list[str]:
    """The known names most like it, best first."""
    return difflib.get_close_matches(name, list(known), n=1)


def check_name(name: str, span: Span) -> None:
    if not _NAME.fullmatch(name):
        raise BindError(f'"{name}" is not a valid name', hint="Use letters, digits and underscores.", span=span)


def check_readable(table: Table, span: Span) -> None:
    """What the reader cannot do yet is refused here, before anything is opened."""
    if table.kind is TableKind.VIEW:
        raise UnsupportedStatementError(f"views are not supported yet: {table.name}", span=span)
    if table.partition_columns:
        raise UnsupportedStatementError(f"partitioned tables are not supported yet: {table.name}", span=span)
    if table.is_insert_only:
        raise UnsupportedStatementError(f"insert-only tables are not supported yet: {table.name}", span=span)
    if table.file_format is not FileFormat.ORC:
        raise UnsupportedStatementError(f"only ORC tables are supported yet: {table.name}", span=span)


def check_insertable(table: Table, span: Span) -> None:
    check_readable(table, span)


def wrong_column_count(table: Table, wanted: int, given: int, span: Span) -> BindError:
    message = (
        f"Cannot insert into target table because column number/types are different '{table.name.table}': "
        f"Table insclause-0 has {wanted} columns, but query has {given} columns."
    )
    return BindError(message, code=10044, span=span)


def check_storable(given: HiveType | None, column: Column, span: Span) -> None:
    """Hive casts any primitive to any other; a nested type takes only its like. ``given`` None: not known, Spark judges."""
    if given is None or given == column.type or not {_shape(given), _shape(column.type)} - {"primitive"}:
        return
    if _shape(given) != _shape(column.type):
        message = (
            f"Cannot insert into target table because column number/types are different '{column.name}': "
            f"Cannot convert column from {given} to {column.type}."
        )
        raise BindError(message, code=10044, span=span)


def _shape(hive_type: HiveType) -> str:
    match hive_type:
        case ArrayType():
            return "array"
        case MapType():
            return "map"
        case StructType():
            return "struct"
        case _:
            return "primitive"


def new_table(statement: ast.CreateTable, name: TableName, database: Database, user: str, now: int) -> Table:
    """The table CREATE TABLE asks for. BindError with the place of what Hive would refuse."""
    properties = _properties(statement)
    transactional = properties.get("transactional") == "true"
    if statement.external and transactional:
        raise BindError(f"{name} cannot be declared transactional because it's an external table", span=statement.name.span)
    if statement.external or statement.location is not None:
        raise UnsupportedStatementError("EXTERNAL and LOCATION are not supported yet", span=statement.name.span)
    columns = _columns(statement)
    bucketing = _bucketing(statement, columns)
    file_format = _file_format(statement)
    if transactional and file_format is not FileFormat.ORC:
        message = f"The table must be stored using an ACID compliant format (such as ORC): {name}"
        raise BindError(message, span=statement.stored_as.span if statement.stored_as else statement.name.span)
    if file_format is not FileFormat.ORC:
        place = statement.stored_as.span if statement.stored_as else statement.name.span
        raise UnsupportedStatementError("only ORC tables are supported yet", hint="Add STORED AS ORC.", span=place)
    return Table(
        name=name,
        columns=columns,
        location=f"{database.location}/{name.table}",
        bucketing=bucketing,
        file_format=file_format,
        properties=properties,
        comment=statement.comment,
        owner=user,
        created_at=now,
    )


def _columns(statement: ast.CreateTable) -> tuple[Column, ...]:
    found: dict[str, Column] = {}
    for definition in statement.columns:
        name = definition.name.text.lower()
        if name in found:
            raise BindError(f"Duplicate column name: {name}", code=10036, span=definition.name.span)
        if name in _HIDDEN_COLUMNS:
            raise BindError(f'"{name}" is the name of a virtual column', span=definition.name.span)
        found[name] = Column(name=name, type=_type(definition), comment=definition.comment)
    if not found:
        raise BindError("a table needs at least one column", span=statement.name.span)
    return tuple(found.values())


def _type(definition: ast.ColumnDefinition) -> HiveType:
    try:
        return parse_type(definition.type_text)
    except BindError as error:
        inner = error.span or Span(0, len(definition.type_text))
        error.span = inner.shift(definition.type_span.start)
        raise


def _bucketing(statement: ast.CreateTable, columns: tuple[Column, ...]) -> Bucketing | None:
    clause = statement.clustered_by
    if clause is None:
        return None
    types = {c.name: c.type for c in columns}
    for name in clause.columns:
        hive_type = types.get(name.text.lower())
        if hive_type is None:
            raise BindError(f'column "{name.text}" of CLUSTERED BY is not a column of the table', code=10002, span=name.span)
        if isinstance(hive_type, PrimitiveType) and hive_type.name == "binary":
            raise UnsupportedStatementError("a binary column cannot be a bucketing column", span=name.span)
    if not 1 <= clause.buckets <= _MAX_BUCKETS:
        raise BindError(f"the number of buckets must be 1 to {_MAX_BUCKETS}", span=clause.span)
    return Bucketing(columns=tuple(n.text.lower() for n in clause.columns), count=clause.buckets)


def _file_format(statement: ast.CreateTable) -> FileFormat:
    if statement.stored_as is None:
        return FileFormat.ORC if statement.transactional_word else FileFormat.TEXTFILE
    word = statement.stored_as.text.upper()
    if word not in FileFormat.__members__:
        raise UnsupportedStatementError(f'file format "{statement.stored_as.text}" is not supported', span=statement.stored_as.span)
    return FileFormat[word]


def _properties(statement: ast.CreateTable) -> dict[str, str]:
    """TBLPROPERTIES with Hive's rules for the transactional ones: lower-case keys, default values filled in."""
    spans = {p.key.lower(): p.span for p in statement.properties}
    given = {(k.lower() if k.lower().startswith("transactional") else k): v for k, v in ((p.key, p.value) for p in statement.properties)}
    if statement.transactional_word:
        given.setdefault("transactional", "true")
    value = given.get("transactional")
    if value is not None and value.lower() not in ("true", "false"):
        message = f"'transactional' property of TBLPROPERTIES may only have value 'true': {statement.name.parts[-1].text.lower()}"
        raise BindError(message, span=spans["transactional"])
    if value is None or value.lower() == "false":
        given.pop("transactional", None)
    else:
        given["transactional"] = "true"
        mode = given.setdefault("transactional_properties", "default")
        if mode not in ("default", "insert_only"):
            raise BindError(f"unknown value {mode} for transactional_properties", span=spans["transactional_properties"])
        if mode == "insert_only":
            raise UnsupportedStatementError("insert-only tables are not supported yet", span=spans["transactional_properties"])
    given.setdefault("bucketing_version", "2")
    codec = given.get("orc.compress")
    if codec is not None and codec.upper() not in _CODECS:
        allowed = ", ".join(_CODECS)
        raise BindError(f'orc.compress "{codec}" is not supported', hint=f"Hive 3.1 reads {allowed}.", span=spans["orc.compress"])
    return given
