"""What Airflow asks of a provider: its connection type, and the form for it."""

from __future__ import annotations

from typing import Any

_TEXT = {"type": ["string", "null"]}
_SECRET = {"type": ["string", "null"], "format": "password"}
_JSON = {"type": ["object", "null"]}


def _field(label: str, schema: dict[str, Any], description: str) -> dict[str, Any]:
    return {"label": label, "schema": schema, "description": description}


def get_provider_info() -> dict[str, Any]:
    """The provider, as Airflow's ``provider_info.schema.json`` has it."""
    return {
        "package-name": "acidsql",
        "name": "AcidSQL",
        "description": "SQL on Hive ACID tables, with tasks that are never done twice",
        "connection-types": [
            {
                "connection-type": "acidsql",
                "hook-class-name": "acidsql.airflow.hook.AcidSqlHook",
                "hook-name": "AcidSQL",
                "ui-field-behaviour": {
                    "hidden-fields": ["host", "port", "extra"],
                    "relabeling": {
                        "schema": "Database",
                        "login": "User of the metastore's database",
                        "password": "Password of the metastore's database",
                    },
                    "placeholders": {"schema": "default"},
                },
                "conn-fields": {
                    "warehouse": _field(
                        "Warehouse",
                        _TEXT,
                        "A directory, or its URL. The workers' $ACIDSQL_WAREHOUSE if it is empty.",
                    ),
                    "metastore": _field(
                        "Metastore",
                        _SECRET,
                        "postgresql+psycopg://host/database; empty for the file in the warehouse."
                        " Without a warehouse, thrift://host:9083 for Hive's.",
                    ),
                    "master": _field(
                        "Spark master", _TEXT, "local[*], yarn, spark://.. or sc://host:15002."
                    ),
                    "conf": _field(
                        "Spark conf", _JSON, 'Settings of Spark: {"spark.driver.memory": "4g"}.'
                    ),
                    "settings": _field(
                        "Settings", _JSON, 'Settings of acidsql: {"acidsql.retries": "3"}.'
                    ),
                },
            }
        ],
    }
