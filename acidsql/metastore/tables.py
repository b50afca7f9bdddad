"""The tables of the store: Hive's metastore tables with Hive's own names, columns and codes, so
that readers who know Hive's can read them. These are the catalog's; ``txn_tables`` has the others.

Left out: columns of Hive's that nothing here would ever fill. Added: indexes that keep a
statement's cost independent of history. Times are epoch milliseconds, but ``CREATE_TIME`` and
``LAST_ANALYZED``, which are in seconds as in Hive. A change of them is another version of
the schema (see schema).
"""

from __future__ import annotations

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
"""Ours: the files whose rows a table has taken by COPY INTO .. ONCE; see txn.taken. TF_MTIME: in
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
