"""Tables that others write and that are attached for reading: what their properties say of them.

Which write ids count was settled when the table was attached, and stands in its properties in
Hive's text, so that every statement sees the same rows.
"""

from __future__ import annotations

from collections.abc import Iterable

from acidsql.acid.ids import WriteId
from acidsql.acid.write_ids import ValidTxnList, ValidWriteIdList
from acidsql.catalog.model import Table
from acidsql.errors import BindError, Span
from acidsql.lazy_dataclass import dataclass

ATTACHED = "acidsql.attached"
"""How: ``read only``."""
WRITE_IDS = "acidsql.attached.write.ids"
"""A ValidWriteIdList."""
TXNS = "acidsql.attached.txns"
"""A ValidTxnList: the transactions of compactions whose results are read."""
ASSUMED = "acidsql.attached.assumed"
"""What the user said of write ids of which the directories prove nothing."""
SOURCE = "acidsql.attached.source"
"""The dump that told it."""
READ_ONLY = "read only"


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumed:
    """ASSUME COMMITTED [(ids) | EXCEPT (ids)]: ``committed``: the ids that are, None for all but
    the ``aborted`` ones. ``span``: of the clause.
    """

    committed: tuple[WriteId, ...] | None
    aborted: tuple[WriteId, ...]
    span: Span

    def __str__(self) -> str:
        if self.committed is not None:
            return f"COMMITTED ({_listed(self.committed)})"
        return f"COMMITTED EXCEPT ({_listed(self.aborted)})" if self.aborted else "COMMITTED"

    def takes(self, write_id: WriteId) -> bool:
        if self.committed is not None:
            return write_id in self.committed
        return write_id not in self.aborted


def _listed(ids: Iterable[int]) -> str:
    return ", ".join(map(str, ids))


def is_attached(table: Table) -> bool:
    return ATTACHED in table.properties


def attached_write_ids(table: Table) -> ValidWriteIdList | None:
    """The write ids of an attached table that count; None for a table of this warehouse's own."""
    text = table.properties.get(WRITE_IDS)
    return None if text is None else ValidWriteIdList.parse(text)


def attached_txns(table: Table) -> ValidTxnList | None:
    """The transactions whose compactions are read; None for a table of this warehouse's own."""
    text = table.properties.get(TXNS)
    return None if text is None else ValidTxnList.parse(text)


def check_not_attached(table: Table, span: Span | None = None) -> None:
    """Raises BindError for a table whose files and definition are somebody else's."""
    if is_attached(table):
        raise BindError(
            f"table {table.name} is attached read only",
            hint=(
                "Others write it. CREATE TABLE .. AS SELECT makes a table of its rows; DETACH TABLE"
                " lets go of it."
            ),
            span=span,
        )
