"""A dump: what Hive knows of a table, in a text file that anybody can make who may run queries.

    CREATE TABLE orders (id int, amount decimal(10,2)) PARTITIONED BY (day date) ..;
    high watermark 17
    open 16
    aborted 3
    day=2024-01-01

First SHOW CREATE TABLE with a semicolon behind it, then the rows of a query of the metastore's
database, then SHOW PARTITIONS (a path behind a tab for a partition that lies elsewhere). Lines of
frames, as Beeline draws them, and comments behind ``--`` are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from acidsql.acid.ids import WriteId
from acidsql.acid.write_ids import ValidWriteIdList
from acidsql.catalog.model import Bucketing, Column, Partition, Table
from acidsql.catalog.partitions import partition_values
from acidsql.errors import BindError, Error
from acidsql.lazy_dataclass import dataclass
from acidsql.parser.parse import parse
from acidsql.parser.script import split
from acidsql.parser.statements import CreateTable
from acidsql.planner.bind.ddl.columns import bind_bucketing, bind_columns, bind_partition_columns

_FACT = re.compile(r"(high watermark|open|aborted)[\s|,:=]+(\d+(?:[\s,]+\d+)*)", re.IGNORECASE)
_FRAME = re.compile(r"[-+|\s]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dump:
    """``partitions``: names, and paths of those that lie elsewhere. ``high_watermark``: the highest
    write id that was given out; ``open``, ``aborted``: those up to it that do not count.
    """

    columns: tuple[Column, ...]
    partition_columns: tuple[Column, ...]
    bucketing: Bucketing | None
    transactional: bool
    insert_only: bool
    location: str | None
    high_watermark: WriteId
    open: tuple[WriteId, ...]
    aborted: tuple[WriteId, ...]
    partitions: tuple[tuple[str, str | None], ...]

    def write_ids(self, name: str) -> ValidWriteIdList:
        return ValidWriteIdList(
            table=name,
            high_watermark=self.high_watermark,
            open=self.open,
            aborted=self.aborted,
        )

    def partitions_at(self, location: str) -> tuple[Partition, ...]:
        """The partitions of the table at a location. BindError for a name that is none of its."""
        columns = [column.name for column in self.partition_columns]
        partitions = []
        for name, elsewhere in self.partitions:
            values = partition_values(columns, name)
            if values is None:
                raise BindError(f'"{name}" is no partition of a table by {", ".join(columns)}')
            partitions.append(Partition(values=values, location=elsewhere or f"{location}/{name}"))
        return tuple(partitions)


def parse_dump(text: str) -> Dump:
    """BindError that names the line for what is not understood or missing."""
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
    return Dump(
        columns=columns,
        partition_columns=bind_partition_columns(statement.partitioned_by, columns),
        bucketing=bind_bucketing(statement.clustered_by, columns, int(version)),
        transactional=properties.get("transactional", "").lower() == "true",
        insert_only=properties.get("transactional_properties") == "insert_only",
        location=statement.location,
        high_watermark=facts["high watermark"][0],
        open=tuple(facts["open"]),
        aborted=tuple(facts["aborted"]),
        partitions=tuple(partitions),
    )


def _lines(
    lines: Iterable[str], first_line: int
) -> tuple[dict[str, list[WriteId]], list[tuple[str, str | None]]]:
    facts: dict[str, list[WriteId]] = {"high watermark": [], "open": [], "aborted": []}
    partitions: list[tuple[str, str | None]] = []
    for number, line in enumerate(lines, first_line):
        text = line.split("--")[0] if line.lstrip().startswith("--") else line
        if _FRAME.fullmatch(text):
            continue
        text = text.strip().strip("|").strip()
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


def dump_text(table: Table, ddl: str, write_ids: ValidWriteIdList, names: Iterable[str]) -> str:
    """The dump of a table. ``ddl``: its CREATE TABLE; ``names``: of its partitions."""
    return "\n".join(_dumped(ddl, write_ids, names)) + "\n"


def _dumped(ddl: str, write_ids: ValidWriteIdList, names: Iterable[str]) -> Iterator[str]:
    yield f"{ddl.rstrip().rstrip(';')};"
    yield f"high watermark {write_ids.high_watermark}"
    yield from (f"open {one}" for one in write_ids.open)
    yield from (f"aborted {one}" for one in write_ids.aborted)
    yield from names
