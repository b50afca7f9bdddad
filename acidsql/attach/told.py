"""What the source that USING names tells, whichever it is: a dump, a metastore, its database, or
exports of one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from sqlalchemy import Connection

from acidsql.attach.dump import parse_dump
from acidsql.attach.facts import TableFacts
from acidsql.attach.sources.database import NAME_IT, asking, spellings
from acidsql.attach.sources.derby_dump import exported, is_derby_dump
from acidsql.attach.sources.live import Source, parse_source
from acidsql.attach.sources.metastore import HiveTables, find_at, find_named, read_facts
from acidsql.attach.sources.service import ask_service
from acidsql.attach.sources.urls import DatabaseUrl, ServiceUrl, hive_name
from acidsql.catalog.attached import is_metastore
from acidsql.catalog.model import Table, TableName
from acidsql.errors import BindError, Span
from acidsql.files.fileio import FileIO, path_of
from acidsql.lazy import dataclass
from acidsql.metastore.hive.authorizers import check_tells
from acidsql.planner.bind.bound_catalog import BoundAttachTable
from acidsql.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """``words``: the source as EXPLAIN names it, without a password; ``recorded``: as it is kept of
    the table. ``database``: what can be asked again, a metastore's service as well.
    """

    facts: TableFacts
    words: str
    recorded: str
    database: Source | None = None


def ask(files: FileIO, action: BoundAttachTable, settings: Settings) -> Told | None:
    """None where no source is named. ``settings``: how a service is reached. BindError at its
    place for what it cannot tell.
    """
    source, span = action.source, action.source_span
    if source is None or span is None:
        return None
    with _placed(span):
        if is_metastore(source):
            return _of_metastore(parse_source(source), action, settings)
        path, _, table = source.partition("?table=")
        if is_derby_dump(files, path_of(path)):
            return _of_exports(files, path, table, action, settings)
        facts = _of_dump(files, source, settings)
        return Told(facts=facts, words=f"of the dump {source}", recorded=source)


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


def _of_dump(files: FileIO, path: str, settings: Settings) -> TableFacts:
    check_tells(settings, f"that {path} tells of")
    try:
        return parse_dump(files.read(path_of(path)).decode())
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise BindError(f'cannot read the dump "{path}": {reason}') from error


def _of_exports(
    files: FileIO, path: str, table: str, action: BoundAttachTable, settings: Settings
) -> Told:
    given = hive_name(table) if table else None
    with exported(files, path_of(path), settings) as connection:
        facts = _facts(connection, given, action)
    return Told(
        facts=facts,
        words=f"of the exports {path}",
        recorded=f"{path}?table={_named(facts)}",
    )


def _of_metastore(source: Source, action: BoundAttachTable, settings: Settings) -> Told:
    match source:
        case DatabaseUrl():
            with asking(source, settings) as connection:
                facts = _facts(connection, source.table, action)
        case ServiceUrl():
            facts = ask_service(source, source.table or action.table.name, settings)
            if source.table is None:
                _check_location(facts, action.table.location)
    return Told(
        facts=facts,
        words=f"of the metastore {source.shown}",
        recorded=source.recorded(_named(facts)),
        database=source,
    )


def _check_location(facts: TableFacts, location: str) -> None:
    """Raises BindError where a table of Hive, found by its name alone, lies elsewhere: a service
    cannot be asked which table lies at a location.
    """
    if location and facts.location not in spellings(location):
        raise BindError(f'{facts.name} lies at "{facts.location}" in Hive', hint=NAME_IT)


def _facts(connection: Connection, given: TableName | None, action: BoundAttachTable) -> TableFacts:
    """What a metastore knows of the table of that name, of the one at the location, or of the one
    that has the name of the new one.
    """
    hive = HiveTables(connection)
    location = action.table.location
    if given is None and location:
        return read_facts(hive, find_at(hive, location))
    return read_facts(hive, find_named(hive, given or action.table.name))


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
