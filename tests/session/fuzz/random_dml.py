"""Random tables of all types and layouts, and random statements that change them: as text for
acidsql, in parts for an oracle.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tests.session.fuzz.random_sql import KEYS, SCALARS, Draw, Named, Relation

NAMES = (
    "a",
    "b",
    "c",
    "order",
    "bucket",
    "rowid",
    "row",
    "operation",
    "sp ace",
    "ünï",
    "_x",
    "p;q",
)
KEY_NAMES = ("p", "q r", "date")
BIG = 0.12
"""How many of the statements write on the executors."""
LONGEST_RULE = 250
"""Hive's metastore keeps no longer text of a constraint (error 10326)."""
BUCKETING = tuple(kind for kind in SCALARS if kind != "binary")


def quoted(name: str) -> str:
    return f"`{name}`"


@dataclass(frozen=True)
class Column:
    """``not_null`` and ``default``, SQL or None, are its constraints."""

    name: str
    type: str
    not_null: bool = False
    default: str | None = None

    def ddl(self) -> str:
        default = f" DEFAULT {self.default}" if self.default is not None else ""
        return f"{quoted(self.name)} {self.type}{' NOT NULL' if self.not_null else ''}{default}"


@dataclass(frozen=True, kw_only=True)
class Table:
    """``converted``: a plain one at first."""

    name: str
    columns: tuple[Column, ...]
    keys: tuple[Column, ...] = ()
    bucketed_by: tuple[str, ...] = ()
    buckets: int = 0
    bucketing_version: int = 2
    insert_only: bool = False
    stored_as: str = "ORC"
    converted: bool = False
    check: str | None = None

    @property
    def all_columns(self) -> tuple[Column, ...]:
        return (*self.columns, *self.keys)

    def scope(self, alias: str = "") -> list[Named]:
        return [Named(alias + quoted(c.name), c.type) for c in self.all_columns]

    def favoured(self, alias: str = "") -> list[Named]:
        """What partitions and buckets are chosen by."""
        names = {*(c.name for c in self.keys), *self.bucketed_by}
        return [Named(alias + quoted(c.name), c.type) for c in self.all_columns if c.name in names]

    def free(self) -> list[Column]:
        """What UPDATE may set."""
        return [c for c in self.columns if c.name not in self.bucketed_by]

    def is_like(self, other: Table) -> bool:
        """Whether they have the same columns."""
        return (self.columns, self.keys) == (other.columns, other.keys)

    def create(self) -> str:
        columns = ", ".join(
            [*(c.ddl() for c in self.columns), *([f"CHECK ({self.check})"] if self.check else [])]
        )
        parts = [f"CREATE TABLE {self.name} ({columns})"]
        if self.keys:
            parts.append(f"PARTITIONED BY ({', '.join(c.ddl() for c in self.keys)})")
        if self.bucketed_by:
            parts.append(
                f"CLUSTERED BY ({', '.join(map(quoted, self.bucketed_by))}) INTO {self.buckets} BUCKETS"
            )
        properties = [f"'bucketing_version'='{self.bucketing_version}'"]
        properties += [] if self.converted else self.transactional()
        return " ".join(
            [*parts, f"STORED AS {self.stored_as} TBLPROPERTIES ({', '.join(properties)})"]
        )

    def transactional(self) -> list[str]:
        """The table properties of its kind of transactional table."""
        kind = ["'transactional_properties'='insert_only'"] if self.insert_only else []
        return ["'transactional'='true'", *kind]


# ---- statements


@dataclass(frozen=True, kw_only=True)
class Insert:
    """``source``: rows of cells, or a query.  ``static``: values of the first keys.  ``columns``:
    those named, None for all.
    """

    table: Table
    source: tuple[tuple[str, ...], ...] | str
    columns: tuple[str, ...] | None = None
    static: Mapping[str, str] = field(default_factory=dict)
    overwrite: bool = False

    @property
    def dynamic(self) -> tuple[Column, ...]:
        return tuple(key for key in self.table.keys if key.name not in self.static)

    @property
    def given(self) -> tuple[Column, ...]:
        """The columns that the source gives, in its order."""
        named = [next(c for c in self.table.columns if c.name == n) for n in self.columns or ()]
        return (*(named or self.table.columns), *self.dynamic)

    def head(self) -> str:
        clause = [f"{quoted(name)} = {value}" for name, value in self.static.items()]
        clause += [quoted(key.name) for key in self.dynamic]
        partition = f" PARTITION ({', '.join(clause)})" if self.static else ""
        columns = f" ({', '.join(map(quoted, self.columns))})" if self.columns else ""
        return f"INSERT {'OVERWRITE TABLE' if self.overwrite else 'INTO'} {self.table.name}{partition}{columns}"

    def sql(self) -> str:
        if isinstance(self.source, str):
            return f"{self.head()} {self.source}"
        rows = ", ".join(f"({', '.join(row)})" for row in self.source)
        return f"{self.head()} VALUES {rows}"


@dataclass(frozen=True, kw_only=True)
class MultiInsert:
    """Of each leg the INSERT, whose source is a SELECT without the FROM that all share, and the
    WHERE.
    """

    source: str
    legs: tuple[tuple[Insert, str], ...]

    def sql(self) -> str:
        legs = (f"{leg.head()} {leg.source} WHERE {where}" for leg, where in self.legs)
        return " ".join([f"FROM {self.source}", *legs])

    def apart(self) -> list[Insert]:
        """The same rows by an INSERT for each leg."""
        return [
            _with_source(leg, f"{leg.source} FROM {self.source} WHERE {where}")
            for leg, where in self.legs
        ]


@dataclass(frozen=True, kw_only=True)
class Update:
    table: Table
    sets: Mapping[str, str]
    where: str | None

    def sql(self) -> str:
        sets = ", ".join(f"{quoted(name)} = {value}" for name, value in self.sets.items())
        return f"UPDATE {self.table.name} SET {sets}{_where(self.where)}"


@dataclass(frozen=True, kw_only=True)
class Delete:
    table: Table
    where: str | None

    def sql(self) -> str:
        return f"DELETE FROM {self.table.name}{_where(self.where)}"


@dataclass(frozen=True, kw_only=True)
class Clause:
    """``match``: MATCHED, NOT MATCHED or NOT MATCHED BY SOURCE.  ``sets``: None for DELETE; of an
    INSERT the columns it names.
    """

    match: str
    condition: str | None
    sets: Mapping[str, str] | None

    def sql(self) -> str:
        head = f"WHEN {self.match}{f' AND {self.condition}' if self.condition else ''} THEN"
        if self.sets is None:
            return f"{head} DELETE"
        if self.match == "NOT MATCHED":
            return f"{head} INSERT ({', '.join(map(quoted, self.sets))}) VALUES ({', '.join(self.sets.values())})"
        return f"{head} UPDATE SET {', '.join(f'{quoted(name)} = {value}' for name, value in self.sets.items())}"


@dataclass(frozen=True, kw_only=True)
class Merge:
    """The target is ``t``, the source, a query, ``s``."""

    table: Table
    source: str
    on: str
    clauses: tuple[Clause, ...]

    def sql(self) -> str:
        clauses = " ".join(clause.sql() for clause in self.clauses)
        return f"MERGE INTO {self.table.name} t USING ({self.source}) s ON {self.on} {clauses}"


@dataclass(frozen=True, kw_only=True)
class Failing:
    """One that fails when some of its rows are written, or before."""

    table: Table
    text: str

    def sql(self) -> str:
        return self.text


@dataclass(frozen=True, kw_only=True)
class Convert:
    """Makes a plain table transactional."""

    table: Table

    def sql(self) -> str:
        return f"ALTER TABLE {self.table.name} SET TBLPROPERTIES ({', '.join(self.table.transactional())})"


@dataclass(frozen=True, kw_only=True)
class Boundary:
    """Where a transaction of several statements begins or ends."""

    text: str

    def sql(self) -> str:
        return self.text


Statement = Insert | MultiInsert | Update | Delete | Merge | Failing | Convert | Boundary


@dataclass(frozen=True, kw_only=True)
class Step:
    """A statement, how its rows are written and how deleted rows are left out when it reads."""

    statement: Statement
    engine: str
    path: str
    deletes: str

    def settings(self) -> list[str]:
        return [
            f"SET acidsql.engine={self.engine}",
            f"SET acidsql.write.path={self.path}",
            f"SET acidsql.read.deletes={self.deletes}",
        ]

    def script(self) -> str:
        return "".join(f"{text};\n" for text in (*self.settings(), self.statement.sql()))


@dataclass(frozen=True, kw_only=True)
class Script:
    """Tables, the steps that change them, and a condition on each table for a last query, "" for
    none. ``pairs``: queries that read two tables, or parts of one, of equal columns.
    """

    tables: tuple[Table, ...]
    steps: tuple[Step, ...]
    conditions: tuple[str, ...]
    pairs: tuple[str, ...]

    def __str__(self) -> str:
        creates = [f"{table.create()};" for table in self.tables]
        queries = [
            f"SELECT * FROM {table.name}{_where(condition)};" for table, condition in self.queries()
        ]
        pairs = [f"{query};" for query in self.pairs]
        return "\n".join([*creates, *(step.script() for step in self.steps), *queries, *pairs])

    def queries(self) -> list[tuple[Table, str]]:
        return list(zip(self.tables, self.conditions, strict=True))

    def shorter(self) -> Iterator[Script]:
        """The script without its transaction, or without one statement that changes rows."""
        bounds = [n for n, step in enumerate(self.steps) if isinstance(step.statement, Boundary)]
        alone = [
            [n]
            for n, step in enumerate(self.steps)
            if not isinstance(step.statement, Boundary | Convert)
        ]
        for numbers in [*([bounds] if bounds else []), *reversed(alone)]:
            steps = tuple(step for n, step in enumerate(self.steps) if n not in numbers)
            yield replace(self, steps=steps)


def random_script(seed: int) -> Script:
    """The same script for the same seed."""
    chance = random.Random(seed)
    draw = Draw(chance)
    tables = _Tables(draw).some()
    steps = _Statements(draw, tables).steps()
    conditions = tuple(
        draw.condition(table.scope(), favoured=table.favoured()) if chance.random() < 0.5 else ""
        for table in tables
    )
    pairs = tuple(_pair(draw, tables) for _ in range(3 * len(tables)))
    return Script(tables=tables, steps=steps, conditions=conditions, pairs=pairs)


def _pair(draw: Draw, tables: Sequence[Table]) -> str:
    """A query of two tables, or two parts of one, that have the same columns."""
    chance, table = draw.chance, tables[0]
    if len(tables) > 1 and table.is_like(tables[1]):
        one, other = (t.name for t in tables)
    else:
        conditions = [draw.condition(table.scope(), 0, favoured=table.favoured()) for _ in range(2)]
        one, other = (f"(SELECT * FROM {table.name} WHERE {c})" for c in conditions)
    # of zeros of two signs any one may be the least, or stand for both
    able = [c for c in table.all_columns if c.type in SCALARS and c.type not in ("float", "double")]
    stored = [c for c in able if c not in table.keys]
    if not able:
        return f"SELECT (SELECT count(*) FROM {one} a), (SELECT count(*) FROM {other} b)"
    name = quoted(chance.choice(stored if stored and chance.random() < 0.8 else able).name)
    one, other = f"{one} a", f"{other} b"
    match chance.randrange(6):
        case 0:
            return f"SELECT (SELECT max({name}) FROM {one}), (SELECT max({name}) FROM {other})"
        case 1:
            how = chance.choice(("INNER", "LEFT", "FULL OUTER"))
            on = f"a.{name} = b.{name}"
            return f"SELECT a.{name}, b.{name} FROM {one} {how} JOIN {other} ON {on}"
        case 2:
            word = chance.choice(("UNION", "EXCEPT", "INTERSECT"))
            rows = f"SELECT {name} FROM {one} {word} SELECT {name} FROM {other}"
            return f"SELECT count(*) FROM ({rows}) u"
        case 3:
            legs = [f"SELECT {n} AS n, min({name}) FROM {s}" for n, s in ((1, one), (2, other))]
            return " UNION ALL ".join(legs)
        case 4:
            word = chance.choice(("", "NOT "))
            return f"SELECT {name} FROM {one} WHERE {name} {word}IN (SELECT {name} FROM {other})"
        case _:
            groups = [
                f"(SELECT {name}, count(*) AS n FROM {s} GROUP BY {name})" for s in (one, other)
            ]
            on = f"a.{name} <=> b.{name}"
            return f"SELECT a.{name}, a.n, b.n FROM {groups[0]} a LEFT JOIN {groups[1]} b ON {on}"


def _where(condition: str | None) -> str:
    return f" WHERE {condition}" if condition else ""


class _Tables:
    def __init__(self, draw: Draw) -> None:
        self.chance = draw.chance
        self.draw = draw

    def some(self) -> tuple[Table, ...]:
        """One or two, of which the second often has the columns of the first."""
        first = self.table("t0")
        match self.chance.randrange(10):
            case 0 | 1 | 2 | 3:
                return (first,)
            case 4 | 5:
                return first, self.table("t1")
        return first, self.like(first, "t1")

    def like(self, table: Table, name: str) -> Table:
        """Another one of the same columns, which may lie otherwise in its files."""
        if self.chance.random() < 0.5:
            return replace(table, name=name)
        return replace(
            table,
            name=name,
            bucketed_by=(),
            insert_only=False,
            stored_as="ORC",
            converted=self.chance.random() < 0.2,
        )

    def table(self, name: str) -> Table:
        chance = self.chance
        constrained = chance.random() < 0.25
        columns = tuple(
            self._column(n, constrained) for n in chance.sample(NAMES, chance.randrange(1, 5))
        )
        keys: tuple[Column, ...] = ()
        if chance.random() < 0.5:
            keys = tuple(
                Column(n, chance.choice(KEYS)) for n in KEY_NAMES[: chance.choice((1, 1, 2))]
            )
        able = [c.name for c in columns if c.type in BUCKETING]
        bucketed_by: tuple[str, ...] = ()
        if able and chance.random() < 0.4:
            bucketed_by = tuple(chance.sample(able, chance.randrange(1, min(2, len(able)) + 1)))
        insert_only = chance.random() < 0.15
        check = None
        if constrained and chance.random() < 0.5:
            drawn = self.draw.condition([Named(quoted(c.name), c.type) for c in columns], 1)
            check = drawn if len(drawn) <= LONGEST_RULE else None
        return Table(
            name=name,
            columns=columns,
            keys=keys,
            bucketed_by=bucketed_by,
            buckets=chance.randrange(1, 5),
            bucketing_version=chance.choice((1, 2)),
            insert_only=insert_only,
            stored_as=chance.choice(("ORC", "PARQUET")) if insert_only else "ORC",
            converted=chance.random() < 0.1,
            check=check,
        )

    def _column(self, name: str, constrained: bool) -> Column:
        kind = self.draw.column_type()
        if not constrained:
            return Column(name, kind)
        default = self.draw.typed(kind) if kind in SCALARS and self.chance.random() < 0.4 else None
        return Column(name, kind, not_null=self.chance.random() < 0.3, default=default)


class _Statements:
    """``draw`` makes sub-queries too, ``plain`` does not."""

    def __init__(self, plain: Draw, tables: Sequence[Table]) -> None:
        self.chance = plain.chance
        self.tables = tables
        self.plain = plain
        relations = [Relation(t.name, t.scope(), t.favoured()) for t in tables]
        self.draw = replace(plain, tables=relations)

    def steps(self) -> tuple[Step, ...]:
        """First literal rows for each table, then two or three statements of any kind, at times in
        one transaction.
        """
        first = [self._step(self.insert_values(table)) for table in self.tables]
        first += [self._step(Convert(table=table)) for table in self.tables if table.converted]
        others = [self._step(self.statement()) for _ in range(self.chance.randrange(2, 4))]
        if self.chance.random() < 0.2:
            begin, *ends = (
                self._step(Boundary(text=t)) for t in ("START TRANSACTION", "COMMIT", "ROLLBACK")
            )
            others = [begin, *others, self.chance.choice(ends)]
        return (*first, *others)

    def _step(self, statement: Statement) -> Step:
        path = "big" if self.chance.random() < BIG else "small"
        return Step(
            statement=statement,
            engine=self.chance.choice(("auto", "auto", "spark")),
            path=path,
            deletes=self.chance.choice(("filter", "join")),
        )

    def statement(self) -> Statement:
        table = self.chance.choice(self.tables)
        kinds = [
            self.insert_values,
            self.insert_values,
            self.insert_select,
            self.insert_select,
            self.overwrite,
            self.failing,
        ]
        kinds += (
            [] if table.insert_only else [*[self.update] * 4, *[self.delete] * 3, *[self.merge] * 2]
        )
        kinds += [self.multi_insert] if len(self.tables) > 1 else []
        return self.chance.choice(kinds)(table)

    # ---- INSERT

    def insert_values(self, table: Table, *, overwrite: bool = False) -> Insert:
        head = self._head(table, overwrite)
        rows = tuple(
            tuple(self._cell(c) for c in head.given) for _ in range(self.chance.randrange(1, 6))
        )
        return _with_source(head, rows)

    def _cell(self, column: Column) -> str:
        if column.default is not None and self.chance.random() < 0.2:
            return "DEFAULT"
        return (
            self.draw.literal(column.type, nulls=0.02)
            if column.not_null
            else self.draw.cell(column.type)
        )

    def insert_select(self, table: Table, *, overwrite: bool = False) -> Insert:
        head = self._head(table, overwrite)
        rows, source = self._origin()
        condition = self.draw.condition(source.scope(), favoured=source.favoured())
        limited = f" WHERE {condition}" if self.chance.random() < 0.8 else ""
        return _with_source(head, f"{self._select(head, source)} FROM {rows}{limited}")

    def _origin(self) -> tuple[str, Table]:
        """A table, or two of the same columns united: as FROM has it, and a table of its columns."""
        table = self.chance.choice(self.tables)
        like = [other for other in self.tables if other is not table and other.is_like(table)]
        if not like or self.chance.random() < 0.6:
            return table.name, table
        return f"(SELECT * FROM {table.name} UNION ALL SELECT * FROM {like[0].name}) u", table

    def overwrite(self, table: Table) -> Insert:
        return self.chance.choice((self.insert_values, self.insert_select))(table, overwrite=True)

    def multi_insert(self, _: Table) -> MultiInsert:
        source, legs = self.chance.choice(self.tables), []
        for target in self.tables:
            head = self._head(target, overwrite=self.chance.random() < 0.3)
            condition = self.draw.condition(source.scope(), 1, favoured=source.favoured())
            legs.append((_with_source(head, self._select(head, source)), condition))
        return MultiInsert(source=source.name, legs=tuple(legs))

    def _select(self, head: Insert, source: Table) -> str:
        return (
            f"SELECT {', '.join(self.plain.expression(c.type, source.scope()) for c in head.given)}"
        )

    def _head(self, table: Table, overwrite: bool) -> Insert:
        chance = self.chance
        static: dict[str, str] = {}
        if table.keys and chance.random() < 0.4:
            count = chance.randrange(1, len(table.keys) + 1)
            static = {key.name: self.plain.constant(key.type) for key in table.keys[:count]}
        columns = None
        if chance.random() < 0.25:
            columns = tuple(
                c.name
                for c in chance.sample(table.columns, chance.randrange(1, len(table.columns) + 1))
            )
        return Insert(table=table, source="", columns=columns, static=static, overwrite=overwrite)

    # ---- the others

    def update(self, table: Table) -> Statement:
        free = table.free()
        if not free:
            return self.delete(table)
        some = self.chance.sample(free, self.chance.randrange(1, len(free) + 1))
        return Update(
            table=table,
            sets={c.name: self._value(c, table.scope()) for c in some},
            where=self._condition(table),
        )

    def delete(self, table: Table) -> Delete:
        return Delete(table=table, where=self._condition(table))

    def _condition(self, table: Table) -> str | None:
        return (
            None
            if self.chance.random() < 0.1
            else self.draw.condition(table.scope(), favoured=table.favoured())
        )

    def _value(self, column: Column, scope: Sequence[Named]) -> str:
        if column.default is not None and self.chance.random() < 0.15:
            return "DEFAULT"
        return self.plain.expression(column.type, scope)

    def merge(self, table: Table) -> Merge:
        chance, plain = self.chance, self.plain
        rows, origin = self._origin()
        source = f"SELECT * FROM {rows}"
        if chance.random() < 0.5:
            source += f" WHERE {plain.condition(origin.scope())}"
        target, other = table.scope("t."), origin.scope("s.")
        pairs = [
            f"{t.sql} = {s.sql}"
            for t in target
            for s in other
            if t.type == s.type and "map<" not in t.type
        ]
        equal = chance.sample(pairs, min(len(pairs), chance.choice((1, 1, 2))))
        on = " AND ".join(equal) or plain.condition([*target, *other], 1)
        if equal and chance.random() < 0.3:
            on += f" AND {plain.condition([*target, *other], 0, favoured=table.favoured('t.'))}"
        clauses: list[Clause] = []
        for match in chance.sample(
            ("MATCHED", "NOT MATCHED", "NOT MATCHED BY SOURCE"), chance.randrange(1, 4)
        ):
            scope = {"MATCHED": [*target, *other], "NOT MATCHED": other}.get(match, target)
            clauses += self._clauses(match, table, scope)
        return Merge(table=table, source=source, on=f"({on})", clauses=tuple(clauses))

    def _clauses(self, match: str, table: Table, scope: Sequence[Named]) -> list[Clause]:
        """One or two of a kind; only the last may be without a condition."""
        plain, count = self.plain, self.chance.choice((1, 1, 2))
        clauses = []
        for number in range(count):
            bare = number == count - 1 and self.chance.random() < 0.6
            condition = None if bare else f"({plain.condition(scope, 1)})"
            clauses.append(
                Clause(match=match, condition=condition, sets=self._sets(match, table, scope))
            )
        return clauses

    def _sets(self, match: str, table: Table, scope: Sequence[Named]) -> dict[str, str] | None:
        chance = self.chance
        if match == "NOT MATCHED":
            some = chance.sample(table.columns, chance.randrange(1, len(table.columns) + 1))
            return {c.name: self._value(c, scope) for c in (*some, *table.keys)}
        free = table.free()
        if not free or chance.random() < 0.35:
            return None
        return {
            c.name: self._value(c, scope)
            for c in chance.sample(free, chance.randrange(1, len(free) + 1))
        }

    def failing(self, table: Table) -> Failing:
        """By a name nobody knows, or an error at a late row, when others are written."""
        chance = self.chance
        row = ", ".join(self.draw.typed(c.type) for c in table.all_columns)
        late = "FROM range(3) WHERE if(id = 2, raise_error('no') IS NULL, TRUE)"
        texts = [
            f"INSERT INTO {table.name} SELECT {row} {late}",
            f"INSERT OVERWRITE TABLE {table.name} SELECT {row} {late}",
            f"INSERT INTO {table.name} (`nothing`) VALUES (1)",
            f"INSERT INTO {table.name} VALUES ({row}, 1)",
        ]
        if not table.insert_only:
            texts += [
                f"DELETE FROM {table.name} WHERE `nothing` = 1",
                f"MERGE INTO {table.name} t USING (SELECT 1 AS x, 2 AS x) s ON t.`nothing` = s.x WHEN MATCHED THEN DELETE",
            ]
        return Failing(table=table, text=chance.choice(texts))


def _with_source(head: Insert, source: tuple[tuple[str, ...], ...] | str) -> Insert:
    return Insert(
        table=head.table,
        source=source,
        columns=head.columns,
        static=head.static,
        overwrite=head.overwrite,
    )
