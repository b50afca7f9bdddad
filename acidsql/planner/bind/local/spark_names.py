"""What Spark calls a column of a SELECT that was given no name; only where that is sure."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from acidsql.catalog.types import DecimalType, HiveType, PrimitiveType
from acidsql.expressions.tree import Call, Cast, ColumnRef, Condition, Constant, Unread
from acidsql.expressions.vectors.functions import FUNCTIONS
from acidsql.parser.tokens import TokenKind, tokenize, tokens_in
from acidsql.planner.bind.current_database import CALLS, called
from acidsql.planner.bind.local.aggregates import distinct_values
from acidsql.planner.bind.local.query_trees import ROW_ID, Function
from acidsql.spark_release import names_between

_INFIX = frozenset("= < <= > >= + - * / % & | ^ AND OR <=>".split())
_AGGREGATES = frozenset(function.name for function in Function)
_CAST_TYPES = frozenset("boolean tinyint smallint int bigint float double string date".split())

IsDay = Callable[[Condition], bool]
"""Whether an expression of the query is a DATE. NotHere where it is none at all."""


def spark_name(source: str, tree: Condition, is_day: IsDay) -> str | None:
    """The name of a column that is this expression; None where only Spark can tell. A cast of a
    column keeps the column's.
    """
    match tree:
        case ColumnRef():
            return _last_name(source, tree)
        case Cast(ColumnRef() as ref):
            return _last_name(source, ref) if ROW_ID not in ref.parts else None
        case Call(name, ()) if name in CALLS:
            return called(name)
        case Constant(Decimal() as number):  # beside others Spark may show it as another number
            return str(number) if "E" not in str(number) else None
    return _words(source, tree, is_day)


def _last_name(source: str, ref: ColumnRef) -> str | None:
    tokens = tokens_in(source, ref.span)
    return tokens[-1].text if tokens else None


def _words(source: str, tree: Condition, is_day: IsDay) -> str | None:
    """What Spark shows of an expression inside others."""
    match tree:
        case ColumnRef(parts) if ROW_ID not in parts:  # of whose fields Spark shows both names
            return _last_name(source, tree)
        case Constant():
            return _constant(source, tree)
        case Cast(argument, hive_type) if _is_named(hive_type):
            inner = _words(source, argument, is_day)
            return None if inner is None else f"CAST({inner} AS {str(hive_type).upper()})"
        case Call():
            return _call(source, tree, is_day)
    return None


def _is_named(hive_type: HiveType) -> bool:
    match hive_type:
        case PrimitiveType(name):
            return name in _CAST_TYPES
        case DecimalType():
            return True
    return False


def _constant(source: str, constant: Constant) -> str | None:
    """Whole numbers, texts, truths and NULL show as they are; other literals leave it to Spark."""
    written = constant.span.cut(source)
    match constant.value:
        case None:
            return "NULL"
        case bool() as value:
            return "true" if value else "false"
        case int() as value if written.rstrip("lLsSyY") == str(value):
            return str(value)
        case str() as text if text.isprintable() and tokenize(written)[0].kind is TokenKind.STRING:
            return text
    return None


def _call(source: str, call: Call, is_day: IsDay) -> str | None:
    match call:
        case Call("COUNT", (Unread(words),)):
            counted = distinct_values(source, words)
            if counted is None:
                return "count(1)"
            shown = _words(source, counted, is_day)
            return None if shown is None else f"count(DISTINCT {shown})"
        case Call("+" | "-" as sign, (one, other)) if is_day(one) or is_day(other):
            day, count = (one, other) if is_day(one) else (other, one)
            name = "DATE_ADD" if sign == "+" else "DATE_SUB"
            return _call(source, Call(name, (day, count), call.span), is_day)
        case Call("NOT", (Call("IS NULL", (tested,), span),)) if span == call.span:
            shown = _words(source, tested, is_day)
            return None if shown is None else f"({shown} IS NOT NULL)"
    names = [_words(source, argument, is_day) for argument in call.arguments]
    inner = [name for name in names if name is not None]
    if len(inner) < len(names):
        return None
    return _of_operands(source, call, inner)


def _of_operands(  # noqa: C901  (one arm for each operator)
    source: str, call: Call, inner: list[str]
) -> str | None:
    """The name of a call whose operands are shown so."""
    match call.name, inner:
        case name, [left, right] if name in _INFIX:
            return f"({left} {name} {right})"
        case "<>", [left, right]:
            return f"(NOT ({left} = {right}))"
        case "DIV", [left, right]:
            return f"({left} div {right})"
        case "NOT", [operand]:
            return f"(NOT {operand})"
        case "NEGATIVE", [operand] if call.span.cut(source)[0] == "-":
            return f"(- {operand})"
        case "IS NULL", [operand]:
            return f"({operand} IS NULL)"
        case "ISNOTNULL", [operand]:
            return f"({operand} IS NOT NULL)"
        case "IS TRUE" | "IS FALSE", [operand]:
            return f"({operand} <=> {'true' if call.name == 'IS TRUE' else 'false'})"
        case "IN", [operand, *items]:
            return f"({operand} IN ({', '.join(items)}))"
        case "BETWEEN", [tested, low, high] if not names_between():
            return f"(({tested} >= {low}) AND ({tested} <= {high}))"
        case "BETWEEN", _:
            return f"between({', '.join(inner)})"
        case "LIKE", [operand, pattern]:
            return f"{operand} LIKE {pattern}"
        case "IF", _:
            return f"(IF({', '.join(inner)}))"
        case "CASE", _:
            return _case(source, call, inner)
        case "||", [left, right]:
            return f"concat({left}, {right})"
    return _function(call.name, inner)


def _case(source: str, call: Call, shown: list[str]) -> str:
    *branches, otherwise = shown
    pairs = zip(branches[::2], branches[1::2], strict=True)
    words = [f"WHEN {condition} THEN {value}" for condition, value in pairs]
    if call.arguments[-1].span.start != call.span.start:  # where ELSE is written
        words.append(f"ELSE {otherwise}")
    return f"CASE {' '.join(words)} END"


def _function(name: str, arguments: list[str]) -> str | None:
    if name in _AGGREGATES:
        return f"{name.lower()}({', '.join(arguments)})"
    function = FUNCTIONS.get(name)
    if function is None or function.column is None:
        return None
    added = (function.added or {}).get(len(arguments))
    shown = arguments if added is None else [*arguments, added]
    return f"{function.column}({', '.join(shown)})"
