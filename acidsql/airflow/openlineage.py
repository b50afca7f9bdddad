"""Lineage in OpenLineage's words, where its provider is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acidsql.airflow.lineage import Lineage, Source
from acidsql.catalog.model import Table

if TYPE_CHECKING:
    from airflow.providers.openlineage.extractors import OperatorLineage
    from openlineage.client.event_v2 import Dataset
    from openlineage.client.facet_v2 import column_lineage_dataset


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
        facet = _columns(name, lineage, namespace)
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


def _columns(
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
