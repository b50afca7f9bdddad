"""The steps of a MERGE: its queries are put to Spark under the statement's snapshot."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

from acidsql.plan.operators import Scan
from acidsql.plan.plans import MergePlan
from acidsql.planner.bind.bound import BoundQuery
from acidsql.planner.bind.local.query_trees import Semantics
from acidsql.run.resources import Resources
from acidsql.run.spark.merge_queries import MergeQueries
from acidsql.run.spark.queries import Queries
from acidsql.run.spark.targets import Work, enforcing, write_target
from acidsql.run.trace import Trace, all_steps
from acidsql.spark.start.translation import translated
from acidsql.storage.key_lookup import KeyLookup
from acidsql.storage.snapshots import Snapshots
from acidsql.storage.write.target import Written

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CARDINALITY_CHECK = "hive.merge.cardinality.check"


class MergeSteps:
    """Carries out MERGE."""

    def __init__(self, resources: Resources, queries: Queries) -> None:
        self._resources = resources
        self._queries = queries

    def merge(self, plan: MergePlan, work: Work, trace: Trace) -> Written:
        """The files of each clause, below hidden names."""
        from acidsql.run.spark import merge
        from acidsql.run.spark.merge_constants import check_constants

        settings, running = self._resources.settings, self._resources.running
        target = write_target(settings, plan, work)
        check = settings.flag(CARDINALITY_CHECK)
        queries = self.queries(plan, work.snapshots, trace)
        spark, files = self._resources.spark, self._resources.files
        meaning = Semantics(
            ansi=settings.flag("acidsql.ansi"),
            zone=running.time_zone,
            now=datetime.datetime.now(datetime.UTC),
            only_spark=running.changed_meaning(),
        )
        with translated(), enforcing(plan.table), running.tagged():
            check_constants(spark, plan.merge, meaning)
            return merge.merge(spark, files, plan, target, queries, trace, check=check)

    def queries(self, plan: MergePlan, snapshots: Snapshots, trace: Trace) -> MergeQueries:
        most = int(self._resources.settings.number("acidsql.read.deletes.max.events"))
        scans = {step.number: step for step in all_steps(plan.steps) if isinstance(step, Scan)}

        def dataframe(query: BoundQuery) -> DataFrame:
            return self._queries.dataframe(query, snapshots, trace, scans)

        return MergeQueries(
            plan,
            dataframe,
            lambda read: self._queries.table_at(read, snapshots),
            KeyLookup(self._resources.known, most),
        )
