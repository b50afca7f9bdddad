"""From plans to what writers are told: where a statement's files go, the rows of an INSERT in the
target's columns, and the table's rules, which Spark applies to the rows it computes.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from acidsql.acid.ids import NO_STATEMENT, TxnId, WriteId
from acidsql.acid.orc_types import ID_FIELDS
from acidsql.catalog.model import Column, Partition, Table
from acidsql.catalog.partitions import unescape
from acidsql.errors import Warning
from acidsql.expressions.losses import (
    Counter,
    given_name,
    lost_names,
    possible_losses,
)
from acidsql.expressions.query_text import GIVEN, Piece
from acidsql.expressions.spark_words import identifier, store_cast, text_literal
from acidsql.lazy_dataclass import dataclass
from acidsql.plan.plans import MergePlan, WritePlan
from acidsql.planner.bind.bound import BoundInsert, BoundLoad, BoundQuery, BoundUpdate
from acidsql.planner.bind.output_names import columns_by_name, in_other_order, other_order
from acidsql.planner.bind.tables import (
    MARK,
    default_value,
    enforcement,
    rules_of,
    wrong_column_count,
)
from acidsql.settings import Settings
from acidsql.spark.start.clocks import user_clock
from acidsql.spark.start.translation import placed, translated
from acidsql.spark.write.losses import Store, types_of, with_marks
from acidsql.storage.partitions import PartitionIndex, check_nameable
from acidsql.storage.snapshots import Snapshots
from acidsql.storage.write.pending import PendingWrites
from acidsql.storage.write.target import WriteTarget

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


NO_TXN, NO_WRITE = TxnId(0), WriteId(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a statement that writes has of its transaction; a table that is not transactional needs
    no more than ``snapshots``.
    """

    snapshots: Snapshots
    txn_id: TxnId = NO_TXN
    write_id: WriteId = NO_WRITE
    pending: PendingWrites | None = None


def write_target(settings: Settings, plan: WritePlan | MergePlan, work: Work) -> WriteTarget:
    """The target of the plan's first sink; nothing is written under its staging name yet."""
    table, snapshots = plan.table, work.snapshots
    insert = (
        plan.action
        if isinstance(plan, WritePlan) and isinstance(plan.action, BoundInsert | BoundLoad)
        else None
    )
    partition_index = (
        PartitionIndex.of(table, snapshots.partitions(table)) if table.partition_columns else None
    )
    return WriteTarget(
        table=table,
        write_id=work.write_id,
        statement_id=plan.sinks[0].statement_id if plan.sinks else NO_STATEMENT,
        codec=table.properties.get("orc.compress")
        or settings.text("hive.exec.orc.default.compress"),
        max_bytes=int(settings.number("acidsql.write.driver.max.bytes")),
        force_path=settings.text("acidsql.write.path"),
        staging=f".acidsql_{work.txn_id}_{uuid.uuid4().hex[:8]}",
        partition_index=partition_index,
        sure=(
            ()
            if insert is None or partition_index is None
            else _named_partitions(insert, partition_index, snapshots)
        ),
        max_partitions=_max_partitions(settings, insert),
        overwrite=insert is not None and insert.overwrite,
        pending=work.pending,
    )


def _max_partitions(settings: Settings, insert: BoundInsert | BoundLoad | None) -> int | None:
    dynamic = insert is not None and insert.partition is not None and insert.partition.dynamic
    return int(settings.number("hive.exec.max.dynamic.partitions")) if dynamic else None


def _named_partitions(
    action: BoundInsert | BoundLoad, partition_index: PartitionIndex, snapshots: Snapshots
) -> tuple[Partition, ...]:
    """The partitions a statement names, whatever rows there are."""
    if isinstance(action, BoundInsert) and action.truncate:
        return truncated_partitions(action, snapshots)
    values = action.partition.values if action.partition is not None else None
    return () if values is None else (partition_index.find(values),)


def truncated_partitions(action: BoundInsert, snapshots: Snapshots) -> tuple[Partition, ...]:
    """The partitions that a TRUNCATE empties."""
    columns, wanted = [c.name for c in action.table.partition_columns], set(action.truncated)
    return tuple(
        p
        for p in snapshots.partitions(action.table)
        if wanted <= set(zip(columns, p.values, strict=True))
    )


def rows_to_insert(
    df: DataFrame, action: BoundInsert, counters: Sequence[Counter] = ()
) -> tuple[DataFrame, tuple[Counter, ...], tuple[Warning, ...]]:
    """The source's columns, cast to the target's and put in its order; columns that were not named
    are NULL or their DEFAULT. Behind them are the marks of the counters; those with ``counters``
    have some already. The warnings are of what only Spark can tell of the names of its columns.
    """
    lost = lost_names(df.columns)
    given = len(df.columns) - len(lost)
    warnings: tuple[Warning, ...] = ()
    if isinstance(action.source, BoundQuery) and action.source.names is None:
        text = action.source.text.source
        if action.by_name:
            columns = columns_by_name(action.table, action.partition, df.columns, text, action.span)
            action = replace(action, columns=columns)
        elif action.by_position and in_other_order(action.columns, df.columns):
            warnings = (other_order(action.table, action.span).at(text),)
    if given != len(action.columns):
        raise wrong_column_count(action.table, action.columns, given, action.span)
    source_names = {c.name: f"_c{i}" for i, c in enumerate(action.columns)}
    static = dict(action.partition.static) if action.partition is not None else {}
    types = types_of(df)
    losing: list[tuple[int, int, Column]] = []
    casts = []
    for ordinal, column in enumerate((*action.table.columns, *action.table.partition_columns)):
        source_name = source_names.get(column.name)
        if column.name in static:
            pieces: tuple[Piece, ...] = (text_literal(static[column.name]),)
        else:
            pieces = (
                default_value(action.table, column, user_clock(df.sparkSession).zone)
                if source_name is None
                else store_cast((source_name,), column.type)
            )
        casts.append(
            "".join(p for p in pieces if isinstance(p, str)) + f" AS {identifier(column.name)}"
        )
        if source_name is not None and column.name not in static:
            at = int(source_name.removeprefix("_c"))
            if not lost and possible_losses(types[at], column.type):
                losing.append((at, ordinal, column))
    givens = [f"_c{at} AS {GIVEN}{at}" for at, _, _ in losing]
    every_counter = list(counters)
    with translated(lambda error: placed(error, action)):
        stored = df.toDF(*[f"_c{i}" for i in range(given)], *lost)
        stored = stored.selectExpr(*casts, *givens, *lost)
        stores = [
            Store(given=len(casts) + number, stored=ordinal, column=column)
            for number, (_, ordinal, column) in enumerate(losing)
        ]
        every = [c.type for c in (*action.table.columns, *action.table.partition_columns)]
        given_types = [types[at] for at, _, _ in losing]
        marked = with_marks(stored, [*every, *given_types], stores, every_counter)
        return marked, tuple(every_counter), warnings


def rows_to_update(df: DataFrame, action: BoundUpdate) -> tuple[DataFrame, tuple[Counter, ...]]:
    """The rows of an UPDATE's query as they are stored, with the marks of the counters behind
    them.
    """
    names, counters = df.columns, list[Counter]()
    givens = {name: at for at, name in enumerate(names) if name.startswith(GIVEN)}
    first = len(ID_FIELDS) + len(givens)
    stores = [
        Store(given=givens[given], stored=first + ordinal, column=column)
        for ordinal, column in enumerate(action.table.columns)
        if (given := given_name(ordinal)) in givens
    ]
    types = types_of(df) if stores else []
    return with_marks(df, types, stores, counters), tuple(counters)


def enforced(table: Table, rows: DataFrame, *leading: str, exempt: str = "FALSE") -> DataFrame:
    """``rows`` (``leading`` columns, under these names, then the table's and its partitions'),
    which fail where one breaks a rule of it.
    """
    condition = enforcement(table, exempt)
    if condition is None:
        return rows
    names = (c.name for c in (*table.columns, *table.partition_columns))
    return rows.toDF(*leading, *names, *lost_names(rows.columns)).where(condition)


@contextmanager
def enforcing(table: Table) -> Iterator[None]:
    """Turns what ``enforced`` rows raise inside Spark into the rule's own error.

    It does the same for partitions whose directories Spark cannot make, because nothing can be
    called after their values.
    """
    try:
        yield
    except Exception as error:
        text = str(error)
        if (broken := re.search(rf"{MARK}(\d+)", text)) is not None:
            raise rules_of(table)[int(broken[1])].violation() from None
        if (
            directory := re.search(r"Mkdirs failed to create (.*?)(?: \(exists=|\n|$)", text)
        ) is not None:
            for number, value in re.findall(r"/k(\d+)=([^/]*)", directory[1]):
                check_nameable(table, int(number), unescape(value))
        raise


def checked_rows(table: Table, rows: pa.Table) -> pa.Table:
    """Literal rows, of which none has NULL where it may not; CHECK is never asked of them."""
    for rule in rules_of(table):
        if rule.column is not None and rows.column(rule.column).null_count:
            raise rule.violation()
    return rows
