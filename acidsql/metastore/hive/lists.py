"""Lists of transactions and write ids, as Hive's metastore tells and takes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from acidsql.acid.ids import NO_OPEN_WRITE_ID, TxnId, ValidTxnList, ValidWriteIdList, WriteId
from acidsql.catalog.model import TableName
from acidsql.metastore.hive.protocol import WireError


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
