"""The calls of who takes part in transactions, as data. A field that is not given is not sent: see
``catalog``.
"""

from __future__ import annotations

from acidsql.metastore.hive.calls.reading import (
    IDS,
    META_EXCEPTION,
    NO_SUCH_LOCK,
    NO_SUCH_TXN,
    TEXT_MAP,
    TEXTS,
    TXN_ABORTED,
    TXN_OPEN,
    method,
    struct_of,
)
from acidsql.metastore.hive.protocol import BOOL, I32, I64, TEXT, ListOf, MapOf

# ---- transactions

OPEN_TXNS = method(
    "open_txns",
    struct_of(txn_ids=(1, IDS)),
    rqst=(
        1,
        struct_of(
            num_txns=(1, I32),
            user=(2, TEXT),
            hostname=(3, TEXT),
            agentInfo=(4, TEXT),
            txn_type=(7, I32),
        ),
    ),
)
TXN_INFO = struct_of(
    id=(1, I64),
    state=(2, I32),
    user=(3, TEXT),
    hostname=(4, TEXT),
    agentInfo=(5, TEXT),
    startedTime=(8, I64),
    lastHeartbeatTime=(9, I64),
)
GET_OPEN_TXNS_INFO = method(
    "get_open_txns_info",
    struct_of(txn_high_water_mark=(1, I64), open_txns=(2, ListOf(item=TXN_INFO))),
)
ABORT_TXN = method("abort_txn", None, NO_SUCH_TXN, rqst=(1, struct_of(txnid=(1, I64))))
ABORT_TXNS = method("abort_txns", None, NO_SUCH_TXN, rqst=(1, struct_of(txn_ids=(1, IDS))))
COMMIT_TXN = method(
    "commit_txn",
    None,
    NO_SUCH_TXN,
    TXN_ABORTED,
    rqst=(1, struct_of(txnid=(1, I64), exclWriteEnabled=(6, BOOL))),
)
ALLOCATE_WRITE_IDS = method(
    "allocate_table_write_ids",
    struct_of(txnToWriteIds=(1, ListOf(item=struct_of(txnId=(1, I64), writeId=(2, I64))))),
    NO_SUCH_TXN,
    TXN_ABORTED,
    META_EXCEPTION,
    rqst=(1, struct_of(dbName=(1, TEXT), tableName=(2, TEXT), txnIds=(3, IDS))),
)
HEARTBEAT = method(
    "heartbeat",
    None,
    NO_SUCH_LOCK,
    NO_SUCH_TXN,
    TXN_ABORTED,
    ids=(1, struct_of(lockid=(1, I64), txnid=(2, I64))),
)
ADD_DYNAMIC_PARTITIONS = method(
    "add_dynamic_partitions",
    None,
    NO_SUCH_TXN,
    TXN_ABORTED,
    rqst=(
        1,
        struct_of(
            txnid=(1, I64),
            writeid=(2, I64),
            dbname=(3, TEXT),
            tablename=(4, TEXT),
            partitionnames=(5, TEXTS),
            operationType=(6, I32),
        ),
    ),
)
ADD_WRITE_IDS_TO_MIN_HISTORY = method(
    "add_write_ids_to_min_history",
    None,
    META_EXCEPTION,
    txnId=(1, I64),
    writeIds=(2, MapOf(key=TEXT, value=I64)),
)
"""Hive 4 has it."""

# ---- locks

LOCK_COMPONENT = struct_of(
    type=(1, I32),
    level=(2, I32),
    dbname=(3, TEXT),
    tablename=(4, TEXT),
    partitionname=(5, TEXT),
    operationType=(6, I32),
    isTransactional=(7, BOOL),
    isDynamicPartitionWrite=(8, BOOL),
)
LOCK_RESPONSE = struct_of(lockid=(1, I64), state=(2, I32), errorMessage=(3, TEXT))
LOCK = method(
    "lock",
    LOCK_RESPONSE,
    NO_SUCH_TXN,
    TXN_ABORTED,
    rqst=(
        1,
        struct_of(
            component=(1, ListOf(item=LOCK_COMPONENT)),
            txnid=(2, I64),
            user=(3, TEXT),
            hostname=(4, TEXT),
            agentInfo=(5, TEXT),
            zeroWaitReadEnabled=(6, BOOL),
            exclusiveCTAS=(7, BOOL),
        ),
    ),
)
CHECK_LOCK = method(
    "check_lock",
    LOCK_RESPONSE,
    NO_SUCH_TXN,
    TXN_ABORTED,
    NO_SUCH_LOCK,
    rqst=(1, struct_of(lockid=(1, I64), txnid=(2, I64))),
)
UNLOCK = method("unlock", None, NO_SUCH_LOCK, TXN_OPEN, rqst=(1, struct_of(lockid=(1, I64))))
SHOW_LOCKS = method(
    "show_locks",
    struct_of(
        locks=(
            1,
            ListOf(
                item=struct_of(
                    lockid=(1, I64),
                    dbname=(2, TEXT),
                    tablename=(3, TEXT),
                    partname=(4, TEXT),
                    state=(5, I32),
                    type=(6, I32),
                    txnid=(7, I64),
                    lastheartbeat=(8, I64),
                    acquiredat=(9, I64),
                    user=(10, TEXT),
                    hostname=(11, TEXT),
                    agentInfo=(13, TEXT),
                    blockedByExtId=(14, I64),
                    blockedByIntId=(15, I64),
                    lockIdInternal=(16, I64),
                )
            ),
        )
    ),
    rqst=(1, struct_of(isExtended=(4, BOOL))),
)

# ---- compactions

COMPACT = method(
    "compact2",
    struct_of(id=(1, I64), state=(2, TEXT), accepted=(3, BOOL), errormessage=(4, TEXT)),
    rqst=(
        1,
        struct_of(
            dbname=(1, TEXT),
            tablename=(2, TEXT),
            partitionname=(3, TEXT),
            type=(4, I32),
            runas=(5, TEXT),
            properties=(6, TEXT_MAP),
            initiatorId=(7, TEXT),
            initiatorVersion=(8, TEXT),
            poolName=(9, TEXT),
            numberOfBuckets=(10, I32),
            orderByClause=(11, TEXT),
        ),
    ),
)
SHOW_COMPACT = method(
    "show_compact",
    struct_of(
        compacts=(
            1,
            ListOf(
                item=struct_of(
                    dbname=(1, TEXT),
                    tablename=(2, TEXT),
                    partitionname=(3, TEXT),
                    type=(4, I32),
                    state=(5, TEXT),
                    workerid=(6, TEXT),
                    start=(7, I64),
                    endTime=(11, I64),
                    id=(13, I64),
                    errorMessage=(14, TEXT),
                    enqueueTime=(15, I64),
                    workerVersion=(16, TEXT),
                    initiatorId=(17, TEXT),
                    initiatorVersion=(18, TEXT),
                    poolName=(20, TEXT),
                    nextTxnId=(21, I64),
                    txnId=(22, I64),
                    commitTime=(23, I64),
                    hightestWriteId=(24, I64),
                )
            ),
        )
    ),
    rqst=(1, struct_of(id=(1, I64))),
)
"""Hive 3 knows no ``id``, and shows all."""
ABORT_COMPACTIONS = method(
    "abort_Compactions",
    struct_of(
        abortedcompacts=(
            1,
            MapOf(
                key=I64,
                value=struct_of(compactionId=(1, I64), status=(2, TEXT), message=(3, TEXT)),
            ),
        )
    ),
    rqst=(1, struct_of(compactionIds=(1, IDS))),
)
"""Hive 4 has it."""

COMPACTION_INFO = struct_of(
    id=(1, I64),
    dbname=(2, TEXT),
    tablename=(3, TEXT),
    partitionname=(4, TEXT),
    type=(5, I32),
    runas=(6, TEXT),
    properties=(7, TEXT),
    toomanyaborts=(8, BOOL),
    state=(9, TEXT),
    workerId=(10, TEXT),
    start=(11, I64),
    highestWriteId=(12, I64),
    errorMessage=(13, TEXT),
    hasoldabort=(14, BOOL),
    enqueueTime=(15, I64),
    retryRetention=(16, I64),
    poolname=(17, TEXT),
    numberOfBuckets=(18, I32),
    orderByClause=(19, TEXT),
)
FIND_NEXT_COMPACT = method(
    "find_next_compact2",
    struct_of(ci=(1, COMPACTION_INFO)),
    META_EXCEPTION,
    rqst=(1, struct_of(workerId=(1, TEXT), workerVersion=(2, TEXT), poolName=(3, TEXT))),
)
"""The calls of a worker: Hive 4 has them. In Hive 3 workers ask the database itself."""
UPDATE_COMPACTOR_STATE = method(
    "update_compactor_state", None, cr=(1, COMPACTION_INFO), txn_id=(2, I64)
)
MARK_COMPACTED = method("mark_compacted", None, META_EXCEPTION, cr=(1, COMPACTION_INFO))
MARK_REFUSED = method("mark_refused", None, META_EXCEPTION, cr=(1, COMPACTION_INFO))
MARK_FAILED = method("mark_failed", None, META_EXCEPTION, cr=(1, COMPACTION_INFO))

# ---- tables of another store

GET_DB_UUID = method("get_metastore_db_uuid", TEXT, META_EXCEPTION)
"""What tells a metastore from every other one, whichever of its servers is asked."""
REPL_TBL_WRITEID_STATE = method(
    "repl_tbl_writeid_state",
    None,
    rqst=(
        1,
        struct_of(
            validWriteIdlist=(1, TEXT),
            user=(2, TEXT),
            hostName=(3, TEXT),
            dbName=(4, TEXT),
            tableName=(5, TEXT),
        ),
    ),
)
"""Says at which write id a table goes on; passed over where one was given out already."""
SEED_TXN_ID = method("seed_txn_id", None, META_EXCEPTION, rqst=(1, struct_of(seedTxnId=(1, I64))))
"""Hive 4 has it: the next transaction gets this id."""
GET_MAX_WRITE_ID = method(
    "get_max_allocated_table_write_id",
    struct_of(maxWriteId=(1, I64)),
    META_EXCEPTION,
    rqst=(1, struct_of(dbName=(1, TEXT), tableName=(2, TEXT))),
)
"""Hive 4 has it. Of Hive 3 the lists of valid write ids tell it."""
