"""DESCRIBE and SHOW CREATE TABLE: what a table is, as rows and as the statement that makes it."""

from __future__ import annotations

import datetime
import time
from collections.abc import Iterator, Mapping
from decimal import Decimal

from acidsql.catalog import statistics
from acidsql.catalog.attached import ATTACHED
from acidsql.catalog.model import (
    Column,
    Constraint,
    ConstraintKind,
    Database,
    Partition,
    SortColumn,
    Table,
    TableKind,
    storage_of,
)
from acidsql.catalog.partitions import partition_text
from acidsql.catalog.statistics import ACCURATE, ColumnStatistics
from acidsql.catalog.text import java_double
from acidsql.catalog.types import ArrayType, HiveType, MapType, PrimitiveType, StructType

# ---- describe
#
# DESCRIBE as Hive 4 prints it (TextDescTableFormatter): pure rows from a table, a column, a
# partition or a database.


Row = tuple[str | None, ...]
_EPOCH = datetime.datetime(1970, 1, 1)


def describe(table: Table) -> list[Row]:
    """Rows (col_name, data_type, comment)."""
    rows: list[Row] = [
        (c.name, str(c.type), c.comment or "") for c in (*table.columns, *table.partition_columns)
    ]
    if table.partition_columns:
        rows += [
            ("", None, None),
            ("# Partition Information", None, None),
            ("# col_name", "data_type", "comment"),
        ]
        rows += [(c.name, str(c.type), c.comment or "") for c in table.partition_columns]
    return rows


def describe_formatted(table: Table, partition: Partition | None = None) -> list[Row]:
    """Rows (col_name, data_type, comment), cells padded to 20 as Hive does; of a partition where
    one is given.
    """
    rows = list(_column_block(table.columns))
    if table.partition_columns:
        rows += [("# Partition Information", None, None), *_column_block(table.partition_columns)]
    rows += list(_detail_block(table) if partition is None else _partition_block(table, partition))
    return (
        rows
        + list(_storage_block(table))
        + list(_view_block(table))
        + list(_constraint_block(table))
    )


def describe_extended(table: Table, partition: Partition | None = None) -> list[Row]:
    """The rows of ``describe`` and Hive's own dump of the metastore's object."""
    what = "Table" if partition is None else "Partition"
    text = _table_text(table) if partition is None else _partition_text(table, partition)
    return [*describe(table), ("", None, None), (f"Detailed {what} Information", text, "")]


def describe_column(
    table: Table,
    column: Column,
    statistics: ColumnStatistics | None = None,
    partition: Partition | None = None,
) -> list[Row]:
    """The rows of DESCRIBE FORMATTED t c: facts and their values. The statistics are empty where
    none were computed.
    """
    numbers = {} if statistics is None else _numbers(column, statistics)
    names = (
        "min",
        "max",
        "num_nulls",
        "distinct_count",
        "avg_col_len",
        "max_col_len",
        "num_trues",
        "num_falses",
        "bit_vector",
    )
    facts = [
        ("col_name", column.name),
        ("data_type", str(column.type)),
        *((name, numbers.get(name, "")) for name in names),
    ]
    rows = [_fact(name, value) for name, value in (*facts, ("comment", column.comment or ""))]
    state = (
        []
        if partition is not None
        else [_fact(ACCURATE, _escaped(table.statistics.get(ACCURATE, "{}")))]
    )
    return [*rows, *state]


def _numbers(column: Column, statistics: ColumnStatistics) -> dict[str, str]:
    numbers = {
        "min": _end(column, statistics.low),
        "max": _end(column, statistics.high),
        "num_nulls": statistics.nulls,
        "distinct_count": statistics.distinct,
        "avg_col_len": None
        if statistics.average_length is None
        else java_double(statistics.average_length),
        "max_col_len": statistics.longest,
        "num_trues": statistics.trues,
        "num_falses": statistics.falses,
    }
    return {name: str(number) for name, number in numbers.items() if number is not None}


def _end(column: Column, value: int | float | Decimal | None) -> str | None:
    """A least or greatest value as Hive prints it."""
    match column.type, value:
        case PrimitiveType("date"), int():
            return str(_EPOCH.date() + datetime.timedelta(days=value))
        case PrimitiveType("timestamp"), int():
            return str(_EPOCH + datetime.timedelta(seconds=value))
    return None if value is None else partition_text(value)


def describe_database(database: Database, *, extended: bool) -> Row:
    """The row (db_name, comment, location, owner_name, owner_type, parameters)."""
    parameters = _map(database.properties) if extended and database.properties else ""
    return (
        database.name,
        database.comment or "",
        database.location,
        database.owner,
        "USER",
        parameters,
    )


def _pad(text: str) -> str:
    return text.ljust(20)


def _row(name: str, value: str = "", comment: str = "") -> Row:
    return (_pad(name), _pad(value), _pad(comment))


def _fact(name: str, value: str) -> Row:
    return (_pad(name), _pad(value), None)


_BLANK: Row = ("", None, None)


def _title(text: str) -> Row:
    return (text, None, None)


def _column_block(columns: tuple[Column, ...]) -> Iterator[Row]:
    yield _row("# col_name", "data_type", "comment")
    for column in columns:
        yield _row(column.name, str(column.type), column.comment or "")
    yield _BLANK


def _detail_block(table: Table) -> Iterator[Row]:
    yield _title("# Detailed Table Information")
    yield _fact("Database:", table.name.database)
    yield _fact("OwnerType:", "USER")
    yield _fact("Owner:", table.owner)
    yield _fact("CreateTime:", _date(table.created_at))
    yield _fact("LastAccessTime:", "UNKNOWN")
    yield _fact("Retention:", "0")
    if table.view is None:
        yield _fact("Location:", table.location)
    yield _fact("Table Type:", table.kind.value)
    yield _title("Table Parameters:")
    comment = {} if table.comment is None else {"comment": table.comment}
    yield from _parameters(shown_properties(table) | comment | _escaped_values(table.statistics))
    yield _BLANK


def _partition_block(table: Table, partition: Partition) -> Iterator[Row]:
    yield _title("# Detailed Partition Information")
    yield _fact("Partition Value:", _list(partition.values))
    yield _fact("Database:", table.name.database)
    yield _fact("Table:", table.name.table)
    yield _fact("CreateTime:", _date(partition.created_at))
    yield _fact("LastAccessTime:", "UNKNOWN")
    yield _fact("Location:", partition.location)
    parameters = {**partition.properties, **_escaped_values(partition.statistics)}
    if parameters:
        yield _title("Partition Parameters:")
        yield from _parameters(parameters)
    yield _BLANK


def _storage_block(table: Table) -> Iterator[Row]:
    storage = storage_of(table)
    buckets = table.bucketing
    yield _title("# Storage Information")
    yield _fact("SerDe Library:", storage.serde or "null")
    yield _fact("InputFormat:", storage.input_format)
    yield _fact("OutputFormat:", storage.output_format)
    yield _fact("Compressed:", "No")
    yield _fact("Num Buckets:", str(buckets.count if buckets else -1))
    yield _fact("Bucket Columns:", _list(buckets.columns if buckets else ()))
    yield _fact("Sort Columns:", _list(map(_order, buckets.sorted_by) if buckets else ()))
    if table.skew is not None:
        if table.skew.directories:
            yield _fact("Stored As SubDirectories:", "Yes")
        yield _fact("Skewed Columns:", _list(sorted(table.skew.columns)))
        yield _fact("Skewed Values:", _list(_list(value) for value in sorted(table.skew.values)))
    if storage.serde_properties:
        yield _title("Storage Desc Params:")
        yield from _parameters(storage.serde_properties)


def _view_block(table: Table) -> Iterator[Row]:
    if table.view is not None:
        yield _BLANK
        yield _title("# View Information")
        yield _fact("Original Query:", table.view.original)
        yield _fact("Expanded Query:", table.view.expanded)


_CONSTRAINT_TITLES = {
    ConstraintKind.PRIMARY_KEY: "# Primary Key",
    ConstraintKind.FOREIGN_KEY: "# Foreign Keys",
    ConstraintKind.UNIQUE: "# Unique Constraints",
    ConstraintKind.NOT_NULL: "# Not Null Constraints",
    ConstraintKind.DEFAULT: "# Default Constraints",
    ConstraintKind.CHECK: "# Check Constraints",
}


def _constraint_block(table: Table) -> Iterator[Row]:
    if not table.constraints:
        return
    yield from (_BLANK, _title("# Constraints"))
    for kind, title in _CONSTRAINT_TITLES.items():
        of_kind = [c for c in table.constraints if c.kind is kind]
        if of_kind:
            yield from (_BLANK, _title(title), _fact("Table:", str(table.name)))
        for constraint in of_kind:
            yield _fact("Constraint Name:", constraint.name)
            yield from _constraint_rows(constraint)
            if kind is not ConstraintKind.PRIMARY_KEY:
                yield _BLANK


def _constraint_rows(constraint: Constraint) -> Iterator[Row]:
    match constraint.kind:
        case ConstraintKind.PRIMARY_KEY | ConstraintKind.NOT_NULL:
            yield from (_fact("Column Name:", name) for name in constraint.columns)
        case ConstraintKind.UNIQUE:
            for position, name in enumerate(constraint.columns, start=1):
                yield _fact(f"Column Name:{name}", f"Key Sequence:{position}")
        case ConstraintKind.FOREIGN_KEY:
            for position, (name, parent) in enumerate(
                zip(constraint.columns, constraint.referenced_columns, strict=True), start=1
            ):
                yield _row(
                    f"Parent Column Name:{constraint.references}.{parent}",
                    f"Column Name:{name}",
                    f"Key Sequence:{position}",
                )
        case ConstraintKind.DEFAULT:
            yield _fact(
                f"Column Name:{constraint.columns[0]}", f"Default Value:{constraint.expression}"
            )
        case ConstraintKind.CHECK:
            name = constraint.columns[0] if constraint.columns else "null"
            yield _fact(f"Column Name:{name}", f"Check Value:{constraint.expression}")


def _parameters(values: Mapping[str, str]) -> Iterator[Row]:
    yield from (("", _pad(key), _pad(value)) for key, value in sorted(values.items()))


def _escaped_values(values: Mapping[str, str]) -> dict[str, str]:
    return {key: _escaped(value) for key, value in values.items()}


def _escaped(text: str) -> str:
    """A parameter escaped as Hive prints it. Hive: HiveStringUtils.escapeJava."""
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _list(items: Iterator[str] | tuple[str, ...] | list[str]) -> str:
    return "[" + ", ".join(items) + "]"


def _order(column: SortColumn) -> str:
    return f"Order(col:{column.name}, order:{0 if column.descending else 1})"


def _date(seconds: int) -> str:
    return time.strftime("%a %b %d %H:%M:%S UTC %Y", time.gmtime(seconds))


# ---- the metastore's objects as Thrift prints them: what DESCRIBE EXTENDED shows


def _table_text(table: Table) -> str:
    comment = {} if table.comment is None else {"comment": table.comment}
    texts = (table.view.original, table.view.expanded) if table.view else ("null", "null")
    facts = {
        "tableName": table.name.table,
        "dbName": table.name.database,
        "owner": table.owner,
        "createTime": str(table.created_at),
        "lastAccessTime": "0",
        "retention": "0",
        "sd": _storage_text(table, table.location),
        "partitionKeys": _fields(table.partition_columns),
        "parameters": _map(shown_properties(table) | comment | dict(table.statistics)),
        "viewOriginalText": texts[0],
        "viewExpandedText": texts[1],
        "tableType": table.kind.value,
        "rewriteEnabled": "false",
    }
    return f"Table({_facts(facts)})"


def _partition_text(table: Table, partition: Partition) -> str:
    facts = {
        "values": _list(partition.values),
        "dbName": table.name.database,
        "tableName": table.name.table,
        "createTime": str(partition.created_at),
        "lastAccessTime": "0",
        "sd": _storage_text(table, partition.location),
        "parameters": _map({**partition.properties, **partition.statistics}),
    }
    return f"Partition({_facts(facts)})"


def _storage_text(table: Table, location: str) -> str:
    storage, buckets, skew = storage_of(table), table.bucketing, table.skew
    serde = _facts(
        {
            "name": "null",
            "serializationLib": storage.serde or "null",
            "parameters": _map(storage.serde_properties),
        }
    )
    skewed = {
        "skewedColNames": _list(skew.columns if skew else ()),
        "skewedColValues": _list([_list(value) for value in skew.values] if skew else ()),
        "skewedColValueLocationMaps": "{}",
    }
    facts = {
        "cols": _fields((*table.columns, *table.partition_columns)),
        "location": location or "null",
        "inputFormat": storage.input_format,
        "outputFormat": storage.output_format,
        "compressed": "false",
        "numBuckets": str(buckets.count if buckets else -1),
        "serdeInfo": f"SerDeInfo({serde})",
        "bucketCols": _list(buckets.columns if buckets else ()),
        "sortCols": _list(map(_order, buckets.sorted_by) if buckets else ()),
        "parameters": "{}",
        "skewedInfo": f"SkewedInfo({_facts(skewed)})",
        "storedAsSubDirectories": str(skew is not None and skew.directories).lower(),
    }
    return f"StorageDescriptor({_facts(facts)})"


def _fields(columns: tuple[Column, ...]) -> str:
    return _list(
        [
            f"FieldSchema(name:{c.name}, type:{c.type}, comment:{c.comment or 'null'})"
            for c in columns
        ]
    )


def _facts(facts: Mapping[str, str]) -> str:
    return ", ".join(f"{name}:{value}" for name, value in facts.items())


def _map(values: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{key}={value}" for key, value in sorted(values.items())) + "}"


# ---- show create
#
# SHOW CREATE TABLE as Hive 4 prints it (DDLPlanUtils, ShowCreateTableOperation): pure text from a
# Table.


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
    lines = [f"CREATE {external}TABLE {name}(", *_lines(map(_column, table.columns))]
    if table.comment is not None:
        lines.append(f"COMMENT {literal(table.comment)}")
    if table.partition_columns:
        lines += ["PARTITIONED BY ( ", *_lines(map(_column, table.partition_columns))]
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
        *_lines(f"  {literal(k)}={literal(v)}" for k, v in sorted(shown.items())),
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


def _lines(entries: Iterator[str]) -> list[str]:
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
        *lines, end = _lines(
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
        *lines, end = _lines(f"  {literal(k)}={literal(v)}" for k, v in sorted(shown.items()))
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
