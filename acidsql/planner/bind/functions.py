"""Functions that nobody knows: told at their place, with the one that is probably meant, before
Spark is started for them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from acidsql.errors import BindError, Span
from acidsql.expressions.tree import Call, Cast, Condition

if TYPE_CHECKING:
    from sqlglot import exp

KnowsFunction = Callable[[str], bool]
"""Whether a session may know a function that Spark has not by itself."""
_CALLED = re.compile(r"(\w+)\s*\(")


def unknown_function(name: str, span: Span | None = None) -> BindError:
    """The error for a function that is not there (Hive: ErrorMsg.INVALID_FUNCTION)."""
    from acidsql.expressions.spark_words import nearest_function

    near = nearest_function(name)
    hint = f'did you mean "{near}"?' if near else None
    return BindError(f'Invalid function "{name}"', code=10011, hint=hint, span=span)


def check_called(source: str, tree: Condition, knows: KnowsFunction) -> None:
    """BindError (10011) for a call in an expression of ours of a function that nobody knows."""
    for call in _calls(tree):
        match = _CALLED.match(source, call.span.start)
        if match is not None and match[1].upper() == call.name.upper():
            _check(source, match[1], Span(*match.span(1)), knows)


def check_nodes(source: str, base: int, nodes: Iterable[exp.Expr], knows: KnowsFunction) -> None:
    """BindError (10011) for such a call in a query; offset 0 of its text stands for ``base``."""
    from sqlglot import exp

    for node in nodes:
        if type(node) is not exp.Anonymous or not isinstance(node.this, str):
            continue
        if isinstance(node.parent, exp.Dot | exp.Table | exp.Lateral) or "start" not in node.meta:
            continue
        match = _CALLED.match(source, base + node.meta["start"])
        if match is not None and match[1].lower() == node.this.lower():
            _check(source, match[1], Span(*match.span(1)), knows)


def _check(source: str, name: str, span: Span, knows: KnowsFunction) -> None:
    from acidsql.expressions.spark_words import is_function

    if not is_function(name) and not knows(name):
        raise unknown_function(name, span).at(source)


def _calls(tree: Condition) -> Iterator[Call]:
    match tree:
        case Call(arguments=arguments):
            yield tree
            for argument in arguments:
                yield from _calls(argument)
        case Cast(argument=argument):
            yield from _calls(argument)
