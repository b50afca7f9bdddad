"""Random histories of one warehouse, told to another one by dumps: it sees the same rows under the
same ROW__IDs, and after it has adopted a copy of the files its changes do what a list of rows says.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acidsql.commit.recovery import Recovery
from acidsql.errors import CommitStateUnknownError
from acidsql.metastore.embedded import EmbeddedMetastore
from acidsql.session import Session
from acidsql.txn.manager import TxnState
from tests.lengths import times

LOCAL = {"acidsql.engine": "local", "acidsql.compactor.auto": "false"}
ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
TABLES = {
    "a": f"(k INT, v STRING) {ACID}",
    "b": f"(k INT, v STRING) CLUSTERED BY (k) INTO 2 BUCKETS {ACID}",
    "c": f"(k INT, v STRING) PARTITIONED BY (d INT) {ACID}",
}
Row = tuple[int, str]

KEYS = st.integers(0, 5)
TABLE = st.sampled_from(sorted(TABLES))
CHANGE = st.one_of(
    st.tuples(st.just("insert"), TABLE, st.lists(KEYS, min_size=1, max_size=4)),
    st.tuples(st.just("update"), TABLE, KEYS),
    st.tuples(st.just("delete"), TABLE, KEYS),
)
COMPACTION = st.tuples(st.sampled_from(("minor", "major")), TABLE, st.just(0))
ENDS = st.sampled_from(("committed", "committed", "committed", "aborted", "open"))
HISTORY = st.lists(
    st.tuples(st.one_of(CHANGE, CHANGE, CHANGE, COMPACTION), ENDS), min_size=4, max_size=14
)
LATER = st.lists(
    st.one_of(CHANGE, CHANGE, COMPACTION, st.tuples(st.just("merge"), TABLE, TABLE)),
    min_size=2,
    max_size=8,
)


class Model:
    """What each table holds."""

    def __init__(self) -> None:
        self.rows: dict[str, list[Row]] = {name: [] for name in TABLES}
        self.count = 0

    def texts(self, change: tuple[str, str, Any]) -> list[str]:
        """The statements of a change."""
        kind, table, what = change
        self.count += 1
        match kind:
            case "insert":
                values = ", ".join(
                    f"({k}, '{self.count}'" + (f", {k % 2})" if table == "c" else ")") for k in what
                )
                return [f"INSERT INTO {table} VALUES {values}"]
            case "update":
                return [f"UPDATE {table} SET v = concat(v, '{self.count}') WHERE k = {what}"]
            case "delete":
                return [f"DELETE FROM {table} WHERE k = {what}"]
            case "merge":
                new = ", k % 2" if table == "c" else ""
                source = (
                    f"SELECT k{', k % 2 AS d' if table == 'c' else ''}, min(v) AS v FROM {what}"
                    " GROUP BY k"
                )
                insert = "s.k, s.v, s.d" if new else "s.k, s.v"
                return [
                    f"MERGE INTO {table} t USING ({source}) s ON t.k = s.k WHEN MATCHED THEN UPDATE"
                    f" SET v = concat(t.v, 'm') WHEN NOT MATCHED THEN INSERT VALUES ({insert})"
                ]
            case _:
                if table == "c":
                    return [f"ALTER TABLE c PARTITION (d={d}) COMPACT '{kind}' AND WAIT" for d in (0, 1)]  # fmt: skip
                return [f"ALTER TABLE {table} COMPACT '{kind}' AND WAIT"]

    def apply(self, change: tuple[str, str, Any]) -> None:
        """What it does if it is committed, after ``texts`` of it."""
        kind, table, what = change
        rows, stamp = self.rows[table], str(self.count)
        match kind:
            case "insert":
                rows += [(k, stamp) for k in what]
            case "update":
                self.rows[table] = [(k, v + stamp if k == what else v) for k, v in rows]
            case "delete":
                self.rows[table] = [(k, v) for k, v in rows if k != what]
            case "merge":
                keys = {k for k, _ in rows}
                source = sorted(self.rows[what], reverse=True)
                self.rows[table] = [
                    (k, v + "m" if k in {k for k, _ in source} else v) for k, v in rows
                ]
                self.rows[table] += [(k, v) for k, v in dict(source).items() if k not in keys]


def lost(self: EmbeddedMetastore, *arguments: Any, **words: Any) -> Any:
    raise CommitStateUnknownError("nobody knows")


@contextmanager
def left_behind() -> Iterator[None]:
    """Files of transactions that end badly stay where they are."""
    with patch.object(Recovery, "after", lambda self: None):
        yield


def carry_out(session: Session, model: Model, change: tuple[str, str, Any], end: str) -> None:
    texts = model.texts(change)
    if change[0] in ("minor", "major"):
        for text in texts:
            if change[1] != "c" or any(k % 2 == int(text[text.index("d=") + 2]) for k, _ in model.rows["c"]):  # fmt: skip
                session.sql(text)
        return
    if end == "committed" or (end == "open" and change[0] != "insert"):
        for text in texts:
            session.sql(text)
        model.apply(change)
        return
    before = {info.txn_id for info in session.store.list_txns()}
    with patch.object(EmbeddedMetastore, "commit", lost), suppress(CommitStateUnknownError):
        session.sql(texts[0])
    for info in session.store.list_txns():
        if end == "aborted" and info.txn_id not in before and info.state is TxnState.OPEN:
            session.store.abort(info.txn_id)


def rows_of(session: Session, table: str) -> list[Row]:
    return sorted(session.sql(f"SELECT k, v FROM {table}").rows())  # type: ignore[arg-type]


def with_ids(session: Session, table: str) -> list[str]:
    return sorted(map(str, session.sql(f"SELECT ROW__ID, k, v FROM {table}").rows()))


def ids_of(session: Session, table: str) -> set[str]:
    keys = ", d" if table == "c" else ""
    return {str(row) for row in session.sql(f"SELECT ROW__ID{keys} FROM {table}").rows()}


def played(session: Session, history: Sequence[tuple[Any, str]]) -> Model:
    model = Model()
    for name, definition in TABLES.items():
        session.sql(f"CREATE TABLE {name} {definition}")
    for name in TABLES:  # each has something, and every partition
        change = ("insert", name, [0, 1, 2])
        carry_out(session, model, change, "committed")
    for change, end in history:
        carry_out(session, model, change, end)
    return model


def attach_all(session: Session, dumps: dict[str, Path], home: Path) -> None:
    for name, dump in dumps.items():
        session.attach(name, home / name, dump=dump)


def dump_all(session: Session, home: Path) -> dict[str, Path]:
    home.mkdir()
    dumps = {name: home / f"{name}.dump" for name in TABLES}
    for name, path in dumps.items():
        path.write_text(session.dump(name))
    return dumps


def check(home: Path, history: Sequence[tuple[Any, str]], later: Sequence[Any]) -> None:
    with left_behind(), Session(home / "first", settings=LOCAL) as first:
        model = played(first, history)
        dumps = dump_all(first, home / "dumps")
        seen = {name: with_ids(first, name) for name in TABLES}
        assert {name: rows_of(first, name) for name in TABLES} == {
            name: sorted(rows) for name, rows in model.rows.items()
        }
    shutil.copytree(home / "first", home / "copies")
    with Session(home / "second", settings=LOCAL) as second:
        attach_all(second, dumps, home / "copies")
        assert {name: with_ids(second, name) for name in TABLES} == seen
        old = {name: ids_of(second, name) for name in TABLES}
        for name in TABLES:
            second.adopt(name)
        assert {name: with_ids(second, name) for name in TABLES} == seen
        for change in later:
            was = ids_of(second, change[1])
            carry_out(second, model, change, "committed")
            assert rows_of(second, change[1]) == sorted(model.rows[change[1]])
            now = ids_of(second, change[1])
            assert len(now) == len(model.rows[change[1]])
            assert not (now - was) & old[change[1]]
        assert {name: rows_of(second, name) for name in TABLES} == {
            name: sorted(rows) for name, rows in model.rows.items()
        }
        again = dump_all(second, home / "later")
        now_seen = {name: with_ids(second, name) for name in TABLES}
    with Session(home / "third", settings=LOCAL) as third:
        attach_all(third, again, home / "copies")
        assert {name: with_ids(third, name) for name in TABLES} == now_seen


@settings(max_examples=4, deadline=None)
@given(history=HISTORY, later=LATER)
def test_a_dump_tells_of_any_history(
    history: Sequence[tuple[Any, str]], later: Sequence[Any]
) -> None:
    """Committed, aborted and open transactions, compactions; three tables with equal columns."""
    with TemporaryDirectory() as home:
        check(Path(home), history, later)


@pytest.mark.slow
@settings(max_examples=times(40), deadline=None)
@given(history=HISTORY, later=LATER)
def test_a_dump_tells_of_very_many_histories(
    history: Sequence[tuple[Any, str]], later: Sequence[Any]
) -> None:
    """As above, for longer."""
    with TemporaryDirectory() as home:
        check(Path(home), history, later)
