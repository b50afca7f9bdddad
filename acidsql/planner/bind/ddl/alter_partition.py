"""ALTER TABLE .. PARTITION and SET LOCATION: which partitions a statement adds, drops, renames or
moves, and Hive's refusals of each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from acidsql.catalog.attached import check_no_overlay
from acidsql.catalog.model import Partition, Table, TableKind
from acidsql.catalog.partitions import default_location, partition_name
from acidsql.errors import AlreadyExistsError, BindError, Span
from acidsql.parser import statements as ast
from acidsql.planner.bind.bound_catalog import (
    BoundAddPartitions,
    BoundDropPartitions,
    BoundRenamePartition,
    BoundSetPartitionLocation,
    BoundSetTableLocation,
)
from acidsql.planner.bind.ddl.columns import after_word
from acidsql.planner.bind.ddl.create import absolute
from acidsql.planner.bind.ddl.table_properties import stamped
from acidsql.planner.bind.names import Names
from acidsql.planner.bind.partitions import (
    Spec,
    check_reserved,
    compared,
    existing,
    matching,
    shown,
    static_spec,
)

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
    facts: Facts = (("location", location), ("files", "those that lie there; none is moved"))
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
