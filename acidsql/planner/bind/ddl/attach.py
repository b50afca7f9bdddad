"""ATTACH, ADOPT and DETACH of tables and databases: names and given columns are checked. What lies
at the location is found out when the statement runs.
"""

from __future__ import annotations

from dataclasses import replace

from acidsql.acid.ids import WriteId
from acidsql.catalog.attached import (
    SOURCE,
    Assumed,
    check_no_overlay,
    is_attached,
    is_metastore,
    is_overlay,
)
from acidsql.catalog.model import (
    DEFAULT_DATABASE,
    Bucketing,
    Table,
    TableKind,
    TableName,
)
from acidsql.catalog.names import table_location
from acidsql.errors import BindError, Span, UnsupportedStatementError
from acidsql.parser import statements as ast
from acidsql.planner.bind.bound_catalog import (
    BoundAdoptTable,
    BoundAttachDatabase,
    BoundAttachTable,
    BoundDescribeChanges,
    BoundDetachDatabase,
    BoundDetachTable,
)
from acidsql.planner.bind.ddl.columns import (
    bind_bucketing,
    bind_columns,
    bind_partition_columns,
)
from acidsql.planner.bind.ddl.create import absolute, new_name
from acidsql.planner.bind.ddl.table_properties import BUCKETING_VERSION, Given, check_values
from acidsql.planner.bind.names import Names
from acidsql.planner.bind.tables import check_database_name

SERVERS = ("jdbc", "derby")


def bind_attach(names: Names, statement: ast.AttachTable) -> BoundAttachTable:
    name, database, existing = new_name(names, statement.name, statement.if_not_exists)
    columns = bind_columns(statement.columns)
    table = Table(
        name=name,
        columns=columns,
        location=_location(statement),
        partition_columns=bind_partition_columns(statement.partitioned_by, columns),
        kind=TableKind.EXTERNAL,
        owner=names.around.user,
        created_at=names.around.now,
    )
    return BoundAttachTable(
        table=table if existing is None else replace(existing),
        assumed=_assumed(statement.assumption),
        source=_source(statement),
        source_span=None if statement.using is None else statement.using.span,
        exists=existing is not None,
        span=(statement.location or statement.name).span,
        name_span=statement.name.span,
        overlay=table_location(database.location, name.table) if statement.overlay else None,
    )


def _location(statement: ast.AttachTable) -> str:
    """Where the table lies; "" where the source is to tell it."""
    if statement.location is not None:
        return absolute(statement.location.text, statement.location.span)
    using = statement.using
    if using is None:
        raise BindError(
            "it is not said where the table lies",
            hint="ATTACH TABLE .. FROM '/data/orders'",
            span=statement.name.span,
        )
    return ""


def _source(statement: ast.AttachTable) -> str | None:
    """What USING names. BindError for what contradicts it."""
    using = statement.using
    if using is None:
        return None
    scheme = using.text.partition("://")[0].partition(":")[0]
    if "://" in using.text and scheme in SERVERS:
        raise UnsupportedStatementError(
            f"a metastore cannot be asked by {scheme} yet",
            hint="thrift://, postgresql:// and mysql:// can, or a dump: docs/attach.md says how.",
            span=using.span,
        )
    what = "a metastore" if is_metastore(using.text) else "a dump"
    for given, words in (
        (statement.assumption, "ASSUME"),
        (statement.columns, "a list of columns"),
    ):
        if given:
            raise BindError(f"{what} tells what {words} would say", span=using.span)
    if statement.partitioned_by:
        raise BindError(f"{what} tells the partition columns", span=using.span)
    return using.text


def _assumed(given: ast.Assumption | None) -> Assumed | None:
    if given is None:
        return None
    ids = None if given.write_ids is None else tuple(map(WriteId, given.write_ids))
    if given.excepted or ids is None:
        return Assumed(committed=None, aborted=ids or (), span=given.span)
    return Assumed(committed=ids, aborted=(), span=given.span)


def bind_adopt(names: Names, statement: ast.AdoptTable) -> BoundAdoptTable:
    table = _attached_table(names, statement.name, "It is one of this warehouse already.")
    if table is None:
        raise names.not_found(names.table_name(statement.name), statement.name.span)
    check_no_overlay(table, "its changes are not for those who own the files", statement.name.span)
    given = Given(statement.properties, statement.span)
    for key in given.values:
        if key != BUCKETING_VERSION:
            raise BindError(
                f'ADOPT TABLE has no property "{key}"',
                hint="ALTER TABLE .. SET TBLPROPERTIES sets it once the table is adopted.",
                span=given.span(key),
            )
    check_values(given)
    version = given.values.get(BUCKETING_VERSION)
    clause = statement.clustered_by
    if clause is not None and statement.not_clustered:
        raise BindError("a table is clustered or it is not", span=clause.span)
    if version is not None and clause is None:
        raise BindError(
            "bucketing_version says nothing without CLUSTERED BY",
            span=given.span(BUCKETING_VERSION),
        )
    bucketing = bind_bucketing(clause, table.columns, int(version or 2))
    where = statement.name.span if clause is None else clause.span
    if clause is not None or statement.not_clustered:
        _check_buckets_unknown(table, bucketing, where)
    return BoundAdoptTable(
        table=table,
        bucketing=bucketing,
        version_is_given=version is not None,
        not_clustered=statement.not_clustered,
        now=names.around.now,
        span=statement.name.span,
        clause_span=where,
    )


def _check_buckets_unknown(table: Table, bucketing: Bucketing | None, where: Span) -> None:
    """Raises BindError where buckets are given that a dump has told, or that cannot be written."""
    if SOURCE in table.properties:
        raise BindError("the source has told which buckets the table has", span=where)
    sorted_by = () if bucketing is None else bucketing.sorted_by
    if sorted_by and table.is_full_acid:
        raise BindError(
            f"Table {table.name} cannot support full ACID functionality since it is sorted.",
            span=where,
        )


def bind_detach(names: Names, statement: ast.DetachTable) -> BoundDetachTable:
    table = _attached_table(names, statement.name, "DROP TABLE drops a table of this warehouse.")
    if table is not None:
        return BoundDetachTable(name=table.name, overlay=table if is_overlay(table) else None)
    if names.may_be_missing(statement.if_exists):
        return BoundDetachTable(name=None)
    raise names.not_found(names.table_name(statement.name), statement.name.span)


def bind_describe_changes(names: Names, statement: ast.DescribeChanges) -> BoundDescribeChanges:
    table = names.table(statement.name)
    if not is_overlay(table):
        raise BindError(
            f"table {table.name} is no overlay",
            hint="ATTACH TABLE .. OVERLAY makes one, whose changes are known.",
            span=statement.name.span,
        )
    return BoundDescribeChanges(table=table, span=statement.name.span)


def _attached_table(names: Names, given: ast.QualifiedName, hint: str) -> Table | None:
    """None where there is no table; BindError for one that is not attached."""
    name = names.table_name(given)
    table = names.catalog.find_table(name)
    if table is not None and not (is_attached(table) or is_overlay(table)):
        raise BindError(f"table {name} is not attached", hint=hint, span=given.span)
    return table


# ---- databases

_ONE_TABLE = ("thrift", "jdbc", "derby")
"""What is not asked for a whole database."""
_MOST_NAMED = 10


def bind_attach_database(names: Names, statement: ast.AttachDatabase) -> BoundAttachDatabase:
    name = statement.name.text.lower()
    check_database_name(name, statement.name.span)
    using = statement.using
    if using is None:
        raise BindError(
            "it is not said who knows the tables of the database",
            hint="ATTACH DATABASE .. USING 'postgresql://hive@metastore-host/metastore'",
            span=statement.name.span,
        )
    if statement.assumption is not None:
        raise BindError("a metastore tells what ASSUME would say", span=statement.assumption.span)
    scheme, separator, _ = using.text.partition("://")
    if separator and scheme.lower() in _ONE_TABLE:
        raise UnsupportedStatementError(
            f"a whole database cannot be asked for by {scheme}",
            hint="The metastore's database can (postgresql://, mysql://): docs/attach.md says how.",
            span=using.span,
        )
    where = statement.location
    database = names.catalog.find_database(name)
    return BoundAttachDatabase(
        name=name,
        is_there=database is not None,
        location=database.location if database is not None else _new_location(names, name),
        warehouse=None if where is None else absolute(where.text, where.span),
        source=using.text,
        overlay=statement.overlay,
        owner=names.around.user,
        now=names.around.now,
        span=statement.name.span,
        source_span=using.span,
        warehouse_span=None if where is None else where.span,
    )


def _new_location(names: Names, name: str) -> str:
    """Where a database without a LOCATION lies."""
    default = names.catalog.find_database(DEFAULT_DATABASE)
    assert default is not None  # every warehouse has it
    return f"{default.location.rstrip('/')}/{name}.db"


def bind_detach_database(names: Names, statement: ast.DetachDatabase) -> BoundDetachDatabase:
    name, span = statement.name.text.lower(), statement.name.span
    if not statement.if_exists:
        names.database(statement.name)
    elif names.catalog.find_database(name) is None:
        return BoundDetachDatabase(name=None)
    listed = {*names.catalog.list_tables(name), *names.catalog.list_tables(name, TableKind.VIEW)}
    every = [names.catalog.find_table(TableName(name, table)) for table in sorted(listed)]
    tables = [table for table in every if table is not None]
    own = [t.name.table for t in tables if not (is_attached(t) or is_overlay(t))]
    if own:
        more = ", .." if len(own) > _MOST_NAMED else ""
        raise BindError(
            f"database {name} has tables of this warehouse: {', '.join(own[:_MOST_NAMED])}{more}",
            hint="DETACH TABLE lets go of those that are attached, one by one.",
            span=span,
        )
    return BoundDetachDatabase(name=name, tables=tuple(tables))
