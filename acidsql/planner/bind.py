"""Names to facts: every statement is checked against the catalog here, before anything is opened. Pure but for catalog look-ups."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from acidsql.catalog.catalog import Catalog
from acidsql.catalog.model import Column, Database, Table, TableKind, TableName
from acidsql.errors import (
    AlreadyExistsError,
    BindError,
    ColumnNotFoundError,
    DatabaseNotFoundError,
    Error,
    NotTransactionalTableError,
    Span,
    TableNotFoundError,
    UnsupportedStatementError,
)
from acidsql.parser import statements as ast
from acidsql.planner import bind_table
from acidsql.planner.analysis import Analysis, Read, analyse_expression, analyse_query, column_not_found, pushed_predicates
from acidsql.planner.bound import (
    BoundCreateDatabase,
    BoundCreateTable,
    BoundDelete,
    BoundDescribe,
    BoundDropDatabase,
    BoundDropTable,
    BoundExplain,
    BoundInsert,
    BoundQuery,
    BoundRead,
    BoundReset,
    BoundRows,
    BoundSet,
    BoundShowCreateTable,
    BoundShowDatabases,
    BoundShowTables,
    BoundShowTransactions,
    BoundStatement,
    BoundUpdate,
    BoundUse,
)
from acidsql.planner.literals import NotPlain, value_of
from acidsql.planner.lowering import identifier, row_id_columns, store_cast
from acidsql.planner.query_text import Piece, QueryText, Slot, edited
from acidsql.planner.unbuilt import refuse_unbuilt

FILE_SOURCES = frozenset({"parquet", "orc", "csv", "json", "text", "avro", "xml", "binaryfile"})
"""What Spark may stand before a path: parquet.`/data/file`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What the binder may ask: the catalog, the current database, and whether Spark's session has a view of a name."""

    catalog: Catalog
    database: str
    has_view: Callable[[str], bool] = lambda name: False
    user: str = ""
    now: int = 0


def bind(statement: ast.Statement, source: str, around: Surroundings) -> BoundStatement:
    """BindError and its children, UnsupportedStatementError: each with its place in ``source``."""
    try:
        refuse_unbuilt(statement)
        return _Binder(source, around).statement(statement)
    except Error as error:
        if error.source is None:
            error.at(source)
        raise


class _Binder:
    def __init__(self, source: str, around: Surroundings) -> None:
        self.source = source
        self.around = around
        self.catalog = around.catalog
        self.views: dict[str, None] = {}

    def statement(self, statement: ast.Statement) -> BoundStatement:
        match statement:
            case ast.Query():
                return self.query(statement.body)
            case ast.Insert():
                return self.insert(statement)
            case ast.Update():
                return self.update(statement)
            case ast.Delete():
                return self.delete(statement)
            case ast.Explain():
                return BoundExplain(statement=self.statement(statement.statement))
            case ast.CreateDatabase():
                return self.create_database(statement)
            case ast.DropDatabase():
                return self.drop_database(statement)
            case ast.UseDatabase():
                return BoundUse(database=self.database(statement.name))
            case ast.ShowDatabases():
                return BoundShowDatabases(pattern=statement.pattern)
            case ast.CreateTable():
                return self.create_table(statement)
            case ast.DropTable():
                return self.drop_table(statement)
            case ast.ShowTables():
                database = self.database(statement.database) if statement.database else self.around.database
                return BoundShowTables(database=database, pattern=statement.pattern)
            case ast.Describe():
                return self.describe(statement)
            case ast.ShowCreateTable():
                return BoundShowCreateTable(table=self.table(statement.name), qualified=len(statement.name.parts) > 1)
            case ast.ShowTransactions():
                return BoundShowTransactions()
            case ast.SetVariable():
                return BoundSet(key=statement.key, value=statement.value)
            case ast.ResetVariable():
                return BoundReset(key=statement.key)
            case _:
                name = type(statement).__name__
                raise UnsupportedStatementError(f"{name} is not supported yet", span=statement.span)

    # ---- names

    def database(self, name: ast.Name) -> str:
        found = name.text.lower()
        if self.catalog.find_database(found) is None:
            raise DatabaseNotFoundError(f"Database does not exist: {found}", code=10072, span=name.span)
        return found

    def table_name(self, name: ast.QualifiedName) -> TableName:
        parts = [p.text.lower() for p in name.parts]
        if len(parts) > 2:
            raise BindError("a table name has at most two parts", span=name.span)
        return TableName(self.around.database if len(parts) == 1 else parts[0], parts[-1])

    def table(self, name: ast.QualifiedName) -> Table:
        wanted = self.table_name(name)
        table = self.catalog.find_table(wanted)
        if table is None:
            raise self.not_found(wanted, name.span)
        return table

    def not_found(self, wanted: TableName, span: Span) -> TableNotFoundError:
        near: list[str] = []
        if self.catalog.find_database(wanted.database) is not None:
            near = bind_table.close_names(wanted.table, self.catalog.list_tables(wanted.database))
        hint = f'did you mean "{near[0]}"?' if near else None
        return TableNotFoundError(f"Table not found {wanted}", code=10001, hint=hint, span=span)

    def resolve(self, parts: tuple[str, ...], span: Span) -> Table | None:
        """A table name inside a query: the catalog's table, None for what Spark knows, TableNotFoundError."""
        names = [p.lower() for p in parts]
        if len(names) == 2 and names[0] in FILE_SOURCES and self.catalog.find_database(names[0]) is None:
            return None
        if len(names) > 2:
            raise TableNotFoundError(f"Table not found {'.'.join(names)}", code=10001, span=span)
        wanted = TableName(self.around.database if len(names) == 1 else names[0], names[-1])
        table = self.catalog.find_table(wanted)
        if table is None:
            if len(names) == 1 and self.around.has_view(parts[0]):
                self.views[parts[0]] = None
                return None
            raise self.not_found(wanted, span)
        bind_table.check_readable(table, span)
        return table

    # ---- queries

    def query(self, body: ast.Fragment) -> BoundQuery:
        analysis = Analysis()
        analyse_query(self.source, body.span, self.resolve, analysis)
        return self.bound_query(edited(body.span, analysis.edits), analysis)

    def bound_query(self, pieces: tuple[Piece, ...], analysis: Analysis) -> BoundQuery:
        reads = tuple(BoundRead(table=r.table, span=r.span, row_id=r.row_id, predicates=r.predicates) for r in analysis.reads)
        return BoundQuery(text=QueryText(self.source, pieces), reads=reads, views=tuple(self.views))

    # ---- INSERT

    def insert(self, statement: ast.Insert) -> BoundInsert:
        table = self.table(statement.target)
        bind_table.check_insertable(table, statement.target.span)
        columns = self.insert_columns(table, statement)
        source: BoundRows | BoundQuery
        if isinstance(statement.source, ast.Values):
            source = self.values(table, columns, statement.source)
        else:
            source = self.insert_query(statement, statement.source)
        return BoundInsert(table=table, columns=columns, source=source, span=statement.source.span)

    def insert_columns(self, table: Table, statement: ast.Insert) -> tuple[Column, ...]:
        if statement.columns is None:
            return table.columns
        found: dict[str, Column] = {}
        for name in statement.columns:
            column = table.column(name.text)
            if column is None:
                raise column_not_found(name.text, table, name.span, self.source, code=10002)
            if column.name in found:
                raise BindError(f'column "{column.name}" is named twice', span=name.span)
            found[column.name] = column
        return tuple(found.values())

    def values(self, table: Table, columns: tuple[Column, ...], values: ast.Values) -> BoundRows | BoundQuery:
        for row in values.rows:
            if len(row) != len(columns):
                span = Span(row[0].span.start, row[-1].span.end) if row else values.span
                raise bind_table.wrong_column_count(table, len(columns), len(row), span)
        types = [c.type for c in columns]
        try:
            rows = tuple(tuple(value_of(e.text, t) for e, t in zip(row, types, strict=True)) for row in values.rows)
            return BoundRows(rows=rows)
        except NotPlain:
            return self.computed_values(values)

    def computed_values(self, values: ast.Values) -> BoundQuery:
        """Rows that need an engine: each expression of a row stands as the user wrote it, DEFAULT as NULL."""
        analysis = Analysis()
        legs: list[Piece] = []
        for number, row in enumerate(values.rows):
            legs.append(" UNION ALL SELECT " if number else "SELECT ")
            for at, cell in enumerate(row):
                pieces = ("NULL",) if cell.text.strip().upper() == "DEFAULT" else self.free_expression(cell, analysis)
                legs += [", " if at else "", *pieces]
        return self.bound_query(tuple(legs), analysis)

    def free_expression(self, cell: ast.Fragment, analysis: Analysis) -> tuple[Piece, ...]:
        """An expression over no table; sub-queries inside it may read tables."""
        mine = Analysis(reads=analysis.reads)
        analyse_query(self.source, cell.span, self.resolve, mine, wrap="SELECT ")
        return edited(cell.span, mine.edits)

    def insert_query(self, statement: ast.Insert, body: ast.Fragment) -> BoundQuery:
        if statement.with_clause is None:
            return self.query(body)
        return self.query_after_with(statement.with_clause, body)

    def query_after_with(self, clause: ast.Fragment, body: ast.Fragment) -> BoundQuery:
        """``WITH q AS (..) INSERT INTO t SELECT ..``: analysed as if the words between the two were blank."""
        blank = " " * (body.span.start - clause.span.end)
        text = self.source[: clause.span.end] + blank + self.source[body.span.start :]
        whole = Span(clause.span.start, body.span.end)
        analysis = Analysis()
        analyse_query(text, whole, self.resolve, analysis)
        before = [e for e in analysis.edits if e.span.start < clause.span.end]
        after = [e for e in analysis.edits if e.span.start >= body.span.start]
        return self.bound_query((*edited(clause.span, before), " ", *edited(body.span, after)), analysis)

    # ---- UPDATE and DELETE

    def target(self, name: ast.QualifiedName, alias: ast.Name | None) -> Read:
        table = self.table(name)
        return Read(table=table, span=name.span, alias=(alias.text if alias else table.name.table).lower(), row_id=True)

    def check_writable(self, read: Read) -> None:
        table, span = read.table, read.span
        if not table.is_transactional:
            message = f"Attempt to do update or delete on table {table.name} that is not transactional"
            raise NotTransactionalTableError(message, code=10297, span=span)
        if table.is_insert_only:
            message = f"Attempt to do update or delete on table {table.name} that is insert-only transactional"
            raise NotTransactionalTableError(message, code=10414, span=span)
        bind_table.check_readable(table, span)

    def update(self, statement: ast.Update) -> BoundUpdate:
        read = self.target(statement.target, statement.alias)
        table = read.table
        if table.kind is TableKind.VIEW:
            raise BindError("You cannot update or delete records in a view", code=10402, span=read.span)
        sets: dict[str, ast.Assignment] = {}
        for assignment in statement.assignments:
            column = self.assignable(table, assignment.column)
            if column.name in sets:
                raise BindError(f'column "{column.name}" is set twice', span=assignment.column.span)
            sets[column.name] = assignment
        self.check_writable(read)
        analysis = Analysis(reads=[read])
        alias = identifier(read.alias)
        pieces: list[Piece] = ["SELECT ", *row_id_columns(read.alias)]
        for column in table.columns:
            value = self.new_value(sets.get(column.name), column, read, analysis)
            pieces += [", ", *(value or (f"{alias}.{identifier(column.name)}",)), f" AS {identifier(column.name)}"]
        pieces += [" FROM ", Slot(0), f" AS {alias}", *self.where(statement.where, read, analysis)]
        changed = tuple(c for c in table.columns if c.name in sets)
        return BoundUpdate(table=table, changed=changed, query=self.bound_query(tuple(pieces), analysis))

    def assignable(self, table: Table, name: ast.Name) -> Column:
        """Hive's order of checks: partition column, bucketing column, unknown column."""
        wanted = name.text.lower()
        if any(c.name == wanted for c in table.partition_columns):
            raise BindError("Updating values of partition columns is not supported", code=10292, span=name.span)
        if table.bucketing and wanted in table.bucketing.columns:
            message = f"Updating values of bucketing columns is not supported.  Column {wanted}."
            raise BindError(message, code=10302, span=name.span)
        column = table.column(wanted)
        if column is None:
            hint = column_not_found(wanted, table, name.span, self.source).hint
            message = f'Target column "{name.text}" of set clause is not found in table "{table.name}".'
            raise ColumnNotFoundError(message, code=10408, hint=hint, span=name.span)
        return column

    def new_value(self, assignment: ast.Assignment | None, column: Column, read: Read, analysis: Analysis) -> tuple[Piece, ...]:
        if assignment is None:
            return ()
        if assignment.value.text.strip().upper() == "DEFAULT":
            return store_cast(("NULL",), column.type)
        return store_cast(self.expression(assignment.value, read, analysis), column.type)

    def delete(self, statement: ast.Delete) -> BoundDelete:
        read = self.target(statement.target, statement.alias)
        if read.table.kind is TableKind.VIEW:
            raise BindError("You cannot update or delete records in a view", code=10402, span=read.span)
        self.check_writable(read)
        analysis = Analysis(reads=[read])
        head: tuple[Piece, ...] = ("SELECT ", *row_id_columns(read.alias), " FROM ", Slot(0), f" AS {identifier(read.alias)}")
        pieces = (*head, *self.where(statement.where, read, analysis))
        return BoundDelete(table=read.table, query=self.bound_query(pieces, analysis))

    def expression(self, fragment: ast.Fragment, read: Read, analysis: Analysis) -> tuple[Piece, ...]:
        mine = Analysis(reads=analysis.reads)
        analyse_expression(self.source, fragment.span, self.resolve, mine, read)
        return edited(fragment.span, mine.edits)

    def where(self, fragment: ast.Fragment | None, read: Read, analysis: Analysis) -> tuple[Piece, ...]:
        if fragment is None:
            return ()
        pieces = self.expression(fragment, read, analysis)
        read.predicates = pushed_predicates(self.source, fragment.span, read.table, read.alias)
        return (" WHERE (", *pieces, ")")

    # ---- DDL

    def create_database(self, statement: ast.CreateDatabase) -> BoundCreateDatabase:
        name = statement.name.text.lower()
        bind_table.check_name(name, statement.name.span)
        if not statement.if_not_exists and self.catalog.find_database(name) is not None:
            raise AlreadyExistsError(f"Database {name} already exists", span=statement.name.span)
        properties = _properties(statement.properties)
        database = Database(
            name=name, location=statement.location or "", comment=statement.comment, owner=self.around.user, properties=properties
        )
        return BoundCreateDatabase(database=database, if_not_exists=statement.if_not_exists)

    def drop_database(self, statement: ast.DropDatabase) -> BoundDropDatabase:
        name = statement.name.text.lower()
        if name == "default":
            raise BindError("Can not drop default database", span=statement.name.span)
        if not statement.if_exists:
            self.database(statement.name)
        return BoundDropDatabase(name=name, if_exists=statement.if_exists, cascade=statement.cascade)

    def create_table(self, statement: ast.CreateTable) -> BoundCreateTable:
        name = self.table_name(statement.name)
        bind_table.check_name(name.table, statement.name.span)
        database = self.catalog.find_database(name.database)
        if database is None:
            raise DatabaseNotFoundError(f"Database does not exist: {name.database}", code=10072, span=statement.name.span)
        existing = self.catalog.find_table(name)
        if existing is not None and not statement.if_not_exists:
            raise AlreadyExistsError(f"Table {name} already exists", span=statement.name.span)
        table = bind_table.new_table(statement, name, database, self.around.user, self.around.now)
        return BoundCreateTable(table=existing or table, exists=existing is not None)

    def drop_table(self, statement: ast.DropTable) -> BoundDropTable:
        name = self.table_name(statement.name)
        if self.catalog.find_table(name) is None:
            if statement.if_exists:
                return BoundDropTable(name=None)
            raise self.not_found(name, statement.name.span)
        return BoundDropTable(name=name)

    def describe(self, statement: ast.Describe) -> BoundDescribe:
        table = self.table(statement.name)
        column = table.column(statement.column.text) if statement.column else None
        if statement.column and column is None:
            raise column_not_found(statement.column.text, table, statement.column.span, self.source, code=10002)
        return BoundDescribe(table=table, formatted=statement.formatted, column=column)


def _properties(properties: Iterable[ast.Property]) -> Mapping[str, Any]:
    return {p.key: p.value for p in properties}
