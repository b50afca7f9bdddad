"""Random relations of equal columns and other rows, and random statements that read several of them:
as text for acidsql, and for SQLite, which says what comes of it.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

NAMES = ("a", "b", "c")
"""What relations are called in statements, in braces: each engine has a text of its own for them."""
ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
INSERT_ONLY = (
    "STORED AS ORC TBLPROPERTIES ('transactional'='true', 'transactional_properties'='insert_only')"
)
LAYOUTS = {
    "full": ACID,
    "dead": ACID,
    "originals": ACID,
    "bucketed": f"CLUSTERED BY (k) INTO 2 BUCKETS {ACID}",
    "partitions": ACID,
    "insert_only": INSERT_ONLY,
    "plain": "STORED AS ORC",
    "parquet": "STORED AS PARQUET",
    "text": "STORED AS TEXTFILE",
    "plain_partitions": "STORED AS TEXTFILE",
    "view": ACID,
    "orc_path": "",
    "parquet_path": "",
    "arrow_frame": "",
    "spark_frame": "",
}
"""How relations lie in files. "dead": with deleted rows; "originals": files without ids;
"partitions": all are partitions of one table; "path": files by their paths; "frame": registered.
"""
CHANGED = ("full", "dead", "originals", "bucketed", "partitions")
"""Those that UPDATE, DELETE and MERGE change."""
FILLED = (*CHANGED, "insert_only", "plain", "parquet", "text", "plain_partitions")
"""Those that INSERT adds to."""
Row = tuple[int | None, str | None]


@dataclass(frozen=True, kw_only=True)
class Relation:
    """``name``: of those of NAMES."""

    name: str
    layout: str
    rows: tuple[Row, ...]

    @property
    def is_partition(self) -> bool:
        return self.layout.endswith("partitions")

    @property
    def table(self) -> str:
        return self.layout if self.is_partition else f"{self.layout}_{self.name}"

    def target(self) -> tuple[str, str]:
        """What INSERT names, and what it gives behind the columns of every relation."""
        partition = f" PARTITION (d = '{self.name}')" if self.is_partition else ""
        return f"{self.table}{partition}", ""


@dataclass(frozen=True, kw_only=True)
class Query:
    sql: str


@dataclass(frozen=True, kw_only=True)
class Change:
    """``sql`` for acidsql; ``model``: what SQLite carries out instead."""

    sql: str
    model: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Cache:
    """Spark keeps the rows of a relation as they are now; what is asked of relations later is as if
    it did not.
    """

    name: str


@dataclass(frozen=True, kw_only=True)
class Snapshots:
    """Two DataFrames of a relation, from before and after a change, in one plan."""

    name: str
    change: Change


@dataclass(frozen=True, kw_only=True)
class Anew:
    """The relation's table is dropped, and made again under its name."""

    name: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, kw_only=True)
class Step:
    action: Query | Change | Cache | Snapshots | Anew
    settings: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Script:
    relations: tuple[Relation, ...]
    steps: tuple[Step, ...]


def random_script(seed: int) -> Script:
    """The same script for the same seed."""
    return _Draw(random.Random(seed)).script()


@dataclass
class _Draw:
    chance: random.Random
    relations: tuple[Relation, ...] = ()
    layouts: Mapping[str, str] = field(default_factory=dict)

    def script(self) -> Script:
        same = self.chance.choice(tuple(LAYOUTS))
        for_each = [
            same if self.chance.random() < 0.75 else self.chance.choice(tuple(LAYOUTS))
            for _ in NAMES
        ]
        self.relations = tuple(
            Relation(name=name, layout=layout, rows=self.rows())
            for name, layout in zip(NAMES, for_each, strict=True)
        )
        self.layouts = {relation.name: relation.layout for relation in self.relations}
        count = self.chance.randrange(5, 9)
        steps = tuple(Step(action=self.action(), settings=self.settings()) for _ in range(count))
        return Script(relations=self.relations, steps=steps)

    def rows(self) -> tuple[Row, ...]:
        return tuple(
            (
                None if self.chance.random() < 0.05 else self.chance.randrange(12),
                None if self.chance.random() < 0.05 else self.chance.choice("uvwxyz"),
            )
            for _ in range(self.chance.randrange(1, 7))
        )

    def settings(self) -> dict[str, str]:
        return {
            "acidsql.engine": self.chance.choice(("auto", "spark", "spark")),
            "acidsql.write.path": self.chance.choice(("small", "small", "big")),
            "acidsql.read.deletes": self.chance.choice(("filter", "join")),
            "spark.sql.adaptive.enabled": self.chance.choice(("true", "false")),
        }

    def action(self) -> Query | Change | Cache | Snapshots | Anew:
        drawn = self.chance.random()
        if drawn < 0.1:
            return Cache(name=self.name())
        change = self.change() if drawn < 0.55 else None
        if change is None:
            return Query(sql=self.query())
        if drawn < 0.2:
            return Snapshots(name=self.name(), change=change)
        if drawn < 0.25:
            tables = [r.name for r in self.relations if self.is_dropped_alone(r)]
            return Anew(name=self.chance.choice(tables), rows=self.rows()) if tables else change
        return change

    def is_dropped_alone(self, relation: Relation) -> bool:
        return relation.layout in FILLED and not relation.is_partition

    def name(self) -> str:
        return self.chance.choice(NAMES)

    # ---- queries

    def source(self) -> str:
        """A relation as FROM names it, without the alias that it needs."""
        name = f"{{{self.name()}}}"
        if self.chance.random() < 0.7:
            return name
        return f"(SELECT k, v FROM {name} q WHERE {self.condition('q', 1)})"

    def query(self) -> str:
        one, two, three = (self.source() for _ in range(3))
        match self.chance.randrange(9):
            case 0:
                select = "max(k) AS k, count(*) AS n FROM"
                return f"SELECT 1 AS w, {select} {one} a UNION ALL SELECT 2, {select} {two} b"
            case 1:
                where = self.condition("z", 1)
                return (
                    f"SELECT (SELECT max(k) FROM {one} x), (SELECT count(*) FROM {two} y),"
                    f" (SELECT min(k) FROM {three} z WHERE {where})"
                )
            case 2:
                both = f"SELECT k, v FROM {one} a UNION SELECT k, v FROM {two} b"
                return f"SELECT count(*), max(k), min(v) FROM ({both}) u"
            case 3:
                word = self.chance.choice(("EXCEPT", "INTERSECT", "UNION"))
                return f"SELECT k, v FROM {one} a {word} SELECT k, v FROM {two} b"
            case 4:
                how = self.chance.choice(("INNER", "LEFT", "RIGHT", "FULL OUTER"))
                return f"SELECT a.k, a.v, b.k, b.v FROM {one} a {how} JOIN {two} b ON a.k = b.k"
            case 5:
                groups = [f"(SELECT k, count(*) AS n FROM {s} x GROUP BY k)" for s in (one, two)]
                on = "ON a.k = b.k"
                return f"SELECT a.k, a.n, b.n FROM {groups[0]} a LEFT JOIN {groups[1]} b {on}"
            case 6:
                select = "SELECT max(k) AS m, count(*) AS n FROM"
                ctes = f"WITH x AS ({select} {one} a), y AS ({select} {two} b)"
                return f"{ctes} SELECT x.m, y.m, x.n, y.n FROM x CROSS JOIN y"
            case _:
                return f"SELECT k, v FROM {one} x WHERE {self.condition('x', 2)}"

    def condition(self, alias: str, depth: int) -> str:
        """Of a row of ``alias``."""
        if depth > 0 and self.chance.random() < 0.5:
            word = self.chance.choice(("AND", "AND", "OR"))
            one, other = self.condition(alias, depth - 1), self.condition(alias, depth - 1)
            return f"({one} {word} {other})"
        inner, name = f"q{depth}", self.name()
        if alias == inner:
            inner = f"r{depth}"
        select = f"FROM {{{name}}} {inner}"
        if self.chance.random() < 0.5:
            select += f" WHERE {inner}.k {self.chance.choice('<>')} {self.chance.randrange(12)}"
        match self.chance.randrange(6):
            case 0 | 1:
                return f"{alias}.k IN (SELECT {inner}.k {select})"
            case 2:
                return f"{alias}.k NOT IN (SELECT {inner}.k {select})"
            case 3:
                function = self.chance.choice(("max", "min", "count"))
                return (
                    f"{alias}.k {self.chance.choice('<>=')} (SELECT {function}({inner}.k) {select})"
                )
            case 4:
                return f"{alias}.v IN (SELECT {inner}.v {select})"
            case _:
                return f"{alias}.k {self.chance.choice('<>')} {self.chance.randrange(12)}"

    # ---- changes

    def change(self) -> Change | None:
        """None where no relation is one that can be changed."""
        filled = [r for r in self.relations if r.layout in FILLED]
        if not filled:
            return None
        target = self.chance.choice(filled)
        kinds = [self.insert]
        if target.layout in CHANGED:
            kinds = [self.insert, self.update, self.delete, self.delete, self.merge, self.merge]
        return self.chance.choice(kinds)(target)

    def insert(self, target: Relation) -> Change:
        source = f"SELECT k, v FROM {self.source()} x WHERE {self.condition('x', 1)}"
        if self.chance.random() < 0.3:
            source = f"SELECT k, v FROM {self.source()} x UNION ALL {source}"
        into, _ = target.target()
        return Change(
            sql=f"INSERT INTO {into} {source}", model=(f"INSERT INTO {target.name} {source}",)
        )

    def update(self, target: Relation) -> Change:
        value, (where, model) = self.chance.choice("UVW"), self.wheres(target)
        return Change(
            sql=f"UPDATE {target.table} SET v = '{value}' WHERE {where}",
            model=(f"UPDATE {target.name} SET v = '{value}' WHERE {model}",),
        )

    def delete(self, target: Relation) -> Change:
        where, model = self.wheres(target)
        return Change(
            sql=f"DELETE FROM {target.table} WHERE {where}",
            model=(f"DELETE FROM {target.name} WHERE {model}",),
        )

    def wheres(self, target: Relation) -> tuple[str, str]:
        condition = self.condition("THE_TARGET", 2)
        ours = condition.replace("THE_TARGET", target.table)
        partition = f"{target.table}.d = '{target.name}' AND " if target.is_partition else ""
        return f"{partition}{ours}", condition.replace("THE_TARGET", target.name)

    def merge(self, target: Relation) -> Change:
        """A source whose keys are distinct: one relation, or two of them united."""
        rows = f"SELECT k, v FROM {self.source()} x"
        if self.chance.random() < 0.5:
            rows = f"{rows} UNION ALL SELECT k, v FROM {self.source()} y"
        source = f"SELECT k, max(v) AS v FROM ({rows}) u GROUP BY k"
        name, deletes = target.name, self.chance.random() < 0.4
        inserts, extra = self.chance.random() < 0.7, f", '{name}'" if target.is_partition else ""
        on = f"t.d = '{name}' AND t.k = s.k" if target.is_partition else "t.k = s.k"
        sql = f"MERGE INTO {target.table} t USING ({source}) s ON {on} WHEN MATCHED THEN"
        sql += " DELETE" if deletes else " UPDATE SET v = s.v"
        if inserts:
            sql += f" WHEN NOT MATCHED THEN INSERT VALUES (s.k, s.v{extra})"
        unmatched = f"NOT EXISTS (SELECT 1 FROM {name} WHERE {name}.k = src.k)"
        matched = f"{name}.k IN (SELECT k FROM src)"
        model = [
            f"CREATE TABLE src AS {source}",
            f"CREATE TABLE fresh AS SELECT k, v FROM src WHERE {unmatched}",
            f"DELETE FROM {name} WHERE {matched}"
            if deletes
            else f"UPDATE {name} SET v = (SELECT src.v FROM src WHERE src.k = {name}.k) WHERE {matched}",
            *([f"INSERT INTO {name} SELECT k, v FROM fresh"] if inserts else []),
            "DROP TABLE src",
            "DROP TABLE fresh",
        ]
        return Change(sql=sql, model=tuple(model))
