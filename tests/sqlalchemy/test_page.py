"""The examples of docs/sqlalchemy.md do what the page says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy.dialects import registry

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

registry.register("acidsql", "acidsql.sqlalchemy.dialect", "AcidSqlDialect")

PAGE = Path(__file__).resolve().parents[2] / "docs" / "sqlalchemy.md"
URL = '"acidsql:///sales"'


@pytest.mark.spark
def test_the_page_is_true(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: SparkSession
) -> None:
    """Every Python block runs, one after the other, and its assertions hold. The engine is on the
    Spark of the run.
    """
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"spark": spark}
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 5
    try:
        for block in blocks:
            exec(block.replace(URL, f'{URL}, connect_args={{"spark": spark}}'), names)
    finally:
        names["engine"].dispose()
