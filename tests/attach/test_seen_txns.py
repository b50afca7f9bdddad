"""Which compactions of an adopted table are seen: those of others by what was known of them, ours
by the store, though both may have the same numbers.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from acidsql.acid.ids import TxnId, ValidTxnList
from acidsql.catalog.attached import ADOPTED, ATTACHED, READ_ONLY, TXNS, seen_txns
from acidsql.catalog.model import Table, TableName

IDS = st.integers(1, 20).map(TxnId)
LISTS = st.builds(
    lambda top, still_open, aborted: ValidTxnList(
        high_watermark=top,
        open=tuple(i for i in still_open if i <= top),
        aborted=tuple(i for i in aborted if i <= top),
    ),
    IDS,
    st.lists(IDS, max_size=4),
    st.lists(IDS, max_size=4),
)


def table(properties: dict[str, str]) -> Table:
    return Table(name=TableName("default", "t"), columns=(), location="/t", properties=properties)


@given(of_others=LISTS, ours=LISTS, txn_id=IDS)
def test_each_number_is_judged_by_whose_it_is(
    of_others: ValidTxnList, ours: ValidTxnList, txn_id: TxnId
) -> None:
    """Up to the highest of others by their list, above it by ours; an attached table knows theirs
    alone, one of this warehouse ours alone.
    """
    aborted = ValidTxnList(high_watermark=of_others.high_watermark, aborted=of_others.exceptions)
    adopted = table({TXNS: str(aborted), ADOPTED: "3"})
    is_theirs = txn_id <= aborted.high_watermark
    judged = aborted if is_theirs else ours
    assert seen_txns(adopted, ours).is_valid(txn_id) == judged.is_valid(txn_id)
    assert seen_txns(adopted, ours).is_aborted(txn_id) == judged.is_aborted(txn_id)
    every = seen_txns(adopted)
    assert (every is None or every.is_valid(txn_id)) == (txn_id not in aborted.aborted)
    attached = table({TXNS: str(aborted), ATTACHED: READ_ONLY})
    assert seen_txns(attached, ours) == seen_txns(attached) == aborted
    assert seen_txns(table({}), ours) is ours
    assert seen_txns(table({})) is None
