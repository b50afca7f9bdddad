"""What is told of each statement and each scan to those who listen: a line in the log ``acidsql``,
a span of OpenTelemetry. Never a value: literals and comments are left out of the text, and so is
what an error says.

Nothing is imported for it. Who listens to a log has imported ``logging``, and who has set up
OpenTelemetry its API.
"""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

if TYPE_CHECKING:
    import logging
    from collections.abc import Mapping

LOGGER = "acidsql"
_LONGEST = 1000
_SYSTEM = "acidsql"


class _Stats(Protocol):
    @property
    def statement(self) -> str: ...
    @property
    def rows_inserted(self) -> int: ...
    @property
    def rows_copied(self) -> int: ...
    @property
    def rows_rejected(self) -> int: ...
    @property
    def files_taken(self) -> int: ...
    @property
    def files_skipped(self) -> int: ...
    @property
    def rows_updated(self) -> int: ...
    @property
    def rows_deleted(self) -> int: ...
    @property
    def txn_id(self) -> int | None: ...
    @property
    def write_ids(self) -> Mapping[str, int]: ...
    @property
    def path(self) -> str | None: ...


class Observed:
    """One statement while it runs. ``text``: as it was given, with the marks of its parameters;
    None: nothing is told. ``database``: that of names without one.
    """

    def __init__(self, text: str | None, database: str = "") -> None:
        self._text = text
        self._database = database
        self._started = time.perf_counter()
        self._stats: _Stats | None = None
        self._logger = None if text is None else _logger()
        self._span = None if text is None else _span()

    def __enter__(self) -> Self:
        if self._span is not None:
            self._span.begin_current()
        return self

    def done(self, stats: _Stats) -> None:
        """Tells what the statement did."""
        self._stats = stats

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._logger is None and self._span is None:
            return
        _tell(self._logger, self._span, self._facts(error))

    def _facts(self, error: BaseException | None) -> dict[str, Any]:
        facts: dict[str, Any] = {"seconds": round(time.perf_counter() - self._started, 6)}
        is_text = isinstance(self._text, str)  # bytes are refused, and their giver is told so
        text = without_values(self._text or "") if is_text and not _is_unreadable(error) else ""
        stats = self._stats
        # what has no counts and has not failed is one of a session's own calls
        facts["statement"] = text if error is None else text.partition(" ")[0].upper()
        if stats is not None:
            facts["statement"] = stats.statement or facts["statement"]
            counts = {
                "rows_inserted": stats.rows_inserted,
                "rows_updated": stats.rows_updated,
                "rows_deleted": stats.rows_deleted,
                "rows_copied": stats.rows_copied,
                "rows_rejected": stats.rows_rejected,
                "files_taken": stats.files_taken,
                "files_skipped": stats.files_skipped,
            }
            facts |= {name: count for name, count in counts.items() if count}
            facts |= {"txn": stats.txn_id} if stats.txn_id is not None else {}
            facts |= {"path": stats.path} if stats.path else {}
            facts |= {"write_ids": dict(stats.write_ids)} if stats.write_ids else {}
        return facts | _of_error(error) | {"text": text, "database": self._database}


class ObservedScan:
    """A scan, from its call until it ends: its last batch was read, it was closed or has failed.
    It is told once, from whichever thread ends it; one that nobody reads or closes is not.
    """

    def __init__(self, text: str, database: str) -> None:
        self._text = text
        self._database = database
        self._started = time.perf_counter()
        self._logger = _logger()
        self._span = _span()
        self._ended = threading.Lock()
        self._rows = self._batches = 0
        if self._span is not None:
            self._span.begin()

    def read(self, rows: int) -> None:
        """Counts a batch of so many rows."""
        self._rows += rows
        self._batches += 1

    def end(self, error: BaseException | None = None, *, whole: bool = True) -> None:
        """Tells of the scan, unless that was done before. ``whole``: its last row was read."""
        if not self._ended.acquire(blocking=False):
            return
        if self._logger is None and self._span is None:
            return
        facts: dict[str, Any] = {
            "seconds": round(time.perf_counter() - self._started, 6),
            "statement": "SCAN",
            "rows_read": self._rows,
            "batches": self._batches,
            "whole": whole and error is None,
        }
        text = "" if _is_unreadable(error) else without_values(self._text)
        facts |= _of_error(error)
        _tell(self._logger, self._span, facts | {"text": text, "database": self._database})


def _of_error(error: BaseException | None) -> dict[str, Any]:
    if error is None:
        return {}
    names = ("sqlstate", "code", "retryable")
    values = {name: getattr(error, name, None) for name in names}
    facts = {name: value for name, value in values.items() if value is not None}
    return {"error": type(error).__name__} | facts


def _tell(logger: logging.Logger | None, span: _Span | None, facts: dict[str, Any]) -> None:
    try:
        if span is not None:
            _end_span(span, facts)
    finally:
        if logger is not None:
            _log(logger, facts)


def without_values(text: str) -> str:
    """A statement on one line, with ``?`` for each literal and without comments; of a setting's
    value nothing. Empty for what is no SQL.
    """
    from acidsql.parser.tokens import TokenKind, scan

    scanned = scan(text)
    if scanned.unclosed is not None:
        return ""
    parts: list[str] = []
    end = None
    for token in scanned.tokens:
        is_value = token.kind in (TokenKind.STRING, TokenKind.NUMBER) or token.word[:1].isdigit()
        if end is not None and token.start > end:
            parts.append(" ")
        parts.append("?" if is_value else text[token.start : token.end])
        end = token.end
        if token.is_mark("=") and scanned.tokens[0].word == "SET":
            parts.append("?")
            break
    line = "".join(parts)
    return line if len(line) <= _LONGEST else line[:_LONGEST] + ".."


def _is_unreadable(error: BaseException | None) -> bool:
    """Whether the text was no statement: then any word of it may be a value."""
    from acidsql.errors import ParseError

    return isinstance(error, ParseError)


# ---- the log


def _logger() -> logging.Logger | None:
    """The log, if anybody listens."""
    module = sys.modules.get("logging")
    if module is None:
        return None
    logger: logging.Logger = module.getLogger(LOGGER)
    if not logger.isEnabledFor(module.INFO) or not logger.hasHandlers():
        return None  # Python's handler of last resort would print what fails
    return logger


def _log(logger: logging.Logger, facts: dict[str, Any]) -> None:
    """A line, at INFO, or at WARNING for a statement that failed; the facts are the record's."""
    counts = [f"{facts[f'rows_{word}']} {word}" for word in _COUNTS if f"rows_{word}" in facts]
    parts = [", ".join(counts)] if counts else []
    parts += ["given up"] if facts.get("whole") is False and "error" not in facts else []
    parts += [f"txn {facts['txn']}"] if "txn" in facts else []
    if "error" in facts:
        retry = ", may be run again" if facts.get("retryable") else ""
        parts.append(f"{facts['error']} (sqlstate {facts.get('sqlstate', '-')}{retry})")
    parts.append(f"{facts['seconds']:.3f} s")
    level = sys.modules["logging"].WARNING if "error" in facts else sys.modules["logging"].INFO
    named = {f"acidsql_{name}": value for name, value in facts.items()}
    shown = f": {facts['text']}" if facts["text"] else ""
    logger.log(
        level, "%s: %s%s", facts["statement"] or "statement", "; ".join(parts), shown, extra=named
    )


_CHANGES = ("inserted", "updated", "deleted")
_COUNTS = (*_CHANGES, "read")


# ---- spans


class _Span:
    """A span of OpenTelemetry below the current one. A statement's is the current one while it
    runs; a scan's is not, for its rows are read between other things.
    """

    def __init__(self, api: Any) -> None:
        self.api = api
        self._tracer = api.get_tracer("acidsql")
        self._scope: Any = None
        self.span: Any = None

    def begin(self) -> None:
        self.span = self._tracer.start_span("statement")

    def begin_current(self) -> None:
        self._scope = self._tracer.start_as_current_span(
            "statement", record_exception=False, set_status_on_exception=False
        )
        self.span = self._scope.__enter__()

    def end(self) -> None:
        if self._scope is None:
            self.span.end()
        else:
            self._scope.__exit__(None, None, None)


def _span() -> _Span | None:
    api = sys.modules.get("opentelemetry.trace")
    return None if api is None else _Span(api)


def _end_span(span: _Span, facts: dict[str, Any]) -> None:
    """Gives a span the names that OpenTelemetry has for databases, and ends it."""
    try:
        span.span.update_name(facts["statement"] or "statement")
        attributes = {
            "db.system.name": _SYSTEM,
            "db.namespace": facts["database"],
            "db.operation.name": facts["statement"],
            "db.query.text": facts["text"],
            "db.response.status_code": facts.get("sqlstate"),
            "error.type": facts.get("error"),
            "acidsql.txn": facts.get("txn"),
            "acidsql.path": facts.get("path"),
            "acidsql.retryable": facts.get("retryable"),
            "db.response.returned_rows": facts.get("rows_read"),
        }
        attributes |= {f"acidsql.rows_{w}": facts.get(f"rows_{w}") for w in _CHANGES}
        span.span.set_attributes({k: v for k, v in attributes.items() if v not in (None, "")})
        if "error" in facts:
            span.span.set_status(span.api.StatusCode.ERROR, facts["error"])
    finally:
        span.end()
