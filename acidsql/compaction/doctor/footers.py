"""What the footers of data files tell to be wrong: keys that Hive's readers trust, ids that are not
those of the file's name, columns that are not the table's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from acidsql.acid.ids import (
    Base,
    DeleteDelta,
    decode,
    is_reserved,
    original_bucket,
    parse_bucket_file,
    parse_directory,
)
from acidsql.acid.listed import FileEntry, file_name, id_range
from acidsql.acid.orc_tail import KEY_INDEX, STATS, VERSION, OrcTail
from acidsql.acid.orc_types import (
    BUCKET_COLUMN,
    ORIGINAL_TRANSACTION_COLUMN,
    ROW_COLUMN,
    OrcKind,
    OrcType,
)
from acidsql.catalog.model import Column, Table
from acidsql.compaction.doctor.finding import (
    FAILS,
    READS,
    Finding,
    RewriteTail,
    Root,
    Severity,
)
from acidsql.compaction.layout import State
from acidsql.errors import FormatError
from acidsql.files.fileio import FileIO
from acidsql.files.parallel import look_at_all
from acidsql.storage.footers import is_event_file, read_footer
from acidsql.storage.stored import orc_type

_OPERATION_COLUMN = 1
_BACK = "deleted rows may come back"


def findings_by_footer(io: FileIO, root: Root) -> Iterator[Finding]:
    """What is wrong with the ORC files of a root that a reader of now reads."""
    files = [f for d in root.layout.of(State.READ) for f in d.files if f.size]
    wanted = [f for f in files if _is_data(f)]
    for findings in look_at_all(lambda file: list(_of_file(io, root, file)), wanted):
        yield from findings


def _is_data(file: FileEntry) -> bool:
    """Whether a reader takes it for data: the names of others have findings of their own."""
    directory, _, name = file.path.rpartition("/")
    parsed = parse_directory(directory) if is_reserved(directory) else None
    if parsed is None or isinstance(parsed, Base):
        return True
    return parse_bucket_file(name) is not None or original_bucket(name) is not None


def _of_file(io: FileIO, root: Root, file: FileEntry) -> Iterator[Finding]:
    path = root.full(file.path)
    try:
        tail = read_footer(io, path)
        keys = tail.user_metadata
    except FormatError as error:
        yield _finding(
            path,
            "file that cannot be read",
            error.detail or error.message,
            mend="restore it from a copy",
            acidsql="refuses the table",
        )
        return
    bucket = parse_bucket_file(file_name(file))
    if bucket is None:
        yield from _of_original(root, path, tail)
    elif not is_event_file(tail):
        yield _finding(
            path,
            "file without ACID columns",
            f"its columns are {tail.schema}",
            mend="LOAD DATA it into the table; what it holds has no ROW__IDs",
            acidsql="refuses the table",
        )
    else:
        assert tail.schema is not None
        yield from _of_keys(root, file, tail, keys)
        yield from _of_ids(root, file, tail, bucket)
        yield from _of_columns(root.table, path, tail.schema.children[-1], acid=True)


def _finding(
    path: str, title: str, detail: str, *, mend: str, acidsql: str, hive: str = FAILS
) -> Finding:
    return Finding(
        severity=Severity.ERROR,
        title=title,
        path=path,
        detail=detail,
        hive3=hive,
        hive4=hive,
        acidsql=acidsql,
        mend=mend,
    )


def _of_original(root: Root, path: str, tail: OrcTail) -> Iterator[Finding]:
    if tail.schema is None or tail.schema.kind is not OrcKind.STRUCT:
        yield _finding(
            path,
            "file without columns",
            f"it holds {tail.schema}",
            mend="move it away",
            acidsql="refuses the table",
        )
    elif not is_event_file(tail):
        yield from _of_columns(root.table, path, tail.schema, acid=False)


# ---- the keys of the footer


def _of_keys(root: Root, file: FileEntry, tail: OrcTail, keys: dict[str, str]) -> Iterator[Finding]:
    deletes = isinstance(parse_directory(file.path.partition("/")[0]), DeleteDelta)
    rows = tail.row_count
    if not rows:
        return
    wrong = partial(
        Finding,
        path=root.full(file.path),
        acidsql=READS,
        cure=RewriteTail(root=root.path, path=file.path),
    )
    problem = key_index_problem(tail, keys.get(KEY_INDEX))
    if problem is not None:
        yield wrong(
            severity=Severity.ERROR,
            title=f"{KEY_INDEX} is wrong",
            detail=problem,
            hive3="fails, or reads rows twice or not at all, where it reads row by row",
            hive4=_BACK if KEY_INDEX in keys else f"reads it; {_BACK} in its first versions",
            mend="compute it from the rows",
        )
    wanted = f"0,0,{rows}" if deletes else f"{rows},0,0"
    if keys.get(STATS) != wanted:
        has = f'it is "{keys[STATS]}"' if STATS in keys else "it is missing"
        yield wrong(
            severity=Severity.ERROR if deletes else Severity.WARNING,
            title=f"{STATS} is wrong",
            detail=f'{has}, the file has "{wanted}"',
            hive3=f"fails, or {_BACK}" if deletes else READS,
            hive4=READS,
            mend="compute it from the rows",
        )
    if keys.get(VERSION) != "2":
        yield wrong(
            severity=Severity.NOTE,
            title=f"{VERSION} is wrong",
            detail=f"it is {keys.get(VERSION, 'missing')}, and not 2",
            hive3=READS,
            hive4=READS,
            mend="set it",
        )


def key_index_problem(tail: OrcTail, index: str | None) -> str | None:
    """What is wrong with a key index, as far as the footer tells: it has an entry for each stripe,
    they rise, and the last one is not beyond the ids of the file.
    """
    if index is None:
        return "it is missing"
    try:
        entries = [
            tuple(int(part) for part in entry.split(",")) for entry in index.split(";") if entry
        ]
    except ValueError:
        return f'"{index[:80]}" cannot be read'
    if any(len(entry) != 3 for entry in entries):
        return f'"{index[:80]}" cannot be read'
    if not entries:
        return None  # no bounds: Hive reads all
    if len(entries) != len(tail.stripes):
        return f"it has {len(entries)} entries for {len(tail.stripes)} stripes"
    if entries != sorted(set(entries)):
        return "its entries do not rise"
    columns = (ORIGINAL_TRANSACTION_COLUMN, BUCKET_COLUMN, ROW_COLUMN)
    ranges = [tail.integer_range(column) for column in columns]
    return _last_entry_problem(entries[-1], ranges)


def _last_entry_problem(
    last: tuple[int, ...], ranges: Sequence[tuple[int, int] | None]
) -> str | None:
    """The last row has the highest write id; where there is but one write id and bucket, it has the
    highest row number.
    """
    words = ",".join(map(str, last))
    for value, limits in zip(last, ranges, strict=True):
        if limits is not None and not limits[0] <= value <= limits[1]:
            return f"its last entry {words} is not the id of a row of the file"
    write_ids, buckets, rows = ranges
    if write_ids is not None and last[0] != write_ids[1]:
        return f"its last entry {words} is not that of the last row"
    alone = write_ids is not None and write_ids[0] == write_ids[1]
    alone = alone and buckets is not None and buckets[0] == buckets[1]
    if alone and rows is not None and last[2] != rows[1]:
        return f"its last entry {words} is not that of the last row"
    return None


# ---- the ids


def _of_ids(root: Root, file: FileEntry, tail: OrcTail, bucket: int) -> Iterator[Finding]:
    """Ids by the statistics of their columns, where the file keeps some."""
    name = parse_directory(file.path.partition("/")[0])
    path = root.full(file.path)
    if name is None or not tail.row_count:
        return
    deletes = isinstance(name, DeleteDelta)
    operations = tail.integer_range(_OPERATION_COLUMN)
    if operations is not None and operations != ((2, 2) if deletes else (0, 0)):
        yield _finding(
            path,
            "events of another kind",
            f"operations {operations[0]} to {operations[1]} in a {_kind(deletes=deletes)}",
            mend="run a major compaction with the Hive that wrote it",
            hive="takes them for what the directory says",
            acidsql="refuses the table",
        )
    if not deletes or _is_bucketed(root.table):
        yield from _of_buckets(path, tail, bucket, deletes=deletes)
    written = tail.integer_range(ORIGINAL_TRANSACTION_COLUMN)
    low, high, _ = id_range(name)
    if written is None or deletes or isinstance(name, Base):
        return
    if not low <= written[0] <= written[1] <= high:
        yield _finding(
            path,
            "rows of other write ids than the directory's",
            f"rows of write ids {written[0]} to {written[1]} in {low} to {high}",
            mend="none: what these rows are nobody can tell",
            hive="may pass over deletes of them",
            acidsql=READS,
        )


def _kind(*, deletes: bool) -> str:
    return "delete delta" if deletes else "delta or base"


def _is_bucketed(table: Table | None) -> bool:
    return table is not None and table.bucketing is not None


def _of_buckets(path: str, tail: OrcTail, bucket: int, *, deletes: bool) -> Iterator[Finding]:
    properties = tail.integer_range(BUCKET_COLUMN)
    if properties is None:
        return
    try:
        buckets = {decode(value).bucket for value in properties}
    except FormatError as error:
        buckets, detail = set(), error.message
    else:
        detail = f"rows of bucket {', '.join(map(str, sorted(buckets)))} in a file of {bucket}"
    if buckets != {bucket}:
        yield _finding(
            path,
            "rows of another bucket than the file's",
            detail,
            mend="none: a major compaction by acidsql writes them where they belong",
            hive="does not apply deletes" if not deletes else "fails, or does not apply them",
            acidsql=READS,
        )


# ---- the columns


def _of_columns(
    table: Table | None, path: str, stored: OrcType, *, acid: bool
) -> Iterator[Finding]:
    if table is None or stored.kind is not OrcKind.STRUCT:
        return
    problem = columns_problem(table.columns, stored, acid=acid)
    if problem is not None:
        yield _finding(
            path,
            "columns that are not the table's",
            problem,
            mend="none: rewrite the rows with the columns of the table",
            hive="fails, or reads NULLs or the values of another column",
            acidsql="fails, or reads as Hive 4 does",
        )


def columns_problem(columns: Sequence[Column], stored: OrcType, *, acid: bool) -> str | None:
    """Why the data columns of a file cannot be the table's; None if they can, though they may be
    older ones: fewer, of other names, narrower.
    """
    table_names = {column.name: at for at, column in enumerate(columns)}
    lower = [name.lower() for name in stored.names]
    by_name = not acid and all(column.name in lower for column in columns)
    for at, (name, kind) in enumerate(zip(lower, stored.children, strict=True)):
        position = table_names.get(name) if by_name else at
        if position is None or position >= len(columns):
            continue
        column = columns[position]
        if name != column.name and table_names.get(name, at) != at:
            return f'column "{name}" stands where the table has "{column.name}"'
        if not may_become(kind, orc_type(column.type)):
            return f'column "{name}" is of type {kind}, "{column.name}" of {column.type}'
    return None


_NESTED = (OrcKind.STRUCT, OrcKind.LIST, OrcKind.MAP, OrcKind.UNION)
_TEXTS = (OrcKind.STRING, OrcKind.CHAR, OrcKind.VARCHAR)


def may_become(stored: OrcType, wanted: OrcType) -> bool:
    """Whether ORC's readers have a conversion from one type to the other, whatever becomes of
    single values. ORC: ConvertTreeReaderFactory.
    """
    if stored.kind in _NESTED or wanted.kind in _NESTED:
        return stored.kind == wanted.kind
    if OrcKind.BINARY in (stored.kind, wanted.kind) and stored.kind != wanted.kind:
        return stored.kind in _TEXTS or wanted.kind in _TEXTS
    if OrcKind.DATE in (stored.kind, wanted.kind):
        return {stored.kind, wanted.kind} <= {OrcKind.DATE, OrcKind.TIMESTAMP, *_TEXTS}
    return True
