"""Tables, partitions and databases as the structs of Hive's metastore, and back.

A struct that is written back is the one that was read, changed where the table is another: what we
know nothing of stays.
"""

from __future__ import annotations

import os.path
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
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
from acidsql.lazy import dataclass
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Words:
    """What the structs of a kind of constraint are called when a table is made, and in each of them
    its name, its column and its text. ``is_key``: there is a struct for each column.
    """

    fields: str
    name: str
    column: str = "column_name"
    expression: str = ""
    is_key: bool = False


_WORDS = {
    ConstraintKind.PRIMARY_KEY: _Words(fields="primaryKeys", name="pk_name", is_key=True),
    ConstraintKind.FOREIGN_KEY: _Words(
        fields="foreignKeys", name="fk_name", column="fkcolumn_name", is_key=True
    ),
    ConstraintKind.UNIQUE: _Words(fields="uniqueConstraints", name="uk_name", is_key=True),
    ConstraintKind.NOT_NULL: _Words(fields="notNullConstraints", name="nn_name"),
    ConstraintKind.DEFAULT: _Words(
        fields="defaultConstraints", name="dc_name", expression="default_value"
    ),
    ConstraintKind.CHECK: _Words(
        fields="checkConstraints", name="dc_name", expression="check_expression"
    ),
}


def constraints_of(structs: Mapping[str, Sequence[Struct]]) -> tuple[Constraint, ...]:
    """The constraints of a table, by kind, then by name. ``structs``: by what they are called when
    it is made.
    """
    return tuple(
        _constraint(kind, words, list(group))
        for kind, words in _WORDS.items()
        for _, group in _by_constraint(structs.get(words.fields, []), words)
    )


def _by_constraint(structs: Sequence[Struct], words: _Words) -> Iterator[tuple[Any, Any]]:
    """The structs of each constraint."""

    def key(struct: Struct) -> tuple[str, object]:
        return str(struct.get(words.name)), 0 if words.is_key else id(struct)

    ordered = sorted(structs, key=lambda one: (*key(one), one.get("key_seq", 0)))
    return groupby(ordered, key)


def _constraint(kind: ConstraintKind, words: _Words, structs: Sequence[Struct]) -> Constraint:
    first = structs[0]
    parent = None
    if kind is ConstraintKind.FOREIGN_KEY:
        parent = TableName(first["pktable_db"].lower(), first["pktable_name"].lower())
    return Constraint(
        kind=kind,
        name=first.get(words.name, ""),
        columns=tuple(one[words.column].lower() for one in structs if one.get(words.column)),
        expression=first.get(words.expression),
        references=parent,
        referenced_columns=(
            () if parent is None else tuple(one["pkcolumn_name"].lower() for one in structs)
        ),
        enabled=first.get("enable_cstr", False),
        validated=first.get("validate_cstr", False),
        rely=first.get("rely_cstr", False),
    )


def constraint_structs(
    name: TableName, constraints: Iterable[Constraint]
) -> dict[str, list[Struct]]:
    """The structs of constraints, by what they are called when a table is made."""
    structs: dict[str, list[Struct]] = {}
    for one in constraints:
        structs.setdefault(_WORDS[one.kind].fields, []).extend(_constraint_structs(name, one))
    return structs


def _constraint_structs(name: TableName, one: Constraint) -> Iterator[Struct]:
    """One struct for each column, or one where there are none."""
    words = _WORDS[one.kind]
    common = {
        "catName": CATALOG,
        words.name: one.name,
        "enable_cstr": one.enabled,
        "validate_cstr": one.validated,
        "rely_cstr": one.rely,
    }
    if one.references is None:
        common |= {"table_db": name.database, "table_name": name.table}
    else:
        common |= {
            "fktable_db": name.database,
            "fktable_name": name.table,
            "pktable_db": one.references.database,
            "pktable_name": one.references.table,
            "update_rule": 0,
            "delete_rule": 0,
        }
    if words.expression:
        common[words.expression] = one.expression
    for number, column in enumerate(one.columns or (None,)):
        struct = common | {words.column: column}
        if words.is_key:
            struct["key_seq"] = number + 1
        if one.references is not None:
            struct["pkcolumn_name"] = one.referenced_columns[number]
        yield struct


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
