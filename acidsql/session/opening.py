"""What a session is opened on: the warehouse and the metastore where none is named, and its store
with what the settings say of it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from acidsql.catalog.attached import is_service
from acidsql.errors import InterfaceError
from acidsql.settings import Settings
from acidsql.utf8 import check_text

if TYPE_CHECKING:
    from acidsql.txn.store import SessionStore

DEFAULT_WAREHOUSE = "warehouse"
WAREHOUSE_VARIABLE = "ACIDSQL_WAREHOUSE"
METASTORE_VARIABLE = "ACIDSQL_METASTORE"
_GRANULARITY = "acidsql.conflict.granularity"


def default_warehouse() -> str:
    """The warehouse where none is named; no other place reads the variable."""
    return os.environ.get(WAREHOUSE_VARIABLE) or DEFAULT_WAREHOUSE


def default_metastore() -> str | None:
    """The metastore where none is named, None for the file in the warehouse; no other place
    reads the variable.
    """
    return os.environ.get(METASTORE_VARIABLE) or None


def check_arguments(
    metastore: str | None,
    database: str,
    settings: Mapping[str, str | float] | None,
    spark: object,
    master: str | None,
    conf: Mapping[str, str] | None,
) -> None:
    """InterfaceError for what is of another kind than a Session takes; ProgrammingError for a text
    that cannot be stored.
    """
    check_text(database, of="the name of a database")
    if metastore is not None:
        check_text(metastore, of="the URL of a metastore")
    for name, given in (("settings", settings), ("conf", conf)):
        if given is not None and not isinstance(given, Mapping):
            raise InterfaceError(f"{name} are a mapping, not {type(given).__name__}")
        for key in given or ():
            check_text(key, of="the name of a setting")
    if spark is not None and not hasattr(spark, "sql"):
        raise InterfaceError(
            f"spark is a SparkSession, not {type(spark).__name__}",
            hint="master says where a Spark of acidsql's own is to run.",
        )
    if master is not None:
        check_text(master, of="the master of Spark")
    for name, value in (conf or {}).items():
        check_text(f"{name}={value}", of="a setting of Spark")


def opened_store(
    warehouse: str,
    metastore: str | None,
    user: str,
    clock: Callable[[], float] | None,
    settings: Settings,
) -> SessionStore:
    """The store of a warehouse, by settings as they are now. ``metastore``: a URL; "" stands for
    the file in the warehouse, None for the default.
    """
    url = default_metastore() if metastore is None else metastore or None
    if url is not None and is_service(url):
        return _opened_service(url, user, settings)
    from acidsql.metastore.embedded import EmbeddedMetastore
    from acidsql.metastore.store import Create

    return EmbeddedMetastore(
        warehouse,
        metastore=url,
        user=user,
        clock=clock,
        txn_timeout_seconds=settings.number("hive.txn.timeout"),
        max_open_txns=int(settings.number("hive.max.open.txns")),
        worker_timeout_seconds=settings.number("hive.compactor.worker.timeout"),
        pool_timeout_seconds=settings.number("metastore.compactor.worker.pool.timeout"),
        mode=int(settings.text("acidsql.store.mode"), 8),
        durable=settings.flag("acidsql.durable"),
        patience_seconds=settings.number("acidsql.store.patience"),
        create=Create(str(settings.get("acidsql.store.create"))),
    )


def _opened_service(url: str, user: str, settings: Settings) -> SessionStore:
    """A Hive metastore. Conflicts are by its rule there: rows are not compared."""
    from acidsql.metastore.hive.authorizers import REFUSE
    from acidsql.metastore.hive.reaching import access_of, parse_service, shown_servers
    from acidsql.metastore.hms.metastore import HiveMetastore

    if _GRANULARITY not in settings.changed():
        settings.set(_GRANULARITY, "partition")
    servers, framed = parse_service(url)
    return HiveMetastore(
        shown_servers(servers, framed=framed),
        servers,
        access=access_of(settings, framed=framed),
        user=user,
        answer_seconds=settings.number("hive.metastore.client.socket.timeout"),
        refuses_policies=lambda: settings.flag(REFUSE),
    )
