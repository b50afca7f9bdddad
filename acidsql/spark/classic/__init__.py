"""Everything that reaches into Spark's Java process: the only package that may say ``_jvm``, ``_jsc``, ``_jdf`` or ``sparkContext``.

Each use stands behind a plain function. What acidsql needs for right answers never depends on them: ``jvm`` gives None on Spark
Connect, and the callers then take the way that needs no Java handle. Spark's internal classes that are named here are pinned by
tests/spark/test_classic.py.
"""

from acidsql.spark.classic.java import JavaObject, Jvm, java_causes, java_date, java_objects, jvm, longs
from acidsql.spark.classic.jobs import has_executors, map_in_tasks
from acidsql.spark.classic.object_filters import (
    NumberSet,
    bit,
    bits,
    expression,
    first_in_task,
    held,
    is_member,
    position,
    position_in,
    sum_before,
    with_objects,
)
from acidsql.spark.classic.plans import (
    estimated_bytes,
    is_literal,
    is_one_aggregate,
    keeps_all_rows,
    limit_each_task,
    reads_the_same,
    row_bytes,
    task_count,
)
from acidsql.spark.classic.scans import read_files, read_listed_orc, search_argument_options
from acidsql.spark.classic.sessions import (
    clone_session,
    hadoop_configuration,
    import_view,
    launch,
    running_session,
    running_tasks,
    same_time_zone,
    time_zone_of_jvm,
)

__all__ = [
    "JavaObject",
    "Jvm",
    "NumberSet",
    "bit",
    "bits",
    "clone_session",
    "estimated_bytes",
    "expression",
    "first_in_task",
    "hadoop_configuration",
    "has_executors",
    "held",
    "import_view",
    "is_literal",
    "is_member",
    "is_one_aggregate",
    "java_causes",
    "java_date",
    "java_objects",
    "jvm",
    "keeps_all_rows",
    "launch",
    "limit_each_task",
    "longs",
    "map_in_tasks",
    "position",
    "position_in",
    "read_files",
    "read_listed_orc",
    "reads_the_same",
    "row_bytes",
    "running_session",
    "running_tasks",
    "same_time_zone",
    "search_argument_options",
    "sum_before",
    "task_count",
    "time_zone_of_jvm",
    "with_objects",
]
