"""The dialect: URLs to connections, transactions, errors, and what the catalog tells of tables."""

from __future__ import annotations

from typing import Any

from sqlalchemy import pool, schema
from sqlalchemy.engine import URL, default, reflection
from sqlalchemy.exc import ArgumentError, NoSuchTableError

from acidsql.catalog.model import ConstraintKind, Table, TableKind, TableName
from acidsql.errors import DatabaseNotFoundError, InterfaceError
from acidsql.sqlalchemy.compiler import (
    NOTHING,
    DdlCompiler,
    IdentifierPreparer,
    SqlCompiler,
    TypeCompiler,
)
from acidsql.sqlalchemy.types import COLUMN_SPECIFICATIONS, column_type
from acidsql.txn.store import SessionStore

_SPARK = "spark."
SNAPSHOT, AUTOCOMMIT = "SNAPSHOT", "AUTOCOMMIT"


class AcidSqlDialect(default.DefaultDialect):
    """``acidsql:///warehouse`` (relative), ``acidsql:////srv/warehouse``, with
    ``?metastore=..&database=..&master=..``, Spark's settings (``spark.*``) and settings by name.
    """

    name = "acidsql"
    driver = "acidsql"
    default_paramstyle = "qmark"
    supports_statement_cache = True
    statement_compiler = SqlCompiler
    ddl_compiler = DdlCompiler
    type_compiler_cls = TypeCompiler
    preparer = IdentifierPreparer
    colspecs = COLUMN_SPECIFICATIONS
    max_identifier_length = 128
    supports_alter = False
    supports_comments = True
    inline_comments = True
    supports_default_metavalue = True
    supports_default_values = False
    supports_empty_insert = False
    supports_multivalues_insert = True
    supports_native_boolean = True
    supports_native_decimal = True
    supports_sequences = False
    insert_returning = update_returning = delete_returning = True
    postfetch_lastrowid = False
    use_insertmanyvalues = False  # the cursor's executemany makes one INSERT of many rows
    div_is_floordiv = False
    construct_arguments = [  # noqa: RUF012  (as in the class above)
        (
            schema.Table,
            {
                "partition_by": None,
                "clustered_by": None,
                "buckets": None,
                "format": "ORC",
                "location": None,
                "properties": None,
            },
        )
    ]

    @classmethod
    def import_dbapi(cls) -> Any:
        import acidsql

        return acidsql

    @classmethod
    def get_pool_class(cls, url: URL) -> type[pool.Pool]:
        return pool.QueuePool

    def create_connect_args(self, url: URL) -> tuple[list[Any], dict[str, Any]]:
        if url.host or url.username or url.password or url.port:
            raise ArgumentError(
                "an acidsql URL has no host and no user: acidsql:///warehouse has three slashes,"
                " acidsql:////srv/warehouse four"
            )
        given: dict[str, Any] = {}
        conf: dict[str, str] = {}
        for name, value in url.query.items():
            if not isinstance(value, str):
                raise ArgumentError(f"{name!r} stands in the URL more than once")
            (conf if name.startswith(_SPARK) else given)[name] = value
        return ([url.database] if url.database else []), given | ({"conf": conf} if conf else {})

    # ---- statements, transactions and errors

    def do_execute(self, cursor: Any, statement: str, parameters: Any, context: Any = None) -> None:
        if statement != NOTHING:
            cursor.execute(statement, parameters)

    def get_isolation_level_values(self, dbapi_connection: Any) -> list[Any]:
        return [SNAPSHOT, AUTOCOMMIT]

    def get_default_isolation_level(self, dbapi_conn: Any) -> Any:
        return SNAPSHOT

    def get_isolation_level(self, dbapi_connection: Any) -> Any:
        return AUTOCOMMIT if dbapi_connection.autocommit else SNAPSHOT

    def set_isolation_level(self, dbapi_connection: Any, level: Any) -> None:
        dbapi_connection.autocommit = level == AUTOCOMMIT

    def detect_autocommit_setting(self, dbapi_conn: Any) -> bool:
        return bool(dbapi_conn.autocommit)

    def do_ping(self, dbapi_connection: Any) -> bool:
        dbapi_connection.session.store.list_databases()
        return True

    def is_disconnect(self, e: Any, connection: Any, cursor: Any) -> bool:
        closed = ("the connection is closed", "the session is closed")
        return isinstance(e, InterfaceError) and e.message in closed

    # ---- reflection, from the catalog: no statement is run, Spark is not started

    def _get_default_schema_name(self, connection: Any) -> str:
        return str(connection.connection.dbapi_connection.session.database)

    @reflection.cache
    def get_schema_names(self, connection: Any, **kw: Any) -> list[str]:
        return list(_store(connection).list_databases())

    def _listed(self, connection: Any, database: str | None, *, views: bool) -> list[str]:
        store = _store(connection)
        name = _database(connection, database)
        shown = set(store.list_tables(name, TableKind.VIEW))
        return [t for t in store.list_tables(name) if (t in shown) == views]

    @reflection.cache
    def get_table_names(self, connection: Any, schema: str | None = None, **kw: Any) -> list[str]:
        return self._listed(connection, schema, views=False)

    @reflection.cache
    def get_view_names(self, connection: Any, schema: str | None = None, **kw: Any) -> list[str]:
        return self._listed(connection, schema, views=True)

    @reflection.cache
    def has_table(
        self, connection: Any, table_name: str, schema: str | None = None, **kw: Any
    ) -> bool:
        return _find(connection, table_name, schema) is not None

    @reflection.cache
    def get_columns(
        self, connection: Any, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[Any]:
        table = _table(connection, table_name, schema)
        of_kind = {
            kind: [c for c in table.constraints if c.kind is kind] for kind in ConstraintKind
        }
        defaults = {c.columns[0]: c.expression for c in of_kind[ConstraintKind.DEFAULT]}
        required = {c.columns[0] for c in of_kind[ConstraintKind.NOT_NULL] if c.enabled}
        partitioned = {column.name for column in table.partition_columns}
        return [
            {
                "name": column.name,
                "type": column_type(column.type),
                "nullable": column.name not in required,
                "default": defaults.get(column.name),
                "comment": column.comment,
                "info": {"acidsql_partition": True} if column.name in partitioned else {},
            }
            for column in (*table.columns, *table.partition_columns)
        ]

    @reflection.cache
    def get_pk_constraint(
        self, connection: Any, table_name: str, schema: str | None = None, **kw: Any
    ) -> Any:
        for rule in _table(connection, table_name, schema).constraints:
            if rule.kind is ConstraintKind.PRIMARY_KEY:
                return {"constrained_columns": list(rule.columns), "name": rule.name}
        return {"constrained_columns": [], "name": None}

    @reflection.cache
    def get_unique_constraints(
        self, connection: Any, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[Any]:
        rules = _table(connection, table_name, schema).constraints
        return [
            {"name": rule.name, "column_names": list(rule.columns)}
            for rule in rules
            if rule.kind is ConstraintKind.UNIQUE
        ]

    @reflection.cache
    def get_check_constraints(
        self, connection: Any, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[Any]:
        rules = _table(connection, table_name, schema).constraints
        return [
            {"name": rule.name, "sqltext": rule.expression}
            for rule in rules
            if rule.kind is ConstraintKind.CHECK
        ]

    @reflection.cache
    def get_foreign_keys(
        self, connection: Any, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[Any]:
        here = _database(connection, None)
        rules = _table(connection, table_name, schema).constraints
        return [
            {
                "name": rule.name,
                "constrained_columns": list(rule.columns),
                "referred_schema": (
                    None
                    if schema is None and rule.references.database == here
                    else rule.references.database
                ),
                "referred_table": rule.references.table,
                "referred_columns": list(rule.referenced_columns),
                "options": {},
            }
            for rule in rules
            if rule.references is not None
        ]

    @reflection.cache
    def get_indexes(
        self, connection: Any, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[Any]:
        _table(connection, table_name, schema)
        return []

    @reflection.cache
    def get_table_comment(
        self, connection: Any, table_name: str, schema: str | None = None, **kw: Any
    ) -> Any:
        return {"text": _table(connection, table_name, schema).comment}

    @reflection.cache
    def get_table_options(
        self, connection: Any, table_name: str, schema: str | None = None, **kw: Any
    ) -> dict[str, Any]:
        table = _table(connection, table_name, schema)
        if table.kind is TableKind.VIEW:
            return {}
        options: dict[str, Any] = {
            "acidsql_format": str(table.file_format),
            "acidsql_properties": dict(table.properties),
        }
        if table.partition_columns:
            options["acidsql_partition_by"] = [c.name for c in table.partition_columns]
        if table.bucketing is not None:
            options["acidsql_clustered_by"] = list(table.bucketing.columns)
            options["acidsql_buckets"] = table.bucketing.count
        return options

    @reflection.cache
    def get_view_definition(
        self, connection: Any, view_name: str, schema: str | None = None, **kw: Any
    ) -> str:
        view = _table(connection, view_name, schema).view
        if view is None:
            raise NoSuchTableError(view_name)
        return view.original


def _store(connection: Any) -> SessionStore:
    store: SessionStore = connection.connection.dbapi_connection.session.store
    return store


def _database(connection: Any, schema: str | None) -> str:
    return str(schema or connection.connection.dbapi_connection.session.database).lower()


def _find(connection: Any, name: str, schema: str | None) -> Table | None:
    try:
        database = _database(connection, schema)
        return _store(connection).find_table(TableName(database, name.lower()))
    except DatabaseNotFoundError:
        return None


def _table(connection: Any, name: str, schema: str | None) -> Table:
    table = _find(connection, name, schema)
    if table is None:
        raise NoSuchTableError(f"{schema}.{name}" if schema else name)
    return table
