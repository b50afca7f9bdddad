"""Skeletons to statements: each rule of the grammar that is a statement has a function of its name
in one of the build modules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from acidsql.parser import build_alterations, build_rows, build_tables, build_transactions, pieces
from acidsql.parser.grammar import Node
from acidsql.parser.statements import ChangingStatement, DryRun, Explain, Statement


def build(node: Node, text: str) -> Statement:
    """The statement of a skeleton read from ``text``. ParseError for what the grammar lets through
    and no statement can hold.
    """
    return _BUILDERS[node.rule](node, text)


def explain(node: Node, text: str) -> Explain:
    mode = node.node("explain_mode")
    statement = next(child for child in node.nodes() if child.rule != "explain_mode")
    return Explain(
        span=node.span,
        statement=build(statement, text),
        mode=pieces.words(mode, text) if mode else None,
    )


def dry_run(node: Node, text: str) -> DryRun:
    return DryRun(
        span=node.span, statement=cast(ChangingStatement, build(next(iter(node.nodes())), text))
    )


_BUILDERS: Mapping[str, Callable[[Node, str], Statement]] = {
    builder.__name__: builder
    for builder in (
        *build_rows.BUILDERS, *build_tables.BUILDERS, *build_alterations.BUILDERS,
        *build_transactions.BUILDERS, explain, dry_run
    )
}  # fmt: skip
