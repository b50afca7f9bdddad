"""What goes wrong in Spark, at the place of the user's text it comes from."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from acidsql.errors import Error, ExecutionError
from acidsql.planner.bound import BoundInsert, BoundQuery

_NOISE = [logging.getLogger(f"{kind}QueryContextLogger") for kind in ("SQL", "DataFrame")]
"""PySpark prints there, as JSON, what it is about to raise."""


@contextmanager
def translated(place: Callable[[Error], Error] | None = None) -> Iterator[None]:
    """Whatever fails inside leaves as an error of ours; ``place`` may give it its place in the user's text."""
    before = [noise.disabled for noise in _NOISE]
    for noise in _NOISE:
        noise.disabled = True
    try:
        yield
    except Error as error:
        raise (place(error) if place else error) from error.__cause__
    except OSError as error:
        where = f' "{error.filename}"' if error.filename else ""
        raise ExecutionError(f"cannot read or write{where}: {error.strerror or error}") from error
    except (KeyboardInterrupt, SystemExit):
        raise
    except Exception as error:
        from acidsql.spark.session import translate

        ours = translate(error)
        raise (place(ours) if place else ours) from error
    finally:
        for noise, disabled in zip(_NOISE, before, strict=True):
            noise.disabled = disabled


def relocated(error: Error, query: BoundQuery, views: Sequence[str]) -> Error:
    """Moves an error's place from the text Spark got to the user's own."""
    if error.span is not None and error.source is None:
        error.span = query.text.source_span(error.span.start, views)
        error.source = query.text.source
    for read, view in zip(query.reads, views, strict=True):
        error.message = error.message.replace(f"`{view}`", f"`{read.table.name.table}`").replace(view, read.table.name.table)
    error.args = (error.message,)
    return error


def placed(error: Error, action: BoundInsert) -> Error:
    error.span = action.span
    return error
