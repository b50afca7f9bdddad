"""The calls that only read of Hive's metastore, as data: what is sent, what is read of the answer.
Names and numbers are those of the service's interface, which Hive 3.1 and 4 share for all of these.
Of structs only the fields that are looked at are named.
"""

from __future__ import annotations

from acidsql.metastore.hive.calls.declaring import (
    FIELD_SCHEMA,
    IDS,
    INVALID_OBJECT,
    META_EXCEPTION,
    NO_SUCH_OBJECT,
    NO_SUCH_TXN,
    TEXT_MAP,
    TEXTS,
    method,
    struct_of,
)
from acidsql.metastore.hive.protocol import BINARY, I16, I32, I64, TEXT, ListOf

INSERT_ONLY_TABLES = 2
"""The capability without which insert-only tables are not told of."""
NO_LIMIT = -1

STORAGE = struct_of(
    cols=(1, ListOf(item=FIELD_SCHEMA)),
    location=(2, TEXT),
    inputFormat=(3, TEXT),
    numBuckets=(6, I32),
    serdeInfo=(7, struct_of(serializationLib=(2, TEXT))),
    bucketCols=(8, TEXTS),
    sortCols=(9, ListOf(item=struct_of(col=(1, TEXT), order=(2, I32)))),
)
TABLE = struct_of(
    tableName=(1, TEXT),
    dbName=(2, TEXT),
    createTime=(4, I32),
    sd=(7, STORAGE),
    partitionKeys=(8, ListOf(item=FIELD_SCHEMA)),
    parameters=(9, TEXT_MAP),
    tableType=(12, TEXT),
    id=(25, I64),
)
PARTITION = struct_of(
    values=(1, TEXTS),
    sd=(6, struct_of(location=(2, TEXT), inputFormat=(3, TEXT))),
)
VALID_WRITE_IDS = struct_of(
    fullTableName=(1, TEXT),
    writeIdHighWaterMark=(2, I64),
    invalidWriteIds=(3, IDS),
    abortedBits=(5, BINARY),
)

SET_UGI = method("set_ugi", TEXTS, META_EXCEPTION, user_name=(1, TEXT), group_names=(2, TEXTS))
GET_TABLE = method(
    "get_table_req",
    struct_of(table=(1, TABLE)),
    META_EXCEPTION,
    NO_SUCH_OBJECT,
    req=(
        1,
        struct_of(
            dbName=(1, TEXT),
            tblName=(2, TEXT),
            capabilities=(3, struct_of(values=(1, ListOf(item=I32)))),
            catName=(4, TEXT),
        ),
    ),
)
GET_OPEN_TXNS = method(
    "get_open_txns",
    struct_of(txn_high_water_mark=(1, I64), open_txns=(2, IDS), abortedBits=(4, BINARY)),
)
GET_VALID_WRITE_IDS = method(
    "get_valid_write_ids",
    struct_of(tblValidWriteIds=(1, ListOf(item=VALID_WRITE_IDS))),
    NO_SUCH_TXN,
    META_EXCEPTION,
    rqst=(1, struct_of(fullTableNames=(1, TEXTS), validTxnList=(2, TEXT))),
)
GET_PARTITION_NAMES = method(
    "get_partition_names",
    TEXTS,
    NO_SUCH_OBJECT,
    META_EXCEPTION,
    db_name=(1, TEXT),
    tbl_name=(2, TEXT),
    max_parts=(3, I16),
)
GET_PARTITIONS = method(
    "get_partitions_by_names",
    ListOf(item=PARTITION),
    META_EXCEPTION,
    NO_SUCH_OBJECT,
    INVALID_OBJECT,
    db_name=(1, TEXT),
    tbl_name=(2, TEXT),
    names=(3, TEXTS),
)
GET_VERSION = method("getVersion", TEXT)
GET_CONFIG_VALUE = method(
    "get_config_value", TEXT, "ConfigValSecurityException", name=(1, TEXT), defaultValue=(2, TEXT)
)
