"""Random transactions over several tables, and the rows each must leave: kept in memory beside what
others commit meanwhile.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.session.rows.storage_model import PARTITION_VALUES, Column, Model, Row, literal

Root = tuple[str, tuple[Any, ...]]
"""A table and a partition of it, () for a table without: what an overwriting hides."""
RowOf = tuple[str, int]
"""A table and the ``u`` of a row: what two changes conflict by."""
Rows = dict[int, Row]


@dataclass(frozen=True)
class Change:
    """A statement on ``name``, and what it has done there: see storage_model.Step."""

    name: str
    new: frozenset[int] = frozenset()
    emptied: frozenset[tuple[Any, ...]] = frozenset()


@dataclass(frozen=True)
class Statement:
    """``changes``: none for one that must fail."""

    sql: str
    changes: tuple[Change, ...] = ()
    fails: bool = False


@dataclass
class Writes:
    """What a transaction has done, as far as others could be in its way."""

    inserted: set[Root] = field(default_factory=set)
    changed: set[Root] = field(default_factory=set)
    emptied: set[Root] = field(default_factory=set)
    rows: set[RowOf] = field(default_factory=set)

    @property
    def roots(self) -> set[Root]:
        return self.inserted | self.changed | self.emptied

    def conflict_with(self, others: Writes) -> bool:
        """Two changes of one row, an overwriting of a root where anything was done; see
        txn.overlaps.
        """
        return bool(
            self.rows & others.rows or self.emptied & others.roots or self.roots & others.emptied
        )


class TransactionModel:
    """Several tables. ``models``: as the open transaction sees them; ``committed``: as all others
    do.
    """

    def __init__(self, chance: random.Random, models: Sequence[Model]) -> None:
        self.chance = chance
        self.models = {model.name: model for model in models}
        self.committed: dict[str, Rows] = {}
        self.partitions: dict[str, set[tuple[Any, ...]]] = {}
        self.open = False
        for name, model in self.models.items():
            self.committed[name], self.partitions[name] = dict(model.rows), set(model.partitions)
        self._forget()

    def _forget(self) -> None:
        """The state behind the end of a transaction."""
        self.open = False
        self.mine, self.theirs = Writes(), Writes()
        self.born: dict[str, set[int]] = defaultdict(set)
        self.base = {name: dict(rows) for name, rows in self.committed.items()}
        for name, model in self.models.items():
            model.rows, model.partitions = dict(self.committed[name]), set(self.partitions[name])

    # ---- the open transaction

    def statement(self) -> Statement:
        """The next one of the transaction; its rows are already as it should leave them."""
        self.open = True
        kinds: list[Callable[[Model], Statement]] = (
            [self.single] * 7 + [self.merge] * 3 + [self.copy] * 2 + [self.several, self.failing]
        )
        before = {name: dict(model.rows) for name, model in self.models.items()}
        made = self.chance.choice(kinds)(self._some_model())
        for change in made.changes:
            self._note(change, before[change.name])
        return made

    def _some_model(self) -> Model:
        return self.chance.choice(list(self.models.values()))

    def _note(self, change: Change, before: Rows) -> None:
        model, born, name = self.models[change.name], self.born[change.name], change.name
        self.mine.emptied |= {(name, root) for root in change.emptied}
        gone = {u for u in before if u not in model.rows or u in change.new}
        self.mine.changed |= {(name, model.partition(before[u])) for u in gone - born}
        self.mine.rows |= {(name, u) for u in gone - born}
        self.mine.inserted |= {(name, model.partition(model.rows[u])) for u in change.new}
        born |= change.new

    def rollback(self) -> None:
        self._forget()

    def commit(self) -> bool:
        """Whether it can: else nothing of it is seen, but the partitions it would have made stay,
        empty, as in Hive.
        """
        possible = not self.mine.conflict_with(self.theirs)
        for name, model in self.models.items():
            self.partitions[name] |= model.partitions
            if possible:
                base, rows = self.base[name], self.committed[name]
                for u in base.keys() - model.rows.keys():
                    rows.pop(u, None)
                rows |= {u: row for u, row in model.rows.items() if base.get(u) is not row}
        self._forget()
        return possible

    # ---- somebody else

    def foreign(self) -> Statement:
        """A statement of another session, committed at once. The open transaction sees none of it
        but new partitions.
        """
        model = self._some_model()
        name, rows = model.name, self.committed[model.name]
        if not rows or model.insert_only or self.chance.random() < 0.6:
            row = self._new_row(model)
            root, change, sql = (
                model.partition(row),
                "inserted",
                f"INSERT INTO {name} VALUES ({_values(row.values())})",
            )
            after = {row["u"]: row}
            self.partitions[name].add(root)
            model.partitions.add(root)
        else:
            u = self.chance.choice(sorted(rows))
            root, change = model.partition(rows[u]), "changed"
            self.theirs.rows.add((name, u))
            free = _free(model)
            if free and self.chance.random() < 0.5:
                column = self.chance.choice(free)
                value = column.draw(self.chance)
                sql, after = (
                    f"UPDATE {name} SET {column.name} = {literal(value)} WHERE u = {u}",
                    {u: {**rows[u], column.name: value}},
                )
            else:
                sql, after = f"DELETE FROM {name} WHERE u = {u}", {}
                del rows[u]
        rows |= after
        if self.open:
            getattr(self.theirs, change).add((name, root))
        else:
            self._forget()
        return Statement(sql, (Change(name, frozenset(after)),))

    # ---- statements

    def single(self, model: Model) -> Statement:
        """INSERT, UPDATE, DELETE, INSERT OVERWRITE or TRUNCATE."""
        changes = [] if model.insert_only else [model.update] * 4 + [model.delete] * 3
        step = self.chance.choice(
            [model.insert] * 3 + [model.overwrite] * 2 + [model.truncate] + changes
        )()
        return Statement(step.sql, (Change(model.name, step.new, step.emptied),))

    def merge(self, model: Model) -> Statement:
        """Literal source rows, some of which match. (INSERT for a table that is insert-only.)"""
        chance, name = self.chance, model.name
        if model.insert_only:
            return self.single(model)
        known = chance.sample(sorted(model.rows), min(len(model.rows), chance.randrange(4)))
        source = [{**self._new_row(model), "u": u} for u in known]
        source += [self._new_row(model) for _ in range(chance.randrange(0 if source else 1, 3))]
        rows = ", ".join(f"({_values(row.values())})" for row in source)
        names = ", ".join(f"s_{c.name}" for c in model.all_columns)
        sql = f"MERGE INTO {name} USING (SELECT * FROM VALUES {rows} AS v({names})) s ON {name}.u = s.s_u"
        clauses, after, new = [], dict(model.rows), set()
        doomed = {u for u in known if u % 2} if chance.random() < 0.5 else set()
        if doomed:
            clauses.append("WHEN MATCHED AND s_u % 2 = 1 THEN DELETE")
            after = {u: row for u, row in after.items() if u not in doomed}
        free = _free(model)
        if free and chance.random() < 0.7:
            picked = chance.sample(free, chance.randrange(1, len(free) + 1))
            clauses.append(
                f"WHEN MATCHED THEN UPDATE SET {', '.join(f'{c.name} = s_{c.name}' for c in picked)}"
            )
            for row in source:
                if (u := row["u"]) in after:
                    after[u] = {**after[u], **{c.name: row[c.name] for c in picked}}
                    new.add(u)
        if not clauses or chance.random() < 0.7:
            clauses.append(f"WHEN NOT MATCHED THEN INSERT VALUES ({names})")
            fresh = {row["u"]: _stored(model, row) for row in source if row["u"] not in known}
            model.partitions |= {model.partition(row) for row in fresh.values()}
            after |= fresh
            new |= set(fresh)
        if chance.random() < 0.25:
            condition = model.condition()
            clauses.append(f"WHEN NOT MATCHED BY SOURCE AND {condition.sql} THEN DELETE")
            lost = {row["u"] for row in model.meeting(condition)} - set(known)
            after = {u: row for u, row in after.items() if u not in lost}
        model.rows = after
        return Statement(f"{sql} {' '.join(clauses)}", (Change(name, frozenset(new)),))

    def copy(self, model: Model) -> Statement:
        """INSERT .. SELECT from another table, or the same: it reads what the transaction has
        written there.
        """
        source = self._some_model()
        condition, first, row = (
            source.condition(),
            max(model.next_u, source.next_u),
            self._new_row(model),
        )
        model.next_u = first + source.next_u
        copies = {
            r["u"] + first: _stored(model, {**row, "u": r["u"] + first})
            for r in source.meeting(condition)
        }
        values = _values(value for column, value in row.items() if column != "u")
        model.partitions |= {model.partition(r) for r in copies.values()}
        model.rows = {**model.rows, **copies}
        sql = f"INSERT INTO {model.name} SELECT u + {first}, {values} FROM {source.name} WHERE {condition.sql}"
        return Statement(sql, (Change(model.name, frozenset(copies)),))

    def several(self, model: Model) -> Statement:
        """A row for each of two tables, one of which may be overwritten."""
        other = self.chance.choice([m for m in self.models.values() if m is not model])
        legs, changes = [], []
        for target, overwrite in ((model, self.chance.random() < 0.3), (other, False)):
            row = self._new_row(target)
            stored = _stored(target, row)
            root = target.partition(stored)
            legs.append(
                f"INSERT {'OVERWRITE TABLE' if overwrite else 'INTO'} {target.name} SELECT {_values(row.values())}"
            )
            left = {
                u: r for u, r in target.rows.items() if not overwrite or target.partition(r) != root
            }
            target.rows = {**left, row["u"]: stored}
            target.partitions |= {root}
            changes.append(
                Change(
                    target.name,
                    frozenset([row["u"]]),
                    frozenset([root]) if overwrite else frozenset(),
                )
            )
        return Statement(f"FROM (SELECT 1 AS one) x {' '.join(legs)}", tuple(changes))

    def failing(self, model: Model) -> Statement:
        """One that fails before it ends, when some of its rows are written."""
        chance, name = self.chance, model.name
        row = _values(self._new_row(model).values())
        late = "FROM range(3) WHERE if(id = 2, raise_error('no') IS NULL, TRUE)"
        texts = [
            f"INSERT INTO {name} SELECT {row} {late}",
            f"INSERT OVERWRITE TABLE {name} SELECT {row} {late}",
            f"INSERT INTO {name} (nothing) VALUES (1)",
        ]
        other = chance.choice([m for m in self.models.values() if m is not model])
        texts.append(
            f"FROM range(3) INSERT INTO {other.name} SELECT {_values(self._new_row(other).values())} "
            f"INSERT INTO {name} SELECT {row} WHERE if(id = 2, raise_error('no') IS NULL, TRUE)"
        )
        if model.rows and not model.insert_only:
            u = chance.choice(sorted(model.rows))
            fatal = f"if(u = {u}, raise_error('no') IS NULL, TRUE)"
            texts += [
                f"DELETE FROM {name} WHERE {fatal}",
                f"MERGE INTO {name} USING (SELECT {u} AS s FROM range(2)) s ON u = s WHEN MATCHED THEN DELETE",
            ]
        return Statement(chance.choice(texts), fails=True)

    def _new_row(self, model: Model) -> Row:
        """As it is written: an empty text of a partition column is NULL once it is stored."""
        model.next_u += 1
        drawn = {c.name: c.draw(self.chance) for c in model.columns} | {
            c.name: c.draw(self.chance, PARTITION_VALUES) for c in model.keys
        }
        return _stored(model, {**drawn, "u": model.next_u - 1})


def _stored(model: Model, row: Row) -> Row:
    return {**row, **{key.name: None for key in model.keys if row[key.name] == ""}}


def _free(model: Model) -> list[Column]:
    """The columns that may be updated."""
    return [c for c in model.columns[1:] if c.name not in model.bucketed_by]


def _values(values: Iterable[Any]) -> str:
    return ", ".join(map(literal, values))
