"""A session on a Hive metastore: what it asks of that, and what becomes of a commit whose answer is lost.
Whole Hives are asked in tests/interop.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from acidsql.catalog.model import TableName
from acidsql.errors import (
    BindError,
    CommitStateUnknownError,
    IntegrityError,
    InterfaceError,
    MetastoreError,
    NotSupportedError,
    WriteConflictError,
)
from acidsql.metastore.hive.reaching import Access
from acidsql.metastore.hms.metastore import HiveMetastore
from acidsql.session import Session
from acidsql.txn.manager import OperationType, TxnComponent
from tests.metastore.hms.service import HiveService

LOCAL = {"acidsql.engine": "local"}
ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
T = TableName("d", "t")


@pytest.fixture(params=["3.0", "4.0.1"], ids=["hive3", "hive4"])
def service(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[HiveService]:
    """A metastore with the database "d" and its table "t"."""
    served = HiveService(tmp_path / "hive", request.param)
    try:
        with Session(metastore=served.url, settings=LOCAL) as session:
            session.sql("CREATE DATABASE d")
            session.sql(f"CREATE TABLE d.t (id INT, name STRING) {ACID}")
            session.sql("INSERT INTO d.t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
        yield served
    finally:
        served.close()


@pytest.fixture
def session(service: HiveService) -> Iterator[Session]:
    with Session(metastore=service.url, settings=LOCAL) as opened:
        yield opened


def rows(session: Session, query: str = "SELECT * FROM d.t") -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in session.sql(query).rows())


def opened(service: HiveService) -> HiveMetastore:
    return HiveMetastore(
        service.url, (("127.0.0.1", service.port),), access=Access(), user="me", answer_seconds=10
    )


def test_rows_are_changed(service: HiveService, session: Session) -> None:
    """UPDATE, DELETE, MERGE; what each has changed is on record before it commits."""
    session.sql("UPDATE d.t SET name = 'B' WHERE id = 2")
    session.sql("DELETE FROM d.t WHERE id = 1")
    session.sql(
        "MERGE INTO d.t USING (SELECT 3 AS id UNION ALL SELECT 9) s ON t.id = s.id"
        " WHEN MATCHED THEN UPDATE SET name = 'C' WHEN NOT MATCHED THEN INSERT VALUES (9, 'n')"
    )
    assert rows(session) == [(2, "B"), (3, "C"), (9, "n")]
    written = service.store.find_txn(service.store.valid_txns().high_watermark)
    assert written is not None
    assert service.store.list_locks() == ()
    assert service.store.valid_txns().exceptions == ()


def test_partitions(service: HiveService, session: Session) -> None:
    """They come with rows, are added and dropped; a transaction names those that it has changed."""
    session.sql(f"CREATE TABLE d.p (id INT) PARTITIONED BY (k STRING) {ACID}")
    session.sql("INSERT INTO d.p VALUES (1, 'x'), (2, 'y')")
    session.sql("ALTER TABLE d.p ADD PARTITION (k='z')")
    session.sql("ALTER TABLE d.p DROP PARTITION (k='y')")
    assert rows(session, "SHOW PARTITIONS d.p") == [("k=x",), ("k=z",)]
    assert rows(session, "SELECT * FROM d.p") == [(1, "x")]
    assert "add_dynamic_partitions" in service.calls


def test_a_transaction_of_several_statements(session: Session) -> None:
    """All of it is visible at once, or nothing."""
    for end, count in (("ROLLBACK", 3), ("COMMIT", 2)):
        session.sql("START TRANSACTION")
        session.sql("INSERT INTO d.t VALUES (4, 'd')")
        session.sql("DELETE FROM d.t WHERE id < 3")
        session.sql(end)
        assert len(rows(session)) == count


def test_a_table_of_a_query(session: Session) -> None:
    """Its first write id is that of a transaction, which commits once the table is there."""
    session.sql(f"CREATE TABLE d.made {ACID} AS SELECT id FROM d.t WHERE id > 1")
    assert rows(session, "SELECT * FROM d.made") == [(2,), (3,)]
    with pytest.raises(BindError, match="already exists"):
        session.sql(f"CREATE TABLE d.made {ACID} AS SELECT id FROM d.t")
    session.sql("DROP TABLE d.made")
    assert rows(session, "SHOW TABLES IN d") == [("t",)]


def test_what_holds_for_rows_is_told_with_the_table(session: Session) -> None:
    """NOT NULL, CHECK and DEFAULT."""
    session.sql(
        "CREATE TABLE d.held (id INT NOT NULL ENABLE, name STRING DEFAULT 'none', n INT"
        f" CHECK (n > 0) ENABLE, CONSTRAINT less CHECK (n < id) ENABLE) {ACID}"
    )
    session.sql("INSERT INTO d.held (id, n) VALUES (3, 2)")
    for wrong in ("NULL, 'x', 1", "1, 'x', -1", "5, 'x', 7"):
        with pytest.raises(IntegrityError):
            session.sql(f"INSERT INTO d.held VALUES ({wrong})")
    assert rows(session, "SELECT * FROM d.held") == [(3, "none", 2)]


def test_keys_are_told_with_the_table(session: Session) -> None:
    """PRIMARY KEY, FOREIGN KEY and UNIQUE, of several columns each, come back as they were given."""
    session.sql(
        f"CREATE TABLE d.parent (a INT, b INT, PRIMARY KEY (b, a) DISABLE NOVALIDATE) {ACID}"
    )
    session.sql(
        "CREATE TABLE d.child (id INT, x INT, y INT, CONSTRAINT up FOREIGN KEY (x, y) REFERENCES"
        " d.parent (b, a) DISABLE NOVALIDATE RELY, CONSTRAINT one UNIQUE (y, id) DISABLE NOVALIDATE,"
        f" CONSTRAINT two UNIQUE (x) DISABLE NOVALIDATE) {ACID}"
    )
    child = session.store.find_table(TableName("d", "child"))
    assert child is not None
    assert [(str(one.kind), one.name, one.columns, one.rely) for one in child.constraints] == [
        ("FOREIGN KEY", "up", ("x", "y"), True),
        ("UNIQUE", "one", ("y", "id"), False),
        ("UNIQUE", "two", ("x",), False),
    ]
    parent = child.constraints[0]
    assert (parent.references, parent.referenced_columns) == (TableName("d", "parent"), ("b", "a"))
    shown = "\n".join(row[0] for row in session.sql("SHOW CREATE TABLE d.parent").rows())
    assert "PRIMARY KEY (`b`,`a`) DISABLE NOVALIDATE" in shown


def test_constraints_come_and_go(session: Session) -> None:
    """ALTER TABLE adds and drops them; what is enforced holds from then on."""
    session.sql(f"CREATE TABLE d.parent (a INT, b INT) {ACID}")
    for added in (
        "CONSTRAINT pk PRIMARY KEY (b, a) DISABLE NOVALIDATE RELY",
        "CONSTRAINT big CHECK (a > 10) ENABLE",
        "UNIQUE (a) DISABLE",
    ):
        session.sql(f"ALTER TABLE d.parent ADD {added}")
    session.sql(
        "ALTER TABLE d.t ADD CONSTRAINT up FOREIGN KEY (id) REFERENCES d.parent (a) DISABLE"
        " NOVALIDATE"
    )
    with pytest.raises(IntegrityError):
        session.sql("INSERT INTO d.parent VALUES (1, 1)")
    session.sql("ALTER TABLE d.parent DROP CONSTRAINT big")
    session.sql("INSERT INTO d.parent VALUES (1, 1)")
    left = {
        table: [(str(one.kind), one.name) for one in stored.constraints]
        for table in ("parent", "t")
        if (stored := session.store.find_table(TableName("d", table)))
    }
    assert left == {
        "parent": [("PRIMARY KEY", "pk"), ("UNIQUE", "uk_d_parent_1")],
        "t": [("FOREIGN KEY", "up")],
    }
    with pytest.raises(NotSupportedError, match="change a table together with its constraints"):
        session.sql("ALTER TABLE d.parent CHANGE COLUMN a c INT")


def test_tables_and_partitions_get_other_names(service: HiveService, session: Session) -> None:
    """The metastore moves their directories; write ids go with the name, and rows stay."""
    session.sql(f"CREATE TABLE d.p (id INT) PARTITIONED BY (k STRING) {ACID}")
    session.sql("INSERT INTO d.p VALUES (1, 'x'), (2, 'y')")
    session.sql("ALTER TABLE d.p RENAME TO d.q")
    session.sql("ALTER TABLE d.q PARTITION (k='x') RENAME TO PARTITION (k='z')")
    session.sql("UPDATE d.q SET id = 3 WHERE k = 'z'")
    assert rows(session, "SELECT * FROM d.q") == [(2, "y"), (3, "z")]
    assert rows(session, "SHOW TABLES IN d") == [("q",), ("t",)]
    assert not (service.warehouse / "d.db" / "p").exists()
    assert (service.warehouse / "d.db" / "q" / "k=z").exists()
    for statement in (
        "ALTER TABLE d.q RENAME TO d.t",
        "ALTER TABLE d.q PARTITION (k='z') RENAME TO PARTITION (k='y')",
    ):
        with pytest.raises(BindError, match="already exists"):
            session.sql(statement)
    with pytest.raises(NotSupportedError, match="have a partition moved"):
        session.sql("ALTER TABLE d.q PARTITION (k='z') SET LOCATION '/elsewhere'")


def test_analyze_promises_numbers_until_the_next_commit(
    service: HiveService, session: Session
) -> None:
    """Rows, files and bytes, and what columns hold; of each partition its own."""
    session.sql(
        "CREATE TABLE d.whole (i INT, x DOUBLE, n DECIMAL(10,2), s STRING, b BOOLEAN, r BINARY, d DATE,"
        f" ts TIMESTAMP) {ACID}"
    )
    session.sql(
        "INSERT INTO d.whole VALUES (-1, 1.5, -12.3, 'abc', true, 'xy', '1970-01-02',"
        " '1970-01-01 00:01:00'), (7, 2.5, 345, 'd', false, 'z', '1970-01-05',"
        " '1970-01-01 00:02:00'), (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)"
    )
    session.sql("ANALYZE TABLE d.whole COMPUTE STATISTICS FOR COLUMNS")
    table = TableName("d", "whole")
    parameters = service.tables[table]["parameters"]
    assert parameters["numRows"] == "3"
    assert '"s":"true"' in parameters["COLUMN_STATS_ACCURATE"]
    of = {name: one["statsData"] for name, one in service.columns[table, None].items()}
    seconds = {"lowValue": 60, "highValue": 120}
    if not service.version.startswith("3"):
        seconds = {name: {"secondsSinceEpoch": value} for name, value in seconds.items()}  # type: ignore[misc]
    assert of == {
        "i": {"longStats": {"lowValue": -1, "highValue": 7, "numNulls": 1, "numDVs": 2}},
        "x": {"doubleStats": {"lowValue": 1.5, "highValue": 2.5, "numNulls": 1, "numDVs": 2}},
        "n": {
            "decimalStats": {
                "lowValue": {"scale": 2, "unscaled": (-1230).to_bytes(2, "big", signed=True)},
                "highValue": {"scale": 2, "unscaled": (34500).to_bytes(3, "big")},
                "numNulls": 1,
                "numDVs": 2,
            }
        },
        "s": {"stringStats": {"maxColLen": 3, "avgColLen": 4 / 3, "numNulls": 1, "numDVs": 2}},
        "b": {"booleanStats": {"numTrues": 1, "numFalses": 1, "numNulls": 1}},
        "r": {"binaryStats": {"maxColLen": 2, "avgColLen": 1.0, "numNulls": 1}},
        "d": {
            "dateStats": {
                "lowValue": {"daysSinceEpoch": 1},
                "highValue": {"daysSinceEpoch": 4},
                "numNulls": 1,
                "numDVs": 2,
            }
        },
        "ts": {
            ("longStats" if service.version.startswith("3") else "timestampStats"): seconds
            | {"numNulls": 1, "numDVs": 2}
        },
    }
    described = dict(row[:2] for row in session.sql("DESCRIBE FORMATTED d.whole n").rows())
    assert {name.strip(): str(text).strip() for name, text in described.items()}["max"] == "345"
    session.sql("INSERT INTO d.whole (i) VALUES (8)")
    assert "COLUMN_STATS_ACCURATE" not in service.tables[table]["parameters"]


def test_analyze_of_partitions(service: HiveService, session: Session) -> None:
    """Each has its own numbers, and DESCRIBE sums them up."""
    session.sql(f"CREATE TABLE d.p (id INT) PARTITIONED BY (k STRING) {ACID}")
    session.sql("INSERT INTO d.p VALUES (1, 'x'), (5, 'y'), (6, 'y')")
    session.sql("ANALYZE TABLE d.p COMPUTE STATISTICS FOR COLUMNS")
    of = service.partitions[TableName("d", "p")]
    assert {k: one["parameters"]["numRows"] for k, one in of.items()} == {"k=x": "1", "k=y": "2"}
    described = session.sql("DESCRIBE FORMATTED d.p id").rows()
    ends = {row[0].strip(): row[1].strip() for row in described}
    assert (ends["min"], ends["max"]) == ("1", "6")
    session.sql("DELETE FROM d.p WHERE id = 5")
    promised = [k for k, one in of.items() if "COLUMN_STATS_ACCURATE" in one["parameters"]]
    assert promised == ["k=x"]


@pytest.mark.parametrize("when", ["before the promise", "behind it"])
def test_numbers_of_a_table_that_somebody_writes_are_not_promised(
    service: HiveService, session: Session, when: str
) -> None:
    """Neither where the other one has a write id before ANALYZE stores its numbers, nor where it
    takes one meanwhile and has looked for the promise by then.
    """
    store = opened(service)
    if when == "before the promise":
        store.begin([T])
    else:
        last = "set_aggr_stats_for"
        service.before = lambda name: None if name != last else service.store.begin([T]) and None
    session.sql("ANALYZE TABLE d.t COMPUTE STATISTICS FOR COLUMNS")
    parameters = service.tables[T]["parameters"]
    assert parameters["numRows"] == "3"
    assert "COLUMN_STATS_ACCURATE" not in parameters
    store.close()


@pytest.mark.parametrize("stays", ["nothing", "external", "another's"])
def test_dropping_a_database_takes_nothing_of_others(
    service: HiveService, session: Session, tmp_path: Path, stays: str
) -> None:
    """Its directory goes with it, unless an external table or one of another database has files in
    it: the metastore would delete these, too.
    """
    home = service.warehouse / "d.db"
    kept = home / "kept"
    if stays == "external":
        session.sql(f"CREATE EXTERNAL TABLE d.kept (id INT) STORED AS ORC LOCATION '{kept}'")
    elif stays == "another's":
        session.sql(f"CREATE DATABASE e LOCATION '{tmp_path / 'e'}'")
        session.sql(f"CREATE EXTERNAL TABLE e.kept (id INT) STORED AS ORC LOCATION '{kept}'")
    if stays != "nothing":
        (kept / "file").write_bytes(b"rows")
    session.sql("DROP DATABASE d CASCADE")
    assert ("d",) not in rows(session, "SHOW DATABASES")
    assert not (home / "t").exists()
    assert home.exists() == (stays != "nothing")
    assert (kept / "file").exists() == (stays != "nothing")


def test_hive_stops_believing_its_statistics(service: HiveService, session: Session) -> None:
    """A commit ends the promise that they hold, before its rows are visible."""
    parameters = service.tables[T]["parameters"]
    parameters |= {"COLUMN_STATS_ACCURATE": '{"BASIC_STATS":"true"}', "numRows": "3"}
    session.sql("INSERT INTO d.t VALUES (4, 'd')")
    after = service.tables[T]["parameters"]
    assert "COLUMN_STATS_ACCURATE" not in after
    assert after["numRows"] == "3"
    names = [name for name in service.calls if name.startswith(("alter_table", "commit_txn"))]
    assert names[-2].startswith("alter_table")
    assert len(rows(session, "SELECT count(*) FROM d.t")) == 1


@pytest.mark.parametrize(
    "statement", ["(id INT) STORED AS ORC", "STORED AS ORC AS SELECT id FROM d.t"]
)
def test_a_managed_table_without_transactions(
    service: HiveService, session: Session, statement: str
) -> None:
    """Hive 4 makes it an external one, which lies elsewhere; its files go with it all the same."""
    made = session.sql(f"CREATE TABLE d.plain {statement}")
    session.sql("INSERT INTO d.plain VALUES (7)")
    assert rows(session, "SELECT * FROM d.plain")[-1] == (7,)
    home = service.warehouse / "d.db" / "plain"
    if not service.version.startswith("3"):
        home = service.warehouse / "external" / "plain"
        assert list(made.notes) == [
            "the metastore makes table d.plain an external one, since it has no transactions; its"
            f' files, in "{home}", go with it'
        ]
        assert not (service.warehouse / "d.db" / "plain").exists()
    assert any(home.iterdir())
    session.sql("DROP TABLE d.plain")
    assert not home.exists()


def test_what_hive_4_would_make_otherwise_is_refused(
    service: HiveService, session: Session
) -> None:
    """A table that would lie elsewhere than it was asked for."""
    if service.version.startswith("3"):
        return
    translate = service._translate_table_dryrun

    def moved(request: dict[str, Any]) -> dict[str, Any]:
        return translate(request) | {"sd": {"location": "file:/elsewhere"}}

    service._translate_table_dryrun = moved  # type: ignore[method-assign]
    with pytest.raises(NotSupportedError, match=r'would put table d\.other into "/elsewhere"'):
        session.sql(f"CREATE TABLE d.other (id INT) {ACID}")
    assert rows(session, "SHOW TABLES IN d") == [("t",)]


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        (f"CREATE OR REPLACE TABLE d.t (id INT) {ACID}", "exchange two tables"),
    ],
)
def test_what_it_cannot_do_is_said(session: Session, statement: str, words: str) -> None:
    """Nothing of such a statement is done."""
    with pytest.raises(NotSupportedError, match=f"a Hive metastore cannot {words}"):
        session.sql(statement)
    assert rows(session, "SHOW TABLES IN d") == [("t",)]
    assert len(rows(session)) == 3


def test_runs_and_rows_are_refused(session: Session) -> None:
    """It has no room for run ids, and does not compare rows."""
    with pytest.raises(NotSupportedError, match="cannot record a run"):
        session.sql("INSERT INTO d.t VALUES (4, 'd')", run_id="once")
    session.sql("SET acidsql.conflict.granularity=row")
    with pytest.raises(NotSupportedError, match="cannot compare the rows"):
        session.sql("DELETE FROM d.t")
    assert len(rows(session)) == 3


def test_the_warehouse_is_the_metastores(service: HiveService, tmp_path: Path) -> None:
    """Another one cannot be asked for."""
    with pytest.raises(InterfaceError, match="has its own warehouse"):
        Session(tmp_path, metastore=service.url)
    with Session(str(service.warehouse), metastore=service.url) as session:
        assert session.warehouse == str(service.warehouse)
        with session.open_beside() as beside:
            assert len(rows(beside)) == 3


def test_compactions_are_hives(session: Session) -> None:
    """They are asked for and shown; nobody here carries them out."""
    asked = session.sql("ALTER TABLE d.t COMPACT 'major'")
    assert list(asked.notes) == ["Compaction enqueued with id 1"]
    with pytest.raises(BindError, match="already scheduled with state='initiated' and id=1"):
        session.sql("ALTER TABLE d.t COMPACT 'major'")
    shown = rows(session, "SHOW COMPACTIONS")
    assert [(row[0], row[2], row[5]) for row in shown] == [("1", "t", "initiated")]


def test_compactions_are_seen_from_their_commit_on(service: HiveService, session: Session) -> None:
    """One of Hive 4's is in the directory before that, with the number of its transaction; one that
    was aborted stays until Hive's cleaner comes.
    """
    txn_id, aborted = service.store.open_txn(), service.store.open_txn()
    service.store.abort(aborted)
    for one in (txn_id, aborted):
        base = service.warehouse / "d.db" / "t" / f"base_0000001_v{one:07}"
        base.mkdir()
        (base / "_orc_acid_version").write_bytes(b"2")
    assert len(rows(session)) == 3
    session.sql("START TRANSACTION")
    assert len(rows(session)) == 3
    service.store.commit(txn_id)
    assert len(rows(session)) == 3
    session.sql("COMMIT")
    assert rows(session) == []


def test_health_shows_what_readers_see(service: HiveService, session: Session) -> None:
    """A compaction of Hive's that has not committed is not read; it is once it has."""
    home = service.warehouse / "d.db" / "t"
    (delta,) = home.iterdir()
    txn_id = service.store.open_txn()
    shutil.copytree(delta, home / f"base_0000001_v{txn_id:07}")
    assert ("files", "directories", "1 delta") in rows(session, "DESCRIBE HEALTH d.t")
    service.store.commit(txn_id)
    assert ("files", "directories", "1 base") in rows(session, "DESCRIBE HEALTH d.t")


# ---- connections


def closing(service: HiveService, name: str, *, times: int, after: bool) -> None:
    """Has the service close the connection on which a method is called, some times."""
    left = [times]

    def hear(called: str) -> None:
        if called == name and left[0]:
            left[0] -= 1
            raise ConnectionError

    service.before, service.after = ((lambda _: None), hear) if after else (hear, lambda _: None)


@pytest.mark.parametrize("after", [False, True], ids=["not done", "done"])
def test_a_lost_commit_is_asked_for_again(
    service: HiveService, session: Session, after: bool
) -> None:
    """Whether or not it was carried out the first time, it is once."""
    closing(service, "commit_txn", times=1, after=after)
    session.sql("INSERT INTO d.t VALUES (4, 'd')")
    assert len(rows(session)) == 4


def test_a_commit_that_nobody_answers_for(service: HiveService, session: Session) -> None:
    """Its outcome is unknown, and its files stay. One that was not carried out is ended once the
    metastore is back, so that nobody waits for it.
    """
    for after, count in ((True, 4), (False, 4)):
        closing(service, "commit_txn", times=1000, after=after)
        with pytest.raises(CommitStateUnknownError, match="did not say what became of it"):
            session.sql("INSERT INTO d.t VALUES (4, 'd')")
        closing(service, "", times=0, after=after)
        assert len(rows(session)) == count
        assert service.store.valid_txns().open == ()


def test_an_end_that_was_not_heard_is_told_later(service: HiveService, session: Session) -> None:
    """A transaction that could not be aborted keeps nobody waiting once the metastore is back."""
    closing(service, "allocate_table_write_ids", times=3, after=False)
    lost = service.before

    def hear(called: str) -> None:
        lost(called)
        if called == "abort_txn" and "made up" not in service.calls:
            raise ConnectionError

    service.before = hear
    with pytest.raises(MetastoreError):
        session.sql("UPDATE d.t SET name = 'x' WHERE id = 1")
    assert len(service.store.valid_txns().open) == 1
    service.calls.append("made up")
    session.sql("UPDATE d.t SET name = 'y' WHERE id = 1")
    assert service.store.valid_txns().open == ()


def test_servers_take_turns(service: HiveService) -> None:
    """One that cannot be reached is passed over; connections that were closed are made anew."""
    with Session(metastore=f"thrift://127.0.0.1:1,{service.url}", settings=LOCAL) as session:
        assert len(rows(session)) == 3
        service.drop_connections()
        assert len(rows(session)) == 3
    with pytest.raises(MetastoreError, match="cannot reach the metastore"):
        Session(metastore="thrift://127.0.0.1:1")


def test_a_metastore_before_hive_3_is_refused(tmp_path: Path) -> None:
    """It has no write ids."""
    served = HiveService(tmp_path / "old", "2.3.9")
    try:
        with pytest.raises(NotSupportedError, match=r"is Hive 2\.3\.9"):
            Session(metastore=served.url)
    finally:
        served.close()


# ---- writers side by side


def test_who_waited_sees_what_the_other_committed(service: HiveService) -> None:
    """It begins anew behind that, and so there is no conflict; all its locks end with it."""
    with ThreadPoolExecutor(3) as pool:
        for result in [pool.submit(add_ones, service.url, 3) for _ in range(3)]:
            result.result()
    with Session(metastore=service.url, settings=LOCAL) as session:
        assert rows(session, "SELECT length(name) FROM d.t WHERE id = 1") == [(10,)]
    assert service.store.list_locks() == ()
    assert service.store.valid_txns().open == ()


def add_ones(url: str, times: int) -> None:
    with Session(metastore=url, settings=LOCAL) as session:
        for _ in range(times):
            session.sql("UPDATE d.t SET name = concat(name, '1') WHERE id = 1")


def test_the_second_committer_loses(service: HiveService) -> None:
    """Hive's rule, by table: two that overlap and both change rows."""
    store = opened(service)
    one, two = store.begin([T]), store.begin([T])
    for txn in (one, two):
        change = TxnComponent(
            table=T,
            partition=None,
            operation=OperationType.UPDATE,
            write_id=txn.write_ids[T],
        )
        store.add_components(txn.txn_id, [change])
    store.commit(one.txn_id)
    with pytest.raises(WriteConflictError, match="due to a write conflict on d/t"):
        store.commit(two.txn_id)
    store.close()


def test_a_forked_child_uses_no_connection_of_its_parent(service: HiveService) -> None:
    """Two processes on one connection would read each other's answers."""
    store = opened(service)
    before = store.list_databases()
    child = os.fork()
    if not child:
        os._exit(0 if store.list_databases() == before else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert store.list_databases() == before
    store.close()
