"""SQLAlchemy's expressions, types and DDL as Hive SQL; what Hive has not is a CompileError."""

from __future__ import annotations

from typing import Any, NoReturn

from sqlalchemy import schema
from sqlalchemy.exc import CompileError
from sqlalchemy.sql import compiler, operators
from sqlalchemy.types import NullType
from sqlalchemy.util import warn

from acidsql.parser.parameters import literal
from acidsql.parser.parse import RESERVED
from acidsql.sqlalchemy import types

NOTHING = ""
"""The statement of what need not be done."""

MAX_CHAR, MAX_VARCHAR = 255, 65535
DEFAULT_DECIMAL = (38, 18)
_SPARK_AND_HIVE = """
    any array asc at authorization between bigint binary boolean both cast char check collate
    column commit constraint cube current current_date current_time current_timestamp current_user
    cursor date decimal desc double escape exchange extended external false fetch filter float for
    foreign function grant grouping import int integer interval leading limit local macro map
    minus natural no none numeric of offset only overlaps percent position preceding precision
    primary procedure qualify range reads real references revoke rollback rollup row rows
    session_user smallint some start sync table tablesample time timestamp tinyint trailing
    transform trigger true truncate unbounded unique uniquejoin unknown unnest unpivot user varchar
    views window within struct string extract
"""


class IdentifierPreparer(compiler.IdentifierPreparer):
    """Quotes with backticks."""

    reserved_words = {*_SPARK_AND_HIVE.split(), *(word.lower() for word in RESERVED)}  # noqa: RUF012
    illegal_initial_characters = compiler.ILLEGAL_INITIAL_CHARACTERS | {"_"}

    def __init__(
        self,
        dialect: Any,
        initial_quote: str = "`",
        final_quote: str | None = None,
        escape_quote: str = "`",
        quote_case_sensitive_collations: bool = True,
        omit_schema: bool = False,
    ) -> None:
        super().__init__(
            dialect,
            initial_quote,
            final_quote,
            escape_quote,
            quote_case_sensitive_collations,
            omit_schema,
        )


class TypeCompiler(compiler.GenericTypeCompiler):
    """Type texts as Hive has them."""

    def visit_string(self, type_: Any, **kw: Any) -> str:
        return f"VARCHAR({type_.length})" if 0 < (type_.length or 0) <= MAX_VARCHAR else "STRING"

    visit_unicode = visit_VARCHAR = visit_NVARCHAR = visit_string

    def visit_text(self, type_: Any, **kw: Any) -> str:
        return "STRING"

    visit_unicode_text = visit_TEXT = visit_CLOB = visit_STRING = visit_text

    def visit_CHAR(self, type_: Any, **kw: Any) -> str:
        length = type_.length or 1
        if length > MAX_CHAR:
            raise CompileError(f"CHAR has at most {MAX_CHAR} characters in Hive, not {length}")
        return f"CHAR({length})"

    visit_NCHAR = visit_CHAR

    def visit_INTEGER(self, type_: Any, **kw: Any) -> str:
        return "INT"

    def visit_TINYINT(self, type_: Any, **kw: Any) -> str:
        return "TINYINT"

    def visit_float(self, type_: Any, **kw: Any) -> str:
        return "FLOAT" if type_.precision is not None and type_.precision <= 24 else "DOUBLE"

    def visit_REAL(self, type_: Any, **kw: Any) -> str:
        return "FLOAT"

    visit_FLOAT = visit_REAL

    def visit_double(self, type_: Any, **kw: Any) -> str:
        return "DOUBLE"

    visit_DOUBLE = visit_DOUBLE_PRECISION = visit_double

    def visit_numeric(self, type_: Any, **kw: Any) -> str:
        precision, scale = (
            DEFAULT_DECIMAL if type_.precision is None else (type_.precision, type_.scale or 0)
        )
        return f"DECIMAL({precision},{scale})"

    visit_NUMERIC = visit_DECIMAL = visit_numeric

    def visit_datetime(self, type_: Any, **kw: Any) -> str:
        if type_.timezone:
            raise CompileError("Hive's TIMESTAMP has no time zone: use timezone=False")
        return "TIMESTAMP"

    visit_TIMESTAMP = visit_DATETIME = visit_datetime

    def visit_time(self, type_: Any, **kw: Any) -> str:
        raise CompileError("Hive has no type for a time of day")

    visit_TIME = visit_time

    def visit_large_binary(self, type_: Any, **kw: Any) -> str:
        return "BINARY"

    visit_BINARY = visit_VARBINARY = visit_BLOB = visit_large_binary

    def visit_JSON(self, type_: Any, **kw: Any) -> str:
        raise CompileError("Hive has no type JSON: use Text, Struct, Map or Array")

    def visit_UUID(self, type_: Any, **kw: Any) -> str:
        raise CompileError("Hive has no type UUID: use Uuid(native_uuid=False)")

    def visit_acidsql_array(self, type_: types.Array, **kw: Any) -> str:
        return f"ARRAY<{self.process(type_.item_type)}>"

    def visit_acidsql_map(self, type_: types.Map, **kw: Any) -> str:
        return f"MAP<{self.process(type_.key_type)},{self.process(type_.value_type)}>"

    def visit_acidsql_struct(self, type_: types.Struct, **kw: Any) -> str:
        fields = (types.field_text(name, self.process(kind)) for name, kind in type_.fields)
        return f"STRUCT<{','.join(fields)}>"


class SqlCompiler(compiler.SQLCompiler):
    """Queries and changes of rows."""

    def limit_clause(self, select: Any, **kw: Any) -> str:
        text = ""
        if select._limit_clause is not None:
            text += "\n LIMIT " + self.process(select._limit_clause, **kw)
        if select._offset_clause is not None:
            text += "\n OFFSET " + self.process(select._offset_clause, **kw)
        return text

    def fetch_clause(self, select: Any, *args: Any, **kw: Any) -> str:
        options = select._fetch_clause_options or {}
        if options.get("percent") or options.get("with_ties"):
            raise CompileError("FETCH with PERCENT or WITH TIES is not in Spark's SQL")
        text = "\n LIMIT " + self.process(select._fetch_clause, **kw)
        if select._offset_clause is not None:
            text += "\n OFFSET " + self.process(select._offset_clause, **kw)
        return text

    def for_update_clause(self, select: Any, **kw: Any) -> str:
        raise CompileError("rows are not locked by FOR UPDATE: Hive has no such clause")

    def update_from_clause(self, *args: Any, **kw: Any) -> str:
        raise CompileError("UPDATE of one table FROM another: use MERGE or a sub-query")

    def delete_extra_from_clause(self, *args: Any, **kw: Any) -> str:
        raise CompileError("DELETE of one table USING another: use MERGE or a sub-query")

    def visit_sequence(self, sequence: Any, **kw: Any) -> str:
        raise CompileError("Hive has no sequences")

    def visit_savepoint(self, *args: Any, **kw: Any) -> str:
        raise CompileError("a transaction has no savepoints")

    def visit_regexp_match_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        return self._rlike(binary, " RLIKE ", **kw)

    def visit_not_regexp_match_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        return self._rlike(binary, " NOT RLIKE ", **kw)

    def visit_regexp_replace_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        if binary.modifiers["flags"] is not None:
            raise CompileError("write the flags of a pattern into it, as in (?i)")
        return (
            f"regexp_replace({self.process(binary.left, **kw)}, {self.process(binary.right, **kw)})"
        )

    def visit_empty_set_op_expr(self, type_: Any, expand_op: Any, **kw: Any) -> str:
        """The NULLs of an empty IN with their types, which Spark asks for in a tuple."""
        if len(type_) == 1:
            return super().visit_empty_set_op_expr(type_, expand_op, **kw)  # type: ignore[no-untyped-call, no-any-return]
        nulls = ", ".join(self._null_of(kind) for kind in type_)
        never = "OR (1 = 1" if expand_op is operators.not_in_op else "AND (1 != 1"
        return f"({nulls})) {never}"

    def _null_of(self, type_: Any) -> str:
        if isinstance(type_, NullType):
            return "NULL"
        return f"CAST(NULL AS {self.dialect.type_compiler_instance.process(type_)})"

    def _rlike(self, binary: Any, word: str, **kw: Any) -> str:
        if binary.modifiers["flags"] is not None:
            raise CompileError("write the flags of a pattern into it, as in (?i)")
        return self.process(binary.left, **kw) + word + self.process(binary.right, **kw)


class DdlCompiler(compiler.DDLCompiler):
    """The catalog's statements. Tables are transactional ORC tables unless they say otherwise."""

    def get_column_specification(self, column: Any, **kw: Any) -> str:
        if column.computed is not None or column.identity is not None:
            raise CompileError("Hive has no computed and no identity columns")
        if column.autoincrement is True or isinstance(column.default, schema.Sequence):
            raise CompileError("Hive has no autoincrement and no sequences: give the values")
        text = f"{self.preparer.format_column(column)} {self._type(column)}"
        default = self.get_column_default_string(column)
        if default is not None:
            text += f" DEFAULT {default}"
        return text + ("" if column.nullable else " NOT NULL") + self._comment(column.comment)

    def visit_create_column(self, create: Any, first_pk: bool = False, **kw: Any) -> Any:
        column = create.element
        if column.name in _partition_names(column.table):
            return None  # it stands in PARTITIONED BY
        return super().visit_create_column(create, first_pk=first_pk, **kw)  # type: ignore[no-untyped-call]

    def post_create_table(self, table: Any) -> str:
        options = table.dialect_options["acidsql"]
        columns = [self._partition_column(table, name) for name in _partition_names(table)]
        text = self._comment(table.comment)
        text += f"\nPARTITIONED BY ({', '.join(columns)})" if columns else ""
        if options["clustered_by"] or options["buckets"]:
            if not (options["clustered_by"] and options["buckets"]):
                raise CompileError("acidsql_clustered_by and acidsql_buckets go together")
            names = ", ".join(self.preparer.quote(name) for name in _names(options["clustered_by"]))
            text += f"\nCLUSTERED BY ({names}) INTO {int(options['buckets'])} BUCKETS"
        text += f"\nSTORED AS {self._format(options['format'])}"
        if options["location"]:
            text += f"\nLOCATION {literal(options['location'])}"
        if properties := self._properties(table, options):
            pairs = (f"{literal(str(k))}={literal(str(v))}" for k, v in properties.items())
            text += f"\nTBLPROPERTIES ({', '.join(pairs)})"
        return text

    def _format(self, name: str) -> str:
        if not name.isidentifier():
            raise CompileError(f"acidsql_format is one word, not {name!r}")
        return name.upper()

    def _properties(self, table: Any, options: Any) -> dict[str, Any]:
        external = any(prefix.upper() == "EXTERNAL" for prefix in table._prefixes)
        acid = options["format"].upper() == "ORC" and not external
        return {**({"transactional": "true"} if acid else {}), **(options["properties"] or {})}

    def _partition_column(self, table: Any, name: str) -> str:
        if name not in table.c:
            raise CompileError(f"acidsql_partition_by: the table has no column {name!r}")
        column = table.c[name]
        if column.server_default is not None or not column.nullable:
            raise CompileError(f"the partition column {name!r} has no DEFAULT and no NOT NULL")
        head = f"{self.preparer.format_column(column)} {self._type(column)}"
        return head + self._comment(column.comment)

    def _type(self, column: Any) -> str:
        return self.dialect.type_compiler_instance.process(column.type, type_expression=column)

    def _comment(self, comment: str | None) -> str:
        return "" if comment is None else f" COMMENT {literal(comment)}"

    def visit_primary_key_constraint(self, constraint: Any, **kw: Any) -> str:
        return self._rule(super().visit_primary_key_constraint(constraint, **kw), constraint)

    def visit_unique_constraint(self, constraint: Any, **kw: Any) -> str:
        return self._rule(super().visit_unique_constraint(constraint, **kw), constraint)

    def visit_foreign_key_constraint(self, constraint: Any, **kw: Any) -> str:
        if constraint.ondelete or constraint.onupdate or constraint.match:
            raise CompileError(
                "a foreign key is a note to readers: nothing acts ON DELETE, ON UPDATE or by MATCH"
            )
        if constraint.referred_table is constraint.table:
            raise CompileError("a foreign key to its own table: its parent is to exist before it")
        return self._rule(super().visit_foreign_key_constraint(constraint, **kw), constraint)

    def _rule(self, text: str, constraint: Any) -> str:
        """Keys are kept and not enforced, as Hive has them, and say so."""
        if constraint.deferrable is not None or constraint.initially is not None:
            raise CompileError("Hive has no deferred constraints")
        return f"{text} DISABLE NOVALIDATE" if text else ""

    def visit_create_index(self, create: Any, *args: Any, **kw: Any) -> str:
        """An index is for speed alone, so that it may be left out, with a warning."""
        index = create.element
        if index.unique:
            raise CompileError("Hive has no indexes, and none that keeps values unique")
        warn(f"Hive has no indexes: {index.name} of {index.table.name} is left out")
        return NOTHING

    def visit_drop_index(self, drop: Any, **kw: Any) -> NoReturn:
        raise CompileError("Hive has no indexes")

    def visit_create_sequence(self, create: Any, prefix: Any = None, **kw: Any) -> NoReturn:
        raise CompileError("Hive has no sequences")

    def visit_set_table_comment(self, create: Any, **kw: Any) -> str:
        return self._set_comment(create.element, literal(create.element.comment or ""))

    def visit_drop_table_comment(self, drop: Any, **kw: Any) -> str:
        name = self.preparer.format_table(drop.element)
        return f"ALTER TABLE {name} UNSET TBLPROPERTIES IF EXISTS ('comment')"

    def _set_comment(self, table: Any, comment: str) -> str:
        name = self.preparer.format_table(table)
        return f"ALTER TABLE {name} SET TBLPROPERTIES ('comment'={comment})"

    def visit_set_column_comment(self, create: Any, **kw: Any) -> str:
        column = create.element
        name = self.preparer.format_column(column)
        table = self.preparer.format_table(column.table)
        return (
            f"ALTER TABLE {table} CHANGE COLUMN {name} {name} {self._type(column)}"
            f"{self._comment(column.comment or '')}"
        )


def _names(given: str | list[str] | tuple[str, ...] | None) -> list[str]:
    return [given] if isinstance(given, str) else list(given or ())


def _partition_names(table: Any) -> list[str]:
    return _names(table.dialect_options["acidsql"]["partition_by"])
