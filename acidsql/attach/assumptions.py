"""Which write ids of an attached table count: what its directories prove, and what the user says of
the others. Nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from operator import itemgetter

from acidsql.acid.ids import CONVERSION_SEED, TxnId, ValidTxnList, ValidWriteIdList, WriteId
from acidsql.attach.examination import Examined
from acidsql.catalog.attached import Assumed, listed
from acidsql.errors import BindError, Span

_KEPT = 10_000
"""The most write ids without a directory that an attached table has in its list."""
_SHOWN = 8
"""How many write ids, or lines, are shown one by one."""


def check_known(assumed: Assumed | None, examined: Examined) -> None:
    """Raises BindError for a write id that is named and that no directory is about."""
    if assumed is None:
        return
    named = (*(assumed.committed or ()), *assumed.aborted)
    unknown = [write_id for write_id in named if write_id not in examined.unproven]
    if unknown:
        raise BindError(
            f"no directory asks about write id {unknown[0]}",
            hint=f"In question are: {_shown(tuple(examined.unproven))}."
            if examined.unproven
            else "The directories prove all of them.",
            span=assumed.span,
        )


def undecided_error(examined: Examined, location: str, span: Span) -> BindError:
    """What is asked where directories could be of transactions that were aborted or are open."""
    return BindError(
        f'write ids of "{location}" could be of transactions that were aborted, or are open:'
        f" {_shown(tuple(examined.unproven))}",
        detail="\n".join(question_lines(examined.unproven)),
        hint=(
            "Say which count: ASSUME COMMITTED (all of them), ASSUME COMMITTED (1, 4), or ASSUME"
            " COMMITTED EXCEPT (2, 3). Hive's metastore knows: TXN_TO_WRITE_ID and TXNS; in Hive"
            " SHOW TRANSACTIONS."
        ),
        span=span,
    )


def question_lines(unproven: Mapping[WriteId, Sequence[str]]) -> list[str]:
    """A line for each write id in question, with its directories."""
    return shortened(
        [f"{one}: {', '.join(paths) or 'no directory'}" for one, paths in unproven.items()]
    )


def shortened(lines: Sequence[str]) -> list[str]:
    """The first lines, and how many more there are."""
    more = len(lines) - _SHOWN
    return list(lines) if more <= 0 else [*lines[:_SHOWN], f"and {more} more"]


def valid_write_ids(name: str, examined: Examined, assumed: Assumed | None) -> ValidWriteIdList:
    """The list of an attached table; ``name``: ``db.table``. What is not committed counts as
    aborted, so that compactions above it can be read. So does an id that no directory is about: its
    transaction may be open, and nobody was asked about what it writes later.
    """
    aborted = [
        write_id for write_id in examined.unproven if assumed is None or not assumed.takes(write_id)
    ]
    return ValidWriteIdList(
        table=name, high_watermark=examined.highest, aborted=(*aborted, *_unseen(examined))
    )


def _unseen(examined: Examined) -> Iterator[WriteId]:
    """The write ids that no directory is about, the highest ones first and no more than are kept:
    what is open is among the last that were given out.
    """
    proven = (pair for one in examined.evidence.values() for pair in one.proven)
    asked = ((write_id, write_id) for write_id in examined.unproven)
    top = examined.highest
    least = CONVERSION_SEED if top > CONVERSION_SEED else 0
    unseen: list[Iterable[int]] = []
    for low, high in sorted((*proven, *asked), key=itemgetter(1), reverse=True):
        unseen.append(range(top, max(high, least), -1))
        top = WriteId(min(top, low - 1))
    unseen.append(range(top, least, -1))
    return map(WriteId, islice(chain.from_iterable(unseen), _KEPT))


def valid_txns(examined: Examined) -> ValidTxnList:
    """The transactions of compactions whose results are read."""
    return ValidTxnList(
        high_watermark=TxnId(examined.highest_txn), aborted=tuple(examined.unfinished)
    )


def _shown(ids: Sequence[int]) -> str:
    more = len(ids) - _SHOWN
    return listed(ids) if more <= 0 else f"{listed(ids[:_SHOWN])} and {more} more"
