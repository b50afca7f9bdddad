"""Statements to text: databases, tables, views, and what shows or loads them."""

from __future__ import annotations

from typing import assert_never

from acidsql.parser.statements import (
    AdoptTable,
    AnalyzeTable,
    AttachDatabase,
    AttachTable,
    ClusteredBy,
    ColumnDefinition,
    Constraint,
    ConstraintKind,
    CreateDatabase,
    CreateTable,
    CreateTableLike,
    CreateView,
    Describe,
    DescribeChanges,
    DescribeDatabase,
    DescribeHealth,
    DetachDatabase,
    DetachTable,
    DropDatabase,
    DropTable,
    DropView,
    LoadData,
    RepairTable,
    RowFormat,
    ShowColumns,
    ShowCreateTable,
    ShowDatabases,
    ShowPartitions,
    ShowTableProperties,
    ShowTables,
    ShowViews,
    SkewedBy,
    TruncateTable,
    UseDatabase,
)
from tests.parser.printing.pieces import (
    clauses,
    items,
    limit,
    name,
    names,
    order_by,
    partition,
    pattern,
    properties,
    qualified,
    quoted,
    sort_key,
    string,
    texts,
    where,
    words,
)

DatabaseStatement = CreateDatabase | DropDatabase | UseDatabase | DescribeDatabase | ShowDatabases
TableStatement = (
    CreateTable
    | CreateTableLike
    | DropTable
    | CreateView
    | DropView
    | TruncateTable
    | LoadData
    | AnalyzeTable
    | RepairTable
    | AttachTable
    | AttachDatabase
    | AdoptTable
    | DetachTable
    | DetachDatabase
)
Show = (
    ShowTables
    | ShowViews
    | ShowCreateTable
    | ShowPartitions
    | ShowTableProperties
    | ShowColumns
    | Describe
    | DescribeChanges
    | DescribeHealth
)


def print_database_statement(statement: DatabaseStatement) -> str:
    match statement:
        case CreateDatabase():
            return clauses(
                words(
                    "CREATE DATABASE",
                    statement.if_not_exists and "IF NOT EXISTS",
                    name(statement.name),
                ),
                quoted("COMMENT", statement.comment),
                quoted("LOCATION", statement.location),
                properties("WITH DBPROPERTIES", statement.properties),
            )
        case DropDatabase():
            exists = statement.if_exists and "IF EXISTS"
            return words(
                "DROP DATABASE", exists, name(statement.name), statement.cascade and "CASCADE"
            )
        case UseDatabase():
            return words("USE", name(statement.name))
        case DescribeDatabase():
            return words(
                "DESCRIBE DATABASE", statement.extended and "EXTENDED", name(statement.name)
            )
        case ShowDatabases():
            return words("SHOW DATABASES", pattern(statement.pattern))
        case _:
            assert_never(statement)


def print_table_statement(statement: TableStatement) -> str:
    match statement:
        case CreateTable():
            return print_create_table(statement)
        case CreateTableLike():
            return print_create_table_like(statement)
        case DropTable():
            exists = statement.if_exists and "IF EXISTS"
            return words(
                "DROP TABLE", exists, qualified(statement.name), statement.purge and "PURGE"
            )
        case CreateView():
            return print_create_view(statement)
        case DropView():
            return words(
                "DROP VIEW", statement.if_exists and "IF EXISTS", qualified(statement.name)
            )
        case TruncateTable():
            return words(
                "TRUNCATE TABLE", qualified(statement.name), partition(statement.partition)
            )
        case LoadData():
            return print_load_data(statement)
        case AnalyzeTable():
            return print_analyze_table(statement)
        case RepairTable():
            mode = f"{statement.mode} PARTITIONS" if statement.mode else None
            return words(
                "MSCK TABLE" if statement.only_check else "MSCK REPAIR TABLE",
                qualified(statement.name),
                mode,
            )
        case AttachTable() | AttachDatabase():
            return _attach(statement)
        case AdoptTable():
            return clauses(
                f"ADOPT TABLE {qualified(statement.name)}",
                _clustered_by(statement.clustered_by),
                "NOT CLUSTERED" if statement.not_clustered else None,
                properties("TBLPROPERTIES", statement.properties),
            )
        case DetachTable():
            exists = statement.if_exists and "IF EXISTS"
            return words("DETACH TABLE", exists, qualified(statement.name))
        case DetachDatabase():
            return words(
                "DETACH DATABASE", statement.if_exists and "IF EXISTS", name(statement.name)
            )
        case _:
            assert_never(statement)


def print_show(statement: Show) -> str:
    match statement:
        case ShowTables() | ShowViews():
            kind = "SHOW TABLES" if isinstance(statement, ShowTables) else "SHOW VIEWS"
            return words(
                kind,
                f"IN {name(statement.database)}" if statement.database else None,
                pattern(statement.pattern),
            )
        case ShowCreateTable():
            return words("SHOW CREATE TABLE", qualified(statement.name))
        case ShowPartitions():
            return clauses(
                words("SHOW PARTITIONS", qualified(statement.name), partition(statement.partition)),
                where(statement.where),
                order_by(statement.order_by),
                limit(statement.limit),
            )
        case ShowTableProperties():
            key = None if statement.key is None else f"({string(statement.key)})"
            return words("SHOW TBLPROPERTIES", qualified(statement.name), key)
        case ShowColumns():
            database = f"IN {name(statement.database)}" if statement.database else None
            return words(
                "SHOW COLUMNS FROM", qualified(statement.name), database, pattern(statement.pattern)
            )
        case Describe():
            mode = words(statement.extended and "EXTENDED", statement.formatted and "FORMATTED")
            column = name(statement.column) if statement.column else None
            return words(
                "DESCRIBE", mode, qualified(statement.name), partition(statement.partition), column
            )
        case DescribeChanges():
            return words("DESCRIBE CHANGES OF", qualified(statement.name))
        case DescribeHealth():
            return words(
                "DESCRIBE HEALTH", qualified(statement.name), partition(statement.partition)
            )
        case _:
            assert_never(statement)


# ---- CREATE TABLE --------------------------------------------------------------------------------


def print_create_table(statement: CreateTable) -> str:
    elements = [
        *map(print_column, statement.columns),
        *map(print_constraint, statement.constraints),
    ]
    partitioned_by = [
        *map(print_column, statement.partitioned_by),
        *map(name, statement.partitioned_by_names),
    ]
    return clauses(
        words(_create_table(statement), items(elements) if elements else None),
        quoted("COMMENT", statement.comment),
        f"PARTITIONED BY {items(partitioned_by)}" if partitioned_by else None,
        _clustered_by(statement.clustered_by),
        _skewed_by(statement.skewed_by),
        *_storage(statement),
        f"AS {statement.query.text}" if statement.query else None,
    )


def _attach(statement: AttachTable | AttachDatabase) -> str:
    exists = statement.if_not_exists and "IF NOT EXISTS"
    if isinstance(statement, AttachDatabase):
        title, keys = words("ATTACH DATABASE", exists, name(statement.name)), None
    else:
        columns = items(map(print_column, statement.columns)) if statement.columns else None
        given = statement.partitioned_by
        keys = items(map(print_column, given)) if given else None
        title = words("ATTACH TABLE", exists, qualified(statement.name), columns)
    assumption, assumed = statement.assumption, None
    if assumption is not None:
        ids = assumption.write_ids
        assumed = words(
            "ASSUME COMMITTED",
            assumption.excepted and "EXCEPT",
            f"({', '.join(map(str, ids))})" if ids is not None else None,
        )
    return clauses(
        title,
        f"PARTITIONED BY {keys}" if keys else None,
        quoted("FROM", statement.location.text) if statement.location else None,
        "READ ONLY" if statement.read_only else "OVERLAY" if statement.overlay else None,
        quoted("USING", statement.using.text) if statement.using else None,
        assumed,
    )


def print_create_table_like(statement: CreateTableLike) -> str:
    return clauses(
        _create_table(statement), f"LIKE {qualified(statement.like)}", *_storage(statement)
    )


def _create_table(statement: CreateTable | CreateTableLike) -> str:
    return words(
        "CREATE",
        statement.or_replace and "OR REPLACE",
        statement.temporary and "TEMPORARY",
        statement.transactional_word and "TRANSACTIONAL",
        statement.external and "EXTERNAL",
        statement.managed and "MANAGED",
        "TABLE",
        statement.if_not_exists and "IF NOT EXISTS",
        qualified(statement.name),
    )


def _storage(statement: CreateTable | CreateTableLike) -> tuple[str | None, ...]:
    """ROW FORMAT, STORED, LOCATION and TBLPROPERTIES, a clause each."""
    return (
        print_row_format(statement.row_format),
        _stored(statement),
        quoted("LOCATION", statement.location),
        properties("TBLPROPERTIES", statement.properties),
    )


def print_column(column: ColumnDefinition) -> str:
    """A definition of a column, its rules and its comment."""
    rules = (words(_named(rule), _rule(rule), *rule.traits) for rule in column.constraints)
    return words(name(column.name), column.type_text, *rules, quoted("COMMENT", column.comment))


def print_constraint(rule: Constraint) -> str:
    """A rule of a table."""
    return words(_named(rule), _rule(rule), *rule.traits)


def _named(rule: Constraint) -> str | None:
    return f"CONSTRAINT {name(rule.name)}" if rule.name else None


def _rule(rule: Constraint) -> str:
    """The rule without its name and traits; a rule of a column lists no columns of its own."""
    expression = rule.expression.text if rule.expression else None
    columns = names(rule.columns) if rule.columns else None
    references = (
        f"REFERENCES {qualified(rule.references)} {names(rule.referenced_columns)}"
        if rule.references
        else None
    )
    kind = None if rule.kind is ConstraintKind.FOREIGN_KEY and columns is None else str(rule.kind)
    return words(kind, columns, expression, references)


def _clustered_by(clause: ClusteredBy | None) -> str | None:
    if clause is None:
        return None
    sorted_by = f"SORTED BY {items(map(sort_key, clause.sorted_by))}" if clause.sorted_by else None
    return words("CLUSTERED BY", names(clause.columns), sorted_by, f"INTO {clause.buckets} BUCKETS")


def _skewed_by(clause: SkewedBy | None) -> str | None:
    if clause is None:
        return None
    return words(
        "SKEWED BY",
        names(clause.columns),
        "ON",
        texts(clause.values),
        clause.directories and "STORED AS DIRECTORIES",
    )


_DELIMITERS = {
    "FIELDS": "FIELDS TERMINATED BY",
    "COLLECTION": "COLLECTION ITEMS TERMINATED BY",
    "MAP": "MAP KEYS TERMINATED BY",
    "LINES": "LINES TERMINATED BY",
    "ESCAPED": "ESCAPED BY",
    "NULL": "NULL DEFINED AS",
}


def print_row_format(clause: RowFormat | None) -> str | None:
    if clause is None:
        return None
    if clause.serde is None:
        return clauses(
            "ROW FORMAT DELIMITED",
            *(f"{_DELIMITERS[d.key]} {string(d.value)}" for d in clause.delimiters),
        )
    return words(
        quoted("ROW FORMAT SERDE", clause.serde),
        properties("WITH SERDEPROPERTIES", clause.properties),
    )


def _stored(statement: CreateTable | CreateTableLike) -> str | None:
    classes = statement.storage_classes
    if classes is None:
        return f"STORED AS {name(statement.stored_as)}" if statement.stored_as else None
    if classes.handler is not None:
        return words(
            quoted("STORED BY", classes.handler),
            properties("WITH SERDEPROPERTIES", classes.properties),
        )
    return words(
        "STORED AS",
        quoted("INPUTFORMAT", classes.input_format),
        quoted("OUTPUTFORMAT", classes.output_format),
    )


# ---- other statements of tables and views --------------------------------------------------------


def print_create_view(statement: CreateView) -> str:
    columns = [
        words(name(column.name), quoted("COMMENT", column.comment)) for column in statement.columns
    ]
    return clauses(
        words(
            "CREATE",
            statement.or_replace and "OR REPLACE",
            "VIEW",
            statement.if_not_exists and "IF NOT EXISTS",
            qualified(statement.name),
            items(columns) if columns else None,
        ),
        quoted("COMMENT", statement.comment),
        properties("TBLPROPERTIES", statement.properties),
        f"AS {statement.query.text}",
    )


def print_load_data(statement: LoadData) -> str:
    return words(
        "LOAD DATA",
        statement.local and "LOCAL",
        quoted("INPATH", statement.path),
        statement.overwrite and "OVERWRITE",
        "INTO TABLE",
        qualified(statement.target),
        partition(statement.partition),
    )


def print_analyze_table(statement: AnalyzeTable) -> str:
    columns = None
    if statement.columns is not None:
        columns = words("FOR COLUMNS", ", ".join(name(column) for column in statement.columns))
    return words(
        "ANALYZE TABLE",
        qualified(statement.name),
        partition(statement.partition),
        "COMPUTE STATISTICS",
        columns,
        statement.noscan and "NOSCAN",
    )
