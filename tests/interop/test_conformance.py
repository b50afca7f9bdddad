"""Scripts that real Hive ran, run by the real command: the same rows on stdout."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.interop, pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(700)]


@pytest.mark.parametrize(
    "name",
    [
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
    ],
)
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
