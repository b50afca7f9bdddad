"""Tables that Hive wrote before version 3, whose files hold updates and deletes as events: read as
Hive 2 did, or refused.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import orc

from acidsql.acid.ids import BucketId, StatementId, encode
from acidsql.catalog.model import TableName
from acidsql.cli.doctor import declare
from acidsql.errors import BindError, FormatError
from acidsql.session import Session
from tests.attach.old_tables import DELETE, INSERT, UPDATE, Event, write_events

LOCAL = {"acidsql.engine": "local"}
FILE = "bucket_00000"


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", settings=LOCAL) as opened:
        opened.sql("CREATE DATABASE other")
        yield opened
        assert not opened.spark_started


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Three rows; then one is updated twice, one deleted, and one inserted and updated."""
    table = tmp_path / "old"
    first = [Event(INSERT, 1, 0, row, 1, (row, "abc"[row])) for row in range(3)]
    write_events(table / "delta_0000001_0000001_0000" / FILE, first)
    second = [Event(UPDATE, 1, 0, 1, 2, (1, "B")), Event(INSERT, 2, 0, 0, 2, (7, "new"))]
    write_events(table / "delta_0000002_0000002_0000" / FILE, second)
    third = [Event(DELETE, 1, 0, 0, 3), Event(UPDATE, 2, 0, 0, 3, (7, None))]
    write_events(table / "delta_0000003_0000003_0000" / FILE, third)
    write_events(
        table / "delta_0000004_0000004_0000" / FILE, [Event(UPDATE, 1, 0, 1, 4, (1, "BB"))]
    )
    return table


ROWS = [((1, 0, 1), 1, "BB"), ((1, 0, 2), 2, "c"), ((2, 0, 0), 7, None)]


def rows(session: Session, table: str = "t") -> list[tuple[object, ...]]:
    found = session.sql(f"SELECT ROW__ID, id, name FROM {table}").rows()
    return sorted(((i["writeid"], i["bucketid"], i["rowid"]), *rest) for i, *rest in found)


def attach(session: Session, home: Path, words: str = "ASSUME COMMITTED") -> None:
    session.sql(f"ATTACH TABLE t FROM '{home}' {words}")


def test_the_newest_event_of_a_row_wins(session: Session, home: Path) -> None:
    """An update shows the new values under the ROW__ID that the row has; a delete hides it."""
    attach(session, home)
    assert rows(session) == ROWS
    assert list(session.sql("SELECT count(*) FROM t").rows()) == [(3,)]
    assert list(session.sql("SELECT name FROM t WHERE id = 1").rows()) == [("BB",)]
    assert list(session.sql("SELECT id FROM t WHERE name = 'B' OR id = 0").rows()) == []
    session.sql("CREATE TABLE mine STORED AS ORC AS SELECT * FROM t")
    assert sorted(session.sql("SELECT id FROM mine").rows()) == [(1,), (2,), (7,)]
    assert sorted(session.scan("t").to_arrow().column("id").to_pylist()) == [1, 2, 7]


def test_it_is_told(session: Session, home: Path, tmp_path: Path) -> None:
    """By EXPLAIN ATTACH, by a warning, and by DESCRIBE HEALTH; with a dump as well."""
    attach_sql = f"ATTACH TABLE t FROM '{home}' ASSUME COMMITTED"
    assert "ACID version 1: events are merged" in session.explain(attach_sql)
    [warning] = session.sql(attach_sql).warnings
    assert "was written before Hive 3 (ACID version 1)" in warning.message
    assert "COMPACT 'major'" in (warning.hint or "")
    health = {
        (topic, item): value for topic, item, value in session.sql("DESCRIBE HEALTH t").rows()
    }
    assert health["table", "ACID version 1"] == "its events are merged by each read"
    assert health["table", "attached"] == "ASSUME COMMITTED"
    dump = tmp_path / "t.dump"
    dump.write_text(
        "CREATE TABLE old (id int, name string) STORED AS ORC"
        " TBLPROPERTIES ('transactional'='true');\nhigh watermark 4\naborted 3\n"
    )
    session.sql("DETACH TABLE t")
    by_dump = f"ATTACH TABLE u FROM '{home}' USING '{dump}'"
    assert "ACID version 1: events are merged" in session.explain(by_dump)
    assert "ACID version 1" in str(session.sql(by_dump).warnings)
    assert rows(session, "u") == [
        ((1, 0, 0), 0, "a"), ((1, 0, 1), 1, "BB"), ((1, 0, 2), 2, "c"), ((2, 0, 0), 7, "new"),
    ]  # fmt: skip


def test_tables_of_today_are_not_told_so(session: Session, tmp_path: Path) -> None:
    """Nor are those of before Hive 3 into which nothing but inserts went."""
    home = tmp_path / "inserts"
    for write_id in (1, 2):
        event = Event(INSERT, write_id, 0, 0, write_id, (write_id, "x"))
        write_events(home / f"delta_{write_id:07}_{write_id:07}_0000" / FILE, [event])
    result = session.sql(f"ATTACH TABLE t FROM '{home}' ASSUME COMMITTED")
    assert result.warnings == ()
    assert rows(session) == [((1, 0, 0), 1, "x"), ((2, 0, 0), 2, "x")]


def test_what_does_not_count_is_not_merged(session: Session, home: Path) -> None:
    """An event of an aborted transaction, also inside what a minor compaction joined."""
    attach(session, home, "ASSUME COMMITTED EXCEPT (3)")
    assert [row[0] for row in rows(session)] == [(1, 0, 0), (1, 0, 1), (1, 0, 2), (2, 0, 0)]
    session.sql("DETACH TABLE t")
    for old in home.glob("delta_000000[234]*"):
        shutil.rmtree(old)
    joined = [
        Event(UPDATE, 1, 0, 1, 4, (1, "BB")), Event(UPDATE, 1, 0, 1, 2, (1, "B")), Event(DELETE, 1, 0, 0, 3),
    ]  # fmt: skip
    write_events(home / "delta_0000002_0000004" / FILE, joined)
    attach(session, home, "ASSUME COMMITTED EXCEPT (3)")
    assert rows(session) == [((1, 0, 0), 0, "a"), ((1, 0, 1), 1, "BB"), ((1, 0, 2), 2, "c")]


def test_statements_of_one_transaction(session: Session, home: Path) -> None:
    """The later statement wins."""
    for statement, name in ((1, "later"), (0, "first")):
        event = Event(UPDATE, 1, 0, 2, 5, (2, name))
        write_events(home / f"delta_0000005_0000005_{statement:04}" / FILE, [event])
    attach(session, home)
    assert ((1, 0, 2), 2, "later") in rows(session)


def test_rows_from_before_the_table_was_acid(session: Session, home: Path) -> None:
    """They are numbered through their file, with its bucket as a plain number, too."""
    orc.write_table(
        pa.table({"id": pa.array([10, 11, 12], pa.int32()), "name": ["x", "y", "z"]}),
        home / "000001_0",
    )
    events = [Event(DELETE, 0, 1, 0, 5), Event(UPDATE, 0, 1, 2, 5, (12, "Z"))]
    write_events(home / "delta_0000005_0000005_0000" / "bucket_00001", events)
    attach(session, home)
    found = sorted(session.sql("SELECT * FROM t WHERE id >= 10").rows())
    assert found == [(11, "y"), (12, "Z")]


def test_a_base_may_hold_updates(session: Session, home: Path) -> None:
    """A major compaction leaves the events as they were; newer ones are merged with it."""
    for old in home.glob("delta_000000[123]*"):
        shutil.rmtree(old)
    base = [Event(UPDATE, 1, 0, 1, 2, (1, "B")), Event(INSERT, 1, 0, 2, 1, (2, "c"))]
    write_events(home / "base_0000003" / FILE, [*base, Event(UPDATE, 2, 0, 0, 3, (7, None))])
    attach(session, home)
    assert rows(session) == ROWS


def test_adopt_is_refused(session: Session, home: Path) -> None:
    """No Hive from version 3 on reads such a table: it is to be compacted first."""
    attach(session, home)
    for sql in ("ADOPT TABLE t NOT CLUSTERED", "EXPLAIN ADOPT TABLE t NOT CLUSTERED"):
        with pytest.raises(BindError, match="update and delete events from before Hive 3") as error:
            session.sql(sql)
        assert "COMPACT 'major'" in (error.value.hint or "")
    assert rows(session) == ROWS


def test_an_overlay_is_refused(session: Session, home: Path) -> None:
    """Nothing is made of it."""
    with pytest.raises(BindError, match="can have no overlay"):
        session.sql(f"ATTACH TABLE o FROM '{home}' OVERLAY ASSUME COMMITTED")
    assert session.sql("SHOW TABLES").fetchall() == []


def packed(home: Path) -> None:
    number = encode(BucketId(0), StatementId(0))
    write_events(
        home / "delta_0000005_0000005_0000" / FILE, [Event(INSERT, 5, number, 0, 5, (5, "e"))]
    )


def tied(home: Path) -> None:
    for name in (FILE, "bucket_00001"):
        event = Event(UPDATE, 1, 0, 2, 5, (2, name))
        write_events(home / "delta_0000005_0000005_0000" / name, [event])


def unknown(home: Path) -> None:
    write_events(home / "delta_0000005_0000005_0000" / FILE, [Event(3, 1, 0, 2, 5, (2, "x"))])


def without_values(home: Path) -> None:
    events = [Event(UPDATE, 1, 0, 2, 5), Event(DELETE, 1, 0, 1, 5)]
    write_events(home / "delta_0000005_0000005_0000" / FILE, events)


def split(home: Path) -> None:
    write_events(home / "delete_delta_0000005_0000005_0000" / FILE, [Event(DELETE, 1, 0, 2, 5)])


@pytest.mark.parametrize(
    ("does", "message"),
    [
        (packed, "the buckets of ACID version 2 beside events of version 1"),
        (tied, "two events of transaction 5 are of one row"),
        (unknown, "holds events of an unknown kind"),
        (without_values, "has 0 rows with values for 1 insert and update events"),
        (split, "deletes rows of a partition with events from before Hive 3"),
    ],
)
def test_what_cannot_be_told_is_refused(
    does: Callable[[Path], None], message: str, session: Session, home: Path
) -> None:
    """Nothing is shown of a table whose events do not say which of them is the newest."""
    does(home)
    attach(session, home)
    for sql in ("SELECT * FROM t", "SELECT count(*) FROM t"):
        with pytest.raises(FormatError, match=message):
            list(session.sql(sql).rows())


def test_a_table_of_this_warehouse_is_refused(session: Session, home: Path) -> None:
    """What is not attached could be changed, and no Hive would read it afterwards."""
    acid = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
    session.sql(f"CREATE TABLE own (id INT, name STRING) {acid}")
    table = session.store.find_table(TableName("default", "own"))
    assert table is not None
    shutil.copytree(home, table.location, dirs_exist_ok=True)
    declare(session, table, "rest", None)
    for sql in ("SELECT * FROM own", "DELETE FROM own WHERE id = 1"):
        with pytest.raises(FormatError, match="mixes insert, update and delete events"):
            list(session.sql(sql).rows())


# ---- random histories

KEYS = st.integers(0, 7)
STATEMENT = st.tuples(st.sampled_from(["insert", "update", "delete"]), KEYS, st.booleans())
HISTORY = st.lists(
    st.one_of(st.lists(STATEMENT, min_size=1, max_size=4), st.sampled_from(["minor", "major"])),
    min_size=2,
    max_size=10,
)


class Old:
    """A table as Hive 2 writes it, with two buckets, and what is in it. Each list of statements is
    a transaction; one whose last flag is set is aborted.
    """

    def __init__(self, home: Path) -> None:
        self.home, self.transaction = home, 0
        self.rows: dict[tuple[int, int, int], tuple[int, str]] = {}
        self.directories: dict[tuple[str, int, int], list[Event]] = {}
        self.aborted: list[int] = []

    def run(self, step: object) -> None:
        if isinstance(step, str):
            self.compact(step)
            return
        assert isinstance(step, list)
        self.transaction += 1
        before, events = dict(self.rows), dict[tuple[int, int, int], Event]()
        counts = [0, 0]
        for number, (kind, key, _) in enumerate(step):
            self.change(kind, key, f"{self.transaction}.{number}", counts, events)
        if step[-1][2]:
            self.rows = before
            self.aborted.append(self.transaction)
        self.directories["delta", self.transaction, self.transaction] = list(events.values())

    def change(
        self,
        kind: str,
        key: int,
        name: str,
        counts: list[int],
        events: dict[tuple[int, int, int], Event],
    ) -> None:
        now, bucket = self.transaction, key % 2
        if kind == "insert":
            row = (now, bucket, counts[bucket])
            counts[bucket] += 1
            self.rows[row] = (key, name)
            events[row] = Event(INSERT, *row, now, (key, name))
            return
        for row in [row for row, values in self.rows.items() if values[0] == key]:
            if row[0] == now:
                continue  # no Hive before version 3 changes rows of its own transaction
            if kind == "update":
                self.rows[row] = (key, name)
                events[row] = Event(UPDATE, *row, now, (key, name))
            else:
                del self.rows[row]
                events[row] = Event(DELETE, *row, now)

    def compact(self, kind: str) -> None:
        top = self.transaction
        if not self.directories:
            return
        old = [one for key in self.directories for one in self.directories[key]]
        valid = [event for event in old if event.current not in self.aborted]
        if kind == "minor":
            bases = {key: of for key, of in self.directories.items() if key[0] == "base"}
            low = max((key[2] for key in bases), default=0) + 1
            if low > top:
                return
            of_deltas = [event for event in valid if event.current >= low]
            self.directories = {**bases, ("delta", low, top): of_deltas}
            return
        newest: dict[tuple[int, int, int], Event] = {}
        for event in sorted(valid, key=lambda event: event.current):
            newest[event.key] = event
        live = [event for event in newest.values() if event.operation != DELETE]
        self.directories = {("base", top, top): live}

    def write(self) -> None:
        for (kind, low, high), events in self.directories.items():
            name = f"base_{high:07}" if kind == "base" else f"delta_{low:07}_{high:07}"
            (self.home / name).mkdir(parents=True)
            if kind == "base":
                marker = b'{"thisFileVersion":"0","dataFormat":"compacted"}'
                (self.home / name / "_metadata_acid").write_bytes(marker)
            for bucket in (0, 1):
                of_bucket = [event for event in events if event.bucket == bucket]
                if of_bucket:
                    write_events(self.home / name / f"bucket_{bucket:05}", of_bucket)

    @property
    def expected(self) -> list[tuple[object, ...]]:
        return sorted((row, *values) for row, values in self.rows.items())


def attached(session: Session, old: Old) -> None:
    """The table, with what is known of the aborted transactions that directories ask about."""
    ranges = [key[1:] for key in old.directories if key[0] == "delta"]
    asked = {number for low, high in ranges for number in range(low, high + 1)}
    aborted = sorted(asked & set(old.aborted))
    words = f"EXCEPT ({', '.join(map(str, aborted))})" if aborted else ""
    columns = "(id INT, name STRING)"
    session.sql(f"ATTACH TABLE t {columns} FROM '{old.home}' ASSUME COMMITTED {words}")


def check_history(history: list[object], engines: tuple[str, ...], session: Session) -> None:
    with TemporaryDirectory() as folder:
        old = Old(Path(folder) / "old")
        old.home.mkdir()
        for step in history:
            old.run(step)
        old.write()
        if not any(old.directories.values()):
            return
        attached(session, old)
        try:
            for engine in engines:
                session.sql(f"SET acidsql.engine={engine}")
                assert rows(session) == old.expected, engine
                count = list(session.sql("SELECT count(id) FROM t WHERE id >= 0").rows())
                assert count == [(len(old.expected),)], engine
        finally:
            session.sql("DETACH TABLE t")


@given(history=HISTORY)
@settings(max_examples=40)
def test_random_histories(history: list[object]) -> None:
    """Of inserts, updates and deletes, aborted ones too, and compactions: each read shows what a
    list of rows holds.
    """
    with TemporaryDirectory() as folder, Session(Path(folder) / "w", settings=LOCAL) as session:
        session.sql("CREATE DATABASE other")
        check_history(history, ("local",), session)
