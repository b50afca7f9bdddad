"""``Session.table``: DataFrames become rows of a table by the statements that a user would write,
bound, planned and carried out as these are; a frame is a relation of theirs, under a name that no
table can have.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from acidsql.catalog.model import Column, Table, TableKind, TableName
from acidsql.catalog.types import CharType, HiveType, VarcharType
from acidsql.errors import BindError, InterfaceError
from acidsql.expressions.spark_words import identifier, text_literal
from acidsql.frames.registry import ONCE
from acidsql.parser.parameters import Params
from acidsql.session.frames import is_sparks
from acidsql.session.merges import MergeText, enclosed_values
from acidsql.session.own_text import check_expression, enclosed, in_own_text, move
from acidsql.session.spine import Spine
from acidsql.utf8 import check_text

if TYPE_CHECKING:
    from acidsql.frames.batches import Batches
    from acidsql.result import Result

Action = Literal["update", "delete", "insert"] | Mapping[str, str]
"""What a MERGE does with a row; a mapping gives SQL expressions to columns."""

Clauses = Action | Sequence[tuple[str | None, Action]] | None
"""An action for all rows, or several with their conditions, of which the first that holds acts;
None: nothing.
"""

Partitions = Mapping[str, Any] | Sequence[str] | None

Done = TypeVar("Done")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """A frame as a statement reads it. ``values``: the SQL of each of its columns, by their names
    in lower case; ``alias`` is what these are qualified by.
    """

    relation: str
    columns: tuple[str, ...]
    limits: Mapping[str, HiveType]

    def value(self, column: str, alias: str) -> str:
        own = f"{alias}.{identifier(column)}"
        hive_type = self.limits.get(column)
        if not isinstance(hive_type, CharType | VarcharType):
            return own
        wide = f"rtrim({own})" if isinstance(hive_type, CharType) else own
        message = f'column "{column}" of type {hive_type} cannot hold a text of the frame'
        return (
            f"CASE WHEN char_length({wide}) > {hive_type.length}"
            f" THEN raise_error({text_literal(message)}) ELSE {own} END"
        )


class Statements(Generic[Done]):
    """The statements on one table that take frames. ``run``: what becomes of their text."""

    def __init__(
        self,
        spine: Spine,
        name: TableName,
        run: Callable[[str, Params | None], Done],
        *,
        only_schema: bool = False,
    ) -> None:
        self._spine = spine
        self.name = name
        self._run = run
        self._only_schema = only_schema

    def create(self, frame: Any, partitioned_by: Sequence[str] = ()) -> Done:
        """CREATE TRANSACTIONAL TABLE .. AS: a new table with the columns and rows of a frame, which
        appears with its rows.

        partitioned_by: the columns that become the table's partition columns, behind the others.
        AlreadyExistsError, BindError for columns that no table can have.
        """
        if isinstance(partitioned_by, str) or not isinstance(partitioned_by, Iterable):
            raise InterfaceError("partitioned_by is a list of names")
        for name in (partitioned_by := tuple(partitioned_by)):
            check_text(name, of="the name of a column")
        keys = ", ".join(identifier(name) for name in partitioned_by)
        words = f" PARTITIONED BY ({keys})" if keys else ""
        with self._relation(frame) as relation:
            text = f"CREATE TRANSACTIONAL TABLE {self._target}{words} AS SELECT * FROM {relation}"
            return self._done(text)

    def append(self, frame: Any, columns: Sequence[str] | None = None) -> Done:
        """INSERT INTO: the rows of a frame, whose columns are the table's by name.

        columns: those of the frame to take; the table's others become DEFAULT or NULL. BindError
        and DataError, before anything is written, for columns and values that do not fit.
        """
        table = self._table()
        wanted = _wanted(table, columns)
        with self._source(table, frame, wanted, chosen=columns is not None) as source:
            return self._done(self._insert("INSERT INTO", wanted, source, ""))

    def overwrite(self, frame: Any, partitions: Partitions = None) -> Done:
        """INSERT OVERWRITE: a frame's rows instead of the table's, or of those of partitions.

        partitions: of a table that has some, values of their columns (``{"day": "2026-01-01"}``:
        that partition), or the names of all of them: then the partitions that the frame's rows are
        of. Values and names may be mixed: ``{"year": 2026, "month": None}``.
        """
        table = self._table()
        given, spec = _partition_clause(table, partitions)
        keys = [c for c in table.partition_columns if given.get(c.name) is None]
        wanted = (*table.columns, *keys)
        params = [value for value in given.values() if value is not None]
        with self._source(table, frame, wanted) as source:
            text = self._insert("INSERT OVERWRITE TABLE", wanted, source, spec)
            return self._done(text, (), params or None)

    def merge(
        self,
        frame: Any,
        on: Sequence[str],
        when_matched: Clauses = "update",
        when_not_matched: Clauses = "insert",
        params: Params | None = None,
    ) -> Done:
        """MERGE: a row of the frame updates, or deletes, that of the table with the same values of
        the columns ``on``, or is inserted if there is none. NULL equals nothing.

        "update" and "insert" take all columns of the frame, which are the table's by name; with a
        mapping of SQL over ``t``, the table, and ``s``, the frame, it may have others, and values
        are stored as SQL stores them. ``params`` fill the ``?`` or ``:name`` of SQL.
        CardinalityError if two rows of the frame match one.
        """
        table = self._table()
        text = MergeText(table, on, when_matched, when_not_matched)
        own = text.expressions()
        for expression in own:
            check_expression(expression)
        every = (*table.columns, *table.partition_columns) if text.copies else ()
        chosen = text.takes_any or not text.copies
        with self._source(
            table, frame, every, chosen=chosen, partial=not text.inserts_all
        ) as source:
            target = f"MERGE INTO {self._target} AS t USING {source.relation} AS s"
            legs = text.of(source.columns, lambda name: source.value(name, "s"))
            return self._done(f"{target}\n{legs}", own, params)

    def delete(self, where: str, params: Params | None = None) -> Done:
        """DELETE: the rows for which ``where``, a condition in SQL, is true."""
        check_expression(where)
        return self._done(f"DELETE FROM {self._target} WHERE {enclosed(where)}", [where], params)

    def update(self, set: Mapping[str, str], where: str, params: Params | None = None) -> Done:
        """UPDATE: ``set`` gives SQL expressions to columns, in the rows for which ``where`` is
        true.
        """
        if not isinstance(set, Mapping):
            raise InterfaceError(f"set is a mapping of columns to SQL, not {type(set).__name__}")
        if not set:
            raise InterfaceError("an UPDATE sets one column at least")
        for name in set:
            check_text(name, of="the name of a column")
        own = [*set.values(), where]
        for expression in own:
            check_expression(expression)
        values = ", ".join(f"{identifier(n)} = {v}" for n, v in enclosed_values(set).items())
        text = f"UPDATE {self._target} SET {values} WHERE {enclosed(where)}"
        return self._done(text, own, params)

    def _done(self, text: str, own: Sequence[str] = (), params: Params | None = None) -> Done:
        """What becomes of a statement around the texts ``own``, which is told of in these."""
        with in_own_text(text, own, params):
            done = self._run(text, params)
        for warning in getattr(done, "warnings", ()):
            move(warning, text, own, params)
        return done

    # ---- texts

    @property
    def _target(self) -> str:
        return f"{identifier(self.name.database)}.{identifier(self.name.table)}"

    def _insert(
        self, words: str, columns: Sequence[Column], source: _Source, partition: str
    ) -> str:
        names = ", ".join(identifier(c.name) for c in columns)
        values = ", ".join(source.value(c.name, "s") for c in columns)
        return (
            f"{words} {self._target}{partition} ({names})\nSELECT {values}"
            f" FROM {source.relation} AS s"
        )

    def _table(self) -> Table:
        table = self._spine.store.find_table(self.name)
        if table is None:
            # the binder's error, with what the name may have meant
            text = f"SELECT * FROM {self._target}"
            with in_own_text(text, ()):
                self._spine.plan(text)
        elif table.kind is TableKind.VIEW:
            raise BindError(f"{self.name} is a view: it takes no rows", code=10090)
        else:
            return table
        raise BindError(f"table {self.name} is gone")

    # ---- frames

    @contextmanager
    def _relation(self, frame: Any) -> Iterator[str]:
        """A frame, as it is, as the relation of one statement."""
        from acidsql.frames.matching import by_lower_name

        if is_sparks(frame):
            by_lower_name(frame.columns)
            with self._view(frame, ()) as source:
                yield source.relation
            return
        from acidsql.frames.batches import batches_of

        batches = batches_of(frame, only_schema=self._only_schema)
        for name, field in zip(by_lower_name(batches.schema.names), batches.schema, strict=True):
            if str(field.type) == "null":
                raise BindError(
                    f'column "{name}" of the frame is NULL everywhere, so it has no type',
                    code=10305,
                    hint="Cast it, or leave it out.",
                )
        with self._spooled(batches) as relation:
            yield relation

    @contextmanager
    def _spooled(self, batches: Batches, columns: Sequence[Column] = ()) -> Iterator[str]:
        """The rows of a frame in a file, as the relation of one statement. ``columns``: see
        ``Frame.of``.
        """
        from acidsql.frames.spooling import Frame

        directory = self._spine.settings.text("acidsql.frames.directory")
        spooled = Frame.of_batches(ONCE, batches, directory, columns)
        with self._spine.frames.once(spooled) as name:
            yield identifier(name)

    @contextmanager
    def _source(
        self,
        table: Table,
        frame: Any,
        wanted: Sequence[Column],
        *,
        chosen: bool = False,
        partial: bool = False,
    ) -> Iterator[_Source]:
        """A frame as the relation of one statement. ``chosen``: it may have other columns than the
        ``wanted``; ``partial``: it need not have all of them.
        """
        from acidsql.frames.matching import by_lower_name, check_columns

        if is_sparks(frame):
            names = tuple(by_lower_name(frame.columns))
            known = _known(wanted, names) if partial else wanted
            check_columns(table, known, names, extra=chosen)
            with self._view(frame, known) as source:
                yield source
            return
        from acidsql.frames.batches import batches_of

        batches = batches_of(frame, only_schema=self._only_schema)
        names = tuple(by_lower_name(batches.schema.names))
        known = _known(wanted, names) if partial else wanted
        check_columns(table, known, names, index=batches.index, extra=chosen)
        with self._spooled(batches, known) as relation:
            yield _Source(relation=relation, columns=names, limits={})

    @contextmanager
    def _view(self, frame: Any, wanted: Sequence[Column]) -> Iterator[_Source]:
        """One of Spark's DataFrames: its rows are not known, so its types must do."""
        from acidsql.frames.widening import widens

        engine = self._spine.engine
        name = f"acidsql_frame_{uuid.uuid4().hex[:12]}"
        with self._spine.turn.taken():
            columns = engine.add_view(frame, name)
        try:
            types = {column.lower(): hive_type for column, hive_type in columns}
            limits = {c.name: c.type for c in wanted if isinstance(c.type, CharType | VarcharType)}
            for column in wanted:
                given = types[column.name]
                if column.name in limits and str(given) == "string":
                    continue
                if not widens(given, column.type):
                    raise BindError(
                        f'column "{column.name}" is of type {column.type}, that of the frame'
                        f" {given}, of which not every value fits",
                        hint="Cast the frame's column: only its type is known before it is read.",
                        sqlstate="42804",
                    )
            with self._spine.frames.named(name, None):
                yield _Source(relation=identifier(name), columns=tuple(types), limits=limits)
        finally:
            engine.drop_view(name)


class SessionTable(Statements["Result"]):
    """A table that takes DataFrames: see ``Session.table``."""

    def __init__(
        self,
        spine: Spine,
        name: TableName,
        run: Callable[[str, Params | None], Result],
        explain: Callable[[str, Params | None], str],
    ) -> None:
        super().__init__(spine, name, run)
        self._explain = explain

    def explain(self) -> Statements[str]:
        """Statements that give their plans and do nothing, called as those that do:
        ``table.explain().append(frame)``. A stream of Arrow's is not read for it.
        """
        return Statements(self._spine, self.name, self._explain, only_schema=True)


def session_table(
    spine: Spine,
    name: str,
    run: Callable[[str, Params | None], Result],
    explain: Callable[[str, Params | None], str],
) -> SessionTable:
    """The table of a name as users write it, ``t`` or ``db.t``. BindError."""
    check_text(name, of="the name of a table")
    parts = name.lower().split(".")
    if len(parts) > 2 or not all(parts):
        raise BindError(f'"{name}" is no name of a table: t, or db.t')
    database = spine.database if len(parts) == 1 else parts[0]
    return SessionTable(spine, TableName(database, parts[-1]), run, explain)


def _wanted(table: Table, columns: Sequence[str] | None) -> tuple[Column, ...]:
    if columns is None:
        return (*table.columns, *table.partition_columns)
    from acidsql.frames.matching import table_columns

    if isinstance(columns, str):
        raise InterfaceError("columns are a list of names")
    named = table_columns(table, columns)
    if missing := [c.name for c in table.partition_columns if c not in named]:
        raise BindError(f'partition column "{missing[0]}" must be among the columns')
    return named


def _known(wanted: Sequence[Column], names: Sequence[str]) -> tuple[Column, ...]:
    return tuple(c for c in wanted if c.name in names)


def _partition_clause(table: Table, partitions: Partitions) -> tuple[dict[str, Any], str]:
    """The values that were given, None for a column of the frame, and the clause with marks for
    them. BindError.
    """
    keys = [c.name for c in table.partition_columns]
    if partitions is None:
        if keys:
            raise BindError(
                f"table {table.name} has partitions: which of them are to be overwritten?",
                hint=f"Give partitions={keys} for those of the frame's rows, or a value for one:"
                f' partitions={{"{keys[0]}": ..}}.',
            )
        return {}, ""
    if not isinstance(partitions, Iterable) or isinstance(partitions, str):
        raise InterfaceError("partitions are a list of names, or a mapping of names to values")
    given = dict(partitions) if isinstance(partitions, Mapping) else dict.fromkeys(partitions)
    lower = {str(name).lower(): value for name, value in given.items()}
    if not keys or sorted(lower) != sorted(keys):
        has = ", ".join(keys) or "none"
        raise BindError(
            f"partitions of table {table.name} are named by all of its partition columns: {has}",
            hint="A column without a value, None, is the frame's.",
        )
    items = [identifier(k) if lower[k] is None else f"{identifier(k)} = ?" for k in keys]
    return {k: lower[k] for k in keys}, f" PARTITION ({', '.join(items)})"
