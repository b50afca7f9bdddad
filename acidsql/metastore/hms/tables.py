"""Tables, partitions and databases as the structs of Hive's metastore, and back.

A struct that is written back is the one that was read, changed where the table is another: what we
know nothing of stays.
"""

from __future__ import annotations

import os.path
from collections.abc import Mapping, Sequence
from typing import Any

from acidsql.catalog.model import (
    DEFAULT_DATABASE,
    Bucketing,
    Column,
    Constraint,
    ConstraintKind,
    Database,
    FileFormat,
    Partition,
    Skew,
    SortColumn,
    Storage,
    Table,
    TableKind,
    TableName,
    View,
    recognized,
    storage_of,
)
from acidsql.catalog.statistics import KEYS, doubted
from acidsql.catalog.types import parse_type
from acidsql.errors import NotSupportedError
from acidsql.metastore.locations import local_path

Struct = dict[str, Any]
CATALOG = "hive"
BUCKETING_VERSION = "bucketing_version"
OLDEST_BUCKETING_VERSION = 1
ASCENDING, DESCENDING = 1, 0
_USER = 1
"""PrincipalType.USER."""
_COMMENT, _EXTERNAL, _CHANGED = "comment", "EXTERNAL", "transient_lastDdlTime"
_HIDDEN = KEYS | {_COMMENT, _EXTERNAL, _CHANGED}
"""Parameters that are no properties: statistics, and what the model says in other words."""


def given_path(location: str | None) -> str:
    """A location of the metastore's as files are opened by it."""
    if not location:
        return ""
    return (local_path(location) or location).rstrip("/")


def real_path(path: str) -> str:
    """The one spelling of a local path; the URL of another file system as it is."""
    return os.path.realpath(path) if path.startswith("/") else path


def sent_location(location: str) -> str:
    """A location for the metastore, which takes a path without a scheme for one on its own default
    file system.
    """
    return f"file:{location}" if location.startswith("/") else location


# ---- databases


def database_of(struct: Struct, *, managed: str, external: str) -> Database:
    """A database; its location is where its managed tables lie. ``managed``, ``external``: the
    metastore's directories of the two kinds of tables. Hive: Warehouse.getDatabaseManagedPath.
    """
    name, location = struct["name"], given_path(struct.get("locationUri"))
    if struct.get("managedLocationUri"):
        location = given_path(struct["managedLocationUri"])
    elif name == DEFAULT_DATABASE:
        location = managed or location
    elif external and managed and external != managed and f"{location}/".startswith(f"{external}/"):
        location = f"{managed}/{name}.db"
    return Database(
        name=name,
        location=location,
        comment=struct.get("description") or None,
        owner=struct.get("ownerName", ""),
        properties=struct.get("parameters", {}),
    )


def database_struct(database: Database) -> Struct:
    struct = {
        "name": database.name,
        "description": database.comment,
        "locationUri": sent_location(database.location) if database.location else None,
        "parameters": dict(database.properties),
        "ownerName": database.owner or None,
        "ownerType": _USER if database.owner else None,
        "catalogName": CATALOG,
    }
    return {key: value for key, value in struct.items() if value is not None}


# ---- tables


def table_of(struct: Struct, constraints: tuple[Constraint, ...] = ()) -> Table:
    """The table that a struct tells of. NotSupportedError for what is no table or view of ours.

    Its statistics are those on record, which nobody answers for: others change them, and not with
    their commits.
    """
    name = TableName(struct["dbName"].lower(), struct["tableName"].lower())
    kind = struct.get("tableType")
    if kind not in set(TableKind) - {TableKind.FRAME}:
        raise NotSupportedError(f"{name} is a {kind} in Hive, which acidsql does not know")
    storage, params = struct.get("sd", {}), struct.get("parameters", {})
    is_view = kind == TableKind.VIEW
    file_format, classes = (FileFormat.ORC, None) if is_view else recognized(_storage(storage))
    return Table(
        name=name,
        columns=_columns(storage.get("cols", [])),
        location="" if is_view else given_path(storage.get("location")),
        partition_columns=_columns(struct.get("partitionKeys", [])),
        bucketing=_bucketing(storage, params.get(BUCKETING_VERSION)),
        skew=_skew(storage),
        file_format=file_format,
        storage=classes,
        kind=TableKind(kind),
        constraints=constraints,
        view=(
            View(
                original=struct.get("viewOriginalText", ""),
                expanded=struct.get("viewExpandedText", ""),
            )
            if is_view
            else None
        ),
        properties={key: text for key, text in params.items() if key not in _HIDDEN},
        comment=params.get(_COMMENT),
        owner=struct.get("owner", ""),
        created_at=struct.get("createTime", 0),
        # Hive 3 tells no id: then a later table of the name has another time
        table_id=struct.get("id") or struct.get("createTime", 0),
        statistics=doubted({key: text for key, text in params.items() if key in KEYS}),
    )


def table_struct(table: Table, before: Struct | None = None) -> Struct:
    """The struct of a table: what ``before`` was, with what the table says."""
    struct: Struct = dict(before or {})
    kept = {key: text for key, text in struct.get("parameters", {}).items() if key in KEYS}
    struct |= {
        "tableName": table.name.table,
        "dbName": table.name.database,
        "catName": CATALOG,
        "owner": table.owner,
        "createTime": table.created_at,
        "sd": _storage_struct(table, struct.get("sd", {})),
        "partitionKeys": _fields(table.partition_columns),
        "parameters": kept | _parameters(table),
        "tableType": table.kind.value,
        "ownerType": struct.get("ownerType", _USER),
    }
    struct.setdefault("lastAccessTime", 0)
    struct.setdefault("retention", 0)
    if table.view is not None:
        struct |= {
            "viewOriginalText": table.view.original,
            "viewExpandedText": table.view.expanded,
        }
    return struct


def _parameters(table: Table) -> dict[str, str]:
    """The properties of a table as parameters, without statistics: no number that a client gives
    is to be believed.
    """
    params = {key: text for key, text in table.properties.items() if key not in KEYS}
    if table.bucketing is not None:
        params[BUCKETING_VERSION] = str(table.bucketing.version)
    if table.comment is not None:
        params[_COMMENT] = table.comment
    if table.kind is TableKind.EXTERNAL:
        params[_EXTERNAL] = "TRUE"
    return params


def _storage(storage: Struct) -> Storage:
    serde = storage.get("serdeInfo", {})
    properties = dict(serde.get("parameters", {}))
    if properties.get("serialization.format") == "1":  # which Hive writes down for every table
        del properties["serialization.format"]
    return Storage(
        input_format=storage.get("inputFormat", ""),
        output_format=storage.get("outputFormat", ""),
        serde=serde.get("serializationLib", ""),
        serde_properties=properties,
    )


def _storage_struct(table: Table, before: Struct) -> Struct:
    classes = storage_of(table)
    serde = dict(before.get("serdeInfo", {}))
    serde |= {
        "serializationLib": classes.serde,
        "parameters": {"serialization.format": "1"} | dict(classes.serde_properties),
    }
    bucketing, skew = table.bucketing, table.skew
    struct = dict(before)
    struct |= {
        "cols": _fields(table.columns),
        "inputFormat": classes.input_format,
        "outputFormat": classes.output_format,
        "compressed": before.get("compressed", False),
        "serdeInfo": serde,
        "numBuckets": before.get("numBuckets", -1) if bucketing is None else bucketing.count,
        "bucketCols": [] if bucketing is None else list(bucketing.columns),
        "sortCols": (
            []
            if bucketing is None
            else [
                {"col": one.name, "order": DESCENDING if one.descending else ASCENDING}
                for one in bucketing.sorted_by
            ]
        ),
        "parameters": before.get("parameters", {}),
        "storedAsSubDirectories": skew is not None and skew.directories,
    }
    if table.location:
        struct["location"] = sent_location(table.location)
    if skew is not None:
        struct["skewedInfo"] = {
            "skewedColNames": list(skew.columns),
            "skewedColValues": [list(value) for value in skew.values],
        }
    return struct


def _fields(columns: Sequence[Column]) -> list[Struct]:
    return [{"name": c.name, "type": str(c.type), "comment": c.comment} for c in columns]


def _columns(fields: Sequence[Struct]) -> tuple[Column, ...]:
    return tuple(
        Column(
            name=one["name"].lower(),
            type=parse_type(one["type"]),
            comment=one.get("comment"),
        )
        for one in fields
    )


def _bucketing(storage: Struct, version: str | None) -> Bucketing | None:
    count = storage.get("numBuckets", 0)
    if count <= 0:
        return None
    return Bucketing(
        columns=tuple(one.lower() for one in storage.get("bucketCols", [])),
        count=count,
        version=OLDEST_BUCKETING_VERSION if version is None else int(version),
        sorted_by=tuple(
            SortColumn(name=one["col"].lower(), descending=one.get("order") == DESCENDING)
            for one in storage.get("sortCols", [])
        ),
    )


def _skew(storage: Struct) -> Skew | None:
    skew = storage.get("skewedInfo", {})
    if not skew.get("skewedColNames"):
        return None
    return Skew(
        columns=tuple(skew["skewedColNames"]),
        values=tuple(tuple(value) for value in skew.get("skewedColValues", [])),
        directories=storage.get("storedAsSubDirectories", False),
    )


ENFORCED = {
    ConstraintKind.NOT_NULL: ("notNullConstraints", "nn_name", ""),
    ConstraintKind.DEFAULT: ("defaultConstraints", "dc_name", "default_value"),
    ConstraintKind.CHECK: ("checkConstraints", "dc_name", "check_expression"),
}
"""The kinds that hold for rows which are written: what the structs of each are called when a table
is made, and in each of them its name and its text.
"""


def constraints_of(
    not_null: Sequence[Struct], defaults: Sequence[Struct], checks: Sequence[Struct]
) -> tuple[Constraint, ...]:
    """The constraints that are enforced, by kind, then by name."""
    structs_of_kinds = (not_null, defaults, checks)
    return tuple(
        Constraint(
            kind=kind,
            name=one.get(name, ""),
            columns=(one["column_name"].lower(),) if one.get("column_name") else (),
            expression=one.get(expression),
            enabled=one.get("enable_cstr", False),
            validated=one.get("validate_cstr", False),
            rely=one.get("rely_cstr", False),
        )
        for (kind, (_, name, expression)), structs in zip(
            ENFORCED.items(), structs_of_kinds, strict=True
        )
        for one in sorted(structs, key=lambda struct: str(struct.get(name)))
    )


def constraint_structs(table: Table) -> dict[str, list[Struct]]:
    """The structs of the constraints of a new table that are enforced, as CREATE is told them."""
    structs: dict[str, list[Struct]] = {}
    for one in table.constraints:
        fields, name, expression = ENFORCED[one.kind]
        struct = {
            "catName": CATALOG,
            "table_db": table.name.database,
            "table_name": table.name.table,
            "column_name": one.columns[0] if one.columns else None,
            name: one.name,
            "enable_cstr": one.enabled,
            "validate_cstr": one.validated,
            "rely_cstr": one.rely,
        }
        if expression:
            struct[expression] = one.expression
        structs.setdefault(fields, []).append(struct)
    return structs


# ---- partitions


def partition_of(struct: Struct) -> Partition:
    params: Mapping[str, str] = struct.get("parameters", {})
    return Partition(
        values=tuple(struct.get("values", [])),
        location=given_path(struct.get("sd", {}).get("location")),
        properties={key: text for key, text in params.items() if key not in _HIDDEN},
        created_at=struct.get("createTime", 0),
        statistics=doubted({key: text for key, text in params.items() if key in KEYS}),
    )


def partition_struct(table: Struct, partition: Partition) -> Struct:
    """The struct of a new partition of the table that a struct tells of."""
    return {
        "values": list(partition.values),
        "dbName": table["dbName"],
        "tableName": table["tableName"],
        "catName": CATALOG,
        "createTime": partition.created_at,
        "lastAccessTime": 0,
        "sd": table["sd"] | {"location": sent_location(partition.location)},
        "parameters": {key: text for key, text in partition.properties.items() if key not in KEYS},
    }
