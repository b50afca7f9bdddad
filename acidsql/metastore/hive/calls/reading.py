"""The calls that only read of Hive's metastore, as data: what is sent, what is read of the answer.
Names and numbers are those of the service's interface, which Hive 3.1 and 4 share for all of these.
Of structs only the fields that are looked at are named.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from acidsql.acid.ids import NO_OPEN_WRITE_ID, TxnId, ValidTxnList, ValidWriteIdList, WriteId
from acidsql.catalog.model import TableName
from acidsql.lazy import dataclass
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
    WireError,
)

# ---- how calls are declared
#
# How the calls of Hive's metastore are declared: names and numbers are those of the service's
# interface.


ALREADY_EXISTS = "AlreadyExistsException"
INVALID_OBJECT = "InvalidObjectException"
INVALID_OPERATION = "InvalidOperationException"
META_EXCEPTION = "MetaException"
NO_SUCH_LOCK = "NoSuchLockException"
NO_SUCH_OBJECT = "NoSuchObjectException"
NO_SUCH_TXN = "NoSuchTxnException"
TXN_ABORTED = "TxnAbortedException"
TXN_OPEN = "TxnOpenException"


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """``result``: None of one that gives nothing back. ``errors``: the exceptions that it declares,
    by their number in an answer.
    """

    name: str
    arguments: Struct
    result: Kind | None
    errors: Mapping[int, str]

    @property
    def answer(self) -> Struct:
        result = {} if self.result is None else {0: ("success", self.result)}
        errors = {number: (name, ERROR) for number, name in self.errors.items()}
        return Struct(fields={**result, **errors})


def struct_of(**fields: tuple[int, Kind]) -> Struct:
    """The kind of a struct with these fields, each by its number."""
    return Struct(fields={number: (name, kind) for name, (number, kind) in fields.items()})


TEXTS = ListOf(item=TEXT)
ERROR = struct_of(message=(1, TEXT))
FAILURE = struct_of(message=(1, TEXT), type=(2, I32))
"""What a server answers where a method fails in a way that it does not declare."""
FIELD_SCHEMA = struct_of(name=(1, TEXT), type=(2, TEXT), comment=(3, TEXT))
TEXT_MAP = MapOf(key=TEXT, value=TEXT)
IDS = ListOf(item=I64)
CONTEXT = struct_of(properties=(1, TEXT_MAP))


def method(
    name: str, result: Kind | None, /, *errors: str, **arguments: tuple[int, Kind]
) -> Method:
    """A method whose ``errors`` are numbered in their order."""
    return Method(
        name=name,
        arguments=struct_of(**arguments),
        result=result,
        errors=dict(enumerate(errors, start=1)),
    )


# ---- reading


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


# ---- lists of transactions
#
# Lists of transactions and write ids, as Hive's metastore tells and takes them.


def txn_list(answered: dict[str, Any], txn_id: TxnId | None = None) -> ValidTxnList:
    """The transactions that are valid for ``txn_id`` by an answer of ``get_open_txns``: none that
    began later. Hive: TxnCommonUtils.createValidReadTxnList.
    """
    still_open, aborted = _told_apart(answered, "open_txns")
    high_watermark = TxnId(_required(answered, "txn_high_water_mark"))
    if txn_id is None:
        return ValidTxnList(
            high_watermark=high_watermark,
            open=tuple(map(TxnId, still_open)),
            aborted=tuple(map(TxnId, aborted)),
        )
    return ValidTxnList(
        high_watermark=min(high_watermark, txn_id),
        open=tuple(TxnId(one) for one in still_open if one < txn_id),
        aborted=tuple(TxnId(one) for one in aborted if one < txn_id),
    )


def write_id_lists(
    answered: dict[str, Any], names: Sequence[TableName]
) -> dict[TableName, ValidWriteIdList]:
    """The valid write ids of these tables by an answer of ``get_valid_write_ids``. WireError if
    it is about others.
    """
    by_name = {one.get("fullTableName"): one for one in answered.get("tblValidWriteIds", [])}
    if by_name.keys() != set(map(str, names)):
        raise WireError(f"it tells write ids of other tables than {', '.join(map(str, names))}")
    return {name: _write_ids(str(name), by_name[str(name)]) for name in names}


def _write_ids(table: str, answered: dict[str, Any]) -> ValidWriteIdList:
    still_open, aborted = _told_apart(answered, "invalidWriteIds")
    return ValidWriteIdList(
        table=table,
        high_watermark=WriteId(_required(answered, "writeIdHighWaterMark")),
        open=tuple(map(WriteId, still_open)),
        aborted=tuple(map(WriteId, aborted)),
    )


def plain_text(txns: ValidTxnList) -> str:
    """The list as Hive 3 reads it: without runs. Hive: ValidReadTxnList."""
    lists = (_joined(ids) for ids in (txns.open, txns.aborted))
    lowest = NO_OPEN_WRITE_ID if txns.min_open is None else txns.min_open
    return ":".join([str(txns.high_watermark), str(lowest), *lists])


def _joined(ids: Iterable[int]) -> str:
    return ",".join(map(str, ids))


def _told_apart(answered: dict[str, Any], key: str) -> tuple[list[int], list[int]]:
    """The open and the aborted ids. Bit ``i`` of the bytes ``abortedBits`` is that of the id at
    ``i``, the lowest bit of a byte first; bytes of zeros at the end are left out. Hive: BitSet.
    """
    ids, bits = _required(answered, key), _required(answered, "abortedBits")
    size = 8 * len(bits)
    aborted = [one for at, one in enumerate(ids) if at < size and bits[at >> 3] >> (at & 7) & 1]
    return sorted(set(ids) - set(aborted)), sorted(aborted)


def _required(answered: dict[str, Any], key: str) -> Any:
    if key not in answered:
        raise WireError(f'its answer has no "{key}"')
    return answered[key]
