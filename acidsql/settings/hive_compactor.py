"""Hive's names for compaction, with Hive 4's defaults."""

from __future__ import annotations

from acidsql.settings.rows import fraction, switch, text, time, whole

# fmt: off
COMPACTOR = (
    switch("hive.compactor.initiator.on", False, "Run the Initiator in this metastore (Hive 3: and the Cleaner).", "metastore.compactor.initiator.on"),
    switch("metastore.compactor.cleaner.on", False, "Run the Cleaner in this metastore.", "hive.compactor.cleaner.on"),
    whole("hive.compactor.worker.threads", 0, "Workers in this process.", "metastore.compactor.worker.threads"),
    time("hive.compactor.worker.timeout", "86400s", "After so long a worker's compaction is given to another."),
    time("hive.compactor.worker.sleep.time", "10800ms", "How long an idle worker sleeps at first.", unit="ms"),
    time("hive.compactor.worker.max.sleep.time", "320000ms", "How long an idle worker sleeps at most.", unit="ms"),
    time("hive.compactor.check.interval", "300s", "How often the Initiator looks for tables to compact."),
    whole("hive.compactor.request.queue", 1, "Tables the Initiator looks at side by side."),
    whole("hive.compactor.delta.num.threshold", 10, "More delta directories than this: minor compaction."),
    fraction("hive.compactor.delta.pct.threshold", "0.1", "Deltas larger than this share of the base: major compaction."),
    whole("hive.compactor.max.num.delta", 500, "The most deltas one job compacts."),
    whole("hive.compactor.abortedtxn.threshold", 1000, "More aborted transactions of a table than this: compaction or clean-up."),
    time("hive.compactor.aborted.txn.time.threshold", "12h", "An aborted transaction older than this: compaction or clean-up; negative: never.", unit="h"),
    whole("hive.compactor.initiator.failed.compacts.threshold", 2, "After so many failures in a row a table is not compacted by itself.", "metastore.compactor.initiator.failed.compacts.threshold", low=1, high=20),
    time("metastore.compactor.initiator.failed.retry.time", "7d", "Failures older than this do not count.", "hive.compactor.initiator.failed.retry.time", unit="d"),
    switch("hive.compactor.compact.insert.only", True, "Compact insert-only tables."),
    switch("hive.compactor.crud.query.based", False, "Compact full ACID tables by queries."),
    switch("hive.compactor.gather.stats", True, "Major compaction gathers statistics."),
    text("hive.compactor.job.queue", "", "The Hadoop queue of compaction jobs."),
    time("metastore.compactor.worker.pool.timeout", "12h", "After so long any worker may take a request made for a pool.", "hive.compactor.worker.pool.timeout", unit="h"),
    whole("hive.compactor.wait.timeout", 300_000, "COMPACT .. AND WAIT looks at least so often, in milliseconds.", kind="long"),
    time("hive.compactor.cleaner.run.interval", "5000ms", "How often the Cleaner looks for work.", unit="ms"),
    whole("hive.compactor.cleaner.threads.num", 1, "Directories the Cleaner cleans side by side."),
    switch("hive.compactor.delayed.cleanup.enabled", False, "Keep compacted files for hive.compactor.cleaner.retention.time.seconds."),
    time("hive.compactor.cleaner.retention.time.seconds", "300s", "How long compacted files are kept."),
    whole("hive.compactor.cleaner.retry.maxattempts", 5, "After so many failures the Cleaner gives up.", low=0, high=10),
    time("hive.compactor.cleaner.retry.retention.time", "300s", "The wait before the Cleaner tries again, doubled each time.", "hive.compactor.cleaner.retry.retentionTime"),
    switch("metastore.compactor.clean.aborts.using.cleaner", True, "The Cleaner removes what aborted transactions left.", "hive.compactor.clean.aborts.using.cleaner"),
    whole("metastore.compactor.history.retention.succeeded", 3, "Finished compactions kept in SHOW COMPACTIONS, a table or partition.", "hive.compactor.history.retention.succeeded", low=0, high=100),
    whole("metastore.compactor.history.retention.failed", 3, "Failed ones kept.", "hive.compactor.history.retention.failed", low=0, high=100),
    whole("metastore.compactor.history.retention.did.not.initiate", 2, "Ones not initiated kept (Hive 3: attempted).", "hive.compactor.history.retention.did.not.initiate", "metastore.compactor.history.retention.attempted", "hive.compactor.history.retention.attempted", low=0, high=100),
    whole("metastore.compactor.history.retention.refused", 3, "Refused ones kept.", "hive.compactor.history.retention.refused", low=0, high=100),
    time("metastore.compactor.history.retention.timeout", "7d", "Unsuccessful ones older than this are forgotten after a success.", "hive.compactor.history.retention.timeout", unit="d"),
    time("metastore.compaction.housekeeper.interval", "300s", "How often the history is purged.", "hive.metastore.compaction.housekeeper.interval"),
    whole("metastore.compactor.fetch.size", 1000, "The most tables looked at in one go.", "hive.compactor.fetch.size", low=100, high=5000),
    text("metastore.compactor.run.as.user", "", "The user who compacts; empty: the owner of the directory.", "hive.compactor.run.as.user"),
)
# fmt: on
