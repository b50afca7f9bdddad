"""The stores behind the metastore: an SQLite file in the warehouse for the processes of one host, a
PostgreSQL database for those of several.
"""

from __future__ import annotations

from acidsql.metastore.store import Clock, Create, Store
from acidsql.metastore.stores.database_file import OWNER_ONLY
from acidsql.metastore.stores.marker import refuse_marked
from acidsql.metastore.stores.sqlite import SQLiteStore


def open_store(
    warehouse: str,
    metastore: str | None = None,
    *,
    mode: int = OWNER_ONLY,
    clock: Clock | None = None,
    durable: bool = True,
    create: Create = Create.OPEN,
) -> Store:
    """The store of a warehouse: the database of the URL ``metastore``, else the file, whose commits
    wait for the disk if it is ``durable``. ``mode``: of what is made in the warehouse. ``create``:
    what makes one; a store that was not made yet refuses everything but ``make``. MetastoreError
    if it cannot be used.
    """
    store: Store
    if metastore is None:
        refuse_marked(warehouse)
        store = SQLiteStore(warehouse, mode=mode, clock=clock, durable=durable, create=create)
        if create is Create.NEEDED and not store.is_made:
            return store
    else:
        from acidsql.metastore.stores.postgresql import PostgreSQLStore

        store = PostgreSQLStore(warehouse, metastore, mode=mode, clock=clock)
    store.open_up()
    return store
