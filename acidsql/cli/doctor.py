"""``acidsql doctor``: what is wrong with the files of tables, and what can be mended of it."""

from __future__ import annotations

import re
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence

from acidsql.acid.ids import WriteId
from acidsql.catalog.model import Table
from acidsql.cli.console import counted
from acidsql.cli.main import open_existing
from acidsql.cli.options import add_output_format
from acidsql.cli.tables import absolute, find_table, is_path, print_rows, tell_kept
from acidsql.compaction.doctor.finding import Cure, Finding
from acidsql.compaction.doctor.mending import forget_lost, mend
from acidsql.compaction.doctor.rounds import examine_path, examine_table, tables_of
from acidsql.compaction.picture import visible
from acidsql.errors import Error, ProgrammingError, file_error
from acidsql.files.fileio import path_of
from acidsql.files.local_files import LOCAL
from acidsql.session import Session
from acidsql.storage.undeclared import FORGET, find_undeclared, named, remove_unfinished, runs
from acidsql.txn.manager import highest_given

# ---- what became of write ids
#
# ``acidsql doctor TABLE --committed IDS --aborted IDS``: what became of write ids of files that
# others wrote, said by those who know.


REST = "rest"
_RANGE = re.compile("([0-9]{1,18})(?:-([0-9]{1,18}))?")


def declare(session: Session, table: Table, committed: str | None, aborted: str | None) -> str:
    """Puts on record what became of the write ids; what was done, in words. ProgrammingError if
    that is not said of each of them, and of no other, once. OSError.
    """
    store = session.store
    given_out = highest_given(store, table.name)
    locations = [partition.location for partition in store.list_partitions(table)]
    undeclared = find_undeclared(session.files, table, locations, given_out)
    if undeclared is None or not undeclared.undecided:
        raise ProgrammingError(
            f"nothing is to be said of the write ids of table {table.name}",
            hint="acidsql doctor says what is wrong with it.",
        )
    wanted = set(undeclared.write_ids)
    said = {"committed": _parsed(committed, wanted), "aborted": _parsed(aborted, wanted)}
    if REST in (committed, aborted):
        explicit = said["committed"] | said["aborted"]
        said["committed" if committed == REST else "aborted"] = wanted - explicit
    _check(table, said["committed"], said["aborted"], wanted)
    highest = set() if undeclared.highest in wanted else {undeclared.highest}
    remove_unfinished(session.files, undeclared)
    store.declare_write_ids(
        table.name,
        committed=said["committed"] | highest,
        aborted=said["aborted"],
        highest_txn=undeclared.highest_txn,
    )
    words = [f"{runs(sorted(ids))} {what}" for what, ids in said.items() if ids]
    gone = named(undeclared.unfinished, path_of(table.location))
    removed = f"; removed, compactions that never committed: {gone}" if gone else ""
    return f"{table.name}: write ids {' and '.join(words)}{removed}"


def _parsed(text: str | None, wanted: set[WriteId]) -> set[WriteId]:
    """The write ids of a list such as ``1,4-6``. ProgrammingError for another text."""
    ids: set[WriteId] = set()
    for part in [] if text in (None, REST) else str(text).split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            raise ProgrammingError(
                f'"{part}" is no write id', hint=f"Write 1,4-6 or {REST}: all that are not named."
            )
        low, high = int(match[1]), int(match[2] or match[1])
        if not {low, high} <= wanted:
            _refuse_unknown(part.strip(), wanted)
        ids |= {one for one in wanted if low <= one <= high}
    return ids


def _refuse_unknown(part: str, wanted: set[WriteId]) -> None:
    raise ProgrammingError(
        f"write id {part} is not one that is to be decided",
        hint=f"These are: {runs(sorted(wanted))}.",
    )


def _check(
    table: Table, committed: set[WriteId], aborted: set[WriteId], wanted: set[WriteId]
) -> None:
    if committed & aborted:
        both = runs(sorted(committed & aborted))
        raise ProgrammingError(f"write ids {both} are said to be committed, and aborted")
    left = wanted - committed - aborted
    if left:
        raise ProgrammingError(
            f"nothing is said of the write ids {runs(sorted(left))} of table {table.name}",
            hint=f"Name them, or say {REST}: nothing is taken for committed by itself.",
        )


# ---- doctor


_COLUMNS = tuple(
    (name, "string")
    for name in (
        "severity", "table", "finding", "path", "detail", "hive3", "hive4", "acidsql", "mend",
        "repair",
    )
)  # fmt: skip

_OF_TABLES = ("committed", "aborted", "forget_lost")
"""The options that say something of one table."""

_ROUNDS = 3
"""What is mended may let more be seen: files of write ids that were not given out, say."""

Row = tuple[str, Finding]
"""A table's name, or a directory, and what is wrong with it."""


def add_arguments(parser: ArgumentParser) -> None:
    parser.epilog = (
        "Without a table: all of the warehouse. Exit code 0: nothing is wrong, or nothing is any"
        " more; 1: something is. --repair deletes no row and guesses nothing: what readers pass"
        " over is moved into the hidden directory .acidsql_strays, footer keys are computed from"
        " the rows, staged files of ended transactions go. What only you can know you say of one"
        " table: --committed and --aborted, what became of the transactions of whoever wrote its"
        f" files; {FORGET}, that files are gone for good."
    )
    doc = "a table (t, db.t) or a directory that no catalog knows"
    parser.add_argument("table", metavar="TABLE", nargs="?", help=doc)
    parser.add_argument("--repair", action="store_true", help="mend what can be mended")
    for what in ("committed", "aborted"):
        parser.add_argument(
            f"--{what}",
            metavar="IDS",
            help=f"of TABLE, whose files others wrote: these write ids (1,4-6; rest) were {what}",
        )
    parser.add_argument(
        FORGET,
        action="store_true",
        help="have TABLE go on without the files that are lost",
    )
    add_output_format(parser, "a paragraph for each finding")


def run(args: Namespace) -> int:
    """Examines, mends if asked to, prints what is left; 0 if nothing is. Error if it cannot."""
    try:
        asked = [o for o in ("repair", *_OF_TABLES) if getattr(args, o)]
        if args.table and is_path(args.table) and "://" not in args.table:
            path = absolute(args.table)
            if asked:
                raise ProgrammingError(
                    f"--{asked[0].replace('_', '-')} is for tables of the catalog",
                    hint="Whose files these are, and who uses them, nobody knows here.",
                )
            if not LOCAL.exists(path):
                raise ProgrammingError(f'there is no directory "{path}"')
            left = [(path, finding) for finding in examine_path(LOCAL, path)]
            return _report(args, left, mended=0)
        if not args.table and any(option in _OF_TABLES for option in asked):
            raise ProgrammingError(
                f"--{asked[-1].replace('_', '-')} is for one table", hint="Name it."
            )
        with open_existing(args) as session:
            return _examine(args, session)
    except OSError as error:
        where = f' "{error.filename}"' if error.filename else ""
        raise file_error(
            f"cannot read or write{where}", error, detail=error.strerror or str(error)
        ) from error


def _examine(args: Namespace, session: Session) -> int:
    tables = [find_table(session, args.table)] if args.table else list(tables_of(session.store))
    left: list[Row] = []
    mended = 0
    for table in tables:
        if args.committed or args.aborted:
            _say(declare(session, table, args.committed, args.aborted))
        if args.forget_lost:
            for path in forget_lost(session.store, session.files, table):
                _say(f"{path}: off the record")
        findings = examine_table(session.store, session.files, table)
        for _ in range(_ROUNDS if args.repair else 0):
            cured = _repair(session, table, findings)
            mended += cured
            if not cured:
                break
            findings = examine_table(session.store, session.files, table)
        left += [(str(table.name), finding) for finding in findings]
    if not args.table:
        tell_kept(session)
    return _report(args, left, mended=mended)


def _repair(session: Session, table: Table, findings: Sequence[Finding]) -> int:
    """Mends what can be; returns how many cures were carried out. What cannot is told."""
    done: set[Cure] = set()
    for finding in findings:
        if finding.cure is None or finding.cure in done:
            continue
        try:
            what = mend(session.store, session.files, table, finding)
        except (Error, OSError) as error:
            _say(f"{finding.path}: {error}")
            continue
        done.add(finding.cure)
        _say(f"{finding.path}: {finding.title}: {what}")
    return len(done)


def _say(text: str) -> None:
    print("\n".join(map(visible, text.split("\n"))), file=sys.stderr)


def _report(args: Namespace, left: Sequence[Row], *, mended: int) -> int:
    if args.outputformat:
        print_rows(args, _COLUMNS, map(_cells, left))
    else:
        for name, finding in left:
            print("\n".join(_paragraph(name, finding)))
    what = f"{counted(len(left), 'finding')}{' left' if args.repair else ''}"
    _say(f"{what}, {mended:,} mended" if args.repair else what)
    return 1 if left else 0


def _cells(row: Row) -> tuple[str, ...]:
    name, finding = row
    return (
        finding.severity,
        name,
        finding.title,
        finding.path,
        finding.detail,
        finding.hive3,
        finding.hive4,
        finding.acidsql,
        finding.mend,
        "no" if finding.cure is None else "yes",
    )


def _paragraph(name: str, finding: Finding) -> Iterator[str]:
    yield visible(f"{finding.severity}: {finding.title}")
    for head, text in (
        ("table", name),
        ("path", finding.path),
        ("detail", finding.detail),
        ("Hive 3", finding.hive3),
        ("Hive 4", finding.hive4),
        ("acidsql", finding.acidsql),
        ("mend", finding.mend + ("" if finding.cure is None else " (--repair does)")),
    ):
        yield f"  {head + ':':<9}{visible(text)}"
