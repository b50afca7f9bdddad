"""A table's health in words and as a picture: rows of (section, item, value), and below them the
directories as bars along the table's write ids.

    base          1..10   ████████████············   1 file    1.2 MiB    1,000 rows
    delete delta     11   ············░···········   1 file     731 B         3 rows
"""

from __future__ import annotations

import datetime
import html
from collections.abc import Iterable, Iterator, Sequence

from acidsql.catalog.attached import ASSUMED, FROM, OLD_EVENTS, is_attached
from acidsql.compaction.health import Figures, OpenTxn, OpenWrite, PartitionHealth, TableHealth
from acidsql.compaction.layout import Kind, LaidDirectory, State
from acidsql.lazy import dataclass
from acidsql.txn.compactions import Compaction
from acidsql.txn.locks import LockInfo
from acidsql.txn.readers import ReaderInfo

Fact = tuple[str, str, str]
"""Section, item, value."""

WIDTH = 80
_MOST_PARTITIONS = 5
_MOST_DIRECTORIES = 40
_MOST_LINES = 20
_LONG_OPEN_MS = 3_600_000
_BESIDE = 49
"""Characters of a line that are neither bar nor write ids."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """The characters that bars are made of."""

    kinds: dict[Kind, str]
    states: dict[State, str]
    nothing: str
    more: str


BLOCKS = Marks(
    kinds={Kind.BASE: "█", Kind.DELTA: "▓", Kind.DELETE_DELTA: "░", Kind.ORIGINALS: "█"},
    states={State.OBSOLETE: "x", State.ABORTED: "!", State.UNDECIDED: "?"},
    nothing="·",
    more="…",
)
ASCII = Marks(
    kinds={Kind.BASE: "#", Kind.DELTA: "+", Kind.DELETE_DELTA: "-", Kind.ORIGINALS: "o"},
    states={State.OBSOLETE: "x", State.ABORTED: "!", State.UNDECIDED: "?"},
    nothing=".",
    more="..",
)


_WITH_TXN = (
    "with the compaction's transaction (_v0000021), as nothing can be renamed there: Hive 4 reads"
    " them, Hive 3.1 does not"
)

# ---- words


def facts(health: TableHealth) -> list[Fact]:
    """The health in words, a row each."""
    rows: list[Fact] = [("table", "name", health.name), ("table", "kind", health.kind)]
    if health.path != health.name:
        rows.append(("table", "location", health.path))
    properties = {} if health.table is None else health.table.properties
    if ASSUMED in properties:
        rows.append(("table", "attached", f"ASSUME {properties[ASSUMED]}"))
    if OLD_EVENTS in properties:
        rows.append(("table", "ACID version 1", "its events are merged by each read"))
    if FROM in properties:
        rows.append(("table", "is an overlay over", properties[FROM]))
    rows += [("problem", "layout", problem) for problem in health.problems[:_MOST_LINES]]
    unreadable = [f for p in health.partitions for f in p.layout.unreadable]
    if unreadable and not _is_foreign(health):
        rows.append(("problem", "unreadable files", f"{len(unreadable):,}: {unreadable[0]}"))
    rows += _of_files(health.total, health.small_size)
    if kept := [entry for entry in health.hidden if entry.is_kept]:
        size = size_words(sum(entry.bytes for entry in kept))
        dropped = _counted(len(kept), "dropped partition")
        rows.append(("files", "kept", f"{dropped}, for who reads it still, {size}"))
    if health.write_ids is not None:
        rows += _of_write_ids(health)
        if not (health.renames or health.table is None or is_attached(health.table)):
            rows.append(("compaction", "names", _WITH_TXN))
        rows += _of_initiator(health)
        rows += [_entry(entry) for entry in health.compactions[-_MOST_LINES:]]
        rows += [("cleaner", "waits because", why) for why in health.blockers[:_MOST_LINES]]
        if FROM not in properties:  # an overlay has no major compaction
            rows += _gain(health.total)
    rows += [("mend", "run", command) for command in health.mends]
    rows += [
        ("mend", "run if nobody needs it any more", f"ABORT TRANSACTIONS {write.txn_id}")
        for write in health.open_writes[:_MOST_LINES]
        if health.now - write.started >= _LONG_OPEN_MS
    ]
    return rows


def _is_foreign(health: TableHealth) -> bool:
    """Whether its files may be of a format without the footers that are looked at."""
    return health.table is None or not health.table.is_full_acid


def _of_files(total: Figures, small_size: int) -> Iterator[Fact]:
    yield "files", "read by a scan", _files(total.files, total.bytes)
    counts = (
        (total.bases, "base"),
        (total.deltas, "delta"),
        (total.delete_deltas, "delete delta"),
        (total.originals, "original file"),
    )
    shown = ", ".join(_counted(number, noun) for number, noun in counts if number)
    yield "files", "directories", shown or "none"
    if total.rows is not None:
        yield "files", "rows", f"{total.rows:,}"
    if total.deletes is not None and total.rows is not None:
        share = f" ({total.delete_ratio or 0:.1%} of the rows)" if total.rows else ""
        yield "files", "delete events", f"{total.deletes:,}{share}"
    small = f"small (under {size_words(small_size)})"
    yield "files", small, _files(total.small_files, total.small_bytes)
    for item, number, size in (
        ("obsolete", total.obsolete, total.obsolete_bytes),
        ("aborted", total.aborted, total.aborted_bytes),
    ):
        yield "files", item, f"{_counted(number, 'directory')}, {size_words(size)}"
    if total.undecided:
        yield "files", "undecided", _counted(total.undecided, "directory")
    garbage = f"{_counted(total.garbage, 'hidden left-over')}, {size_words(total.garbage_bytes)}"
    yield "files", "garbage", garbage


def _of_write_ids(health: TableHealth) -> Iterator[Fact]:
    assert health.write_ids is not None
    yield "write ids", "highest", str(health.write_ids.high_watermark)
    if health.table is None:
        return
    yield "write ids", "a compaction may take in up to", str(health.compactable)
    for write in health.open_writes[:_MOST_LINES]:
        yield "write ids", f"{write.write_id} is open", _holder(write, health.now)
    if health.oldest_txn is not None:
        where = "writes here" if health.oldest_txn.writes else "has not written here"
        value = f"{_holder(health.oldest_txn, health.now)}; {where}"
        yield "transactions", "oldest open", value
    if health.oldest_lock is not None:
        yield "transactions", "oldest lock", _lock(health.oldest_lock, health.now)
    if health.readers:
        yield "transactions", "oldest of the readers", _reader(health.readers[0], health.now)


def _of_initiator(health: TableHealth) -> Iterator[Fact]:
    """What the initiator will do, the partitions it will compact before others."""
    judged = [p for p in health.partitions if p.decision is not None]
    judged.sort(key=lambda p: p.decision is None or p.decision.type is None)
    for partition in judged[:_MOST_LINES]:
        assert partition.decision is not None
        kind = partition.decision.type
        what = "nothing" if kind is None else f"{kind.name.lower()} compaction"
        item = f"will do with {partition.name}" if partition.name else "will do"
        yield "initiator", item, f"{what}: {partition.decision.why}"
    if len(judged) > _MOST_LINES:
        yield "initiator", "..", f"{len(judged) - _MOST_LINES:,} more partitions"


def _entry(entry: Compaction) -> Fact:
    request = entry.request
    of = f" of {request.partition}" if request.partition else ""
    message = f": {entry.message}" if entry.message else ""
    kind = request.type.name.lower().replace("_", " ")
    return "compactions", str(entry.compaction_id), f"{kind}{of}, {entry.state.words}{message}"


def _gain(total: Figures) -> Iterator[Fact]:
    yield "scan", "reads now", _files(total.files, total.bytes)
    then = _files(total.files_then, total.bytes_then)
    yield "scan", "would read after a major compaction", f"about {then}"


def _holder(holder: OpenWrite | OpenTxn, now: int) -> str:
    statement = f": {one_line(holder.statement)}" if holder.statement else ""
    who = f"transaction {holder.txn_id} of {holder.user}@{holder.host}"
    return f"{who}, {_since(holder.started, now)}{statement}"


def _lock(lock: LockInfo, now: int) -> str:
    who = f"{lock.component.type} of {lock.user}@{lock.host}, {_since(lock.acquired_at, now)}"
    return f"{who}: {one_line(lock.statement)}" if lock.statement else who


def _reader(reader: ReaderInfo, now: int) -> str:
    who = f"{reader.user}@{reader.host}, {_since(reader.started, now)}"
    return f"{who}: {one_line(reader.statement)}" if reader.statement else who


def one_line(text: str, most: int = 200) -> str:
    """A statement without its line ends, and not longer than is of use."""
    words = " ".join(text.split())
    return words if len(words) <= most else f"{words[: most - 3]}..."


def _since(started: int, now: int) -> str:
    at = datetime.datetime.fromtimestamp(started / 1000, datetime.UTC)
    return f"since {at:%Y-%m-%d %H:%M:%S} UTC ({_age(max(now - started, 0) // 1000)})"


def _age(seconds: int) -> str:
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def _counted(number: int, noun: str) -> str:
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def _files(files: int, size: int) -> str:
    return f"{_counted(files, 'file')}, {size_words(size)}"


def size_words(size: int) -> str:
    """A number of bytes in four characters and a unit: ``1.5 MiB``."""
    value, unit = float(size), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB", "PiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.0f} {unit}" if unit == "B" or value >= 100 else f"{value:.1f} {unit}"


# ---- bars


def picture(health: TableHealth, *, width: int = WIDTH, marks: Marks = BLOCKS) -> str:
    """The words and the layout, in lines of at most ``width`` characters but for what cannot be
    broken.
    """
    lines: list[str] = []
    section = ""
    for name, item, value in facts(health):
        if name != section:
            lines.append(name)
            section = name
        lines += _broken(f"  {visible(item)}: ", visible(value), width)
    shown = health.partitions[:_MOST_PARTITIONS]
    for partition in shown:
        lines += _bars(partition, width, marks)
    if len(health.partitions) > len(shown):
        rest = len(health.partitions) - len(shown)
        lines.append(f"layout of {rest:,} more: DESCRIBE HEALTH t PARTITION (..)")
    lines.append(_legend(marks))
    return "\n".join(lines)


def _broken(head: str, text: str, width: int) -> Iterator[str]:
    """A value in lines of ``width``, broken at blanks."""
    line, is_empty = head, True
    for word in text.split(" "):
        if not is_empty and len(line) + 1 + len(word) > width:
            yield line
            line, is_empty = "    ", True
        line += word if is_empty else f" {word}"
        is_empty = False
    yield line


def _legend(marks: Marks) -> str:
    kinds = (f"{marks.kinds[kind]} {kind}" for kind in Kind if kind is not Kind.ORIGINALS)
    states = (f"{mark} {state}" for state, mark in marks.states.items())
    return "  ".join((*kinds, *states))


def _bars(partition: PartitionHealth, width: int, marks: Marks) -> Iterator[str]:
    directories = [*partition.layout.directories]
    yield f"layout of {visible(partition.name)}" if partition.name else "layout"
    if not directories:
        yield "  no files"
    ids = max((len(_ids(directory)) for directory in directories), default=0)
    scale = Scale.of(directories, max(width - _BESIDE - ids, 8))
    for directory in directories[:_MOST_DIRECTORIES]:
        yield _bar(directory, scale, marks, ids)
    if len(directories) > _MOST_DIRECTORIES:
        rest = directories[_MOST_DIRECTORIES:]
        size = size_words(sum(d.bytes for d in rest))
        yield f"  {marks.more} {len(rest):,} more directories, {size}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Where write ids stand in a bar of ``width`` characters: by their rank, as there may be gaps
    of millions between them.
    """

    width: int
    ranks: dict[int, int]

    @classmethod
    def of(cls, directories: Iterable[LaidDirectory], widest: int) -> Scale:
        ids = {i for d in directories for i in (max(d.low, 0), max(d.high, 0))}
        ranks = {write_id: rank for rank, write_id in enumerate(sorted(ids))}
        return cls(width=min(widest, max(len(ranks), 8)), ranks=ranks)

    def span(self, directory: LaidDirectory) -> tuple[int, int]:
        """First character and the one behind the last."""
        low = self.ranks[max(directory.low, 0)]
        high = self.ranks[max(directory.high, 0)]
        start = low * self.width // len(self.ranks)
        return start, max(start + 1, (high + 1) * self.width // len(self.ranks))


def _bar(directory: LaidDirectory, scale: Scale, marks: Marks, ids: int) -> str:
    start, end = scale.span(directory)
    mark = marks.states.get(directory.state) or marks.kinds[directory.kind]
    bar = marks.nothing * start + mark * (end - start) + marks.nothing * (scale.width - end)
    figures = f"{_counted(len(directory.files), 'file'):>9} {size_words(directory.bytes):>10}"
    rows = "" if directory.rows is None else f" {_counted(directory.rows, 'row'):>11}"
    return f"  {directory.kind:<12} {_ids(directory):>{ids}} {bar} {figures}{rows}".rstrip()


def _ids(directory: LaidDirectory) -> str:
    if directory.kind is Kind.ORIGINALS:
        return ""
    if directory.kind is Kind.BASE or directory.low == directory.high:
        return str(max(directory.high, 0))
    return f"{directory.low}..{directory.high}"


_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))}


def visible(text: str) -> str:
    """A text that may come from a name: it can neither break a line nor drive the terminal."""
    return text if text.isprintable() else text.translate(_CONTROLS)


# ---- HTML

_COLOURS = {
    Kind.BASE: "#4878a8",
    Kind.DELTA: "#78a848",
    Kind.DELETE_DELTA: "#c87830",
    Kind.ORIGINALS: "#808080",
}
_FADED = {State.OBSOLETE: "0.35", State.ABORTED: "0.2", State.UNDECIDED: "0.6"}


def html_picture(health: TableHealth) -> str:
    """The words and the layout for a notebook. All text is escaped, as users may name things so."""
    rows = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in fact) + "</tr>"
        for fact in facts(health)
    )
    bars = "".join(_html_bars(p) for p in health.partitions[:_MOST_PARTITIONS])
    head = "<tr><th>section</th><th>item</th><th>value</th></tr>"
    return f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>{bars}"


def _html_bars(partition: PartitionHealth) -> str:
    directories: Sequence[LaidDirectory] = partition.layout.directories[:_MOST_DIRECTORIES]
    if not directories:
        return ""
    scale = Scale.of(directories, 400)
    title = f"<p>{html.escape(partition.name)}</p>" if partition.name else ""
    return title + "".join(_html_bar(directory, scale) for directory in directories)


def _html_bar(directory: LaidDirectory, scale: Scale) -> str:
    start, end = scale.span(directory)
    left, wide = 100 * start / scale.width, 100 * (end - start) / scale.width
    style = (
        f"margin-left:{left:.1f}%;width:{wide:.1f}%;height:10px;"
        f"background:{_COLOURS[directory.kind]};opacity:{_FADED.get(directory.state, '1')}"
    )
    path = directory.path or "original files"
    title = f"{path}: {directory.state}, {_files(len(directory.files), directory.bytes)}"
    return f'<div title="{html.escape(title, quote=True)}" style="{style}"></div>'
