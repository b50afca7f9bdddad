"""``acidsql migrate``: tables between a warehouse and a Hive metastore, with their history. Whole Hives
read them in tests/interop.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from acidsql import crash_points
from acidsql.catalog.attached import is_attached
from acidsql.catalog.model import Table, TableName
from acidsql.cli.main import main
from acidsql.errors import BindError
from acidsql.metastore.hive.calls import reading
from acidsql.session import Session
from tests.metastore.hms.service import DeclaredError, HiveService

LOCAL = {"acidsql.engine": "local"}
ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true', 'owner'='me')"
MADE = (
    "CREATE DATABASE d",
    f"CREATE TABLE d.flat (id INT NOT NULL ENABLE, name STRING DEFAULT 'none') {ACID}",
    "INSERT INTO d.flat VALUES (1, 'a'), (2, 'b'), (3, 'c')",
    "UPDATE d.flat SET name = 'B' WHERE id = 2",
    "DELETE FROM d.flat WHERE id = 3",
    "ALTER TABLE d.flat COMPACT 'major' AND WAIT",
    "INSERT INTO d.flat VALUES (4, 'd')",
    "CREATE TABLE d.parts (id INT, n DECIMAL(10,2)) PARTITIONED BY (day DATE, city STRING)"
    f" CLUSTERED BY (id) INTO 2 BUCKETS {ACID}",
    "INSERT INTO d.parts VALUES (1, 1.5, '2024-01-01', 'A b'), (2, 2.5, '2024-01-02', 'x=y/z')",
    "UPDATE d.parts SET n = n + 1 WHERE id = 1",
    "CREATE VIEW d.few AS SELECT id FROM d.flat WHERE id < 3",
)
TABLES = ("flat", "parts")
T = TableName("d", "flat")
TO_HIVE = (
    "database made", "left", "write ids given", "table made", "partitions added", "taken in"
)  # fmt: skip
FROM_HIVE = ("entered", "let go")
Rows = dict[str, list[tuple[str, ...]]]


@pytest.fixture(params=["3.0", "4.0.1"], ids=["hive3", "hive4"])
def service(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[HiveService]:
    """A metastore that has had transactions of its own."""
    served = HiveService(tmp_path / "hive", request.param)
    try:
        for _ in range(3):
            served.store.commit(served.store.open_txn())
        yield served
    finally:
        served.close()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("made") / "own"
    with Session(home, settings=LOCAL) as session:
        for statement in MADE:
            session.sql(statement)
    return home


@pytest.fixture
def warehouse(made: Path, tmp_path: Path) -> str:
    return shutil.copytree(made, str(tmp_path / "own"))


def own(warehouse: str) -> Session:
    return Session(warehouse, metastore="", settings=LOCAL)


def hive(service: HiveService) -> Session:
    return Session(metastore=service.url, settings=LOCAL)


def rows(session: Session) -> Rows:
    """The rows of the tables with their ROW__IDs."""
    return {
        table: sorted(
            tuple(map(str, row)) for row in session.sql(f"SELECT ROW__ID, * FROM d.{table}").rows()
        )
        for table in TABLES
    }


def names(session: Session) -> list[str]:
    return sorted(row[0] for row in session.sql("SHOW TABLES IN d").rows())


def test_there_and_back_again(service: HiveService, warehouse: str) -> None:
    """Each time the other one has the same rows with the same ROW__IDs and changes them, also where
    something was aborted meanwhile, and the one before has the tables no more.
    """
    with own(warehouse) as session:
        before = rows(session)
        flat = session.store.find_table(T)
        assert flat is not None
    for _ in range(2):
        assert main(["migrate", warehouse, service.url]) == 0
        with own(warehouse) as session:
            assert names(session) == []
        with hive(service) as session:
            assert rows(session) == before
            stored = session.store.find_table(T)
            assert stored is not None
            assert (stored.columns, stored.constraints) == (flat.columns, flat.constraints)
            assert (stored.location, stored.properties["owner"]) == (flat.location, "me")
            before = change(session, before)
        assert main(["migrate", service.url, warehouse]) == 0
        with hive(service) as session:
            assert names(session) == []
        with own(warehouse) as session:
            assert rows(session) == before
            assert [tuple(row) for row in session.sql("SELECT * FROM d.few").rows()] == [(2,)]
            before = change(session, before)


def test_a_warehouse_with_a_metastore_in_postgresql(
    service: HiveService, postgresql: str, tmp_path: Path
) -> None:
    """Its directory says which; there and back the rows and ROW__IDs are the same."""
    warehouse = str(tmp_path / "own")
    with Session(warehouse, metastore=postgresql, settings=LOCAL) as session:
        for statement in MADE:
            session.sql(statement)
        before = rows(session)
    assert main(["migrate", warehouse, service.url]) == 0
    with hive(service) as session:
        assert rows(session) == before
        before = change(session, before)
    assert main(["migrate", service.url, warehouse]) == 0
    with Session(warehouse, metastore=postgresql, settings=LOCAL) as session:
        assert rows(session) == before
        change(session, before)


def change(session: Session, before: Rows) -> Rows:
    """An UPDATE of each table, an INSERT, and one that is rolled back; the rows behind that."""
    session.sql("UPDATE d.flat SET name = concat(name, '!') WHERE id = 4")
    session.sql("DELETE FROM d.flat WHERE id = 1")
    session.sql("UPDATE d.parts SET n = n + 1 WHERE city = 'x=y/z'")
    session.sql("START TRANSACTION")
    session.sql("INSERT INTO d.flat VALUES (5, 'never')")
    session.sql("INSERT INTO d.parts VALUES (5, 5, '2024-01-02', 'x=y/z')")
    session.sql("ROLLBACK")
    after = rows(session)
    ids = [row[0] for table in TABLES for row in after[table]]
    assert not any("never" in row for row in after["flat"])
    assert len(after["parts"]) == 2
    assert after != before
    assert len(set(after["flat"])) == len(after["flat"])
    assert ids
    return after


@pytest.mark.slow
@pytest.mark.parametrize("point", TO_HIVE)
def test_killed_on_the_way_to_hive(service: HiveService, warehouse: str, point: str) -> None:
    """At most one of both writes the table then, and the next run goes on: nothing is lost."""
    if point == "database made" and service.version.startswith("3"):
        point = "left"
    with own(warehouse) as session:
        before = rows(session)
    assert killed(f"migration: {point}", ["migrate", warehouse, service.url]) == 9
    forget_locks(service)
    assert writers(service, warehouse) <= 1
    assert main(["migrate", warehouse, service.url]) == 0
    check_there(service, warehouse, before)


@pytest.mark.slow
@pytest.mark.parametrize("point", FROM_HIVE)
def test_killed_on_the_way_from_hive(service: HiveService, warehouse: str, point: str) -> None:
    """As the other way round."""
    with own(warehouse) as session:
        before = rows(session)
    assert main(["migrate", warehouse, service.url]) == 0
    assert killed(f"migration: {point}", ["migrate", service.url, warehouse]) == 9
    forget_locks(service)
    assert writers(service, warehouse) <= 1
    assert main(["migrate", service.url, warehouse]) == 0
    with own(warehouse) as session:
        assert rows(session) == before
        assert names(session) == ["few", "flat", "parts"]
        session.sql("INSERT INTO d.flat VALUES (6, 'f')")
    with hive(service) as session:
        assert names(session) == []


def killed(point: str, arguments: list[str]) -> int:
    """The exit code of a process that runs the command and is killed at a point."""
    child = os.fork()
    if not child:
        try:
            crash_points.hook = lambda reached: os._exit(9) if reached == point else None
            os._exit(main(arguments))
        finally:
            os._exit(70)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def forget_locks(service: HiveService) -> None:
    """Does what the time-out of transactions does."""
    service.store.abort_txns(service.store.valid_txns().open)


def writers(service: HiveService, warehouse: str) -> int:
    """How many of both take an INSERT into the table."""
    taken = 0
    for opened in (own(warehouse), hive(service)):
        with opened as session:
            table = session.store.find_table(T)
            if table is not None and is_attached(table):
                with pytest.raises(BindError, match="attached read only"):
                    session.sql("INSERT INTO d.flat VALUES (7, 'g')")
            elif table is not None:
                taken += 1
    return taken


def check_there(service: HiveService, warehouse: str, before: Rows) -> None:
    with hive(service) as session:
        assert rows(session) == before
        assert names(session) == ["few", "flat", "parts"]
        session.sql("INSERT INTO d.flat VALUES (6, 'f')")
        session.sql("UPDATE d.parts SET n = 0")
        assert not any("acidsql.migrating" in one["parameters"] for one in service.tables.values())
    with own(warehouse) as session:
        assert names(session) == []


def test_what_was_begun_is_given_back(service: HiveService, warehouse: str) -> None:
    """As long as Hive's metastore has nothing of the table; then the warehouse writes it again."""
    with own(warehouse) as session:
        before = rows(session)
    arguments = ["migrate", warehouse, service.url]
    assert killed("migration: write ids given", [*arguments, "--table", "d.flat"]) == 9
    forget_locks(service)
    assert main([*arguments, "--undo"]) == 0
    with own(warehouse) as session:
        assert rows(session) == before
        session.sql("INSERT INTO d.flat VALUES (6, 'f')")
        before = rows(session)
    assert main(arguments) == 0
    check_there(service, warehouse, before)


def test_a_refusal_of_hive_gives_it_back_at_once(service: HiveService, warehouse: str) -> None:
    """What its metastore refuses when the table is made leaves it where it was."""

    def refuse(*_: object, **__: object) -> None:
        raise DeclaredError(reading.META_EXCEPTION, "not today")

    service._create = refuse  # type: ignore[method-assign]
    assert main(["migrate", warehouse, service.url, "--table", "d.flat"]) == 1
    with own(warehouse) as session:
        session.sql("INSERT INTO d.flat VALUES (6, 'f')")
        assert len(rows(session)["flat"]) == 4


def test_what_is_not_answered_is_not_given_back(service: HiveService, warehouse: str) -> None:
    """The table may be made in Hive's metastore yet, or dropped: so nobody here writes it, or has it
    alone, before the next run has looked.
    """
    with own(warehouse) as session:
        before = rows(session)
    for arguments, methods in (
        (
            ["migrate", warehouse, service.url],
            ("create_table_req", "create_table_with_constraints"),
        ),
        (["migrate", service.url, warehouse], ("drop_table_with_environment_context",)),
    ):
        lost = {*methods}

        def hear(called: str, lost: set[str] = lost) -> None:
            if called in lost:
                lost.clear()
                raise ConnectionError

        service.after = hear
        assert main([*arguments, "--table", "d.flat"]) == 1
        assert lost == set()
        with own(warehouse) as session, pytest.raises(BindError, match="attached read only"):
            session.sql("INSERT INTO d.flat VALUES (7, 'g')")
        assert main([*arguments, "--table", "d.flat", "--undo"]) == 1
        assert main(arguments) == 0
    with own(warehouse) as session:
        assert rows(session) == before


def test_what_was_begun_from_hive_is_ended(service: HiveService, warehouse: str) -> None:
    """As long as Hive's metastore has the table, which is whole there."""
    assert main(["migrate", warehouse, service.url]) == 0
    arguments = ["migrate", service.url, warehouse]
    assert killed("migration: entered", [*arguments, "--table", "d.flat"]) == 9
    forget_locks(service)
    assert main([*arguments, "--undo"]) == 0
    with own(warehouse) as session:
        assert names(session) == []
    with hive(service) as session:
        session.sql("INSERT INTO d.flat VALUES (6, 'f')")


@pytest.mark.parametrize("kind", ["taken", "attached", "there", "open"])
def test_what_cannot_be_carried_changes_nothing(
    service: HiveService,
    warehouse: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    kind: str,
) -> None:
    """It is named with its reason; of the other tables none is carried either."""
    words, code = "", 1
    with own(warehouse) as session, hive(service) as beyond:
        match kind:
            case "taken":
                (tmp_path / "new.csv").write_text("id,name\n6,f\n")
                session.sql(f"COPY INTO d.flat FROM '{tmp_path / 'new.csv'}' (FORMAT CSV) ONCE")
                words = "remembers which files COPY INTO .. ONCE has taken"
            case "attached":
                home = session.store.find_table(TableName("d", "parts"))
                assert home is not None
                (tmp_path / "dump").write_text(session.dump("d.parts"))
                with Session(tmp_path / "other", settings=LOCAL) as other:
                    other.sql("CREATE DATABASE d")
                    other.attach("d.parts", home.location, dump=str(tmp_path / "dump"))
                warehouse = str(tmp_path / "other")
                words = "table d.parts is attached: its files are those of others"
            case "there":
                beyond.sql("CREATE DATABASE d")
                beyond.sql(f"CREATE TABLE d.parts (id INT) {ACID}")
                words = 'the Hive metastore has a table "d.parts" already'
            case "open":
                session.sql("START TRANSACTION")
                session.sql("INSERT INTO d.flat VALUES (6, 'f')")
                words, code = 'table "d.flat" is being written by transaction', 75
        arguments = ["migrate", warehouse, service.url, "--database", "d"]
        assert main(arguments) == code
        assert words in " ".join(capsys.readouterr()).replace("\n", " ")
        if kind == "taken":
            assert main([*arguments, "--forget-copies"]) == 0
            assert len(rows(beyond)["flat"]) == 4
            assert names(session) == []
        else:
            assert T not in service.tables
            assert names(session) == ["few", "flat", "parts"]


def test_a_table_that_hive_writes_is_not_carried(
    service: HiveService, warehouse: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever has a lock on it would go on writing where it lies."""
    assert main(["migrate", warehouse, service.url]) == 0
    with hive(service) as session:
        session.sql("START TRANSACTION")
        session.sql("INSERT INTO d.flat VALUES (6, 'f')")
        assert main(["migrate", service.url, warehouse, "--table", "d.flat"]) == 75
        assert 'table "d.flat" is in use in the Hive metastore' in capsys.readouterr().err
        session.sql("COMMIT")
        assert len(rows(session)["flat"]) == 4
    assert main(["migrate", service.url, warehouse]) == 0
    with own(warehouse) as session:
        assert len(rows(session)["flat"]) == 4


def test_a_table_on_its_way_is_nobody_elses(service: HiveService, warehouse: str) -> None:
    """Neither adopted, which would make two writers of it, nor let go of, which would lose it."""
    arguments = ["migrate", warehouse, service.url]
    assert killed("migration: left", [*arguments, "--table", "d.flat"]) == 9
    with own(warehouse) as session:
        for statement in (
            "ADOPT TABLE d.flat NOT CLUSTERED",
            "DETACH TABLE d.flat",
            "DROP DATABASE d CASCADE",
        ):
            with pytest.raises(BindError, match="is on its way to a Hive metastore"):
                session.sql(statement)
        assert "flat" in names(session)
    assert main(arguments) == 0


def test_tables_of_other_kinds(service: HiveService, warehouse: str, tmp_path: Path) -> None:
    """Insert-only ones, and plain and external ones in any format: each is of its kind there, and
    its files are where they were.
    """
    elsewhere = tmp_path / "elsewhere"
    with own(warehouse) as session:
        session.sql(
            "CREATE TABLE d.mm (id INT) STORED AS ORC TBLPROPERTIES ('transactional'='true',"
            " 'transactional_properties'='insert_only')"
        )
        session.sql("INSERT INTO d.mm VALUES (1)")
        session.sql(f"CREATE EXTERNAL TABLE d.beyond (id INT) LOCATION '{elsewhere}'")
        session.sql("CREATE TABLE d.plain (id INT) STORED AS ORC")
        session.sql("INSERT INTO d.plain VALUES (2)")
        before = {name: session.store.find_table(TableName("d", name)) for name in OTHERS}
    (elsewhere / "file").write_text("3\n")
    assert main(["migrate", warehouse, service.url]) == 0
    with hive(service) as session:
        check_others(session, before, service)
        session.sql("INSERT INTO d.mm VALUES (4)")
    assert main(["migrate", service.url, warehouse]) == 0
    with own(warehouse) as session:
        check_others(session, before, service)
        assert len(list(session.sql("SELECT * FROM d.mm").rows())) == 2
    assert (elsewhere / "file").read_text() == "3\n"


OTHERS = ("mm", "beyond", "plain")


def check_others(session: Session, before: dict[str, Table | None], service: HiveService) -> None:
    for name, table in before.items():
        stored = session.store.find_table(TableName("d", name))
        assert stored is not None
        assert table is not None
        assert (stored.location, stored.file_format) == (table.location, table.file_format)
        assert stored.is_transactional == table.is_transactional
        if name != "plain" or service.version.startswith("3"):
            assert stored.kind is table.kind
    assert (2,) in [tuple(row) for row in session.sql("SELECT * FROM d.plain").rows()]
    assert (1,) in [tuple(row) for row in session.sql("SELECT * FROM d.mm").rows()]


def test_a_dry_run_tells_and_does_nothing(
    service: HiveService, warehouse: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Kinds, numbers of partitions, write ids."""
    arguments = ["migrate", warehouse, service.url, "--dry-run", "--outputformat", "csv"]
    assert main(arguments) == 0
    assert capsys.readouterr().out.splitlines() == [
        "table,kind,partitions,write_id,state",
        "d.flat,acid,,4,to be carried",
        "d.parts,acid,2,2,to be carried",
        "d.few,view,,,to be carried",
    ]
    assert service.tables == {}
    assert "d" not in service.databases
    with own(warehouse) as session:
        session.sql("INSERT INTO d.flat VALUES (6, 'f')")


def test_numbers_of_compactions_are_not_given_out_again(tmp_path: Path, warehouse: str) -> None:
    """A directory says which transaction has compacted it: Hive 4 would pass it over until it has
    come so far, and for good where that one fails.
    """
    with own(warehouse) as session:
        home = session.store.find_table(T)
        assert home is not None
        (base,) = Path(home.location).glob("base_*")
        for _ in range(40):
            session.store.commit(session.store.open_txn())
        base.rename(base.with_name(f"{base.name}_v0000030"))
        before = rows(session)
    served = HiveService(tmp_path / "hive")
    try:
        assert main(["migrate", warehouse, served.url]) == 0
        with hive(served) as session:
            assert rows(session) == before
        assert served.store.open_txn() > 30
    finally:
        served.close()


def test_hive_3_reads_no_numbers_of_compactions(
    tmp_path: Path, warehouse: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It fails on such names: so the table is not carried."""
    with own(warehouse) as session:
        home = session.store.find_table(T)
        assert home is not None
        (base,) = Path(home.location).glob("base_*")
        base.rename(base.with_name(f"{base.name}_v0000002"))
    served = HiveService(tmp_path / "hive", "3.0")
    try:
        assert main(["migrate", warehouse, served.url]) == 1
        assert "directories that Hive 3 cannot read" in capsys.readouterr().out
        assert served.tables == {}
    finally:
        served.close()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["a", "b"], "one of FROM and TO is a directory"),
        (["thrift://a:1", "thrift://b:1"], "one of FROM and TO is a directory"),
        (["/nowhere", "thrift://b:1"], "there is no warehouse"),
    ],
)
def test_wrong_usage(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It is said what is meant."""
    assert main(["migrate", *arguments]) == 1
    assert words in capsys.readouterr().err
