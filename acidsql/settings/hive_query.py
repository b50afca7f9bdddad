"""Hive's names for inserts, queries and output that scripts for ACID tables set, with Hive 4's
defaults but one.

``hive.default.nulls.last`` is false here, as in Hive 3: NULLs come first, ascending.
"""

from __future__ import annotations

from acidsql.settings.rows import switch, text, whole, words

INSERTS = (
    switch(
        "hive.exec.dynamic.partition",
        True,
        "INSERT may take partition values from its rows.",
        honoured=True,
    ),
    words(
        "hive.exec.dynamic.partition.mode",
        "strict nonstrict",
        "nonstrict",
        "strict, the default of Hive 3: at least one partition value must be given in the PARTITION"
        " clause.",
        honoured=True,
    ),
    whole(
        "hive.exec.max.dynamic.partitions",
        1000,
        "The most partitions one statement may make.",
        honoured=True,
    ),
    whole(
        "hive.exec.max.dynamic.partitions.pernode", 100, "The most partitions one task may make."
    ),
    whole("hive.exec.max.created.files", 100_000, "The most files one job may make.", kind="long"),
    text(
        "hive.exec.default.partition.name",
        "__HIVE_DEFAULT_PARTITION__",
        "The directory of NULL and of the empty string.",
    ),
    switch("hive.error.on.empty.partition", False, "A dynamic partition without rows is an error."),
    words(
        "hive.msck.path.validation",
        "throw skip ignore",
        "throw",
        "What MSCK does about what is no partition: fail, skip it with a line in its answer, or"
        " ignore it.",
        honoured=True,
    ),
    switch(
        "hive.exec.drop.ignorenonexistent",
        True,
        "DROP of a table, view or partition that does not exist does nothing. Off: an error.",
        honoured=True,
    ),
    switch("hive.typecheck.on.insert", True, "Check static partition values against their types."),
    switch("hive.enforce.bucketing", None, "Hive 1: INSERT makes buckets. Hive always does since."),
    switch(
        "hive.enforce.sorting", None, "Hive 1: INSERT sorts within buckets. Hive always does since."
    ),
    switch(
        "hive.optimize.sort.dynamic.partition",
        False,
        "Hive 3: sort rows by partition before they are written.",
    ),
    whole(
        "hive.optimize.sort.dynamic.partition.threshold",
        0,
        "From how many partitions on rows are sorted by partition; 0: as Hive thinks best.",
    ),
    words(
        "hive.default.fileformat",
        "textfile sequencefile rcfile orc parquet",
        "textfile",
        "The format of CREATE TABLE without STORED AS.",
    ),
    words(
        "hive.default.fileformat.managed",
        "none textfile sequencefile rcfile orc parquet",
        "none",
        "The same for managed tables; none: hive.default.fileformat.",
    ),
    switch("hive.create.as.external.legacy", False, "CREATE TABLE makes external tables."),
    switch(
        "hive.strict.managed.tables",
        False,
        "All managed tables must be transactional.",
        "metastore.strict.managed.tables",
    ),
    switch("hive.merge.mapfiles", True, "Merge small files after a job without reducers."),
    switch("hive.merge.mapredfiles", False, "Merge small files after a job with reducers."),
    switch("hive.merge.tezfiles", False, "Merge small files after a Tez job."),
    whole("hive.merge.size.per.task", 256_000_000, "The size of merged files.", kind="long"),
    whole(
        "hive.merge.smallfiles.avgsize",
        16_000_000,
        "Merge where files are smaller than this on average.",
        kind="long",
    ),
    switch(
        "hive.stats.autogather",
        True,
        "Statements that change rows keep numRows right.",
        "metastore.stats.autogather",
        honoured=True,
    ),
    switch("hive.stats.column.autogather", True, "INSERT keeps column statistics."),
    switch("hive.stats.fetch.column.stats", True, "Plan with column statistics."),
    switch(
        "hive.compute.query.using.stats",
        True,
        "Answer `count(*)` from statistics, or the footers of files, where they tell.",
        honoured=True,
    ),
)

QUERIES = (
    switch(
        "hive.default.nulls.last",
        False,
        "Order NULLs last. Hive 4's own default is true, Hive 3 has them first.",
    ),
    text(
        "hive.mapred.mode",
        None,
        "strict: refuse queries that may run long. Hive has hive.strict.checks.* instead.",
    ),
    switch("hive.strict.checks.orderby.no.limit", False, "Refuse ORDER BY without LIMIT."),
    switch(
        "hive.strict.checks.no.partition.filter", False, "Refuse queries that read all partitions."
    ),
    switch(
        "hive.strict.checks.type.safety",
        True,
        "Refuse comparisons of bigint with string or double.",
    ),
    switch("hive.strict.checks.cartesian.product", False, "Refuse cross joins."),
    switch("hive.strict.checks.bucketing", True, "Refuse LOAD DATA into bucketed tables."),
    switch("hive.groupby.position.alias", False, "GROUP BY 1 means the first column."),
    switch("hive.orderby.position.alias", True, "ORDER BY 1 means the first column."),
    switch("hive.groupby.orderby.position.alias", False, "Both of them (Hive 2)."),
    words(
        "hive.support.quoted.identifiers",
        "none column standard",
        "column",
        "What backquotes mean: column: any name; none: a pattern of columns; standard: double"
        " quotes do.",
    ),
    text("hive.local.time.zone", "LOCAL", "The time zone of TIMESTAMP WITH LOCAL TIME ZONE."),
    words(
        "hive.execution.engine",
        "mr tez spark",
        "mr",
        "What runs queries. In acidsql Spark always does.",
    ),
    words("hive.execution.mode", "container llap", "container", "Where Tez runs tasks."),
    switch("hive.exec.parallel", False, "Run independent jobs side by side."),
    whole("hive.exec.parallel.thread.number", 8, "How many jobs."),
    whole(
        "hive.exec.reducers.bytes.per.reducer", 256_000_000, "The input of a reducer.", kind="long"
    ),
    whole("hive.exec.reducers.max", 1009, "The most reducers."),
    words(
        "hive.exec.orc.default.compress",
        "none zlib snappy lz4",
        "zlib",
        "How ORC files of a table without orc.compress are compressed. LZ4 is larger and read"
        " faster.",
        "orc.compress",
        honoured=True,
    ),
    words(
        "hive.exec.orc.split.strategy",
        "hybrid bi etl",
        "hybrid",
        "How ORC files are cut into splits.",
    ),
    switch("hive.exec.schema.evolution", True, "Read old files with the table's new columns."),
    switch("hive.vectorized.execution.enabled", True, "Run queries on batches of rows."),
    switch("hive.vectorized.execution.reduce.enabled", True, "The same in reducers."),
    switch(
        "hive.vectorized.execution.reduce.groupby.enabled",
        True,
        "The same in GROUP BY of reducers.",
    ),
    switch("hive.cbo.enable", True, "Optimize by cost."),
    switch("hive.optimize.ppd", True, "Push filters down to the scan."),
    switch("hive.optimize.index.filter", True, "Use the indexes of ORC files."),
    switch("hive.optimize.bucketmapjoin", False, "Join by buckets."),
    switch("hive.auto.convert.join", True, "Broadcast the small side of a join."),
    switch("hive.auto.convert.join.noconditionaltask", True, "Do so without a second plan."),
    whole(
        "hive.auto.convert.join.noconditionaltask.size",
        10_000_000,
        "Up to this size of the small sides.",
        kind="long",
    ),
    switch("hive.map.aggr", True, "Aggregate before the shuffle."),
    words(
        "hive.fetch.task.conversion",
        "none minimal more",
        "more",
        "Which queries run without a job.",
    ),
    text(
        "hive.input.format",
        "org.apache.hadoop.hive.ql.io.CombineHiveInputFormat",
        "How files are read by MapReduce.",
    ),
    switch("hive.tez.bucket.pruning", True, "Read only the buckets a filter asks for."),
    switch("hive.tez.dynamic.partition.pruning", True, "Read only the partitions a join asks for."),
    switch(
        "hive.tez.auto.reducer.parallelism",
        False,
        "Choose the number of reducers while the query runs.",
    ),
    whole("hive.tez.container.size", -1, "Megabytes of a Tez container; -1: as MapReduce has it."),
    text("hive.tez.java.opts", None, "Java options of Tez tasks."),
    switch("hive.query.results.cache.enabled", True, "Keep results of queries."),
    switch("hive.query.reexecution.enabled", True, "Run a failed query again with another plan."),
    switch("hive.materializedview.rewriting", True, "Answer queries from materialized views."),
    switch("hive.explain.user", True, "A short EXPLAIN for Tez."),
    switch("hive.in.test", False, "Set by Hive's own tests."),
    switch("hive.cli.print.header", False, "Print the column names above the rows.", honoured=True),
    switch("hive.cli.print.current.db", False, "Show the database in the prompt."),
    switch("hive.resultset.use.unique.column.names", True, "Results name columns as table.column."),
    switch(
        "hive.variable.substitute",
        True,
        "The shell replaces `${name}` in statements, and refuses one that is not defined.",
        honoured=True,
    ),
)
