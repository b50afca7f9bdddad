"""``acidsql migrate``: tables with their history from a warehouse into Hive's metastore or back."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import Protocol

from acidsql.attach.migration.from_hive import FromHive
from acidsql.attach.migration.moving import Moved
from acidsql.attach.migration.to_hive import ToHive
from acidsql.catalog.attached import is_service
from acidsql.catalog.model import TableName
from acidsql.cli.console import counted
from acidsql.cli.options import add_output_format
from acidsql.cli.tables import print_rows
from acidsql.errors import Error, ExecutionError, ProgrammingError
from acidsql.metastore.embedded import EmbeddedMetastore
from acidsql.metastore.hms.metastore import HiveMetastore
from acidsql.metastore.locations import warehouse_path
from acidsql.metastore.stores.database_file import is_warehouse, read_marker
from acidsql.session import Session

_COLUMNS = tuple((name, "string") for name in ("table", "kind", "partitions", "write_id", "state"))


def add_arguments(parser: ArgumentParser) -> None:
    parser.epilog = (
        "Tables go from FROM to TO with their columns, partitions, properties, buckets and"
        " constraints, and go on behind the write ids that they have. Their files stay where they"
        " are: they are those of TO from then on, and FROM has the table no more. One that cannot"
        " be carried is named with its reason, and then nothing is changed. Statistics stay behind."
        " Run again, the command goes on with what was interrupted. Exit code 1: not all was"
        " carried; 75: somebody uses a table, and the command may be run again."
    )
    one = "a directory, of a warehouse with a metastore of its own, or thrift://host:9083, Hive's"
    parser.add_argument("source", metavar="FROM", help=one)
    parser.add_argument("target", metavar="TO", help="the other one of both")
    parser.add_argument(
        "--database", action="append", default=[], metavar="DB", help="its tables (else all)"
    )
    parser.add_argument(
        "--table", action="append", default=[], metavar="DB.TABLE", help="this table"
    )
    parser.add_argument("--dry-run", action="store_true", help="tell what would be done")
    parser.add_argument(
        "--forget-copies",
        action="store_true",
        help="carry tables without what COPY INTO .. ONCE remembers",
    )
    parser.add_argument(
        "--undo",
        action="store_true",
        help="give tables that are half-way back to FROM",
    )
    add_output_format(parser, "table")


class _Way(Protocol):
    def plan(self, databases: Sequence[str], tables: Sequence[TableName]) -> list[Moved]: ...

    def move(self, name: TableName) -> Moved: ...

    def take_back(self, name: TableName) -> bool: ...


def run(args: Namespace) -> int:
    """Carries what is asked for; 0 when all is done. Error if not."""
    to_hive = is_service(args.target)
    if to_hive == is_service(args.source):
        raise ProgrammingError(
            "one of FROM and TO is a directory, and the other one thrift://host:port",
            hint="acidsql store copy moves the metastore of a warehouse into a database.",
        )
    directory, url = (args.source, args.target) if to_hive else (args.target, args.source)
    if to_hive and not is_warehouse(warehouse_path(directory)):
        raise ProgrammingError(f'there is no warehouse in "{warehouse_path(directory)}"')
    marker = read_marker(warehouse_path(directory))  # its metastore may be a database
    kept_in = "" if marker is None else marker.metastore
    with Session(directory, metastore=kept_in) as own, Session(metastore=url) as hive:
        embedded, service = own.store, hive.store
        if not isinstance(embedded, EmbeddedMetastore) or not isinstance(service, HiveMetastore):
            raise ProgrammingError("a warehouse and Hive's metastore are needed")
        way: ToHive | FromHive
        if to_hive:
            way = ToHive(
                source=embedded, files=own.files, target=service, forget_taken=args.forget_copies
            )
        else:
            way = FromHive(source=service, files=own.files, target=embedded)
        return _undo(args, way) if args.undo else _carry(args, way)


def _carry(args: Namespace, way: _Way) -> int:
    planned = way.plan(_lower(args.database), _tables(args.table))
    refused = [one for one in planned if one.reason is not None]
    if refused or args.dry_run:
        _print(args, planned)
        if refused:
            print(
                f"{counted(len(refused), 'table')} cannot be carried; nothing is changed",
                file=sys.stderr,
            )
        return 1 if refused else 0
    done: list[Moved] = []
    try:
        for one in planned:
            done.append(_moved(way, one.name))
    finally:
        _print(args, [*done, *planned[len(done) :]])
    print(f"{counted(len(done), 'table')} carried", file=sys.stderr)
    behind = sorted({what for one in done for what in one.left})
    if behind:
        print(f"not carried along: {', '.join(behind)}", file=sys.stderr)
    return 0


def _moved(way: _Way, name: TableName) -> Moved:
    try:
        return way.move(name)
    except OSError as error:
        raise ExecutionError(f'cannot carry table "{name}": {error.strerror or error}') from error
    except Error as error:
        error.add_note(f"at table {name}; those above it are carried")
        raise


def _undo(args: Namespace, way: _Way) -> int:
    back = 0
    for one in way.plan(_lower(args.database), _tables(args.table)):
        back += way.take_back(one.name)
    print(f"{counted(back, 'table')} given back", file=sys.stderr)
    return 0


def _print(args: Namespace, moved: Sequence[Moved]) -> None:
    print_rows(args, _COLUMNS, [one.row for one in moved])


def _lower(names: Sequence[str]) -> list[str]:
    return [name.lower() for name in names]


def _tables(texts: Sequence[str]) -> list[TableName]:
    return [_table(text) for text in texts]


def _table(text: str) -> TableName:
    database, dot, table = text.replace("`", "").lower().rpartition(".")
    if not table:
        raise ProgrammingError(f'"{text}" is no name of a table')
    return TableName(database if dot else "default", table)
