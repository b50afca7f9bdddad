"""The parse table of ``grammar/acid.lark``, the tree it gives, and the questions the token reader
asks it.

The table is made beforehand (see parse_table); here it is only walked, so that no statement waits
for a parser generator. Which terminal a token is gets decided outside (see skeleton), because a
word is a keyword only where the table, after all pending reductions, can shift it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from acidsql.errors import Span
from acidsql.parser.tokens import Token

END = "$END"
Stack = list[int]
DROPPED, KEPT, SPLICED = ".", "k", "s"


class Terminal(str):
    """A leaf of the skeleton: ``str`` of it is the token's meaning, for spans the source slice;
    ``parts`` are the items of a LIST, ``tokens`` those of an EXPRESSION.
    """

    type: str
    span: Span
    parts: tuple[Span, ...] = ()
    tokens: tuple[Token, ...] = ()

    def __new__(cls, kind: str, value: str, span: Span) -> Terminal:
        terminal = super().__new__(cls, value)
        terminal.type = kind
        terminal.span = span
        return terminal


class Node:
    """A rule of the grammar as it matched. ``extent``: from its first token to its last, if any."""

    __slots__ = ("children", "extent", "rule")

    def __init__(
        self, rule: str, children: list[Node | Terminal], extent: tuple[int, int] | None
    ) -> None:
        self.rule = rule
        self.children = children
        self.extent = extent

    @property
    def span(self) -> Span:
        assert self.extent is not None
        return Span(*self.extent)

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


class Rule(NamedTuple):
    """A rule's name and what becomes of each of its symbols: DROPPED, KEPT, or SPLICED, its
    children taken in its place. ``transparent``: with a single child, that child stands for it.
    """

    name: str
    symbols: str
    transparent: bool


class Grammar:
    """The table, and which terminals its words and marks are.

    ``data``: as parse_table makes it. A number in a state is the state to go to, or, below zero,
    the rule ``-1 - number`` to reduce by.
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.spelling: dict[str, str] = data["spelling"]
        literals = {value: name for name, value in self.spelling.items()}
        self.keywords = {value: name for value, name in literals.items() if value[0].isalpha()}
        self.marks = {value: name for value, name in literals.items() if not value[0].isalpha()}
        self.rules = [Rule(*rule) for rule in data["rules"]]
        self.states: list[dict[str, int]] = data["states"]
        self.start_state: int = data["start"]
        self.end_state: int = data["end"]

    def start(self) -> Parse:
        return Parse(self)

    def advance(self, stack: Sequence[int], terminal: str) -> Stack | None:
        """The stack after ``terminal``, or None where it cannot come next. Changes nothing."""
        states = self.states
        if terminal not in states[stack[-1]]:
            return None
        after = list(stack)
        while True:
            if terminal == END and after[-1] == self.end_state:
                return after
            step = states[after[-1]].get(terminal)
            if step is None:
                return None
            if step >= 0:
                after.append(step)
                return after
            rule = self.rules[-1 - step]
            if rule.symbols:
                del after[-len(rule.symbols) :]
            after.append(states[after[-1]][rule.name])

    def accepted(self, stack: Sequence[int]) -> set[str]:
        """Every terminal that can come next."""
        candidates = (name for name in self.states[stack[-1]] if name == END or name.isupper())
        return {name for name in candidates if self.advance(stack, name) is not None}


class _Value(NamedTuple):
    """What a symbol on the stack stands for; the children themselves of a rule to be spliced."""

    value: Node | Terminal | list[Node | Terminal]
    extent: tuple[int, int] | None


class Parse:
    """A parse under way: ``feed`` takes a terminal that the table accepts, ``finish`` gives the
    tree, ``stack`` is the place.
    """

    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar
        self.stack: Stack = [grammar.start_state]
        self._values: list[_Value] = []

    def feed(self, terminal: Terminal) -> None:
        states, stack = self._grammar.states, self.stack
        while (step := states[stack[-1]][terminal.type]) < 0:
            self._reduce(self._grammar.rules[-1 - step])
        stack.append(step)
        self._values.append(_Value(terminal, (terminal.span.start, terminal.span.end)))

    def finish(self) -> Node:
        grammar = self._grammar
        while self.stack[-1] != grammar.end_state:
            self._reduce(grammar.rules[-1 - grammar.states[self.stack[-1]][END]])
        tree = self._values[-1].value
        assert isinstance(tree, Node)
        return tree

    def _reduce(self, rule: Rule) -> None:
        taken: list[_Value] = []
        if size := len(rule.symbols):
            taken = self._values[-size:]
            del self._values[-size:]
            del self.stack[-size:]
        self._values.append(_reduced(rule, taken))
        self.stack.append(self._grammar.states[self.stack[-1]][rule.name])


def _reduced(rule: Rule, taken: list[_Value]) -> _Value:
    children: list[Node | Terminal] = []
    for (value, _), fate in zip(taken, rule.symbols, strict=True):
        if fate == SPLICED:
            assert isinstance(value, list)
            # The list of a rule that repeats itself on its left is taken over, not copied each time
            children = children + value if children else value
        elif fate == KEPT:
            assert not isinstance(value, list)
            children.append(value)
    extents = [extent for _, extent in taken if extent is not None]
    extent = (extents[0][0], extents[-1][1]) if extents else None
    if rule.name.startswith("_"):
        return _Value(children, extent)
    if rule.transparent and len(children) == 1:
        return _Value(children[0], extent)
    return _Value(Node(rule.name, children, extent), extent)


@cache
def load() -> Grammar:
    """The table of ``grammar/acid.lark``: the one made of it, or, where the grammar is another by
    now, one made on the spot.
    """
    import hashlib
    import json

    text = grammar_file("acid.lark")
    data = json.loads(grammar_file("acid.table.json"))
    if data["grammar"] != hashlib.sha256(text.encode()).hexdigest():
        from acidsql.parser.parse_table import parse_table

        data = parse_table(text)
    return Grammar(data)


def grammar_path(name: str) -> Path:
    """A file of ``grammar/``: inside the package in a wheel, beside it in a source tree."""
    package = Path(__file__).parents[1]
    packaged = package / "grammar" / name
    return packaged if packaged.is_file() else package.parent / "grammar" / name


def grammar_file(name: str) -> str:
    return grammar_path(name).read_text(encoding="utf-8")
