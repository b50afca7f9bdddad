"""Queries as trees, with all that may be around a SELECT and inside of it: WITH, set operators,
tables beside each other, queries behind FROM and in expressions.

What is not surely understood makes the whole Spark's, with the place of what that is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from itertools import count

from acidsql.catalog.types import CharType, HiveType, PrimitiveType, VarcharType
from acidsql.errors import NestingError, ParseError, Span
from acidsql.expressions.not_here import THESE_WORDS, NotHere
from acidsql.expressions.tree import (
    EXISTS,
    IN_QUERY,
    VOID,
    Call,
    Cast,
    ColumnRef,
    Condition,
    Unread,
    conjuncts,
)
from acidsql.expressions.values import wider_type
from acidsql.lazy import dataclass
from acidsql.parser.tokens import tokens_in
from acidsql.planner.bind.analysis import Read
from acidsql.planner.bind.local.aggregates import is_groupable
from acidsql.planner.bind.local.inline_rows import inline_relation
from acidsql.planner.bind.local.joins import (
    Join,
    JoinedScope,
    Side,
    as_type,
    equal_sides,
)
from acidsql.planner.bind.local.query_trees import (
    NAMELESS,
    ROW_ID,
    Columns,
    CommonTable,
    JoinKind,
    LocalQuery,
    Output,
    Outside,
    Semantics,
    SetKind,
    SetTree,
    SubQuery,
    SubQueryKind,
    called,
)
from acidsql.planner.bind.local.scope import AnyScope, Origin, Scope, all_of, type_of
from acidsql.planner.bind.local.select_text import (
    DerivedText,
    InlineText,
    JoinText,
    RelationText,
    SelectText,
    TableText,
    TailText,
    Tokens,
    common_tables,
    read_clauses,
    read_tail,
    rows_of,
    set_parts,
    without_brackets,
)
from acidsql.planner.bind.local.selects import Select, condition_of, scope_of, scope_of_files

_BOOLEAN = PrimitiveType("boolean")
_NOWHERE = Span(0, 0)


def local_select(
    source: str,
    span: Span,
    reads: Sequence[Read],
    outside: Outside,
    semantics: Semantics,
    *,
    named: bool = True,
    before: Span | None = None,
) -> LocalQuery | NotHere:
    """The query ``span`` of ``source`` as a tree, or why it is Spark's. ``reads``: the tables that
    the analysis of the statement has found; ``outside``: what else it reads. ``named``: its columns
    must be called as Spark calls them. ``before``: its FROM clause, where that stands before
    INSERT.
    """
    try:
        queries = Queries.of(source, reads, outside, semantics, span)
        return queries.query(tokens_in(source, span), span, named=named, before=before)
    except NotHere as signal:
        return signal.to_keep()
    except (ParseError, NestingError, RecursionError):
        return NotHere(THESE_WORDS, span)


@dataclass(frozen=True, slots=True, kw_only=True)
class Queries:
    """The queries of one text: that of the statement, or of a view that stands at ``inside``.
    ``reads``: the tables by the places of their names, with their numbers. ``tables``: those of
    WITH that may be named.
    """

    source: str
    inside: tuple[Span, ...] = ()
    reads: Mapping[tuple[Span, ...], tuple[int, Read]]
    outside: Outside
    semantics: Semantics
    tables: Mapping[str, CommonTable] = field(default_factory=dict)
    numbers: count[int] = field(default_factory=count, compare=False)

    @staticmethod
    def of(
        source: str, reads: Sequence[Read], outside: Outside, semantics: Semantics, span: Span
    ) -> Queries:
        """NotHere, at ``span``, where every query is left to Spark."""
        if semantics.only_spark is not None:
            raise NotHere(semantics.only_spark, span)
        if outside.views:
            is_view = isinstance(outside.views[0], str)
            what = "a view of Spark's session" if is_view else "a table of another catalog"
            raise NotHere(what, span)
        by_span = {(read.span, *read.inside): (n, read) for n, read in enumerate(reads)}
        return Queries(source=source, reads=by_span, outside=outside, semantics=semantics)

    def scope_of(self, read: Read) -> Scope:
        """The columns of the table that a statement changes, the first that it reads."""
        scope = scope_of(read, self.semantics, read.alias)
        scope.ask = self._sub_query
        return scope

    def query(
        self, tokens: Tokens, span: Span, *, named: bool, before: Span | None = None
    ) -> LocalQuery:
        """The query that the tokens are. NotHere."""
        tokens = without_brackets(tokens)
        common, tokens = common_tables(tokens)
        queries = self
        for text in common:
            queries = queries._with(text.name, text.span, text.columns)
        parts, kinds = set_parts(without_brackets(tokens))
        if not kinds:
            return queries._select(read_clauses(self.source, parts[0], span, before), named=named)
        if before is not None:
            raise NotHere("words before INSERT", before)
        for part in parts[:-1]:
            if read_tail(self.source, part, span)[1] != TailText():
                raise NotHere("an order or a limit before a set operator", span)
        parts[-1], tail = read_tail(self.source, parts[-1], span)
        sides = [queries.query(part, span, named=named and not at) for at, part in enumerate(parts)]
        return queries._of_sets(sides, kinds, tail, span)

    def _with(self, name: str, span: Span, columns: tuple[str, ...]) -> Queries:
        query = self.query(tokens_in(self.source, span), span, named=not columns)
        query = called(query, columns) if columns else query
        table = CommonTable(
            number=next(self.numbers),
            name=name,
            query=query,
            columns=_columns_of(query, span),
        )
        return replace(self, tables={**self.tables, name: table})

    # ---- SELECT

    def _select(self, text: SelectText, *, named: bool) -> LocalQuery:
        scope = self._scope(text.relation)
        select = Select(source=self.source, text=text, scope=scope, named=named)
        return select.query(None if text.where is None else condition_of(scope, text.where))

    def _scope(self, text: RelationText | None) -> AnyScope:
        match text:
            case None:
                scope: AnyScope = Scope(table=None, alias="", semantics=self.semantics)
            case JoinText():
                scope = self._joined(text)
            case _:
                scope = self._single(text)
        scope.ask = self._sub_query
        return scope

    def _single(self, text: TableText | InlineText | DerivedText) -> Scope:
        match text:
            case InlineText(span=span):
                alias, values = inline_relation(self.source, span, self.semantics)
                columns = tuple((output.name, output.type) for output in values.outputs)
                return self._inline(columns, alias, Origin(values=values))
            case DerivedText(span=span, alias=alias, columns=given):
                query = self.query(tokens_in(self.source, span), span, named=not given)
                query = called(query, given) if given else query
                return self._inline(_columns_of(query, span), alias, Origin(source=query))
            case TableText(span=span, alias=alias):
                return self._table(span, alias)

    def _table(self, span: Span, alias: str) -> Scope:
        at = (*self.inside, span)
        if (text := self.outside.queries.get(at)) is not None:
            return self._view(text, at, alias)
        if (numbered := self.reads.get(at)) is not None:
            number, read = numbered
            return scope_of(read, self.semantics, alias or read.alias, number)
        if not self.inside and (given := self.outside.files.get(span)) is not None:
            number = list(self.outside.files).index(span)
            return scope_of_files(given, span, self.semantics, alias, number)
        name = tokens_in(self.source, span)[0].text.lower()
        table = self.tables.get(name)
        if table is None:
            raise NotHere("what stands behind FROM", span)
        return self._inline(table.columns, alias or name, Origin(source=table))

    def _view(self, text: str, at: tuple[Span, ...], alias: str) -> Scope:
        """A view as the query that it is."""
        span = at[-1]
        inner = replace(self, source=text, inside=at, tables={})
        try:
            whole = Span(0, len(text))
            query = inner.query(tokens_in(text, whole), whole, named=True)
        except NotHere as signal:
            raise NotHere(f"{signal.reason} in a view", span) from signal
        name = tokens_in(self.source, span)[-1].text.lower()
        return self._inline(_columns_of(query, span), alias or name, Origin(source=query))

    def _inline(self, columns: Columns, alias: str, origin: Origin) -> Scope:
        return Scope(
            table=None, inline=columns, alias=alias, semantics=self.semantics, origin=origin
        )

    # ---- joins

    def _joined(self, text: JoinText) -> JoinedScope:
        join = self._join(text)
        aliases = [side.scope.alias for side in join.both]
        if len(set(aliases)) < len(aliases):
            raise NotHere("tables of the same name", text.span)
        return JoinedScope(semantics=self.semantics, join=join)

    def _join(self, text: JoinText) -> Join:
        join = Join(
            number=next(self.numbers),
            kind=text.kind,
            left=self._side(text.left),
            right=self._side(text.right),
            shown=" ".join((text.on_span or _NOWHERE).cut(self.source).split()),
            semantics=self.semantics,
        )
        if text.using or text.natural:
            names = text.using or join.natural(text.span)
            join.shown = f"USING ({', '.join(names)})"
            join.use(names, text.span)
        elif text.on is not None:
            # semi and anti joins hide the columns of one side from all but ON
            both = replace(join, kind=JoinKind.INNER)
            join.take(
                condition_of(JoinedScope(semantics=self.semantics, join=both), text.on),
            )
        return join

    def _side(self, text: RelationText) -> Side | Join:
        if isinstance(text, JoinText):
            return self._join(text)
        scope = self._single(text)
        return Side(scope=scope, prefix=str(next(self.numbers)))

    # ---- set operators

    def _of_sets(
        self, sides: list[LocalQuery], kinds: list[tuple[SetKind, Span]], tail: TailText, span: Span
    ) -> LocalQuery:
        """INTERSECT is done before the others, these from the left to the right."""
        operands: list[LocalQuery | SetTree] = [_numbered(sides[0])]
        rest: list[tuple[SetKind, Span]] = []
        for side, (kind, operator_span) in zip(sides[1:], kinds, strict=True):
            operands.append(_numbered(side))
            rest.append((kind, operator_span))
            if kind in (SetKind.INTERSECT, SetKind.INTERSECT_ALL):
                operands[-2:] = [self._combined(operands[-2], operands[-1], *rest.pop())]
        while rest:
            operands[:2] = [self._combined(operands[0], operands[1], *rest.pop(0))]
        [tree] = operands
        assert isinstance(tree, SetTree)
        names = [output.name or f"#{at}" for at, output in enumerate(sides[0].outputs)]
        types = [hive_type for _, hive_type in tree.columns]
        columns = _checked(tuple(zip(names, types, strict=True)), span)
        tree = replace(tree, columns=tuple((name.lower(), kind) for name, kind in columns))
        scope = self._inline(columns, "", Origin(source=tree))
        select = Select(
            source=self.source,
            text=rows_of(None, span, order=tail.order, limit=tail.limit, offset=tail.offset),
            scope=scope,
            named=True,
        )
        return select.query(None)

    def _combined(
        self,
        left: LocalQuery | SetTree,
        right: LocalQuery | SetTree,
        kind: SetKind,
        operator_span: Span,
    ) -> SetTree:
        common = _common(_types(left), _types(right), self.semantics, operator_span)
        if kind is not SetKind.UNION_ALL and not all(map(is_groupable, common)):
            raise NotHere(f"{kind} of such values", operator_span)
        return SetTree(
            number=next(self.numbers),
            kind=kind,
            left=self._widened(left, common),
            right=self._widened(right, common),
            columns=tuple((str(number), hive_type) for number, hive_type in enumerate(common)),
        )

    def _widened(
        self, given: LocalQuery | SetTree, wanted: tuple[HiveType, ...]
    ) -> LocalQuery | SetTree:
        """The rows of an operand in wider types."""
        types = _types(given)
        if types == wanted:
            return given
        columns = tuple((str(number), hive_type) for number, hive_type in enumerate(types))
        outputs = tuple(
            Output(name=name, value=as_type(ColumnRef((name,), _NOWHERE), kind, wide), type=wide)
            for (name, kind), wide in zip(columns, wanted, strict=True)
        )
        for output in outputs:
            type_of(output.value, dict(columns), self.semantics)
        return LocalQuery(
            read=None, source=given, columns=columns, outputs=outputs, semantics=self.semantics
        )

    # ---- sub-queries

    def _sub_query(self, call: Call, scope: AnyScope) -> SubQuery:
        """The query that an expression over ``scope`` calls. NotHere."""
        *operands, words = call.arguments
        assert isinstance(words, Unread)
        span = words.span
        tokens = without_brackets(tokens_in(self.source, span))
        operand = scope.resolved(operands[0]) if operands else None
        if not tokens or tokens[0].word != "SELECT" or set_parts(tokens)[1]:
            query = self.query(tokens, span, named=False)
            return self._asked(call, query, operand, (), scope)
        text = read_clauses(self.source, tokens, span)
        inner = self._scope(text.relation)
        own: list[Condition] = []
        outer: list[tuple[Condition, Condition]] = []
        for part in [] if text.where is None else conjuncts(text.where):
            pair = _pair(part, inner, scope)
            if pair is None:
                own.append(condition_of(inner, part))
            else:
                outer.append(pair)
        select = Select(source=self.source, text=text, scope=inner, named=False)
        if not outer:
            return self._asked(call, select.query(all_of(own)), operand, (), scope)
        query = self._correlated(call, select, all_of(own), [key for key, _ in outer])
        return self._asked(call, query, operand, tuple(value for _, value in outer), scope)

    def _correlated(
        self, call: Call, select: Select, where: Condition | None, keys: list[Condition]
    ) -> LocalQuery:
        """A query that asks for ``keys`` to be equal to values of the row around it, which come
        behind its own column. NotHere.
        """
        text, scope = select.text, select.scope
        ends = text.order or text.limit is not None or text.offset or text.having is not None
        scalar = call.name not in (IN_QUERY, EXISTS)
        if ends or text.group_by or select.grouped is not scalar:
            raise NotHere("this correlated sub-query", text.span)
        if scalar:
            for key in keys:
                select.groupings.add_value(key)
        query = select.query(where)
        if len(query.outputs) != 1 and call.name != EXISTS:
            raise NotHere("a sub-query of several columns", text.span)
        groupings = select.groupings.known
        added = (
            Output(
                name=NAMELESS,
                value=groupings[key].column if scalar else key,
                type=type_of(key, scope.types, self.semantics),
            )
            for key in keys
        )
        outputs = (*query.outputs[: 0 if call.name == EXISTS else 1], *added)
        return replace(query, outputs=outputs, distinct=False)

    def _asked(
        self,
        call: Call,
        query: LocalQuery,
        operand: Condition | None,
        outer: tuple[Condition, ...],
        scope: AnyScope,
    ) -> SubQuery:
        width = len(query.outputs) - len(outer)
        if call.name != EXISTS and width != 1:
            raise NotHere("a sub-query of several columns", call.span)
        kind = {IN_QUERY: SubQueryKind.IN, EXISTS: SubQueryKind.EXISTS}.get(
            call.name, SubQueryKind.SCALAR
        )
        value_type = query.outputs[0].type
        if kind is SubQueryKind.IN:
            assert operand is not None
            query, operand = self._comparable(query, 0, operand, scope, call.span)
        compared = list(outer)
        for at, one in enumerate(outer):
            query, compared[at] = self._comparable(query, width + at, one, scope, call.span)
        if kind is SubQueryKind.SCALAR and isinstance(value_type, CharType | VarcharType):
            raise NotHere(f"a {value_type} of a sub-query", call.span)
        number = next(self.numbers)
        return SubQuery(
            number=number,
            name=f"subquery.{number}",
            kind=kind,
            query=_numbered(query),
            operand=operand,
            outer=tuple(compared),
            type=value_type if kind is SubQueryKind.SCALAR else _BOOLEAN,
            shown=" ".join(call.span.cut(self.source).split()),
        )

    def _comparable(
        self, query: LocalQuery, at: int, outer: Condition, scope: AnyScope, span: Span
    ) -> tuple[LocalQuery, Condition]:
        """The query and the value around it, with both values of one type that are compared."""
        output = query.outputs[at]
        kind = type_of(outer, scope.types, self.semantics)
        sides = equal_sides(
            outer, output.value, (kind, output.type), ansi=self.semantics.ansi, floats=True
        )
        if sides is None:
            raise NotHere(f"a comparison of {kind} with {output.type}", span)
        one, other, common = sides
        type_of(one, scope.types, self.semantics)
        if other is output.value:
            return query, one
        if query.distinct or query.order or query.grouped:
            raise NotHere(f"a comparison of {kind} with {output.type}", span)
        outputs = list(query.outputs)
        outputs[at] = replace(output, value=other, type=common)
        return replace(query, outputs=tuple(outputs)), one


def _pair(part: Condition, inner: AnyScope, outer: AnyScope) -> tuple[Condition, Condition] | None:
    """An equality of a value of the query and one around it; None for what is the query's own."""
    if _is_known(part, inner):
        return None
    match part:
        case Call("=", (left, right)):
            for own, other in ((left, right), (right, left)):
                if _is_known(own, inner) and not _is_known(other, inner):
                    return inner.resolved(own), outer.resolved(other)
    raise NotHere("this correlated sub-query", part.span)


def _is_known(tree: Condition, scope: AnyScope) -> bool:
    """Whether all names of a tree are the scope's own; those inside of queries are not looked
    at.
    """
    match tree:
        case ColumnRef(parts):
            if len(parts) > 1 and not scope.knows(parts) and scope.knows(parts[:1]):
                raise NotHere(f'"{".".join(parts)}"', tree.span)  # a field of a column to Spark
            return scope.knows(parts)
        case Call(arguments=arguments):
            return all(_is_known(one, scope) for one in arguments)
        case Cast(argument=argument):
            return _is_known(argument, scope)
    return True


def _columns_of(query: LocalQuery, span: Span) -> Columns:
    return _checked(tuple((output.name, output.type) for output in query.outputs), span)


def _checked(columns: Columns, span: Span) -> Columns:
    """Columns of a query that others are over. NotHere for names that are not told apart, and types
    that Spark treats otherwise there.
    """
    names = [name.lower() for name, _ in columns]
    if len(set(names)) < len(names) or ROW_ID in names or "" in names:
        raise NotHere("columns of these names", span)
    for _, hive_type in columns:
        if hive_type == VOID or isinstance(hive_type, CharType | VarcharType):
            raise NotHere(f"a column of type {hive_type} of a sub-query", span)
    return columns


def _common(
    left: tuple[HiveType, ...], right: tuple[HiveType, ...], semantics: Semantics, span: Span
) -> tuple[HiveType, ...]:
    """The types of the columns of a set operation. NotHere."""
    if len(left) != len(right):
        raise NotHere("queries of several widths", span)
    types: list[HiveType] = []
    for one, other in zip(left, right, strict=True):
        if VOID in (one, other):
            wide: HiveType | None = other if one == VOID else one
        else:
            wide = wider_type(one, other, ansi=semantics.ansi)
        if wide is None or wide == VOID or isinstance(wide, CharType | VarcharType):
            raise NotHere(f"a column of {one} and {other}", span)
        types.append(wide)
    return tuple(types)


def _types(given: LocalQuery | SetTree) -> tuple[HiveType, ...]:
    if isinstance(given, SetTree):
        return tuple(hive_type for _, hive_type in given.columns)
    return tuple(output.type for output in given.outputs)


def _numbered(query: LocalQuery) -> LocalQuery:
    """The query with its columns called by their places."""
    return called(query, [str(number) for number in range(len(query.outputs))])
