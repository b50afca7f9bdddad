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
from acidsql.errors import AlreadyExistsError, BindError, InterfaceError
from acidsql.expressions.spark_words import identifier, text_literal
from acidsql.frames.fitting import by_lower_name, table_columns
from acidsql.frames.registry import ONCE
from acidsql.parser.parameters import Params
from acidsql.session.own_text import check_expression, enclosed, in_own_text, move
from acidsql.session.spine import Spine
from acidsql.utf8 import check_text

if TYPE_CHECKING:
    from acidsql.frames.frame_types import Batches
    from acidsql.result import Result


# ---- frames
#
# ``Session.register``: DataFrames under names that a session's statements read them by.


def is_sparks(frame: Any) -> bool:
    """Whether it is one of Spark's DataFrames, classic or of Spark Connect."""
    kinds = type(frame).__mro__
    return any(k.__module__.startswith("pyspark.sql") and k.__name__ == "DataFrame" for k in kinds)


def register(spine: Spine, name: str, frame: Any) -> None:
    """See ``Session.register``."""
    check_text(name, of="the name of a frame")
    key = name.lower()
    if not (key.isascii() and key.replace("_", "a").isalnum()):
        raise InterfaceError(
            f'a frame cannot be called "{name}"', hint="Use letters, digits and underscores."
        )
    with spine.turn.taken():
        _check_free(spine, key)
        if is_sparks(frame):
            by_lower_name(frame.columns)
            spine.engine.add_view(frame, key)
            spine.frames.add(key, None)
            return
    from acidsql.frames.spooling import Frame

    directory = spine.settings.text("acidsql.frames.directory")
    spine.frames.add(key, Frame.of(key, frame, directory))


def unregister(spine: Spine, name: str) -> None:
    """See ``Session.unregister``."""
    spine.turn.check_process()
    check_text(name, of="the name of a frame")
    if spine.frames.remove(name.lower()):
        spine.engine.drop_view(name.lower())


def _check_free(spine: Spine, name: str) -> None:
    spine.frames.check_free(name)
    table = TableName(spine.database, name)
    if spine.store.find_table(table) is not None:
        raise AlreadyExistsError(
            f"table {table} exists already", hint="Register the frame under another name."
        )
    if spine.engine.has_view(name):
        raise AlreadyExistsError(
            f'Spark\'s session has a view "{name}" already',
            hint="Register the frame under another name.",
        )


# ---- merges
#
# The text of a MERGE of a frame into a table: ON equal columns, and clauses of mere words or of SQL
# expressions.


_ACTIONS = {True: ("update", "delete"), False: ("insert",)}


class MergeText:
    """``on``: the columns whose values are equal in a match. InterfaceError, BindError."""

    def __init__(self, table: Table, on: Sequence[str], matched: Any, not_matched: Any) -> None:
        if isinstance(on, str) or not on:
            raise InterfaceError("on is a list of names of columns, one at least")
        self._table = table
        self._on = [column.name for column in table_columns(table, on)]
        self._clauses = [
            *((True, *one) for one in _clauses(matched, True)),
            *((False, *one) for one in _clauses(not_matched, False)),
        ]
        if not self._clauses:
            raise InterfaceError("the merge does nothing: give when_matched or when_not_matched")
        self._check_update()

    @property
    def takes_any(self) -> bool:
        """Whether the frame may have columns that the table has not: SQL may ask for them."""
        return any(
            condition is not None or isinstance(action, Mapping)
            for _, condition, action in self._clauses
        )

    @property
    def copies(self) -> bool:
        """Whether an action stores the frame's columns as they are, so that they must fit."""
        return any(isinstance(action, str) and action != "delete" for *_, action in self._clauses)

    @property
    def inserts_all(self) -> bool:
        """Whether the frame must have every column."""
        return any(action == "insert" for _, _, action in self._clauses)

    def expressions(self) -> list[str]:
        """All that was given as SQL, in the order of the text."""
        return [
            expression
            for _, condition, action in self._clauses
            for expression in (
                *(() if condition is None else (condition,)),
                *(action.values() if isinstance(action, Mapping) else ()),
            )
        ]

    def of(self, columns: Sequence[str], value: Callable[[str], str]) -> str:
        """What stands behind USING. ``columns``: the frame's, in lower case; ``value``: the SQL of
        one. BindError for a frame without the columns of ON.
        """
        if missing := [name for name in self._on if name not in columns]:
            raise BindError(f'the frame has no column "{missing[0]}", which rows are matched on')
        known = {c.name for c in (*self._table.columns, *self._table.partition_columns)}
        given = [name for name in columns if name in known]
        on = " AND ".join(f"t.{identifier(name)} = s.{identifier(name)}" for name in self._on)
        return "\n".join([f"ON {on}", *self._texts(given, value)])

    def _texts(self, columns: Sequence[str], value: Callable[[str], str]) -> Iterator[str]:
        for matched, condition, action in self._clauses:
            if action == "update":
                sets = {name: value(name) for name in columns if name not in self._on}
                if not sets:
                    raise BindError("the frame has no column to update beside those of on")
            elif action == "insert":
                sets = {name: value(name) for name in columns}
            else:
                sets = {} if isinstance(action, str) else enclosed_values(action)
            asked = "" if condition is None else f" AND {enclosed(condition)}"
            when = "WHEN MATCHED" if matched else "WHEN NOT MATCHED"
            yield f"{when}{asked} THEN {_action(matched, sets)}"

    def _check_update(self) -> None:
        """Refuses to update all of a row of which a part cannot be changed."""
        table = self._table
        fixed = [c.name for c in table.partition_columns]
        fixed += table.bucketing.columns if table.bucketing else ()
        left = [name for name in fixed if name not in self._on]
        if left and any(action == "update" for _, _, action in self._clauses):
            raise BindError(
                f'column "{left[0]}" says where a row lies and cannot be updated',
                hint="Add it to on=[..], or give when_matched={..} the columns to set.",
            )


def enclosed_values(values: Mapping[str, str]) -> dict[str, str]:
    """The values of columns as they are written in a statement."""
    return {
        name: text if text.strip().upper() == "DEFAULT" else enclosed(text)
        for name, text in values.items()
    }


def _action(matched: bool, sets: Mapping[str, str]) -> str:
    if not sets:
        return "DELETE"
    if matched:
        return "UPDATE SET " + ", ".join(f"{identifier(n)} = {v}" for n, v in sets.items())
    names = ", ".join(map(identifier, sets))
    return f"INSERT ({names}) VALUES ({', '.join(sets.values())})"


def _clauses(given: Any, matched: bool) -> list[tuple[str | None, Any]]:
    if given is None:
        return []
    several = isinstance(given, Sequence) and not isinstance(given, str)
    clauses: list[Any] = list(given) if several else [(None, given)]
    for clause in clauses:
        if not isinstance(clause, Sequence) or isinstance(clause, str) or len(clause) != 2:
            raise InterfaceError("a clause of a merge is a condition, or None, and an action")
        _check_action(clause[1], matched)
    return [(condition, action) for condition, action in clauses]


def _check_action(action: Any, matched: bool) -> None:
    words = _ACTIONS[matched]
    name = "when_matched" if matched else "when_not_matched"
    if isinstance(action, Mapping):
        if not action:
            raise InterfaceError(f"{name} names one column at least")
    elif action not in words:
        known = " or ".join(f'"{word}"' for word in words)
        raise InterfaceError(f"{name} is {known}, a mapping of columns to SQL, or None")


# ---- tables


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
        from acidsql.frames.fitting import by_lower_name

        if is_sparks(frame):
            by_lower_name(frame.columns)
            with self._view(frame, ()) as source:
                yield source.relation
            return
        from acidsql.frames.frame_types import batches_of

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
        from acidsql.frames.fitting import by_lower_name, check_columns

        if is_sparks(frame):
            names = tuple(by_lower_name(frame.columns))
            known = _known(wanted, names) if partial else wanted
            check_columns(table, known, names, extra=chosen)
            with self._view(frame, known) as source:
                yield source
            return
        from acidsql.frames.frame_types import batches_of

        batches = batches_of(frame, only_schema=self._only_schema)
        names = tuple(by_lower_name(batches.schema.names))
        known = _known(wanted, names) if partial else wanted
        check_columns(table, known, names, index=batches.index, extra=chosen)
        with self._spooled(batches, known) as relation:
            yield _Source(relation=relation, columns=names, limits={})

    @contextmanager
    def _view(self, frame: Any, wanted: Sequence[Column]) -> Iterator[_Source]:
        """One of Spark's DataFrames: its rows are not known, so its types must do."""
        from acidsql.frames.frame_types import widens

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
    from acidsql.frames.fitting import table_columns

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
