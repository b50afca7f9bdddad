"""A directory of exports of an embedded Derby database: ``TBLS.csv``, ``SDS.csv``, one for each
table, as Derby's SYSCS_EXPORT_QUERY writes them. They are read as the tables they came from.

An embedded Derby is one process's own, so nobody else can ask it; its exports are made while no
metastore runs, and so are of one moment.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, create_engine, text
from sqlalchemy.pool import StaticPool

from acidsql.attach.sources.metastore import OPTIONAL, TABLES
from acidsql.errors import BindError
from acidsql.files.fileio import FileIO
from acidsql.metastore.hive.authorizers import check_tells
from acidsql.settings import Settings

_TABLES_FILE = "TBLS.csv"
_TEXTS = frozenset(
    "NAME CTLG_NAME TBL_NAME TBL_TYPE LOCATION INPUT_FORMAT SLIB COLUMN_NAME".split()
)
_TEXTS |= frozenset("TYPE_NAME COMMENT PKEY_NAME PKEY_TYPE PKEY_COMMENT PARAM_KEY".split())
_TEXTS |= frozenset("PARAM_VALUE BUCKET_COL_NAME PART_KEY_VAL NWI_DATABASE NWI_TABLE".split())
_TEXTS |= frozenset("T2W_DATABASE T2W_TABLE TXN_STATE DB_LOCATION_URI".split())


def is_derby_dump(files: FileIO, path: str) -> bool:
    """Whether a path is that of such a directory."""
    return files.exists(f"{path}/{_TABLES_FILE}")


def export_statements(directory: str) -> Iterator[str]:
    """The calls that make one, for Derby's ij. Hive 4 has no NEXT_TXN_ID: that call fails there."""
    for name, columns in TABLES.items():
        listed = ", ".join(f'"{column}"' for column in columns)
        yield (
            f"CALL SYSCS_UTIL.SYSCS_EXPORT_QUERY('SELECT {listed} FROM APP.{name}',"
            f" '{directory}/{name}.csv', NULL, NULL, 'UTF-8');"
        )


@contextmanager
def exported(files: FileIO, path: str, settings: Settings) -> Iterator[Connection]:
    """The tables of the exports. BindError for what is missing or no such export;
    NotSupportedError: see ``check_tells``.
    """
    check_tells(settings, f"that {path} tells of")
    engine = create_engine("sqlite://", poolclass=StaticPool)
    try:
        with engine.connect() as connection:
            for name, columns in TABLES.items():
                _load(connection, files, f"{path}/{name}.csv", name, columns)
            yield connection
    finally:
        engine.dispose()


def _load(
    connection: Connection, files: FileIO, path: str, name: str, columns: tuple[str, ...]
) -> None:
    if name in OPTIONAL and not files.exists(path):
        return
    rows = list(_rows(files, path, columns))
    kinds = ", ".join(f'"{one}" {"TEXT" if one in _TEXTS else "INTEGER"}' for one in columns)
    connection.execute(text(f'CREATE TABLE "{name}" ({kinds})'))
    if rows:
        marks = ", ".join(f":{one}" for one in columns)
        connection.execute(text(f'INSERT INTO "{name}" VALUES ({marks})'), rows)


def _rows(files: FileIO, path: str, columns: tuple[str, ...]) -> Iterator[dict[str, object]]:
    try:
        content = files.read(path).decode()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise BindError(f'cannot read the export "{path}": {reason}') from error
    for number, values in enumerate(csv.reader(io.StringIO(content, newline="")), 1):
        if len(values) != len(columns):
            raise BindError(
                f'row {number} of the export "{path}" has {len(values)} values,'
                f" and {len(columns)} are read: {', '.join(columns)}"
            )
        row: dict[str, object] = {}
        for column, value in zip(columns, values, strict=True):
            if column in _TEXTS:
                row[column] = value
            elif value and not value.lstrip("-").isdigit():
                raise BindError(f'row {number} of the export "{path}": {column} is "{value[:40]}"')
            else:
                row[column] = int(value) if value else None
        yield row
