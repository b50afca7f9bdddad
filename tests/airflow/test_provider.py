"""Every process of Airflow reads the provider: what that costs. Needs no Airflow."""

from __future__ import annotations

import json
import subprocess
import sys

from acidsql.airflow.provider import get_provider_info


def test_reading_the_provider_imports_nothing() -> None:
    """Neither Spark nor a parser, a database or Airflow itself."""
    code = "import json, sys; from acidsql.airflow.provider import get_provider_info; get_provider_info(); print(json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    modules = set(json.loads(done.stdout))
    assert (
        not {"pyspark", "sqlglot", "lark", "sqlalchemy", "pandas", "pyarrow", "airflow"} & modules
    )


def test_secrets_are_hidden_in_the_form() -> None:
    """The metastore's URL may hold a password."""
    (connection,) = get_provider_info()["connection-types"]
    assert connection["conn-fields"]["metastore"]["schema"]["format"] == "password"
    assert set(connection["conn-fields"]) == {
        "warehouse",
        "metastore",
        "master",
        "conf",
        "settings",
    }
