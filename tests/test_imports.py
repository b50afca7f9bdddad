"""A statement's process imports what the statement needs, and none of what is known to be heavy."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import acidsql
from tests.bench.imports import CREATE, STATEMENTS, command, imported, own

pytestmark = pytest.mark.processes
HEAVY = (
    "pandas", "pyspark", "py4j", "lark", "hypothesis", "psycopg", "sqlalchemy", "IPython", "prompt_toolkit",
)  # fmt: skip
ROOMS = (
    "acidsql.plan.explain", "acidsql.dry_run", "acidsql.parser.parse_table", "acidsql.planner.bind.ddl", "acidsql.ddl.commands",
    "acidsql.planner.bind.merge", "acidsql.planner.bind.transactions", "acidsql.run.driver.merges", "acidsql.run.spark.merge", "acidsql.run.spark.merge_job",
)  # fmt: skip
CATALOG = ("acidsql.planner.bind.ddl", "acidsql.ddl.commands")
ENTERED = {
    "MERGE": ("acidsql.planner.bind.merge", "acidsql.run.driver.merges"),
    "CREATE TABLE": CATALOG, "SHOW TABLES": CATALOG,
}  # fmt: skip
"""What a statement does enter."""
QUERIES = frozenset({"MERGE", "point SELECT", "count(*)", "GROUP BY", "DISTINCT"})
"""What sqlglot reads; of the others the parser's own table and words are enough."""
MOST_MODULES = 245
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


def test_rooms_that_are_not_entered_are_there() -> None:
    """What no statement is to import has its name still."""
    assert [room for room in ROOMS if find_spec(room) is None] == []


FIRST = """
import os, sys, traceback
import numpy, pyarrow.compute, pyarrow.orc, pyspark.sql, sqlglot  # by each child again they would take minutes

for name in sys.argv[1:]:
    if child := os.fork():
        if os.waitpid(child, 0)[1]:
            print(name)
        continue
    try:
        __import__(name)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)
"""


@pytest.mark.slow
def test_any_module_may_be_the_first_to_be_imported() -> None:
    """Whatever a program imports first, no module is met while it is half there."""
    package = Path(acidsql.__file__).parent
    paths = [path.relative_to(package.parent).with_suffix("") for path in package.rglob("*.py")]
    names = [".".join(path.parts).removesuffix(".__init__") for path in paths]
    left_out = ("acidsql.airflow", "acidsql.testing.example_project")
    asked = [name for name in names if not name.startswith(left_out) and "__main__" not in name]
    assert len(asked) > 400
    ran = subprocess.run(
        [sys.executable, "-c", FIRST, *asked], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "", ran.stderr
