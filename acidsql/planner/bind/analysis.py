"""What a query or expression refers to: tables, ROW__ID, stars, columns, and the conjuncts a scan
may use.

sqlglot parses the user's slice for this analysis only; all results are spans of the user's text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import field
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, cast

from acidsql.acid.ids import ROW_ID_COLUMN
from acidsql.catalog.model import ForeignTable, Table
from acidsql.catalog.path_relation import FileSource
from acidsql.catalog.types import PrimitiveType
from acidsql.errors import BindError, Error, NestingError, Span
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.pruning import Predicate, predicates
from acidsql.expressions.spark_words import Edit, Piece, Slice, Slot, edited, identifier
from acidsql.expressions.tree import Condition, PartitionCondition
from acidsql.lazy import dataclass
from acidsql.parser.tokens import Token, tokens_in
from acidsql.planner.bind.columns import (
    ROW_ID,
    ColumnFinder,
    Facts,
    KnowsFunction,
    Visible,
    check_nodes,
    database_edits,
    may_be_shortened,
    moment_edits,
    shorter,
)
from acidsql.planner.bind.files.sources import (
    FUNCTIONS,
    QUOTES,
    called_source,
    file_source,
)
from acidsql.planner.bind.local.query_trees import LocalQuery, LocalValues
from acidsql.planner.bind.query_scopes import (
    Called,
    Callings,
    Clauses,
    QueryScopes,
    Relation,
    asks_results,
    collect,
    filter_by,
    is_plain_table,
    joined_tables,
)
from acidsql.planner.bind.query_tree import Parsed, is_star, parse_expression, parse_query
from acidsql.spark_release import has_star_except

if TYPE_CHECKING:
    from sqlglot import exp


MAX_VIEWS = 100
"""Views that read one another; each costs some calls inside the calls for the one before."""

_CALLED = re.compile(rf"(?:{'|'.join(FUNCTIONS)})\b", re.IGNORECASE)
OpenFiles = Callable[[FileSource, Span], Table | None]
"""Files that a text names, and their place -> a table of their rows, or None where Spark knows them
by their path.
"""
Resolve = Callable[[tuple[str, ...], Span], Table | None]
"""Name parts and their span -> the catalog's table, or None when Spark knows the name; raises when
nobody does.
"""


@dataclass(slots=True)
class Read:
    """One reference to a catalog table. ``inside``: of one that stands in the query of a view that
    is read, its place there, behind those of the views in the queries around it. ``row_id``: the
    query asks for ROW__ID. ``partition_filter``: conditions that all hold for the partitions it
    needs. ``condition``: the WHERE over it alone, as far as it is understood.
    """

    table: Table
    span: Span
    alias: str
    inside: tuple[Span, ...] = ()
    row_id: bool = False
    predicates: tuple[Predicate, ...] = ()
    partition_filter: list[PartitionCondition] = field(default_factory=list)
    condition: Condition | None = None


@dataclass(slots=True)
class Analysis:
    """``paths``: the edits of files in quotes. ``queries``: of the views that are read, by their
    places, each as ``Read.inside`` behind that of the outermost. ``verbatim``: no condition is put
    into fewer words, as in the text of a view. ``views``: in how many views, one inside the other,
    the text stands. ``database``: the session's, None where calls of ``current_database()`` are
    left as they are. ``knows``: tells functions that Spark has not by itself, None where they are
    not asked about. ``zone``: that whose clock ``current_timestamp()`` shows.
    ``open_files``: None in the text of a view, which names no files so. ``foreign``: is told of
    tables of other catalogs; None where none can be named.
    """

    reads: list[Read] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)
    paths: list[Edit] = field(default_factory=list)
    queries: dict[tuple[Span, ...], str] = field(default_factory=dict)
    verbatim: bool = False
    views: int = 0
    database: str | None = None
    knows: KnowsFunction | None = None
    zone: str = "UTC"
    open_files: OpenFiles | None = None
    foreign: Callable[[ForeignTable, Span], None] | None = None


def analyse_query(source: str, span: Span, resolve: Resolve, analysis: Analysis) -> exp.Expr:
    """Adds the reads and edits of the query ``span`` of ``source`` and returns its tree.
    ParseError, or whatever ``resolve`` raises.
    """
    tree = parse_query(source, span)
    _Walk(source, span.start, tree, resolve, analysis, span).query()
    return tree


def relation(read: Read, source: str, resolve: Resolve, analysis: Analysis) -> tuple[Piece, ...]:
    """The slot of a table; of a view its query in brackets, whose tables have slots. Adds them to
    the reads of ``analysis``.
    """
    if read.table.view is None:
        analysis.reads.append(read)
        return (Slot(len(analysis.reads) - 1),)
    text = read.table.view.expanded
    if analysis.views == MAX_VIEWS:
        raise NestingError(
            f"view {read.table.name} is the last of more than {MAX_VIEWS} views, each of which"
            " reads the next",
            hint="Write the rows of one of them to a table.",
            span=read.span,
            source=source,
        )
    inner = Analysis(
        reads=analysis.reads,
        views=analysis.views + 1,
        database=analysis.database,
        zone=analysis.zone,
        foreign=analysis.foreign,
    )
    first = len(inner.reads)
    try:
        analyse_query(text, Span(0, len(text)), resolve, inner)
    except Error as error:  # a table that is gone since: the user's text has the view's name only
        error.span, error.source = read.span, source
        error.detail = f"in the query of view {read.table.name}"
        raise
    for one in inner.reads[first:]:
        one.inside = (one.span, *one.inside)
        one.span = read.span
    analysis.queries[(read.span,)] = text
    analysis.queries |= {(read.span, *inside): query for inside, query in inner.queries.items()}
    pieces = edited(Span(0, len(text)), inner.edits)
    return ("(", *(p.span.cut(text) if isinstance(p, Slice) else p for p in pieces), ")")


def analyse_value(
    source: str, span: Span, resolve: Resolve, analysis: Analysis, parsed: Parsed | None = None
) -> None:
    """Adds the reads and edits of an expression over no table; sub-queries in it may read some."""
    parsed = parsed or parse_expression(source, span)
    _Walk(source, parsed.base, parsed.tree, resolve, analysis, span).query()


def analyse_expression(
    source: str,
    span: Span,
    resolve: Resolve,
    analysis: Analysis,
    visible: Sequence[Visible],
    parsed: Parsed | None = None,
) -> Facts:
    """Adds the reads and edits of an expression over the columns of ``visible``, which are
    checked: ColumnNotFoundError, AmbiguousColumnError.
    """
    parsed = parsed or parse_expression(source, span)
    walk = _Walk(source, parsed.base, parsed.tree, resolve, analysis, span)
    walk.given = list(visible)
    walk.query()
    return walk.facts(visible)


def filter_partitions(
    source: str, condition: Condition | None, read: Read, others: Sequence[Visible] = ()
) -> None:
    """Takes down what a condition of ``source`` over the columns of ``read`` and ``others`` asks of
    the partitions of ``read``.
    """
    filter_by(source, condition, _relation(read), others)


def _relation(read: Read) -> Relation:
    return Relation.of(read.table, read.alias, read.partition_filter)


class _Walk:
    """One pass over the tree of ``text``; offset 0 of what was parsed stands for ``base`` of the
    source.
    """

    def __init__(
        self,
        source: str,
        base: int,
        tree: exp.Expr,
        resolve: Resolve,
        analysis: Analysis,
        text: Span,
    ) -> None:
        self.source = source
        self.base = base
        self.text = text
        self.tree = tree
        self.queries = QueryScopes(tree)
        self.clauses = Clauses(source, text, base, self.queries)
        self.resolve = resolve
        self.analysis = analysis
        self.scopes: dict[int, list[Read]] = {}
        self.tables: dict[int, Read] = {}
        self.callings = Callings(self.queries)
        self.called: dict[int, Called] = {}
        self.read_as: list[tuple[Span, tuple[Piece, ...], Called, str]] = []
        self.given: list[Visible] | None = None
        self.seen: dict[int, list[Visible] | None] = {}
        self.finder: ColumnFinder[exp.Expr] = ColumnFinder(source, self.span)

    def span(self, node: exp.Expr, last: exp.Expr | None = None) -> Span:
        end = (last or node).meta["end"] + 1
        return Span(self.base + node.meta["start"], self.base + end)

    def query(self) -> None:
        from sqlglot import exp

        nodes = self.queries.nodes
        self.calls()
        self.relations()
        columns = {
            c.name
            for r in self.analysis.reads
            for c in (*r.table.columns, *r.table.partition_columns)
        }
        columns |= {name for seen in self.given or () for name in seen.columns or ()}
        self.analysis.edits += moment_edits(self.source, self.text, self.analysis.zone, columns)
        if not self.read_as and not self.analysis.reads:
            return
        for column in self.queries.columns():
            self.row_id(column)
            self.qualifiers(column)
        for node in nodes:
            if isinstance(node, exp.Star):
                self.star(node)
            elif isinstance(node, exp.Select):
                self.conditions(node)
        self.check_queries()

    def relations(self) -> None:
        """Finds the relations of the text, and puts tables into it."""
        from sqlglot import exp

        for seen in self.given or ():
            own = f"{seen.database}.{seen.alias}" == seen.name
            path = (seen.database, seen.alias) if own else ()
            self.callings.add(self.tree, Called(name=seen.alias, path=path))
        for node in self.queries.nodes:
            if isinstance(node, exp.Table):
                self.table(node)
            elif isinstance(node, exp.Star):
                self.left_out(node)
            elif isinstance(node, exp.Subquery | exp.UDTF) and node.alias:
                self.unread(node)
        self.name_tables()

    def calls(self) -> None:
        """Checks the functions, and edits those that tell the session's database."""
        if self.analysis.database is not None:
            edits = database_edits(self.source, self.text, self.analysis.database)
            self.analysis.edits += edits
        if self.analysis.knows is not None:
            check_nodes(self.source, self.base, self.queries.nodes, self.analysis.knows)

    def table(self, node: exp.Table) -> None:
        from sqlglot import exp

        parts = [
            p
            for p in (node.args.get("catalog"), node.args.get("db"), node.this)
            if isinstance(p, exp.Identifier)
        ]
        if isinstance(node.this, exp.Func) and "start" in node.this.meta:
            start = self.base + node.this.meta["start"]
            if _CALLED.match(self.source, start) is not None:
                self.files(node, *called_source(start, self.text, self.source))
            return
        if self.queries.in_hint(node):
            return
        if len(node.parts) > 2 and self.analysis.foreign is not None:
            self.foreign(node, self.analysis.foreign)
            return
        if not isinstance(node.this, exp.Identifier):
            return
        if len(parts) == 1 and self.queries.is_cte(node):
            self.unread(node)
            return
        span = self.span(parts[0], parts[-1])
        if self.source[span.start] in QUOTES:
            self.files(node, span, file_source(parts[-1].name, span, self.source))
            return
        table = self.resolve(tuple(p.name for p in parts), span)
        if table is None:
            self.unread(node)
        else:
            self.read(node, table, span, node.name)

    def foreign(self, node: exp.Table, tell: Callable[[ForeignTable, Span], None]) -> None:
        """A table of another catalog, perhaps an older state of it."""
        names = tuple(part.name for part in node.parts)
        span = self.span(node.parts[0], node.parts[-1])
        version, end = self.version(node, span)
        table = ForeignTable(parts=names, version=version)
        tell(table, span)
        has_name = node.alias or node.args.get("sample")
        path = () if has_name else tuple(name.lower() for name in names)
        called = Called(name=(node.alias or names[-1]).lower(), path=path)
        self.callings.add(self.queries.select_of(node), called)
        pieces = (identifier(table.view),)
        self.read_as.append((Span(span.start, end), pieces, called, "" if has_name else names[-1]))

    def version(self, node: exp.Table, span: Span) -> tuple[str, int]:
        """The words behind a table that ask for an older state, and where they end."""
        from sqlglot import exp

        version = node.args.get("version")
        if version is None:
            return "", span.end
        moment = version.expression
        if version.args.get("kind") != "AS OF" or not isinstance(moment, exp.Literal):
            message = f"a state of {span.cut(self.source)} is asked for by a number or a text"
            hint = "Write VERSION AS OF 3, VERSION AS OF 'tag' or TIMESTAMP AS OF '2026-01-01'."
            raise BindError(message, hint=hint, span=span, source=self.source)
        literal = self.span(moment)
        return f"{version.name.lower()} as of {literal.cut(self.source)}", literal.end

    def unread(self, node: exp.Expr) -> None:
        """A relation that is no table of the catalog."""
        name = node.alias_or_name.lower()
        self.callings.add(self.queries.select_of(node), Called(name=name))

    def files(self, node: exp.Table, span: Span, files: FileSource) -> None:
        """Files in the place of a table."""
        assert self.analysis.open_files is not None
        table = self.analysis.open_files(files, span)
        if table is not None:
            self.read(node, table, span, files.name)
            return
        edit = Edit(span, (f"{files.kind}.{identifier(files.path)}",))
        self.analysis.paths.append(edit)
        self.analysis.edits.append(edit)

    def read(self, node: exp.Table, table: Table, span: Span, own_name: str) -> None:
        """A table of the catalog or of files, which is called ``own_name`` unless it has an
        alias.
        """
        name = node.alias or own_name
        if node.args.get("version") is not None:
            message = (
                f"Time travel is not allowed for {name}. Please choose a storage format which"
                " supports the feature."
            )
            hint = (
                f'An older state is read by session.scan("{table.name}", as_of=write_id) in Python,'
                " as far as acidsql.history.retention has kept it; ROW__ID.writeid tells write ids."
            )
            raise BindError(message, code=10429, hint=hint, span=span, source=self.source)
        read = Read(table=table, span=span, alias=name.lower())
        has_name = node.alias or node.args.get("sample")
        path = () if has_name else (table.name.database, table.name.table)
        called = Called(name=read.alias, path=path)
        select = self.queries.select_of(node)
        self.callings.add(select, called)
        pieces = relation(read, self.source, self.resolve, self.analysis)
        self.read_as.append((span, pieces, called, "" if has_name else own_name))
        self.scopes.setdefault(id(select), []).append(read)
        self.tables[id(node)] = read
        self.called[id(read)] = called

    def name_tables(self) -> None:
        """Puts the tables into the text, each under the name that it is called by."""
        self.callings.tell_apart([called for _, _, called, _ in self.read_as])
        for span, pieces, called, own_name in self.read_as:
            name = called.words if called.apart else own_name
            named = (f" AS {identifier(name)}",) if name else ()
            self.analysis.edits.append(Edit(span, (*pieces, *named)))

    def row_id(self, node: exp.Column) -> None:
        """Marks the reads whose ROW__ID is asked for."""
        names = [p.name.lower() for p in node.parts]
        if ROW_ID not in names:
            return
        asked: list[Read] = []
        select = self.queries.select_of(node)
        while select is not None:
            asked += self.scopes.get(id(select), ())
            select = self.queries.select_of(select)
        for read in asked:
            read.row_id |= read.table.is_transactional
        ordinal = names.index(ROW_ID)
        self.check_row_ids(
            node.parts[ordinal], [r for r in asked if not ordinal or r.alias in names[:ordinal]]
        )

    def qualifiers(self, node: exp.Column) -> None:
        """Puts the name by which Spark's text calls a table into the place of the user's for it."""
        owner = self.callings.find(node)
        if owner is None:
            return
        called, count = owner
        first, last = node.parts[0], node.parts[count - 1]
        if called.apart:
            self.analysis.edits.append(Edit(self.span(first, last), (identifier(called.words),)))
        elif count > 1:
            start, end = self.span(first).start, self.span(last).start
            self.analysis.edits.append(Edit(Span(start, end), ()))

    def check_row_ids(self, node: exp.Expr, asked: Sequence[Read]) -> None:
        """``asked``: the tables whose ROW__ID the name ``node`` may mean."""
        if asked and all(read.table.is_insert_only for read in asked):
            message = f"rows of insert-only table {asked[0].table.name} have no ROW__ID"
            raise BindError(message, span=self.span(node), source=self.source)

    def left_out(self, node: exp.Star) -> None:
        """EXCLUDE, as other systems call what is EXCEPT to Spark."""
        behind = self.behind_star(node)
        if behind and behind[0].word == "EXCLUDE":
            self.analysis.edits.append(Edit(behind[0].span, ("EXCEPT",)))
            if not behind[1].is_mark("("):
                name = behind[1].span
                self.analysis.edits.append(Edit(name, (f"({name.cut(self.source)})",)))

    def behind_star(self, node: exp.Star) -> list[Token]:
        """What a star leaves out: the word for it, and what stands behind that."""
        if not (node.args.get("except_") or node.args.get("except")):
            return []
        return tokens_in(self.source, Span(self.span(node).end, self.text.end))

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
        if not reads:
            return
        span = self.span(node)
        if not has_star_except():
            self.analysis.edits.append(self.spelled_star(span, holder, reads, qualified=qualified))
            return
        hidden = (
            [ROW_ID_COLUMN]
            if qualified
            else [f"{identifier(self.called[id(r)].words)}.{ROW_ID_COLUMN}" for r in reads]
        )
        behind = self.behind_star(node)
        edit = Edit(Span(span.end, span.end), (f" EXCEPT ({', '.join(hidden)})",))
        if behind and behind[1].is_mark("("):
            end = behind[1].end
            edit = Edit(Span(end, end), (f"{', '.join(hidden)}, ",))
        self.analysis.edits.append(edit)

    def spelled_star(
        self, span: Span, select: exp.Select, reads: Sequence[Read], *, qualified: bool
    ) -> Edit:
        """The columns that a star stands for. BindError where not all are the catalog's."""
        if not qualified:
            if self.visible(select) is None:
                message = "ROW__ID beside * of joins by USING and of sub-queries needs Spark 4"
                hint = "Name the columns."
                raise BindError(message, hint=hint, span=span, source=self.source)
            reads = self.scopes[id(select)]
        columns = [
            (f"{identifier(self.called[id(read)].words)}.", identifier(column.name))
            for read in reads
            for column in (*read.table.columns, *read.table.partition_columns)
        ]
        words = ", ".join(map("".join, columns))
        written = columns[0][0] if qualified else ""  # before the star
        return Edit(span, (words.removeprefix(written),))

    def conditions(self, select: exp.Select) -> None:
        """A WHERE over exactly one table and nothing joined to it may be used by that table's scan;
        any condition may leave out partitions.
        """
        reads = self.scopes.get(id(select), [])
        if len(reads) == 1 and not select.args.get("joins") and not select.args.get("laterals"):
            [read] = reads
            read.condition = self.clauses.where(select)
            if read.condition is not None:
                read.predicates = predicates(read.condition, read.table, read.alias)
        if any(read.table.partition_columns for read in self.tables.values()):
            collect(self.source, select, self.clauses, self.relation)
        if may_be_shortened(self.text) and not self.analysis.verbatim:
            self.shorten(select)

    def shorten(self, select: exp.Select) -> None:
        visible = self.visible(select)
        joins = select.args.get("joins") or ()
        on = [self.clauses.behind("ON", select, join.args.get("on")) for join in joins]
        for condition in (*on, self.clauses.where(select)):
            if condition is not None and visible is not None:
                edits = shorter(self.source, condition, visible, self.analysis.edits, filters=True)
                self.analysis.edits = edits

    def relation(self, node: exp.Expr) -> Relation:
        """What stands in a FROM, for the conditions on it; a table of the catalog takes down those
        on its partitions.
        """
        read = self.tables.get(id(node))
        if read is None or not is_plain_table(node):
            return Relation(Visible(alias=node.alias_or_name.lower(), name=node.alias_or_name))
        return _relation(read)

    def facts(self, visible: Sequence[Visible]) -> Facts:
        """What is known of an expression, whose every column outside sub-queries must be one of
        ``visible``'s.
        """
        from sqlglot import exp

        [node] = self.tree.expressions
        used = []
        for column in self.queries.columns_of(self.tree):
            parts = list(column.parts)
            owner = self.finder.owner(parts, visible)
            if owner is not None:
                used.append((column, owner, parts))
        columns = frozenset((o.alias, self.finder.name_of(parts, o)) for _, o, parts in used)
        if isinstance(node, exp.Literal):
            return Facts(columns, PrimitiveType("string" if node.is_string else "double"))
        if not used or used[0][0] is not node:
            return Facts(columns, None)
        _, owner, parts = used[0]
        hive_type = self.finder.type_of(parts, visible)
        return Facts(columns, hive_type, mere=self.finder.is_mere(parts, owner))

    def check_queries(self) -> None:
        """Checks the columns of every SELECT all of whose tables, and those of the queries around
        it, are known.
        """
        from sqlglot import exp

        for select in (node for node in self.queries.nodes if isinstance(node, exp.Select)):
            if self.given is not None and select is self.tree:
                continue
            levels = self.levels(select)
            if levels:
                names = self.queries.result_names(select)
                for node in self.queries.columns_of(select):
                    self.finder.check(list(node.parts), levels, names, partial(asks_results, node))

    def levels(self, select: exp.Select) -> list[list[Visible]]:
        """What is visible in a query, then in each around it; [] where something is known to Spark
        only.
        """
        levels = []
        for level in self.queries.enclosing(select):
            if id(level) not in self.seen:
                is_given = self.given is not None and level is self.tree
                self.seen[id(level)] = self.given if is_given else self.visible(level)
            visible = self.seen[id(level)]
            if visible is None:
                return []
            levels.append(visible)
        return levels

    def visible(self, select: exp.Select) -> list[Visible] | None:
        """The tables of FROM, None unless every one is the catalog's and they are joined by ON or
        not at all.
        """
        tables = joined_tables(select)
        reads = self.scopes.get(id(select), [])
        if tables is None or len(reads) != len(tables):
            return None
        return [Visible.of(read.table, read.alias) for read in reads]


# ---- names of columns
#
# What the columns of a query are called, and which columns of a table they are by that.
#
# Hive names them for CREATE TABLE .. AS: an expression without a name is ``_c`` and its place in
# the SELECT list. Only the engine knows how many columns a star stands for; so what the text tells
# is kept until the engine's columns are there.


class Output(Enum):
    """What one item of a SELECT list gives: a column with a name of its own, one without, or any
    number of columns.
    """

    NAMED = "named"
    UNNAMED = "unnamed"
    MANY = "many"


def outputs(query: exp.Expr) -> tuple[Output, ...]:
    """The output of each item; () where the engine's names must do. A UNION has those of its
    first SELECT."""
    from sqlglot import exp

    return tuple(map(_output, query.selects)) if isinstance(query, exp.Query) else ()


def output_names(
    query: exp.Expr, local: LocalQuery | LocalValues | NotHere
) -> tuple[str, ...] | None:
    """What the columns of a query are called, in lower case, "" for those that have no name of
    their own; None where only the engine can tell.
    """
    items = outputs(query)
    if not items or Output.MANY in items:
        if isinstance(local, NotHere):
            return None
        return tuple(output.name.lower() for output in local.outputs)
    selects = query.selects  # type: ignore[attr-defined]  # outputs has looked
    return tuple(
        one.output_name.lower() if item is Output.NAMED else ""
        for one, item in zip(selects, items, strict=True)
    )


def hive_names(given: Sequence[str], items: Sequence[Output], span: Span) -> list[str]:
    """``given``: the engine's names of the columns. BindError where an expression without a name
    stands between two stars.
    """
    names = [name.lower() for name in given]
    many = [ordinal for ordinal, item in enumerate(items) if item is Output.MANY]
    if not items or (not many and len(items) != len(names)):
        return names
    first, last = (many[0], many[-1]) if many else (len(items), -1)
    for ordinal, item in enumerate(items):
        if item is not Output.UNNAMED:
            continue
        if first < ordinal < last:
            raise BindError(
                f"column {ordinal + 1} of the SELECT list has no name",
                hint="Give it one with AS.",
                span=span,
            )
        names[ordinal if ordinal < first else ordinal - len(items)] = f"_c{ordinal}"
    return names


def _output(item: exp.Expr) -> Output:
    from sqlglot import exp

    plain = item.unnest() if isinstance(item, exp.Paren) else item
    if is_star(item) or isinstance(
        item, exp.Aliases | exp.UDTF | exp.Explode | exp.Posexplode | exp.Inline
    ):
        return Output.MANY
    if isinstance(item, exp.Alias):
        inner = item.this
        return Output.MANY if isinstance(inner, exp.Posexplode | exp.Inline) else Output.NAMED
    if isinstance(item, exp.Anonymous) and item.name.lower() in (
        "stack",
        "json_tuple",
        "inline",
        "inline_outer",
        "posexplode_outer",
    ):
        return Output.MANY
    return Output.NAMED if isinstance(plain, exp.Column | exp.Dot) else Output.UNNAMED
