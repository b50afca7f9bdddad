"""The LALR grammar of ``grammar/acid.lark``, loaded once, and the questions the token reader asks
it.

lark builds the table and the tree; which terminal a token is gets decided outside (see skeleton),
because a word is a keyword only where the table, after all pending reductions, can shift it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from lark import Lark, Tree
from lark import Token as LarkToken
from lark.lexer import Lexer, PatternStr
from lark.parsers.lalr_analysis import Shift

from acidsql.errors import Span
from acidsql.parser.tokens import Token

END = "$END"
Stack = list[Any]


class Terminal(LarkToken):
    """A leaf of the skeleton: ``str`` of it is the token's meaning, for spans the source slice;
    ``parts`` are the items of a LIST, ``tokens`` those of an EXPRESSION.
    """

    parts: tuple[Span, ...] = ()
    tokens: tuple[Token, ...] = ()

    @property
    def span(self) -> Span:
        assert self.start_pos is not None
        assert self.end_pos is not None
        return Span(self.start_pos, self.end_pos)


class Node(Tree[Terminal]):
    """A rule of the grammar as it matched."""

    @property
    def rule(self) -> str:
        return str(self.data)

    @property
    def span(self) -> Span:
        return Span(self.meta.start_pos, self.meta.end_pos)

    def nodes(self, *rules: str) -> Iterator[Node]:
        """The direct children made by one of these rules (by any, when none is named)."""
        return (
            child
            for child in self.children
            if isinstance(child, Node) and (not rules or child.rule in rules)
        )

    def node(self, *rules: str) -> Node | None:
        return next(self.nodes(*rules), None)

    def terminals(self, kind: str) -> Iterator[Terminal]:
        return (
            child for child in self.children if isinstance(child, Terminal) and child.type == kind
        )

    def terminal(self, kind: str) -> Terminal | None:
        return next(self.terminals(kind), None)

    def has(self, name: str) -> bool:
        """Whether the rule or the kept keyword of that name is among the direct children."""
        return self.node(name) is not None or self.terminal(name) is not None


class Grammar:
    """The table, and which terminals its words and marks are."""

    def __init__(self, text: str) -> None:
        self._lark = Lark(
            text,
            parser="lalr",
            lexer=_NoLexer,
            propagate_positions=True,
            maybe_placeholders=False,
            tree_class=Node,
        )
        literals = {
            t.pattern.value: t.name
            for t in self._lark.terminals
            if isinstance(t.pattern, PatternStr)
        }
        self.keywords = {value: name for value, name in literals.items() if value[0].isalpha()}
        self.marks = {value: name for value, name in literals.items() if not value[0].isalpha()}
        self.spelling = {name: value for value, name in literals.items()}
        table = self._lark.parse_interactive().parser_state.parse_conf
        self._states = table.states
        self._end_state = table.end_state

    def start(self) -> Any:
        """A new parse: ``feed_token`` takes a Terminal, ``feed_eof`` gives the tree,
        ``parser_state.state_stack`` is the place.
        """
        return self._lark.parse_interactive()

    def advance(self, stack: Sequence[Any], terminal: str) -> Stack | None:
        """The stack after ``terminal``, or None where it cannot come next. Changes nothing."""
        states = self._states
        if terminal not in states[stack[-1]]:
            return None
        after = list(stack)
        while True:
            if terminal == END and after[-1] == self._end_state:
                return after
            step = states[after[-1]].get(terminal)
            if step is None:
                return None
            action, argument = step
            if action is Shift:
                after.append(argument)
                return after
            if size := len(argument.expansion):
                del after[-size:]
            after.append(states[after[-1]][argument.origin.name][1])

    def accepted(self, stack: Sequence[Any]) -> set[str]:
        """Every terminal that can come next."""
        candidates = (name for name in self._states[stack[-1]] if name == END or name.isupper())
        return {name for name in candidates if self.advance(stack, name) is not None}


class _NoLexer(Lexer):
    """lark wants a lexer class; the tokens are fed one by one instead."""

    def __init__(self, _conf: Any) -> None:
        pass

    def lex(self, lexer_state: Any, parser_state: Any) -> Iterator[LarkToken]:
        raise NotImplementedError


@cache
def load() -> Grammar:
    return Grammar(grammar_file("acid.lark"))


def grammar_file(name: str) -> str:
    """The text of a file of ``grammar/``: inside the package in a wheel, beside it in a source
    tree.
    """
    packaged = resources.files("acidsql") / "grammar" / name
    if packaged.is_file():
        return packaged.read_text(encoding="utf-8")
    return (Path(__file__).parents[2] / "grammar" / name).read_text(encoding="utf-8")
