"""The whole error tree, rooted as PEP 249 asks; every error can point at the place it speaks of.

    Warning
    Error
      InterfaceError                   the Python API was misused
      DatabaseError
        ProgrammingError               ParseError, BindError and its children
        NotSupportedError              UnsupportedStatementError
        DataError                      CardinalityError, FormatError
        IntegrityError                 NotNullError
        OperationalError               MetastoreError, LockTimeoutError*, DeadlockError*, WriteConflictError*,
                                       TransactionAbortedError*, CommitStateUnknownError, ExecutionError
        InternalError                  a bug of acidsql
                                       (* = retryable: the same statement may be run again)

``str(error)`` is the whole rendering (message, source line, caret, detail, hint): API, command line and goldens show the same text.
"""

from __future__ import annotations

import builtins
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range ``[start, end)`` of character offsets in a source text."""

    start: int
    end: int

    def shift(self, offset: int) -> Span:
        return Span(self.start + offset, self.end + offset)

    def cut(self, source: str) -> str:
        return source[self.start : self.end]


class Warning(builtins.Warning):  # noqa: A001  (PEP 249's own name)
    """Something the user should know that is not an error."""


class Error(Exception):
    """Root of every acidsql error.

    message: short, factual, lower case, no full stop.  detail: more facts.  hint: a sentence.
    code: Hive's error code, where Hive has one.  sqlstate: five characters.
    span, source: the place in the SQL text; ``at`` sets or moves them.
    """

    retryable: ClassVar[bool] = False
    default_sqlstate: ClassVar[str] = "HY000"

    def __init__(
        self,
        message: str,
        *,
        detail: str | None = None,
        hint: str | None = None,
        code: int | None = None,
        sqlstate: str | None = None,
        span: Span | None = None,
        source: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.detail = detail
        self.hint = hint
        self.code = code
        self.sqlstate = sqlstate or self.default_sqlstate
        self.span = span
        self.source = source

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.message, dict(self.__dict__))

    def at(self, source: str, offset: int = 0) -> Error:
        """Tells the error the text its span points into; ``offset`` moves the span (a statement inside a script)."""
        self.source = source
        if self.span is not None and offset:
            self.span = self.span.shift(offset)
        return self

    @property
    def line(self) -> int | None:
        """1-based line of the place, or None."""
        if self.span is None or self.source is None:
            return None
        return self.source.count("\n", 0, self.span.start) + 1

    @property
    def column(self) -> int | None:
        """1-based column of the place, or None."""
        if self.span is None or self.source is None:
            return None
        return self.span.start - (self.source.rfind("\n", 0, self.span.start) + 1) + 1

    def __str__(self) -> str:
        head = f"[Error {self.code}]: {self.message}" if self.code else self.message
        lines = [head]
        place = self._place()
        if place:
            lines += place
        if self.detail:
            lines.append(f"detail: {self.detail}")
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)

    def _place(self) -> list[str]:
        if self.span is None or self.source is None:
            return []
        start = min(self.span.start, len(self.source))
        begin = self.source.rfind("\n", 0, start) + 1
        end = self.source.find("\n", start)
        end = len(self.source) if end < 0 else end
        text = self.source[begin:end].rstrip("\r").replace("\t", " ")
        label = f"  line {self.line}: "
        width = max(1, min(self.span.end, begin + len(text)) - start)
        return [label + text, " " * (len(label) + start - begin) + "^" * width]


def _rebuild(cls: type[Error], message: str, state: dict[str, Any]) -> Error:
    error = cls.__new__(cls)
    Exception.__init__(error, message)
    error.__dict__.update(state)
    return error


class InterfaceError(Error):
    """The Python API was misused (closed connection, unknown argument)."""


class DatabaseError(Error):
    """Anything that concerns the data or the store."""


class ProgrammingError(DatabaseError):
    """The statement is wrong."""

    default_sqlstate = "42000"


class ParseError(ProgrammingError):
    """The text is not a statement. ``incomplete``: more text could make it one (the REPL goes on reading)."""

    incomplete: bool = False
    expected: tuple[str, ...] = ()


class BindError(ProgrammingError):
    """The statement is well formed, but the catalog or a rule refuses it."""


class TableNotFoundError(BindError):
    default_sqlstate = "42S02"


class DatabaseNotFoundError(BindError):
    default_sqlstate = "42000"


class AlreadyExistsError(BindError):
    """A database or table of that name is there already."""

    default_sqlstate = "42S01"


class ColumnNotFoundError(BindError):
    default_sqlstate = "42S22"


class AmbiguousColumnError(BindError):
    default_sqlstate = "42702"


class NotTransactionalTableError(BindError):
    """UPDATE, DELETE or MERGE on a table that is not full ACID (Hive's 10297 and 10414)."""


class NotSupportedError(DatabaseError):
    default_sqlstate = "0A000"


class UnsupportedStatementError(NotSupportedError):
    """The statement is understood, but acidsql does not do it (yet)."""


class DataError(DatabaseError):
    default_sqlstate = "22000"


class CardinalityError(DataError):
    """Several source rows would change one target row (Hive: cardinality_violation)."""

    default_sqlstate = "21000"


class FormatError(DataError):
    """What is on disk is not valid Hive ACID; names the file."""

    default_sqlstate = "XX001"


class IntegrityError(DatabaseError):
    default_sqlstate = "23000"


class NotNullError(IntegrityError):
    default_sqlstate = "23502"


class OperationalError(DatabaseError):
    """The store, the engine or another transaction stood in the way."""

    default_sqlstate = "58000"


class MetastoreError(OperationalError):
    """The metastore could not be read or written."""


class LockTimeoutError(OperationalError):
    retryable = True
    default_sqlstate = "55P03"


class DeadlockError(OperationalError):
    retryable = True
    default_sqlstate = "40P01"


class WriteConflictError(OperationalError):
    """Another transaction changed the same table or partition and committed first (Hive's TxnAbortedException)."""

    retryable = True
    default_sqlstate = "40001"


class TransactionAbortedError(OperationalError):
    """The transaction was aborted by somebody else (time-out, ABORT TRANSACTIONS, DROP TABLE)."""

    retryable = True
    default_sqlstate = "40000"


class CommitStateUnknownError(OperationalError):
    """The commit was sent and no answer came: it may or may not have happened. ``txn_id`` tells which one."""

    default_sqlstate = "08007"
    txn_id: int = 0


class ExecutionError(OperationalError):
    """Spark, the file system or another part failed while the statement ran."""


class InternalError(DatabaseError):
    """A bug of acidsql; please report it."""

    default_sqlstate = "XX000"
