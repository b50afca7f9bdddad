"""The way of one statement: parse, bind, plan, and then by the kind of its plan: read, write, or
change the catalog or the session.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, assert_never

from acidsql import interrupts
from acidsql.catalog.attached import is_live
from acidsql.catalog.model import DEFAULT_DATABASE, Partition, Table
from acidsql.catalog.path_relation import FileSource
from acidsql.commit.recovery import Recovery
from acidsql.compaction.background import Background
from acidsql.ddl.warehouse import Warehouse, file_errors
from acidsql.errors import (
    Error,
    ProgrammingError,
    Span,
    UnsupportedStatementError,
    Warning,
    not_again,
)
from acidsql.frames.registry import Frames
from acidsql.lazy import dataclass
from acidsql.parser.statements.tables import (
    AttachDatabase,
    AttachTable,
    CreateDatabase,
    CreateTable,
    CreateTableLike,
    CreateView,
)
from acidsql.parser.tokens import placed_in
from acidsql.plan.facts import Facts, facts_of, name_of_statement
from acidsql.plan.plans import (
    CatalogCommand,
    ChangePlan,
    DryRunPlan,
    ExplainPlan,
    MergePlan,
    MultiInsertPlan,
    Plan,
    ReadPlan,
    SessionCommand,
    WritePlan,
    carried_out,
    check_runnable,
    plan,
    reads_of,
)
from acidsql.planner.bind import Surroundings, bind, bind_all_rows
from acidsql.planner.bind.bound import Telling
from acidsql.planner.bind.bound_catalog import (
    AttachAction,
    BoundAdoptTable,
    BoundAttachDatabase,
    BoundAttachTable,
    BoundCreateTable,
    BoundDescribeHealth,
    BoundDetachDatabase,
    BoundDropDatabase,
    BoundShowCreateTable,
    BoundUse,
    CatalogAction,
)
from acidsql.result import Result, Stats
from acidsql.run.engine import Engine
from acidsql.run.flow import UNTRACED, Trace
from acidsql.session.dml import Changed, SessionChanges, SessionQueries
from acidsql.session.transaction import Attempts, SessionLocks, SessionTransaction, Turn
from acidsql.settings import Settings, Variables
from acidsql.txn.compactions import Compaction, CompactionType
from acidsql.txn.reading import Reads
from acidsql.txn.runs import ask_for_run
from acidsql.utf8 import check_text

if TYPE_CHECKING:
    from acidsql.attach.sources.live import LiveTables
    from acidsql.compaction.examination import Report
    from acidsql.compaction.health import TableHealth
    from acidsql.parser.parameters import Params
    from acidsql.session.dml import SessionCopies
    from acidsql.txn.store import SessionStore

_HEALTH = "DESCRIBE HEALTH "
_SHOW_CREATE = "SHOW CREATE TABLE "
_TAKES = 10
"""How often COPY INTO .. ONCE is run again at least, where others take its files."""
_MAKING = (
    AttachDatabase,
    AttachTable,
    CreateDatabase,
    CreateTable,
    CreateTableLike,
    CreateView,
)
"""Statements that make a warehouse where there is none."""


@dataclass(slots=True, kw_only=True)
class Spine:
    """One session's statements. ``database``: the one that names without a database belong to."""

    root: str
    user: str
    clock: Callable[[], float]
    open_store: Callable[[], SessionStore]
    engine: Engine
    settings: Settings
    turn: Turn
    background: Background
    database: str = DEFAULT_DATABASE
    hive_variables: dict[str, str] = field(default_factory=dict)
    frames: Frames = field(default_factory=Frames)
    transaction: SessionTransaction = field(init=False)
    locks: SessionLocks = field(init=False)
    reads: Reads = field(init=False)
    queries: SessionQueries = field(init=False)
    changes: SessionChanges = field(init=False)
    recovery: Recovery = field(init=False)
    live: LiveTables | None = None

    def __post_init__(self) -> None:
        self.reads = Reads(
            self.open_store,
            lambda: self.settings.number("acidsql.reader.lease"),
            lambda: self.settings.number("hive.txn.timeout") / 2,
        )
        self.locks = SessionLocks(
            open_store=self.open_store,
            find_table=lambda name: self.store.find_table(name),
            settings=self.settings,
            plan_again=self._plan_again,
        )
        self.transaction = SessionTransaction(
            lambda: self.changes.begin_work(),
            self.settings,
            self.reads.outlive,
            ask_for_run=lambda run_id: ask_for_run(
                self.store.find_run, run_id, self.settings.number("acidsql.run.kept")
            ),
        )
        self.queries = SessionQueries(
            engine=self.engine,
            turn=self.turn,
            transaction=self.transaction,
            locks=self.locks,
            reads=self.reads,
        )
        self.changes = SessionChanges(
            root=self.root,
            open_store=self.open_store,
            engine=self.engine,
            transaction=self.transaction,
            locks=self.locks,
            queries=self.queries,
        )
        self.recovery = Recovery(
            open_store=self.open_store,
            files=self.engine.files,
            pause=lambda: self.settings.number("metastore.acid.housekeeper.interval"),
        )

    @property
    def store(self) -> SessionStore:
        return self.open_store()

    def plan(
        self,
        text: str,
        params: Params | None = None,
        warn: Callable[[Warning], None] = lambda warning: None,
    ) -> tuple[str, Plan]:
        """The text with its parameters in it, and the plan of it."""
        from acidsql.parser.parse import parse

        source = text
        if params is not None:
            from acidsql.parser.parameters import bind_parameters

            source = bind_parameters(text, params)
        with placed_in(source):
            with interrupts.at_once():
                statement = parse(source)
            if isinstance(statement, _MAKING):
                self.store.make()
            bound = bind(statement, source, self._surroundings(warn))
            return source, plan(bound, self.settings, self.engine.spark_at_hand)

    def plan_all_rows(self, parts: tuple[str, ...], span: Span, source: str) -> ReadPlan:
        """The plan of ``SELECT * FROM name``, for who takes the rows himself: it has no steps. See
        ``bind_all_rows``.
        """
        check_text(source)
        with placed_in(source):
            return ReadPlan(
                query=bind_all_rows(parts, span, source, self._surroundings()), operators=()
            )

    def _surroundings(self, warn: Callable[[Warning], None] = lambda warning: None) -> Surroundings:
        self.engine.about_to_plan()
        return Surroundings(
            catalog=self.store,
            database=self.database,
            has_view=self.engine.has_view,
            has_foreign=self.engine.has_foreign,
            knows_function=self.engine.knows_function,
            user=self.user,
            now=int(self.clock()),
            settings=self.settings,
            own_partitions=self.transaction.partitions,
            warn=warn,
            semantics=self.engine.semantics(self.database),
            frames=self.frames.relations(),
            refreshed=self._refreshed,
            find_files=self.engine.find_files,
            open_files=self._open_files,
            copies=self._copies,
            returned=self._relation_of,
        )

    def _relation_of(self, table: Table) -> Table:
        """A relation of rows that are to be written to a table."""
        return self.frames.returned(table, self.settings.text("acidsql.frames.directory"))

    def _copies(self) -> SessionCopies:
        from acidsql.session.dml import SessionCopies

        return SessionCopies(
            manager=self.open_store,
            frames=self.frames,
            own=lambda: self.transaction.taken,
            directory=lambda: self.settings.text("acidsql.frames.directory"),
        )

    def _open_files(self, files: FileSource) -> Table:
        return self.frames.of_files(files, self.settings.text("acidsql.frames.directory"))

    def _refreshed(self, table: Table) -> Table:
        """An attached table as its source tells it now; in a transaction, as it told it first."""
        if table.name not in self.transaction.asked:
            table = self._live_tables().refreshed(table)
            if self.transaction.takes_statements:
                self.transaction.asked.add(table.name)
        return table

    def _live_tables(self) -> LiveTables:
        if self.live is None:
            from acidsql.attach.sources.live import LiveTables

            self.live = LiveTables(self.open_store, self.settings)
        return self.live

    def run(self, plan: Plan, source: str) -> Result:
        """Carries out the plan of ``source``, or what stands for it while ``acidsql.dry.run`` is
        on.
        """
        with placed_in(source), self.frames.of_statement():
            self._check(plan)
            self._read_files(plan)
            self.engine.about_to_run(plan)
            if self.settings.flag("acidsql.dry.run"):
                from acidsql.dry_run import would

                plan = would(plan)
            facts = facts_of(plan)
            if isinstance(plan, ReadPlan) or facts.changes:
                self.recovery.before()
            self.queries.fetch_before(plan)
            attempts = Attempts(retries=self._retries(facts))
            for attempt in attempts:
                with attempts.one():
                    current = self._plan_again(source) if attempt else plan
                    result = self._run(current, source)
            if isinstance(plan, ReadPlan) and not plan.ending:
                self.frames.keep_for(result, plan.query.reads)
        if facts.changes and not self.transaction.is_open:
            self.clean_up(requested=facts.compacts)
        result.stats = replace(result.stats, statement=name_of_statement(plan))
        result.plan = result.plan or current
        result.warnings = (*result.warnings, *attempts.warnings())
        return result

    def clean_up(self, *, requested: bool = False) -> None:
        """After a commit: takes away what killed processes have left, and has compacted what is
        due, or was ``requested``; or leaves it to others.
        """
        self.recovery.after()
        self.background.committed(requested=requested)

    def explain(self, plan: Plan, mode: str | None = None) -> list[str]:
        """The lines of EXPLAIN [mode]."""
        match plan:
            case CatalogCommand(action=BoundAttachTable() as action) if mode is None:
                from acidsql.attach.statements import explain_attach

                return list(explain_attach(self.engine.files, action, self.settings))
            case CatalogCommand(action=BoundAttachDatabase() as action) if mode is None:
                from acidsql.attach.databases import explain_attach_database

                return list(
                    explain_attach_database(self.store, self.engine.files, action, self.settings)
                )
            case CatalogCommand(action=BoundAdoptTable() as action) if mode is None:
                from acidsql.attach.adoption import Adopter

                return list(Adopter(self.store, self.engine, self.reads).explain(action))
            case _:
                from acidsql.plan.explain import explain

                return explain(plan, self.settings, self.store, mode, self.engine.spark_at_hand)

    def _check(self, plan: Plan) -> None:
        carried = carried_out(plan)
        check_runnable(carried)
        self.transaction.check(carried)

    def _plan_again(self, source: str) -> Plan:
        """What a text carries out now that its tables may be others; refused as at first."""
        carried = carried_out(self.plan(source)[1])
        check_runnable(carried)
        self._read_files(carried)
        return carried

    def _read_files(self, plan: Plan) -> None:
        """Reads the rows of files that a statement names and is about to ask for."""
        carried = carried_out(plan)
        needs_rows = not isinstance(carried, ReadPlan) or carried.telling is not Telling.COLUMNS
        if needs_rows and not isinstance(carried, ExplainPlan):
            self.frames.read_files(reads_of(carried))

    def _retries(self, facts: Facts) -> int:
        """How often a statement may be run again."""
        if not facts.repeatable or self.transaction.takes_statements:
            return 0
        wanted = int(self.settings.number("acidsql.retries"))
        return max(wanted, _TAKES) if facts.takes_once else wanted

    def _run(self, plan: Plan, source: str) -> Result:
        match plan:
            case ReadPlan():
                return self._read(plan, source, Trace() if plan.ending else UNTRACED)
            case WritePlan() | MergePlan() | MultiInsertPlan():
                return self._change(plan, source)
            case CatalogCommand():
                return self._catalog_command(plan, source)
            case SessionCommand(action=action):
                from acidsql.session.statements import run_session_statement

                variables = Variables(self.settings, self.hive_variables)
                return run_session_statement(self._warehouse(), variables, self.transaction, action)
            case DryRunPlan(plan=inner):
                return self._dry_run(inner, source)
            case ExplainPlan(plan=inner, mode="ANALYZE"):
                return self._analyze(inner, source)
            case ExplainPlan(plan=inner, mode=mode):
                lines = self.explain(inner, mode)
                return Result.of_text(Stats(), ["Explain"], [[line] for line in lines])
            case _:
                assert_never(plan)

    def _change(self, plan: ChangePlan, source: str) -> Result:
        """Carries out a statement that changes rows, once the table is there that it is to make."""
        while isinstance(plan, MultiInsertPlan) and plan.making is not None:
            self._make_first(plan.making, source)
            again = self._plan_again(source)
            assert isinstance(again, ChangePlan)
            plan = again
        done = self.changes.write(plan, source)
        if done.returning is None:
            return done.result
        return self._returned(done.returning, done, source)

    def _returned(self, plan: ReadPlan, done: Changed, source: str) -> Result:
        """The answer of RETURNING, of the rows that a statement has written: it is over."""
        [read] = plan.query.reads
        self.frames.fill(read.table, done.rows)
        with not_again():
            result = self.queries.read(plan, source)
        self.frames.keep_for(result, plan.query.reads)
        before = done.result
        result.stats, result.warnings = before.stats, (*before.warnings, *result.warnings)
        return result

    # ---- the catalog

    def _catalog_command(self, plan: CatalogCommand, source: str) -> Result:
        from acidsql.ddl.commands import run_catalog_command

        with self.locks.around(plan, source) as locked:
            action = locked.action
            if not facts_of(locked).stoppable:
                interrupts.too_late()
            try:
                result = (
                    self._attach(action)
                    if isinstance(action, AttachAction)
                    else run_catalog_command(self._warehouse(), action)
                )
                result.plan = result.plan or locked
                return result
            finally:
                self._follow(action)

    def _make_first(self, making: BoundCreateTable, source: str) -> None:
        """Makes a table that a statement is to write to; ``source``: of the statement."""
        from acidsql.ddl.commands import run_catalog_command

        with self.locks.held(self.locks.request(CatalogCommand(action=making), source)):
            run_catalog_command(self._warehouse(), making)

    def _attach(self, action: AttachAction) -> Result:
        from acidsql.session.attaching import run_attach_command

        return run_attach_command(self._warehouse(), self._live_tables, action)

    def _follow(self, action: CatalogAction) -> None:
        """Goes to the database of USE, and leaves one that is gone, even where its directories
        could not be deleted.
        """
        match action:
            case BoundUse(database=chosen):
                self.database = chosen
            case BoundDropDatabase(name=name) | BoundDetachDatabase(name=name) if (
                name == self.database and self.store.find_database(name) is None
            ):
                self.database = DEFAULT_DATABASE

    def _warehouse(self) -> Warehouse:
        return Warehouse(
            root=self.root,
            store=self.store,
            files=self.engine.files,
            engine=self.engine,
            settings=self.settings,
            reads=self.reads,
            need_compaction=self._need_compaction,
            left_by_compactions=self._left_by_compactions,
            compact_until=self._compact_unless_served,
            health=lambda table, partition: self._health(table, partition).facts,
        )

    def health(self, table: str, report: Report | None = None) -> TableHealth:
        """The health of a table, or of one partition: ``table`` is what follows DESCRIBE HEALTH.
        ``report``: hears how many footers of how many have been read.
        """
        source, planned = self._plan_of(_HEALTH, table)
        action = planned.action if isinstance(planned, CatalogCommand) else None
        if not isinstance(action, BoundDescribeHealth):
            raise ProgrammingError("the health of a table is asked for by its name")
        with placed_in(source), file_errors("DESCRIBE HEALTH"):
            return self._health(action.table, action.partition, report)

    def dump(self, table: str) -> str:
        """The dump of a table: ``table`` is what follows SHOW CREATE TABLE."""
        from acidsql.attach.dump import dump_of

        _, planned = self._plan_of(_SHOW_CREATE, table)
        action = planned.action if isinstance(planned, CatalogCommand) else None
        if not isinstance(action, BoundShowCreateTable):
            raise ProgrammingError("a table is dumped by its name")
        now = self._refreshed(action.table) if is_live(action.table) else action.table
        return dump_of(self.store, now)

    def _plan_of(self, words: str, table: str) -> tuple[str, Plan]:
        """The plan of a statement of our ``words`` and what the user wrote behind them."""
        check_text(table, of="the name of a table")
        try:
            return self.plan(f"{words}{table}")
        except Error as error:
            if error.span is not None:
                start, end = error.span.start - len(words), error.span.end - len(words)
                error.span, error.source = Span(max(start, 0), max(end, 0)), table
            raise

    def _health(
        self, table: Table, partition: Partition | None, report: Report | None = None
    ) -> TableHealth:
        from acidsql.compaction.examination import silent, table_health

        return table_health(
            self.store,
            self.engine.files,
            self.settings,
            table,
            None if partition is None else [partition],
            now=self.clock(),
            report=report or silent,
        )

    def _need_compaction(
        self, table: Table, partitions: Sequence[Partition], type: CompactionType
    ) -> list[bool]:
        from acidsql.compaction.by_hand.requests import need_compaction

        files, settings = self.engine.files, self.settings
        return need_compaction(self.store, files, settings, table, partitions, type)

    def _left_by_compactions(
        self, table: Table, entries: Sequence[tuple[Partition | None, Compaction | None]]
    ) -> list[Warning]:
        from acidsql.compaction.by_hand.requests import what_is_left

        files, now = self.engine.files, self.clock()
        return what_is_left(self.store, files, self.settings, table, entries, now=now)

    def _compact_unless_served(self, compaction_ids: Collection[int]) -> None:
        # few sessions compact, and what does so is much
        from acidsql.compaction.by_hand.requests import compact_unless_served

        compact_unless_served(self.store, self.engine, self.settings, compaction_ids)

    # ---- reading

    def _read(self, plan: ReadPlan, source: str, trace: Trace) -> Result:
        rows = self.queries.read(plan, source, trace)
        if plan.telling is not None:
            from acidsql.session.dml import answer_about

            return answer_about(rows, plan, trace)
        if plan.into is None:
            return rows
        from acidsql.session.dml import unload

        return unload(rows, plan, self.engine.files, self.root, trace)

    def _analyze(self, plan: Plan, source: str) -> Result:
        """Runs a statement; the answer is which steps of its plan ran, and what each came to."""
        match plan:
            case ReadPlan():
                trace = Trace()
                done = self._read(plan, source, trace)
                if plan.into is None:
                    done.to_arrow()
                done.stats = replace(done.stats, steps=tuple(trace.ran))
            case WritePlan() | MergePlan() | MultiInsertPlan():
                done = self._change(plan, source)
            case _:
                hint = "EXPLAIN says what other statements do."
                raise UnsupportedStatementError(
                    "EXPLAIN ANALYZE is for queries and for statements that change rows", hint=hint
                )
        from acidsql.plan.explain import explain_ran

        lines = explain_ran(plan, done.stats.steps, self.settings, self.store)
        result = Result.of_text(done.stats, ["Explain"], [[line] for line in lines])
        result.warnings = done.warnings
        return result

    def _dry_run(self, plan: ChangePlan | CatalogCommand | SessionCommand, source: str) -> Result:
        from acidsql.dry_run import dry_run
        from acidsql.dry_run.going import Around

        with self.queries.reading(plan, source) as snapshots, file_errors("DRY RUN"):
            around = Around(
                engine=self.engine,
                store=self.store,
                settings=self.settings,
                snapshots=snapshots,
                explain=self.explain,
                in_transaction=self.transaction.is_open,
                refuses_definitions=self.transaction.refuses_definitions,
            )
            return dry_run(around, plan)
