"""Wall clocks through a session, in by every door and out by every door."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

import acidsql
from acidsql.session import Session

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
Clocks = list[datetime.datetime]


def rows_of(clocks: Clocks) -> pa.Table:
    """The clocks as a frame, with their numbers."""
    numbers = pa.array(range(len(clocks)), pa.int32())
    return pa.table({"id": numbers, "ts": pa.array(clocks, pa.timestamp("us"))})


def _as_frame(session: Session, table: str, clocks: Clocks) -> None:
    session.table(table).append(rows_of(clocks))


def _as_parameters(session: Session, table: str, clocks: Clocks) -> None:
    for number in range(0, len(clocks), 25):
        part = clocks[number : number + 25]
        markers = ", ".join(["(?, ?)"] * len(part))
        values = [value for pair in enumerate(part, number) for value in pair]
        session.sql(f"INSERT INTO {table} VALUES {markers}", values)


def _by_a_query(session: Session, table: str, clocks: Clocks) -> None:
    rows = ", ".join(f"({number}, '{clock}')" for number, clock in enumerate(clocks))
    session.sql(
        f"INSERT INTO {table} SELECT CAST(id AS INT), CAST(ts AS TIMESTAMP)"
        f" FROM (VALUES {rows}) v (id, ts)"
    )


def _by_create_table(session: Session, table: str, clocks: Clocks) -> None:
    _by_a_query(session, f"{table}", clocks)
    session.sql(f"CREATE TABLE {table}_2 {ACID} AS SELECT * FROM {table}")
    session.sql(f"DELETE FROM {table}")
    session.sql(
        f"MERGE INTO {table} t USING {table}_2 s ON t.id = s.id"
        " WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.ts)"
    )


WAYS_IN: dict[str, Callable[[Session, str, Clocks], None]] = {
    "frame": _as_frame,
    "parameters": _as_parameters,
    "query": _by_a_query,
    "ctas and merge": _by_create_table,
}
WAYS_OUT: dict[str, Callable[[Session, str], list[Any]]] = {
    "fetchall": lambda s, q: [row[1] for row in s.sql(q).fetchall()],
    "arrow": lambda s, q: s.sql(q).to_arrow().column(1).to_pylist(),
    "stream": lambda s, q: [v for b in s.sql(q).batches() for v in b.column(1).to_pylist()],
    "df": lambda s, q: [row[1] for row in s.sql(q).df.collect()],
    "df as arrow": lambda s, q: s.sql(q).df.toArrow().column(1).to_pylist(),
}


def read_back(session: Session, table: str, clocks: Clocks) -> list[str]:
    """What is not as it was written, by the way out. What ``acidsql.engine=local`` leaves to Spark
    is no fault.
    """
    faults = []
    for engine in ("local", "spark"):
        session.sql(f"SET acidsql.engine={engine}")
        for name, way in WAYS_OUT.items():
            if engine == "local" and "df" in name:
                continue
            with _left_to_spark(engine):
                pairs = zip(clocks, way(session, _rows(table)), strict=True)
                faults += [f"{engine} {name}: {w} is {r}" for w, r in pairs if w != r][:3]
        with _left_to_spark(engine):
            faults += _faults_of_words(session, table, clocks, engine)
    session.sql("RESET acidsql.engine")
    return faults


def _rows(table: str, shown: str = "ts") -> str:
    return f"SELECT id, {shown} FROM {table} ORDER BY id"


@contextmanager
def _left_to_spark(engine: str) -> Iterator[None]:
    try:
        yield
    except acidsql.UnsupportedStatementError:
        if engine != "local":
            raise


def _faults_of_words(session: Session, table: str, clocks: Clocks, engine: str) -> list[str]:
    texts = session.sql(_rows(table, "CAST(ts AS STRING)")).fetchall()
    count = f"SELECT count(*) FROM {table} WHERE ts IN (?)"
    [(hits,)] = session.sql(count, [sorted(set(clocks))]).fetchall()
    faults = [] if hits == len(clocks) else [f"{engine}: {hits} of {len(clocks)} are found"]
    for clock, (_, text) in zip(clocks, texts, strict=True):
        whole, _, fraction = text.partition(".")
        again = datetime.datetime.fromisoformat(f"{whole}.{fraction:0<6}" if fraction else whole)
        faults += [] if again == clock else [f"{engine} text: {clock} is {text}"]
    return faults[:5]
