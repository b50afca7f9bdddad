"""A plan as text for people and as JSON for programs: the same SQL against the same catalog always
gives the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from acidsql.catalog.catalog import Catalog
from acidsql.plan.engines import SparkAtHand
from acidsql.plan.explain.explainer import Explainer
from acidsql.plan.explain.nodes import Node, ReadPartitions
from acidsql.plan.locks import locks_of
from acidsql.plan.operators import Ran
from acidsql.plan.plans import Plan, reads_of
from acidsql.settings import Settings


def explain(
    plan: Plan,
    settings: Settings,
    catalog: Catalog,
    mode: str | None = None,
    spark: SparkAtHand | None = None,
) -> list[str]:
    """The lines EXPLAIN [mode] prints. ``<w>`` stands for the write id, which is allocated when the
    statement runs.

    ``catalog`` is asked for the partitions of the tables that are read.
    """
    partitions = ReadPartitions(catalog, settings)
    match mode:
        case "LOCKS":
            return [
                "LOCK INFORMATION:",
                *(f"{lock} -> {lock.type}" for lock in locks_of(plan, settings)),
            ]
        case "DEPENDENCY":
            return [json.dumps(_dependencies(plan, partitions), separators=(",", ":"))]
        case "FORMATTED":
            return json.dumps(
                _tree(plan, settings, partitions, spark, extended=True).json(),
                indent=2,
                ensure_ascii=False,
            ).split("\n")
        case _:
            return list(
                _tree(plan, settings, partitions, spark, extended=mode == "EXTENDED").lines()
            )


def _dependencies(plan: Plan, partitions: ReadPartitions) -> dict[str, list[dict[str, str]]]:
    """Hive's document: the tables and the partitions read, once each."""
    tables = {read.table.name: read.table for read in reads_of(plan)}
    listed = [
        {"tablename": f"{n.database}@{n.table}", "tabletype": str(tables[n].kind)}
        for n in sorted(tables)
    ]
    names = sorted(
        {
            name
            for read in reads_of(plan)
            if read.table.partition_columns
            for name in partitions.names(read)
        }
    )
    return {"input_tables": listed, "input_partitions": [{"partitionName": name} for name in names]}


def _tree(
    plan: Plan,
    settings: Settings,
    partitions: ReadPartitions,
    spark: SparkAtHand | None,
    *,
    extended: bool,
) -> Node:
    return Explainer(partitions, settings, extended, spark).node(plan)


def explain_ran(plan: Plan, ran: Iterable[Ran], settings: Settings, catalog: Catalog) -> list[str]:
    """The lines EXPLAIN ANALYZE prints: the operators that ran, in their order, each with what is
    known of it.
    """
    explainer = Explainer(ReadPartitions(catalog, settings), settings, extended=False)
    title = explainer.node(plan).text
    return [
        title,
        *(
            f"  {'; '.join(n.text for n in explainer.operator(one.operator))}{_figures(one)}"
            for one in ran
        ),
    ]


def _figures(ran: Ran) -> str:
    """Rows, files, bytes and seconds, as far as they are known."""
    counts = [
        f"{count} {name}"
        for name, count in (("rows", ran.rows), ("files", ran.files), ("bytes", ran.bytes))
        if count is not None
    ]
    return f" ({', '.join([*counts, f'{ran.seconds:.3f} s'])}){', in vain' if ran.in_vain else ''}"
