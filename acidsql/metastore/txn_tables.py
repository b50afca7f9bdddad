"""The tables of the store that transactions fill: who does what to the catalog's objects, and who
holds or waits for what.

They are Hive's, as those of the catalog (see tables), but for some. HL_STATEMENT is ours: what a
statement that waits is shown. HIVE_LOCKS has no HL_HEARTBEAT_COUNT, which nothing here would read.
"""

from __future__ import annotations

from enum import IntEnum

from acidsql.metastore.sql import (
    BigInteger,
    Column,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    Text,
)
from acidsql.metastore.tables import METADATA, Id


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
