"""At which write id the next table of a name begins: at the first one, unless somebody read the one
that had the name when it was dropped or renamed; then behind that one's.

A DataFrame names files where they were. So no file of the next table has the name of one of those,
and the DataFrame finds nothing, where it would have found the rows of another table.
"""

from __future__ import annotations

from acidsql.acid.ids import FIRST_WRITE_ID, WriteId
from acidsql.catalog.model import TableName
from acidsql.errors import WriteConflictError
from acidsql.metastore.rows.readers import is_read
from acidsql.metastore.sql import Connection, and_, bindparam, delete, insert, select
from acidsql.metastore.tables import ATTACHED_NEXT, NEXT_WRITE_ID

_NWI = NEXT_WRITE_ID.c
_OF_TABLE = and_(bindparam("database") == _NWI.NWI_DATABASE, bindparam("table") == _NWI.NWI_TABLE)
_NEXT = select(_NWI.NWI_NEXT).where(_OF_TABLE)
_FORGET = delete(NEXT_WRITE_ID).where(_OF_TABLE)
_INSERT = insert(NEXT_WRITE_ID)


def next_write_id(connection: Connection, table: TableName) -> WriteId:
    """The one that is given out next on a table, or first on one to come."""
    return WriteId(connection.scalar(_NEXT, _named(table)) or FIRST_WRITE_ID)


def begin_behind(connection: Connection, table: TableName, write_id: WriteId) -> None:
    """Has no write id up to ``write_id`` given out any more: without rows they are committed."""
    if next_write_id(connection, table) <= write_id:
        connection.execute(_FORGET, _named(table))
        first = {"NWI_DATABASE": table.database, "NWI_TABLE": table.table}
        connection.execute(_INSERT, {**first, "NWI_NEXT": write_id + 1})


def begin_attached(connection: Connection, table: TableName) -> None:
    """Has a table have the write ids that its properties tell, and give out none.
    WriteConflictError as for ``begin_with``.
    """
    begin_with(connection, table, FIRST_WRITE_ID)
    end_here(connection, table)


def end_here(connection: Connection, table: TableName) -> None:
    """Has a table give out no write ids any more: others do."""
    connection.execute(_FORGET, _named(table))
    first = {"NWI_DATABASE": table.database, "NWI_TABLE": table.table}
    connection.execute(_INSERT, {**first, "NWI_NEXT": ATTACHED_NEXT})


def begin_anew(connection: Connection, table: TableName, write_id: WriteId) -> None:
    """Has a table that gave out none give out those behind ``write_id``."""
    connection.execute(_FORGET, _named(table))
    begin_behind(connection, table, write_id)


def begin_with(connection: Connection, table: TableName, write_id: WriteId) -> None:
    """Has a new table begin with files of ``write_id``. WriteConflictError if files that somebody
    looks for may have its name.
    """
    if next_write_id(connection, table) > write_id:
        raise WriteConflictError(
            f'another table "{table}" was there meanwhile', hint="Run the statement again."
        )
    begin_behind(connection, table, write_id)


def leave_write_ids(connection: Connection, table: TableName) -> None:
    """Says where the next table begins, of one that loses its name now."""
    is_attached = connection.scalar(_NEXT, _named(table)) == ATTACHED_NEXT
    if is_attached or not is_read(connection, table):  # the files of an attached one lie elsewhere
        connection.execute(_FORGET, _named(table))


def rename_write_ids(connection: Connection, old: TableName, new: TableName) -> None:
    """Gives a table's write ids its new name."""
    begin_behind(connection, new, WriteId(next_write_id(connection, old) - 1))
    leave_write_ids(connection, old)


def _named(table: TableName) -> dict[str, str]:
    return {"database": table.database, "table": table.table}
