"""Which tables of Hive can be attached, and what of them is kept, whatever tells of them: a
metastore's database or its service.
"""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.attach.facts import PartitionFacts
from acidsql.catalog.model import Column, TableName
from acidsql.catalog.types import HiveType, parse_type
from acidsql.errors import BindError
from acidsql.files.urls import is_below, path_of, real_path

CATALOG = "hive"
VIEWS = {"VIRTUAL_VIEW": "a view", "MATERIALIZED_VIEW": "a materialized view"}
NAME_IT = "USING '..?table=sales.orders' says which table of Hive it is."
_STORED_AS_ORC = "Tables stored as ORC are attached."


def attachable_location(
    name: TableName,
    kind: str | None,
    location: str | None,
    input_format: str | None,
    serde: str | None,
) -> str:
    """Where a table lies, as files are opened by it. BindError for one that cannot be attached."""
    if kind in VIEWS:
        raise BindError(f"{name} is {VIEWS[kind]} in Hive", hint="Attach the tables that it reads.")
    if not location:
        raise BindError(f"{name} has no location in Hive")
    if not _is_orc(input_format) or not (serde or "").endswith(".OrcSerde"):
        format_name = input_format or serde or "a storage handler"
        raise BindError(f"{name} is read with {format_name}", hint=_STORED_AS_ORC)
    return path_of(location).rstrip("/")


def hive_column(table: TableName, name: str, type_name: str, comment: str | None) -> Column:
    """BindError for a type that is not read."""
    return Column(name=name.lower(), type=_type(table, name, type_name), comment=comment or None)


def _type(table: TableName, name: str, type_name: str) -> HiveType:
    try:
        return parse_type(type_name)
    except BindError as error:
        raise BindError(
            f'column "{name}" of {table} has a type that cannot be read: {type_name}',
            detail=error.message,
        ) from None


def hive_partition(
    table: TableName, home: str, values: Sequence[str], location: str, input_format: str | None
) -> PartitionFacts:
    """A partition of the table at ``home``. BindError for one in another format."""
    if not _is_orc(input_format):
        raise BindError(
            f"partition ({', '.join(values)}) of {table} is read with {input_format}",
            hint=_STORED_AS_ORC,
        )
    path = path_of(location).rstrip("/")
    return PartitionFacts(
        values=tuple(values),
        path=path[len(home) :].lstrip("/") if is_below(path, home) else path,
    )


def spellings(location: str) -> list[str]:
    """The ways in which a metastore may have a location written."""
    path = path_of(location)
    forms = {location, path}
    if path.startswith("/"):
        for one in (path, real_path(path)):
            forms |= {one, f"file:{one}", f"file://{one}"}
    else:
        scheme, _, rest = path.partition("://")
        if scheme.lower() in ("s3", "s3a", "s3n"):
            forms |= {f"{one}://{rest}" for one in ("s3", "s3a", "s3n")}
    return sorted({*forms, *(f"{one}/" for one in forms)})


def _is_orc(input_format: str | None) -> bool:
    return (input_format or "").endswith(".OrcInputFormat")
