"""What fails on the file system, as an error of a statement."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from acidsql.errors import ExecutionError


@contextmanager
def file_errors(what: str) -> Iterator[None]:
    """OSErrors come out as ExecutionError: ``what`` failed."""
    try:
        yield
    except OSError as error:
        where = f' "{error.filename}"' if error.filename else ""
        raise ExecutionError(f"{what} failed: cannot read or write{where}", detail=error.strerror or str(error)) from error
