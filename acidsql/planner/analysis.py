"""What a query or expression refers to: tables, ROW__ID, stars, columns, and the conjuncts a scan may use.

sqlglot parses the user's slice for this analysis only; all results are spans of the user's text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from acidsql.catalog.model import Table
from acidsql.catalog.types import HiveType, PrimitiveType
from acidsql.errors import BindError, Error, Span
from acidsql.planner.columns import ROW_ID, ColumnFinder, Visible, Word, simple_columns
from acidsql.planner.conditions import PartitionCondition
from acidsql.planner.partition_filter import Filters, Relation, filter_by
from acidsql.planner.plan import Predicate
from acidsql.planner.predicates import conjuncts
from acidsql.planner.query_text import Edit, Piece, Slice, Slot, edited
from acidsql.planner.query_tree import Parsed, is_cte, parse_expression, parse_query

if TYPE_CHECKING:
    from sqlglot import exp

ROW_ID_COLUMN = "ROW__ID"

Resolve = Callable[[tuple[str, ...], Span], Table | None]
"""Name parts and their place -> the catalog's table, or None when Spark knows the name; raises when nobody does."""


@dataclass(slots=True)
class Read:
    """One reference to a catalog table. ``row_id``: the query asks for ROW__ID. ``partition_filter``: every one must hold."""

    table: Table
    span: Span
    alias: str
    row_id: bool = False
    predicates: tuple[Predicate, ...] = ()
    partition_filter: list[PartitionCondition] = field(default_factory=list)


@dataclass(slots=True)
class Analysis:
    reads: list[Read] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)


def analyse_query(source: str, span: Span, resolve: Resolve, analysis: Analysis) -> exp.Expr:
    """Adds the reads and edits of the query ``span`` of ``source`` and returns its tree. ParseError, or whatever ``resolve`` raises."""
    tree = parse_query(source, span)
    _Walk(source, span.start, tree, resolve, analysis, span).query()
    return tree


def relation(read: Read, source: str, resolve: Resolve, analysis: Analysis) -> tuple[Piece, ...]:
    """The slot of a table; of a view its query in brackets, whose tables have slots. Adds them to the reads of ``analysis``."""
    if read.table.view is None:
        analysis.reads.append(read)
        return (Slot(len(analysis.reads) - 1),)
    text = read.table.view.expanded
    inner = Analysis(reads=analysis.reads)
    first = len(inner.reads)
    try:
        analyse_query(text, Span(0, len(text)), resolve, inner)
    except Error as error:  # a table that is gone since: the user's text has the view's name only
        error.span, error.source, error.detail = read.span, source, f"in the query of view {read.table.name}"
        raise
    except RecursionError:
        raise BindError(f"Recursive view {read.table.name} detected", span=read.span, source=source) from None
    for one in inner.reads[first:]:
        one.span = read.span
    pieces = edited(Span(0, len(text)), inner.edits)
    return ("(", *(p.span.cut(text) if isinstance(p, Slice) else p for p in pieces), ")")


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Of an expression: the columns it uses, each with its relation's alias, and its type where that is plain to see.

    ``mere``: it is the one column it uses and nothing more.
    """

    columns: frozenset[tuple[str, str]]
    type: HiveType | None
    mere: bool = False

    @property
    def used(self) -> frozenset[str]:
        """The aliases."""
        return frozenset(alias for alias, _ in self.columns)


def analyse_value(source: str, span: Span, resolve: Resolve, analysis: Analysis) -> None:
    """The same for an expression over no table; sub-queries in it may read some."""
    parsed = parse_expression(source, span)
    _Walk(source, parsed.base, parsed.tree, resolve, analysis, span).query()


def analyse_expression(
    source: str, span: Span, resolve: Resolve, analysis: Analysis, visible: Sequence[Visible], parsed: Parsed | None = None
) -> Facts:
    """The same for an expression over the columns of ``visible``, which are checked: ColumnNotFoundError, AmbiguousColumnError."""
    simple = simple_columns(source, span)
    if simple is not None:
        finder: ColumnFinder[Word] = ColumnFinder(source, lambda word: word.span)
        owners = [(finder.owner(words, visible), words) for words in simple]
        columns = frozenset((owner.alias, finder.name_of(words, owner)) for owner, words in owners if owner is not None)
        text = span.cut(source).strip()
        [(owner, words), *more] = owners or [(None, [])]
        mere = owner is not None and not more and text == ".".join(word.name for word in words) and finder.is_mere(words, owner)
        return Facts(columns=columns, type=_type_of_simple(text, simple, finder, visible), mere=mere)
    parsed = parsed or parse_expression(source, span)
    walk = _Walk(source, parsed.base, parsed.tree, resolve, analysis, span)
    walk.given = list(visible)
    walk.query()
    return Facts(columns=frozenset(walk.columns_used(visible)), type=walk.plain_type(visible), mere=walk.is_mere_column(visible))


def _type_of_simple(text: str, columns: list[list[Word]], finder: ColumnFinder[Word], visible: Sequence[Visible]) -> HiveType | None:
    """Of a mere column or literal."""
    if len(columns) == 1 and text == ".".join(word.name for word in columns[0]):
        return finder.type_of(columns[0], visible)
    literal = None if columns else re.fullmatch(r"\d+(?:\.\d+)?|('[^']*')", text)
    if literal is not None:
        return PrimitiveType("string" if literal[1] else "double")
    return None


def pushed_predicates(source: str, span: Span, table: Table, alias: str, parsed: Parsed | None = None) -> tuple[Predicate, ...]:
    """The conjuncts of the expression ``span`` that a scan of ``table`` may use."""
    parsed = parsed or parse_expression(source, span)
    return tuple(conjuncts(parsed.tree.expressions[0], table, alias))


def filter_partitions(source: str, span: Span, read: Read, others: Sequence[Visible] = ()) -> None:
    """Takes down what the condition ``span`` over the columns of ``read`` and ``others`` asks of the partitions of ``read``."""
    filter_by(source, span, _relation(read), others)


def _relation(read: Read) -> Relation:
    partitioned = {c.name: c.type for c in read.table.partition_columns}
    return Relation(Visible.of(read.table, read.alias), partitioned, found=read.partition_filter)


def holds_query_or_window(source: str, span: Span) -> str | None:
    """What an expression holds that a rule of a table may not: "Subqueries", "Window functions" or nothing."""
    from sqlglot import exp

    tree = parse_expression(source, span).tree
    if any(node is not tree for node in tree.find_all(exp.Query)):
        return "Subqueries"
    return "Window functions" if tree.find(exp.Window) else None


class _Walk:
    """One pass over the tree of ``text``; offset 0 of what was parsed stands for ``base`` of the source."""

    def __init__(self, source: str, base: int, tree: exp.Expr, resolve: Resolve, analysis: Analysis, text: Span) -> None:
        self.source = source
        self.base = base
        self.text = text
        self.tree = tree
        self.resolve = resolve
        self.analysis = analysis
        self.scopes: dict[int, list[Read]] = {}
        self.tables: dict[int, Read] = {}
        self.nodes: list[exp.Expr] = []
        self.given: list[Visible] | None = None
        self.finder: ColumnFinder[exp.Expr] = ColumnFinder(source, self.span)

    def span(self, node: exp.Expr, last: exp.Expr | None = None) -> Span:
        end = (last or node).meta["end"] + 1
        return Span(self.base + node.meta["start"], self.base + end)

    def query(self) -> None:
        from sqlglot import exp

        self.nodes = nodes = list(self.tree.walk())
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
        if any(read.table.partition_columns for read in self.tables.values()):
            self.filter_partitions()
        self.check_queries()

    def table(self, node: exp.Table) -> None:
        from sqlglot import exp

        parts = [p for p in (node.args.get("catalog"), node.args.get("db"), node.this) if isinstance(p, exp.Identifier)]
        if not isinstance(node.this, exp.Identifier) or node.find_ancestor(exp.Hint) or (len(parts) == 1 and is_cte(node)):
            return
        place = self.span(parts[0], parts[-1])
        table = self.resolve(tuple(p.name for p in parts), place)
        if table is None:
            return
        name = node.alias or node.name
        if node.args.get("version") is not None:
            message = f"Time travel is not allowed for {name}. Please choose a storage format which supports the feature."
            raise BindError(message, code=10429, span=place, source=self.source)
        read = Read(table=table, span=place, alias=name.lower())
        named = () if node.alias or node.args.get("sample") else (f" AS {_quoted(node.name)}",)
        self.analysis.edits.append(Edit(place, (*relation(read, self.source, self.resolve, self.analysis), *named)))
        self.scopes.setdefault(id(node.find_ancestor(exp.Select)), []).append(read)
        self.tables[id(node)] = read

    def column(self, node: exp.Column) -> None:
        """Marks the reads whose ROW__ID is asked for; drops a database qualifier, which a view has not."""
        from sqlglot import exp

        names = [p.name.lower() for p in node.parts]
        if ROW_ID in names:
            asked: list[Read] = []
            select = node.find_ancestor(exp.Select)
            while select is not None:
                asked += self.scopes.get(id(select), ())
                select = select.find_ancestor(exp.Select)
            for read in asked:
                read.row_id = True
            place = names.index(ROW_ID)
            self.check_row_ids(node.parts[place], [r for r in asked if not place or r.alias in names[:place]])
        if len(names) > 2:
            owner = (names[0], names[1])
            if any(owner == (r.table.name.database, r.table.name.table) and r.alias == names[1] for r in self.analysis.reads):
                start = self.span(node.parts[0]).start
                self.analysis.edits.append(Edit(Span(start, self.span(node.parts[1]).start), ()))

    def check_row_ids(self, node: exp.Expr, asked: Sequence[Read]) -> None:
        """``asked``: the tables whose ROW__ID the name ``node`` may mean."""
        if asked and all(read.table.is_insert_only for read in asked):
            message = f"rows of insert-only table {asked[0].table.name} have no ROW__ID"
            raise BindError(message, span=self.span(node), source=self.source)

    def star(self, node: exp.Star) -> None:
        from sqlglot import exp

        parent = node.parent
        qualified = isinstance(parent, exp.Column)
        holder = parent.parent if qualified and parent is not None else parent
        if not isinstance(holder, exp.Select):
            return
        reads = [r for r in self.scopes.get(id(holder), ()) if r.row_id and r.table.view is None]
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
            reads[0].predicates = tuple(conjuncts(where.this, reads[0].table, reads[0].alias))

    def filter_partitions(self) -> None:
        from sqlglot import exp

        filters = Filters(self.source, self.text, self.relation)
        for node in self.nodes:
            if isinstance(node, exp.Select):
                filters.collect(node, self.place)

    def place(self, column: exp.Column) -> int | None:
        """Where a column begins in the source; None where sqlglot does not tell."""
        return self.span(column.parts[0]).start if "start" in column.parts[0].meta else None

    def relation(self, node: exp.Expr) -> Relation:
        """What stands in a FROM, for the conditions on it; a table of the catalog takes down those on its partitions."""
        read = self.tables.get(id(node))
        plain = {name for name, value in node.args.items() if value} <= {"this", "db", "catalog", "alias"} and not node.alias_column_names
        if read is None or not plain:
            return Relation(Visible(alias=node.alias_or_name.lower(), name=node.alias_or_name))
        return _relation(read)

    def is_mere_column(self, visible: Sequence[Visible]) -> bool:
        from sqlglot import exp

        [node] = self.tree.expressions
        owner = self.finder.owner(list(node.parts), visible) if isinstance(node, exp.Column) else None
        return owner is not None and self.finder.is_mere(list(node.parts), owner)

    def columns_used(self, visible: Sequence[Visible]) -> set[tuple[str, str]]:
        """Every column outside sub-queries must be one of ``visible``'s; those that are used, with their aliases."""
        used = set()
        for node in self.columns_of(self.tree):
            parts = list(node.parts)
            owner = self.finder.owner(parts, visible)
            if owner is not None:
                used.add((owner.alias, self.finder.name_of(parts, owner)))
        return used

    def check_queries(self) -> None:
        """The same for every SELECT all of whose tables, and those of the queries around it, are known."""
        from sqlglot import exp

        for select in (node for node in self.nodes if isinstance(node, exp.Select)):
            if self.given is not None and select is self.tree:
                continue
            levels = self.levels(select)
            if levels:
                names = {e.alias.lower() for level in self.enclosing(select) for e in level.selects if isinstance(e, exp.Alias)}
                for node in self.columns_of(select):
                    self.finder.check(list(node.parts), levels, names)

    def columns_of(self, select: exp.Expr) -> Iterator[exp.Column]:
        from sqlglot import exp

        for node in self.nodes:
            if not isinstance(node, exp.Column):
                continue
            known = "start" in node.parts[0].meta and not isinstance(node.this, exp.Star)
            if known and node.find_ancestor(exp.Select) is select and not node.find_ancestor(exp.Star, exp.Hint):
                yield node

    def enclosing(self, select: exp.Expr) -> Iterator[exp.Select]:
        """The query and those around it whose columns it can use."""
        from sqlglot import exp

        node: exp.Expr | None = select
        while node is not None:
            if isinstance(node, exp.Select):
                yield node
            derived = isinstance(node, exp.CTE) or (isinstance(node, exp.Subquery) and isinstance(node.parent, exp.From | exp.Join))
            node = None if derived else node.parent

    def levels(self, select: exp.Expr) -> list[list[Visible]]:
        """What is visible in a query, then in each around it; [] where something is known to Spark only."""
        found = []
        for level in self.enclosing(select):
            visible = self.given if self.given is not None and level is self.tree else self.visible(level)
            if visible is None:
                return []
            found.append(visible)
        return found

    def visible(self, select: exp.Select) -> list[Visible] | None:
        """The tables of FROM, None unless every one is the catalog's and they are joined by ON or not at all."""
        from sqlglot import exp

        clause = select.args.get("from_") or select.args.get("from")
        joins = select.args.get("joins") or []
        sources = [clause.this] if isinstance(clause, exp.From) else []
        sources += [join.this for join in joins]
        plain = all(
            isinstance(s, exp.Table) and not s.args.get("pivots") and not s.args.get("joins") and not s.alias_column_names for s in sources
        )
        merged = any(join.args.get("using") or join.args.get("method") or join.kind in ("SEMI", "ANTI") for join in joins)
        reads = self.scopes.get(id(select), [])
        if not plain or merged or select.args.get("laterals") or len(reads) != len(sources):
            return None
        return [Visible.of(read.table, read.alias) for read in reads]

    def plain_type(self, visible: Sequence[Visible]) -> HiveType | None:
        """Of a mere column or literal."""
        from sqlglot import exp

        expression = self.tree.expressions[0] if len(self.tree.expressions) == 1 else None
        if isinstance(expression, exp.Literal):
            return PrimitiveType("string" if expression.is_string else "double")
        if isinstance(expression, exp.Column) and not isinstance(expression.this, exp.Star):
            return self.finder.type_of(list(expression.parts), visible)
        return None


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
