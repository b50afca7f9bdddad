"""Everything that reaches into Spark's Java process: the only package that may say ``_jvm``,
``_jsc``, ``_jdf`` or ``sparkContext``.

Each use stands behind a plain function, which says what it does on Spark Connect, where there is no
such process: a value with which the caller takes another way, slower and to the same rows, or an
UnsupportedStatementError. There is no other way to the ids of files without ACID columns, past
header lines, to several partitions or a MERGE by Spark's tasks and to Hadoop's file systems: those
refuse. Spark's internal classes that are named here are pinned by tests/spark/test_jvm.py, the
answers without a Java process by tests/spark/test_jvm_connect.py.
"""

from acidsql.spark.jvm.arriving import arrow_schema, collect_arriving
from acidsql.spark.jvm.java import (
    JavaObject,
    Jvm,
    java_causes,
    java_date,
    java_objects,
    jvm,
    longs,
    need_java,
)
from acidsql.spark.jvm.jobs import (
    add_job_tag,
    cancel_jobs,
    end_jobs,
    has_executors,
    map_in_tasks,
    remove_job_tag,
    running_tasks,
)
from acidsql.spark.jvm.object_filters import (
    NumberSet,
    bit,
    bits,
    expression,
    first_in_task,
    held,
    is_member,
    let_go,
    position,
    position_in,
    sum_before,
    with_objects,
)
from acidsql.spark.jvm.plans import (
    estimated_bytes,
    is_literal,
    is_one_aggregate,
    keeps_all_rows,
    limit_each_task,
    mixed_marks,
    reads_the_same,
    row_bytes,
    task_count,
)
from acidsql.spark.jvm.process import check_own_process, launch
from acidsql.spark.jvm.scans import read_files, read_listed_orc, search_argument_options
from acidsql.spark.jvm.sessions import (
    clone_session,
    frame_of,
    hadoop_configuration,
    import_view,
    java_property,
    make_view,
    release_clone,
    root_of_paths,
    running_session,
    running_session_if_any,
    same_time_zone,
    take_over,
    time_zone_of_jvm,
)

__all__ = [
    "JavaObject",
    "Jvm",
    "NumberSet",
    "add_job_tag",
    "arrow_schema",
    "bit",
    "bits",
    "cancel_jobs",
    "check_own_process",
    "clone_session",
    "collect_arriving",
    "end_jobs",
    "estimated_bytes",
    "expression",
    "first_in_task",
    "frame_of",
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
    "java_property",
    "jvm",
    "keeps_all_rows",
    "launch",
    "let_go",
    "limit_each_task",
    "longs",
    "make_view",
    "map_in_tasks",
    "mixed_marks",
    "need_java",
    "position",
    "position_in",
    "read_files",
    "read_listed_orc",
    "reads_the_same",
    "release_clone",
    "remove_job_tag",
    "root_of_paths",
    "row_bytes",
    "running_session",
    "running_session_if_any",
    "running_tasks",
    "same_time_zone",
    "search_argument_options",
    "sum_before",
    "take_over",
    "task_count",
    "time_zone_of_jvm",
    "with_objects",
]
