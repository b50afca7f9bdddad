"""Tables for tests, made of a CSV file or of Arrow data, without Spark.

The rows go the way of ``LOAD DATA`` into a table beside it and from there by ``INSERT .. SELECT``,
so that every type is kept and the files are those that an INSERT writes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from acidsql.catalog.describe import literal, quoted
from acidsql.catalog.types import arrow_type, parse_type
from acidsql.errors import DataError, TableNotFoundError
from acidsql.lazy import dataclass

if TYPE_CHECKING:
    from acidsql.result import Result
    from acidsql.session import Session

TRANSACTIONAL = {"transactional": "true"}
ENGINE = "acidsql.engine"
_SOURCE = "acidsql_rows_to_insert"
"""The table beside it, for as long as it takes."""

_INTEGERS = ((8, "tinyint"), (16, "smallint"), (32, "int"), (64, "bigint"))
_NAMES = (
    (pa.types.is_boolean, "boolean"),
    (pa.types.is_float16, "float"),
    (pa.types.is_float32, "float"),
    (pa.types.is_float64, "double"),
    (pa.types.is_string, "string"),
    (pa.types.is_large_string, "string"),
    (pa.types.is_string_view, "string"),
    (pa.types.is_null, "string"),
    (pa.types.is_binary, "binary"),
    (pa.types.is_large_binary, "binary"),
    (pa.types.is_binary_view, "binary"),
    (pa.types.is_fixed_size_binary, "binary"),
    (pa.types.is_date, "date"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableMaker:
    """Makes tables of a session, as the fixture ``acidsql_table`` does. ``folder``: what the paths
    of CSV files are relative to.
    """

    session: Session
    folder: Path

    def __call__(
        self,
        name: str,
        source: object,
        *,
        types: Mapping[str, str] | None = None,
        partitioned_by: Sequence[str] = (),
        properties: Mapping[str, str] = TRANSACTIONAL,
    ) -> Result:
        """Creates the table ``name`` and inserts the rows of ``source``; the Result of the INSERT.

        source: the path of a CSV file whose first line names the columns, or anything that gives
        an Arrow stream (a pyarrow Table, pandas, polars). Into a table that is there already the
        rows are inserted, column by name. types: column types in SQL, where those of the source
        are not wanted. An empty cell of a CSV is NULL, ``""`` the empty text. DataError for a value
        that its type cannot hold, and a type of Arrow's that SQL has not.
        """
        existing = self._types_there(name)
        wanted = {c.lower(): t for c, t in (types or {}).items()} if existing is None else existing
        rows = _rows_of(source, wanted, self.folder)
        if existing is None:
            column_types = {field.name: sql_type(field) for field in rows.schema} | wanted
            _check_names(rows, [*wanted, *partitioned_by])
            self._create(name, column_types, partitioned_by, properties)
        with self._staged(rows), self._no_spark():
            columns = ", ".join(map(quoted, rows.column_names))
            return self.session.sql(
                f"INSERT INTO {_qualified(name)} ({columns}) SELECT {columns} FROM {_SOURCE}"
            )

    def _types_there(self, name: str) -> dict[str, str] | None:
        """The types of a table's columns, None if there is no such table."""
        try:
            columns = self.session.sql(f"SELECT * FROM {_qualified(name)} LIMIT 0").columns
        except TableNotFoundError:
            return None
        return {c.name: str(c.type) for c in columns}

    def _create(
        self,
        name: str,
        types: Mapping[str, str],
        partitioned_by: Sequence[str],
        properties: Mapping[str, str],
    ) -> None:
        columns = _defined({c: t for c, t in types.items() if c not in partitioned_by})
        partitions = _defined({c: types[c] for c in partitioned_by})
        clauses = ", ".join(f"{literal(key)}={literal(v)}" for key, v in properties.items())
        self.session.sql(
            f"CREATE TABLE {_qualified(name)} ({columns})"
            + (f" PARTITIONED BY ({partitions})" if partitions else "")
            + " STORED AS ORC"
            + (f" TBLPROPERTIES ({clauses})" if clauses else "")
        )

    @contextmanager
    def _staged(self, rows: pa.Table) -> Iterator[None]:
        from pyarrow import orc

        types = {field.name: sql_type(field) for field in rows.schema}
        with TemporaryDirectory() as folder:
            path = os.path.join(folder, "rows.orc")
            orc.write_table(rows, path)
            self.session.sql(f"CREATE TABLE {_SOURCE} ({_defined(types)}) STORED AS ORC")
            try:
                self.session.sql(f"LOAD DATA LOCAL INPATH {literal(path)} INTO TABLE {_SOURCE}")
                yield
            finally:
                self.session.sql(f"DROP TABLE {_SOURCE}")

    @contextmanager
    def _no_spark(self) -> Iterator[None]:
        before = self.session.settings.text(ENGINE)
        self.session.settings.set(ENGINE, "local")
        try:
            yield
        finally:
            self.session.settings.set(ENGINE, before)


def sql_type(field: pa.Field) -> str:
    """The column type that holds an Arrow field's values. DataError where none does."""
    kind: Any = field.type
    if pa.types.is_dictionary(kind):
        return sql_type(field.with_type(kind.value_type))
    if pa.types.is_integer(kind):
        bits = kind.bit_width if pa.types.is_signed_integer(kind) else kind.bit_width + 1
        for width, name in _INTEGERS:
            if bits <= width:
                return name
    if pa.types.is_decimal(kind) and kind.precision <= 38 and kind.scale >= 0:
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_timestamp(kind) and kind.tz is None:
        return "timestamp"
    for is_kind, name in _NAMES:
        if is_kind(kind):
            return name
    return _nested_type(field)


def _nested_type(field: pa.Field) -> str:
    kind: Any = field.type
    if pa.types.is_map(kind):
        return f"map<{sql_type(kind.key_field)},{sql_type(kind.item_field)}>"
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return f"array<{sql_type(kind.value_field)}>"
    if pa.types.is_struct(kind):
        members = ",".join(f"{quoted(member.name)}:{sql_type(member)}" for member in kind)
        return f"struct<{members}>"
    raise DataError(f'column "{field.name}" has the type {kind}, which SQL has not')


def _check_names(rows: pa.Table, names: Sequence[str]) -> None:
    for name in names:
        if name not in rows.column_names:
            raise DataError(f'the rows have no column "{name}"')


def _rows_of(source: object, types: Mapping[str, str], folder: Path) -> pa.Table:
    """The rows of a source, in the Arrow types of their columns, whose names are in lower case."""
    wanted = {name.lower(): arrow_type(parse_type(text)) for name, text in types.items()}
    try:
        rows = (
            _csv_rows(folder / source, wanted)
            if isinstance(source, str | os.PathLike)
            else pa.table(source)
        )
        rows = rows.rename_columns([name.lower() for name in rows.column_names])
        fields = [
            pa.field(f.name, wanted.get(f.name) or arrow_type(parse_type(sql_type(f))))
            for f in rows.schema
        ]
        return rows.cast(pa.schema(fields))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise DataError(str(error)) from error


def _csv_rows(path: Path, types: Mapping[str, pa.DataType]) -> pa.Table:
    from csv import reader

    from pyarrow import csv

    with path.open(encoding="utf-8-sig", newline="") as file:
        header = next(reader(file), [])
    return csv.read_csv(
        path,
        parse_options=csv.ParseOptions(newlines_in_values=True),
        convert_options=csv.ConvertOptions(
            column_types={name: types[name.lower()] for name in header if name.lower() in types},
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )


def _defined(types: Mapping[str, str]) -> str:
    return ", ".join(f"{quoted(name)} {text}" for name, text in types.items())


def _qualified(name: str) -> str:
    return ".".join(quoted(part) for part in name.split("."))
