"""A table as rows of TBLS, CDS, COLUMNS_V2, PARTITION_KEYS, TABLE_PARAMS and its storage
descriptor, and back.

Hive keeps a table's comment and its bucketing version among the table's parameters; the former
comes back as ``Table.comment``, the latter stays visible as the property it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from acidsql.catalog.model import (
    Column,
    Constraint,
    ConstraintKind,
    FileFormat,
    Storage,
    Table,
    TableKind,
    TableName,
    View,
    recognized,
)
from acidsql.catalog.statistics import KEYS, doubted
from acidsql.catalog.types import parse_type
from acidsql.errors import TableNotFoundError
from acidsql.metastore.locations import given_location, stored_location
from acidsql.metastore.rows.statistics import change_tables
from acidsql.metastore.rows.storage import (
    BUCKETING_VERSION,
    delete_storage,
    insert_storage,
    read_bucketing,
    read_skew,
    read_storage,
)
from acidsql.metastore.sql import (
    BigInteger,
    Connection,
    Row,
    Select,
    bindparam,
    delete,
    exists,
    func,
    insert,
    or_,
    select,
    update,
)
from acidsql.metastore.store import insert_row
from acidsql.metastore.tables import (
    BUCKETING_COLS,
    CDS,
    COLUMNS_V2,
    DBS,
    KEY_CONSTRAINTS,
    PARTITION_KEYS,
    PARTITIONS,
    SDS,
    SERDE_PARAMS,
    SERDES,
    SKEWED_COL_NAMES,
    SORT_COLS,
    TABLE_PARAMS,
    TBLS,
)

# ---- constraints
#
# The constraints of a table as rows of KEY_CONSTRAINTS, one a column, and back.
#
# Hive names columns by their ordinal: in the column list ``*_CD_ID``, or among the partition
# columns where that is NULL. The table a rule is about is the PARENT, but for FOREIGN KEY, where
# the parent is the table referred to and the CHILD has the rule.


KINDS = tuple(ConstraintKind)
"""By their number in CONSTRAINT_TYPE: 0 PRIMARY KEY, 1 FOREIGN KEY, 2 UNIQUE, 3 NOT NULL, 4
DEFAULT, 5 CHECK, as in Hive.
"""
_FOREIGN_KEY = KINDS.index(ConstraintKind.FOREIGN_KEY)
_NO_COLUMN = -1
_ENABLE, _VALIDATE, _RELY = 4, 2, 1


def insert_constraints(connection: Connection, table: Table, tbl_id: int, cd_id: int) -> None:
    """Stores the constraints of a table. TableNotFoundError if the parent of a foreign key is
    gone.
    """
    names = [c.name for c in table.columns]
    keys = [c.name for c in table.partition_columns]
    for constraint in table.constraints:
        for row in _rows(connection, constraint, tbl_id, cd_id, names, keys):
            connection.execute(insert(KEY_CONSTRAINTS).values(row | _common(constraint)))


def change_constraints(connection: Connection, before: Table, after: Table) -> None:
    """Has a stored table have the constraints of ``after`` that it had not, by their names, and no
    others than those of ``after``.
    """
    known = {one.name for one in before.constraints}
    left = {one.name for one in after.constraints}
    if gone := known - left:
        # one of another table that refers to this one may have the same name
        about = (_K.PARENT_TBL_ID == after.table_id) & (_K.CONSTRAINT_TYPE != _FOREIGN_KEY)
        own = or_(_K.CHILD_TBL_ID == after.table_id, about)
        connection.execute(delete(KEY_CONSTRAINTS).where(own, _K.CONSTRAINT_NAME.in_(gone)))
    added = tuple(one for one in after.constraints if one.name not in known)
    if added:
        cd_id = connection.execute(_IDS, {"id": after.table_id}).one().CD_ID
        insert_constraints(connection, replace(after, constraints=added), after.table_id, cd_id)


def read_constraints(
    connection: Connection, tbl_id: int, columns: Sequence[Column], keys: Sequence[Column]
) -> tuple[Constraint, ...]:
    """The constraints of a table, by kind, then by name."""
    rows = connection.execute(_OF_TABLE, {"id": tbl_id, "foreign": _FOREIGN_KEY})
    grouped = groupby(rows, key=lambda row: (row.CONSTRAINT_TYPE, row.CONSTRAINT_NAME))
    return tuple(_constraint(connection, list(group), columns, keys) for _, group in grouped)


def _common(constraint: Constraint) -> dict[str, Any]:
    flags = (
        (constraint.enabled and _ENABLE)
        | (constraint.validated and _VALIDATE)
        | (constraint.rely and _RELY)
    )
    return {
        "CONSTRAINT_NAME": constraint.name,
        "CONSTRAINT_TYPE": KINDS.index(constraint.kind),
        "ENABLE_VALIDATE_RELY": flags,
        "DEFAULT_VALUE": constraint.expression,
    }


def _rows(
    connection: Connection,
    constraint: Constraint,
    tbl_id: int,
    cd_id: int,
    columns: list[str],
    keys: list[str],
) -> Iterator[dict[str, Any]]:
    own = [_ordinal(name, cd_id, columns, keys) for name in constraint.columns] or [
        (None, _NO_COLUMN)
    ]
    if constraint.references is None:
        for position, (list_id, ordinal) in enumerate(own, start=1):
            yield {
                "PARENT_TBL_ID": tbl_id,
                "PARENT_CD_ID": list_id,
                "PARENT_INTEGER_IDX": ordinal,
                "POSITION": position,
            }
        return
    parent_id, parent_cd, their_columns, their_keys = _parent(connection, constraint.references)
    for position, ((list_id, ordinal), name) in enumerate(
        zip(own, constraint.referenced_columns, strict=True), start=1
    ):
        parent_list, parent_ordinal = _ordinal(name, parent_cd, their_columns, their_keys)
        child = {"CHILD_TBL_ID": tbl_id, "CHILD_CD_ID": list_id, "CHILD_INTEGER_IDX": ordinal}
        parent = {
            "PARENT_TBL_ID": parent_id,
            "PARENT_CD_ID": parent_list,
            "PARENT_INTEGER_IDX": parent_ordinal,
        }
        yield {**child, **parent, "POSITION": position}


def _ordinal(name: str, cd_id: int, columns: list[str], keys: list[str]) -> tuple[int | None, int]:
    return (cd_id, columns.index(name)) if name in columns else (None, keys.index(name))


def _parent(connection: Connection, name: TableName) -> tuple[int, int, list[str], list[str]]:
    row = connection.execute(_TABLE, {"database": name.database, "table": name.table}).first()
    if row is None:
        raise TableNotFoundError(f"Parent table not found: {name}")
    columns = list(connection.scalars(_COLUMN_NAMES, {"id": row.CD_ID}))
    return row.TBL_ID, row.CD_ID, columns, list(connection.scalars(_KEY_NAMES, {"id": row.TBL_ID}))


def _constraint(
    connection: Connection,
    rows: list[Row[*tuple[Any, ...]]],
    columns: Sequence[Column],
    keys: Sequence[Column],
) -> Constraint:
    first = rows[0]
    kind = KINDS[first.CONSTRAINT_TYPE]
    side = "CHILD" if kind is ConstraintKind.FOREIGN_KEY else "PARENT"
    own = [
        _name(getattr(r, f"{side}_CD_ID"), getattr(r, f"{side}_INTEGER_IDX"), columns, keys)
        for r in rows
    ]
    references, referenced = (
        _reference(connection, rows) if kind is ConstraintKind.FOREIGN_KEY else (None, ())
    )
    return Constraint(
        kind=kind,
        name=first.CONSTRAINT_NAME,
        columns=tuple(name for name in own if name is not None),
        expression=first.DEFAULT_VALUE,
        references=references,
        referenced_columns=referenced,
        enabled=bool(first.ENABLE_VALIDATE_RELY & _ENABLE),
        validated=bool(first.ENABLE_VALIDATE_RELY & _VALIDATE),
        rely=bool(first.ENABLE_VALIDATE_RELY & _RELY),
    )


def _name(
    list_id: int | None, ordinal: int, columns: Sequence[Column], keys: Sequence[Column]
) -> str | None:
    if ordinal == _NO_COLUMN:
        return None
    return (keys if list_id is None else columns)[ordinal].name


def _reference(
    connection: Connection, rows: list[Row[*tuple[Any, ...]]]
) -> tuple[TableName, tuple[str, ...]]:
    parent = connection.execute(_NAME_OF_TABLE, {"id": rows[0].PARENT_TBL_ID}).one()
    name = TableName(parent.NAME, parent.TBL_NAME)
    columns = list(
        connection.scalars(
            _COLUMN_NAMES, {"id": next((r.PARENT_CD_ID for r in rows if r.PARENT_CD_ID), 0)}
        )
    )
    keys = list(connection.scalars(_KEY_NAMES, {"id": rows[0].PARENT_TBL_ID}))
    return name, tuple(
        (keys if r.PARENT_CD_ID is None else columns)[r.PARENT_INTEGER_IDX] for r in rows
    )


_ID = bindparam("id", type_=BigInteger)
_K = KEY_CONSTRAINTS.c
_IDS = (
    select(SDS.c.SD_ID, SDS.c.CD_ID)
    .join(TBLS, TBLS.c.SD_ID == SDS.c.SD_ID)
    .where(TBLS.c.TBL_ID == _ID)
)
_OF_TABLE = (
    select(KEY_CONSTRAINTS)
    .where(
        or_(
            _K.CHILD_TBL_ID == _ID,
            (_K.PARENT_TBL_ID == _ID) & (_K.CONSTRAINT_TYPE != bindparam("foreign")),
        )
    )
    .order_by(_K.CONSTRAINT_TYPE, _K.CONSTRAINT_NAME, _K.POSITION)
)
_TABLE = (
    select(TBLS.c.TBL_ID, SDS.c.CD_ID)
    .join(DBS, DBS.c.DB_ID == TBLS.c.DB_ID)
    .join(SDS, SDS.c.SD_ID == TBLS.c.SD_ID)
    .where(DBS.c.NAME == bindparam("database"), TBLS.c.TBL_NAME == bindparam("table"))
)
_NAME_OF_TABLE = (
    select(DBS.c.NAME, TBLS.c.TBL_NAME)
    .join(DBS, DBS.c.DB_ID == TBLS.c.DB_ID)
    .where(TBLS.c.TBL_ID == _ID)
)
_COLUMN_NAMES = (
    select(COLUMNS_V2.c.COLUMN_NAME)
    .where(COLUMNS_V2.c.CD_ID == _ID)
    .order_by(COLUMNS_V2.c.INTEGER_IDX)
)
_KEY_NAMES = (
    select(PARTITION_KEYS.c.PKEY_NAME)
    .where(PARTITION_KEYS.c.TBL_ID == _ID)
    .order_by(PARTITION_KEYS.c.INTEGER_IDX)
)


# ---- tables


COMMENT = "comment"


def insert_table(connection: Connection, table: Table, db_id: int, warehouse: str) -> int:
    """Returns the new table id."""
    cd_id = insert_row(connection, CDS)
    _insert_columns(connection, cd_id, table.columns)
    tbl_id = insert_row(
        connection,
        TBLS,
        DB_ID=db_id,
        SD_ID=insert_storage(connection, table, cd_id, warehouse),
        TBL_NAME=table.name.table,
        TBL_TYPE=table.kind.value,
        OWNER=table.owner,
        CREATE_TIME=table.created_at,
        **_view_texts(table),
    )
    keys = [
        {
            "TBL_ID": tbl_id,
            "PKEY_NAME": c.name,
            "PKEY_TYPE": str(c.type),
            "PKEY_COMMENT": c.comment,
            "INTEGER_IDX": i,
        }
        for i, c in enumerate(table.partition_columns)
    ]
    if keys:
        connection.execute(insert(PARTITION_KEYS), keys)
    _insert_params(connection, tbl_id, table)
    change_tables(connection, [tbl_id], lambda _, before: table.statistics)
    insert_constraints(connection, table, tbl_id, cd_id)
    return tbl_id


def update_table(connection: Connection, table: Table) -> None:
    """Kind, properties, comment, columns and view texts of a stored table become those of
    ``table``; the rest stays.

    So do statistics, but for those that somebody sets as if they were properties: nobody answers
    for them.
    """
    tbl_id = table.table_id
    connection.execute(
        update(TBLS)
        .where(TBLS.c.TBL_ID == tbl_id)
        .values(TBL_TYPE=table.kind.value, **_view_texts(table))
    )
    connection.execute(
        delete(TABLE_PARAMS).where(
            TABLE_PARAMS.c.TBL_ID == tbl_id, TABLE_PARAMS.c.PARAM_KEY.not_in(KEYS)
        )
    )
    _insert_params(connection, tbl_id, table)
    given = {key: text for key, text in table.properties.items() if key in KEYS}
    if given:
        change_tables(connection, [tbl_id], lambda _, before: doubted({**before, **given}))
    cd_id = connection.execute(_IDS, {"id": tbl_id}).one().CD_ID
    connection.execute(delete(COLUMNS_V2).where(COLUMNS_V2.c.CD_ID == cd_id))
    _insert_columns(connection, cd_id, table.columns)


def update_bucketing(connection: Connection, table: Table) -> None:
    """The names of the bucketing and sort columns of a stored table, and of its partitions, become
    those of ``table``; their number stays.
    """
    if table.bucketing is None:
        return
    storages = select(TBLS.c.SD_ID).where(TBLS.c.TBL_ID == table.table_id)
    storages_too = select(PARTITIONS.c.SD_ID).where(PARTITIONS.c.TBL_ID == table.table_id)
    for columns, name, names in (
        (BUCKETING_COLS, BUCKETING_COLS.c.BUCKET_COL_NAME, table.bucketing.columns),
        (SORT_COLS, SORT_COLS.c.COLUMN_NAME, tuple(key.name for key in table.bucketing.sorted_by)),
    ):
        of_table = or_(columns.c.SD_ID.in_(storages), columns.c.SD_ID.in_(storages_too))
        for ordinal, new in enumerate(names):
            connection.execute(
                update(columns)
                .where(of_table, columns.c.INTEGER_IDX == ordinal)
                .values({name: new})
            )


def rename_table(
    connection: Connection, before: Table, after: Table, db_id: int, warehouse: str
) -> None:
    """A stored table gets the name and the properties of ``after``, and its location; partitions
    below the old one are below the new one.
    """
    connection.execute(
        update(TBLS)
        .where(TBLS.c.TBL_ID == before.table_id)
        .values(TBL_NAME=after.name.table, DB_ID=db_id)
    )
    update_table(connection, after)
    if after.location == before.location:
        return
    update_location(connection, after, warehouse)
    for sd_id, stored in connection.execute(_PARTITION_LOCATIONS, {"id": before.table_id}).all():
        location = given_location(stored, warehouse)
        if location.startswith(f"{before.location}/"):
            moved = stored_location(
                after.location + location.removeprefix(before.location), warehouse
            )
            connection.execute(update(SDS).where(SDS.c.SD_ID == sd_id).values(LOCATION=moved))


def update_location(connection: Connection, table: Table, warehouse: str) -> None:
    """A stored table lies where ``table`` says; its partitions stay where they are."""
    sd_id = connection.execute(_IDS, {"id": table.table_id}).one().SD_ID
    connection.execute(
        update(SDS)
        .where(SDS.c.SD_ID == sd_id)
        .values(LOCATION=stored_location(table.location, warehouse))
    )


def delete_table(connection: Connection, table_id: int) -> None:
    """Deletes a table with its partitions, and with the foreign keys that refer to it."""
    ids = connection.execute(_IDS, {"id": table_id}).one()
    storages = [
        ids.SD_ID,
        *connection.scalars(select(PARTITIONS.c.SD_ID).where(PARTITIONS.c.TBL_ID == table_id)),
    ]
    connection.execute(delete(TBLS).where(TBLS.c.TBL_ID == table_id))
    delete_storage(connection, storages)
    connection.execute(delete(CDS).where(CDS.c.CD_ID == ids.CD_ID))


def find_table(connection: Connection, name: TableName, warehouse: str) -> Table | None:
    row = connection.execute(_HEAD, {"database": name.database, "table": name.table}).first()
    if row is None:
        return None
    params = {
        param.PARAM_KEY: param.PARAM_VALUE
        for param in connection.execute(_PARAMS, {"id": row.TBL_ID})
    }
    columns = _columns(connection, _COLUMNS, row.CD_ID)
    keys = _columns(connection, _KEYS, row.TBL_ID) if row.HAS_KEYS else ()
    kind = TableKind(row.TBL_TYPE)
    file_format, storage = _format(kind, read_storage(connection, row))
    return Table(
        name=name,
        columns=columns,
        location=given_location(row.LOCATION, warehouse) if kind is not TableKind.VIEW else "",
        partition_columns=keys,
        bucketing=read_bucketing(connection, row, params.get(BUCKETING_VERSION)),
        skew=read_skew(connection, row),
        file_format=file_format,
        storage=storage,
        kind=kind,
        constraints=(
            read_constraints(connection, row.TBL_ID, columns, keys) if row.HAS_CONSTRAINTS else ()
        ),
        view=(
            View(original=row.VIEW_ORIGINAL_TEXT or "", expanded=row.VIEW_EXPANDED_TEXT or "")
            if kind is TableKind.VIEW
            else None
        ),
        comment=params.pop(COMMENT, None),
        properties={key: value for key, value in params.items() if key not in KEYS},
        statistics={key: value for key, value in params.items() if key in KEYS},
        owner=row.OWNER or "",
        created_at=row.CREATE_TIME,
        table_id=row.TBL_ID,
    )


def find_property(connection: Connection, name: TableName, key: str) -> str | None:
    """One property of a table; None where it has none, or there is no such table."""
    named = {"database": name.database, "table": name.table, "key": key}
    value: str | None = connection.scalar(_PROPERTY, named)
    return value


def table_locations(connection: Connection, warehouse: str) -> tuple[tuple[TableName, str], ...]:
    """Every table that has files, and where; after them the partitions that do not lie below their
    table.
    """
    rows = [
        *connection.execute(_LOCATIONS, {"view": TableKind.VIEW.value}),
        *connection.execute(_LOCATIONS_ELSEWHERE),
    ]
    return tuple(
        (TableName(row.NAME, row.TBL_NAME), given_location(row.LOCATION, warehouse)) for row in rows
    )


def _insert_columns(connection: Connection, cd_id: int, columns: tuple[Column, ...]) -> None:
    rows = [
        {
            "CD_ID": cd_id,
            "COLUMN_NAME": c.name,
            "TYPE_NAME": str(c.type),
            "COMMENT": c.comment,
            "INTEGER_IDX": i,
        }
        for i, c in enumerate(columns)
    ]
    connection.execute(insert(COLUMNS_V2), rows)


def _insert_params(connection: Connection, tbl_id: int, table: Table) -> None:
    params = {key: value for key, value in table.properties.items() if key not in KEYS}
    if table.bucketing:
        params[BUCKETING_VERSION] = str(table.bucketing.version)
    if table.comment is not None:
        params[COMMENT] = table.comment
    rows = [
        {"TBL_ID": tbl_id, "PARAM_KEY": key, "PARAM_VALUE": value} for key, value in params.items()
    ]
    if rows:
        connection.execute(insert(TABLE_PARAMS), rows)


def _view_texts(table: Table) -> dict[str, str | None]:
    view = table.view
    return {
        "VIEW_ORIGINAL_TEXT": view.original if view else None,
        "VIEW_EXPANDED_TEXT": view.expanded if view else None,
    }


def _columns(connection: Connection, query: Select[Any, Any, Any], key: int) -> tuple[Column, ...]:
    rows = connection.execute(query, {"id": key})
    return tuple(
        Column(name=name, type=parse_type(text), comment=comment) for name, text, comment in rows
    )


def _format(kind: TableKind, storage: Storage) -> tuple[FileFormat, Storage | None]:
    return (FileFormat.ORC, None) if kind is TableKind.VIEW else recognized(storage)


_HEAD = (
    select(
        TBLS,
        SDS,
        SERDES.c.SLIB,
        exists().where(PARTITION_KEYS.c.TBL_ID == TBLS.c.TBL_ID).label("HAS_KEYS"),
        exists().where(SERDE_PARAMS.c.SERDE_ID == SDS.c.SERDE_ID).label("HAS_SERDE_PARAMS"),
        exists().where(SKEWED_COL_NAMES.c.SD_ID == SDS.c.SD_ID).label("HAS_SKEW"),
        exists()
        .where(or_(_K.PARENT_TBL_ID == TBLS.c.TBL_ID, _K.CHILD_TBL_ID == TBLS.c.TBL_ID))
        .label("HAS_CONSTRAINTS"),
    )
    .join(DBS, DBS.c.DB_ID == TBLS.c.DB_ID)
    .join(SDS, SDS.c.SD_ID == TBLS.c.SD_ID)
    .join(SERDES, SERDES.c.SERDE_ID == SDS.c.SERDE_ID)
    .where(DBS.c.NAME == bindparam("database"), TBLS.c.TBL_NAME == bindparam("table"))
)
_PARAMS = (
    select(TABLE_PARAMS.c.PARAM_KEY, TABLE_PARAMS.c.PARAM_VALUE)
    .where(TABLE_PARAMS.c.TBL_ID == _ID)
    .order_by(TABLE_PARAMS.c.PARAM_KEY)
)
_PROPERTY = (
    select(TABLE_PARAMS.c.PARAM_VALUE)
    .join(TBLS, TBLS.c.TBL_ID == TABLE_PARAMS.c.TBL_ID)
    .join(DBS, DBS.c.DB_ID == TBLS.c.DB_ID)
    .where(
        DBS.c.NAME == bindparam("database"),
        TBLS.c.TBL_NAME == bindparam("table"),
        TABLE_PARAMS.c.PARAM_KEY == bindparam("key"),
    )
)
_COLUMNS = (
    select(COLUMNS_V2.c.COLUMN_NAME, COLUMNS_V2.c.TYPE_NAME, COLUMNS_V2.c.COMMENT)
    .where(COLUMNS_V2.c.CD_ID == _ID)
    .order_by(COLUMNS_V2.c.INTEGER_IDX)
)
_KEYS = (
    select(PARTITION_KEYS.c.PKEY_NAME, PARTITION_KEYS.c.PKEY_TYPE, PARTITION_KEYS.c.PKEY_COMMENT)
    .where(PARTITION_KEYS.c.TBL_ID == _ID)
    .order_by(PARTITION_KEYS.c.INTEGER_IDX)
)
_LOCATIONS = (
    select(DBS.c.NAME, TBLS.c.TBL_NAME, SDS.c.LOCATION)
    .join(DBS, DBS.c.DB_ID == TBLS.c.DB_ID)
    .join(SDS, SDS.c.SD_ID == TBLS.c.SD_ID)
    .where(TBLS.c.TBL_TYPE != bindparam("view"))
)
_PARTITION_LOCATIONS = (
    select(SDS.c.SD_ID, SDS.c.LOCATION)
    .join(PARTITIONS, PARTITIONS.c.SD_ID == SDS.c.SD_ID)
    .where(PARTITIONS.c.TBL_ID == _ID)
)
_PARTITION_SDS = SDS.alias()
_LOCATIONS_ELSEWHERE = (
    select(DBS.c.NAME, TBLS.c.TBL_NAME, _PARTITION_SDS.c.LOCATION)
    .join(TBLS, TBLS.c.DB_ID == DBS.c.DB_ID)
    .join(SDS, SDS.c.SD_ID == TBLS.c.SD_ID)
    .join(PARTITIONS, PARTITIONS.c.TBL_ID == TBLS.c.TBL_ID)
    .join(_PARTITION_SDS, _PARTITION_SDS.c.SD_ID == PARTITIONS.c.SD_ID)
    .where(
        func.substr(_PARTITION_SDS.c.LOCATION, 1, func.length(SDS.c.LOCATION) + 1)
        != SDS.c.LOCATION + "/"
    )
)


def find_table_id(connection: Connection, db_id: int, table: str) -> int | None:
    """The TBL_ID of a table of a database."""
    return connection.scalar(
        select(TBLS.c.TBL_ID).where(TBLS.c.DB_ID == db_id, TBLS.c.TBL_NAME == table)
    )


def list_names(
    connection: Connection, db_id: int, kind: TableKind | None = None
) -> tuple[str, ...]:
    """The sorted names of the tables of a database, of all kinds or one."""
    query = select(TBLS.c.TBL_NAME).where(TBLS.c.DB_ID == db_id).order_by(TBLS.c.TBL_NAME)
    return tuple(
        connection.scalars(query if kind is None else query.where(TBLS.c.TBL_TYPE == kind.value))
    )
