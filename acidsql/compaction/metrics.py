"""The state of compaction and transactions as OpenMetrics text, under the names that Hive's metrics
have (MetricsConstants; their values: AcidMetricService, DeltaFilesMetricReporter).

What Hive keeps as counters of one process (failures of its threads, cycles) is the business of
the one that runs those threads, who hands it in.
"""

from __future__ import annotations

import math
import os
import re
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from acidsql.acid.ids import ValidTxnList
from acidsql.catalog.attached import seen_txns
from acidsql.catalog.model import Table
from acidsql.catalog.partitions import name_of
from acidsql.compaction.decision import Store
from acidsql.compaction.initiator import objects_of, transactional_tables
from acidsql.compaction.layout import Kind, Layout, State, take_layout
from acidsql.errors import Error, ProgrammingError
from acidsql.files.fileio import FileIO, path_of
from acidsql.files.parallel import look_at_all
from acidsql.lazy import dataclass
from acidsql.settings import Settings
from acidsql.txn.compactions import Compaction, CompactionState
from acidsql.txn.manager import TxnInfo, TxnState

MOST_LISTED = 100
"""The most tables and partitions that have numbers of their own: those with the largest ones.
Hive: hive.txn.acid.metrics.max.cache.size."""

SMALL_SHARE = 0.01
"""A delta is small if it is under this share of the base. Hive:
hive.txn.acid.metrics.delta.pct.threshold."""

_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_DELTAS = (Kind.DELTA, Kind.DELETE_DELTA)

HIVE_COUNTERS = {
    "compaction_initiator_failure_counter": "Runs of the Initiator that failed.",
    "compaction_cleaner_failure_counter": "Directories that the Cleaner could not clean.",
    "compaction_worker_failure_counter": "Compactions that failed in a Worker (not Hive's name).",
    "compaction_initiator_cycle": "Runs of the Initiator.",
    "compaction_worker_cycle": "Entries that Workers have taken.",
    "compaction_cleaner_cycle": "Runs of the Cleaner.",
}
"""What may be counted of the threads, with what it means."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A value with its labels."""

    value: float
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A metric: ``kind`` is gauge or counter (whose name has no ``_total``)."""

    name: str
    kind: str
    help: str
    samples: Sequence[Sample]


def openmetrics(
    store: Store,
    files: FileIO,
    settings: Settings,
    *,
    now: float,
    counters: Mapping[str, float] | None = None,
) -> str:
    """All metrics of a store as OpenMetrics text. ``now``: epoch seconds. ``counters``: by the
    names of HIVE_COUNTERS. A table that cannot be looked at is left out.
    """
    milliseconds = int(now * 1000)
    families = [
        *_of_queue(store.compactions(), milliseconds),
        *_of_transactions(store, milliseconds),
        *_of_deltas(store, files),
        *(
            _family(name, HIVE_COUNTERS.get(name, name), value, kind="counter")
            for name, value in (counters or {}).items()
        ),
    ]
    return render(families)


def render(families: Iterable[Family]) -> str:
    """Families as text. ValueError for a name that OpenMetrics does not allow."""
    return "".join(f"{line}\n" for family in families for line in _lines(family)) + "# EOF\n"


def _lines(family: Family) -> Iterator[str]:
    if not _NAME.fullmatch(family.name):
        raise ValueError(f"{family.name!r} is no name of a metric")
    yield f"# TYPE {family.name} {family.kind}"
    yield f"# HELP {family.name} {_escaped(family.help)}"
    suffix = "_total" if family.kind == "counter" else ""
    for sample in family.samples:
        pairs = ",".join(f'{name}="{_escaped(text)}"' for name, text in sample.labels.items())
        labels = f"{{{pairs}}}" if pairs else ""
        yield f"{family.name}{suffix}{labels} {_number(sample.value)}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) else repr(float(value))


def _family(name: str, doc: str, value: float, *, kind: str = "gauge") -> Family:
    return Family(name=name, kind=kind, help=doc, samples=[Sample(value=value, labels={})])


# ---- the queue


def _of_queue(entries: Sequence[Compaction], now: int) -> Iterator[Family]:
    """What SHOW COMPACTIONS tells: of each table or partition its newest entry, by states."""
    newest = {(e.request.table, e.request.partition): e for e in entries}
    states = Counter(entry.state for entry in newest.values())
    for state in CompactionState:
        words = state.words.replace(" ", "_")
        doc = f"Tables and partitions whose newest compaction is {state.words}."
        yield _family(f"compaction_num_{words}", doc, states[state])
    ages = (
        ("compaction_oldest_enqueue_age_in_sec", CompactionState.INITIATED, "waits for a worker"),
        ("compaction_oldest_working_age_in_sec", CompactionState.WORKING, "is worked on"),
        ("compaction_oldest_cleaning_age_in_sec", CompactionState.READY_FOR_CLEANING, "waits"),
        ("oldest_ready_for_cleaning_age_in_sec", CompactionState.READY_FOR_CLEANING, "waits"),
    )
    for name, state, what in ages:
        began = (_began(entry) for entry in entries if entry.state is state)
        doc = f"Seconds for which the oldest compaction that is {state.words} {what}."
        yield _family(name, doc, _age(min(began, default=None), now))
    yield from _of_pools(entries, now)
    yield from _of_processes(newest.values())


def _began(entry: Compaction) -> int:
    match entry.state:
        case CompactionState.WORKING if entry.started is not None:
            return entry.started
        case CompactionState.READY_FOR_CLEANING if entry.committed is not None:
            return entry.committed
        case _:
            return entry.enqueued


def _of_pools(entries: Sequence[Compaction], now: int) -> Iterator[Family]:
    for words, state in (
        ("initiated", CompactionState.INITIATED),
        ("working", CompactionState.WORKING),
    ):
        pools: dict[str, list[Compaction]] = {"default": []}
        for entry in entries:
            if entry.state is state:
                pools.setdefault(entry.request.pool or "default", []).append(entry)
        ages = "enqueue" if state is CompactionState.INITIATED else "working"
        yield Family(
            name=f"compaction_pools_{words}_item_count",
            kind="gauge",
            help=f"Compactions of each pool that are {state.words}.",
            samples=[Sample(value=len(of), labels={"pool": pool}) for pool, of in pools.items()],
        )
        yield Family(
            name=f"compaction_pools_oldest_{ages}_age_in_sec",
            kind="gauge",
            help=f"Seconds for which the oldest compaction of each pool is {state.words}.",
            samples=[
                Sample(value=_age(min(map(_began, of), default=None), now), labels={"pool": pool})
                for pool, of in pools.items()
            ],
        )


def _of_processes(newest: Iterable[Compaction]) -> Iterator[Family]:
    entries = list(newest)
    initiators = {_host(e.request.initiator) for e in entries} - {None}
    workers = {_host(e.worker) for e in entries} - {None}
    versions = {e.initiator_version for e in entries} - {None}
    of_workers = {e.worker_version for e in entries} - {None}
    counts = (
        ("initiators", "Hosts that have asked for compactions.", initiators),
        ("workers", "Hosts that have carried out compactions.", workers),
        ("initiator_versions", "Versions of those that asked for compactions.", versions),
        ("worker_versions", "Versions of those that carried out compactions.", of_workers),
    )
    for name, doc, values in counts:
        yield _family(f"compaction_num_{name}", doc, len(values))


def _host(name: str | None) -> str | None:
    """The host of ``<host>-<thread>``; None for what a user asked for."""
    host, _, thread = (name or "").rpartition("-")
    return None if not host or thread == "manual" else host


# ---- transactions and locks


def _of_transactions(store: Store, now: int) -> Iterator[Family]:
    txns, locks = store.list_txns(), store.list_locks()
    still_open = [txn for txn in txns if txn.state is TxnState.OPEN]
    aborted = [txn for txn in txns if txn.state is TxnState.ABORTED]
    yield from _of_txns("open_non_repl", "open transactions", still_open, now)
    yield from _of_txns("open_repl", "open transactions of replication", [], now)
    yield from _of_txns("aborted", "aborted transactions with something on record", aborted, now)
    yield _family("num_locks", "Locks, held and waited for.", len(locks))
    oldest = min((lock.acquired_at for lock in locks if lock.acquired_at), default=None)
    doc = "Seconds for which the oldest lock is held."
    yield _family("oldest_lock_age_in_sec", doc, _age(oldest, now))


def _of_txns(kind: str, words: str, txns: Sequence[TxnInfo], now: int) -> Iterator[Family]:
    oldest = min(txns, key=lambda txn: txn.txn_id, default=None)
    name = f"oldest_{kind}_txn"
    yield _family(f"num_{kind}_transactions", f"The number of {words}.", len(txns))
    identifier = 0 if oldest is None else oldest.txn_id
    yield _family(f"{name}_id", f"The lowest id of {words}, 0 for none.", identifier)
    began = None if oldest is None else oldest.started
    doc = f"Seconds since the oldest of {words} began."
    yield _family(f"{name}_age_in_sec", doc, _age(began, now))


def _age(began: int | None, now: int) -> int:
    return 0 if began is None else max(now - began, 0) // 1000


# ---- deltas


def _of_deltas(store: Store, io: FileIO) -> Iterator[Family]:
    """Deltas of the tables and partitions that have most of them."""
    layouts: list[tuple[dict[str, str], Layout]] = []
    txns = store.valid_txns()
    for table in transactional_tables(store):
        try:
            layouts += _layouts(store, io, table, txns)
        except (Error, OSError):
            continue
    for name, doc, count in (
        ("compaction_num_active_deltas", "Deltas and delete deltas that are read.", _active),
        ("compaction_num_obsolete_deltas", "Deltas and delete deltas to be removed.", _obsolete),
        ("compaction_num_small_deltas", "Deltas under a hundredth of their base.", _small),
    ):
        counted = [(count(layout), labels) for labels, layout in layouts]
        listed = sorted((one for one in counted if one[0]), key=lambda one: -one[0])[:MOST_LISTED]
        samples = [Sample(value=number, labels=labels) for number, labels in listed]
        yield Family(name=name, kind="gauge", help=doc, samples=samples)


def _layouts(
    store: Store, io: FileIO, table: Table, txns: ValidTxnList
) -> list[tuple[dict[str, str], Layout]]:
    write_ids = store.valid_write_ids(table.name, txns)
    seen, compactions = seen_txns(table, txns), store.seen_compactions(txns)
    labelled: list[tuple[dict[str, str], str]] = []
    for partition in objects_of(store, table):
        labels = {"database": table.name.database, "table": table.name.table}
        if partition is not None:
            labels["partition"] = name_of(table, partition)
        labelled.append((labels, (table if partition is None else partition).location))
    layouts = look_at_all(
        lambda one: take_layout(
            io,
            path_of(one[1]),
            write_ids,
            seen,
            compactions=compactions,
            events=table.is_full_acid,
            hides=False,
        ),
        labelled,
    )
    return [(labels, layout) for (labels, _), layout in zip(labelled, layouts, strict=True)]


def _active(layout: Layout) -> int:
    return sum(1 for _ in layout.of(State.READ, kinds=_DELTAS))


def _obsolete(layout: Layout) -> int:
    return sum(1 for _ in layout.of(State.OBSOLETE, kinds=_DELTAS))


def _small(layout: Layout) -> int:
    """Hive: a delta without a base is never small."""
    base = sum(d.bytes for d in layout.of(State.READ, kinds=(Kind.BASE, Kind.ORIGINALS)))
    deltas = layout.of(State.READ, kinds=_DELTAS)
    return sum(1 for d in deltas if base and d.bytes < SMALL_SHARE * base)


# ---- for those who collect
#
# Metrics of a daemon for those who collect them: over HTTP, or in a file that is replaced in one
# step each time.


CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
LOCAL = "127.0.0.1"
EVERY_SECONDS = 15.0
"""How old the numbers may be: they are made from the store, and from listings of tables."""
_READABLE = 0o644


@dataclass(slots=True)
class Exposition:
    """What nobody wants to see, or others ask for: ``refresh`` does nothing. ``address``: the URL
    to ask.
    """

    address: str | None = None

    def refresh(self) -> None:
        """Makes the numbers anew where they are too old."""


class _Text:
    """The text, made anew by the first request when it is too old."""

    def __init__(self, make: Callable[[], str]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._taken = 0.0
        self._text = ""

    def get(self) -> str:
        """The text; Error or OSError if it cannot be made."""
        with self._lock:
            if not self._text or time.monotonic() - self._taken >= EVERY_SECONDS:
                self._text, self._taken = self._make(), time.monotonic()
            return self._text


class _InFile(Exposition):
    def __init__(self, path: Path, text: _Text) -> None:
        super().__init__()
        self._path = path
        self._text = text
        self._written = ""

    def refresh(self) -> None:
        with suppress(Error, OSError):  # the next round writes it
            text = self._text.get()
            if text != self._written:
                _replace(self._path, text)
                self._written = text


@contextmanager
def exposition(where: str | None, make: Callable[[], str]) -> Iterator[Exposition]:
    """Gives metrics while the block runs. ``where``: a port, HOST:PORT or a file; None: nowhere.
    ProgrammingError if nobody can listen there, or the file cannot be written.
    """
    address = None if where is None else _address(where)
    if where is None:
        yield Exposition()
    elif address is None:
        yield _checked(_InFile(Path(where), _Text(make)), Path(where))
    else:
        with _server(where, address, _Text(make)) as server:
            thread = threading.Thread(
                target=server.serve_forever, name="acidsql metrics", daemon=True
            )
            thread.start()
            try:
                yield Exposition(_url(server))
            finally:
                server.shutdown()
                thread.join()


def _checked(shown: _InFile, path: Path) -> _InFile:
    if not path.parent.is_dir():
        raise ProgrammingError(f'metrics cannot be written to "{path}": no such directory')
    return shown


def _address(where: str) -> tuple[str, int] | None:
    """Host and port; None for a file. ProgrammingError for a port that there is not."""
    host, _, port = where.rpartition(":")
    if not port.isdecimal() or "/" in where:
        return None
    if int(port) > 0xFFFF:
        raise ProgrammingError(f"there is no port {port}", hint="A file of that name is ./NAME.")
    return host.strip("[]") or LOCAL, int(port)


def _server(where: str, address: tuple[str, int], text: _Text) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            try:
                status, body = (200, text.get()) if self.path == "/metrics" else (404, "")
            except (Error, OSError) as error:
                status, body = 503, f"{error}\n"
            content = body.encode()
            self.send_response(status)
            kind = CONTENT_TYPE if status == 200 else "text/plain; charset=utf-8"
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Says nothing: the log is about tables."""

    try:
        return ThreadingHTTPServer(address, Handler)
    except OSError as error:
        raise ProgrammingError(f'nobody can listen at "{where}": {error.strerror}') from error


def _url(server: ThreadingHTTPServer) -> str:
    host, port = server.server_address[:2]
    return f"http://{host!s}:{port}/metrics"


def _replace(path: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(name, _READABLE)
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
