"""ALTER TABLE: which form a statement is, properties and conversion, the table's name,
CONCATENATE.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from acidsql.acid.ids import FIRST_WRITE_ID, StatementId, delta_name
from acidsql.catalog.attached import ONLY_MINOR, check_no_overlay, check_not_attached
from acidsql.catalog.model import FileFormat, Partition, Table, TableKind
from acidsql.catalog.names import table_location
from acidsql.catalog.partitions import default_location, partition_name
from acidsql.errors import (
    AlreadyExistsError,
    BindError,
    ColumnNotFoundError,
    DatabaseNotFoundError,
    Span,
)
from acidsql.parser import statements as ast
from acidsql.planner.bind.bound_catalog import (
    BoundAddPartitions,
    BoundAlterTable,
    BoundConvertTable,
    BoundDropPartitions,
    BoundRenamePartition,
    BoundRenameTable,
    BoundSetPartitionLocation,
    BoundSetTableLocation,
    BoundUnbuilt,
    PartitionAction,
)
from acidsql.planner.bind.bound_transactions import BoundCompact, hive_partition
from acidsql.planner.bind.ddl.alter_columns import (
    bind_add_columns,
    bind_change_column,
    bind_drop_column,
    bind_replace_columns,
)
from acidsql.planner.bind.ddl.columns import after_word, of_string
from acidsql.planner.bind.ddl.constraints import bind_added_constraint, bind_dropped_constraint
from acidsql.planner.bind.ddl.create import absolute
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
from acidsql.planner.bind.partitions import (
    Spec,
    check_reserved,
    compared,
    existing,
    matching,
    not_full,
    shown,
    static_spec,
)
from acidsql.planner.bind.tables import check_table_name, did_you_mean
from acidsql.txn.compactions import CompactionType

# ---- partitions
#
# ALTER TABLE .. PARTITION and SET LOCATION: which partitions a statement adds, drops, renames or
# moves, and Hive's refusals of each.


Facts = tuple[tuple[str, str], ...]


def bind_add_partitions(
    names: Names, table: Table, statement: ast.AddPartitions
) -> BoundAddPartitions:
    added: list[Partition] = []
    spans: list[Span] = []
    facts: list[tuple[str, str]] = []
    known = {partition.values for partition in names.catalog.list_partitions(table)}
    seen: set[tuple[str, ...]] = set()
    for one in statement.partitions:
        spec = _new_spec(names, table, one.partition)
        values = tuple(spec.values())
        if values in seen:
            raise BindError(
                f"Duplicate partitions in the list: {shown(spec)}", span=one.partition.span
            )
        seen.add(values)
        span, location = _location(names, table, statement, one, values)
        exists = values in known
        if exists and not statement.if_not_exists:
            raise AlreadyExistsError(
                f"Partition already exists: {shown(spec)}", code=10118, span=one.partition.span
            )
        facts.append(
            (
                "partition",
                shown(spec)
                + (", which exists" if exists else f" at {one.location}" if one.location else ""),
            )
        )
        if not exists:
            added.append(Partition(values=values, location=location, created_at=names.around.now))
            spans.append(span)
    return BoundAddPartitions(
        table=table,
        partitions=tuple(added),
        spans=tuple(spans),
        if_not_exists=statement.if_not_exists,
        words="ALTER TABLE .. ADD PARTITION",
        facts=(("table", str(table.name)), *facts),
    )


def bind_drop_partitions(
    names: Names, table: Table, statement: ast.DropPartitions
) -> BoundDropPartitions:
    """PURGE changes nothing: there is no trash to keep files in."""
    dropped: dict[tuple[str, ...], Partition] = {}
    facts: list[tuple[str, str]] = []
    missing: list[str] = []
    for spec in statement.partitions:
        words, partitions = compared(names, table, spec)
        if not partitions and not names.may_be_missing(statement.if_exists):
            raise BindError(
                f"Partition not found {words}",
                code=10006,
                hint="Say IF EXISTS if there may be none.",
                span=spec.span,
            )
        if not partitions:
            missing.append(words)
        facts.append(("partitions", f"{len(partitions)} with {words}"))
        dropped |= {partition.values: partition for partition in partitions}
    files = "deleted for good" if table.owns_files else "stay, the table is external"
    return BoundDropPartitions(
        table=table,
        partitions=tuple(dropped.values()),
        words="ALTER TABLE .. DROP PARTITION",
        facts=(("table", str(table.name)), *facts, ("files", files)),
        note=f'table "{table.name}" has no partition with {" or ".join(missing)} to drop'
        if missing and not statement.if_exists
        else None,
    )


def bind_rename_partition(
    names: Names, table: Table, statement: ast.RenamePartition
) -> BoundRenamePartition:
    """The directory moves with the name if it is a managed table's and lies where the name says."""
    old, (before,) = existing(names, table, statement.partition, full=True)
    new = _new_spec(names, table, statement.new_partition)
    if matching(names, table, new):
        raise AlreadyExistsError(
            f"Partition already exists: {shown(new)}", code=10118, span=statement.new_partition.span
        )
    values = tuple(new.values())
    moves = table.kind is TableKind.MANAGED and before.location == default_location(
        table, before.values
    )
    after = replace(
        before,
        values=values,
        location=default_location(table, values) if moves else before.location,
    )
    directory = f"moves to {partition_name(tuple(new), values)}" if moves else "stays where it is"
    return BoundRenamePartition(
        table=table,
        before=before,
        after=after,
        span=statement.new_partition.span,
        words="ALTER TABLE .. RENAME TO PARTITION",
        facts=(
            ("table", str(table.name)),
            ("partition", shown(old)),
            ("new partition", shown(new)),
            ("directory", directory),
        ),
    )


def bind_set_location(
    names: Names, table: Table, statement: ast.SetLocation
) -> BoundSetPartitionLocation | BoundSetTableLocation:
    span = after_word(names.source, statement.span, "LOCATION")
    location = absolute(statement.location, span)
    words = "ALTER TABLE .. SET LOCATION"
    facts: Facts = (
        ("location", location),
        ("files", "those that lie there; none is moved"),
    )
    if statement.partition is None:
        after = stamped(replace(table, location=location), names.around.now)
        return BoundSetTableLocation(
            before=table,
            after=after,
            span=span,
            words=words,
            facts=(("table", str(table.name)), *facts),
        )
    spec, partitions = existing(names, table, statement.partition)
    if len(spec) < len(table.partition_columns):
        raise partial("SET LOCATION", statement.partition.span)
    return BoundSetPartitionLocation(
        table=table,
        before=partitions[0],
        after=replace(partitions[0], location=location),
        span=span,
        words=words,
        facts=(("table", str(table.name)), ("partition", shown(spec)), *facts),
    )


def partial(operation: str, span: Span) -> BindError:
    return BindError(
        f"Alter table partition type {operation} does not allow partial partition spec",
        code=10299,
        span=span,
    )


def _new_spec(names: Names, table: Table, written: ast.PartitionSpec) -> Spec:
    """The values of a partition to be: all of them, none empty or reserved."""
    spec = static_spec(names, table, written, full=True)
    check_reserved(spec, written)
    for item in _empty(spec, written):
        message = (
            f"partition spec is invalid; field {item.name.text.lower()} does not exist or is empty"
        )
        raise BindError(
            message,
            hint="The directory of an empty value would be that of NULL.",
            span=item.name.span,
        )
    return spec


def _empty(spec: Spec, written: ast.PartitionSpec) -> Iterator[ast.PartitionItem]:
    yield from (item for item in written.items if not spec[item.name.text.lower()])


def _location(
    names: Names,
    table: Table,
    statement: ast.AddPartitions,
    added: ast.AddedPartition,
    values: tuple[str, ...],
) -> tuple[Span, str]:
    """Where a new partition lies, and the place in the statement that says so."""
    if added.location is None:
        return added.partition.span, default_location(table, values)
    span = after_word(names.source, Span(added.partition.span.end, statement.span.end), "LOCATION")
    check_no_overlay(table, "its new partitions lie beside its changes", span)
    return span, absolute(added.location, span)


# ---- alter


# ---- COMPACT
#
# ALTER TABLE .. COMPACT: what may be compacted, and how (Hive: AlterTableCompactAnalyzer,
# AlterTableCompactOperation).


TYPES = {
    "major": CompactionType.MAJOR,
    "minor": CompactionType.MINOR,
    "rebalance": CompactionType.REBALANCE,
}


def bind_compact(names: Names, table: Table, statement: ast.Compact) -> BoundCompact:
    """What is to be compacted. A rebalance of a table that takes inserts only is a major one: it
    has no row ids that say where rows lie.
    """
    kind = TYPES.get(statement.type.lower())
    if kind is None:
        message = "Invalid compaction type, supported values are 'major' and 'minor'"
        hint = did_you_mean(statement.type.lower(), tuple(TYPES))
        raise BindError(message, code=10282, hint=hint, span=statement.type_span)
    if not table.is_transactional:
        raise BindError(
            f"Compaction is not allowed on non-ACID table {table.name}",
            code=10286,
            span=statement.name.span,
        )
    if kind is not CompactionType.MINOR:
        check_no_overlay(table, ONLY_MINOR, statement.type_span)
    partitions = _partitions(names, table, statement)
    if kind is CompactionType.REBALANCE and table.bucketing is not None:
        named = "" if statement.partition is None else f" {hive_partition(table, partitions[0])}"
        reason = "Cannot execute rebalancing compaction on bucketed tables."
        message = f"Compaction request for {table.name}{named} is refused, details: {reason}"
        raise BindError(message, code=10432, span=statement.type_span)
    if kind is CompactionType.REBALANCE and not table.is_full_acid:
        kind = CompactionType.MAJOR
    _check_order(table, statement)
    order = ", ".join(
        key.key.text + (" DESC" if key.descending else "") for key in statement.order_by
    )
    return BoundCompact(
        table=table,
        type=kind,
        partitions=partitions,
        is_named=statement.partition is not None,
        wait=statement.wait,
        buckets=statement.buckets,
        order_by=order or None,
        pool=statement.pool,
        properties={p.key: p.value for p in statement.properties},
        span=statement.span,
    )


def _partitions(names: Names, table: Table, statement: ast.Compact) -> tuple[Partition, ...]:
    """The one partition that is named, by all its columns, or all there are."""
    if statement.partition is None:
        return tuple(names.catalog.list_partitions(table))
    spec = static_spec(names, table, statement.partition)
    if len(spec) < len(table.partition_columns):
        message = "Compaction can only be requested on one partition at a time."
        detail = f"{shown(spec)} does not name one"
        raise BindError(message, code=10284, detail=detail, span=statement.partition.span)
    return existing(names, table, statement.partition)[1]


def _check_order(table: Table, statement: ast.Compact) -> None:
    """Names of columns must be the table's; what else an ORDER BY holds is an expression for the
    engine.
    """
    known = [c.name for c in table.columns]
    for key in statement.order_by:
        name = key.key.text.strip("`").lower()
        if name.isidentifier() and name not in known:
            message = f"Invalid column reference '{key.key.text}'"
            raise ColumnNotFoundError(
                message, code=10002, hint=did_you_mean(name, known), span=key.key.span
            )


# ---- alter


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
