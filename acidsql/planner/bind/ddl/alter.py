"""ALTER TABLE: which form a statement is, properties and conversion, the table's name,
CONCATENATE.
"""

from __future__ import annotations

from dataclasses import replace

from acidsql.acid.ids import FIRST_WRITE_ID, StatementId
from acidsql.acid.paths import delta_name
from acidsql.catalog.attached import ONLY_MINOR, check_no_overlay, check_not_attached
from acidsql.catalog.model import FileFormat, Table, TableKind
from acidsql.catalog.names import table_location
from acidsql.errors import AlreadyExistsError, BindError, DatabaseNotFoundError, Span
from acidsql.parser import statements as ast
from acidsql.planner.bind.bound_catalog import (
    BoundAlterTable,
    BoundConvertTable,
    BoundRenameTable,
    BoundUnbuilt,
    PartitionAction,
)
from acidsql.planner.bind.bound_transactions import BoundCompact
from acidsql.planner.bind.ddl.alter_columns import (
    bind_add_columns,
    bind_change_column,
    bind_drop_column,
    bind_replace_columns,
)
from acidsql.planner.bind.ddl.alter_partition import (
    bind_add_partitions,
    bind_drop_partitions,
    bind_rename_partition,
    bind_set_location,
)
from acidsql.planner.bind.ddl.columns import of_string
from acidsql.planner.bind.ddl.compact import bind_compact
from acidsql.planner.bind.ddl.constraints import bind_added_constraint, bind_dropped_constraint
from acidsql.planner.bind.ddl.table_properties import (
    BUCKETING_VERSION,
    EXTERNAL,
    TRANSACTIONAL,
    Given,
    altered,
    check_changes,
    check_statistics,
    check_unset,
    check_values,
    stamped,
    transactions_of,
)
from acidsql.planner.bind.names import Names
from acidsql.planner.bind.partitions import existing, not_full, shown
from acidsql.planner.bind.tables import check_table_name, did_you_mean
from acidsql.txn.compactions import CompactionType

Facts = tuple[tuple[str, str], ...]
BoundAlteration = (
    BoundAlterTable
    | BoundRenameTable
    | BoundConvertTable
    | PartitionAction
    | BoundCompact
    | BoundUnbuilt
)


def bind_alter(  # noqa: C901  (one arm for each statement)
    names: Names, statement: ast.TableAlteration
) -> BoundAlteration:
    table = altered_table(names, statement.name)
    if not isinstance(statement, ast.Compact | ast.Concatenate | ast.AddPartitions):
        check_no_overlay(table, "its definition is that of others", statement.name.span)
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
            return bind_add_columns(names, table, statement)
        case ast.ReplaceColumns():
            return bind_replace_columns(names, table, statement)
        case ast.DropColumn():
            return bind_drop_column(names, table, statement)
        case ast.ChangeColumn():
            return bind_change_column(names, table, statement)
        case ast.RenameTable():
            return bind_rename_table(names, table, statement)
        case ast.AddConstraint():
            constraints = bind_added_constraint(names, statement.constraint, table)
            return BoundAlterTable(before=table, after=replace(table, constraints=constraints))
        case ast.DropConstraint():
            constraints = bind_dropped_constraint(statement.constraint, table)
            return BoundAlterTable(before=table, after=replace(table, constraints=constraints))
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
        raise BindError(
            "To alter a view you need to use the ALTER VIEW command.",
            code=10131,
            hint=hint,
            span=name.span,
        )
    check_not_attached(table, name.span)
    return table


def _unbuilt(words: str, span: Span, table: Table, *facts: tuple[str, str]) -> BoundUnbuilt:
    return BoundUnbuilt(
        words=f"ALTER TABLE .. {words}", span=span, facts=(("table", str(table.name)), *facts)
    )


# ---- properties


def bind_set_properties(
    names: Names, table: Table, statement: ast.SetTableProperties
) -> BoundAlterTable | BoundConvertTable:
    """A table's files lie as its kind of transactions wants them: to become transactional is more
    than another property.
    """
    given = Given(statement.properties, statement.name.span)
    check_values(given)
    check_statistics(given)
    check_changes(table, given)
    version = given.values.get(BUCKETING_VERSION)
    if table.bucketing is not None and version not in (None, str(table.bucketing.version)):
        hint = "The files are bucketed by the version they were written with."
        raise BindError(
            "bucketing_version of a bucketed table cannot be changed",
            hint=hint,
            span=given.span(BUCKETING_VERSION),
        )
    after = stamped(altered(table, given.values), names.around.now)
    old, new = transactions_of(table), transactions_of(after)
    if old == new:
        return BoundAlterTable(before=table, after=after)
    directory = (
        None if after.is_full_acid else delta_name(FIRST_WRITE_ID, FIRST_WRITE_ID, StatementId(0))
    )
    files = (
        "stay as they are, if all are named as Hive names them"
        if directory is None
        else f"move to {directory}"
    )
    return BoundConvertTable(
        before=table,
        after=after,
        directory=directory,
        span=given.span(TRANSACTIONAL),
        words=f"ALTER TABLE from {old} to {new}",
        facts=(("table", str(table.name)), ("files", files)),
    )


def bind_unset_properties(
    names: Names, table: Table, statement: ast.UnsetTableProperties
) -> BoundAlterTable:
    known = dict(table.properties) | ({} if table.comment is None else {"comment": table.comment})
    spans = {key: of_string(names.source, statement.span, key) for key in statement.keys}
    check_unset(table, spans)
    for key, span in spans.items():
        if key not in known and not statement.if_exists:
            message = f"The following property {key} does not exist in {table.name.table}"
            hint = (
                did_you_mean(key, known)
                or "UNSET TBLPROPERTIES IF EXISTS takes properties that are not there."
            )
            raise BindError(message, code=10215, hint=hint, span=span)
    if table.bucketing is not None and BUCKETING_VERSION in spans:
        raise BindError(
            "bucketing_version of a bucketed table cannot be changed", span=spans[BUCKETING_VERSION]
        )
    kept = {k: v for k, v in table.properties.items() if k not in spans}
    kind = TableKind.MANAGED if EXTERNAL in spans else table.kind
    after = replace(
        table, properties=kept, kind=kind, comment=None if "comment" in spans else table.comment
    )
    return BoundAlterTable(before=table, after=stamped(after, names.around.now))


# ---- the table itself


def bind_rename_table(names: Names, table: Table, statement: ast.RenameTable) -> BoundRenameTable:
    """A managed table at the place its database gives it moves to the place of its new name, any
    other stays where it is.
    """
    new = names.table_name(statement.new_name)
    span = statement.new_name.span
    check_table_name(new.table, span)
    database = names.catalog.find_database(new.database)
    if database is None:
        raise DatabaseNotFoundError(
            f"Database does not exist: {new.database}", code=10072, span=span
        )
    if names.catalog.find_table(new) is not None:
        raise AlreadyExistsError(f"new table {new} already exists", span=span)
    home = names.catalog.find_database(table.name.database)
    moves = (
        home is not None
        and table.kind is TableKind.MANAGED
        and table.location == table_location(home.location, table.name.table)
    )
    location = table_location(database.location, new.table) if moves else table.location
    return BoundRenameTable(
        before=table,
        after=stamped(replace(table, name=new, location=location), names.around.now),
        span=span,
        words="ALTER TABLE .. RENAME TO",
        facts=(
            ("table", str(table.name)),
            ("new name", str(new)),
            ("files", "move with it" if moves else "stay where they are"),
        ),
    )


def bind_concatenate(
    names: Names, table: Table, statement: ast.Concatenate
) -> BoundCompact | BoundUnbuilt:
    """ALTER TABLE .. CONCATENATE; Hive makes it a major compaction, to be waited for, where the
    table is transactional."""
    span = statement.name.span
    check_no_overlay(table, ONLY_MINOR, span)
    facts: Facts = ()
    partitions = None
    if statement.partition is not None:
        spec, partitions = existing(names, table, statement.partition)
        if len(spec) < len(table.partition_columns):
            raise not_full(table, spec, statement.partition.span)
        facts = (("partition", shown(spec)),)
    if table.is_transactional:
        return BoundCompact(
            table=table,
            type=CompactionType.MAJOR,
            partitions=partitions or tuple(names.catalog.list_partitions(table)),
            is_named=partitions is not None,
            wait=not names.around.settings.flag("hive.transactional.concatenate.noblock"),
            words="ALTER TABLE .. CONCATENATE",
            span=statement.span,
        )
    if table.kind is not TableKind.MANAGED:
        raise BindError(
            "Concatenate/Merge can only be performed on managed tables", code=30034, span=span
        )
    if table.partition_columns and statement.partition is None:
        raise BindError(
            f"source table {table.name} is partitioned but no partition desc found.", span=span
        )
    if table.file_format not in (FileFormat.ORC, FileFormat.RCFILE):
        raise BindError(
            "Concatenate/Merge only supported for RCFile and ORCFile formats", code=30030, span=span
        )
    if table.bucketing is not None:
        raise BindError(
            "Concatenate/Merge can not be performed on bucketed tables", code=30031, span=span
        )
    return _unbuilt("CONCATENATE", statement.span, table, *facts)
