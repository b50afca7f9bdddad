"""What a query or expression refers to: tables, ROW__ID, stars, columns, and the conjuncts a scan may use.

sqlglot parses the user's slice for this analysis only; all results are spans of the user's text.
"""

from __future__ import annotations

import datetime
import difflib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from acidsql.catalog.model import Column, Table
from acidsql.catalog.types import DecimalType, PrimitiveType
from acidsql.errors import ColumnNotFoundError, ParseError, Span
from acidsql.planner.plan import Comparison, Predicate, Scalar
from acidsql.planner.query_text import Edit, Slot

if TYPE_CHECKING:
    from sqlglot import exp

ROW_ID = "row__id"
ROW_ID_COLUMN = "ROW__ID"

Resolve = Callable[[tuple[str, ...], Span], Table | None]
"""Name parts and their place -> the catalog's table, or None when Spark knows the name; raises when nobody does."""

_INTEGERS = {"tinyint": 1 << 7, "smallint": 1 << 15, "int": 1 << 31, "bigint": 1 << 63}
_WORDS_FOR_SPARK = frozenset(
    "year yearofweek quarter month week day dayofweek dayofyear hour minute second millisecond microsecond nanosecond "
    "years months weeks days hours minutes seconds doy dow user current_user session_user localtimestamp current_time".split()
)
"""Words that look like columns to a parser but are units or functions: Spark judges them."""


@dataclass(slots=True)
class Read:
    """One reference to a catalog table. ``row_id``: the query asks for ROW__ID."""

    table: Table
    span: Span
    alias: str
    row_id: bool = False
    predicates: tuple[Predicate, ...] = ()


@dataclass(slots=True)
class Analysis:
    reads: list[Read] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)


def analyse_query(source: str, span: Span, resolve: Resolve, analysis: Analysis, *, wrap: str = "") -> None:
    """Adds the reads and edits of the query ``span`` of ``source``. ParseError, or whatever ``resolve`` raises.

    ``wrap`` is set before the text to make a query of it.
    """
    _Walk(source, span.start - len(wrap), _parse(source, span, wrap), resolve, analysis).query()


def analyse_expression(source: str, span: Span, resolve: Resolve, analysis: Analysis, target: Read) -> None:
    """The same for an expression over the row of ``target``; its columns are checked: ColumnNotFoundError."""
    walk = _Walk(source, span.start - len(_WRAP), _parse(source, span, _WRAP), resolve, analysis)
    walk.query()
    walk.check_columns(target)


def pushed_predicates(source: str, span: Span, table: Table, alias: str) -> tuple[Predicate, ...]:
    """The conjuncts of the expression ``span`` that a scan of ``table`` may use."""
    from sqlglot import exp

    tree = _parse(source, span, _WRAP)
    condition = tree.expressions[0] if isinstance(tree, exp.Select) else None
    return tuple(_predicates(condition, table, alias)) if condition is not None else ()


_WRAP = "SELECT "


@cache
def _dialect() -> Any:
    from sqlglot.dialects import Spark

    return Spark()


def _parse(source: str, span: Span, wrap: str) -> exp.Expr:
    """One query tree. sqlglot's columns are end columns: places are made from offsets."""
    import sqlglot
    from sqlglot.errors import SqlglotError

    text = wrap + span.cut(source)
    try:
        trees = sqlglot.parse(text, dialect=_dialect())
    except SqlglotError as error:
        raise _parse_error(error, text, span, len(wrap), source) from None
    if len(trees) != 1 or trees[0] is None or not isinstance(trees[0], _query_types()):
        raise ParseError("expected a query", span=span, source=source)
    return trees[0]


@cache
def _query_types() -> tuple[type, ...]:
    from sqlglot import exp

    return (exp.Query, exp.Values, exp.Table)


def _parse_error(error: Exception, text: str, span: Span, wrapped: int, source: str) -> ParseError:
    facts = (getattr(error, "errors", None) or [{}])[0]
    highlight = facts.get("highlight") or ""
    before = facts.get("start_context") or ""
    at = text.find(before + highlight) + len(before) if highlight else len(text.rstrip())
    place = Span(span.start - wrapped + at, span.start - wrapped + at + max(1, len(highlight)))
    message = str(facts.get("description") or "this is not a query or an expression").split(" but got ")[0].rstrip(".")
    if message.startswith("Required keyword"):
        message = "something is missing before or after this"
    if "Unexpected token" in message:
        message = f'unexpected "{highlight}"'
    return ParseError(message[:1].lower() + message[1:], span=place, source=source)


class _Walk:
    """One pass over a tree whose text starts at offset ``base`` of the source."""

    def __init__(self, source: str, base: int, tree: exp.Expr, resolve: Resolve, analysis: Analysis) -> None:
        self.source = source
        self.base = base
        self.tree = tree
        self.resolve = resolve
        self.analysis = analysis
        self.scopes: dict[int, list[Read]] = {}

    def span(self, node: exp.Expr, last: exp.Expr | None = None) -> Span:
        end = (last or node).meta["end"] + 1
        return Span(self.base + node.meta["start"], self.base + end)

    def query(self) -> None:
        from sqlglot import exp

        nodes = list(self.tree.walk())
        for node in nodes:
            if isinstance(node, exp.Table):
                self.table(node)
        if not self.analysis.reads:
            return
        for node in nodes:
            if isinstance(node, exp.Column):
                self.column(node)
        for node in nodes:
            if isinstance(node, exp.Star):
                self.star(node)
            elif isinstance(node, exp.Select):
                self.pushed(node)

    def table(self, node: exp.Table) -> None:
        from sqlglot import exp

        parts = [p for p in (node.args.get("catalog"), node.args.get("db"), node.this) if isinstance(p, exp.Identifier)]
        if not isinstance(node.this, exp.Identifier) or node.find_ancestor(exp.Hint) or (len(parts) == 1 and _is_cte(node)):
            return
        place = self.span(parts[0], parts[-1])
        table = self.resolve(tuple(p.name for p in parts), place)
        if table is None:
            return
        alias = node.alias
        read = Read(table=table, span=place, alias=(alias or node.name).lower())
        slot = Slot(len(self.analysis.reads))
        sampled = bool(node.args.get("sample"))
        self.analysis.reads.append(read)
        self.analysis.edits.append(Edit(place, (slot,) if alias or sampled else (slot, f" AS {_quoted(node.name)}")))
        self.scopes.setdefault(id(node.find_ancestor(exp.Select)), []).append(read)

    def column(self, node: exp.Column) -> None:
        """Marks the reads whose ROW__ID is asked for; drops a database qualifier, which a view has not."""
        from sqlglot import exp

        names = [p.name.lower() for p in node.parts]
        if ROW_ID in names:
            select = node.find_ancestor(exp.Select)
            while select is not None:
                for read in self.scopes.get(id(select), ()):
                    read.row_id = True
                select = select.find_ancestor(exp.Select)
        if len(names) > 2:
            owner = (names[0], names[1])
            if any(owner == (r.table.name.database, r.table.name.table) and r.alias == names[1] for r in self.analysis.reads):
                start = self.span(node.parts[0]).start
                self.analysis.edits.append(Edit(Span(start, self.span(node.parts[1]).start), ()))

    def star(self, node: exp.Star) -> None:
        from sqlglot import exp

        parent = node.parent
        qualified = isinstance(parent, exp.Column)
        holder = parent.parent if qualified and parent is not None else parent
        if not isinstance(holder, exp.Select):
            return
        reads = [r for r in self.scopes.get(id(holder), ()) if r.row_id]
        if qualified:
            reads = [r for r in reads if r.alias == cast("exp.Column", parent).table.lower()]
        if reads:
            end = self.span(node).end
            hidden = [ROW_ID_COLUMN] if qualified else [f"{_quoted(r.alias)}.{ROW_ID_COLUMN}" for r in reads]
            self.analysis.edits.append(Edit(Span(end, end), (f" EXCEPT ({', '.join(hidden)})",)))

    def pushed(self, select: exp.Select) -> None:
        """A WHERE over exactly one table and nothing joined to it may be used by that table's scan."""
        reads = self.scopes.get(id(select), [])
        where = select.args.get("where")
        if len(reads) == 1 and where is not None and not select.args.get("joins") and not select.args.get("laterals"):
            reads[0].predicates = tuple(_predicates(where.this, reads[0].table, reads[0].alias))

    def check_columns(self, target: Read) -> None:
        """Every column outside sub-queries must be one of the target's."""
        from sqlglot import exp

        known = {c.name for c in (*target.table.columns, *target.table.partition_columns)} | {ROW_ID}
        for node in self.tree.find_all(exp.Column):
            if node.find_ancestor(exp.Select) is not self.tree or isinstance(node.this, exp.Star):
                continue
            parts = list(node.parts)
            if len(parts) > 1 and parts[0].name.lower() == target.alias:
                parts = parts[1:]
            elif len(parts) > 2 and tuple(p.name.lower() for p in parts[:2]) == (target.table.name.database, target.alias):
                parts = parts[2:]
            name = parts[0].name.lower()
            if name not in known and name not in _WORDS_FOR_SPARK and "start" in parts[0].meta:
                raise column_not_found(parts[0].name, target.table, self.span(parts[0]), self.source)


def column_not_found(name: str, table: Table, span: Span, source: str, code: int = 10004) -> ColumnNotFoundError:
    near = difflib.get_close_matches(name.lower(), [c.name for c in (*table.columns, *table.partition_columns)], n=1)
    hint = f'did you mean "{near[0]}"?' if near else None
    return ColumnNotFoundError(f'column "{name}" does not exist in table "{table.name}"', hint=hint, code=code, span=span, source=source)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _is_cte(table: exp.Table) -> bool:
    """Whether an unqualified name means a common table expression that is visible there."""
    from sqlglot import exp

    name = table.name.lower()
    child: exp.Expr = table
    node = table.parent
    while node is not None:
        clause = node if isinstance(node, exp.With) else node.args.get("with_") or node.args.get("with")
        if isinstance(clause, exp.With) and clause is not child:
            recursive = bool(clause.args.get("recursive"))
            for cte in clause.expressions:
                if cte is child and not recursive:
                    break
                if cte.alias.lower() == name:
                    return True
        child, node = node, node.parent
    return False


def _predicates(condition: exp.Expr, table: Table, alias: str) -> Iterator[Predicate]:
    from sqlglot import exp

    match condition:
        case exp.And():
            yield from _predicates(condition.left, table, alias)
            yield from _predicates(condition.right, table, alias)
        case exp.Paren():
            yield from _predicates(condition.this, table, alias)
        case exp.EQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
            yield from _comparison(condition, table, alias)
        case exp.Between():
            low = exp.GTE(this=condition.this, expression=condition.args["low"])
            high = exp.LTE(this=condition.this, expression=condition.args["high"])
            yield from [*_comparison(low, table, alias), *_comparison(high, table, alias)]
        case exp.In() if condition.expressions:
            column = _column(condition.this, table, alias)
            values = [_scalar(e, column) for e in condition.expressions] if column else []
            if column and all(v is not None for v in values):
                yield Predicate(column=column.name, op=Comparison.IN, values=tuple(v for v in values if v is not None))
        case exp.Is() if isinstance(condition.expression, exp.Null):
            if column := _column(condition.this, table, alias):
                yield Predicate(column=column.name, op=Comparison.IS_NULL)
        case exp.Not(this=exp.Is() as inner) if isinstance(inner.expression, exp.Null):
            if column := _column(inner.this, table, alias):
                yield Predicate(column=column.name, op=Comparison.IS_NOT_NULL)


_MIRROR = {"EQ": "=", "LT": ">", "LTE": ">=", "GT": "<", "GTE": "<="}
_PLAIN = {"EQ": "=", "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">="}


def _comparison(node: exp.Expr, table: Table, alias: str) -> Iterator[Predicate]:
    left, right, names = node.this, node.expression, _PLAIN
    if _column(left, table, alias) is None:
        left, right, names = right, left, _MIRROR
    column = _column(left, table, alias)
    value = _scalar(right, column) if column else None
    if column is not None and value is not None:
        yield Predicate(column=column.name, op=Comparison(names[type(node).__name__]), values=(value,))


def _column(node: exp.Expr | None, table: Table, alias: str) -> Column | None:
    from sqlglot import exp

    if not isinstance(node, exp.Column) or node.args.get("db") or (node.table and node.table.lower() != alias):
        return None
    return table.column(node.name)


def _scalar(node: exp.Expr, column: Column | None) -> Scalar | None:
    """The literal as a value of the column's own type; None where Spark's comparison would cast the column."""
    from sqlglot import exp

    if column is None:
        return None
    if isinstance(node, exp.Neg):
        value = _scalar(node.this, column)
        return -value if isinstance(value, int | float | Decimal) and not isinstance(value, bool) else None
    match column.type:
        case PrimitiveType("tinyint" | "smallint" | "int" | "bigint" as name):
            number = int(node.this) if isinstance(node, exp.Literal) and not node.is_string and node.this.isdigit() else None
            return number if number is not None and number < _INTEGERS[name] else None
        case PrimitiveType("string"):
            plain = isinstance(node, exp.Literal) and node.is_string and "\\" not in node.this
            return str(node.this) if plain else None
        case PrimitiveType("date"):
            return _date(node)
        case DecimalType(precision, scale) if isinstance(node, exp.Literal) and not node.is_string:
            return _decimal(node.this, precision, scale)
        case PrimitiveType("boolean") if isinstance(node, exp.Boolean):
            return bool(node.this)
    return None


def _date(node: exp.Expr) -> datetime.date | None:
    from sqlglot import exp

    if isinstance(node, exp.Cast) and node.is_type("date") and isinstance(node.this, exp.Literal) and node.this.is_string:
        try:
            return datetime.date.fromisoformat(node.this.this)
        except ValueError:
            return None
    return None


def _decimal(text: str, precision: int, scale: int) -> Decimal | None:
    if not text.replace(".", "", 1).isdigit():
        return None
    value = Decimal(text)
    exponent = value.as_tuple().exponent
    fits = isinstance(exponent, int) and -exponent <= scale and len(value.as_tuple().digits) + scale + exponent <= precision
    return value if fits else None
