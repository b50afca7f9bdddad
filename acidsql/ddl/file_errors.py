"""What fails on the file system, as an error of a statement."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress

from acidsql.commit.recovery import delete_dropped, keep_dropped
from acidsql.ddl.warehouse import Warehouse
from acidsql.errors import Error, ExecutionError, file_error


@contextmanager
def file_errors(what: str) -> Iterator[None]:
    """Turns OSErrors from inside into ExecutionError: ``what`` failed."""
    try:
        yield
    except OSError as error:
        where = f' "{error.filename}"' if error.filename else ""
        raise file_error(
            f"{what} failed: cannot read or write{where}",
            error,
            detail=error.strerror or str(error),
        ) from error


@contextmanager
def deleting_noted(warehouse: Warehouse, directories: Collection[str]) -> Iterator[None]:
    """Deletes directories that were noted in the store. If files fail the user is told, who may do
    with them what he likes from then on; only if the store does, or the process dies, others go on.
    """
    try:
        yield
    except ExecutionError:
        with suppress(Error):
            warehouse.store.forget_directories(directories)
        raise
    with suppress(Error):
        warehouse.store.forget_directories(directories)


def delete_noted(warehouse: Warehouse, directories: Collection[str], what: str, hint: str) -> None:
    """Deletes the directories of tables that were dropped, as ``delete_all`` does; but those that
    are kept for readers.
    """
    kept = keep_dropped(warehouse.store, warehouse.files, directories)
    rest = [directory for directory in directories if directory not in kept]
    with deleting_noted(warehouse, rest):
        delete_all(
            rest,
            lambda path: delete_dropped(warehouse.store, warehouse.files, path),
            what,
            hint,
        )


def delete_all(
    directories: Iterable[str], delete: Callable[[str], None], what: str, hint: str
) -> None:
    """Deletes as many of the paths as can be; ExecutionError names one that cannot. ``what``: whose
    they were.
    """
    failed: list[tuple[str, OSError]] = []
    for directory in directories:
        try:
            delete(directory)
        except OSError as error:
            failed.append((directory, error))
    if failed:
        path, reason = failed[0]
        more = f" and {len(failed) - 1} more" if len(failed) > 1 else ""
        message = f'directory "{path}"{more} of {what} could not be deleted'
        raise ExecutionError(message, detail=reason.strerror or str(reason), hint=hint) from reason
