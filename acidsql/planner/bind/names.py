"""Names to facts: what a name in a statement or a query means, asked of the catalog. The binder's
modules share one ``Names``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

from acidsql.catalog.attached import is_live
from acidsql.catalog.model import Column, ForeignTable, SparkRelation, Table, TableName
from acidsql.catalog.path_relation import FileSource, PathRelation
from acidsql.catalog.types import HiveType
from acidsql.errors import BindError, DatabaseNotFoundError, Error, Span, TableNotFoundError
from acidsql.expressions.losses import may_lose
from acidsql.expressions.not_here import THESE_WORDS, NotHere
from acidsql.expressions.pruning import predicates
from acidsql.expressions.reader import read_expression
from acidsql.expressions.spark_words import Edit, Piece, QueryText, edited, store_cast
from acidsql.expressions.tree import Condition
from acidsql.lazy import dataclass
from acidsql.parser import statements as ast
from acidsql.parser.tokens import tokens_in
from acidsql.planner.bind import tables
from acidsql.planner.bind.analysis import (
    Analysis,
    Output,
    Read,
    analyse_expression,
    analyse_query,
    analyse_value,
    filter_partitions,
    output_names,
    outputs,
)
from acidsql.planner.bind.bound import BoundQuery, bound_reads
from acidsql.planner.bind.columns import (
    Facts,
    Visible,
    Word,
    check_called,
    database_edits,
    facts_of,
    may_be_shortened,
    moment_edits,
    named_columns,
    shorter,
    simple_columns,
)
from acidsql.planner.bind.files.sources import SPARKS
from acidsql.planner.bind.local.queries import Queries, local_select
from acidsql.planner.bind.local.query_trees import LocalQuery, LocalValues, Outside, Semantics
from acidsql.planner.bind.local.scope import Surroundings, default_tree
from acidsql.planner.bind.query_tree import Parsed, output_width, parse_expressions
from acidsql.planner.bind.tables import Losses, default_value

Understand = Callable[
    [str, Span, Sequence[Read], Outside, Semantics], LocalQuery | LocalValues | NotHere
]
"""What makes the trees of a query: ``local_select`` or the like."""

FILE_SOURCES = frozenset(
    {"parquet", "orc", "csv", "json", "text", "avro", "xml", "binaryfile", "delta"}
)
"""What Spark may stand before a path: parquet.`/data/file`."""


def is_default(value: ast.Fragment) -> bool:
    """Whether a value is the word that stands for the column's DEFAULT."""
    return value.text.strip().upper() == "DEFAULT"


def is_reported(names: Names, value: ast.Fragment) -> bool:
    """Whether it is said before rows are written what a column makes of a value: of a literal that
    is stored, and of DEFAULT, which was when the table was made.
    """
    return is_default(value) or value.span in names.losses.reported


@dataclass(frozen=True, slots=True, kw_only=True)
class NewValue:
    """What a column gets. ``given``: the value before it is stored, if it may lose something.
    ``facts``: what is known of it; None of DEFAULT.
    """

    stored: tuple[Piece, ...]
    given: tuple[Piece, ...] | None = None
    facts: Facts | None = None


class Names:
    """One statement's look-ups. ``views`` are the relations that only Spark's session has,
    ``files`` what was found of paths, by their places.
    """

    def __init__(self, source: str, around: Surroundings) -> None:
        self.source = source
        self.around = around
        self.catalog = around.catalog
        self.views: dict[SparkRelation, None] = {}
        self.files: dict[Span, PathRelation | NotHere] = {}
        self.view_texts: dict[tuple[Span, ...], str] = {}
        self.parsed: dict[Span, Parsed] = {}
        self.conditions: dict[Span, Condition | None] = {}
        self.losses = Losses(around.warn, strict=around.settings.flag("acidsql.ansi"))

    def database(self, name: ast.Name) -> str:
        database = name.text.lower()
        if self.catalog.find_database(database) is None:
            raise DatabaseNotFoundError(
                f"Database does not exist: {database}", code=10072, span=name.span
            )
        return database

    def table_name(self, name: ast.QualifiedName) -> TableName:
        parts = [p.text.lower() for p in name.parts]
        if len(parts) > 2:
            table = ForeignTable(parts=tuple(part.text for part in name.parts))
            raise BindError(
                f"{table} is a table of another catalog, which only queries can name",
                hint='In a query it is read; spark.sql("..") changes it.',
                span=name.span,
            )
        return TableName(self.around.database if len(parts) == 1 else parts[0], parts[-1])

    def table(self, name: ast.QualifiedName) -> Table:
        wanted = self.table_name(name)
        table = self.catalog.find_table(wanted)
        if table is None:
            if len(name.parts) == 1 and wanted.table in self.around.frames:
                raise BindError(
                    f'"{wanted.table}" is a frame, which can only be read', span=name.span
                )
            raise self.not_found(wanted, name.span)
        return table

    def not_found(
        self, wanted: TableName, span: Span, hint: str | None = None
    ) -> TableNotFoundError:
        hint = hint or self._near(wanted)
        return TableNotFoundError(f"Table not found {wanted}", code=10001, hint=hint, span=span)

    def nothing_dropped(self, kind: str, wanted: TableName) -> str:
        """What is said of a DROP of what does not exist."""
        if self.catalog.find_database(wanted.database) is None:
            return f'there is no database "{wanted.database}", nothing is dropped'
        hint = self._near(wanted)
        return f'there is no {kind} "{wanted}", nothing is dropped{f"; {hint}" if hint else ""}'

    def _near(self, wanted: TableName) -> str | None:
        """A hint at the table or view whose name is most like the wanted one."""
        if self.catalog.find_database(wanted.database) is None:
            return f'There is no database "{wanted.database}".'
        return tables.did_you_mean(wanted.table, self.catalog.list_tables(wanted.database))

    def resolve(self, parts: tuple[str, ...], span: Span) -> Table | None:
        """A table name inside a query: the catalog's table, None for what Spark knows,
        TableNotFoundError.
        """
        names = [p.lower() for p in parts]
        if (
            len(names) == 2
            and names[0] in FILE_SOURCES
            and self.catalog.find_database(names[0]) is None
        ):
            files = self.around.find_files(names[0], parts[1])
            known = self.files.setdefault(span, files)
            if known != files:  # another text, that of a view, has a path at the same place
                self.files[span] = NotHere("files of several texts")
            return None
        if len(names) > 2:
            self.foreign(ForeignTable(parts=parts), span)
            return None
        wanted = TableName(self.around.database if len(names) == 1 else names[0], names[-1])
        table = self.catalog.find_table(wanted)
        if len(names) == 1 and names[0] in self.around.frames:
            self._check_one_meaning(names[0], table, span)
            table = self.around.frames[names[0]]
        if table is None:
            if len(names) == 1 and self.around.has_view(parts[0]):
                self.views[parts[0]] = None
                return None
            raise self.not_found(wanted, span, self._hint_at_spark(parts))
        self.check_manager(table, span)
        return self.around.refreshed(table) if is_live(table) else table

    def foreign(self, table: ForeignTable, span: Span) -> None:
        """Takes down a table of another catalog. TableNotFoundError where Spark has none."""
        if not self.around.has_foreign(table):
            hint = "A name of three parts is a table of a catalog of Spark's session."
            raise TableNotFoundError(f"Table not found {table}", code=10001, hint=hint, span=span)
        self.views[table] = None

    def _hint_at_spark(self, parts: tuple[str, ...]) -> str | None:
        """Tells that a name that is none here is one of Spark's own catalog."""
        table = ForeignTable(parts=("spark_catalog", *parts))
        is_there = len(parts) == 2 and self.around.has_foreign(table)
        return f"Spark's session has {table}, by all these names." if is_there else None

    def fresh_table(self, name: ast.QualifiedName) -> Table:
        """The table, as its source tells it now if it is attached to one that can be asked."""
        table = self.table(name)
        return self.around.refreshed(table) if is_live(table) else table

    def _check_one_meaning(self, name: str, table: Table | None, span: Span) -> None:
        """Refuses a name that a frame has and a table as well: no one shadows the other."""
        if table is not None:
            raise BindError(
                f'"{name}" is a frame of the session and table {table.name}',
                hint=f'Write {table.name} for the table, or unregister("{name}").',
                span=span,
            )

    def may_be_missing(self, if_exists: bool) -> bool:
        """Whether a DROP of a table, view or partition that does not exist has simply nothing to
        do.
        """
        return if_exists or self.around.settings.flag("hive.exec.drop.ignorenonexistent")

    # ---- the transaction manager

    @property
    def acid_manager(self) -> bool:
        """Whether the session asks for transactions at all; another manager than DbTxnManager knows
        none.
        """
        return self.around.settings.text("hive.txn.manager").rpartition(".")[2] in (
            "",
            "DbTxnManager",
        )

    def check_manager(self, table: Table, span: Span) -> None:
        """Reading or writing a transactional table without transactions is refused as Hive refuses
        it.
        """
        if table.is_transactional and not self.acid_manager:
            message = (
                f"This command is not allowed on an ACID table {table.name} with a non-ACID"
                " transaction manager"
            )
            raise BindError(message, code=10265, hint="RESET hive.txn.manager.", span=span)

    def check_manager_changes(self, span: Span) -> None:
        if not self.acid_manager:
            message = (
                "Attempt to do update or delete using transaction manager that does not support"
                " these operations."
            )
            raise BindError(message, code=10294, hint="RESET hive.txn.manager.", span=span)

    # ---- queries

    def analysis(self, reads: list[Read] | None = None) -> Analysis:
        """The analysis of a text of the statement, whose tables join those of ``reads``."""
        around = self.around
        return Analysis(
            reads=[] if reads is None else reads,
            queries=self.view_texts,
            database=around.database,
            knows=around.knows_function,
            zone=around.semantics.zone,
            open_files=self.open_files,
            foreign=self.foreign,
        )

    def open_files(self, files: FileSource, span: Span) -> Table | None:
        """Files that pyarrow reads, as a table; None for what Spark knows by its path. BindError
        and DataError, at their place.
        """
        if files.kind in SPARKS:
            self.files[span] = self.around.find_files(files.kind, files.path)
            return None
        try:
            return self.around.open_files(files)
        except Error as error:
            error.span, error.source = span, self.source
            raise

    def session_edits(self, fragment: ast.Fragment, visible: Sequence[Visible] = ()) -> list[Edit]:
        """What puts the session's database and clock into a text."""
        columns = {name for seen in visible for name in seen.columns or ()}
        zone = self.around.semantics.zone
        return [
            *database_edits(self.source, fragment.span, self.around.database),
            *moment_edits(self.source, fragment.span, zone, columns),
        ]

    @property
    def outside(self) -> Outside:
        """What the statement reads that is no table, as far as it is known."""
        return Outside(views=tuple(self.views), files=self.files, queries=self.view_texts)

    def queries(self, analysis: Analysis, span: Span) -> Queries:
        """What makes trees of queries inside of expressions. NotHere, at ``span``."""
        return Queries.of(self.source, analysis.reads, self.outside, self.around.semantics, span)

    def query(self, body: ast.Fragment, understand: Understand = local_select) -> BoundQuery:
        return self.query_and_outputs(body, understand)[0]

    def query_and_outputs(
        self, body: ast.Fragment, understand: Understand = local_select
    ) -> tuple[BoundQuery, tuple[Output, ...]]:
        """Also what its text tells of the names of its columns."""
        analysis = self.analysis()
        tree = analyse_query(self.source, body.span, self.resolve, analysis)
        query = self.bound_query(edited(body.span, analysis.edits), analysis, output_width(tree))
        local = understand(
            self.source, body.span, analysis.reads, self.outside, self.around.semantics
        )
        return replace(query, local=local, names=output_names(tree, local)), outputs(tree)

    def bound_query(
        self, pieces: tuple[Piece, ...], analysis: Analysis, width: int | None = None
    ) -> BoundQuery:
        return BoundQuery(
            text=QueryText(self.source, pieces),
            reads=bound_reads(analysis.reads),
            views=tuple(self.views),
            width=width,
        )

    def query_after(self, before: Sequence[ast.Fragment], body: ast.Fragment) -> BoundQuery:
        """``WITH q AS (..) INSERT INTO t SELECT ..``, ``FROM s INSERT INTO t SELECT ..``: what
        stands ``before`` is part of the query.

        It is analysed as if the words between were blank.
        """
        parts = [*(fragment.span for fragment in before), body.span]
        text = self.source
        for left, right in pairwise(parts):
            text = text[: left.end] + " " * (right.start - left.end) + text[right.start :]
        analysis = self.analysis()
        tree = analyse_query(text, Span(parts[0].start, parts[-1].end), self.resolve, analysis)
        pieces: list[Piece] = []
        for part in parts:
            inside = [
                e for e in analysis.edits if part.start <= e.span.start and e.span.end <= part.end
            ]
            pieces += [" " if pieces else "", *edited(part, inside)]
        query = self.bound_query(tuple(pieces), analysis, output_width(tree))
        local = self._local_after(before, body, analysis)
        return replace(query, local=local, names=output_names(tree, local))

    def _local_after(
        self, before: Sequence[ast.Fragment], body: ast.Fragment, analysis: Analysis
    ) -> LocalQuery | NotHere:
        """The query as a tree, where FROM is all that stands before."""
        if len(before) > 1:
            return NotHere("words before INSERT", before[0].span)
        return local_select(
            self.source,
            body.span,
            analysis.reads,
            self.outside,
            self.around.semantics,
            named=False,
            before=before[0].span,
        )

    def free_expression(self, cell: ast.Fragment, analysis: Analysis) -> tuple[Piece, ...]:
        """An expression over no table; sub-queries inside it may read tables."""
        if self.columns(cell) == []:
            if "(" in cell.text and (tree := self.condition(cell)) is not None:
                check_called(self.source, tree, self.around.knows_function)
            return edited(cell.span, self.session_edits(cell))
        cell_analysis = self.analysis(analysis.reads)
        analyse_value(
            self.source, cell.span, self.resolve, cell_analysis, self.parsed.get(cell.span)
        )
        return edited(cell.span, cell_analysis.edits)

    # ---- expressions over the row of a target

    def parse_ahead(self, fragments: Iterable[ast.Fragment | None]) -> None:
        """Parses the expressions of a statement together; each is looked into when it
        is asked for.
        """
        spans = [
            f.span
            for f in fragments
            if f is not None and not is_default(f) and self.columns(f) is None
        ]
        self.parsed = parse_expressions(self.source, spans)

    def columns(self, fragment: ast.Fragment) -> list[list[Word]] | None:
        """The columns of an expression that needs no other parser than our own."""
        simple = simple_columns(self.source, fragment.span)
        if simple is not None:
            return simple
        tree = self.condition(fragment)
        return None if tree is None else named_columns(self.source, tree)

    def expression(
        self,
        fragment: ast.Fragment,
        visible: Sequence[Visible],
        analysis: Analysis,
        *,
        filters: bool = False,
    ) -> tuple[Piece, ...]:
        """The pieces of an expression over the columns of ``visible``. ``filters``: it is a
        condition for which NULL is as good as false.
        """
        return self.known_expression(fragment, visible, analysis, filters=filters)[0]

    def known_expression(
        self,
        fragment: ast.Fragment,
        visible: Sequence[Visible],
        analysis: Analysis,
        *,
        filters: bool = False,
    ) -> tuple[tuple[Piece, ...], Facts]:
        """The expression's pieces, and what is known of it."""
        own_analysis = self.analysis(analysis.reads)
        columns = self.columns(fragment)
        if columns is not None:
            own_analysis.edits += self.session_edits(fragment, visible)
            if "(" in fragment.text and (tree := self.condition(fragment)) is not None:
                check_called(self.source, tree, self.around.knows_function)
            facts = facts_of(self.source, fragment.span, columns, visible)
        else:
            parsed = self.parsed.get(fragment.span)
            facts = analyse_expression(
                self.source, fragment.span, self.resolve, own_analysis, visible, parsed
            )
        if may_be_shortened(fragment.span) and (condition := self.condition(fragment)) is not None:
            own_analysis.edits = shorter(
                self.source, condition, visible, own_analysis.edits, filters=filters
            )
        return edited(fragment.span, own_analysis.edits), facts

    def stored(
        self,
        fragment: ast.Fragment,
        table: Table,
        column: Column,
        visible: Sequence[Visible],
        analysis: Analysis,
        known: HiveType | None = None,
    ) -> NewValue:
        """The value of an expression as ``column`` stores it. ``known``: its type, if others have
        found that. BindError (10044) where no cast leads from the one type to the other.
        """
        if is_default(fragment):
            return NewValue(stored=default_value(table, column, self.around.semantics.zone))
        pieces, facts = self.known_expression(fragment, visible, analysis)
        tables.check_storable(facts.type, column, fragment.span)
        self.losses.stored(fragment, column)  # Spark stores it; here only what is lost counts
        given_type = known or (facts.type if facts.mere else None)
        counts = not is_reported(self, fragment) and may_lose(given_type, column.type)
        return NewValue(
            stored=store_cast(pieces, column.type), given=pieces if counts else None, facts=facts
        )

    def tree(self, fragment: ast.Fragment) -> Condition:
        """The expression as a tree. NotHere."""
        tree = self.condition(fragment)
        if tree is None:
            raise NotHere(THESE_WORDS, fragment.span)
        return tree

    def new_tree(self, fragment: ast.Fragment, table: Table, column: Column) -> Condition:
        """The value that ``column`` gets, before it is stored. NotHere."""
        if is_default(fragment):
            return default_tree(table, column, self.around.semantics, fragment.span)
        return self.tree(fragment)

    def where(
        self, fragment: ast.Fragment | None, read: Read, analysis: Analysis
    ) -> tuple[Piece, ...]:
        if fragment is None:
            return ()
        pieces = self.expression(
            fragment, [Visible.of(read.table, read.alias)], analysis, filters=True
        )
        condition = self.condition(fragment)
        if condition is not None:
            read.predicates = predicates(condition, read.table, read.alias)
        if read.table.partition_columns:
            filter_partitions(self.source, condition, read)
        return (" WHERE (", *pieces, ")")

    def condition(self, fragment: ast.Fragment) -> Condition | None:
        """The expression as a tree, read once; None where its end is in doubt."""
        span = fragment.span
        if span not in self.conditions:
            tokens = fragment.tokens or tokens_in(self.source, span)
            self.conditions[span] = read_expression(self.source, tokens)
        return self.conditions[span]
