"""Hive's names for transactions, locks, ACID directories, inserts and queries, with Hive 4's
defaults.

Two defaults are not Hive's, because acidsql always has transactions: ``hive.support.concurrency``
and ``hive.txn.manager``.
"""

from __future__ import annotations

from acidsql.settings.setting import switch, text, time, whole, words

TXN = (
    switch(
        "hive.support.concurrency",
        True,
        "Locks. Off: no statement takes or heeds one; transactions stay. Hive's own default is"
        " false.",
        honoured=True,
    ),
    text(
        "hive.txn.manager",
        "org.apache.hadoop.hive.ql.lockmgr.DbTxnManager",
        "The transaction manager. ACID tables need DbTxnManager, so it is the default here; in Hive"
        " it is DummyTxnManager.",
        honoured=True,
    ),
    time(
        "hive.txn.timeout",
        "300s",
        "A transaction without a heartbeat for so long is aborted: the value a session is opened"
        " with. SET changes how often its own heartbeats are sent, at half of it. Time in which the"
        " machine sleeps, or by which its clock is set, does not count.",
        "metastore.txn.timeout",
        low=0,
        honoured=True,
    ),
    whole(
        "hive.txn.heartbeat.threadpool.size",
        5,
        "Threads that send heartbeats. No effect: each open transaction has a thread of its own.",
    ),
    whole(
        "hive.txn.max.open.batch",
        1000,
        "The most transactions one call may open. No effect: each call opens one.",
        "metastore.txn.max.open.batch",
    ),
    whole(
        "hive.max.open.txns",
        100_000,
        "No transaction is opened while so many are: the value a session is opened with.",
        "metastore.max.open.txns",
        low=1,
        honoured=True,
    ),
    time(
        "hive.count.open.txns.interval",
        "1s",
        "How often open transactions are counted. No effect: they are counted whenever one is"
        " opened.",
        "metastore.count.open.txns.interval",
    ),
    time(
        "metastore.txn.opentxn.timeout",
        "1000ms",
        "The longest time opening a transaction may take.",
        "hive.txn.opentxn.timeout",
        unit="ms",
    ),
    switch(
        "metastore.txn.use.minhistorylevel",
        True,
        "Keep the oldest open transaction of each transaction (MIN_HISTORY_LEVEL).",
        "hive.txn.use.minhistorylevel",
    ),
    switch(
        "metastore.txn.use.minhistorywriteid",
        False,
        "Let the Cleaner wait for readers of the one table only.",
        "hive.txn.use.minhistorywriteid",
    ),
    time(
        "metastore.repl.txn.timeout",
        "11d",
        "hive.txn.timeout of transactions opened by replication.",
        "hive.repl.txn.timeout",
        unit="d",
    ),
    time(
        "metastore.acid.housekeeper.interval",
        "60s",
        "How often the housekeeper of `acidsql compactor` runs. What a killed process has left and"
        " could not be deleted is tried again after so long. Timed-out transactions are aborted by"
        " whoever opens one, writes, or waits for a lock, too.",
        "hive.metastore.acid.housekeeper.interval",
        honoured=True,
    ),
    time(
        "metastore.acid.txn.cleaner.interval",
        "10s",
        "How often ended transactions are forgotten.",
        "hive.metastore.acid.txn.cleaner.interval",
    ),
    time(
        "hive.timedout.txn.reaper.start",
        "100s",
        "Hive 3: when timed-out transactions are first looked for. No effect: whoever opens a"
        " transaction looks for them.",
        "metastore.timedout.txn.reaper.start",
    ),
    time(
        "hive.timedout.txn.reaper.interval",
        "180s",
        "Hive 3: how often timed-out transactions are looked for. No effect, as above.",
        "metastore.timedout.txn.reaper.interval",
    ),
    time(
        "hive.writeset.reaper.interval",
        "60s",
        "Hive 3: how often old write sets are forgotten.",
        "metastore.writeset.reaper.interval",
    ),
    text(
        "hive.txn.retryable.sqlex.regex",
        "",
        "More SQL errors of the metastore's database after which it tries again.",
        "metastore.txn.retryable.sqlex.regex",
    ),
    whole(
        "hive.hmshandler.retry.attempts",
        10,
        "How often the metastore retries a failed call.",
        "metastore.hmshandler.retry.attempts",
    ),
    time(
        "hive.hmshandler.retry.interval",
        "2000ms",
        "The wait between such retries.",
        "metastore.hmshandler.retry.interval",
        unit="ms",
    ),
    whole(
        "hive.txn.retrysnapshot.max.count",
        5,
        "How often a statement starts anew because its snapshot grew old while it waited for"
        " locks. No effect: a snapshot is taken when the locks are held, so none grows old.",
        low=1,
        high=20,
    ),
    switch("hive.txn.readonly.enabled", False, "Open read-only transactions for queries."),
    switch(
        "hive.txn.stats.enabled",
        True,
        "Keep statistics of transactional tables that are right in every snapshot.",
    ),
    whole("hive.txn.operational.properties", 1, "Kind of ACID tables: 1 is split update."),
)

LOCKS = (
    switch(
        "hive.txn.xlock.write",
        True,
        "UPDATE, DELETE and MERGE lock EXCL_WRITE where `acidsql.conflict.granularity` is"
        " `partition`. Off: SHARED_WRITE, and INSERT locks so too.",
        honoured=True,
    ),
    switch(
        "hive.txn.xlock.iow",
        True,
        "INSERT OVERWRITE locks EXCLUSIVE. Off: EXCL_WRITE, and a query that meets an EXCLUSIVE"
        " lock fails at once.",
        honoured=True,
    ),
    switch(
        "hive.txn.xlock.mergeinsert",
        False,
        "The INSERT clause of MERGE locks as its other clauses do.",
        honoured=True,
    ),
    switch(
        "hive.txn.xlock.ctas",
        True,
        "CREATE TABLE AS SELECT fails at once where another statement has locked what it needs.",
        honoured=True,
    ),
    switch(
        "hive.txn.strict.locking.mode",
        True,
        "INSERT into a table that is not transactional locks EXCLUSIVE. Off: SHARED_READ.",
        honoured=True,
    ),
    switch(
        "hive.acid.lockless.reads.enabled",
        False,
        "Queries take no lock on transactional tables, and changes of a table's definition a weaker"
        " one.",
        honoured=True,
    ),
    switch("hive.txn.read.locks", True, "Queries take read locks.", honoured=True),
    switch(
        "hive.txn.nonacid.read.locks",
        True,
        "Queries on tables that are not transactional take read locks.",
        honoured=True,
    ),
    switch(
        "hive.txn.ext.locking.enabled",
        False,
        "External tables that are read or written are locked too.",
        honoured=True,
    ),
    whole(
        "hive.locks.max.partitions",
        -1,
        "Lock the table where a query reads so many partitions; -1: never. No effect: a query"
        " always locks its tables, not their partitions.",
    ),
    whole(
        "hive.lock.numretries",
        100,
        "How many pauses are made for a lock that is held elsewhere; 0: it is not waited for.",
        "metastore.lock.numretries",
        low=0,
        honoured=True,
    ),
    whole(
        "hive.unlock.numretries",
        10,
        "How often a lock that cannot be released is released again. No effect: the locks of a"
        " transaction end in one step with it.",
    ),
    time(
        "hive.lock.sleep.between.retries",
        "60s",
        "The longest of these pauses; the first is 100 ms, each other twice the one before. The"
        " lock is looked for several times a second in each.",
        "metastore.lock.sleep.between.retries",
        low=0,
        honoured=True,
    ),
    text(
        "hive.lock.manager",
        "org.apache.hadoop.hive.ql.lockmgr.zookeeper.ZooKeeperHiveLockManager",
        "The lock manager of DummyTxnManager.",
    ),
    switch(
        "hive.txn.manager.dump.lock.state.on.acquire.timeout",
        False,
        "The error for a lock that cannot be had lists all locks.",
        honoured=True,
    ),
)

ACID = (
    switch(
        "hive.merge.cardinality.check",
        True,
        "MERGE fails where two source rows would change one target row. Off: one of the two changes"
        " is made.",
        honoured=True,
    ),
    switch("hive.split.update", True, "UPDATE is a delete and an insert, written by two sinks."),
    switch(
        "hive.create.as.acid",
        False,
        "CREATE TABLE makes full ACID tables.",
        "metastore.create.as.acid",
    ),
    switch("hive.create.as.insert.only", False, "CREATE TABLE makes insert-only tables."),
    switch(
        "hive.acid.createtable.softdelete",
        False,
        "A new table's directory ends in its transaction id; DROP TABLE leaves the files to the"
        " Cleaner.",
    ),
    switch(
        "hive.acid.truncate.usebase",
        True,
        "TRUNCATE writes an empty base instead of removing files.",
        "metastore.acid.truncate.usebase",
    ),
    switch(
        "hive.acid.droppartition.usebase",
        False,
        "DROP PARTITION writes an empty base instead of removing files.",
    ),
    switch(
        "hive.acid.renamepartition.makecopy",
        False,
        "RENAME PARTITION copies the files and leaves the old ones to the Cleaner.",
    ),
    switch(
        "hive.acid.direct.insert.enabled",
        True,
        "Files are written at their final place, without a move.",
    ),
    switch(
        "hive.txn.write.acid.version.file",
        True,
        "Write _orc_acid_version into delta and base directories.",
    ),
    whole(
        "hive.txn.acid.dir.cache.duration",
        120,
        "Minutes a directory listing is kept; 0: read only, -1: off.",
    ),
    switch(
        "hive.txn.filter.delete.events",
        True,
        "Read only the delete events that can hit a split's rows.",
    ),
    whole(
        "hive.transactional.events.mem",
        10_000_000,
        "Up to this many delete events of a bucket are held in memory.",
    ),
    switch(
        "hive.transactional.table.scan", False, "Set by Hive itself while it reads an ACID table."
    ),
    switch(
        "hive.transactional.concatenate.noblock",
        False,
        "ALTER TABLE .. CONCATENATE on a transactional table does not wait for its compaction.",
        honoured=True,
    ),
    switch(
        "hive.optimize.acid.meta.columns",
        True,
        "Do not read the id columns where nothing needs them.",
    ),
    switch(
        "hive.exec.orc.delta.streaming.optimizations.enabled",
        False,
        "Write deltas without indexes and compression, for many small writes.",
    ),
    switch(
        "hive.extend.bucketid.range", True, "Let bucket numbers overflow into the statement id."
    ),
)


# ---- queries
#
# Hive's names for inserts, queries and output that scripts for ACID tables set, with Hive 4's
# defaults but one.
#
# ``hive.default.nulls.last`` is false here, as in Hive 3: NULLs come first, ascending.


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
