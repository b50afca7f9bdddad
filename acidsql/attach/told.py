"""What the source that USING names tells, whichever it is: a dump, or a metastore's database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from acidsql.attach.dump import parse_dump
from acidsql.attach.facts import TableFacts
from acidsql.catalog.attached import is_database
from acidsql.catalog.model import Table, TableName
from acidsql.errors import BindError, Span, Warning
from acidsql.files.fileio import FileIO
from acidsql.files.urls import path_of
from acidsql.lazy_dataclass import dataclass
from acidsql.planner.bind.bound_catalog import BoundAttachTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """``words``: the source as EXPLAIN names it, without a password; ``recorded``: as it is kept of
    the table. ``warnings``: what the user should know of the source.
    """

    facts: TableFacts
    words: str
    recorded: str
    warnings: tuple[Warning, ...] = ()


def ask(files: FileIO, action: BoundAttachTable) -> Told | None:
    """None where no source is named. BindError at its place for what it cannot tell."""
    source, span = action.source, action.source_span
    if source is None or span is None:
        return None
    with _placed(span):
        if is_database(source):
            return _of_database(source, action)
        return Told(facts=_of_dump(files, source), words=f"of the dump {source}", recorded=source)


def entry(action: BoundAttachTable, answer: Told) -> Table:
    """The entry to be, with its location. BindError where nobody says it."""
    table = action.table
    if table.location:
        return table
    if answer.facts.location is None:
        raise BindError(
            "the dump does not tell where the table lies",
            hint="ATTACH TABLE .. FROM '/data/orders'",
            span=action.source_span,
        )
    return replace(table, location=answer.facts.location)


def _of_dump(files: FileIO, path: str) -> TableFacts:
    try:
        return parse_dump(files.read(path_of(path)).decode())
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise BindError(f'cannot read the dump "{path}": {reason}') from error


def _of_database(text: str, action: BoundAttachTable) -> Told:
    from acidsql.attach.sources.database import asking
    from acidsql.attach.sources.metastore import HiveTables, find_at, find_named, read_facts
    from acidsql.attach.sources.urls import parse_database_url

    source = parse_database_url(text)
    location = action.table.location
    with asking(source) as connection:
        hive = HiveTables(connection)
        if source.table is None and location:
            hive_table = find_at(hive, location)
        else:
            hive_table = find_named(hive, source.table or action.table.name)
        facts = read_facts(hive, hive_table)
    return Told(
        facts=facts,
        words=f"of the metastore {source.shown}",
        recorded=source.recorded(_named(facts)),
    )


def _named(facts: TableFacts) -> TableName:
    assert facts.name is not None
    return facts.name


@contextmanager
def _placed(span: Span) -> Iterator[None]:
    """Has an error without a place point at the source."""
    try:
        yield
    except BindError as error:
        error.span, error.source = span, None
        raise
