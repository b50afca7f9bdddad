"""What Spark's exceptions mean, as errors of ours."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Sequence

from acidsql.errors import (
    BindError,
    ColumnNotFoundError,
    DataError,
    Error,
    ExecutionError,
    FileSystemUnreachableError,
    FormatError,
    NestingError,
    ParseError,
    ProgrammingError,
    Span,
    TableNotFoundError,
)
from acidsql.parser.tokens import HINT
from acidsql.planner.bind.columns import unknown_function
from acidsql.spark import jvm
from acidsql.spark.start.clocks import refused_time
from acidsql.spark_release import releases_text

_ANALYSIS: tuple[tuple[str, type[Error]], ...] = (
    ("UNRESOLVED_COLUMN", ColumnNotFoundError),
    ("UNRESOLVED_FIELD", ColumnNotFoundError),
    ("TABLE_OR_VIEW_NOT_FOUND", TableNotFoundError),
)
_CORRUPT = (
    "org.apache.orc.FileFormatException",
    "com.google.protobuf.",
    "org.apache.orc.protobuf.",
)
_UNREAD = (
    "FAILED_READ_FILE",
    "Encountered error while reading file",
    "the underlying files have been updated",
)
"""Words of the errors of files that cannot be read: those of Spark 4, and of Spark 3."""
_GONE = ("FILE_NOT_EXIST", "FileNotFoundException", "PATH_NOT_FOUND")
_IS_GONE = "a data file is gone:"
_FILE = re.compile(
    r"(?:file:/{1,3}|hdfs://|s3a?://|abfss?://|gs://)[^\s\"'?*]+|(?<=file )/[^\s\"']+"
)


def translate(error: BaseException) -> Error:
    """The error of ours that says what ``error``, raised by Spark or py4j while a statement ran,
    means.

    FormatError names the file that cannot be read. The span of an error in SQL text is relative to
    the text that Spark was given; ``fragment`` has its words.
    """
    if isinstance(error, Error):
        return error
    error = jvm.spark_error(error)
    ours = _meaning(error)
    ours.fragment = ours.fragment or _fragment(error)
    return ours


def _meaning(error: BaseException) -> Error:  # noqa: C901 (flat: a case for each kind)
    if _is_nesting(error):
        return NestingError("the statement is nested too deeply for Spark", hint=HINT)
    if (refused := refused_time(str(error))) is not None:
        return refused
    if "pyspark" not in sys.modules:  # it may not be installed, and is asked for nothing
        return _execution_error(error)
    from pyspark.errors import AnalysisException, ParseException, PySparkException

    if isinstance(error, PySparkException):
        condition = jvm.condition_of(error) or ""
        message = tidy(_message(error) if condition else str(error))
        span = _span(error)
        if condition == "PATH_NOT_FOUND":  # found by Spark Connect when it looks at a scan
            return _gone(message.partition(": ")[2])
        if condition == "UNBOUND_SQL_PARAMETER":
            hint = "Values are given as params: a list or tuple fills ?, a dict fills :name."
            return ProgrammingError("a parameter has no value", hint=hint, span=span)
        if isinstance(error, ParseException):
            return ParseError(message, span=span or syntax_span(str(error)))
        if isinstance(error, AnalysisException) and condition == "UNRESOLVED_ROUTINE":
            name = (error.getMessageParameters() or {}).get("routineName", "?")
            return unknown_function(name.replace("`", ""), span)
        if isinstance(error, AnalysisException):
            kind = next((kind for mark, kind in _ANALYSIS if condition.startswith(mark)), BindError)
            return kind(message, span=span, detail=_reason(error, condition))
        if condition.startswith("FAILED_READ_FILE"):
            return _unreadable(error, message)
        if (error.getSqlState() or "").startswith("22"):
            return DataError(message, sqlstate=error.getSqlState(), span=span)
    return _execution_error(error)


def _message(error: BaseException) -> str:
    """PySpark tells its message by itself from Spark 4 on."""
    asked = getattr(error, "getMessage", None)
    return str(error) if asked is None else str(asked())


_ARROW_NESTING = ("Max recursion depth reached", "Invalid flatbuffers message")
_TOO_COMPLEX = "FAILED_TO_PARSE_TOO_COMPLEX"


def _is_nesting(error: BaseException) -> bool:
    """Whether somebody ran out of stack: Java, Python, or Arrow, which carries types of 64
    levels.
    """
    text = str(error)
    return (
        isinstance(error, RecursionError)
        or _TOO_COMPLEX in text
        or any(mark in text for mark in _ARROW_NESTING)
        or "java.lang.StackOverflowError" in text
        or any(name == "java.lang.StackOverflowError" for name, _ in jvm.java_causes(error))
    )


def _execution_error(error: BaseException) -> Error:
    causes = list(jvm.java_causes(error))
    if (unreached := _unreached(causes)) is not None:
        return unreached
    for name, message in causes:
        if any(words in message for words in _UNREAD) or name.startswith(_CORRUPT):
            return _unreadable(error, message)
        if name == "java.lang.OutOfMemoryError":
            return ExecutionError(
                "Spark ran out of memory", detail=message, hint="Give it more: spark.driver.memory."
            )
    if type(error).__module__.startswith("py4j") and not causes:
        if jvm.is_answer(error):
            return _lacking(str(error))
        return java_is_gone(tidy(str(error)))
    name, message = causes[-1] if causes else (type(error).__name__, str(error))
    return ExecutionError(tidy(message) or name, detail=name if causes else None)


def _lacking(words: str) -> ExecutionError:
    """The error of a call that Spark's Java process does not know, or takes otherwise."""
    return ExecutionError(
        "Spark lacks what acidsql asks of it",
        detail=words.strip().partition("\n\tat ")[0],
        hint=f"acidsql is made for Spark {releases_text()}.",
    )


def java_is_gone(words: str = "") -> ExecutionError:
    """The error of whatever asks a Java process that has ended."""
    jvm.await_end()
    again = (
        "A session that has started Spark itself does so again for its next statement; one that was"
        " given a SparkSession is opened anew with another."
        if jvm.started_java()
        else "Start Spark anew, and open a session with it."
    )
    return ExecutionError(
        "the Java process of Spark is gone",
        detail=words or None,
        hint=f"It was killed, or ran out of memory. {again}",
    )


def _unreached(causes: Sequence[tuple[str, str]]) -> Error | None:
    words = next((text for _, text in reversed(causes) if jvm.is_unreached(text)), None)
    if words is None:
        return None
    return FileSystemUnreachableError("a file system could not be reached", detail=tidy(words))


def _unreadable(error: BaseException, message: str) -> Error:
    causes = list(jvm.java_causes(error))
    if (unreached := _unreached(causes)) is not None:
        return unreached
    texts = [message, *(text for _, text in causes), str(error)]
    path = next(
        (match[0].rstrip(".,:;)") for text in texts for match in [_FILE.search(text)] if match),
        None,
    )
    if any(mark in text for text in texts for mark in _GONE):
        return _gone(path)
    reason = next(
        (
            text
            for text in reversed(texts[:-1])
            if text and not any(words in text for words in _UNREAD)
        ),
        None,
    )
    return FormatError(
        f'cannot read file "{_local(path)}"', detail=tidy(reason) if reason else None
    )


def _gone(path: str | None) -> Error:
    gone = ExecutionError(f'{_IS_GONE} "{_local(path)}"', hint="Run the statement again.")
    gone.fragment = _local(path)
    return gone


def names_what_is_gone(error: Error) -> bool:
    """Whether an error of ``translate``'s is that of a file which is not there any more."""
    return error.message.startswith(_IS_GONE)


def _reason(error: BaseException, condition: str) -> str | None:
    """Why Spark could make nothing of a file that is named by its path."""
    if condition != "FAILED_TO_CREATE_PLAN_FOR_DIRECT_QUERY":
        return None
    return next((tidy(text) for _, text in reversed(list(jvm.java_causes(error)))), None)


def _local(path: str | None) -> str:
    return re.sub(r"^file:/{1,3}", "/", path) if path else "?"


_BEHIND = re.compile(
    r"\s*SQLSTATE: \w{5}|\n\s*at |\n== |;\n'|\.?\(line \d+, pos \d+\)\s*\n|\.?; line \d+ pos \d+"
)
"""What follows on the words of Spark's that a user needs."""


def tidy(message: str) -> str:
    """Spark's text without its error class, SQLSTATE, plan and stack trace."""
    text = re.sub(r"^\[[A-Z0-9_.]+\]\s*", "", message.strip())
    text = _BEHIND.split(text, maxsplit=1)[0]
    text = text.replace('set "spark.sql.ansi.enabled" to "false"', "SET acidsql.ansi=false")
    return text.strip().rstrip(".")


def _span(error: BaseException) -> Span | None:
    with contextlib.suppress(Exception):
        for context in jvm.query_contexts(error):
            if context.stopIndex() >= context.startIndex() >= 0:
                return Span(context.startIndex(), context.stopIndex() + 1)
    return None


def _fragment(error: BaseException) -> str | None:
    with contextlib.suppress(Exception):
        for context in jvm.query_contexts(error):
            if fragment := context.fragment().strip():
                return str(fragment)
    return None


_SYNTAX = re.compile(r"\(line (\d+), pos (\d+)\)\s*== SQL ==\n")


def syntax_span(text: str) -> Span | None:
    """The place that Spark's parser writes only into its message, which quotes the SQL."""
    match = _SYNTAX.search(text)
    if match is None:
        return None
    before = text[match.end() :].split("\n")[: int(match[1]) - 1]
    start = sum(len(line) + 1 for line in before) + int(match[2])
    return Span(start, start + 1)
