"""ALTER TABLE: Hive's rules of each form. What only the catalog knows of is done; what moves or rewrites files is not built yet."""

from __future__ import annotations

from dataclasses import replace

from acidsql.catalog.model import Column, FileFormat, Table, TableKind
from acidsql.catalog.types import ArrayType, MapType, PrimitiveType, StructType
from acidsql.errors import AlreadyExistsError, BindError, ColumnNotFoundError, DatabaseNotFoundError, Span
from acidsql.parser import statements as ast
from acidsql.planner.bind_columns import bind_column, bind_columns, duplicate
from acidsql.planner.bind_compact import bind_compact
from acidsql.planner.bind_create import absolute
from acidsql.planner.bind_partition import check_reserved, compared, existing, matching, not_full, shown, static_spec
from acidsql.planner.bind_table import check_name, did_you_mean
from acidsql.planner.bound_catalog import BoundAlterTable, BoundUnbuilt
from acidsql.planner.names import Names
from acidsql.planner.places import after_word, of_string
from acidsql.planner.table_properties import (
    BUCKETING_VERSION,
    EXTERNAL,
    Given,
    altered,
    check_changes,
    check_unset,
    check_values,
    transactions_of,
)

Facts = tuple[tuple[str, str], ...]


def bind_alter(names: Names, statement: ast.TableAlteration) -> BoundAlterTable | BoundUnbuilt:
    table = altered_table(names, statement.name)
    match statement:
        case ast.SetTableProperties():
            return bind_set_properties(names, table, statement)
        case ast.UnsetTableProperties():
            return bind_unset_properties(names, table, statement)
        case ast.AddPartitions():
            return bind_add_partitions(names, table, statement)
        case ast.DropPartitions():
            return bind_drop_partitions(names, table, statement)
        case ast.RenamePartition():
            return bind_rename_partition(names, table, statement)
        case ast.AddColumns():
            return bind_add_columns(table, statement)
        case ast.ReplaceColumns():
            return bind_replace_columns(table, statement)
        case ast.ChangeColumn():
            return bind_change_column(names, table, statement)
        case ast.RenameTable():
            return bind_rename_table(names, table, statement)
        case ast.SetLocation():
            return bind_set_location(names, table, statement)
        case ast.Concatenate():
            return bind_concatenate(names, table, statement)
        case ast.Compact():
            return bind_compact(names, table, statement)


def altered_table(names: Names, name: ast.QualifiedName) -> Table:
    table = names.table(name)
    if table.kind is TableKind.VIEW:
        hint = "CREATE OR REPLACE VIEW defines it anew."
        raise BindError("To alter a view you need to use the ALTER VIEW command.", code=10131, hint=hint, span=name.span)
    return table


def _unbuilt(words: str, span: Span, table: Table, *facts: tuple[str, str]) -> BoundUnbuilt:
    return BoundUnbuilt(words=f"ALTER TABLE .. {words}", span=span, facts=(("table", str(table.name)), *facts))


# ---- properties


def bind_set_properties(names: Names, table: Table, statement: ast.SetTableProperties) -> BoundAlterTable | BoundUnbuilt:
    given = Given(statement.properties, statement.name.span)
    check_values(given)
    check_changes(table, given)
    version = given.values.get(BUCKETING_VERSION)
    if table.bucketing is not None and version not in (None, str(table.bucketing.version)):
        hint = "The files are bucketed by the version they were written with."
        raise BindError("bucketing_version of a bucketed table cannot be changed", hint=hint, span=given.span(BUCKETING_VERSION))
    return _with_properties(names, table, altered(table, given.values), statement.span)


def bind_unset_properties(names: Names, table: Table, statement: ast.UnsetTableProperties) -> BoundAlterTable | BoundUnbuilt:
    known = dict(table.properties) | ({} if table.comment is None else {"comment": table.comment})
    spans = {key: of_string(names.source, statement.span, key) for key in statement.keys}
    check_unset(table, spans)
    for key, span in spans.items():
        if key not in known and not statement.if_exists:
            message = f"The following property {key} does not exist in {table.name.table}"
            hint = did_you_mean(key, known) or "UNSET TBLPROPERTIES IF EXISTS takes properties that are not there."
            raise BindError(message, code=10215, hint=hint, span=span)
    if table.bucketing is not None and BUCKETING_VERSION in spans:
        raise BindError("bucketing_version of a bucketed table cannot be changed", span=spans[BUCKETING_VERSION])
    kept = {k: v for k, v in table.properties.items() if k not in spans}
    kind = TableKind.MANAGED if EXTERNAL in spans else table.kind
    after = replace(table, properties=kept, kind=kind, comment=None if "comment" in spans else table.comment)
    return _with_properties(names, table, after, statement.span)


def _with_properties(names: Names, before: Table, after: Table, span: Span) -> BoundAlterTable | BoundUnbuilt:
    """The files of a table lie as its kind of transactions wants them: another kind is more than another property."""
    old, new = transactions_of(before), transactions_of(after)
    if old != new:
        return BoundUnbuilt(words=f"ALTER TABLE from {old} to {new}", span=span, facts=(("table", str(before.name)),))
    stamped = {**after.properties, "transient_lastDdlTime": str(names.around.now)}
    return BoundAlterTable(before=before, after=replace(after, properties=stamped))


# ---- partitions


def bind_add_partitions(names: Names, table: Table, statement: ast.AddPartitions) -> BoundUnbuilt:
    facts = []
    for added in statement.partitions:
        spec = static_spec(names, table, added.partition, full=True)
        check_reserved(spec, added.partition)
        if added.location is not None:
            absolute(added.location, after_word(names.source, statement.span, "LOCATION"))
        there = bool(matching(names, table, spec))
        if there and not statement.if_not_exists:
            raise AlreadyExistsError(f"Partition already exists: {shown(spec)}", code=10118, span=added.partition.span)
        facts.append(("partition", shown(spec) + (", which exists" if there else f" at {added.location}" if added.location else "")))
    return _unbuilt("ADD PARTITION", statement.span, table, *facts)


def bind_drop_partitions(names: Names, table: Table, statement: ast.DropPartitions) -> BoundUnbuilt:
    facts = []
    for spec in statement.partitions:
        words, partitions = compared(names, table, spec)
        if not partitions and not statement.if_exists:
            raise BindError(f"Partition not found {words}", code=10006, hint="Say IF EXISTS if there may be none.", span=spec.span)
        facts.append(("partitions", f"{len(partitions)} with {words}"))
    purge = (("files", "deleted for good"),) if statement.purge else ()
    return _unbuilt("DROP PARTITION", statement.span, table, *facts, *purge)


def bind_rename_partition(names: Names, table: Table, statement: ast.RenamePartition) -> BoundUnbuilt:
    old, _ = existing(names, table, statement.partition, full=True)
    new = static_spec(names, table, statement.new_partition, full=True)
    check_reserved(new, statement.new_partition)
    if matching(names, table, new):
        raise AlreadyExistsError(f"Partition already exists: {shown(new)}", code=10118, span=statement.new_partition.span)
    return _unbuilt("RENAME TO PARTITION", statement.span, table, ("partition", shown(old)), ("new partition", shown(new)))


# ---- columns


def bind_add_columns(table: Table, statement: ast.AddColumns) -> BoundUnbuilt:
    _check_cascade(table, statement.cascade, statement.name.span)
    _check_unconstrained(statement.columns)
    added = bind_columns(statement.columns)
    taken = {c.name for c in (*table.columns, *table.partition_columns)}
    for definition, column in zip(statement.columns, added, strict=True):
        if column.name in taken:
            raise duplicate(column.name, definition.name.span)
    return _unbuilt("ADD COLUMNS", statement.span, table, *_column_facts(added, statement.cascade))


def bind_replace_columns(table: Table, statement: ast.ReplaceColumns) -> BoundUnbuilt:
    """Of an ORC table no column may go, and no type may change to one ORC does not read it as."""
    _check_cascade(table, statement.cascade, statement.name.span)
    _check_unconstrained(statement.columns)
    columns = bind_columns(statement.columns)
    keys = {c.name for c in table.partition_columns}
    for definition, column in zip(statement.columns, columns, strict=True):
        if column.name in keys:
            raise duplicate(column.name, definition.name.span)
    if table.file_format is FileFormat.ORC and len(columns) < len(table.columns):
        message = f"Replacing columns cannot drop columns for table {table.name}. SerDe may be incompatible"
        raise BindError(message, code=10313, span=statement.columns[-1].name.span)
    for definition, old, new in zip(statement.columns, table.columns, columns, strict=False):
        if table.file_format is FileFormat.ORC and not convertible(old, new):
            what = f"(from {old.type} to {new.type}) for column {old.name}"
            message = f"Replacing columns with unsupported type conversion {what}. SerDe may be incompatible"
            raise BindError(message, code=10314, span=definition.type_span)
    return _unbuilt("REPLACE COLUMNS", statement.span, table, *_column_facts(columns, statement.cascade))


def bind_change_column(names: Names, table: Table, statement: ast.ChangeColumn) -> BoundUnbuilt:
    _check_cascade(table, statement.cascade, statement.name.span)
    _check_unconstrained((statement.definition,))
    old = _own_column(table, statement.column)
    new = bind_column(statement.definition)
    if new.name != old.name and any(c.name == new.name for c in (*table.columns, *table.partition_columns)):
        raise duplicate(new.name, statement.definition.name.span)
    if statement.after is not None:
        _own_column(table, statement.after)
    if table.skew is not None and old.name in table.skew.columns and (new.name, new.type) != (old.name, old.type):
        message = f"{old.name} is a skewed column. It's not allowed to rename skewed column or change skewed column type."
        raise BindError(message, code=10207, span=statement.column.span)
    if table.file_format is FileFormat.ORC and (statement.first or statement.after is not None):
        message = f"Reordering columns is not supported for table {table.name}. SerDe may be incompatible"
        raise BindError(message, code=10311, span=statement.after.span if statement.after else statement.column.span)
    if table.file_format is FileFormat.ORC and not convertible(old, new):
        message = f"Changing from type {old.type} to {new.type} is not supported for column {old.name}. SerDe may be incompatible"
        raise BindError(message, code=10312, span=statement.definition.type_span)
    place = "first" if statement.first else f"after {statement.after.text.lower()}" if statement.after else ""
    facts = (("column", f"{old.name} {old.type}"), ("new column", f"{new.name} {new.type}"), *((("place", place),) if place else ()))
    return _unbuilt("CHANGE COLUMN", statement.span, table, *facts, *_cascaded(statement.cascade))


def _column_facts(columns: tuple[Column, ...], cascade: bool) -> Facts:
    return (("columns", ", ".join(f"{c.name} {c.type}" for c in columns)), *_cascaded(cascade))


def _cascaded(cascade: bool) -> Facts:
    return (("also", "of every partition"),) if cascade else ()


_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double")


def convertible(old: Column, new: Column) -> bool:
    """Whether a file written as ``old`` reads as ``new``: wider numbers, anything plain as text. Hive: ColumnType.areColTypesCompatible."""
    before, after = old.type, new.type
    if before == after:
        return True
    if isinstance(before, ArrayType | MapType | StructType) or isinstance(after, ArrayType | MapType | StructType):
        return False
    if str(after).partition("(")[0] in ("string", "varchar", "char"):
        return not (isinstance(before, PrimitiveType) and before.name == "binary")
    if str(before) in _NUMBERS and str(after) in _NUMBERS:
        return _NUMBERS.index(str(before)) <= _NUMBERS.index(str(after))
    return str(after).startswith("decimal") and (str(before) in _NUMBERS or str(before).startswith("decimal"))


def _own_column(table: Table, name: ast.Name) -> Column:
    column = table.column(name.text)
    if column is None:
        hint = did_you_mean(name.text.lower(), [c.name for c in table.columns])
        raise ColumnNotFoundError(f"Invalid column reference '{name.text}'", code=10002, hint=hint, span=name.span)
    return column


def _check_cascade(table: Table, cascade: bool, span: Span) -> None:
    if cascade and not table.partition_columns:
        raise BindError("Alter table with non-partitioned table does not support cascade", code=10410, span=span)


def _check_unconstrained(definitions: tuple[ast.ColumnDefinition, ...]) -> None:
    for definition in definitions:
        for constraint in definition.constraints:
            raise BindError("a constraint cannot be added by ALTER TABLE here", span=constraint.span)


# ---- the table itself


def bind_rename_table(names: Names, table: Table, statement: ast.RenameTable) -> BoundUnbuilt:
    new = names.table_name(statement.new_name)
    span = statement.new_name.span
    check_name(new.table, span)
    if names.catalog.find_database(new.database) is None:
        raise DatabaseNotFoundError(f"Database does not exist: {new.database}", code=10072, span=span)
    if names.catalog.find_table(new) is not None:
        raise AlreadyExistsError(f"new table {new} already exists", span=span)
    return _unbuilt("RENAME TO", statement.span, table, ("new name", str(new)))


def bind_set_location(names: Names, table: Table, statement: ast.SetLocation) -> BoundUnbuilt:
    location = absolute(statement.location, after_word(names.source, statement.span, "LOCATION"))
    facts: Facts = (("location", location),)
    if statement.partition is not None:
        spec, _ = existing(names, table, statement.partition)
        if len(spec) < len(table.partition_columns):
            raise partial("SET LOCATION", statement.partition.span)
        facts = (("partition", shown(spec)), *facts)
    return _unbuilt("SET LOCATION", statement.span, table, *facts)


def partial(operation: str, span: Span) -> BindError:
    return BindError(f"Alter table partition type {operation} does not allow partial partition spec", code=10299, span=span)


def bind_concatenate(names: Names, table: Table, statement: ast.Concatenate) -> BoundUnbuilt:
    """Of a transactional table Hive makes it a major compaction to be waited for."""
    span = statement.name.span
    facts: Facts = ()
    if statement.partition is not None:
        spec, _ = existing(names, table, statement.partition)
        if len(spec) < len(table.partition_columns):
            raise not_full(table, spec, statement.partition.span)
        facts = (("partition", shown(spec)),)
    if table.is_transactional:
        return _unbuilt("CONCATENATE", statement.span, table, *facts, ("as", "COMPACT 'major' AND WAIT"))
    if table.kind is not TableKind.MANAGED:
        raise BindError("Concatenate/Merge can only be performed on managed tables", code=30034, span=span)
    if table.partition_columns and statement.partition is None:
        raise BindError(f"source table {table.name} is partitioned but no partition desc found.", span=span)
    if table.file_format not in (FileFormat.ORC, FileFormat.RCFILE):
        raise BindError("Concatenate/Merge only supported for RCFile and ORCFile formats", code=30030, span=span)
    if table.bucketing is not None:
        raise BindError("Concatenate/Merge can not be performed on bucketed tables", code=30031, span=span)
    return _unbuilt("CONCATENATE", statement.span, table, *facts)
