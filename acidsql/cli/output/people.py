"""What SHOW tells of transactions, locks and compactions, as people read it on a terminal: times as
dates and times of day there, and what is asked for most in front, in as many columns as the screen
holds. Everywhere else these rows are Hive's, with their epoch milliseconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from acidsql.lazy import dataclass
from acidsql.rendering.formats import Column, Layout, Row, fitted, needs_of

_NEVER = "-"
_LEAST = 3
"""The columns that are shown however narrow the screen is."""


def _moment(milliseconds: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(milliseconds / 1000))


def _span(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.1f} s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """``first``: the columns in front, behind which the others come in Hive's order; ``times``:
    how numbers of columns are shown.
    """

    first: tuple[str, ...]
    times: Mapping[str, Callable[[int], str]]


_TRANSACTION = Picture(
    first=("txnid", "state", "startedtime", "lastheartbeattime", "user", "host"),
    times={"startedtime": _moment, "lastheartbeattime": _moment},
)
_PICTURES: Mapping[str, Picture] = {
    "SHOW COMPACTIONS": Picture(
        first=(
            "compactionid", "tabname", "partname", "type", "state", "enqueuetime", "duration",
            "dbname", "errormessage", "starttime", "committime",
        ),
        times={
            "enqueuetime": _moment,
            "starttime": _moment,
            "committime": _moment,
            "duration": _span,
        },
    ),
    "SHOW LOCKS": Picture(
        first=(
            "lockid", "table", "partition", "lock_state", "lock_type", "transaction_id",
            "acquired_at", "database", "blocked_by", "user", "hostname", "last_heartbeat",
        ),
        times={"last_heartbeat": _moment, "acquired_at": _moment},
    ),
    "SHOW TRANSACTIONS": _TRANSACTION,
    "SHOW TRANSACTION": Picture(
        first=("txnid", "state", "reason", "tables", "startedtime", "lastheartbeattime"),
        times=_TRANSACTION.times,
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Pictured:
    """Columns and rows as they are shown; ``of`` how many columns there are."""

    columns: Sequence[Column]
    rows: Sequence[Row]
    of: int

    @property
    def is_cut(self) -> bool:
        return len(self.columns) < self.of


def pictured(
    statement: str, columns: Sequence[Column], rows: Sequence[Row], layout: Layout
) -> Pictured:
    """The rows of a statement that has a picture. ``layout.screen``: as many columns of a table as
    it holds, None for all.
    """
    picture = _PICTURES[statement]
    names = [column.name for column in columns]
    order = [names.index(name) for name in picture.first]
    order += [at for at in range(len(names)) if at not in order]
    texts = [[_text(picture, names[at], row[at]) for at in order] for row in rows]
    ordered = [columns[at] for at in order]
    kept = len(order) if layout.screen is None else _fitting(ordered, texts, layout)
    return Pictured(columns=ordered[:kept], rows=[row[:kept] for row in texts], of=len(order))


def has_picture(statement: str) -> bool:
    return statement in _PICTURES


def _text(picture: Picture, name: str, value: str | None) -> str | None:
    show = picture.times.get(name)
    if show is None or value is None or not value.isdigit():
        return value
    return _NEVER if value == "0" and show is _moment else show(int(value))


def _fitting(columns: Sequence[Column], rows: Sequence[Row], layout: Layout) -> int:
    """How many columns the screen holds, none of them cut but the last ones of the few that are
    shown anyway.
    """
    assert layout.screen is not None
    needs = [one._replace(least=one.natural) for one in needs_of(columns, rows, layout)]
    for count in range(len(needs), _LEAST, -1):
        if fitted(needs[:count], layout.screen) is not None:
            return count
    return min(_LEAST, len(needs))
