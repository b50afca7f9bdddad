"""acidsql: Hive SQL on Hive ACID tables, run by Spark.

``connect`` gives a PEP 249 connection, ``Session`` the richer interface, ``parse`` the syntax tree.
Importing this costs next to nothing: each name is loaded when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

apilevel = "2.0"
threadsafety = 1
paramstyle = "qmark"

_HOMES = {
    "acidsql.dbapi": (
        "BINARY", "Binary", "Connection", "Cursor", "DATETIME", "Date", "DateFromTicks", "NUMBER",
        "ROWID", "STRING", "Time", "TimeFromTicks", "Timestamp", "TimestampFromTicks", "connect",
    ),
    "acidsql.errors": (
        "AlreadyExistsError", "AmbiguousColumnError", "BindError", "CardinalityError",
        "ColumnNotFoundError", "CommitStateUnknownError", "DataError", "DatabaseError",
        "DatabaseNotFoundError", "DeadlockError", "Error", "ExecutionError",
        "FileSystemUnreachableError", "FormatError",
        "IntegrityError", "InterfaceError", "InternalError", "LockTimeoutError", "LossWarning",
        "MetastoreBusyError", "MetastoreError", "MetastoreUnreachableError", "NestingError",
        "NotNullError",
        "NotRecordableError",
        "NotSupportedError", "NotTransactionalTableError", "OperationalError", "ParseError",
        "ProgrammingError", "RunCommittedError", "SnapshotTooOldError", "SparkNotStartedError",
        "TableNotFoundError",
        "TransactionAbortedError", "UnsupportedStatementError", "Warning", "WriteConflictError",
    ),
    "acidsql.parser.parse": ("parse",),
    "acidsql.result": ("Result", "Stats"),
    "acidsql.session": ("Session",),
}  # fmt: skip
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = ["__version__", "apilevel", "paramstyle", "threadsafety", *_HOME]

# what IPython's %load_ext and %unload_ext look for
_HOME |= dict.fromkeys(("load_ipython_extension", "unload_ipython_extension"), "acidsql.notebook")

if TYPE_CHECKING:  # the same names once more, for readers of types
    # isort: off
    from acidsql.dbapi import (
        BINARY as BINARY,
        DATETIME as DATETIME,
        NUMBER as NUMBER,
        ROWID as ROWID,
        STRING as STRING,
        Binary as Binary,
        Connection as Connection,
        Cursor as Cursor,
        Date as Date,
        DateFromTicks as DateFromTicks,
        Time as Time,
        TimeFromTicks as TimeFromTicks,
        Timestamp as Timestamp,
        TimestampFromTicks as TimestampFromTicks,
        connect as connect,
    )
    from acidsql.errors import (
        AlreadyExistsError as AlreadyExistsError,
        AmbiguousColumnError as AmbiguousColumnError,
        BindError as BindError,
        CardinalityError as CardinalityError,
        ColumnNotFoundError as ColumnNotFoundError,
        CommitStateUnknownError as CommitStateUnknownError,
        DatabaseError as DatabaseError,
        DatabaseNotFoundError as DatabaseNotFoundError,
        DataError as DataError,
        DeadlockError as DeadlockError,
        Error as Error,
        ExecutionError as ExecutionError,
        FileSystemUnreachableError as FileSystemUnreachableError,
        FormatError as FormatError,
        IntegrityError as IntegrityError,
        InterfaceError as InterfaceError,
        InternalError as InternalError,
        LockTimeoutError as LockTimeoutError,
        LossWarning as LossWarning,
        MetastoreBusyError as MetastoreBusyError,
        MetastoreError as MetastoreError,
        MetastoreUnreachableError as MetastoreUnreachableError,
        NestingError as NestingError,
        NotNullError as NotNullError,
        NotRecordableError as NotRecordableError,
        NotSupportedError as NotSupportedError,
        NotTransactionalTableError as NotTransactionalTableError,
        OperationalError as OperationalError,
        ParseError as ParseError,
        ProgrammingError as ProgrammingError,
        RunCommittedError as RunCommittedError,
        SnapshotTooOldError as SnapshotTooOldError,
        SparkNotStartedError as SparkNotStartedError,
        TableNotFoundError as TableNotFoundError,
        TransactionAbortedError as TransactionAbortedError,
        UnsupportedStatementError as UnsupportedStatementError,
        Warning as Warning,
        WriteConflictError as WriteConflictError,
    )
    from acidsql.parser.parse import parse as parse
    from acidsql.result import Result as Result, Stats as Stats
    from acidsql.session import Session as Session

    __version__: str


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return _version()
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = _load(name)
    return value


def _load(name: str) -> Any:
    """Imports a name's module with the garbage collector paused, which would look through all that
    is imported time and again and find nothing.
    """
    import gc

    collects = gc.isenabled()
    gc.disable()
    try:
        return getattr(import_module(_HOME[name]), name)
    finally:
        if collects:
            gc.enable()


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("acidsql")
    except PackageNotFoundError:  # run from a source tree that is not installed
        return "0+unknown"
