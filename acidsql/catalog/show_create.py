"""SHOW CREATE TABLE as Hive 4 prints it (DDLPlanUtils, ShowCreateTableOperation): pure text from a
Table.
"""

from __future__ import annotations

from collections.abc import Iterator

from acidsql.catalog import statistics
from acidsql.catalog.attached import ATTACHED
from acidsql.catalog.model import Column, Constraint, ConstraintKind, Table, TableKind, storage_of
from acidsql.catalog.types import ArrayType, HiveType, MapType, StructType

_HIDDEN_PROPERTIES = statistics.KEYS | {
    "TEMPORARY",
    "EXTERNAL",
    "comment",
    "SORTBUCKETCOLSPREFIX",
    "storage_handler",
}


def show_create(table: Table, *, qualified: bool) -> list[str]:
    """The lines of SHOW CREATE TABLE; ``qualified``: the user named the database."""
    name = _full_name(table) if qualified else quoted(table.name.table)
    if table.view is not None:
        return f"CREATE VIEW {name} AS {table.view.expanded}".split("\n")
    external = "EXTERNAL " if table.kind is TableKind.EXTERNAL else ""
    lines = [f"CREATE {external}TABLE {name}(", *_list(map(_column, table.columns))]
    if table.comment is not None:
        lines.append(f"COMMENT {literal(table.comment)}")
    if table.partition_columns:
        lines += ["PARTITIONED BY ( ", *_list(map(_column, table.partition_columns))]
    lines += [
        *_buckets(table),
        *_skew(table),
        *_row_format(table),
        "LOCATION",
        f"  {literal(table.location)}",
        "TBLPROPERTIES (",
    ]
    shown = {
        key: text
        for key, text in shown_properties(table).items()
        if key not in _HIDDEN_PROPERTIES and not key.startswith(ATTACHED)
    }
    return [
        *lines,
        *_list(f"  {literal(k)}={literal(v)}" for k, v in sorted(shown.items())),
        *_constraints(table),
    ]


def literal(text: str) -> str:
    """A Hive string literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def quoted_type(hive_type: HiveType) -> str:
    """A type with back-quoted field names, as SHOW CREATE TABLE prints it."""
    match hive_type:
        case ArrayType(element):
            return f"array<{quoted_type(element)}>"
        case MapType(key, value):
            return f"map<{quoted_type(key)},{quoted_type(value)}>"
        case StructType(fields):
            return (
                "struct<"
                + ", ".join(f"{quoted(f.name)}:{quoted_type(f.type)}" for f in fields)
                + ">"
            )
        case _:
            return str(hive_type)


def shown_properties(table: Table) -> dict[str, str]:
    """The table's properties with the one Hive always adds."""
    return {"transient_lastDdlTime": str(table.created_at)} | dict(table.properties)


def _full_name(table: Table) -> str:
    return f"{quoted(table.name.database)}.{quoted(table.name.table)}"


def _list(entries: Iterator[str]) -> list[str]:
    """The lines of a list: one entry a line, the last closes the bracket."""
    *first, last = entries
    return [*(f"{entry}, " for entry in first), f"{last})"]


def _column(column: Column) -> str:
    comment = f" COMMENT {literal(column.comment)}" if column.comment is not None else ""
    return f"  {quoted(column.name)} {quoted_type(column.type)}{comment}"


def _buckets(table: Table) -> Iterator[str]:
    bucketing = table.bucketing
    if bucketing is None:
        return
    yield "CLUSTERED BY ("
    *first, last = bucketing.columns
    yield from (f"  {quoted(name)}," for name in first)
    yield f"  {quoted(last)})"
    if bucketing.sorted_by:
        yield "SORTED BY ( "
        *lines, end = _list(
            f"  {quoted(c.name)} {'DESC' if c.descending else 'ASC'}" for c in bucketing.sorted_by
        )
        yield from (*lines, f"{end} ")
    yield f"INTO {bucketing.count} BUCKETS"


def _skew(table: Table) -> Iterator[str]:
    if table.skew is None:
        return
    yield f"SKEWED BY ({','.join(map(quoted, table.skew.columns))})"
    yield (
        "  ON"
        f" ({','.join('(' + ','.join(map(literal, value)) + ')' for value in table.skew.values)})"
    )
    if table.skew.directories:
        yield "  STORED AS DIRECTORIES"


def _row_format(table: Table) -> Iterator[str]:
    storage = storage_of(table)
    yield "ROW FORMAT SERDE "
    yield f"  {literal(storage.serde)} "
    shown = {
        k: v for k, v in storage.serde_properties.items() if (k, v) != ("serialization.format", "1")
    }
    if shown:
        yield "WITH SERDEPROPERTIES ( "
        *lines, end = _list(f"  {literal(k)}={literal(v)}" for k, v in sorted(shown.items()))
        yield from (*lines, f"{end} ")
    yield from (
        "STORED AS INPUTFORMAT ",
        f"  {literal(storage.input_format)} ",
        "OUTPUTFORMAT ",
        f"  {literal(storage.output_format)}",
    )


_ORDER = (
    ConstraintKind.PRIMARY_KEY,
    ConstraintKind.FOREIGN_KEY,
    ConstraintKind.UNIQUE,
    ConstraintKind.DEFAULT,
    ConstraintKind.CHECK,
    ConstraintKind.NOT_NULL,
)


def _constraints(table: Table) -> Iterator[str]:
    """The lines of the constraints, which Hive prints as statements of their own behind the
    table's.
    """
    types = {c.name: quoted_type(c.type) for c in (*table.columns, *table.partition_columns)}
    for constraint in sorted(table.constraints, key=lambda c: _ORDER.index(c.kind)):
        rule = f"CONSTRAINT {quoted(constraint.name)} {_rule(constraint)}"
        if constraint.kind in (ConstraintKind.NOT_NULL, ConstraintKind.DEFAULT):
            name = constraint.columns[0]
            rule = f"CHANGE COLUMN {quoted(name)} {quoted(name)} {types[name]} {rule}"
        else:
            rule = f"ADD {rule}"
        yield f"ALTER TABLE {_full_name(table)} {rule} {traits(constraint)};"


def _rule(constraint: Constraint) -> str:
    columns = ",".join(map(quoted, constraint.columns))
    match constraint.kind:
        case ConstraintKind.NOT_NULL:
            return "NOT NULL"
        case ConstraintKind.DEFAULT:
            return f"DEFAULT {constraint.expression}"
        case ConstraintKind.CHECK:
            return f"CHECK ({constraint.expression})"
        case ConstraintKind.FOREIGN_KEY:
            assert constraint.references is not None
            parent = (
                f"{quoted(constraint.references.database)}.{quoted(constraint.references.table)}"
            )
            return (
                f"FOREIGN KEY ({columns}) REFERENCES"
                f" {parent}({','.join(map(quoted, constraint.referenced_columns))})"
            )
        case _:
            return f"{constraint.kind} ({columns})"


def traits(constraint: Constraint) -> str:
    """The words for what a constraint does: ENABLE NOVALIDATE RELY and their opposites."""
    words = (
        "ENABLE" if constraint.enabled else "DISABLE",
        "VALIDATE" if constraint.validated else "NOVALIDATE",
    )
    return " ".join((*words, "RELY" if constraint.rely else "NORELY"))
