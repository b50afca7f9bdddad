"""What lies at the location of a table that is attached, by names alone: for who is about to
write there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from acidsql.acid.evidence import Evidence
from acidsql.acid.ids import (
    BucketId,
    TxnId,
    ValidTxnList,
    ValidWriteIdList,
    is_hidden,
    original_bucket,
    parse_bucket_file,
    parse_directory,
)
from acidsql.acid.listed import FileEntry, file_name, id_range
from acidsql.attach.examination import evidence_at, highest_txn, roots_at, unfinished
from acidsql.attach.old_events import find_old_events
from acidsql.catalog.attached import attached_write_ids, seen_txns
from acidsql.catalog.model import Partition, Table
from acidsql.files.fileio import FileIO, is_inside, path_of
from acidsql.files.parallel import look_at_all
from acidsql.lazy import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LaidOut:
    """``evidence``: of each directory of the table, by its path. ``buckets``: the numbers in the
    names of files; ``no_bucket``: a file whose name has none. ``unknown``: directories of
    partitions of which the catalog does not know; ``missing``: those of the table, or of its
    partitions, that are not there. ``old_events``: a file that mixes events, as before Hive 3.
    """

    evidence: Mapping[str, Evidence]
    buckets: frozenset[BucketId]
    no_bucket: str | None
    unknown: tuple[str, ...]
    missing: tuple[str, ...]
    old_events: str | None

    @property
    def highest_txn(self) -> TxnId:
        return highest_txn(self.evidence)

    @property
    def unfinished(self) -> Mapping[TxnId, str]:
        """The directories of compactions that never committed, by transaction."""
        return unfinished(self.evidence)


def laid_out(io: FileIO, table: Table, partitions: Sequence[Partition]) -> LaidOut:
    """FormatError for a layout that is not Hive's; OSError."""
    home = path_of(table.location)
    paths = [path_of(one.location) for one in partitions] if table.partition_columns else [home]
    exists = look_at_all(io.exists, paths)
    missing = [path for path, is_there in zip(paths, exists, strict=True) if not is_there]
    present = [path for path in paths if path not in missing]
    looks = look_at_all(lambda path: evidence_at(io, path), present)
    everything = [(root, f.path) for root, (_, of) in zip(present, looks, strict=True) for f in of]
    names = [file for _, files in looks for file in _data_files(files)]
    numbers = {file.path: _bucket(file_name(file)) for file in names}
    return LaidOut(
        evidence={path: evidence for path, (evidence, _) in zip(present, looks, strict=True)},
        buckets=frozenset(number for number in numbers.values() if number is not None),
        no_bucket=next((path for path, number in numbers.items() if number is None), None),
        unknown=tuple(_unknown(io, home, paths)) if table.partition_columns else (),
        missing=tuple(missing),
        old_events=find_old_events(io, (f"{root}/{path}" for root, path in everything)),
    )


def changes_since(table: Table, layout: LaidOut) -> Iterator[str]:
    """What tells that somebody has written to the table, or compacted it, since it was attached:
    a line for each.
    """
    yield from (f"{path} is the directory of a new partition" for path in layout.unknown)
    if not table.partition_columns:
        yield from (f"{path} is gone" for path in layout.missing)
    known, txns = attached_write_ids(table), seen_txns(table)
    for root, evidence in layout.evidence.items():
        if known is None or txns is None:
            if evidence.highest:
                yield f"{root} has directories of transactions"
            continue
        for write_id, paths in evidence.unproven.items():
            if write_id > known.high_watermark:
                for path in paths:
                    yield f"{root}/{path} is of write id {write_id}"
        for path in (*evidence.compacted, *evidence.unfinished.values()):
            reason = _compacted_since(path, known, txns)
            if reason is not None:
                yield f"{root}/{path} {reason}"


def _compacted_since(path: str, known: ValidWriteIdList, txns: ValidTxnList) -> str | None:
    name = parse_directory(path)
    assert name is not None
    top = id_range(name)[1]
    if top > known.high_watermark:
        return f"reaches up to write id {top}"
    if name.visibility_txn_id > txns.high_watermark or name.visibility_txn_id in txns.open:
        return f"was compacted by transaction {name.visibility_txn_id}"
    if known.min_open is not None and top >= known.min_open:
        return f"takes in write id {known.min_open}, which was open"
    return None


def _unknown(io: FileIO, home: str, paths: Sequence[str]) -> Iterator[str]:
    """The directories below a table's that are partitions of which nobody knows."""
    if not io.exists(home):
        return
    known = [path.removeprefix(f"{home}/") for path in paths if is_inside(path, home)]
    for root in sorted(roots_at(io, home)):
        if root not in known and not any(is_inside(root, one) for one in known):
            yield f"{home}/{root}".rstrip("/")


def _data_files(files: Iterable[FileEntry]) -> Iterator[FileEntry]:
    for file in files:
        parts = file.path.split("/")
        hidden = any(is_hidden(part) and parse_directory(part) is None for part in parts)
        if file.size and not hidden:
            yield file


def _bucket(name: str) -> BucketId | None:
    bucket = parse_bucket_file(name)
    return original_bucket(name) if bucket is None else bucket
