"""What Spark calls a column of a SELECT that was given no name; only where that is sure."""

from __future__ import annotations

from acidsql.catalog.types import DecimalType, HiveType, PrimitiveType
from acidsql.expressions.tree import Call, Cast, ColumnRef, Condition, Constant, Unread
from acidsql.parser.tokens import TokenKind, tokenize
from acidsql.planner.bind.current_database import CALLS, called
from acidsql.planner.bind.local.query_trees import ROW_ID

_INFIX = frozenset("= < <= > >= + - * / % & | ^ AND OR <=>".split())
_CALLS = frozenset(
    "ABS COALESCE CONCAT COUNT MIN MAX SUM AVG LENGTH LOWER UPPER REVERSE GREATEST LEAST YEAR MONTH"
    " DAYOFMONTH HOUR MINUTE SECOND DATE_ADD DATE_SUB DATEDIFF ADD_MONTHS LAST_DAY INSTR SUBSTRING"
    " SUBSTR CEIL FLOOR ROUND".split()
)
"""Functions that keep the name they are called by, in lower case."""
_CAST_TYPES = frozenset("boolean tinyint smallint int bigint float double string date".split())


def spark_name(source: str, tree: Condition) -> str | None:
    """The name of a column that is this expression; None where only Spark can tell. A cast of a
    column keeps the column's.
    """
    match tree:
        case Cast(ColumnRef() as ref):
            return _words(source, ref) if ROW_ID not in ref.parts else None
        case Call(name, ()) if name in CALLS:
            return called(name)
    return _words(source, tree)


def _words(source: str, tree: Condition) -> str | None:
    """What Spark shows of an expression inside others."""
    match tree:
        case ColumnRef(span=span):
            tokens = tokenize(span.cut(source))
            return tokens[-1].text if tokens else None
        case Constant():
            return _constant(source, tree)
        case Cast(argument, hive_type) if _is_named(hive_type):
            inner = _words(source, argument)
            return None if inner is None else f"CAST({inner} AS {str(hive_type).upper()})"
        case Call():
            return _call(source, tree)
    return None


def _is_named(hive_type: HiveType) -> bool:
    match hive_type:
        case PrimitiveType(name):
            return name in _CAST_TYPES
        case DecimalType():
            return True
    return False


def _constant(source: str, constant: Constant) -> str | None:
    """Whole numbers, texts and truths show as they are; other literals leave it to Spark."""
    written = constant.span.cut(source)
    match constant.value:
        case bool() as value:
            return "true" if value else "false"
        case int() as value if written.lstrip("-").isdecimal() and str(value) == written:
            return written
        case str() as text if text.isprintable() and tokenize(written)[0].kind is TokenKind.STRING:
            return text
    return None


def _call(source: str, call: Call) -> str | None:
    if call.name == "COUNT" and isinstance(call.arguments[0], Unread):
        return "count(1)"
    names = [_words(source, argument) for argument in call.arguments]
    inner = [name for name in names if name is not None]
    if len(inner) < len(names):
        return None
    match call.name, inner:
        case name, [left, right] if name in _INFIX:
            return f"({left} {name} {right})"
        case "NOT", [operand]:
            return f"(NOT {operand})"
        case "IS NULL", [operand]:
            return f"({operand} IS NULL)"
        case "||", [left, right]:
            return f"concat({left}, {right})"
        case name, _ if name in _CALLS:
            return f"{name.lower()}({', '.join(inner)})"
    return None
