"""``acidsql store``: what is done to a metastore as a whole."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace

from acidsql.cli.console import counted
from acidsql.errors import ProgrammingError

BEAT_SECONDS = 1.0
"""A copy that is done by then shows nothing on the way."""


def add_arguments(parser: ArgumentParser) -> None:
    parser.epilog = (
        "copy moves the metastore of a warehouse from a file into a PostgreSQL database, back, or"
        " into another database, while nobody has a transaction open. FROM can no longer be opened"
        " then. backup copies the metastore in the file of the warehouse FROM into the new file TO,"
        " as it is at one moment, while others go on using it; to restore it, put it in the place"
        " of FROM/_acidsql/metastore.db while nobody has that open, and run acidsql doctor."
    )
    parser.add_argument("action", choices=["copy", "backup"], help="what to do")
    doc = "the directory of the warehouse, or the URL of a database"
    parser.add_argument("source", metavar="FROM", help=doc)
    parser.add_argument("target", metavar="TO", help=f"{doc}; of backup a file")


def run(args: Namespace) -> int:
    """Copies; 0 when all is done. MetastoreError if not."""
    if args.warehouse or args.metastore:
        raise ProgrammingError(
            f"store {args.action} has no options: FROM and TO say which metastores"
        )
    if args.action == "backup":
        from acidsql.metastore.locations import warehouse_path
        from acidsql.metastore.stores.copying import back_up

        done = back_up(warehouse_path(args.source), args.target)
        print(f'"{done.source}" copied to "{done.target}", {done.bytes:,} bytes', file=sys.stderr)
        return 0
    from acidsql.metastore.stores.copying import copy_store

    said = time.monotonic()

    def progress(done: int, total: int) -> None:
        nonlocal said
        if time.monotonic() - said >= BEAT_SECONDS:
            said = time.monotonic()
            print(f"{done:,} of {counted(total, 'row')} copied", file=sys.stderr)

    copied = copy_store(args.source, args.target, progress)
    how = "was there already" if copied.rows is None else f"{counted(copied.rows, 'row')} copied"
    print(f'the metastore of "{copied.warehouse}" is now "{copied.target}"; {how}', file=sys.stderr)
    return 0
