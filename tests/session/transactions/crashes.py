"""Real processes that are killed at a named point, in milliseconds each. What is left is looked at
without Spark.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pyarrow import orc

from acidsql.acid.ids import Base, parse_directory
from acidsql.catalog.model import Table, TableKind, TableName
from acidsql.metastore.sql import select
from acidsql.metastore.tables import (
    HIVE_LOCKS,
    MIN_HISTORY_LEVEL,
    TXN_COMPONENTS,
    TXN_TO_WRITE_ID,
    TXNS,
)
from acidsql.session import Session
from acidsql.txn.reading import ReadSnapshot
from tests.forks import ended
from tests.spark.naive_reader import EVENT

Row = tuple[Any, ...]


def killed(
    warehouse: Path,
    point: str,
    *statements: str,
    times: int = 1,
    run_id: str | None = None,
    **settings: str,
) -> bool:
    """Runs statements, each under the run id if there is one, in a process that is killed when it
    comes to ``point`` for so many ``times``, or to "the end" of the statements; whether it came
    there. AssertionError if a statement fails.
    """
    asked = (str(warehouse), point, times, statements, run_id, settings)
    end = ended(_run_and_die, *asked, folder=warehouse.parent)
    assert end.returncode in (0, -signal.SIGKILL), f"a statement failed: {statements}: {end.stderr}"
    return end.returncode != 0


def _run_and_die(
    warehouse: str,
    point: str,
    times: int,
    statements: Sequence[str],
    run_id: str | None,
    settings: dict[str, str],
) -> None:
    from acidsql import crash_points

    left = times

    def reached(name: str) -> None:
        nonlocal left
        left -= name == point
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

    with Session(warehouse, settings=settings) as session:
        crash_points.hook = reached
        for statement in statements:
            session.sql(statement, run_id=run_id)
        reached("the end")


# ---- what is left


def rows_of(session: Session, name: str) -> list[Row]:
    """The rows that a reader sees now, sorted; columns of partitions are the last."""
    table = session.store.find_table(TableName("default", name))
    assert table is not None
    with ReadSnapshot(session.store) as visible:
        return _rows(session, table, visible)


def _rows(session: Session, table: Table, visible: ReadSnapshot) -> list[Row]:
    partitions = session.store.list_partitions(table)
    snapshot = session.engine.snapshots(visible).take(table, partitions)
    rows: list[Row] = []
    for part in snapshot.partitions:
        values = part.partition.values if part.partition else ()
        if part.directory is None:
            paths = [f"{part.root}/{file.path}" for file in part.files if file.size]
            rows += [(*row.values(), *values) for path in paths for row in _read(path)]
            continue
        dead = {
            _key(event)
            for file in part.directory.delete_files
            for event in _read(f"{part.root}/{file.path}")
        }
        rows += [
            (*event["row"].values(), *values)
            for file in part.directory.insert_files
            for event in _read(f"{part.root}/{file.path}")
            if _key(event) not in dead
        ]
    return sorted(rows)


def _read(path: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = orc.ORCFile(path).read().to_pylist()
    return rows


def _key(event: dict[str, Any]) -> Row:
    return tuple(event[name] for name in EVENT[1:4])


def garbage(session: Session) -> list[str]:
    """All that should not be there once somebody has written after a process was killed."""
    return sorted([*_names(session), *_records(session)])


def _names(session: Session) -> Iterator[str]:
    """Hidden names, directories of write ids that are not committed, and files of no table."""
    tables = list(_tables(session))
    for folder, folders, files in os.walk(session.warehouse):
        folders[:] = [f for f in folders if f != "_acidsql"]
        yield from (f"{folder}/{f}" for f in folders if f.startswith(".acidsql"))
        if files and not any(f"{folder}/".startswith(f"{t.location}/") for t in tables):
            yield f"{folder} belongs to no table"
    for table in tables:
        if not table.is_transactional:
            continue
        valid = session.store.valid_write_ids(table.name, session.store.valid_txns())
        partitions = {p.location for p in session.store.list_partitions(table)}
        yield from (f"write id {one} of {table.name}" for one in valid.exceptions)
        for path in Path(table.location).rglob("*"):
            name = parse_directory(path.name)
            if name is not None:
                write_id = name.write_id if isinstance(name, Base) else name.max_write_id
                if not valid.is_valid(write_id):
                    yield str(path)
            elif "=" in path.name and not any(path.iterdir()) and str(path) not in partitions:
                yield f"{path} is empty"


def _tables(session: Session) -> Iterator[Table]:
    store = session.store
    names = (TableName(d, t) for d in store.list_databases() for t in store.list_tables(d))
    for table in map(store.find_table, names):
        if table is not None and table.kind is not TableKind.VIEW:
            yield table


def _records(session: Session) -> Iterator[str]:
    """Rows of the store about transactions that did not commit, but for their own: those tell what
    became of them.
    """
    aborted = select(TXNS.c.TXN_ID).where(TXNS.c.TXN_STATE == "a")
    queries = (
        select(TXNS).where(TXNS.c.TXN_STATE == "o"),
        select(TXN_COMPONENTS),
        select(HIVE_LOCKS),
        select(MIN_HISTORY_LEVEL),
        select(TXN_TO_WRITE_ID).where(TXN_TO_WRITE_ID.c.T2W_TXNID.in_(aborted)),
    )
    with session.store._store.read() as connection:
        for query in queries:
            for row in connection.execute(query):
                yield f"{query.get_final_froms()[0].name}: {row}"


def run_all(session: Session, statements: Sequence[str]) -> None:
    for statement in statements:
        session.sql(statement)
