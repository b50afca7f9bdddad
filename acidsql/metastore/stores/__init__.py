"""The stores behind the metastore: an SQLite file in the warehouse for the processes of one host, a
PostgreSQL database for those of several.
"""

from __future__ import annotations

from acidsql.metastore.store import PATIENCE_SECONDS, Clock, Create, Store
from acidsql.metastore.stores.database_file import OWNER_ONLY, refuse_marked
from acidsql.metastore.stores.sqlite import SQLiteStore


def open_store(
    warehouse: str,
    metastore: str | None = None,
    *,
    mode: int = OWNER_ONLY,
    clock: Clock | None = None,
    durable: bool = True,
    patience_seconds: float = PATIENCE_SECONDS,
    create: Create = Create.OPEN,
) -> Store:
    """The store of a warehouse: the database of the URL ``metastore``, else the file, whose commits
    wait for the disk if it is ``durable``. ``mode``: of what is made in the warehouse.
    ``patience_seconds``: how long another writer is waited for, and how long a process that stands
    still may be one, where that can be told. ``create``: what makes one; a store that was not made
    yet refuses everything but ``make``. MetastoreError if it cannot be used.
    """
    store: Store
    if metastore is None:
        refuse_marked(warehouse)
        store = SQLiteStore(
            warehouse,
            mode=mode,
            clock=clock,
            durable=durable,
            patience_seconds=patience_seconds,
            create=create,
        )
        if create is Create.NEEDED and not store.is_made:
            return store
    else:
        from acidsql.metastore.stores.postgresql import PostgreSQLStore

        store = PostgreSQLStore(
            warehouse, metastore, mode=mode, clock=clock, patience_seconds=patience_seconds
        )
    store.open_up()
    return store
