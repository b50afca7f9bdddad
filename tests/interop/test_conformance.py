"""Scripts that real Hive ran, run by the real command: the same rows on stdout."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.running import called

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.interop, pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(700)]


SCRIPTS = (
    "basic_dml",
    "row_ids",
    "bucketed",
    "partitioned",
    "types",
    "subqueries",
    "column_lists_defaults",
    "insert_overwrite",
    "multi_insert",
    "conversion",
    "errors",
    "merge_all_clauses",
    "merge_cardinality",
    "merge_scd2",
    "merge_partitioned",
    "compaction_keeps_rows",
)


@pytest.mark.parametrize("name", SCRIPTS)
def test_rows_are_those_of_hive(name: str, shared: Path) -> None:
    """``acidsql -f NAME.sql`` prints line for line what Hive 4 printed."""
    command = Path(sys.executable).with_name("acidsql")
    runner = [
        sys.executable,
        str(shared / "conformance" / "run.py"),
        "--acidsql",
        str(command),
        "--only",
        name,
    ]
    ran = subprocess.run(runner, capture_output=True, text=True, timeout=600, check=False)
    assert ran.returncode == 0, ran.stdout
    assert ran.stdout.splitlines()[-1] == "1 passed, 0 failed"


@pytest.mark.parametrize("path", ["small", "big"])
@pytest.mark.parametrize("name", SCRIPTS)
def test_rows_on_spark_are_those_of_hive(
    name: str,
    path: str,
    shared: Path,
    spark: SparkSession,
    warehouse: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The same where Spark reads all rows, and writes them in either way."""
    script = shared / "conformance" / f"{name}.sql"
    settings = [f"--hiveconf=acidsql.{s}" for s in ("engine=spark", f"write.path={path}")]
    options = [f"--warehouse={warehouse}", "--force", "--outputformat=tsv", *settings]
    ran = called(capsys, *options, "-f", str(script))
    expected = script.with_suffix(".expected").read_text()
    assert ran.out.splitlines() == expected.splitlines(), ran.err
