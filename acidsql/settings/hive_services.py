"""Hive's names for compaction and for reaching a Hive Metastore, with Hive 4's defaults."""

from __future__ import annotations

from acidsql.settings.setting import fraction, switch, text, time, whole, words

COMPACTOR = (
    switch(
        "hive.compactor.initiator.on",
        False,
        "Run the Initiator in this metastore (Hive 3: and the Cleaner). No effect: `acidsql "
        "compactor` and its options say what runs where.",
        "metastore.compactor.initiator.on",
    ),
    switch(
        "metastore.compactor.cleaner.on",
        False,
        "Run the Cleaner in this metastore. No effect, as above.",
        "hive.compactor.cleaner.on",
    ),
    whole(
        "hive.compactor.worker.threads",
        0,
        "Workers in this process. No effect: `acidsql compactor --workers` says how many.",
        "metastore.compactor.worker.threads",
    ),
    time(
        "hive.compactor.worker.timeout",
        "86400s",
        "After so long a worker's compaction is given to another.",
        honoured=True,
    ),
    time(
        "hive.compactor.worker.sleep.time",
        "10800ms",
        "How long an idle worker sleeps at first.",
        unit="ms",
        honoured=True,
    ),
    time(
        "hive.compactor.worker.max.sleep.time",
        "320000ms",
        "How long an idle worker sleeps at most.",
        unit="ms",
        honoured=True,
    ),
    time(
        "hive.compactor.check.interval",
        "300s",
        "How often the Initiator looks for tables to compact.",
        honoured=True,
    ),
    whole(
        "hive.compactor.request.queue",
        1,
        "Tables the Initiator looks at side by side. No effect: it looks at one after the other.",
    ),
    whole(
        "hive.compactor.delta.num.threshold",
        10,
        "More directories of deltas and delete deltas than this: minor compaction, without a "
        "base major. Property `compactorthreshold.hive.compactor.delta.num.threshold` of a "
        "table overrides it.",
        honoured=True,
    ),
    fraction(
        "hive.compactor.delta.pct.threshold",
        "0.1",
        "Deltas larger than this share of the base: major compaction. Property "
        "`compactorthreshold.hive.compactor.delta.pct.threshold` of a table overrides it.",
        honoured=True,
    ),
    whole(
        "hive.compactor.max.num.delta",
        500,
        "The most deltas that one step of a minor compaction merges; the next one takes what came"
        " of it and the rest.",
        honoured=True,
    ),
    whole(
        "hive.compactor.abortedtxn.threshold",
        1000,
        "More aborted transactions of a table than this: major compaction, where "
        "metastore.compactor.clean.aborts.using.cleaner is off.",
        honoured=True,
    ),
    time(
        "hive.compactor.aborted.txn.time.threshold",
        "12h",
        "An aborted transaction older than this: minor compaction, likewise; negative: never.",
        unit="h",
        honoured=True,
    ),
    whole(
        "hive.compactor.initiator.failed.compacts.threshold",
        2,
        "After so many failures in a row a table or partition is compacted by itself only "
        "after a pause: hive.compactor.check.interval, then twice the time between the last "
        "two failures.",
        "metastore.compactor.initiator.failed.compacts.threshold",
        low=1,
        high=20,
        honoured=True,
    ),
    time(
        "metastore.compactor.initiator.failed.retry.time",
        "7d",
        "The longest such pause. (Hive: the one pause.)",
        "hive.compactor.initiator.failed.retry.time",
        unit="d",
        honoured=True,
    ),
    switch(
        "hive.compactor.compact.insert.only",
        True,
        "Compact insert-only tables by themselves.",
        honoured=True,
    ),
    switch(
        "hive.compactor.crud.query.based",
        False,
        "In Hive, compact full ACID tables by queries. Here: where a minor compaction is due "
        "and files have no ROW__IDs, ask for a major one.",
        honoured=True,
    ),
    switch(
        "hive.compactor.gather.stats",
        True,
        "Major compaction gathers statistics. No effect: a compaction changes no row, so those of"
        " rows and columns hold as they did.",
    ),
    text(
        "hive.compactor.job.queue",
        "",
        "The Hadoop queue of compaction jobs. No effect: Spark's settings say where its jobs run.",
    ),
    time(
        "metastore.compactor.worker.pool.timeout",
        "12h",
        "After so long any worker may take a request made for a pool.",
        "hive.compactor.worker.pool.timeout",
        unit="h",
        honoured=True,
    ),
    whole(
        "hive.compactor.wait.timeout",
        300_000,
        "COMPACT .. AND WAIT looks at least so often what a daemon has done, in milliseconds.",
        kind="long",
        honoured=True,
    ),
    time(
        "hive.compactor.cleaner.run.interval",
        "5000ms",
        "How often the Cleaner looks for work.",
        unit="ms",
        honoured=True,
    ),
    whole(
        "hive.compactor.cleaner.threads.num",
        1,
        "Directories the Cleaner cleans side by side. No effect: it cleans one after the other.",
    ),
    switch(
        "hive.compactor.delayed.cleanup.enabled",
        False,
        "Keep compacted files for hive.compactor.cleaner.retention.time.seconds.",
        honoured=True,
    ),
    time(
        "hive.compactor.cleaner.retention.time.seconds",
        "300s",
        "How long compacted files are kept.",
        honoured=True,
    ),
    whole(
        "hive.compactor.cleaner.retry.maxattempts",
        5,
        "After so many failures the Cleaner gives up an entry.",
        low=0,
        high=10,
        honoured=True,
    ),
    time(
        "hive.compactor.cleaner.retry.retention.time",
        "300s",
        "The wait before the Cleaner tries again, doubled each time.",
        "hive.compactor.cleaner.retry.retentionTime",
        honoured=True,
    ),
    switch(
        "metastore.compactor.clean.aborts.using.cleaner",
        True,
        "What aborted transactions left is removed apart from compactions; off: it makes one "
        "due, too.",
        "hive.compactor.clean.aborts.using.cleaner",
        honoured=True,
    ),
    whole(
        "metastore.compactor.history.retention.succeeded",
        3,
        "Finished compactions kept in SHOW COMPACTIONS, a table or partition.",
        "hive.compactor.history.retention.succeeded",
        low=0,
        high=100,
        honoured=True,
    ),
    whole(
        "metastore.compactor.history.retention.failed",
        3,
        "Failed ones kept, at least as many as "
        "hive.compactor.initiator.failed.compacts.threshold says, and two.",
        "hive.compactor.history.retention.failed",
        low=0,
        high=100,
        honoured=True,
    ),
    whole(
        "metastore.compactor.history.retention.did.not.initiate",
        2,
        "Ones not initiated kept (Hive 3: attempted).",
        "hive.compactor.history.retention.did.not.initiate",
        "metastore.compactor.history.retention.attempted",
        "hive.compactor.history.retention.attempted",
        low=0,
        high=100,
        honoured=True,
    ),
    whole(
        "metastore.compactor.history.retention.refused",
        3,
        "Refused ones kept, and as many aborted ones.",
        "hive.compactor.history.retention.refused",
        low=0,
        high=100,
        honoured=True,
    ),
    time(
        "metastore.compactor.history.retention.timeout",
        "7d",
        "Unsuccessful ones older than this are forgotten after a success.",
        "hive.compactor.history.retention.timeout",
        unit="d",
        honoured=True,
    ),
    time(
        "metastore.compaction.housekeeper.interval",
        "300s",
        "How often the history is purged.",
        "hive.metastore.compaction.housekeeper.interval",
        honoured=True,
    ),
    whole(
        "metastore.compactor.fetch.size",
        1000,
        "The most tables and partitions the Initiator looks at in one go; the others are next.",
        "hive.compactor.fetch.size",
        low=100,
        high=5000,
        honoured=True,
    ),
    text(
        "metastore.compactor.run.as.user",
        "",
        "The user who compacts; empty: the owner of the directory. No effect: it is the user "
        "of the process.",
        "hive.compactor.run.as.user",
    ),
)


# ---- Hive Metastore
#
# Hive's names for reaching a Hive Metastore, with Hive 4's defaults.


METASTORE = (
    text(
        "hive.metastore.uris",
        "",
        "Where the metastore listens: thrift://host:port, several with commas.",
        "metastore.thrift.uris",
    ),
    time(
        "hive.metastore.client.socket.timeout",
        "600s",
        "How long an answer may take.",
        "metastore.client.socket.timeout",
        honoured=True,
    ),
    switch(
        "hive.metastore.execute.setugi",
        True,
        "Send the user's name when connecting.",
        "metastore.execute.setugi",
    ),
    switch(
        "hive.metastore.sasl.enabled",
        False,
        "Connect by Kerberos, or by a delegation token of $HADOOP_TOKEN_FILE_LOCATION.",
        "metastore.sasl.enabled",
        honoured=True,
    ),
    text(
        "hive.metastore.kerberos.principal",
        "hive-metastore/_HOST@EXAMPLE.COM",
        "The metastore's Kerberos principal; `_HOST` is the full name of the server's host.",
        "metastore.kerberos.principal",
        honoured=True,
    ),
    text(
        "hive.metastore.token.signature",
        "",
        "The service of the delegation token.",
        "metastore.token.signature",
        honoured=True,
    ),
    text(
        "hadoop.rpc.protection",
        "",
        "What Kerberos and tokens do to what is said: `authentication` nothing, `integrity` or"
        " `privacy`, or several with commas; empty takes the best that the server offers.",
        honoured=True,
    ),
    words(
        "metastore.client.auth.mode",
        "nosasl plain kerberos jwt",
        "nosasl",
        "How to say who is there: `plain` is a name and a password, `kerberos` as"
        " `hive.metastore.sasl.enabled`, `jwt` a token over HTTP.",
        "hive.metastore.client.auth.mode",
        honoured=True,
    ),
    text(
        "metastore.client.plain.username",
        "",
        "The user of `plain`. `acidsql.metastore.password.file` has the password.",
        "hive.metastore.client.plain.username",
        honoured=True,
    ),
    text(
        "metastore.client.thrift.transport.mode",
        "binary",
        "`binary`, or `http`.",
        "hive.metastore.client.thrift.transport.mode",
        honoured=True,
    ),
    text(
        "metastore.client.thrift.http.path",
        "metastore",
        "The path of the URL over HTTP.",
        "hive.metastore.client.thrift.http.path",
        honoured=True,
    ),
    text(
        "metastore.client.http.additional.headers",
        "",
        "More headers over HTTP: `name=value`, several with commas. SET does not list them.",
        "hive.metastore.client.http.additional.headers",
        honoured=True,
    ),
    switch(
        "hive.metastore.thrift.framed.transport.enabled",
        False,
        "Use Thrift's framed transport, as `?framed=true` does.",
        "metastore.thrift.framed.transport.enabled",
        honoured=True,
    ),
    switch(
        "hive.metastore.thrift.compact.protocol.enabled",
        False,
        "Use Thrift's compact protocol, which acidsql does not speak: refused if true.",
        "metastore.thrift.compact.protocol.enabled",
        honoured=True,
    ),
    switch(
        "hive.metastore.use.SSL",
        False,
        "Connect by TLS. The server's name is checked.",
        "metastore.use.SSL",
        honoured=True,
    ),
    text(
        "hive.metastore.truststore.path",
        "",
        "A file of the certificates that TLS trusts, PEM or JKS; empty trusts those of the system.",
        "metastore.truststore.path",
        honoured=True,
    ),
    switch(
        "hive.metastore.client.capability.check",
        True,
        "Refuse clients that do not say they know insert-only tables.",
        "metastore.client.capability.check",
    ),
    text("metastore.catalog.default", "hive", "The catalog of names without one."),
    text(
        "hive.metastore.warehouse.dir",
        "/user/hive/warehouse",
        "Where databases and tables lie. In acidsql the warehouse is chosen when it is opened.",
        "metastore.warehouse.dir",
    ),
)
