"""What names alone tell to be wrong: of directories, of the files in them, and of what compactions
have left."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from acidsql.acid.evidence import evidence_of
from acidsql.acid.ids import (
    ACID_VERSION_FILE,
    FLUSH_LENGTH_SUFFIX,
    NO_VISIBILITY,
    Base,
    DeleteDelta,
    is_hidden,
    is_reserved,
    original_bucket,
    parse_bucket_file,
    parse_directory,
)
from acidsql.acid.listed import FileEntry, file_name, id_range, is_like_outer
from acidsql.acid.snapshot import (
    INPUTS_FILE,
    nothing_hidden,
    partner,
    partner_file,
    waits_for_a_txn,
)
from acidsql.compaction.doctor.finding import (
    FAILS,
    NOTHING,
    PASSES,
    READS,
    Finding,
    MoveAside,
    RemoveCopy,
    Root,
    Severity,
    WriteVersion,
)
from acidsql.compaction.layout import Kind, LaidDirectory, State
from acidsql.errors import FormatError

# ---- what compactions left
#
# What compactions have left behind that died, or that ran again: by names and sizes alone.


def findings_of_compactions(root: Root) -> Iterator[Finding]:
    yield from _nested(root)
    yield from _halves(root)
    yield from _unfinished(root)


def _nested(root: Root) -> Iterator[Finding]:
    for path in root.listing.directories:
        above, _, name = path.rpartition("/")
        if path == f"{name}/{name}" and is_reserved(name):
            yield _inner(root, path)
        elif above and is_reserved(name):
            yield Finding(
                severity=Severity.ERROR,
                title="ACID directory inside another directory",
                path=root.full(path),
                detail="a rename onto an existing directory leaves such a trace",
                hive3=PASSES,
                hive4="passes over it or reads it, as the file system is",
                acidsql="refuses the table",
                mend="move it to its place, or away; nobody can tell which of both",
            )


def _inner(root: Root, path: str) -> Finding:
    """Names a directory that a compaction which ran again has renamed into its first result."""
    alike = is_like_outer(path, root.files)
    return Finding(
        severity=Severity.ERROR,
        title="ACID directory inside one of the same name",
        path=root.full(path),
        detail="a compaction that ran again leaves it (HIVE-25600); its files have "
        + ("the names and sizes of" if alike else "other names or sizes than")
        + " those around it",
        hive3=PASSES,
        hive4="passes over it or reads it, as the file system is",
        acidsql=PASSES if alike else "refuses the table",
        mend="remove it if its files are those around it, byte for byte"
        if alike
        else "move it away, or put its files in the place of those around it: nobody can tell which"
        " of both is right",
        cure=RemoveCopy(directory=root.full(path)) if alike else None,
    )


def _halves(root: Root) -> Iterator[Finding]:
    names = {directory: parse_directory(directory) for directory in root.acid_directories}
    for directory, name in sorted(names.items()):
        other = None if name is None else partner(name)
        if name is None or other is None or isinstance(name, Base) or other in names.values():
            continue
        if partner_file(name) in root.names.get(directory, ()):
            yield Finding(
                severity=Severity.WARNING,
                title="half a minor compaction",
                path=root.full(directory),
                detail=f'it belongs together with "{other}", which is not there',
                hive3="takes the directories it was made of for obsolete, the other kind too",
                hive4="takes the directories it was made of for obsolete, the other kind too",
                acidsql=PASSES,
                mend="the next compaction of it finishes or removes it: acidsql compactor --once",
            )


def _unfinished(root: Root) -> Iterator[Finding]:
    """An attached table passes over them; who adopts it, or says what became of the write ids, has
    them removed.
    """
    names = [parse_directory(path) for path in root.acid_directories]
    if all(name is None or name.visibility_txn_id == NO_VISIBILITY for name in names):
        return
    try:
        evidence = evidence_of(root.listing.files, root.listing.directories, nothing_hidden)
    except FormatError:
        return  # a finding of its own
    for txn_id, path in evidence.unfinished.items():
        if INPUTS_FILE in root.names.get(path, ()):
            continue  # ours: what went in is beside it until a cleaner has been there
        if root.txns is not None and not root.txns.is_valid(txn_id):
            continue
        yield Finding(
            severity=Severity.ERROR,
            title="empty result of a compaction",
            path=root.full(path),
            detail="what it should have taken in lies beside it, with rows: it seems that its"
            f" transaction {txn_id} has never committed (HIVE-29567)",
            hive3=PASSES,
            hive4=f"reads none of these rows, unless transaction {txn_id} was aborted",
            acidsql="reads none of these rows",
            mend="remove it if no row is missing without it; of rows that were deleted the deletes"
            " lie beside it, too",
        )


# ---- names


_LEFT_OVER = re.compile(r"_SUCCESS|_committed_.*|_started_.*|\._SUCCESS\.crc")
_AT_WORK = re.compile(r"_temporary|\.spark-staging-.*|\.hive-staging.*|_tmp[._].*")
_CHECKSUM = re.compile(r"\.(.+)\.crc")


def findings_by_name(root: Root) -> Iterator[Finding]:
    """What is wrong with the names in a root of a transactional table."""
    yield from _directories(root)
    yield from findings_of_compactions(root)
    yield from _overlaps(root)
    for directory in root.acid_directories:
        if parse_directory(directory) is not None and not root.is_at_work(directory):
            yield from _in_directory(root, directory)
    yield from _originals(root)
    yield from _hidden_strays(root)


# ---- directories


def _directories(root: Root) -> Iterator[Finding]:
    canonical: dict[str, str] = {}
    for directory in root.acid_directories:
        name = parse_directory(directory)
        if name is None or (not isinstance(name, Base) and name.min_write_id > name.max_write_id):
            yield Finding(
                severity=Severity.ERROR,
                title="wrong name of a directory",
                path=root.full(directory),
                detail="its name begins like that of an ACID directory and is none",
                hive3=FAILS,
                hive4=FAILS,
                acidsql="refuses the table",
                mend="give it its name, or a hidden one if nobody needs it",
            )
            continue
        if str(name) in canonical:
            yield _twice(root, directory, canonical[str(name)])
        elif isinstance(name, DeleteDelta) and str(name) != directory:
            yield _unpadded(root, directory, str(name))
        canonical.setdefault(str(name), directory)
    yield from _aborted_bases(root)
    yield from _uncommitted(root)


def _twice(root: Root, directory: str, other: str) -> Finding:
    return Finding(
        severity=Severity.ERROR,
        title="two directories for one",
        path=root.full(directory),
        detail=f'its name means the same as "{other}"',
        hive3="reads both",
        hive4="reads both",
        acidsql="reads both",
        mend="find out which of them is the right one",
    )


def _unpadded(root: Root, directory: str, canonical: str) -> Finding:
    return Finding(
        severity=Severity.ERROR,
        title="delete delta with a name that is not padded",
        path=root.full(directory),
        detail=f'readers of Hive look for it under "{canonical}"',
        hive3=FAILS,
        hive4="fails, or does not see its deletes",
        acidsql=READS,
        mend=f"rename it to {canonical} while nobody uses the table",
    )


def _aborted_bases(root: Root) -> Iterator[Finding]:
    if root.layout.problem is not None or any(root.layout.of(State.READ, kinds=(Kind.BASE,))):
        return
    for base in root.layout.of(State.ABORTED, kinds=(Kind.BASE,)):
        if waits_for_a_txn([base.path]):
            continue
        yield Finding(
            severity=Severity.WARNING,
            title="aborted INSERT OVERWRITE",
            path=root.full(base.path),
            detail="it is the only base, and its transaction was aborted",
            hive3="fails: not enough history",
            hive4=PASSES,
            acidsql=PASSES,
            mend="any statement that writes takes it away when it has ended",
        )


def _uncommitted(root: Root) -> Iterator[Finding]:
    for directory in root.layout.of(State.ABORTED):
        if waits_for_a_txn([directory.path]):
            yield Finding(
                severity=Severity.NOTE,
                title="result of a compaction that was never committed",
                path=root.full(directory.path),
                detail="its transaction was aborted: its process has died, or lost the compaction",
                hive3=FAILS,
                hive4=PASSES,
                acidsql=PASSES,
                mend="any statement that writes takes it away when it has ended",
            )


def _overlaps(root: Root) -> Iterator[Finding]:
    """Ranges that have write ids in common of which neither is inside the other. A base has all
    write ids from the first.
    """
    read = [d for d in root.layout.of(State.READ) if d.kind is not Kind.ORIGINALS]
    around: list[LaidDirectory] = []
    for directory in sorted(read, key=lambda d: (d.low, -d.high)):
        while around and around[-1].high < directory.low:
            around.pop()
        if around and around[-1].high < directory.high:
            yield Finding(
                severity=Severity.ERROR,
                title="overlapping directories",
                path=root.full(directory.path),
                detail=f'its write ids are in part those of "{around[-1].path}"',
                hive3="reads what both hold twice",
                hive4="reads what both hold twice",
                acidsql="reads what both hold twice",
                mend="find out which of them was not made by Hive or acidsql",
            )
        around.append(directory)


# ---- files of an ACID directory


def _in_directory(root: Root, directory: str) -> Iterator[Finding]:
    name = parse_directory(directory)
    assert name is not None
    files = root.files.get(directory, ())
    if root.holds_events:
        yield from _wrong_files(root, directory, files, deletes=isinstance(name, DeleteDelta))
        if isinstance(name, Base):
            yield from _odd_base_files(root, files)
    yield from _version_file(root, directory, files)
    low, high, _ = id_range(name)
    if low == high and name.visibility_txn_id == NO_VISIBILITY and isinstance(name, DeleteDelta):
        yield from _same_bucket(root, files)


def _wrong_files(
    root: Root, directory: str, files: Sequence[FileEntry], *, deletes: bool
) -> Iterator[Finding]:
    loaded = any(original_bucket(file_name(f)) is not None for f in files)
    in_base = isinstance(parse_directory(directory), Base)
    for file in files:
        name = file_name(file)
        if name.endswith(FLUSH_LENGTH_SUFFIX) or in_base:
            continue
        if parse_bucket_file(name) is None and (not loaded or original_bucket(name) is None):
            yield Finding(
                severity=Severity.ERROR,
                title="file that is not named as a bucket",
                path=root.full(file.path),
                detail="only bucket_NNNNN is read in a delta",
                hive3=PASSES,
                hive4=PASSES,
                acidsql="refuses the table",
                mend="move it aside; its rows were never visible to Hive",
                cure=None if loaded else MoveAside(root=root.path, path=file.path),
            )
        elif not file.size:
            yield _empty_file(root, file, deletes=deletes)


def _empty_file(root: Root, file: FileEntry, *, deletes: bool) -> Finding:
    if deletes:
        return Finding(
            severity=Severity.ERROR,
            title="empty delete file",
            path=root.full(file.path),
            detail="it has no byte: what it should have deleted is not known",
            hive3=FAILS,
            hive4=FAILS,
            acidsql="refuses the table",
            mend="move it away only if you know that its rows are to come back",
        )
    return Finding(
        severity=Severity.WARNING,
        title="empty file",
        path=root.full(file.path),
        detail="it has no byte and so no row",
        hive3=PASSES,
        hive4="passes over it; compactions fail",
        acidsql=PASSES,
        mend="move it aside",
        cure=MoveAside(root=root.path, path=file.path),
    )


def _odd_base_files(root: Root, files: Sequence[FileEntry]) -> Iterator[Finding]:
    for file in files:
        name = file_name(file)
        if parse_bucket_file(name) is None and original_bucket(name) is None:
            yield Finding(
                severity=Severity.WARNING,
                title="file of a base with a name that tells no bucket",
                path=root.full(file.path),
                detail="of a base all files are read, whatever their names",
                hive3="reads it; its rows cannot be updated",
                hive4="reads it; deletes may not reach its rows",
                acidsql=READS,
                mend="give it the name bucket_NNNNN of the bucket that its rows are in",
            )


def _same_bucket(root: Root, files: Sequence[FileEntry]) -> Iterator[Finding]:
    seen: dict[int, str] = {}
    for file in files:
        bucket = parse_bucket_file(file_name(file))
        if bucket is not None and bucket in seen:
            yield Finding(
                severity=Severity.ERROR,
                title="two delete files of one bucket",
                path=root.full(file.path),
                detail=f'"{seen[bucket]}" is of the same bucket',
                hive3="fails in part of its readers",
                hive4=FAILS,
                acidsql="reads both",
                mend="a major compaction by acidsql makes one of them",
            )
        elif bucket is not None:
            seen[bucket] = file_name(file)


def _version_file(root: Root, directory: str, files: Sequence[FileEntry]) -> Iterator[Finding]:
    """Directories of LOAD DATA and of insert-only tables have no version file, unless they would be
    empty without it.
    """
    if ACID_VERSION_FILE in root.names.get(directory, ()):
        return
    if not files:
        yield Finding(
            severity=Severity.ERROR,
            title="empty directory without a version file",
            path=root.full(directory),
            detail="where files are listed and not directories it is not seen",
            hive3=READS,
            hive4="does not see it: what a base should have replaced comes back",
            acidsql=READS,
            mend=f"add {ACID_VERSION_FILE}",
            cure=WriteVersion(directory=root.full(directory)),
        )
    elif root.holds_events and any(parse_bucket_file(file_name(f)) is not None for f in files):
        yield Finding(
            severity=Severity.WARNING,
            title="missing version file",
            path=root.full(directory),
            detail="Trino and others refuse deltas without it",
            hive3=READS,
            hive4=READS,
            acidsql=READS,
            mend=f"add {ACID_VERSION_FILE}",
            cure=WriteVersion(directory=root.full(directory)),
        )


# ---- the root itself


def _originals(root: Root) -> Iterator[Finding]:
    if not root.holds_events:
        return
    behind_base = any(root.layout.of(State.READ, kinds=(Kind.BASE,)))
    for directory in root.layout.directories:
        for file in directory.files if directory.kind is Kind.ORIGINALS else ():
            if original_bucket(file_name(file)) is None:
                yield _odd_original(root, file, behind_base=behind_base)


def _odd_original(root: Root, file: FileEntry, *, behind_base: bool) -> Finding:
    path = root.full(file.path)
    if behind_base:
        return Finding(
            severity=Severity.ERROR,
            title="file beside a base",
            path=path,
            detail="a base makes it obsolete: it is not read, and the cleaner will remove it",
            hive3=PASSES,
            hive4=PASSES,
            acidsql=PASSES,
            mend=f"LOAD DATA INPATH '{path}' INTO TABLE ..",
        )
    return Finding(
        severity=Severity.ERROR,
        title="file that no statement has written",
        path=path,
        detail="its name tells no bucket, so its rows have no ROW__ID",
        hive3="reads it; its rows cannot be updated",
        hive4="reads it; its rows cannot be updated",
        acidsql="reads it; refuses to change the table",
        mend=f"LOAD DATA INPATH '{path}' INTO TABLE ..",
    )


def _hidden_strays(root: Root) -> Iterator[Finding]:
    for directory, names in root.names.items():
        for name in filter(is_hidden, names):
            path = f"{directory}/{name}" if directory else name
            checked = _CHECKSUM.fullmatch(name)
            if _LEFT_OVER.fullmatch(name) or (checked and checked[1] not in names):
                yield Finding(
                    severity=Severity.NOTE,
                    title="stray file of another program",
                    path=root.full(path),
                    detail="Spark or Hadoop has left it",
                    hive3=NOTHING,
                    hive4=NOTHING,
                    acidsql=NOTHING,
                    mend="move it aside",
                    cure=MoveAside(root=root.path, path=path),
                )
            elif _AT_WORK.fullmatch(name):
                yield Finding(
                    severity=Severity.WARNING,
                    title="staging of another program",
                    path=root.full(path),
                    detail="Spark or Hive writes there, or has died there",
                    hive3=NOTHING,
                    hive4=NOTHING,
                    acidsql=NOTHING,
                    mend="remove it if no job of theirs runs; doctor cannot know",
                )
