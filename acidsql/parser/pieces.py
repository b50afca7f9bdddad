"""The pieces that several statements share, from skeleton to dataclass: names, fragments,
properties, partitions, sort keys.
"""

from __future__ import annotations

from dataclasses import replace

from acidsql.errors import ParseError, Span
from acidsql.parser import pieces
from acidsql.parser.grammar import Node, Terminal
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
from acidsql.parser.tokens import tokenize

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
    written_type = pieces.fragment(node, "DATA_TYPE")
    return ColumnDefinition(
        name=pieces.first_name(node),
        type_text=written_type.text,
        type_span=written_type.span,
        comment=pieces.clause_string(node, "comment"),
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
            pieces.once(node, option.rule)
            constraints.append(_constraint(option, _COLUMN_RULES[option.rule], name, text))
            name = None
    return tuple(constraints)


def table_constraint(node: Node, text: str) -> Constraint:
    """``[CONSTRAINT name] PRIMARY KEY (..) | UNIQUE (..) | FOREIGN KEY (..) REFERENCES .. | CHECK
    (..)`` and its traits.
    """
    rule = next(node.nodes(*_COLUMN_RULES))
    built = _constraint(rule, _COLUMN_RULES[rule.rule], node.node("constraint_name"), text)
    built = replace(built, span=node.span, columns=pieces.columns(node) or ())
    for trait in node.nodes("trait"):
        built = _with_trait(built, trait, text)
    return built


def _constraint(node: Node, kind: ConstraintKind, name: Node | None, text: str) -> Constraint:
    references = pieces.table_names(node)
    expression = pieces.optional_fragment(node, "VALUE") or pieces.optional_fragment(node, "LIST")
    return Constraint(
        span=node.span if name is None else Span(name.span.start, node.span.end),
        kind=kind,
        name=_constraint_name(name),
        expression=expression,
        references=references[0] if references else None,
        referenced_columns=(pieces.columns(node) or ()) if references else (),
    )


def _constraint_name(node: Node | None) -> Name | None:
    return pieces.first_name(node) if node else None


def _with_trait(constraint: Constraint, trait: Node, text: str) -> Constraint:
    span = Span(constraint.span.start, max(constraint.span.end, trait.span.end))
    return replace(constraint, span=span, traits=(*constraint.traits, pieces.words(trait, text)))
