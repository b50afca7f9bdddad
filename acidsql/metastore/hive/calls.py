"""The calls that are made of Hive's metastore, as data: what is sent, what is read of the answer.
Names and numbers are those of the service's interface, which Hive 3.1 and 4 share for all of these.
Of structs only the fields that are looked at are named.
"""

from __future__ import annotations

from collections.abc import Mapping

from acidsql.lazy_dataclass import dataclass
from acidsql.metastore.hive.protocol import (
    BINARY,
    I16,
    I32,
    I64,
    TEXT,
    Kind,
    ListOf,
    MapOf,
    Struct,
)

INSERT_ONLY_TABLES = 2
"""The capability without which insert-only tables are not told of."""
NO_LIMIT = -1

META_EXCEPTION = "MetaException"
NO_SUCH_OBJECT = "NoSuchObjectException"
NO_SUCH_TXN = "NoSuchTxnException"


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """``errors``: the exceptions that it declares, by their number in an answer."""

    name: str
    arguments: Struct
    result: Kind
    errors: Mapping[int, str]

    @property
    def answer(self) -> Struct:
        errors = {number: (name, ERROR) for number, name in self.errors.items()}
        return Struct(fields={0: ("success", self.result), **errors})


def _struct(**fields: tuple[int, Kind]) -> Struct:
    return Struct(fields={number: (name, kind) for name, (number, kind) in fields.items()})


TEXTS = ListOf(item=TEXT)
ERROR = _struct(message=(1, TEXT))
FAILURE = _struct(message=(1, TEXT), type=(2, I32))
"""What a server answers where a method fails in a way that it does not declare."""

FIELD_SCHEMA = _struct(name=(1, TEXT), type=(2, TEXT), comment=(3, TEXT))
STORAGE = _struct(
    cols=(1, ListOf(item=FIELD_SCHEMA)),
    location=(2, TEXT),
    inputFormat=(3, TEXT),
    numBuckets=(6, I32),
    serdeInfo=(7, _struct(serializationLib=(2, TEXT))),
    bucketCols=(8, TEXTS),
    sortCols=(9, ListOf(item=_struct(col=(1, TEXT), order=(2, I32)))),
)
TABLE = _struct(
    tableName=(1, TEXT),
    dbName=(2, TEXT),
    createTime=(4, I32),
    sd=(7, STORAGE),
    partitionKeys=(8, ListOf(item=FIELD_SCHEMA)),
    parameters=(9, MapOf(key=TEXT, value=TEXT)),
    tableType=(12, TEXT),
    id=(25, I64),
)
PARTITION = _struct(
    values=(1, TEXTS),
    sd=(6, _struct(location=(2, TEXT), inputFormat=(3, TEXT))),
)
VALID_WRITE_IDS = _struct(
    fullTableName=(1, TEXT),
    writeIdHighWaterMark=(2, I64),
    invalidWriteIds=(3, ListOf(item=I64)),
    abortedBits=(5, BINARY),
)

SET_UGI = Method(
    name="set_ugi",
    arguments=_struct(user_name=(1, TEXT), group_names=(2, TEXTS)),
    result=TEXTS,
    errors={1: META_EXCEPTION},
)
GET_TABLE = Method(
    name="get_table_req",
    arguments=_struct(
        req=(
            1,
            _struct(
                dbName=(1, TEXT),
                tblName=(2, TEXT),
                capabilities=(3, _struct(values=(1, ListOf(item=I32)))),
                catName=(4, TEXT),
            ),
        )
    ),
    result=_struct(table=(1, TABLE)),
    errors={1: META_EXCEPTION, 2: NO_SUCH_OBJECT},
)
GET_OPEN_TXNS = Method(
    name="get_open_txns",
    arguments=_struct(),
    result=_struct(
        txn_high_water_mark=(1, I64), open_txns=(2, ListOf(item=I64)), abortedBits=(4, BINARY)
    ),
    errors={},
)
GET_VALID_WRITE_IDS = Method(
    name="get_valid_write_ids",
    arguments=_struct(rqst=(1, _struct(fullTableNames=(1, TEXTS), validTxnList=(2, TEXT)))),
    result=_struct(tblValidWriteIds=(1, ListOf(item=VALID_WRITE_IDS))),
    errors={1: NO_SUCH_TXN, 2: META_EXCEPTION},
)
GET_PARTITION_NAMES = Method(
    name="get_partition_names",
    arguments=_struct(db_name=(1, TEXT), tbl_name=(2, TEXT), max_parts=(3, I16)),
    result=TEXTS,
    errors={1: NO_SUCH_OBJECT, 2: META_EXCEPTION},
)
GET_PARTITIONS = Method(
    name="get_partitions_by_names",
    arguments=_struct(db_name=(1, TEXT), tbl_name=(2, TEXT), names=(3, TEXTS)),
    result=ListOf(item=PARTITION),
    errors={1: META_EXCEPTION, 2: NO_SUCH_OBJECT, 3: "InvalidObjectException"},
)
