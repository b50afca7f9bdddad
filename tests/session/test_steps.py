"""What EXPLAIN prints is what runs: the steps that ran are those of the plan, each choice decided
one way.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from acidsql.errors import Error
from acidsql.plan.operators import FirstOf, Operators, Ran
from acidsql.plan.plans import (
    ExplainPlan,
    MergePlan,
    MultiInsertPlan,
    Plan,
    ReadPlan,
    WritePlan,
)
from acidsql.session import Session
from acidsql.testing.script import read_steps

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

GOLDEN = Path(__file__).resolve().parents[2] / "golden"
SCRIPTS = [
    GOLDEN / "write" / name
    for name in ("dml", "merge", "bucketed", "overwrite", "constraints", "types", "plain")
]


RUNS = [
    pytest.param(
        script,
        path,
        id=f"{script.stem}-{path}",
        # the steps of Spark's way are the same few, and it takes longest; what chooses for itself
        # takes the small path here
        marks=[pytest.mark.slow] if path != "auto" and script.stem not in ("dml", "plain") else [],
    )
    for script in SCRIPTS
    for path in ("small", "big", "auto")
]


def went_through(steps: Operators, ran: Sequence[Ran]) -> bool:
    """Whether each step ran to its end, and of each choice one way and no other."""
    done = [one.operator for one in ran if not one.in_vain]
    for step in steps:
        if isinstance(step, FirstOf):
            if sum(went_through(way.operators, ran) for way in step.ways) != 1:
                return False
        elif step not in done:
            return False
    return True


def legs_of(plan: Plan) -> tuple[ReadPlan | WritePlan | MergePlan, ...]:
    match plan:
        case MultiInsertPlan(legs=legs):
            return legs
        case ReadPlan() | WritePlan() | MergePlan():
            return (plan,)
    return ()


@pytest.mark.parametrize(("script", "path"), RUNS)
def test_steps_that_run_are_those_of_the_plan(
    script: Path, path: str, tmp_path: Path, spark: SparkSession
) -> None:
    """Every statement of the goldens."""
    seen = 0
    with Session(tmp_path / "w", spark=spark, settings={"acidsql.write.path": path}) as session:
        for step in read_steps(script.with_suffix(".sql").read_text(encoding="utf-8")):
            for name, value in step.settings:
                session.settings.set(name, value)
            try:
                if not legs_of(session._spine.plan(step.text)[1]):
                    session.sql(step.text)
                    continue
                text = f"EXPLAIN ANALYZE {step.text}"
                _, explained = session._spine.plan(text)
                assert isinstance(explained, ExplainPlan)
                result = session.sql(text)
            except Error:
                if step.error is None:
                    raise
                continue
            ran = result.stats.steps
            if ran:  # INSERT .. IF NOT EXISTS may have nothing to do
                assert all(went_through(leg.operators, ran) for leg in legs_of(explained.plan)), (
                    step.text,
                    ran,
                )
                seen += 1
    assert seen


def test_explain_analyze_shows_the_steps_with_their_figures(
    tmp_path: Path, spark: SparkSession
) -> None:
    """Rows, files, bytes and seconds; the statement has been carried out."""
    with Session(tmp_path / "w", spark=spark) as session:
        session.sql("CREATE TABLE t (id INT) STORED AS ORC TBLPROPERTIES ('transactional'='true')")
        lines = [
            row[0] for row in session.sql("EXPLAIN ANALYZE INSERT INTO t VALUES (1), (2)").rows()
        ]
        assert [line.partition(" (")[0] for line in lines] == [
            "INSERT INTO default.t",
            "  2 literal rows",
            "  write the files on the driver",
            "  publish the files",
            "  commit",
        ]
        assert lines[2].startswith("  write the files on the driver (2 rows, 1 files, ")
        lines = [row[0] for row in session.sql("EXPLAIN ANALYZE SELECT count(*) FROM t").rows()]
        assert lines[1].startswith(
            "  count the rows: by statistics, or by footers and delete events, without Spark ("
        )
        lines = [
            row[0] for row in session.sql("EXPLAIN ANALYZE SELECT * FROM t WHERE id > 1").rows()
        ]
        assert lines[-1].startswith("  make the rows on the driver (1 rows, ")
        session.sql("SET acidsql.engine=spark")
        lines = [
            row[0] for row in session.sql("EXPLAIN ANALYZE SELECT * FROM t WHERE id > 1").rows()
        ]
        assert lines[-1].startswith("  collect the rows (1 rows, ")
