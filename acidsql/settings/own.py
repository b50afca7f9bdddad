"""The settings Hive has no name for."""

from __future__ import annotations

from acidsql.settings.setting import Setting

OWN: tuple[Setting, ...] = (
    Setting(
        name="acidsql.engine",
        kind=("auto", "local", "spark"),
        default="auto",
        doc=(
            "Who makes the rows of a statement: `local` the driver alone, without Java, which"
            " refuses what it does not understand; `spark` Spark; `auto` the driver for what it"
            " understands and what reads little, else Spark."
        ),
        honoured=True,
    ),
    Setting(
        name="acidsql.local.max.bytes",
        kind="bytes",
        default="256m",
        doc=(
            "Under `acidsql.engine=auto`, the most bytes of files that the driver reads alone for"
            " one statement; less for an INSERT that Spark is quicker with."
        ),
        honoured=True,
    ),
    Setting(
        name="acidsql.write.path",
        kind=("auto", "small", "big"),
        default="auto",
        doc=(
            "How changed rows are written: `small` brings them to the driver, `big` lets Spark make"
            " and write them, `auto` chooses by size."
        ),
        honoured=True,
    ),
    Setting(
        name="acidsql.write.driver.max.bytes",
        kind="bytes",
        default="64m",
        doc=(
            "The most bytes of changed rows the small write path may bring to the driver; rows of a"
            " load pass through it, however many."
        ),
        honoured=True,
    ),
    Setting(
        name="acidsql.read.deletes",
        kind=("auto", "filter", "join"),
        default="auto",
        doc=(
            "How delete events are applied: as a key set in the scan's filter, as an anti-join, or"
            " chosen by number."
        ),
        honoured=True,
    ),
    Setting(
        name="acidsql.read.deletes.max.events",
        kind="long",
        default="20000000",
        doc=(
            "Up to this many delete events are held in memory as a key set; more are applied by an"
            " anti-join."
        ),
        honoured=True,
    ),
    Setting(
        name="acidsql.frames.directory",
        kind="text",
        default="",
        doc=(
            "Where the rows of DataFrames that a session is given wait for its statements: an"
            " existing directory, the system's for temporary files if empty. On a cluster one that"
            " all machines share."
        ),
        honoured=True,
    ),
    Setting(
        name="acidsql.retries",
        kind="long",
        default="0",
        low=0,
        doc=(
            "How often a statement that changes rows, outside of START TRANSACTION, is run again"
            " after an error that allows it (a write conflict, a lock that could not be had), with"
            " growing pauses. The shell sets 3."
        ),
        honoured=True,
    ),
    Setting(
        name="acidsql.ansi",
        kind="bool",
        default="false",
        doc="Strict SQL: a failed cast or an overflow is an error. Off, as in Hive, it is NULL.",
        honoured=True,
    ),
    Setting(
        name="acidsql.strict.hive",
        kind="bool",
        default="false",
        doc=(
            "Refuse what Hive has not: several MATCHED clauses of one kind, NOT MATCHED BY SOURCE,"
            " UPDATE SET *, INSERT *, INSERT .. BY NAME."
        ),
        honoured=True,
    ),
    Setting(
        name="acidsql.dry.run",
        kind="bool",
        default="false",
        doc=(
            "Change nothing: statements tell what they would do, as DRY RUN does: the rows they"
            " write, and what goes with them."
        ),
        honoured=True,
    ),
    Setting(
        name="acidsql.plain.in.transaction",
        kind=("refuse", "warn"),
        default="refuse",
        doc=(
            "What becomes of rows for a table without transactions inside one: an error, or they"
            " are visible at once, with a warning."
        ),
        honoured=True,
    ),
    Setting(
        name="acidsql.conflict.granularity",
        kind=("row", "partition"),
        default="row",
        doc=(
            "When two transactions that change one table or partition side by side conflict: where"
            " both change a row (`row`), or always, as in Hive (`partition`)."
        ),
        honoured=True,
    ),
    Setting(
        name="acidsql.compactor.auto",
        kind="bool",
        default="true",
        doc=(
            "A session that writes compacts small tables and cleans up, in a thread of its own,"
            " where no daemon does."
        ),
        honoured=True,
    ),
    Setting(
        name="acidsql.reader.lease",
        kind="seconds",
        default="24h",
        unit="s",
        low=0,
        doc=(
            "How long a result that is not fetched yet, and a DataFrame that `.df` gave, keep the"
            " files that they read, at most. Then they fail where a compaction's cleaner has been."
        ),
        honoured=True,
    ),
    Setting(
        name="acidsql.run.kept",
        kind="seconds",
        default="30d",
        unit="s",
        low=0,
        doc=(
            "How long the run id of a transaction is remembered, at least: for so long the same"
            " work under the same id is not done again."
        ),
        honoured=True,
    ),
    Setting(
        name="acidsql.compactor.auto.max.bytes",
        kind="bytes",
        default="16m",
        doc="The largest table or partition that such a session compacts.",
        honoured=True,
    ),
    Setting(
        name="acidsql.compactor.driver.max.bytes",
        kind="bytes",
        default="1g",
        doc=(
            "What a compaction of a full ACID table may read to merge it on the driver, without"
            " Spark. Rows pass through memory in batches, however many there are."
        ),
        honoured=True,
    ),
    Setting(
        name="acidsql.history.retention",
        kind="seconds",
        default="0s",
        unit="s",
        low=-1,
        doc=(
            "How long the Cleaner keeps files after a compaction has taken their place, for"
            " snapshots of that age. A table's property of the same name counts where it is more."
        ),
        honoured=True,
    ),
    Setting(
        name="acidsql.store.mode",
        kind=("0600", "0660", "0666"),
        default="0600",
        doc=(
            "Who may use a metastore that is made: its owner, the group too (0660), all. One that"
            " is there keeps its mode."
        ),
        honoured=True,
    ),
    Setting(
        name="acidsql.store.patience",
        kind="seconds",
        default="30s",
        unit="s",
        low=0,
        doc=(
            "How long others are waited for that write to the metastore. In PostgreSQL the server"
            " takes the right to write, after half of it, from a process that stands still. Read"
            " when a session is opened."
        ),
        honoured=True,
    ),
    Setting(
        name="acidsql.store.create",
        kind=("needed", "open", "always"),
        default="needed",
        doc=(
            "What makes a warehouse where there is none: the first CREATE or ATTACH (needed), or"
            " whoever opens a session (open). Neither does beside directories of tables, whose"
            " metastore was lost; always does. Read when a session is opened."
        ),
        honoured=True,
    ),
    Setting(
        name="acidsql.durable",
        kind="bool",
        default="true",
        doc=(
            "Commits wait until a local disk has them. Without, a crash of the machine (not one of"
            " the process) may lose them and damage the metastore in its file: only for warehouses"
            " that are thrown away, such as those of tests. Read when a session is opened."
        ),
        honoured=True,
    ),
    Setting(
        name="acidsql.filesystem",
        kind=("auto", "arrow", "hadoop"),
        default="auto",
        doc=(
            "What opens URLs: `arrow` pyarrow's drivers, `hadoop` Hadoop's through Spark, `auto`"
            " pyarrow's where there is one."
        ),
        honoured=True,
    ),
    Setting(
        name="acidsql.s3.endpoint",
        kind="text",
        default="",
        doc=(
            "The S3 server, such as `http://127.0.0.1:9000`, where it is not Amazon's or that of"
            " the environment."
        ),
        honoured=True,
    ),
    Setting(
        name="acidsql.s3.region",
        kind="text",
        default="",
        doc="The region of the S3 buckets, where it is not that of the environment.",
        honoured=True,
    ),
    Setting(
        name="acidsql.s3.path.style",
        kind="bool",
        default="true",
        doc="With an endpoint: the bucket is part of the path and not of the host's name.",
        honoured=True,
    ),
    Setting(
        name="acidsql.spark.check.workers",
        kind="bool",
        default="true",
        doc=(
            "Where Spark runs on a cluster its first job asks every executor for the warehouse and"
            " for Python's packages, and ships acidsql to them; executors on other machines that"
            " come later are asked before the next statement."
        ),
        honoured=True,
    ),
    Setting(
        name="acidsql.spark.fast.start",
        kind="bool",
        default="true",
        doc=(
            "Start acidsql's own Spark with an archive of its classes, made at the end of the first"
            " start in the user's cache directory (130 MB): half the time to the first row."
        ),
        honoured=True,
    ),
    Setting(
        name="acidsql.shell.null",
        kind="text",
        default="NULL",
        doc="What the shell prints for NULL; in JSON it is always `null`.",
        honoured=True,
    ),
    Setting(
        name="acidsql.shell.tsv.raw",
        kind="bool",
        default="true",
        doc=(
            "Values in tsv are as they are, as Hive's are. Off: tabs, ends of lines and"
            " backslashes inside them are written as `\\t`, `\\n`, `\\r` and `\\\\`."
        ),
        honoured=True,
    ),
    Setting(
        name="acidsql.shell.pager",
        kind="text",
        default="",
        doc=(
            "At the prompt, what shows rows that the screen does not hold: a command, `off`, or"
            " empty for that of $PAGER."
        ),
        honoured=True,
    ),
    Setting(
        name="acidsql.kerberos.principal",
        kind="text",
        default="",
        doc=(
            "Who acidsql is for a Hive metastore with Kerberos: whose ticket of the cache, or whose"
            " key of the keytab. `_HOST` is this host's full name. Empty takes the cache's own."
        ),
        honoured=True,
    ),
    Setting(
        name="acidsql.kerberos.keytab",
        kind="text",
        default="",
        doc=(
            "The keytab of which tickets are got, and renewed; empty takes those of the ticket"
            " cache, or of `KRB5_CLIENT_KTNAME`."
        ),
        honoured=True,
    ),
    Setting(
        name="acidsql.metastore.password.file",
        kind="text",
        default="",
        doc="A file with the password for a Hive metastore, which is read for each connection.",
        honoured=True,
    ),
    Setting(
        name="acidsql.metastore.jwt.file",
        kind="text",
        default="",
        doc=(
            "A file with the token (JWT) for a Hive metastore over HTTP, which is read for each"
            " call; empty takes `HMS_JWT` of the environment."
        ),
        honoured=True,
    ),
    Setting(
        name="acidsql.refuse.ranger",
        kind="bool",
        default="false",
        doc=(
            "Refuse the tables of a Hive metastore that has an authorizer, such as Ranger's, since"
            " its policies do not reach acidsql, and those that a metastore's database or a dump"
            " tells of, which tell of none."
        ),
        honoured=True,
    ),
    Setting(
        name="acidsql.shell.rows",
        kind="long",
        default="1000",
        low=0,
        doc="At the prompt and without a pager, the most rows that are shown; 0 shows all.",
        honoured=True,
    ),
    Setting(
        name="acidsql.shell.vertical",
        kind="bool",
        default="true",
        doc="On a terminal, rows too wide for a table are shown a line a column.",
        honoured=True,
    ),
    Setting(
        name="acidsql.shell.types",
        kind="bool",
        default="false",
        doc="Tables of the shell have the type of each column below its name.",
        honoured=True,
    ),
    Setting(
        name="acidsql.shell.careful",
        kind="bool",
        default="true",
        doc="At the prompt, ask before an UPDATE or DELETE without WHERE.",
        honoured=True,
    ),
    Setting(
        name="acidsql.shell.keys",
        kind=("emacs", "vi"),
        default="emacs",
        doc="Whose keys the prompt has.",
        honoured=True,
    ),
)
