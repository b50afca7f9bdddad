"""Column definitions and constraints, from skeleton to dataclass.

The options of a column stand in any order, and the traits of a constraint (ENABLE, NOVALIDATE, ..)
follow it as options of their own; here each trait finds its constraint.
"""

from __future__ import annotations

from dataclasses import replace

from acidsql.errors import ParseError, Span
from acidsql.parser import pieces
from acidsql.parser.grammar import Node
from acidsql.parser.statements import ColumnDefinition, Constraint, ConstraintKind, Name

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
