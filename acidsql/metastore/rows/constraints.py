"""The constraints of a table as rows of KEY_CONSTRAINTS, one a column, and back.

Hive names columns by their ordinal: in the column list ``*_CD_ID``, or among the partition columns
where that is NULL. The table a rule is about is the PARENT, but for FOREIGN KEY, where the parent
is the table referred to and the CHILD has the rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from acidsql.catalog.model import Column, Constraint, ConstraintKind, Table, TableName
from acidsql.errors import TableNotFoundError
from acidsql.metastore.sql import (
    BigInteger,
    Connection,
    Row,
    bindparam,
    delete,
    insert,
    or_,
    select,
)
from acidsql.metastore.tables import COLUMNS_V2, DBS, KEY_CONSTRAINTS, PARTITION_KEYS, SDS, TBLS

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


_K = KEY_CONSTRAINTS.c
_ID = bindparam("id", type_=BigInteger)
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
_IDS = select(SDS.c.CD_ID).join(TBLS, TBLS.c.SD_ID == SDS.c.SD_ID).where(TBLS.c.TBL_ID == _ID)
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
