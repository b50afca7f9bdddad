"""The tables of the store that compactions fill: what is asked for, and what became of it.

They are Hive's, as those of the catalog (see tables). Ours are the process that works on an entry
and its last sign of life, how often it was taken, how often cleaning has failed, and when an entry
is tried again (Hive's CQ_RETRY_RETENTION counts from the commit).
"""

from __future__ import annotations

from typing import Any

from acidsql.metastore.sql import BigInteger, Column, Index, Integer, String, Table, Text
from acidsql.metastore.tables import METADATA, Id


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
