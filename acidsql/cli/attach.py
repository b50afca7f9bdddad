"""``acidsql attach``: what another warehouse needs to know of a table to attach it."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from acidsql.cli.main import open_existing


def add_arguments(parser: ArgumentParser) -> None:
    parser.epilog = (
        "Prints a dump of a table: its definition, which of its write ids count, its partitions. In"
        " another warehouse, ATTACH TABLE t FROM 'location' USING 'file' takes it. Nothing is"
        " changed."
    )
    doc = "print a dump of this table (t, db.t), to be redirected into a file"
    parser.add_argument("--dump", metavar="TABLE", required=True, help=doc)


def run(args: Namespace) -> int:
    """Prints the dump; 0. Error if there is no such table, or none that can be attached."""
    with open_existing(args) as session:
        sys.stdout.write(session.dump(args.dump))
    return 0
