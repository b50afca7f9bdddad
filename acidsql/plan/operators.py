"""What is done for a statement, step by step, as data: EXPLAIN prints the steps, the engine carries
them out, EXPLAIN ANALYZE prints those that ran.

A step says what is done. What only shows when a statement runs (how many rows there are, what
statistics tell) is a ``Choose``: its ways are tried in their order, and the first that goes through
is taken.
"""

from __future__ import annotations

from enum import StrEnum

from acidsql.catalog.path_relation import PathRelation
from acidsql.lazy_dataclass import dataclass
from acidsql.plan.counting import RowCount
from acidsql.planner.bind.bound import BoundLoad, BoundQuery, BoundRead, BoundRows
from acidsql.planner.bind.tables import Rule


class Effect(StrEnum):
    """What becomes of the rows a statement has found."""

    INSERT = "insert"
    UPDATE = "update"
    DELETE = "delete"
    MERGE = "merge"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """The files of a table under the statement's snapshot become a view: slot ``number`` of its
    query.
    """

    read: BoundRead
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CountRows:
    """Statistics, or the footers of files and the ids of delete events, tell how many rows there
    are.
    """

    read: BoundRead
    count: RowCount


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """Spark plans the query over the views of the scans. ``counting``: it asks for no column but
    those of partitions.
    """

    query: BoundQuery
    counting: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Collect:
    """Spark runs the query, and its rows come to the caller."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalScan:
    """The driver reads the ``columns`` of a table under the statement's snapshot. ``max_bytes``:
    unless they weigh more with those of the statement's other tables; None for whatever they weigh.
    """

    read: BoundRead
    number: int
    columns: tuple[str, ...]
    max_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalFiles:
    """The driver reads the ``columns`` of files that the statement names by their path.
    ``max_bytes``: as for LocalScan.
    """

    relation: PathRelation
    columns: tuple[str, ...]
    max_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalRows:
    """The driver makes the rows of the query of what its scans read, unless it finds a value that
    only Spark can tell, or they weigh more than ``max_bytes``.
    """

    query: BoundQuery
    max_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Literals:
    """Rows that stand in the statement."""

    source: BoundRows


@dataclass(frozen=True, slots=True, kw_only=True)
class FindFiles:
    """The files that LOAD DATA names are found and looked into."""

    load: BoundLoad


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeFiles:
    """Files become files of the table as they are."""

    load: BoundLoad


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadFiles:
    """Spark reads the rows of files that were found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Each new row is held against the table's constraints."""

    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetch:
    """The rows come to the driver, unless they weigh more than ``max_bytes``."""

    effect: Effect
    max_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteFiles:
    """The driver writes the final files of rows it holds."""

    effect: Effect


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One Spark job writes the rows; its files are finished where they are.

    ``join``, ``once``: MERGE's, and whether it is checked that no row of the target is changed by
    two rows of the source.
    """

    effect: Effect
    join: str | None = None
    once: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSource:
    """The rows of MERGE's source come to the driver, unless they weigh more than ``max_bytes``."""

    max_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LookUp:
    """The target's rows are found on the driver by the values of their key columns."""

    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """Spark joins the target with the source; ``kind`` in SQL's words. What comes of it weighs no
    more than ``max_bytes``.

    ``fetched``: the source's rows are those that were fetched; else they are read in the join.
    """

    kind: str
    max_bytes: int
    fetched: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalJoin:
    """The driver joins the target with the source's rows; ``kind`` in SQL's words. It goes through
    as ``LocalRows`` does.
    """

    kind: str
    max_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertUnmatched:
    """Rows of the source that no pair names become new rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOnce:
    """No row of the target is changed by two rows of the source."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Publish:
    """The files of the transaction get the names that readers look at; what its statements left for
    each other is settled first.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One call to the metastore makes everything visible."""


ENDING = (Publish(), Commit())
"""What ends a transaction, with a statement of its own or at COMMIT."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    name: str
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choose:
    """``by``: what decides, when the statement runs."""

    by: str
    ways: tuple[Way, ...]


Step = (
    Scan | CountRows | Query | Collect | LocalScan | LocalFiles | LocalRows | Literals | FindFiles
    | TakeFiles | ReadFiles | Check | Fetch | WriteFiles | Job | FetchSource | LookUp | Join
    | LocalJoin | InsertUnmatched | CheckOnce | Publish | Commit | Choose
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A step that was carried out; None for a figure that nobody knows. ``in_vain``: it showed that
    another way must be taken.
    """

    step: Step
    seconds: float
    rows: int | None = None
    files: int | None = None
    bytes: int | None = None
    in_vain: bool = False
