"""Random tables, random statements, and the rows each statement leaves: kept in memory, one row
after the other.
"""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

Row = dict[str, Any]
"""Values by column, those of partition columns too. Column ``u`` is another number in every row and
never changes.
"""

VALUES: dict[str, tuple[Any, ...]] = {
    "smallint": (-300, 0, 7, 128),
    "int": (-3, 0, 1, 2, 1 << 30),
    "bigint": (-(1 << 40), 0, 5, 1 << 33),
    "double": (-0.5, 0.0, 1.25, 1e10),
    "decimal(8,2)": (Decimal("-1.50"), Decimal("0.00"), Decimal("12.34")),
    "string": ("", "a", "b", "ab ", "ü", "it's", 'back\\slash "quoted"', "\t"),
    "varchar(4)": ("", "a", "ab", "wxyz"),
    "date": (
        datetime.date(1200, 3, 4),
        datetime.date(1969, 5, 1),
        datetime.date(2024, 2, 29),
        datetime.date(2024, 3, 1),
    ),
    "timestamp": (
        # Arrow, which checks the files, reads none before 1677
        datetime.datetime(1700, 2, 28, 1, 2, 3),
        datetime.datetime(1965, 1, 1, 10, 0, 0, 250000),
        datetime.datetime(2024, 2, 29, 23, 59, 59),
    ),
    "boolean": (True, False),
}
PARTITION_VALUES: dict[str, tuple[Any, ...]] = {
    **{
        name: VALUES[name]
        for name in ("smallint", "int", "bigint", "date", "boolean", "varchar(4)")
    },
    "timestamp": (
        datetime.datetime(1200, 3, 4, 1, 2, 3),
        datetime.datetime(1965, 1, 1, 10, 0, 0),
        datetime.datetime(2024, 2, 29, 23, 59, 59, 120000),
    ),
    "decimal(8,2)": (Decimal("-1.50"), Decimal("3.00")),
    "double": (1.5, 1e10),
    "string": (
        "",
        "\t",
        "'",
        "|",
        *"a b|x/y=z|%2F|ü|it's|q\"|a:b|{1}|[*?]|back\\slash|#|NULL|01|1|.|..|_h".split("|"),
    ),
}
WIDER: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "smallint": ("bigint", int),
    "int": ("bigint", int),
    "decimal(8,2)": ("decimal(12,3)", Decimal),
    "varchar(4)": ("string", str),
    "date": ("string", str),
}
VALUES["decimal(12,3)"] = (Decimal("123456789.125"), Decimal("12.340"))


def literal(value: Any) -> str:
    match value:
        case None:
            return "NULL"
        case str():
            return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
        case datetime.datetime():
            return f"TIMESTAMP '{value}'"
        case datetime.date():
            return f"DATE '{value}'"
        case _:
            return str(value).lower()


@dataclass(frozen=True)
class Column:
    name: str
    type: str

    def draw(self, chance: random.Random, pool: dict[str, tuple[Any, ...]] = VALUES) -> Any:
        return None if chance.random() < 0.2 else chance.choice(pool[self.type])


# ---- conditions


@dataclass(frozen=True)
class Condition:
    """As SQL and as a function of a row: True, False or None (unknown)."""

    sql: str
    holds: Callable[[Row], bool | None]


ALWAYS = Condition("TRUE", lambda _: True)


def _known(test: Callable[[Any, Any], bool], name: str, value: Any) -> Callable[[Row], bool | None]:
    return lambda row: None if row[name] is None or value is None else test(row[name], value)


def _simple(column: Column, chance: random.Random, pool: dict[str, tuple[Any, ...]]) -> Condition:
    name, value = column.name, chance.choice(pool[column.type])
    match chance.randrange(6):
        case 0:
            return Condition(f"{name} IS NULL", lambda row: row[name] is None)
        case 1:
            return Condition(f"{name} IS NOT NULL", lambda row: row[name] is not None)
        case 2:
            return Condition(f"{name} < {literal(value)}", _known(lambda a, b: a < b, name, value))
        case 3:
            some = [value, chance.choice(pool[column.type])]
            return Condition(
                f"{name} IN ({', '.join(map(literal, some))})",
                _known(lambda a, b: a in b, name, some),
            )
        case _:
            return Condition(f"{name} = {literal(value)}", _known(lambda a, b: a == b, name, value))


def _and(one: Condition, other: Condition) -> Condition:
    def holds(row: Row) -> bool | None:
        a, b = one.holds(row), other.holds(row)
        return False if a is False or b is False else None if a is None or b is None else True

    return Condition(f"{one.sql} AND {other.sql}", holds)


def _or(one: Condition, other: Condition) -> Condition:
    def holds(row: Row) -> bool | None:
        a, b = one.holds(row), other.holds(row)
        return True if a is True or b is True else None if a is None or b is None else False

    return Condition(f"({one.sql} OR {other.sql})", holds)


def _not(one: Condition) -> Condition:
    return Condition(
        f"NOT ({one.sql})", lambda row: None if one.holds(row) is None else not one.holds(row)
    )


# ---- the table


@dataclass(frozen=True)
class Step:
    """A statement, the ``u`` of the rows that have a new ROW__ID behind it, and the partitions it
    has emptied first (() for a table).
    """

    sql: str
    new: frozenset[int] = frozenset()
    emptied: frozenset[tuple[Any, ...]] = frozenset()


@dataclass
class Model:
    """A table of random columns and layout. ``statement`` draws one and does to ``rows`` (by ``u``)
    what it should do.
    """

    name: str
    chance: random.Random
    columns: list[Column] = field(default_factory=list)
    keys: list[Column] = field(default_factory=list)
    bucketed_by: list[str] = field(default_factory=list)
    buckets: int = 0
    bucketing_version: int = 2
    converted: bool = False
    insert_only: bool = False
    stored_as: str = "ORC"
    rows: dict[int, Row] = field(default_factory=dict)
    partitions: set[tuple[Any, ...]] = field(default_factory=set)
    next_u: int = 1
    next_name: int = 0

    def __post_init__(self) -> None:
        chance = self.chance
        self.columns = [
            Column("u", "int"),
            *(self._new_column() for _ in range(chance.randrange(1, 5))),
        ]
        if chance.random() < 0.6:
            self.keys = [
                Column(f"p{n}", chance.choice(list(PARTITION_VALUES)))
                for n in range(chance.randrange(1, 3))
            ]
        if chance.random() < 0.5:
            self.bucketed_by = [
                c.name
                for c in chance.sample(
                    self.columns, chance.randrange(1, min(3, len(self.columns) + 1))
                )
            ]
            self.buckets = chance.randrange(1, 5)
            self.bucketing_version = chance.choice([1, 2])
        self.converted = chance.random() < 0.35
        self.insert_only = chance.random() < 0.2
        if self.insert_only:
            self.stored_as = chance.choice(["ORC", "PARQUET"])

    def _new_column(self) -> Column:
        self.next_name += 1
        return Column(
            f"c{self.next_name}",
            self.chance.choice([name for name in VALUES if name != "decimal(12,3)"]),
        )

    @property
    def all_columns(self) -> list[Column]:
        return [*self.columns, *self.keys]

    def create(self) -> str:
        parts = [
            f"CREATE TABLE {self.name} ({', '.join(f'{c.name} {c.type}' for c in self.columns)})"
        ]
        if self.keys:
            parts.append(f"PARTITIONED BY ({', '.join(f'{c.name} {c.type}' for c in self.keys)})")
        if self.bucketed_by:
            parts.append(
                f"CLUSTERED BY ({', '.join(self.bucketed_by)}) INTO {self.buckets} BUCKETS"
            )
        properties = [
            f"'bucketing_version'='{self.bucketing_version}'",
            *([] if self.converted else [self.transactional]),
        ]
        return " ".join(
            [*parts, f"STORED AS {self.stored_as} TBLPROPERTIES ({', '.join(properties)})"]
        )

    @property
    def transactional(self) -> str:
        return "'transactional'='true'" + (
            ", 'transactional_properties'='insert_only'" if self.insert_only else ""
        )

    def condition(self) -> Condition:
        """Of one column or two, of ``u``, or none at all."""
        chance = self.chance
        drawn = [self._one() for _ in range(2)]
        match chance.randrange(8):
            case 0:
                return _and(*drawn)
            case 1:
                return _or(*drawn)
            case 2:
                return _not(drawn[0])
            case 3:
                rest = chance.randrange(3)
                return Condition(f"u % 3 = {rest}", lambda row: row["u"] % 3 == rest)
            case 4 if chance.random() < 0.4:
                return ALWAYS
            case _:
                return drawn[0]

    def _one(self) -> Condition:
        if self.keys and self.chance.random() < 0.4:
            return _simple(self.chance.choice(self.keys), self.chance, PARTITION_VALUES)
        if self.bucketed_by and self.chance.random() < 0.4:
            name = self.chance.choice(self.bucketed_by)
            return _simple(next(c for c in self.columns if c.name == name), self.chance, VALUES)
        return _simple(self.chance.choice(self.columns), self.chance, VALUES)

    def meeting(self, condition: Condition) -> list[Row]:
        return [row for row in self.rows.values() if condition.holds(row)]

    def partition(self, row: Row) -> tuple[Any, ...]:
        return tuple(row[key.name] for key in self.keys)

    # ---- statements

    def statement(self) -> Step:
        """The next one; the rows are already as it should leave them."""
        changes = [self.insert] * 4 + [self.overwrite] * 2 + [self.truncate, self.alter_columns]
        changes += [] if self.insert_only else [self.update] * 4 + [self.delete] * 3
        return self.chance.choice(changes + ([self.alter_partitions] * 2 if self.keys else []))()

    def insert(self) -> Step:
        return self._inserted(overwrite=False)

    def overwrite(self) -> Step:
        return self._inserted(overwrite=True)

    def _inserted(self, *, overwrite: bool) -> Step:
        chance = self.chance
        fixed = self._fixed_keys()
        dynamic = [key for key in self.keys if key.name not in fixed]
        named = list(self.columns)
        clause = ", ".join(
            [
                *(f"{name}={literal(value)}" for name, value in fixed.items()),
                *(key.name for key in dynamic),
            ]
        )
        target = f"TABLE {self.name}" if overwrite else f"INTO {self.name}"
        if self.keys and (fixed or chance.random() < 0.6):
            target += f" PARTITION ({clause})"
            if not overwrite and chance.random() < 0.3:
                named = [
                    self.columns[0],
                    *chance.sample(self.columns[1:], chance.randrange(len(self.columns))),
                ]
                target += f" ({', '.join(c.name for c in named)})"
        whole = not dynamic and tuple(fixed.get(key.name) for key in self.keys)
        absent = overwrite and self.keys and whole is not False and chance.random() < 0.2
        source, rows = self._source(named, dynamic, literals=not absent)
        made = [
            {**dict.fromkeys((c.name for c in self.columns), None), **row, **fixed} for row in rows
        ]
        sql = f"INSERT {'OVERWRITE ' if overwrite else ''}{target}{' IF NOT EXISTS' if absent else ''} {source}"
        if absent and whole in self.partitions:
            return Step(sql)
        for row in made:
            row.update({key.name: None for key in self.keys if row[key.name] == ""})
        there = {whole} if whole is not False else {self.partition(row) for row in made}
        if overwrite:
            self.rows = {u: row for u, row in self.rows.items() if self.partition(row) not in there}
        self.partitions |= there
        self.rows |= {row["u"]: row for row in made}
        return Step(
            sql, frozenset(row["u"] for row in made), frozenset(there) if overwrite else frozenset()
        )

    def _fixed_keys(self) -> Row:
        """The static values of a PARTITION clause: of none, the first or all of the columns."""
        count = self.chance.randrange(len(self.keys) + 1)
        drawn = {key.name: key.draw(self.chance, PARTITION_VALUES) for key in self.keys[:count]}
        return {name: "x" if value == "" else value for name, value in drawn.items()}

    def _source(
        self, named: Sequence[Column], dynamic: Sequence[Column], *, literals: bool
    ) -> tuple[str, list[Row]]:
        """Literal rows, with Spark and without, or the table's own rows changed a little."""
        chance = self.chance
        if literals and (not self.rows or chance.random() < 0.6):
            rows = [self._new_row(named, dynamic) for _ in range(chance.randrange(1, 5))]
            text = ", ".join("(" + ", ".join(map(literal, row.values())) + ")" for row in rows)
            return (
                f"VALUES {text}" if chance.random() < 0.5 else f"SELECT * FROM VALUES {text}",
                rows,
            )
        condition, base = self.condition(), self.next_u
        values = {
            c.name: c.draw(chance, pool)
            for some, pool in ((named, VALUES), (dynamic, PARTITION_VALUES))
            for c in some
        }
        changed = {c.name for c in (*named[1:], *dynamic) if chance.random() < 0.3}
        shown = [
            literal(values[c.name]) if c.name in changed else c.name for c in (*named[1:], *dynamic)
        ]
        rows = [
            {
                "u": row["u"] + base,
                **{
                    c.name: values[c.name] if c.name in changed else row[c.name]
                    for c in (*named[1:], *dynamic)
                },
            }
            for row in self.meeting(condition)
        ]
        self.next_u = 2 * base
        return (
            f"SELECT {', '.join([f'u + {base}', *shown])} FROM {self.name} WHERE {condition.sql}",
            rows,
        )

    def _new_row(self, named: Sequence[Column], dynamic: Sequence[Column]) -> Row:
        self.next_u += 1
        drawn = {c.name: c.draw(self.chance) for c in named} | {
            c.name: c.draw(self.chance, PARTITION_VALUES) for c in dynamic
        }
        return {**drawn, "u": self.next_u - 1}

    def update(self) -> Step:
        free = [c for c in self.columns[1:] if c.name not in self.bucketed_by]
        if not free:
            return self.delete()
        condition, hit = self.condition(), set()
        sets: dict[str, tuple[str, Callable[[Row], Any]]] = {}
        for column in self.chance.sample(free, self.chance.randrange(1, len(free) + 1)):
            sets[column.name] = self._assignment(column)
        for row in self.meeting(condition):
            hit.add(row["u"])
            self.rows[row["u"]] = {**row, **{name: value(row) for name, (_, value) in sets.items()}}
        return Step(
            f"UPDATE {self.name} SET {', '.join(f'{n} = {s}' for n, (s, _) in sets.items())} WHERE {condition.sql}",
            frozenset(hit),
        )

    def _assignment(self, column: Column) -> tuple[str, Callable[[Row], Any]]:
        like = self.chance.choice([c for c in self.columns if c.type == column.type])
        if self.chance.random() < 0.4:
            return like.name, lambda row: row[like.name]
        value = column.draw(self.chance)
        return literal(value), lambda _: value

    def delete(self) -> Step:
        condition = self.condition()
        for row in self.meeting(condition):
            del self.rows[row["u"]]
        return Step(f"DELETE FROM {self.name} WHERE {condition.sql}")

    def truncate(self) -> Step:
        if not self.keys or not self.partitions or self.chance.random() < 0.3:
            self.rows = {}
            return Step(
                f"TRUNCATE TABLE {self.name}",
                emptied=frozenset(self.partitions if self.keys else [()]),
            )
        values = self._some_partition()
        self._empty(values)
        return Step(
            f"TRUNCATE TABLE {self.name} PARTITION ({self._spec(values)})",
            emptied=frozenset([values]),
        )

    def alter_columns(self) -> Step:
        """A new column at the end, another name, or a wider type."""
        alter, place = f"ALTER TABLE {self.name}", self.chance.randrange(1, len(self.columns))
        old = self.columns[place]
        match self.chance.randrange(4):
            case 0 if self.stored_as == "ORC":  # Parquet has its columns by name
                new = Column(self._new_column().name, old.type)
                self.columns[place] = new
                self.bucketed_by = [
                    new.name if name == old.name else name for name in self.bucketed_by
                ]
                for row in self.rows.values():
                    row[new.name] = row.pop(old.name)
                return Step(f"{alter} CHANGE {old.name} {new.name} {old.type}")
            case 1 if old.type in WIDER and old.name not in self.bucketed_by:
                wider, became = WIDER[old.type]
                self.columns[place] = Column(old.name, wider)
                for row in self.rows.values():
                    row[old.name] = None if row[old.name] is None else became(row[old.name])
                return Step(f"{alter} CHANGE {old.name} {old.name} {wider}")
        added = [self._new_column() for _ in range(self.chance.randrange(1, 3))]
        self.columns += added
        for row in self.rows.values():
            row.update(dict.fromkeys((c.name for c in added), None))
        return Step(f"{alter} ADD COLUMNS ({', '.join(f'{c.name} {c.type}' for c in added)})")

    def alter_partitions(self) -> Step:
        """A new one, one less, or another name for one."""
        alter = f"ALTER TABLE {self.name}"
        fresh = tuple(
            self.chance.choice([v for v in PARTITION_VALUES[key.type] if v != ""])
            for key in self.keys
        )
        if not self.partitions or self.chance.random() < 0.3:
            self.partitions |= {fresh}
            return Step(f"{alter} ADD IF NOT EXISTS PARTITION ({self._spec(fresh)})")
        old = self._some_partition()
        if self.chance.random() < 0.4 or fresh in self.partitions:
            self._empty(old)
            self.partitions -= {old}
            return Step(f"{alter} DROP PARTITION ({self._spec(old)})")
        for row in self.rows.values():
            if self.partition(row) == old:
                row.update(zip((key.name for key in self.keys), fresh, strict=True))
        self.partitions = self.partitions - {old} | {fresh}
        return Step(
            f"{alter} PARTITION ({self._spec(old)}) RENAME TO PARTITION ({self._spec(fresh)})"
        )

    def _some_partition(self) -> tuple[Any, ...]:
        return self.chance.choice(sorted(self.partitions, key=repr))

    def _spec(self, values: Iterable[Any]) -> str:
        written = (
            "'__HIVE_DEFAULT_PARTITION__'" if value is None else literal(value) for value in values
        )
        return ", ".join(f"{key.name}={text}" for key, text in zip(self.keys, written, strict=True))

    def _empty(self, values: tuple[Any, ...]) -> None:
        self.rows = {u: row for u, row in self.rows.items() if self.partition(row) != values}
