"""Which clauses of a MERGE may stand together. Hive: MergeSemanticAnalyzer."""

from __future__ import annotations

from collections.abc import Iterator

from acidsql.errors import BindError, Span, UnsupportedStatementError
from acidsql.parser import statements as ast
from acidsql.parser.statements import Match
from acidsql.planner.bind.names import Names


def check_clauses(names: Names, statement: ast.Merge) -> None:
    """What Hive's MERGE may not have, and clauses that are never reached."""
    text = statement.span.cut(names.source)
    _check_first_condition(statement, text)
    if names.around.settings.flag("acidsql.strict.hive"):
        _check_strict(statement, text)
    for match in Match:
        of_kind = [c for c in statement.clauses if c.match is match]
        endless = next((i for i, c in enumerate(of_kind) if c.condition is None), None)
        if endless is not None and endless + 1 < len(of_kind):
            message = f"this clause is never reached: an earlier WHEN {match} has no condition"
            raise BindError(
                message,
                hint="Add AND <condition> to the earlier one.",
                span=of_kind[endless + 1].span,
            )


def _matched(statement: ast.Merge, *kinds: type) -> Iterator[ast.MergeClause]:
    return (
        c for c in statement.clauses if c.match is Match.MATCHED and isinstance(c.action, kinds)
    )


def _check_first_condition(statement: ast.Merge, text: str) -> None:
    first = next(_matched(statement, ast.MergeUpdate, ast.MergeDelete), None)
    both = next(_matched(statement, ast.MergeUpdate), None) and next(
        _matched(statement, ast.MergeDelete), None
    )
    if both and first is not None and first.condition is None:
        message = (
            'MERGE statement with both UPDATE and DELETE clauses requires "AND <boolean>" on the'
            f" 1st WHEN MATCHED clause of <{text}>"
        )
        raise BindError(message, code=10404, span=first.span)


def _check_strict(statement: ast.Merge, text: str) -> None:
    for kind, code in ((ast.MergeDelete, 10405), (ast.MergeUpdate, 10406)):
        word = kind.__name__.removeprefix("Merge").upper()
        for second in list(_matched(statement, kind))[1:2]:
            message = f"MERGE statement can have at most 1 WHEN MATCHED ... {word} clause: <{text}>"
            raise BindError(message, code=code, span=second.span)
    inserts = [c for c in statement.clauses if c.match is Match.NOT_MATCHED]
    for clause in inserts[1:2]:
        raise _not_hive("a second WHEN NOT MATCHED clause", clause.span)
    for clause in statement.clauses:
        action = clause.action
        if clause.match is Match.NOT_MATCHED_BY_SOURCE:
            raise _not_hive("WHEN NOT MATCHED BY SOURCE", clause.span)
        if isinstance(action, ast.MergeUpdate) and action.assignments is None:
            raise _not_hive("UPDATE SET *", action.span)
        if isinstance(action, ast.MergeInsert) and action.values is None:
            raise _not_hive("INSERT *", action.span)


def _not_hive(words: str, span: Span) -> UnsupportedStatementError:
    return UnsupportedStatementError(
        f"{words} is not Hive SQL", hint="SET acidsql.strict.hive=false allows it.", span=span
    )
