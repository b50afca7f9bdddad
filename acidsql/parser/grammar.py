"""The parse table of ``grammar/acid.lark``, the tree it gives and the pieces of
it that statements are made of, and the questions the token reader asks it.

The table is made beforehand (see parse_table); here it is only walked, so that no statement waits
for a parser generator. Which terminal a token is gets decided outside (see skeleton), because a
word is a keyword only where the table, after all pending reductions, can shift it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from acidsql.errors import ParseError, Span
from acidsql.parser.statements import (
    ColumnDefinition,
    Constraint,
    ConstraintKind,
    Fragment,
    Name,
    PartitionItem,
    PartitionSpec,
    Property,
    QualifiedName,
    SortKey,
)
from acidsql.parser.tokens import Token, tokenize

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


# ---- pieces of statements
#
# The pieces that several statements share, from skeleton to dataclass: names, fragments,
# properties, partitions, sort keys.


_EQUAL = ("=", "==")
MAX_INTEGER = 2**63 - 1


def name(terminal: Terminal) -> Name:
    if not terminal:
        raise ParseError("a name cannot be empty", span=terminal.span)
    if "\0" in terminal:  # no file system and few catalogs could keep it
        raise ParseError("a name cannot hold the character NUL", span=terminal.span)
    return Name(text=str(terminal), span=terminal.span)


def names(node: Node) -> tuple[Name, ...]:
    """The names that are direct children."""
    return tuple(name(terminal) for terminal in node.terminals("NAME"))


def first_name(node: Node) -> Name:
    return names(node)[0]


def optional_name(node: Node) -> Name | None:
    return next(iter(names(node)), None)


def word(node: Node, kind: str) -> Name:
    """A keyword that stands where a name may."""
    leaf = terminal(node, kind)
    return Name(text=str(leaf), span=leaf.span)


def table_name(node: Node) -> QualifiedName:
    """The first table named in ``node``."""
    return table_names(node)[0]


def table_names(node: Node) -> tuple[QualifiedName, ...]:
    return tuple(
        QualifiedName(parts=names(table), span=table.span) for table in node.nodes("table_name")
    )


def alias(node: Node) -> Name | None:
    clause = node.node("alias")
    return first_name(clause) if clause else None


def columns(node: Node) -> tuple[Name, ...] | None:
    """``(a, b)``, when there is one."""
    clause = once(node, "columns")
    return names(clause) if clause else None


def terminal(node: Node, kind: str) -> Terminal:
    leaf = node.terminal(kind)
    assert leaf is not None
    return leaf


def fragment(node: Node, kind: str) -> Fragment:
    """The span of that kind that is a direct child."""
    leaf = terminal(node, kind)
    return Fragment(text=str(leaf), span=leaf.span, tokens=leaf.tokens)


def optional_fragment(node: Node, kind: str) -> Fragment | None:
    return fragment(node, kind) if node.terminal(kind) is not None else None


def cut(span: Span, text: str) -> Fragment:
    return Fragment(text=span.cut(text), span=span)


def items(leaf: Terminal, text: str) -> tuple[Fragment, ...]:
    """The items of a LIST."""
    return tuple(cut(part, text) for part in leaf.parts)


def where(node: Node) -> Fragment | None:
    clause = once(node, "where")
    return fragment(clause, "EXPRESSION") if clause else None


def query(node: Node, text: str) -> Fragment | None:
    """The query that is a direct child, its WITH included."""
    child = node.node("query")
    return cut(child.span, text) if child else None


def with_clause(node: Node, text: str) -> Fragment | None:
    child = node.node("with_clause")
    return cut(child.span, text) if child else None


def words(node: Node, text: str) -> str:
    """The keywords that a rule is made of, upper case, with one blank between them."""
    return " ".join(token.text.upper() for token in tokenize(node.span.cut(text)))


def string(node: Node | None) -> str | None:
    """The one string of a clause such as ``COMMENT 'x'``."""
    return str(terminal(node, "STRING")) if node else None


def clause_string(node: Node, rule: str) -> str | None:
    """The string of a clause that may stand once among others."""
    return string(once(node, rule))


def once(node: Node, *rules: str) -> Node | None:
    """A clause that may stand anywhere in its statement, but only once."""
    clauses = list(node.nodes(*rules))
    if len(clauses) > 1:
        raise ParseError(
            f"clause {rules[0].replace('_', ' ').upper()} is given twice", span=clauses[1].span
        )
    return clauses[0] if clauses else None


def properties(node: Node | None) -> tuple[Property, ...]:
    """The ``'key'='value'`` pairs that are direct children."""
    if node is None:
        return ()
    return tuple(_property(pair) for pair in node.nodes("property"))


def _property(node: Node) -> Property:
    key, value = node.terminals("STRING")
    return Property(key=str(key), value=str(value), span=node.span)


def integer(digits: Terminal) -> int:
    if not (digits.isascii() and digits.isdigit()) or int(digits) > MAX_INTEGER:
        raise ParseError(f'expected a whole number instead of "{digits}"', span=digits.span)
    return int(digits)


def partition(node: Node, *, compared: bool = False) -> PartitionSpec | None:
    """PARTITION (..), when there is one. ``compared``: operators other than ``=`` are allowed."""
    clause = once(node, "partition")
    return partition_spec(clause, compared=compared) if clause else None


def partition_spec(node: Node, *, compared: bool = False) -> PartitionSpec:
    return PartitionSpec(
        span=node.span,
        items=tuple(_partition_item(item, compared) for item in node.nodes("partition_item")),
    )


def _partition_item(node: Node, compared: bool) -> PartitionItem:
    operator = node.terminal("COMPARISON")
    if operator is None:
        return PartitionItem(name=first_name(node))
    if operator not in _EQUAL and not compared:
        raise ParseError(f'unexpected "{operator}", expected "="', span=operator.span)
    written = "=" if operator in _EQUAL else str(operator)
    return PartitionItem(name=first_name(node), operator=written, value=fragment(node, "VALUE"))


def sort_keys(node: Node | None) -> tuple[SortKey, ...]:
    return tuple(_sort_key(key) for key in node.nodes("sort_key")) if node else ()


def _sort_key(node: Node) -> SortKey:
    nulls = node.node("nulls")
    return SortKey(
        span=node.span,
        key=fragment(node, "VALUE"),
        descending=node.has("DESC"),
        nulls_last=nulls.has("LAST") if nulls else None,
    )


def order_by(node: Node) -> tuple[SortKey, ...]:
    return sort_keys(once(node, "order_by"))


def limit(node: Node) -> int | None:
    clause = once(node, "limit")
    return integer(terminal(clause, "NUMBER")) if clause else None


# ---- columns
#
# Column definitions and constraints, from skeleton to dataclass.
#
# The options of a column stand in any order, and the traits of a constraint (ENABLE, NOVALIDATE,
# ..) follow it as options of their own; here each trait finds its constraint.


_COLUMN_RULES = {
    "not_null": ConstraintKind.NOT_NULL,
    "default": ConstraintKind.DEFAULT,
    "check": ConstraintKind.CHECK,
    "primary_key": ConstraintKind.PRIMARY_KEY,
    "unique": ConstraintKind.UNIQUE,
    "references": ConstraintKind.FOREIGN_KEY,
}


def column_definition(node: Node, text: str) -> ColumnDefinition:
    """``name type [options]``. ParseError for an option given twice or a trait without its
    constraint.
    """
    written_type = fragment(node, "DATA_TYPE")
    return ColumnDefinition(
        name=first_name(node),
        type_text=written_type.text,
        type_span=written_type.span,
        comment=clause_string(node, "comment"),
        constraints=_column_constraints(node, text),
    )


def _column_constraints(node: Node, text: str) -> tuple[Constraint, ...]:
    constraints: list[Constraint] = []
    name: Node | None = None
    for option in node.nodes():
        if option.rule == "trait":
            if not constraints:
                raise ParseError("there is no constraint before this word", span=option.span)
            constraints[-1] = _with_trait(constraints[-1], option, text)
        elif option.rule == "constraint_name":
            name = option
        elif option.rule in _COLUMN_RULES:
            once(node, option.rule)
            constraints.append(_constraint(option, _COLUMN_RULES[option.rule], name, text))
            name = None
    return tuple(constraints)


def table_constraint(node: Node, text: str) -> Constraint:
    """``[CONSTRAINT name] PRIMARY KEY (..) | UNIQUE (..) | FOREIGN KEY (..) REFERENCES .. | CHECK
    (..)`` and its traits.
    """
    rule = next(node.nodes(*_COLUMN_RULES))
    built = _constraint(rule, _COLUMN_RULES[rule.rule], node.node("constraint_name"), text)
    built = replace(built, span=node.span, columns=columns(node) or ())
    for trait in node.nodes("trait"):
        built = _with_trait(built, trait, text)
    return built


def _constraint(node: Node, kind: ConstraintKind, name: Node | None, text: str) -> Constraint:
    references = table_names(node)
    expression = optional_fragment(node, "VALUE") or optional_fragment(node, "LIST")
    return Constraint(
        span=node.span if name is None else Span(name.span.start, node.span.end),
        kind=kind,
        name=_constraint_name(name),
        expression=expression,
        references=references[0] if references else None,
        referenced_columns=(columns(node) or ()) if references else (),
    )


def _constraint_name(node: Node | None) -> Name | None:
    return first_name(node) if node else None


def _with_trait(constraint: Constraint, trait: Node, text: str) -> Constraint:
    span = Span(constraint.span.start, max(constraint.span.end, trait.span.end))
    return replace(constraint, span=span, traits=(*constraint.traits, words(trait, text)))
