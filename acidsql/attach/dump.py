"""A dump: what Hive knows of a table, in a text file that anybody can make who may run queries.

    CREATE TABLE orders (id int, amount decimal(10,2)) PARTITIONED BY (day date) ..;
    high watermark 17
    open 16
    aborted 3
    day=2024-01-01

First SHOW CREATE TABLE with a semicolon behind it, then the rows of a query of the metastore's
database, then SHOW PARTITIONS (a path behind a tab for a partition that lies elsewhere). Lines of
frames, as Beeline draws them, comments behind ``--``, and the constraints that SHOW CREATE TABLE
tells as ALTER TABLE are passed over: a table of others is attached without its rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from acidsql.acid.ids import ValidWriteIdList, WriteId
from acidsql.attach.facts import PartitionFacts, TableFacts
from acidsql.catalog.attached import check_no_overlay
from acidsql.catalog.catalog import Catalog
from acidsql.catalog.describe import show_create
from acidsql.catalog.model import Column, FileFormat, Partition, Table, TableKind
from acidsql.catalog.partitions import default_location, name_of, partition_values
from acidsql.errors import BindError, Error, WriteConflictError
from acidsql.parser.parse import parse
from acidsql.parser.script import split
from acidsql.parser.statements import CreateTable
from acidsql.planner.bind.ddl.columns import bind_bucketing, bind_columns, bind_partition_columns
from acidsql.txn.manager import TxnManager

_FACT = re.compile(r"(high watermark|open|aborted)[\s|,:=]+(\d+(?:[\s,]+\d+)*)", re.IGNORECASE)
_FRAME = re.compile(r"[-+|\s]*")
_RULE = re.compile(
    r"^[|\s]*ALTER\s+TABLE\s.*?\bCONSTRAINT\b.*?;[|\s]*?$", re.IGNORECASE | re.MULTILINE
)

NOTHING_WRITTEN = ValidWriteIdList(table="", high_watermark=WriteId(0))


class Metastore(Catalog, TxnManager, Protocol):
    """What knows tables and their transactions."""


def parse_dump(text: str) -> TableFacts:
    """BindError that names the line for what is not understood or missing."""
    text = _without_rules(text)
    try:
        statements = split(text)
        statement = parse(statements[0].text) if statements else None
    except Error as error:
        raise BindError("the dump does not begin with CREATE TABLE", detail=str(error)) from error
    if not isinstance(statement, CreateTable):
        raise BindError("the dump does not begin with CREATE TABLE, and a semicolon behind it")
    ddl_end = statements[0].span.end
    rest = text[ddl_end:]
    at = rest.find(";")
    if at < 0:
        raise BindError("the CREATE TABLE of the dump has no semicolon behind it")
    first_line = text.count("\n", 0, ddl_end + at) + 1
    facts, partitions = _lines(rest[at + 1 :].split("\n"), first_line)
    if len(facts["high watermark"]) != 1:
        raise BindError('the dump has no line "high watermark N", or several')
    properties = {one.key: one.value for one in statement.properties}
    columns = bind_columns(statement.columns)
    version = properties.get("bucketing_version", "1")
    if not partitions and statement.partitioned_by:
        raise BindError("the dump names no partition", hint="SHOW PARTITIONS lists them.")
    keys = bind_partition_columns(statement.partitioned_by, columns)
    return TableFacts(
        columns=columns,
        partition_columns=keys,
        bucketing=bind_bucketing(statement.clustered_by, columns, int(version)),
        transactional=properties.get("transactional", "").lower() == "true",
        insert_only=properties.get("transactional_properties") == "insert_only",
        location=statement.location,
        high_watermark=facts["high watermark"][0],
        open=tuple(facts["open"]),
        aborted=tuple(facts["aborted"]),
        partitions=tuple(_partition(keys, *one) for one in partitions),
    )


def _without_rules(text: str) -> str:
    """The text with empty lines for those of constraints; Hive ends the CREATE TABLE before them
    with no semicolon.
    """
    rule = _RULE.search(text)
    if rule is None:
        return text
    before = text[: rule.start()].rstrip("|-+ \t\r\n")
    end = "" if before.endswith(";") else ";"
    return text[: rule.start()] + end + _RULE.sub("", text[rule.start() :])


def _partition(keys: Sequence[Column], name: str, elsewhere: str | None) -> PartitionFacts:
    """BindError for a name that is no partition of the table."""
    columns = [column.name for column in keys]
    values = partition_values(columns, name)
    if values is None:
        raise BindError(f'"{name}" is no partition of a table by {", ".join(columns)}')
    return PartitionFacts(values=values, path=elsewhere or name)


def _lines(
    lines: Iterable[str], first_line: int
) -> tuple[dict[str, list[WriteId]], list[tuple[str, str | None]]]:
    facts: dict[str, list[WriteId]] = {"high watermark": [], "open": [], "aborted": []}
    partitions: list[tuple[str, str | None]] = []
    for number, line in enumerate(lines, first_line):
        if _FRAME.fullmatch(line) or line.lstrip().startswith("--"):
            continue
        text = _unframed(line.rstrip("\r"))
        fact = _FACT.fullmatch(text)
        if fact is not None:
            facts[fact[1].lower()] += [WriteId(int(one)) for one in re.findall(r"\d+", fact[2])]
            continue
        name, _, elsewhere = text.partition("\t")
        if "=" not in name:
            raise BindError(
                f'line {number} of the dump is not understood: "{text[:60]}"',
                hint='Lines are "high watermark N", "open N", "aborted N", or names of partitions.',
            )
        partitions.append((name, elsewhere.strip() or None))
    return facts, partitions


def _unframed(line: str) -> str:
    """A row as it is: a partition's name may end with anything, unless Beeline's frame tells."""
    text = line.lstrip()
    return text.strip().strip("|").strip() if text.startswith("|") else text


def dump_of(store: Metastore, table: Table) -> str:
    """The dump of a table of this warehouse, or of one that is attached to it. BindError for what
    cannot be attached.
    """
    check_no_overlay(table, "half of its files are those of others")
    if table.kind is TableKind.VIEW or table.file_format is not FileFormat.ORC:
        raise BindError(
            f"table {table.name} cannot be attached elsewhere",
            hint="Tables stored as ORC are attached.",
        )
    write_ids = NOTHING_WRITTEN
    if table.is_transactional:
        write_ids = store.valid_write_ids(table.name, store.valid_txns())
    # behind the write ids: a partition that comes in between has no rows of theirs
    partitions = store.list_partitions(table)
    if store.find_table(table.name) != table:
        raise WriteConflictError(
            f'table "{table.name}" was changed by another session meanwhile', hint="Dump it again."
        )
    ddl = "\n".join(show_create(replace(table, constraints=()), qualified=False))
    return dump_text(ddl, write_ids, [_line(table, partition) for partition in partitions])


def _line(table: Table, partition: Partition) -> str:
    name = name_of(table, partition)
    lies_there = partition.location == default_location(table, partition.values)
    return name if lies_there else f"{name}\t{partition.location}"


def dump_text(ddl: str, write_ids: ValidWriteIdList, names: Iterable[str]) -> str:
    """A dump. ``ddl``: CREATE TABLE; ``names``: the lines of partitions."""
    return "\n".join(_dumped(ddl, write_ids, names)) + "\n"


def _dumped(ddl: str, write_ids: ValidWriteIdList, names: Iterable[str]) -> Iterator[str]:
    yield f"{ddl.rstrip().rstrip(';')};"
    yield f"high watermark {write_ids.high_watermark}"
    yield from (f"open {one}" for one in write_ids.open)
    yield from (f"aborted {one}" for one in write_ids.aborted)
    yield from names
