"""What statements read and write, from the plans that were carried out: tables as they were bound,
and which columns each column was made of.

The text of a bound query names its tables by number, so that no name is looked up a second time.
Where a column cannot be followed for certain (a view that only Spark knows) nothing is said of the
columns of that statement; the tables are said all the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

from acidsql.catalog.model import ForeignTable, SparkRelation, Table
from acidsql.errors import Error, Span
from acidsql.expressions.spark_words import Piece, QueryText
from acidsql.lazy import dataclass
from acidsql.plan.plans import (
    CatalogCommand,
    MergePlan,
    MultiInsertPlan,
    Plan,
    ReadPlan,
    WritePlan,
    carried_out,
    legs_of,
)
from acidsql.planner.bind.bound import (
    BoundDelete,
    BoundInsert,
    BoundLoad,
    BoundMerge,
    BoundQuery,
    BoundRead,
    BoundUpdate,
)
from acidsql.planner.bind.bound_catalog import BoundCreateTableAs, BoundReplaceTable
from acidsql.planner.bind.query_tree import parse_query

if TYPE_CHECKING:
    from airflow.providers.openlineage.extractors import OperatorLineage
    from openlineage.client.event_v2 import Dataset
    from openlineage.client.facet_v2 import column_lineage_dataset
    from sqlglot import exp
    from sqlglot.lineage import Node


_ROW_ID_COLUMNS = 3
"""The first columns of the query of an UPDATE."""

_ROW_ID = {"row__id": "struct<writeid:bigint,bucketid:int,rowid:bigint>"}

_MADE_UP = "_col_"
"""How sqlglot calls columns without a name."""

Source = tuple[str, str]
"""A table's name, db.t, and one of its columns."""


@dataclass(slots=True, kw_only=True)
class Lineage:
    """``inputs`` and ``outputs`` by name. ``foreign``: tables of other catalogs that are read.
    ``columns``: for columns of outputs, by table and name,
    what they were made of; those that nobody can tell of are left out.
    """

    inputs: dict[str, Table] = field(default_factory=dict)
    outputs: dict[str, Table] = field(default_factory=dict)
    foreign: dict[ForeignTable, None] = field(default_factory=dict)
    columns: dict[Source, set[Source]] = field(default_factory=dict)


def lineage_of(plans: Iterable[Plan]) -> Lineage:
    """What statements have read and written, all together."""
    lineage = Lineage()
    for plan in plans:
        match carried_out(plan):
            case ReadPlan(query=query):
                _read(lineage, query)
            case WritePlan() | MergePlan() | MultiInsertPlan() as change:
                for leg in legs_of(change):
                    _write(lineage, leg)
            case CatalogCommand(
                action=BoundReplaceTable(new=BoundCreateTableAs() as action)
                | (BoundCreateTableAs() as action)
            ):
                _create(lineage, action)
    return lineage


def _read(lineage: Lineage, query: BoundQuery | BoundMerge) -> None:
    lineage.inputs.update((str(read.table.name), read.table) for read in query.reads)
    for relation in query.views:
        if isinstance(relation, ForeignTable):
            lineage.foreign[replace(relation, version="")] = None


def _create(lineage: Lineage, action: BoundCreateTableAs) -> None:
    """The columns of a new table are called as those of its query; one whose name is Spark's to
    choose is left out.
    """
    query, name = action.query, str(action.table.name)
    _read(lineage, query)
    lineage.outputs[name] = action.table
    for column, sources in _traced(query.text, query.reads, query.views, None).items():
        lineage.columns[name, column] = sources


def _write(lineage: Lineage, leg: WritePlan | MergePlan) -> None:
    lineage.outputs[str(leg.table.name)] = leg.table
    if isinstance(leg, MergePlan):
        _read(lineage, leg.merge)
        columns = _merge_columns(leg.merge)
    else:
        query = leg.query
        if query is not None:
            _read(lineage, query)
        columns = _columns(leg.action)
    for name, sources in columns.items():
        lineage.columns.setdefault((str(leg.table.name), name), set()).update(sources)


def _columns(action: BoundInsert | BoundLoad | BoundUpdate | BoundDelete) -> dict[str, set[Source]]:
    """What each column that a statement writes is made of."""
    match action:
        case BoundInsert(source=BoundQuery() as query, columns=columns):
            wanted = {position: column.name for position, column in enumerate(columns)}
            return _traced(query.text, query.reads, query.views, wanted)
        case BoundUpdate(query=query, changed=changed, table=table):
            names = [column.name for column in table.columns]
            wanted = {_ROW_ID_COLUMNS + names.index(column.name): column.name for column in changed}
            return _traced(query.text, query.reads, query.views, wanted)
    return {}


def _merge_columns(merge: BoundMerge) -> dict[str, set[Source]]:
    """What the columns are made of that the clauses of a MERGE set: each is a query over the target
    and the source.
    """
    all_sources: dict[str, set[Source]] = {}
    names = [column.name for column in merge.table.columns + merge.table.partition_columns]
    for clause in merge.clauses:
        changed = {column.name for column in clause.changed}
        values = [
            (name, value)
            for name, value in zip(names, clause.values, strict=False)
            if name in changed
        ]
        pieces: list[Piece] = ["SELECT "]
        for number, (_, value) in enumerate(values):
            pieces += [", "] * (number > 0) + list(value)
        text = QueryText(merge.text_source, (*pieces, " FROM ", *_target(merge), *merge.source))
        wanted = {position: name for position, (name, _) in enumerate(values)}
        for name, sources in _traced(text, merge.reads, merge.views, wanted).items():
            all_sources.setdefault(name, set()).update(sources)
    return all_sources


def _target(merge: BoundMerge) -> Iterator[Piece]:
    from acidsql.expressions.spark_words import Slot, identifier

    yield Slot(0)
    yield f" AS {identifier(merge.alias)} CROSS JOIN "


def _traced(
    text: QueryText,
    reads: Sequence[BoundRead],
    views: Sequence[SparkRelation],
    wanted: Mapping[int, str] | None,
) -> dict[str, set[Source]]:
    """What the columns of a query are made of; ``wanted``: names for their places, None: those of
    the query itself. {} where that is not certain.
    """
    from sqlglot.errors import SqlglotError
    from sqlglot.lineage import lineage
    from sqlglot.optimizer.scope import build_scope

    if views or (wanted is not None and not wanted):
        return {}
    tables = {f"acidsql_read_{number}": read.table for number, read in enumerate(reads)}
    try:
        tree = _qualified(text.render(list(tables)), tables)
        names = _own_names(tree) if wanted is None else wanted
        if not names or len(tree.selects) <= max(names):
            return {}
        _call_by_place(tree)
        scope = build_scope(tree)
        return {
            name: _leaves(lineage(f"c{position}", tree, {}, scope=scope, dialect="spark"), tables)
            for position, name in names.items()
        }
    except (SqlglotError, Error, KeyError, ValueError):
        return {}


def _own_names(tree: exp.Query) -> dict[int, str]:
    """The names of a query's columns by their places, but for those that sqlglot made up."""
    names = [item.alias_or_name.lower() for item in tree.selects]
    return {
        position: name
        for position, name in enumerate(names)
        if name and not name.startswith(_MADE_UP) and names.count(name) == 1
    }


def _qualified(sql: str, tables: Mapping[str, Table]) -> exp.Query:
    """The tree of a query with every column under its table's name, and stars written out."""
    from sqlglot import exp
    from sqlglot.optimizer.qualify import qualify
    from sqlglot.schema import MappingSchema

    parsed = parse_query(sql, Span(0, len(sql)))
    columns: dict[str, dict[str, str]] = {
        name: {c.name: str(c.type) for c in (*table.columns, *table.partition_columns)}
        for name, table in tables.items()
    }
    # a star has no ROW__ID
    schema = MappingSchema(
        {name: {**typed, **_ROW_ID} for name, typed in columns.items()},
        visible=dict(columns),
        dialect="spark",
    )
    tree = qualify(parsed, schema=schema, dialect="spark", expand_stars=True)
    if not isinstance(tree, exp.Query):
        raise ValueError(sql)
    return tree


def _call_by_place(tree: exp.Query) -> None:
    """Calls the columns of a query c0, c1, .."""
    from sqlglot import exp

    leftmost = tree
    while isinstance(leftmost, exp.SetOperation):
        leftmost.set("order", None)
        leftmost = leftmost.left
    leftmost.set("order", None)  # it may ask for columns by the names that they had
    for position, item in enumerate(list(leftmost.selects)):
        item.replace(exp.alias_(item.unalias(), f"c{position}", copy=False))


def _leaves(root: Node, tables: Mapping[str, Table]) -> set[Source]:
    """The columns of tables at the ends of a column's way. KeyError for any other end."""
    from sqlglot import exp

    leaves: set[Source] = set()
    for node in root.walk():
        if node.downstream or not isinstance(node.expression, exp.Table):
            continue
        column = node.name.rpartition(".")[2].strip('`"')
        leaves.add((str(tables[node.expression.name].name), column))
    return leaves


# ---- OpenLineage
#
# Lineage in OpenLineage's words, where its provider is installed.


def namespace_of(warehouse: str) -> str:
    """The namespace of a warehouse's tables: its URL, ``file:///srv/warehouse`` for a directory."""
    return warehouse if "://" in warehouse else f"file://{warehouse}"


def operator_lineage(lineage: Lineage, namespace: str) -> OperatorLineage:
    """Inputs and outputs with their columns' types, outputs with what their columns are made of. A
    table of another catalog has the catalog as its namespace.
    """
    from airflow.providers.openlineage.extractors import OperatorLineage
    from openlineage.client.event_v2 import Dataset

    inputs = [_dataset(name, table, namespace) for name, table in lineage.inputs.items()]
    inputs += [
        Dataset(namespace=f"spark-catalog://{table.parts[0]}", name=".".join(table.parts[1:]))
        for table in lineage.foreign
    ]
    outputs = []
    for name, table in lineage.outputs.items():
        dataset = _dataset(name, table, namespace)
        facet = _open_columns(name, lineage, namespace)
        if facet is not None:
            dataset.facets = {**(dataset.facets or {}), "columnLineage": facet}
        outputs.append(dataset)
    return OperatorLineage(inputs=inputs, outputs=outputs)


def _dataset(name: str, table: Table, namespace: str) -> Dataset:
    from openlineage.client.event_v2 import Dataset
    from openlineage.client.facet_v2 import schema_dataset

    fields = [
        schema_dataset.SchemaDatasetFacetFields(name=column.name, type=str(column.type))
        for column in (*table.columns, *table.partition_columns)
    ]
    facets = {"schema": schema_dataset.SchemaDatasetFacet(fields=fields)} if fields else {}
    return Dataset(namespace=namespace, name=name, facets=facets)


def _open_columns(
    output: str, lineage: Lineage, namespace: str
) -> column_lineage_dataset.ColumnLineageDatasetFacet | None:
    from openlineage.client.facet_v2 import column_lineage_dataset

    def field(source: Source) -> column_lineage_dataset.InputField:
        return column_lineage_dataset.InputField(
            namespace=namespace, name=source[0], field=source[1]
        )

    fields = {
        column: column_lineage_dataset.Fields(inputFields=[field(one) for one in sorted(sources)])
        for (table, column), sources in lineage.columns.items()
        if table == output
    }
    return column_lineage_dataset.ColumnLineageDatasetFacet(fields=fields) if fields else None
