"""The whole error tree, rooted as PEP 249 asks; every error can point at the span it speaks of.

    Warning                            LossWarning
    Error
      InterfaceError                   the Python API was misused
      DatabaseError
        ProgrammingError               ParseError, NestingError, BindError and its children
        NotSupportedError              UnsupportedStatementError
        DataError                      CardinalityError, FormatError
        IntegrityError                 NotNullError
        OperationalError               MetastoreError, MetastoreBusyError*,
                                       MetastoreUnreachableError*, LockTimeoutError*,
                                       DeadlockError*, WriteConflictError*,
                                       TransactionAbortedError*, CommitStateUnknownError,
                                       RunCommittedError, SnapshotTooOldError*, ExecutionError
                                       and FileSystemUnreachableError* among them
        InternalError                  a bug of acidsql
                                       (* = retryable: the same statement may be run again)

``str(error)`` is the whole rendering (message, source line, caret, detail, hint): API, command line
and goldens show the same text.
"""

from __future__ import annotations

import builtins
import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Self

from acidsql.lazy import dataclass, pattern
from acidsql.passwords import without_passwords

_LONE_SURROGATE = pattern("[\ud800-\udfff]")
_LONGEST_LINE = 160
"""Columns of a line that are quoted where no screen says how many; of a longer one, so many near
the span.
"""
_SHORTEST_LINE = 20
_BEFORE_SPAN = 60
_DOTS = ".."


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range ``[start, end)`` of character offsets in a source text."""

    start: int
    end: int

    def shift(self, offset: int) -> Span:
        return Span(self.start + offset, self.end + offset)

    def cut(self, source: str) -> str:
        return source[self.start : self.end]


class _Spanned(BaseException):
    """A message that can point at its span in the SQL text; its text is the whole rendering."""

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
        message = without_passwords(message)
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

    def at(self, source: str, offset: int = 0) -> Self:
        """Tells it the text its span points into; ``offset`` moves the span (a statement inside a
        script).
        """
        self.source = source
        if self.span is not None and offset:
            self.span = self.span.shift(offset)
        return self

    @property
    def line(self) -> int | None:
        """The 1-based line of the span, or None."""
        if self.span is None or self.source is None:
            return None
        return self.source.count("\n", 0, self.span.start) + 1

    @property
    def column(self) -> int | None:
        """The 1-based column of the span, or None."""
        if self.span is None or self.source is None:
            return None
        return self.span.start - (self.source.rfind("\n", 0, self.span.start) + 1) + 1

    def __str__(self) -> str:
        return self.rendered()

    def rendered(self, screen: int | None = None) -> str:
        """Its text. The quoted line is cut to what a ``screen`` of so many columns holds, so that
        the carets stand below what they mean.
        """
        head = f"[Error {self.code}]: {self.message}" if self.code else self.message
        lines = [head]
        lines += self._quoted_line(screen)
        if self.detail:
            lines.append(f"detail: {self.detail}")
        if self.hint:
            lines.append(f"hint: {self.hint}")
        text = without_passwords("\n".join(lines))
        return _LONE_SURROGATE.sub("\ufffd", text)  # so that it can be printed

    def _quoted_line(self, screen: int | None) -> list[str]:
        """The line of the SQL text where the span begins, or what is near it of one that is too
        long, and carets below; nothing without a span.
        """
        if self.span is None or self.source is None:
            return []
        start = min(self.span.start, len(self.source))
        begin = self.source.rfind("\n", 0, start) + 1
        end = self.source.find("\n", start)
        end = len(self.source) if end < 0 else end
        text = without_passwords(self.source)[begin:end].rstrip("\r").replace("\t", " ")
        label = f"  line {self.line}: "
        column = min(start - begin, len(text))
        room = _LONGEST_LINE if screen is None else max(screen - len(label), _SHORTEST_LINE)
        first, last = 0, len(text)
        if _columns(text) > room:
            first, last = _near(
                text, column, room if screen is None else room - 2 * len(f"{_DOTS} ")
            )
        from acidsql.width import visible

        label += f"{_DOTS} " if first else ""
        dots = f" {_DOTS}" if last < len(text) else ""
        carets = _columns(text[column : min(column + self.span.end - start, last)])
        return [
            label + visible(text[first:last]) + dots,
            " " * (len(label) + _columns(text[first:column])) + "^" * max(1, carets),
        ]


def _columns(text: str) -> int:
    """How many columns of a terminal a part of a line takes."""
    from acidsql.width import display_width, visible  # Spark's workers import this module

    return display_width(visible(text))


def _near(text: str, column: int, room: int) -> tuple[int, int]:
    """Where the part of a long line begins and ends that is near a column and fits ``room``."""
    before = room * _BEFORE_SPAN // _LONGEST_LINE
    first = last = column
    while first and _columns(text[first - 1 : column]) <= before:
        first -= 1
    while last < len(text) and _columns(text[first : last + 1]) <= room:
        last += 1
    while last == len(text) and first and _columns(text[first - 1 :]) <= room:
        first -= 1
    return first, last


class Warning(_Spanned, builtins.Warning):  # noqa: A001  (PEP 249's own name)
    """Something the user should know that is not an error."""

    default_sqlstate = "01000"


class LossWarning(Warning):
    """Values that their column cannot hold: NULL is stored, or what is left of them. A literal is
    pointed at, values of a query are counted.
    """

    default_sqlstate = "01004"


class Error(_Spanned, Exception):
    """Root of every acidsql error.

    message: short, factual, lower case, no full stop.  detail: more facts.  hint: a sentence.
    code: Hive's error code, where Hive has one.  sqlstate: five characters.
    span, source: where in the SQL text; ``at`` sets or moves them.
    fragment: words of it that are spoken of, where it is not known yet where they stand.
    """

    retryable: bool = False
    fragment: str | None = None


@contextmanager
def not_again() -> Iterator[None]:
    """Errors inside do not have a statement run again: something of it is done already."""
    try:
        yield
    except Error as error:
        error.retryable = False
        raise


def _rebuild(cls: type[_Spanned], message: str, state: dict[str, Any]) -> _Spanned:
    error = cls.__new__(cls)
    BaseException.__init__(error, message)
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
    """The text is not a statement. ``incomplete``: more text could make it one (the REPL goes on
    reading).
    """

    incomplete: bool = False
    expected: tuple[str, ...] = ()


class NestingError(ParseError):
    """The statement nests deeper than acidsql, or Spark, can read."""

    default_sqlstate = "54001"


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


class NotRecordableError(BindError):
    """The statement has no transaction that could be recorded under a run id."""


class NotTransactionalTableError(BindError):
    """UPDATE, DELETE or MERGE on a table that is not full ACID (Hive's 10297 and 10414)."""


class NotSupportedError(DatabaseError):
    default_sqlstate = "0A000"


class UnsupportedStatementError(NotSupportedError):
    """The statement is understood, but acidsql does not do it (yet)."""


class DataError(DatabaseError):
    default_sqlstate = "22000"


class CardinalityError(DataError):
    """Several source rows would change one target row (Hive: cardinality_violation).

    ``row_id``: the first such row's, in a partition with the values ``partition``; ``changes``: by
    how many rows of the source; ``rows_hit``: how many such rows there are. None: not known.
    """

    default_sqlstate = "21000"
    row_id: tuple[int, int, int] | None = None
    partition: tuple[str | None, ...] | None = None
    changes: int | None = None
    rows_hit: int | None = None


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


class MetastoreBusyError(MetastoreError):
    """Another process kept the metastore from being written for too long, or this one stood still
    while it had others wait: nothing was changed.
    """

    retryable = True
    default_sqlstate = "55P03"


class MetastoreUnreachableError(MetastoreError):
    """The server of the metastore could not be reached, or went away in the middle of a transaction
    of its: nothing that this transaction did is left.
    """

    retryable = True
    default_sqlstate = "08006"


class LockTimeoutError(OperationalError):
    retryable = True
    default_sqlstate = "55P03"


class DeadlockError(OperationalError):
    retryable = True
    default_sqlstate = "40P01"


class WriteConflictError(OperationalError):
    """Another transaction changed the same rows (by Hive's rule: the same table or partition) and
    committed first (Hive's TxnAbortedException).
    """

    retryable = True
    default_sqlstate = "40001"


class TransactionAbortedError(OperationalError):
    """The transaction was aborted by somebody else (time-out, DROP TABLE); one that was ended by
    hand (ABORT TRANSACTIONS) is not ``retryable``.
    """

    retryable = True
    default_sqlstate = "40000"


class SnapshotTooOldError(OperationalError):
    """What the statement saw is not kept any more: it has read for longer than its lease, or asked
    for a table so late that files of that time are gone.
    """

    retryable = True
    default_sqlstate = "72000"


class CommitStateUnknownError(OperationalError):
    """The commit was sent and no answer came: it may or may not have happened. ``txn_id`` tells
    which one.
    """

    default_sqlstate = "08007"
    txn_id: int = 0


class RunCommittedError(OperationalError):
    """What was to be done under a run id has been committed before, by transaction ``txn_id``; of
    this attempt nothing is or will be visible.
    """

    default_sqlstate = "40002"
    run_id: str = ""
    txn_id: int = 0


class ExecutionError(OperationalError):
    """Spark, the file system or another part failed while the statement ran."""


class FileSystemUnreachableError(ExecutionError):
    """The servers of a file system could not be reached, or none of them was ready: nothing of the
    statement is seen.
    """

    retryable = True
    default_sqlstate = "08006"


def file_error(message: str, error: OSError, *, detail: str | None = None) -> ExecutionError:
    """The error of a statement that ``error`` has failed."""
    kind = FileSystemUnreachableError if error.errno in _UNREACHED else ExecutionError
    words = f"{detail} {error.strerror}"
    hint = _NO_TICKET_HINT if any(mark in words for mark in _NO_TICKET) else None
    return kind(message, detail=detail, hint=hint)


_NO_TICKET = ("Client cannot authenticate via", "GSS initiate failed")
_NO_TICKET_HINT = (
    "The servers ask for a Kerberos ticket: kinit, or spark.kerberos.principal and"
    " spark.kerberos.keytab."
)
_UNREACHED = frozenset({errno.EHOSTUNREACH, errno.EHOSTDOWN, errno.ENETUNREACH, errno.ECONNREFUSED})


class SparkNotStartedError(ExecutionError):
    """What is to be done needs Spark, which may not be started for it."""


class InternalError(DatabaseError):
    """A bug of acidsql; please report it."""

    default_sqlstate = "XX000"
