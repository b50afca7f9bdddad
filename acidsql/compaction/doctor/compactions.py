"""What compactions have left behind that died, or that ran again: by names and sizes alone."""

from __future__ import annotations

from collections.abc import Iterator

from acidsql.acid.evidence import evidence_of
from acidsql.acid.listed import is_like_outer
from acidsql.acid.paths import NO_VISIBILITY, Base, is_reserved, parse_directory
from acidsql.acid.snapshot import INPUTS_FILE, nothing_hidden, partner, partner_file
from acidsql.compaction.doctor.finding import PASSES, Finding, RemoveCopy, Root, Severity
from acidsql.errors import FormatError


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
