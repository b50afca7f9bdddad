"""Tables that others write and that are attached for reading, or that were until they were adopted:
what their properties say of them.

Which write ids count stands in its properties in Hive's text. It was settled when the table was
attached, or is what a source told last that is asked for each statement.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import overload

from acidsql.acid.ids import NO_OPEN_WRITE_ID, TxnId, ValidTxnList, ValidWriteIdList, WriteId
from acidsql.catalog.model import Partition, Table
from acidsql.catalog.statistics import Filled
from acidsql.errors import BindError, FormatError, Span
from acidsql.lazy import dataclass

ATTACHED = "acidsql.attached"
"""How: ``read only`` or ``overlay``."""
WRITE_IDS = "acidsql.attached.write.ids"
"""A ValidWriteIdList."""
TXNS = "acidsql.attached.txns"
"""A ValidTxnList: the transactions of compactions whose results are read."""
ASSUMED = "acidsql.attached.assumed"
"""What the user said of write ids of which the directories prove nothing."""
SOURCE = "acidsql.attached.source"
"""What told it: the path of a dump, or the URL of a metastore or its database, without a
password.
"""
OLD_EVENTS = "acidsql.attached.acid.version"
"""``1``: files hold update and delete events beside inserts, as those of Hive before version 3."""
TABLE_ID = "acidsql.attached.table.id"
"""Hive's TBL_ID, or when it was created where the metastore tells no id."""
HIVE_LOCATION = "acidsql.attached.hive.location"
"""Where Hive has it, if a metastore told."""
ASKED = "acidsql.attached.asked"
"""When a source that is asked again and again was asked last, by its clock, or by that of this
warehouse's metastore if it has none; epoch milliseconds.
"""
UNFINISHED = "acidsql.attached.unfinished"
"""The transactions of compactions that never committed, as directories told; by commas."""
DATABASES = {
    "postgresql": "postgresql",
    "postgresql+psycopg": "postgresql",
    "postgres": "postgresql",
    "mysql": "mysql",
    "mysql+pymysql": "mysql",
    "mariadb": "mysql",
}
"""The schemes of the URLs of databases that can be asked, and what each means."""
SERVICE = "thrift"
"""The scheme of the URL of a metastore's service."""
READ_ONLY = "read only"
OVERLAY = "overlay"
FROM = "acidsql.attached.from"
"""The directory of others that an overlay, or a partition of one, lies over."""
PINNED = "acidsql.attached.pinned"
"""What of that directory is read: a ``Pinned`` without its location."""
ADOPTED = "acidsql.attached.adopted"
"""The highest write id of others, of a table that was attached and is this warehouse's own now."""
ON_ITS_WAY = "acidsql.migrating"
"""The property of a table that is attached because it moves to a Hive metastore, or from one:
``to`` or ``from``, and what tells that metastore from any other.
"""
MOVED = "acidsql.attached.moved"
"""Where directories of Hive lie here, by where they lie there, if not at the same place; JSON."""

ONLY_MINOR = "a base of it would be a copy of the table of others; COMPACT 'minor' merges changes"
"""Why an overlay is compacted in no other way."""

_ANY_TXN = TxnId(NO_OPEN_WRITE_ID)


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
            return f"COMMITTED ({listed(self.committed)})"
        return f"COMMITTED EXCEPT ({listed(self.aborted)})" if self.aborted else "COMMITTED"

    def takes(self, write_id: WriteId) -> bool:
        if self.committed is not None:
            return write_id in self.committed
        return write_id not in self.aborted


def listed(ids: Iterable[int]) -> str:
    """Returns ids as a statement has them: ``1, 4``."""
    return ", ".join(map(str, ids))


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinned:
    """What an overlay reads of a directory of others at ``location``. ``directories``: the names of
    the ACID directories in it; original files have none. ``filled``: the files that are read.
    """

    location: str
    directories: tuple[str, ...]
    filled: Filled

    def properties(self) -> dict[str, str]:
        """The properties of the table or partition that has it."""
        texts = (str(self.filled.files), str(self.filled.bytes), *self.directories)
        return {FROM: self.location, PINNED: " ".join(texts)}


def pinned_of(of: Table | Partition) -> Pinned | None:
    """What an overlay, or a partition of it, reads of others; None for a partition that is the
    overlay's alone, and for any other table.
    """
    location, text = of.properties.get(FROM), of.properties.get(PINNED)
    if location is None or text is None:
        return None
    try:
        files, size, *names = text.split(" ")
        filled = Filled(int(files), int(size))
    except ValueError as error:
        raise FormatError(f'property "{PINNED}" is not as it must be: {text}') from error
    return Pinned(location=location, directories=tuple(names), filled=filled)


def is_attached(table: Table) -> bool:
    """Whether others write the table, and nobody here."""
    return table.properties.get(ATTACHED) == READ_ONLY


def is_overlay(table: Table) -> bool:
    """Whether it is a table of this warehouse over one of others: what they have written is read at
    their location, as of when it was attached, and changes lie at its own.
    """
    return table.properties.get(ATTACHED) == OVERLAY


def is_database(source: str) -> bool:
    """Whether a source is the URL of a database that can be asked."""
    return _scheme(source) in DATABASES


def is_service(source: str) -> bool:
    """Whether a source is the URL of a metastore's service."""
    return _scheme(source) == SERVICE


def is_metastore(source: str) -> bool:
    """Whether a source is a metastore that can be asked at any time, by its database or itself."""
    return is_database(source) or is_service(source)


def _scheme(source: str) -> str | None:
    scheme, separator, _ = source.partition("://")
    return scheme.strip().lower() if separator else None


def is_live(table: Table) -> bool:
    """Whether what counts is asked anew for each statement."""
    return is_attached(table) and is_metastore(table.properties.get(SOURCE, ""))


def unfinished_txns(table: Table) -> tuple[TxnId, ...]:
    """The transactions of compactions that directories told never to have committed."""
    text = table.properties.get(UNFINISHED, "")
    return tuple(TxnId(int(one)) for one in text.split(",") if one)


def moved_directories(table: Table) -> dict[str, str]:
    """Where directories of Hive lie here, by where they lie there; {}: all at the same place."""
    text = table.properties.get(MOVED)
    moved: dict[str, str] = {} if text is None else json.loads(text)
    return moved


def attached_write_ids(table: Table) -> ValidWriteIdList | None:
    """The write ids of others that count, of an attached table or an overlay; None for a table of
    this warehouse's own.
    """
    text = table.properties.get(WRITE_IDS)
    return None if text is None else ValidWriteIdList.parse(text)


@overload
def seen_txns(table: Table, txns: ValidTxnList) -> ValidTxnList: ...


@overload
def seen_txns(table: Table, txns: ValidTxnList | None = None) -> ValidTxnList | None: ...


def seen_txns(table: Table, txns: ValidTxnList | None = None) -> ValidTxnList | None:
    """The transactions whose compactions of a table are read, by who sees ``txns`` of the store;
    None: all.

    A number in the name of a directory of others is one of their transactions, and what the store
    knows of its own one of that number says nothing: its own compactions of an adopted table have
    higher ones.
    """
    text = table.properties.get(TXNS)
    if text is None or is_overlay(table):  # whose own directories are of nobody else
        return txns
    of_others = ValidTxnList.parse(text)
    if is_attached(table):
        return of_others
    if txns is None:
        return replace(of_others, high_watermark=_ANY_TXN) if of_others.aborted else None
    top = of_others.high_watermark
    return ValidTxnList(
        high_watermark=max(top, txns.high_watermark),
        open=tuple(txn for txn in txns.open if txn > top),
        aborted=(*of_others.aborted, *(txn for txn in txns.aborted if txn > top)),
    )


def adopted_up_to(table: Table) -> WriteId:
    """The highest write id of others of an adopted table; 0 for any other table."""
    return WriteId(int(table.properties.get(ADOPTED, 0)))


def check_not_attached(table: Table, span: Span | None = None) -> None:
    """Raises BindError for a table whose files and definition are somebody else's."""
    if is_attached(table):
        raise BindError(
            f"table {table.name} is attached read only",
            hint=(
                "Others write it. CREATE TABLE .. AS SELECT makes a table of its rows. ADOPT TABLE"
                " makes it one of this warehouse, once nobody else writes it."
            ),
            span=span,
        )


def check_not_on_its_way(table: Table) -> None:
    """Raises BindError for a table of which another metastore may know by now."""
    if ON_ITS_WAY in table.properties:
        raise BindError(
            f"table {table.name} is on its way {table.properties[ON_ITS_WAY].partition(' ')[0]} a"
            " Hive metastore",
            hint=(
                "acidsql migrate, run again as it was, goes on with that; with --undo it gives back"
                " what was to go there."
            ),
        )


def txns_below(table: Table) -> ValidTxnList | None:
    """The transactions of others whose compactions an overlay reads."""
    text = table.properties.get(TXNS)
    return None if text is None else ValidTxnList.parse(text)


def with_attached(of_others: ValidWriteIdList, own: ValidWriteIdList) -> ValidWriteIdList:
    """The write ids of an overlay: others' up to their high watermark, its own above."""
    top = of_others.high_watermark
    if own.high_watermark <= top:  # of a snapshot of the past
        return of_others.up_to(own.high_watermark)
    return ValidWriteIdList(
        table=own.table,
        high_watermark=own.high_watermark,
        open=(*of_others.open, *(one for one in own.open if one > top)),
        aborted=(*of_others.aborted, *(one for one in own.aborted if one > top)),
    )


def check_no_overlay(table: Table, what: str, span: Span | None = None) -> None:
    """Raises BindError where something would change more of an overlay than its rows. ``what``: the
    end of a sentence about it.
    """
    if is_overlay(table):
        raise BindError(
            f"table {table.name} is an overlay: {what}",
            hint=(
                "Its rows can be changed, and DETACH TABLE throws the changes away. CREATE TABLE .."
                " AS SELECT makes a table of its rows."
            ),
            span=span,
        )
