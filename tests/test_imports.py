"""A statement's process imports what the statement needs, and none of what is known to be heavy."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.bench.imports import CREATE, STATEMENTS, command, imported, own

pytestmark = pytest.mark.processes
HEAVY = (
    "pandas", "pyspark", "py4j", "lark", "hypothesis", "psycopg", "sqlalchemy", "IPython", "prompt_toolkit",
)  # fmt: skip
ROOMS = (
    "acidsql.plan.explain", "acidsql.dry_run", "acidsql.parser.parse_table", "acidsql.planner.bind.ddl", "acidsql.ddl.commands",
    "acidsql.planner.bind.merging", "acidsql.planner.bind.transactions", "acidsql.run.driver.merges", "acidsql.run.spark.merge", "acidsql.run.spark.merge_job",
)  # fmt: skip
CATALOG = ("acidsql.planner.bind.ddl", "acidsql.ddl.commands")
ENTERED = {
    "MERGE": ("acidsql.planner.bind.merging", "acidsql.run.driver.merges"),
    "CREATE TABLE": CATALOG, "SHOW TABLES": CATALOG,
}  # fmt: skip
"""What a statement does enter."""
QUERIES = frozenset({"MERGE", "point SELECT", "count(*)", "GROUP BY", "DISTINCT"})
"""What sqlglot reads; of the others the parser's own table and words are enough."""
MOST_MODULES = 360
"""Of acidsql's own: what one statement imports beyond them is a room too many."""


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("imports") / "w"
    subprocess.run(command(str(folder), CREATE), check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("statement", STATEMENTS)
def test_no_heavy_module_is_imported(statement: str, warehouse: Path) -> None:
    """No statement that needs no Spark brings in pandas, pyspark, lark, SQLAlchemy, or a room it never enters."""
    modules = imported(command(str(warehouse), STATEMENTS[statement]))
    assert "acidsql.session.spine" in modules
    assert own(modules) < MOST_MODULES
    assert ("sqlglot" in modules) == (statement in QUERIES)
    rooms = tuple(room for room in ROOMS if room not in ENTERED.get(statement, ()))
    assert [
        name for name in modules if name.partition(".")[0] in HEAVY or name.startswith(rooms)
    ] == []
