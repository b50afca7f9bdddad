"""The steps of a plan in words, a line each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from acidsql.errors import InternalError
from acidsql.expressions.query_text import Piece, QueryText
from acidsql.plan.operators import (
    CheckOnce,
    Collect,
    Commit,
    CountRows,
    Fetch,
    FetchSource,
    FindFiles,
    InsertUnmatched,
    Job,
    Join,
    Literals,
    LocalJoin,
    LocalRows,
    LookUp,
    Publish,
    Query,
    ReadFiles,
    Step,
    TakeFiles,
    WriteFiles,
)
from acidsql.planner.bind.bound import BoundMerge, BoundMergeClause, BoundRead

ONCE = "no row of the target is changed by two rows of the source"


def step_words(  # noqa: C901 (flat: a case for each kind)
    step: Step, merge: BoundMerge | None = None
) -> str:
    """A step in words. ``merge``: the statement whose step it is, if that is a MERGE."""
    match step:
        case CountRows():
            return "count the rows: by statistics, or by footers and delete events, without Spark"
        case Query(query=query):
            return f"spark: {flat_text(query.text, query.reads)}"
        case Collect():
            return "collect the rows"
        case LocalRows():
            return "make the rows on the driver"
        case Literals(source=source):
            return f"{len(source.rows)} literal rows"
        case FindFiles(load=load):
            return (
                f"files: {load.path},"
                f" {'copied from the local file system' if load.local else 'moved'}"
            )
        case ReadFiles():
            return "spark: the rows of the files"
        case TakeFiles():
            return "take the files as they are"
        case Fetch(max_bytes=most):
            return f"fetch the rows, at most {size_words(most)}"
        case WriteFiles():
            return "write the files on the driver"
        case Job(join=join):
            joined = "" if merge is None or join is None else f": {_join(merge, join)}"
            return f"write the files by one Spark job{joined}{f'; {ONCE}' if step.once else ''}"
        case FetchSource(max_bytes=most):
            return f"fetch the source, at most {size_words(most)}"
        case LookUp(keys=keys):
            return f"look the rows of the target up by {', '.join(keys)} on the driver"
        case Join(kind=kind, max_bytes=most):
            return f"fetch what the join gives, at most {size_words(most)}: {_join(merge, kind)}"
        case LocalJoin(kind=kind, max_bytes=most):
            return f"join on the driver{_at_most(most)}: {_join(merge, kind)}"
        case InsertUnmatched():
            return "insert the rows of the source that have no match"
        case CheckOnce():
            return f"check: {ONCE}"
        case Publish():
            return "publish the files"
        case Commit():
            return "commit"
        case _:
            raise InternalError(f"{type(step).__name__} is several lines")


def read_words(columns: Sequence[str], name: str, most: int | None) -> str:
    """What the driver reads, at most so many bytes of it."""
    return f"read {', '.join(columns) or 'no column'} of {name}{_at_most(most)}"


def _at_most(most: int | None) -> str:
    return "" if most is None else f", at most {size_words(most)}"


def _join(merge: BoundMerge | None, kind: str) -> str:
    return (
        kind
        if merge is None
        else f"{merge.alias} {kind} {merge.source_alias} ON {merge_text(merge, merge.on)}"
    )


def size_words(count: int) -> str:
    """Bytes as people write them."""
    for unit in ("bytes", "KB", "MB"):
        if count < 1024 or count % 1024:
            return f"{count} {unit}"
        count //= 1024
    return f"{count} GB"


def merge_text(merge: BoundMerge, pieces: tuple[Piece, ...]) -> str:
    """A part of a MERGE as the user wrote it, on one line."""
    return flat_text(QueryText(merge.text_source, pieces), merge.reads)


def flat_text(text: QueryText, reads: Iterable[BoundRead]) -> str:
    """A query on one line, with the names of tables in place of the views that are read."""
    return " ".join(text.render([f"<{r.table.name}>" for r in reads]).split())


def clause_heading(merge: BoundMerge, clause: BoundMergeClause) -> str:
    """WHEN ``match`` [AND ``condition``] THEN ``action``, on one line."""
    condition = f" AND {merge_text(merge, clause.condition)}" if clause.condition else ""
    return f"WHEN {clause.match}{condition} THEN {clause.action}"
