"""Errors of Spark's as ours, with the span of the user's text that they come from."""

from __future__ import annotations

import logging
import re
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from acidsql import interrupts
from acidsql.errors import (
    BindError,
    Error,
    ExecutionError,
    NestingError,
    ParseError,
    ProgrammingError,
    file_error,
)
from acidsql.expressions.not_here import NotHere
from acidsql.parser.tokens import TokenKind, scan
from acidsql.planner.bind.bound import BoundInsert, BoundQuery
from acidsql.spark import jvm

_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


class _Silence(logging.Filter):
    """Keeps from PySpark's log, in the threads that enter it, what is raised as an error of ours.

    PySpark makes the loggers with its first error, of a class of its own. Those that are not there
    yet are made as it does, and taken away again, so that all is as if it had never been asked.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._depths: dict[int, int] = {}
        self._new: list[str] = []
        self._attached: list[logging.Logger] = []

    def filter(self, record: logging.LogRecord) -> bool:
        return threading.get_ident() not in self._depths

    def __enter__(self) -> None:
        me = threading.get_ident()
        with self._lock:
            self._depths[me] = self._depths.get(me, 0) + 1
            self._attach()

    def __exit__(self, *_: object) -> None:
        me = threading.get_ident()
        with self._lock:
            self._depths[me] -= 1
            if not self._depths[me]:
                del self._depths[me]
            if not self._depths:
                self._detach()

    def spark_started(self) -> None:
        """PySpark may be loaded only now."""
        with self._lock:
            if self._depths:
                self._attach()

    def _attach(self) -> None:
        pyspark = sys.modules.get("pyspark.logger")
        if self._attached or pyspark is None:
            return
        known = logging.Logger.manager.loggerDict
        self._new = [name for name in _LOGGERS if name not in known]
        self._attached = [pyspark.PySparkLogger.getLogger(name) for name in _LOGGERS]
        for logger in self._attached:
            logger.addFilter(self)

    def _detach(self) -> None:
        for logger in self._attached:
            logger.removeFilter(self)
        for name in self._new:
            logging.Logger.manager.loggerDict.pop(name, None)
        self._attached, self._new = [], []


silence = _Silence()


@contextmanager
def translated(add_span: Callable[[Error], Error] | None = None) -> Iterator[None]:
    """Whatever fails inside leaves as an error of ours, but for the signal that another way must be
    taken; ``add_span`` may give it a span.

    KeyboardInterrupt if a Ctrl-C came before or meanwhile.
    """
    interrupts.check()
    with silence:
        try:
            yield
        except NotHere:
            interrupts.check()
            raise
        except Error as error:
            interrupts.check()
            raise (add_span(error) if add_span else error) from error.__cause__
        except OSError as error:
            interrupts.check()
            if isinstance(error, ConnectionError) and jvm.is_of_java(error):
                from acidsql.spark.start.meanings import java_is_gone

                gone = java_is_gone(str(error))
                raise (add_span(gone) if add_span else gone) from error
            where = f' "{error.filename}"' if error.filename else ""
            reason = error.strerror or error
            raise file_error(f"cannot read or write{where}: {reason}", error) from error
        except Exception as error:
            interrupts.check()
            if interrupts.is_interrupt(error):
                raise KeyboardInterrupt from None
            from acidsql.spark.start.meanings import translate

            ours = translate(error)
            if add_span is None:
                ours.span = None  # that of a text of ours
            raise (add_span(ours) if add_span else ours) from error
    interrupts.check()


def relocated(error: Error, query: BoundQuery, views: Sequence[str]) -> Error:
    """Moves an error's span from the text Spark got to the user's own.

    ``views``: "" for a read the text does not contain.
    """
    if error.span is not None and error.source is None:
        text, span = query.text, error.span
        error.span = text.source_span(span.start, views) or text.only_span(span, views)
        if error.span is None and isinstance(error, ParseError):
            error.span = text.end_before(span.start, views)
            error.message = _NEAR.sub("", error.message)  # a word of ours
        error.source = query.text.source
    if error.fragment and isinstance(error, ExecutionError):
        error = _unless_named(error, error.fragment, query.text.source)
    is_placed = error.span is not None or isinstance(error, NestingError)
    if isinstance(error, ProgrammingError) and not is_placed:
        error.span, error.source = query.text.whole_span(), query.text.source
    error.message = query.text.in_users_words(error.message)
    for read, view in zip(query.reads, views, strict=True):
        if not view:
            continue
        error.message = error.message.replace(f"`{view}`", f"`{read.table.name.table}`").replace(
            view, read.table.name.table
        )
    error.args = (error.message,)
    return error


def _unless_named(error: Error, path: str, source: str) -> Error:
    """The error of a file that is not there; another one where the statement names it."""
    for token in scan(source).tokens:
        if token.kind not in (TokenKind.QUOTED, TokenKind.STRING):
            continue
        name = token.text.strip("'\"").removeprefix("file:").strip("/")
        if re.search("[/.]", name) and f"/{path}".endswith(f"/{name}"):
            return BindError(f'path "{path}" does not exist', span=token.span, source=source)
    return error


def placed(error: Error, action: BoundInsert) -> Error:
    error.span = action.span
    return error


_NEAR = re.compile(r" at or near '[^']*'")
