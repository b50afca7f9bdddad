"""The tables of the store: Hive's metastore tables with Hive's own names, columns and codes, so
that readers who know Hive's can read them: those of the catalog, then those that transactions and
compactions fill.

Left out: columns of Hive's that nothing here would ever fill. Added: indexes that keep a
statement's cost independent of history. Times are epoch milliseconds, but ``CREATE_TIME`` and
``LAST_ANALYZED``, which are in seconds as in Hive. A change of them is another version of
the schema (see schema).
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from acidsql.metastore.sql import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    false,
)

METADATA = MetaData()

Id = BigInteger().with_variant(Integer(), "sqlite")
"""SQLite numbers rows by itself only where the type is spelled INTEGER."""

VERSION = Table(
    "VERSION",
    METADATA,
    Column("VER_ID", Id, primary_key=True, autoincrement=False),
    Column("SCHEMA_VERSION", String(127), nullable=False),
    Column("VERSION_COMMENT", String(255)),
)

METASTORE_DB_PROPERTIES = Table(
    "METASTORE_DB_PROPERTIES",
    METADATA,
    Column("PROPERTY_KEY", String(255), primary_key=True),
    Column("PROPERTY_VALUE", String(1000), nullable=False),
    Column("DESCRIPTION", String(1000)),
)

DBS = Table(
    "DBS",
    METADATA,
    Column("DB_ID", Id, primary_key=True),
    Column("NAME", String(128), nullable=False, unique=True),
    Column("DESC", String(4000)),
    Column("DB_LOCATION_URI", String(4000), nullable=False),
    Column("OWNER_NAME", String(128)),
)

DATABASE_PARAMS = Table(
    "DATABASE_PARAMS",
    METADATA,
    Column("DB_ID", Id, ForeignKey(DBS.c.DB_ID, ondelete="CASCADE"), primary_key=True),
    Column("PARAM_KEY", String(180), primary_key=True),
    Column("PARAM_VALUE", String(4000)),
)

CDS = Table("CDS", METADATA, Column("CD_ID", Id, primary_key=True))

COLUMNS_V2 = Table(
    "COLUMNS_V2",
    METADATA,
    Column("CD_ID", Id, ForeignKey(CDS.c.CD_ID, ondelete="CASCADE"), primary_key=True),
    Column("COLUMN_NAME", String(767), primary_key=True),
    Column("TYPE_NAME", Text, nullable=False),
    Column("COMMENT", String(4000)),
    Column("INTEGER_IDX", Integer, nullable=False),
)

SERDES = Table(
    "SERDES",
    METADATA,
    Column("SERDE_ID", Id, primary_key=True),
    Column("NAME", String(128)),
    Column("SLIB", String(4000), nullable=False),
)

SERDE_PARAMS = Table(
    "SERDE_PARAMS",
    METADATA,
    Column("SERDE_ID", Id, ForeignKey(SERDES.c.SERDE_ID, ondelete="CASCADE"), primary_key=True),
    Column("PARAM_KEY", String(256), primary_key=True),
    Column("PARAM_VALUE", Text),
)

SDS = Table(
    "SDS",
    METADATA,
    Column("SD_ID", Id, primary_key=True),
    Column("CD_ID", Id, ForeignKey(CDS.c.CD_ID), nullable=False),
    Column("SERDE_ID", Id, ForeignKey(SERDES.c.SERDE_ID), nullable=False),
    Column("LOCATION", String(4000), nullable=False),
    Column("INPUT_FORMAT", String(4000), nullable=False),
    Column("OUTPUT_FORMAT", String(4000), nullable=False),
    Column("IS_COMPRESSED", Boolean, nullable=False),
    Column("NUM_BUCKETS", Integer, nullable=False),
    Column("IS_STOREDASSUBDIRECTORIES", Boolean, nullable=False, server_default=false()),
)

BUCKETING_COLS = Table(
    "BUCKETING_COLS",
    METADATA,
    Column("SD_ID", Id, ForeignKey(SDS.c.SD_ID, ondelete="CASCADE"), primary_key=True),
    Column("INTEGER_IDX", Integer, primary_key=True, autoincrement=False),
    Column("BUCKET_COL_NAME", String(256), nullable=False),
)

SORT_COLS = Table(
    "SORT_COLS",
    METADATA,
    Column("SD_ID", Id, ForeignKey(SDS.c.SD_ID, ondelete="CASCADE"), primary_key=True),
    Column("INTEGER_IDX", Integer, primary_key=True, autoincrement=False),
    Column("COLUMN_NAME", String(767), nullable=False),
    Column("ORDER", Integer, nullable=False),
)

SKEWED_COL_NAMES = Table(
    "SKEWED_COL_NAMES",
    METADATA,
    Column("SD_ID", Id, ForeignKey(SDS.c.SD_ID, ondelete="CASCADE"), primary_key=True),
    Column("INTEGER_IDX", Integer, primary_key=True, autoincrement=False),
    Column("SKEWED_COL_NAME", String(256), nullable=False),
)

SKEWED_STRING_LIST = Table(
    "SKEWED_STRING_LIST", METADATA, Column("STRING_LIST_ID", Id, primary_key=True)
)

SKEWED_STRING_LIST_VALUES = Table(
    "SKEWED_STRING_LIST_VALUES",
    METADATA,
    Column(
        "STRING_LIST_ID",
        Id,
        ForeignKey(SKEWED_STRING_LIST.c.STRING_LIST_ID, ondelete="CASCADE"),
        primary_key=True,
    ),
    Column("INTEGER_IDX", Integer, primary_key=True, autoincrement=False),
    Column("STRING_LIST_VALUE", String(256), nullable=False),
)

SKEWED_VALUES = Table(
    "SKEWED_VALUES",
    METADATA,
    Column("SD_ID_OID", Id, ForeignKey(SDS.c.SD_ID, ondelete="CASCADE"), primary_key=True),
    Column("INTEGER_IDX", Integer, primary_key=True, autoincrement=False),
    Column(
        "STRING_LIST_ID_EID", Id, ForeignKey(SKEWED_STRING_LIST.c.STRING_LIST_ID), nullable=False
    ),
)

TBLS = Table(
    "TBLS",
    METADATA,
    Column("TBL_ID", Id, primary_key=True),
    Column("DB_ID", Id, ForeignKey(DBS.c.DB_ID), nullable=False),
    Column("SD_ID", Id, ForeignKey(SDS.c.SD_ID), nullable=False),
    Column("TBL_NAME", String(256), nullable=False),
    Column("TBL_TYPE", String(128), nullable=False),
    Column("OWNER", String(767)),
    Column("CREATE_TIME", Integer, nullable=False),
    Column("VIEW_ORIGINAL_TEXT", Text),
    Column("VIEW_EXPANDED_TEXT", Text),
    Index("UNIQUETABLE", "TBL_NAME", "DB_ID", unique=True),
    Index("TBLS_N49", "DB_ID"),
    # a table id is never given twice: it tells a re-created table from its predecessor
    sqlite_autoincrement=True,
)

TABLE_PARAMS = Table(
    "TABLE_PARAMS",
    METADATA,
    Column("TBL_ID", Id, ForeignKey(TBLS.c.TBL_ID, ondelete="CASCADE"), primary_key=True),
    Column("PARAM_KEY", String(256), primary_key=True),
    Column("PARAM_VALUE", Text),
)

PARTITION_KEYS = Table(
    "PARTITION_KEYS",
    METADATA,
    Column("TBL_ID", Id, ForeignKey(TBLS.c.TBL_ID, ondelete="CASCADE"), primary_key=True),
    Column("PKEY_NAME", String(128), primary_key=True),
    Column("PKEY_TYPE", String(767), nullable=False),
    Column("PKEY_COMMENT", String(4000)),
    Column("INTEGER_IDX", Integer, nullable=False),
)

PARTITIONS = Table(
    "PARTITIONS",
    METADATA,
    Column("PART_ID", Id, primary_key=True),
    Column("TBL_ID", Id, ForeignKey(TBLS.c.TBL_ID, ondelete="CASCADE"), nullable=False),
    Column("SD_ID", Id, ForeignKey(SDS.c.SD_ID), nullable=False),
    Column("PART_NAME", String(767), nullable=False),
    Column("CREATE_TIME", Integer, nullable=False),
    Index("UNIQUEPARTITION", "TBL_ID", "PART_NAME", unique=True),
)

PARTITION_KEY_VALS = Table(
    "PARTITION_KEY_VALS",
    METADATA,
    Column("PART_ID", Id, ForeignKey(PARTITIONS.c.PART_ID, ondelete="CASCADE"), primary_key=True),
    Column("INTEGER_IDX", Integer, primary_key=True, autoincrement=False),
    Column("PART_KEY_VAL", String(256), nullable=False),
)

PARTITION_PARAMS = Table(
    "PARTITION_PARAMS",
    METADATA,
    Column("PART_ID", Id, ForeignKey(PARTITIONS.c.PART_ID, ondelete="CASCADE"), primary_key=True),
    Column("PARAM_KEY", String(256), primary_key=True),
    Column("PARAM_VALUE", Text),
)


def _numbers_of_a_column() -> list[Column[Any]]:
    return [
        Column("CS_ID", Id, primary_key=True),
        Column("COLUMN_NAME", String(767), nullable=False),
        Column("COLUMN_TYPE", Text, nullable=False),
        Column("LONG_LOW_VALUE", BigInteger),
        Column("LONG_HIGH_VALUE", BigInteger),
        Column("DOUBLE_LOW_VALUE", Double),
        Column("DOUBLE_HIGH_VALUE", Double),
        Column("BIG_DECIMAL_LOW_VALUE", String(4000)),
        Column("BIG_DECIMAL_HIGH_VALUE", String(4000)),
        Column("NUM_NULLS", BigInteger, nullable=False),
        Column("NUM_DISTINCTS", BigInteger),
        Column("AVG_COL_LEN", Double),
        Column("MAX_COL_LEN", BigInteger),
        Column("NUM_TRUES", BigInteger),
        Column("NUM_FALSES", BigInteger),
        Column("LAST_ANALYZED", BigInteger, nullable=False),
    ]


TAB_COL_STATS = Table(
    "TAB_COL_STATS",
    METADATA,
    Column("TBL_ID", Id, ForeignKey(TBLS.c.TBL_ID, ondelete="CASCADE"), nullable=False),
    *_numbers_of_a_column(),
    Index("TAB_COL_STATS_IDX", "TBL_ID", "COLUMN_NAME", unique=True),
)

PART_COL_STATS = Table(
    "PART_COL_STATS",
    METADATA,
    Column("PART_ID", Id, ForeignKey(PARTITIONS.c.PART_ID, ondelete="CASCADE"), nullable=False),
    *_numbers_of_a_column(),
    Index("PCS_STATS_IDX", "PART_ID", "COLUMN_NAME", unique=True),
)

DIRECTORIES_TO_DELETE = Table(
    "DIRECTORIES_TO_DELETE",
    METADATA,
    Column("DD_ID", Id, primary_key=True),
    Column("DD_LOCATION", String(4000), nullable=False),
    Column("DD_MOVED_FROM", String(4000)),
    Column("DD_AGENT_INFO", String(128), nullable=False),
    Column("DD_TIME", BigInteger, nullable=False),
)
"""Ours: what a process deletes, or would if it lived; or moves back, if it dies before its commit.
"""

KEPT_DIRECTORIES = Table(
    "KEPT_DIRECTORIES",
    METADATA,
    Column("KD_ID", Id, primary_key=True),
    Column("KD_LOCATION", String(4000), nullable=False),
    Column("KD_READ_AT", String(4000), nullable=False),
    Column("KD_READER", BigInteger, nullable=False),
    Column("KD_MOVED", Boolean, nullable=False),
    Index("KEPT_DIRECTORIES_READER_INDEX", "KD_READER"),
)
"""Ours: directories of what was dropped or renamed while somebody read it, by the RD_ID of each who
did. KD_READ_AT: where it was, and he looks for it; KD_LOCATION: where it is from then on, or is to
be, if it is not KD_MOVED yet.
"""

WRITTEN_DIRECTORIES = Table(
    "WRITTEN_DIRECTORIES",
    METADATA,
    Column("WD_TBL_ID", Id, ForeignKey(TBLS.c.TBL_ID, ondelete="CASCADE"), nullable=False),
    Column("WD_PART_ID", Id, ForeignKey(PARTITIONS.c.PART_ID, ondelete="CASCADE")),
    Column("WD_DIRECTORY", String(128), nullable=False),
    Column("WD_FILES", BigInteger, nullable=False),
    Column("WD_BYTES", BigInteger, nullable=False),
    Index("WRITTEN_DIRECTORIES_TABLE_INDEX", "WD_TBL_ID", "WD_PART_ID"),
    Index("WRITTEN_DIRECTORIES_PARTITION_INDEX", "WD_PART_ID"),
)
"""Ours: the ACID directories of committed transactions and compactions, by their names, with what
they hold, until a cleaner takes them away: so that files which get lost are missed.
"""

TAKEN_FILES = Table(
    "TAKEN_FILES",
    METADATA,
    Column("TF_TBL_ID", Id, ForeignKey(TBLS.c.TBL_ID, ondelete="CASCADE"), primary_key=True),
    Column("TF_PATH", String(4000), primary_key=True),
    Column("TF_SIZE", BigInteger, primary_key=True),
    Column("TF_MTIME", BigInteger, primary_key=True),
    Column("TF_TXNID", BigInteger, nullable=False),
    Column("TF_TIME", BigInteger, nullable=False),
)
"""Ours: the files whose rows a table has taken by COPY INTO .. ONCE; see txn.runs. TF_MTIME: in
nanoseconds; TF_TIME: when its transaction was committed, in milliseconds.
"""

KEY_CONSTRAINTS = Table(
    "KEY_CONSTRAINTS",
    METADATA,
    Column("CHILD_CD_ID", Id),
    Column("CHILD_INTEGER_IDX", Integer),
    Column("CHILD_TBL_ID", Id, ForeignKey(TBLS.c.TBL_ID, ondelete="CASCADE")),
    Column("PARENT_CD_ID", Id),
    Column("PARENT_INTEGER_IDX", Integer, nullable=False),
    Column("PARENT_TBL_ID", Id, ForeignKey(TBLS.c.TBL_ID, ondelete="CASCADE"), nullable=False),
    Column("POSITION", Integer, nullable=False),
    Column("CONSTRAINT_NAME", String(400), nullable=False),
    Column("CONSTRAINT_TYPE", Integer, nullable=False),
    Column("ENABLE_VALIDATE_RELY", Integer, nullable=False),
    Column("DEFAULT_VALUE", String(400)),
    Index("CONSTRAINTS_PARENT_TABLE_ID_INDEX", "PARENT_TBL_ID"),
    Index("CONSTRAINTS_CHILD_TABLE_ID_INDEX", "CHILD_TBL_ID"),
)


# ---- tables that transactions fill
#
# The tables of the store that transactions fill: who does what to the catalog's objects, and who
# holds or waits for what.
#
# They are Hive's, as those of the catalog (above), but for some. HL_STATEMENT is ours: what a
# statement that waits is shown. HIVE_LOCKS has no HL_HEARTBEAT_COUNT, which nothing here would
# read.


class TxnType(IntEnum):
    """TXN_TYPE, by Hive's numbers."""

    DEFAULT = 0
    COMPACTION = 3
    REBALANCE_COMPACTION = 6


TXNS = Table(
    "TXNS",
    METADATA,
    Column("TXN_ID", Id, primary_key=True),
    Column("TXN_STATE", String(1), nullable=False),
    Column("TXN_STARTED", BigInteger, nullable=False),
    Column("TXN_LAST_HEARTBEAT", BigInteger, nullable=False),
    Column("TXN_USER", String(128), nullable=False),
    Column("TXN_HOST", String(128), nullable=False),
    Column("TXN_AGENT_INFO", String(128)),
    Column("TXN_META_INFO", String(128)),
    Column("TXN_TYPE", Integer),
    Index("TXNS_STATE_INDEX", "TXN_STATE", "TXN_ID"),
    sqlite_autoincrement=True,
)

MIN_HISTORY_LEVEL = Table(
    "MIN_HISTORY_LEVEL",
    METADATA,
    Column("MHL_TXNID", Id, ForeignKey(TXNS.c.TXN_ID), primary_key=True, autoincrement=False),
    Column("MHL_MIN_OPEN_TXNID", BigInteger, nullable=False),
    Index("MIN_HISTORY_LEVEL_IDX", "MHL_MIN_OPEN_TXNID"),
)

MIN_HISTORY_WRITE_ID = Table(
    "MIN_HISTORY_WRITE_ID",
    METADATA,
    Column("MH_TXNID", Id, ForeignKey(TXNS.c.TXN_ID), primary_key=True, autoincrement=False),
    Column("MH_DATABASE", String(128), primary_key=True),
    Column("MH_TABLE", String(256), primary_key=True),
    Column("MH_WRITEID", BigInteger, nullable=False),
    Index("MIN_HISTORY_WRITE_ID_IDX", "MH_DATABASE", "MH_TABLE"),
)

READERS = Table(
    "READERS",
    METADATA,
    Column("RD_ID", BigInteger, nullable=False),
    Column("RD_DATABASE", String(128), nullable=False),
    Column("RD_TABLE", String(256), nullable=False),
    Column("RD_WRITEID", BigInteger, nullable=False),
    Column("RD_TXNS", Text, nullable=False),
    Column("RD_STARTED", BigInteger, nullable=False),
    Column("RD_LAST_HEARTBEAT", BigInteger, nullable=False),
    Column("RD_UNTIL", BigInteger, nullable=False),
    Column("RD_USER", String(128), nullable=False),
    Column("RD_HOST", String(128), nullable=False),
    Column("RD_AGENT_INFO", String(128), nullable=False),
    Column("RD_STATEMENT", Text, nullable=False),
    Index("READERS_ID_INDEX", "RD_ID"),
    Index("READERS_TABLE_INDEX", "RD_DATABASE", "RD_TABLE"),
)
"""Ours: who reads what outside of a transaction. RD_WRITEID is as MH_WRITEID; RD_TXNS the snapshot,
a ValidTxnList without the aborted ones.
"""

CLEANED_HISTORY = Table(
    "CLEANED_HISTORY",
    METADATA,
    Column("CH_DATABASE", String(128), primary_key=True),
    Column("CH_TABLE", String(256), primary_key=True),
    Column("CH_WRITEID", BigInteger, nullable=False),
)
"""Ours: up to which write id files of a table may be gone that a base has taken the place of."""

TXN_COMPONENTS = Table(
    "TXN_COMPONENTS",
    METADATA,
    Column("TC_TXNID", Id, ForeignKey(TXNS.c.TXN_ID), nullable=False),
    Column("TC_DATABASE", String(128), nullable=False),
    Column("TC_TABLE", String(256)),
    Column("TC_PARTITION", String(767)),
    Column("TC_OPERATION_TYPE", String(1), nullable=False),
    Column("TC_WRITEID", BigInteger),
    Index("TC_TXNID_INDEX", "TC_TXNID"),
)

COMPLETED_TXN_COMPONENTS = Table(
    "COMPLETED_TXN_COMPONENTS",
    METADATA,
    Column("CTC_TXNID", BigInteger, nullable=False),
    Column("CTC_DATABASE", String(128), nullable=False),
    Column("CTC_TABLE", String(256)),
    Column("CTC_PARTITION", String(767)),
    Column("CTC_TIMESTAMP", BigInteger, nullable=False),
    Column("CTC_WRITEID", BigInteger),
    Column("CTC_UPDATE_DELETE", String(1), nullable=False),
    Index("COMPLETED_TXN_COMPONENTS_IDX", "CTC_DATABASE", "CTC_TABLE", "CTC_PARTITION"),
)

TXN_TO_WRITE_ID = Table(
    "TXN_TO_WRITE_ID",
    METADATA,
    Column("T2W_TXNID", BigInteger, nullable=False),
    Column("T2W_DATABASE", String(128), nullable=False),
    Column("T2W_TABLE", String(256), nullable=False),
    Column("T2W_WRITEID", BigInteger, nullable=False),
    Index("TBL_TO_TXN_ID_IDX", "T2W_DATABASE", "T2W_TABLE", "T2W_TXNID", unique=True),
    Index("TBL_TO_WRITE_ID_IDX", "T2W_DATABASE", "T2W_TABLE", "T2W_WRITEID", unique=True),
    Index("T2W_TXNID_IDX", "T2W_TXNID"),
)

ATTACHED_NEXT = 0
"""NWI_NEXT of a table that others write: its write ids stand in its properties."""

NEXT_WRITE_ID = Table(
    "NEXT_WRITE_ID",
    METADATA,
    Column("NWI_DATABASE", String(128), primary_key=True),
    Column("NWI_TABLE", String(256), primary_key=True),
    Column("NWI_NEXT", BigInteger, nullable=False),
)

WRITE_SET = Table(
    "WRITE_SET",
    METADATA,
    Column("WS_DATABASE", String(128), nullable=False),
    Column("WS_TABLE", String(256), nullable=False),
    Column("WS_PARTITION", String(767)),
    Column("WS_TXNID", BigInteger, nullable=False),
    Column("WS_COMMIT_ID", BigInteger, nullable=False),
    Column("WS_OPERATION_TYPE", String(1), nullable=False),
    Index("WRITE_SET_IDX", "WS_DATABASE", "WS_TABLE", "WS_COMMIT_ID"),
)

AUX_TABLE = Table(
    "AUX_TABLE",
    METADATA,
    Column("MT_KEY1", String(128), primary_key=True),
    Column("MT_KEY2", BigInteger, nullable=False),
    Column("MT_COMMENT", String(255)),
)

HIVE_LOCKS = Table(
    "HIVE_LOCKS",
    METADATA,
    Column("HL_LOCK_EXT_ID", Id, primary_key=True, autoincrement=False),
    Column("HL_LOCK_INT_ID", Id, primary_key=True, autoincrement=False),
    Column("HL_TXNID", BigInteger, nullable=False),
    Column("HL_DB", String(128), nullable=False),
    Column("HL_TABLE", String(256)),
    Column("HL_PARTITION", String(767)),
    Column("HL_LOCK_STATE", String(1), nullable=False),
    Column("HL_LOCK_TYPE", String(1), nullable=False),
    Column("HL_LAST_HEARTBEAT", BigInteger, nullable=False),
    Column("HL_ACQUIRED_AT", BigInteger),
    Column("HL_USER", String(128), nullable=False),
    Column("HL_HOST", String(128), nullable=False),
    Column("HL_AGENT_INFO", String(128)),
    Column("HL_BLOCKEDBY_EXT_ID", BigInteger),
    Column("HL_BLOCKEDBY_INT_ID", BigInteger),
    Column("HL_STATEMENT", Text, nullable=False),
    Index("HL_TXNID_INDEX", "HL_TXNID"),
)

NEXT_LOCK_ID = Table("NEXT_LOCK_ID", METADATA, Column("NL_NEXT", BigInteger, nullable=False))

COMMITTED_RUNS = Table(
    "COMMITTED_RUNS",
    METADATA,
    Column("CR_RUN_ID", String(500), primary_key=True),
    Column("CR_TXNID", BigInteger, nullable=False),
    Column("CR_TIME", BigInteger, nullable=False),
    Column("CR_KEPT_UNTIL", BigInteger, nullable=False),
    Column("CR_DIGEST", String(64), nullable=False),
    Column("CR_OUTCOME", Text, nullable=False),
    Index("COMMITTED_RUNS_KEPT_INDEX", "CR_KEPT_UNTIL"),
)
"""Ours: what was committed under a name of the user's; see txn.runs. CR_OUTCOME is the counts of
rows and the write ids, as JSON. It outlives its transaction's row in TXNS.
"""

COMPACTOR_DAEMONS = Table(
    "COMPACTOR_DAEMONS",
    METADATA,
    Column("CD_ID", Id, primary_key=True),
    Column("CD_HOST", String(128), nullable=False),
    Column("CD_AGENT_INFO", String(128), nullable=False),
    Column("CD_ROLES", String(128), nullable=False),
    Column("CD_POOLS", String(4000), nullable=False),
    Column("CD_STARTED", BigInteger, nullable=False),
    Column("CD_LAST_HEARTBEAT", BigInteger, nullable=False),
)
"""Ours: the processes that compact, so that sessions leave it to them."""


# ---- tables that compactions fill
#
# The tables of the store that compactions fill: what is asked for, and what became of it.
#
# They are Hive's, as those of the catalog (above). Ours are the process that works on an
# entry and its last sign of life, how often it was taken, how often cleaning has failed, and when
# an entry is tried again (Hive's CQ_RETRY_RETENTION counts from the commit).


def _facts(prefix: str) -> list[Column[Any]]:
    """What the queue and its history both have."""
    return [
        Column(f"{prefix}_ID", Id, primary_key=True, autoincrement=False),
        Column(f"{prefix}_DATABASE", String(128), nullable=False),
        Column(f"{prefix}_TABLE", String(256), nullable=False),
        Column(f"{prefix}_PARTITION", String(767)),
        Column(f"{prefix}_STATE", String(1), nullable=False),
        Column(f"{prefix}_TYPE", String(1), nullable=False),
        Column(f"{prefix}_TBLPROPERTIES", Text),
        Column(f"{prefix}_WORKER_ID", String(128)),
        Column(f"{prefix}_WORKER_VERSION", String(128)),
        Column(f"{prefix}_ENQUEUE_TIME", BigInteger, nullable=False),
        Column(f"{prefix}_START", BigInteger),
        Column(f"{prefix}_HIGHEST_WRITE_ID", BigInteger),
        Column(f"{prefix}_ERROR_MESSAGE", Text),
        Column(f"{prefix}_TXN_ID", BigInteger),
        Column(f"{prefix}_NEXT_TXN_ID", BigInteger),
        Column(f"{prefix}_COMMIT_TIME", BigInteger),
        Column(f"{prefix}_INITIATOR_ID", String(128), nullable=False),
        Column(f"{prefix}_INITIATOR_VERSION", String(128)),
        Column(f"{prefix}_POOL_NAME", String(128)),
        Column(f"{prefix}_NUMBER_OF_BUCKETS", Integer),
        Column(f"{prefix}_ORDER_BY", Text),
    ]


COMPACTION_QUEUE = Table(
    "COMPACTION_QUEUE",
    METADATA,
    *_facts("CQ"),
    Column("CQ_WORKER_HOST", String(128)),
    Column("CQ_AGENT_INFO", String(128)),
    Column("CQ_LAST_HEARTBEAT", BigInteger),
    Column("CQ_LEASE", Integer),
    Column("CQ_CLEANING_ATTEMPTS", Integer, nullable=False),
    Column("CQ_RETRY_AFTER", BigInteger),
    Index("CQ_OBJECT_IDX", "CQ_DATABASE", "CQ_TABLE", "CQ_PARTITION"),
)

COMPLETED_COMPACTIONS = Table(
    "COMPLETED_COMPACTIONS",
    METADATA,
    *_facts("CC"),
    Column("CC_END", BigInteger, nullable=False),
    Column("CC_CLEANING_ATTEMPTS", Integer, nullable=False),
    Index("COMPLETED_COMPACTIONS_IDX", "CC_DATABASE", "CC_TABLE", "CC_PARTITION"),
)

NEXT_COMPACTION_QUEUE_ID = Table(
    "NEXT_COMPACTION_QUEUE_ID",
    METADATA,
    Column("NCQ_NEXT", BigInteger, nullable=False),
)
