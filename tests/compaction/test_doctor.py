"""The doctor finds what readers pass over or fail on, mends what rows tell, and leaves alone what
Hive itself has written.
"""

from __future__ import annotations

import json
import shutil
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import orc

from acidsql.acid.ids import BucketId, StatementId, encode
from acidsql.acid.orc_tail import KEY_INDEX, STATS, VERSION, edit_tail
from acidsql.catalog.model import Table, TableName
from acidsql.compaction.doctor.finding import Finding, Severity
from acidsql.compaction.doctor.mending import STRAYS, mend
from acidsql.compaction.doctor.rounds import examine_path, examine_table
from acidsql.compaction.merging.carrying_out import COMPACTED
from acidsql.errors import Error, OperationalError
from acidsql.files.local_files import LOCAL
from acidsql.metastore.opening import PURGED_BELOW
from acidsql.metastore.sql import delete, insert
from acidsql.metastore.tables import AUX_TABLE, TXN_TO_WRITE_ID
from acidsql.session import Session
from acidsql.storage.footers import read_footer
from tests.session.reading.test_hive_fixtures import NAMES, take_over

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
FIRST = "delta_0000001_0000001_0000"
BUCKET = f"{FIRST}/bucket_00000"


@pytest.fixture
def session(warehouse: Path) -> Iterator[Session]:
    """A session that needs no Spark."""
    with Session(warehouse, metastore="") as session:
        session.sql(f"CREATE TABLE t (id INT, name STRING) {ACID}")
        session.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
        yield session


def table_of(session: Session, name: str = "t") -> Table:
    table = session.store.find_table(TableName("default", name))
    assert table is not None
    return table


def examine(session: Session, name: str = "t") -> list[Finding]:
    return examine_table(session.store, session.files, table_of(session, name))


def repair(session: Session, name: str = "t") -> list[str]:
    """Mends what can be; what was done, or why it was not."""
    done = []
    for finding in examine(session, name):
        try:
            done.append(mend(session.store, session.files, table_of(session, name), finding))
        except OperationalError as error:
            done.append(error.message)
    return done


# ---- no false alarm


def test_own_tables_are_well(session: Session) -> None:
    """Of all kinds of tables that statements have written, empty ones too, nothing is found."""
    session.sql(f"CREATE TABLE p (id INT) PARTITIONED BY (ds STRING) {ACID}")
    session.sql("INSERT INTO p VALUES (1, 'x'), (2, 'a/b')")
    session.sql(f"CREATE TABLE b (id INT) CLUSTERED BY (id) INTO 3 BUCKETS {ACID}")
    session.sql("INSERT INTO b VALUES (1), (2), (3), (4)")
    session.sql("CREATE TABLE plain (id INT) STORED AS ORC")
    session.sql("INSERT INTO plain VALUES (1)")
    session.sql("TRUNCATE TABLE b")
    session.sql(f"CREATE TABLE empty (id INT) {ACID}")
    session.sql(
        "CREATE TABLE m (id INT) STORED AS ORC TBLPROPERTIES"
        " ('transactional'='true', 'transactional_properties'='insert_only')"
    )
    session.sql("INSERT INTO m VALUES (1)")
    session.sql("TRUNCATE TABLE m")
    for name in ("t", "p", "b", "plain", "empty", "m"):
        assert examine(session, name) == []


@pytest.mark.parametrize("name", NAMES)
def test_tables_of_hive_are_well(
    name: str, shared: Path, session: Session, warehouse: Path
) -> None:
    """Of what Hive 3 and 4 have written nothing is found, by the catalog or without one."""
    table = unpacked(name, shared, session, warehouse)
    assert examine(session, table) == []
    assert examine_path(LOCAL, str(warehouse / table)) == []


def unpacked(name: str, shared: Path, session: Session, warehouse: Path) -> str:
    """A table of Hive's, taken into the warehouse."""
    folder = shared / "hive" / "fixtures"
    if not folder.is_dir():
        pytest.skip(f"no tables written by Hive in {folder}")
    table = name.partition(".")[0]
    facts = json.loads((folder / f"{name}.meta.json").read_text())
    session.sql((folder / f"{name}.ddl.sql").read_text().rstrip(";\n"))
    with tarfile.open(folder / f"{name}.tar.gz") as archive:
        archive.extractall(
            warehouse, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {})
        )
    take_over(session, table, facts["high_watermark"], facts["aborted_write_ids"])
    return table


# ---- damage


@dataclass(frozen=True, kw_only=True)
class Damage:
    """``mended``: the table is well behind a repair; else the finding stays, with a reason."""

    does: Callable[[Path], None]
    title: str
    severity: Severity = Severity.ERROR
    mended: bool = False


def write_events(
    path: Path,
    *,
    write_id: int = 1,
    bucket: int = 0,
    operation: int = 0,
    rows: tuple[int, ...] = (0, 1, 2),
    columns: dict[str, pa.Array] | None = None,
) -> None:
    """A file of events as pyarrow leaves it, without the keys of its footer."""
    data = columns or {
        "id": pa.array([1] * len(rows), pa.int32()),
        "name": pa.array(["a"] * len(rows)),
    }
    values = pa.StructArray.from_arrays(list(data.values()), list(data))
    number = encode(BucketId(bucket), StatementId(0))
    orc.write_table(
        pa.table(
            {
                "operation": pa.array([operation] * len(rows), pa.int32()),
                "originalTransaction": pa.array([write_id] * len(rows), pa.int64()),
                "bucket": pa.array([number] * len(rows), pa.int32()),
                "rowId": pa.array(rows, pa.int64()),
                "currentTransaction": pa.array([write_id] * len(rows), pa.int64()),
                "row": values,
            }
        ),
        path,
    )


def with_keys(path: Path, keys: dict[str, str]) -> None:
    """Sets keys of a published file's footer."""
    edit = edit_tail(read_footer(LOCAL, str(path)), keys)
    path.write_bytes(path.read_bytes()[: edit.offset] + edit.data)


def add(name: str, content: bytes = b"x") -> Callable[[Path], None]:
    def does(table: Path) -> None:
        path = table / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    return does


def remove(name: str) -> Callable[[Path], None]:
    return lambda table: (table / name).unlink()


def rename(old: str, new: str) -> Callable[[Path], None]:
    def does(table: Path) -> None:
        (table / new).parent.mkdir(parents=True, exist_ok=True)
        (table / old).rename(table / new)

    return does


def copy(new: str) -> Callable[[Path], None]:
    def does(table: Path) -> None:
        shutil.copytree(table / FIRST, table / new)

    return does


def events(**how: object) -> Callable[[Path], None]:
    return lambda table: write_events(table / BUCKET, **how)  # type: ignore[arg-type]


def keys(**values: str) -> Callable[[Path], None]:
    names = {"index": KEY_INDEX, "stats": STATS, "version": VERSION}
    return lambda table: with_keys(
        table / BUCKET, {names[key]: value for key, value in values.items()}
    )


def both(one: Callable[[Path], None], other: Callable[[Path], None]) -> Callable[[Path], None]:
    def does(table: Path) -> None:
        one(table)
        other(table)

    return does


NOTE, WARNING = Severity.NOTE, Severity.WARNING
VERSION_FILE = f"{FIRST}/_orc_acid_version"
DAMAGES = {
    "success": Damage(
        does=add("_SUCCESS", b""), title="stray file of another program", severity=NOTE, mended=True
    ),
    "checksum": Damage(
        does=add(f"{FIRST}/.gone.crc"), title="stray file of another program", severity=NOTE, mended=True
    ),
    "temporary": Damage(
        does=add("_temporary/0/part-0.orc"), title="staging of another program", severity=WARNING
    ),
    "hive staging": Damage(
        does=add(".hive-staging_hive_1/-ext-10000/000000_0"),
        title="staging of another program",
        severity=WARNING,
    ),
    "part in a delta": Damage(
        does=add(f"{FIRST}/part-00000-x.snappy.orc"),
        title="file that is not named as a bucket",
        mended=True,
    ),
    "empty file": Damage(
        does=add(f"{FIRST}/bucket_00001", b""), title="empty file", severity=WARNING, mended=True
    ),
    "empty delete file": Damage(
        does=both(
            add("delete_delta_0000001_0000001_0001/bucket_00000", b""),
            add("delete_delta_0000001_0000001_0001/_orc_acid_version", b"2"),
        ),
        title="empty delete file",
    ),
    "part in the root": Damage(
        does=add("part-00000.orc"), title="file that no statement has written"
    ),
    "wrong name": Damage(does=copy("delta_0000001-copy"), title="wrong name of a directory"),
    "wrong range": Damage(does=copy("delta_0000002_0000001"), title="wrong name of a directory"),
    "nested": Damage(
        does=copy(f"{FIRST}/delta_0000001_0000001_0001"),
        title="ACID directory inside another directory",
    ),
    "inside its like": Damage(
        does=both(copy(f"{FIRST}/{FIRST}"), add(f"{FIRST}/{FIRST}/bucket_00000")),
        title="ACID directory inside one of the same name",
    ),
    "twice": Damage(does=copy("delta_1_1_0"), title="two directories for one"),
    "no padding": Damage(
        does=both(
            add("delete_delta_1_1_1/_orc_acid_version", b"2"),
            lambda table: write_events(table / "delete_delta_1_1_1/bucket_00000", operation=2),
        ),
        title="delete delta with a name that is not padded",
    ),
    "two of a bucket": Damage(
        does=both(
            add("delete_delta_0000001_0000001_0001/_orc_acid_version", b"2"),
            lambda table: [
                write_events(table / f"delete_delta_0000001_0000001_0001/{name}", operation=2)
                for name in ("bucket_00000", "bucket_00000_0")
            ]
            and None,
        ),
        title="two delete files of one bucket",
    ),
    "no version file": Damage(
        does=remove(VERSION_FILE), title="missing version file", severity=WARNING, mended=True
    ),
    "half a pair": Damage(
        does=both(
            rename(FIRST, "delta_0000001_0000001"),
            add("delta_0000001_0000001/_acidsql_with_delete_delta", b""),
        ),
        title="half a minor compaction",
        severity=WARNING,
    ),
    "no footer": Damage(does=add(BUCKET, b"ORC nonsense"), title="file that cannot be read"),
    "no event columns": Damage(
        does=lambda table: orc.write_table(pa.table({"id": [1]}), table / BUCKET),
        title="file without ACID columns",
    ),
    "no keys": Damage(does=events(), title=f"{KEY_INDEX} is wrong", mended=True),
    "wrong index": Damage(
        does=keys(index="1,536870912,7;"), title=f"{KEY_INDEX} is wrong", mended=True
    ),
    "low index": Damage(
        does=keys(index="1,536870912,1;"), title=f"{KEY_INDEX} is wrong", mended=True
    ),
    "two entries": Damage(
        does=keys(index="1,536870912,1;1,536870912,2;"), title=f"{KEY_INDEX} is wrong", mended=True
    ),
    "nonsense index": Damage(does=keys(index="a,b"), title=f"{KEY_INDEX} is wrong", mended=True),
    "wrong stats": Damage(
        does=keys(stats="2,0,0"), title=f"{STATS} is wrong", severity=WARNING, mended=True
    ),
    "wrong version": Damage(
        does=keys(version="1"), title=f"{VERSION} is wrong", severity=NOTE, mended=True
    ),
    "unsorted": Damage(does=events(rows=(2, 0, 1)), title=f"{KEY_INDEX} is wrong"),
    "another bucket": Damage(
        does=events(bucket=3), title="rows of another bucket than the file's"
    ),
    "another write id": Damage(
        does=events(write_id=9), title="rows of other write ids than the directory's"
    ),
    "deletes in a delta": Damage(does=events(operation=2), title="events of another kind"),
    "another type": Damage(
        does=events(
            columns={"id": pa.array([[1]] * 3), "name": pa.array(["a"] * 3)}
        ),
        title="columns that are not the table's",
    ),
    "columns exchanged": Damage(
        does=events(columns={"name": pa.array(["a"] * 3), "id": pa.array([1] * 3, pa.int32())}),
        title="columns that are not the table's",
    ),
    "behind the files": Damage(does=copy("delta_0000009_0000009_0000"), title="write ids that were never given out"),
    "table gone": Damage(does=shutil.rmtree, title="missing directory"),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_found_and_mended_if_it_can_be(
    name: str, session: Session, warehouse: Path
) -> None:
    """Each damage is found under its name; a repair mends it without a row less, or leaves it with
    a reason, and another repair finds the same.
    """
    damage = DAMAGES[name]
    damage.does(warehouse / "t")
    found = [finding for finding in examine(session) if finding.title == damage.title]
    assert found, [finding.title for finding in examine(session)]
    assert found[0].severity is damage.severity
    assert found[0].path.startswith(str(warehouse / "t"))
    assert all((f.hive3, f.hive4, f.acidsql, f.mend, f.detail) for f in found)
    before = rows_by_file(warehouse)
    repair(session)
    left = [finding.title for finding in examine(session)]
    assert (damage.title in left) is not damage.mended
    if damage.mended:
        assert left == []
    assert rows_by_file(warehouse) == before + [-1] * int(damage.title == "missing version file")
    again = contents(warehouse)
    repair(session)
    assert contents(warehouse) == again


def contents(warehouse: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in (warehouse / "t").rglob("*") if path.is_file()}


def rows_by_file(warehouse: Path) -> list[int]:
    """The rows of each file of the table, -1 for what is no ORC, whatever its name: nothing of it
    may go.
    """
    return sorted(map(rows_of, contents(warehouse)), reverse=True)


def rows_of(path: Path) -> int:
    try:
        return int(orc.ORCFile(path).nrows)
    except (pa.ArrowException, OSError):
        return -1


def test_rewritten_footer_is_that_of_a_writer(session: Session, warehouse: Path) -> None:
    """Keys computed from the rows are those that were written with them; rows and the bytes before
    the footer stay.
    """
    path = warehouse / "t" / BUCKET
    wanted = read_footer(LOCAL, str(path)).user_metadata
    before = path.read_bytes()
    with_keys(path, {KEY_INDEX: "5,5,5;", STATS: "0,0,0", VERSION: "x"})
    repair(session)
    assert read_footer(LOCAL, str(path)).user_metadata == wanted
    offset = read_footer(LOCAL, str(path)).offset
    assert path.read_bytes()[:offset] == before[:offset]
    assert not list((warehouse / "t" / STRAYS).iterdir())


def test_hadoops_checksum_goes_with_the_old_file(session: Session, warehouse: Path) -> None:
    """A checksum of the old footer would have Hadoop refuse the new one: it is moved aside."""
    path = warehouse / "t" / BUCKET
    with_keys(path, {STATS: "0,0,0"})
    checksum = path.with_name(f".{path.name}.crc")
    checksum.write_bytes(b"crc")
    repair(session)
    assert examine(session) == []
    assert not checksum.exists()
    assert (warehouse / "t" / STRAYS / FIRST / checksum.name).read_bytes() == b"crc"


def test_delete_files_of_hive_are_mended(shared: Path, session: Session, warehouse: Path) -> None:
    """A delete file whose statistics count no deletes, which Hive 3 passes over, counts again."""
    table = unpacked("merged.hive3", shared, session, warehouse)
    path = warehouse / table / "delete_delta_0000002_0000002_0000" / "bucket_00001"
    wanted = read_footer(LOCAL, str(path)).user_metadata[STATS]
    with_keys(path, {STATS: "0,0,0"})
    assert [f.title for f in examine(session, table)] == [f"{STATS} is wrong"]
    repair(session, table)
    assert examine(session, table) == []
    assert read_footer(LOCAL, str(path)).user_metadata[STATS] == wanted


def test_staging_of_ended_transactions_goes(session: Session, warehouse: Path) -> None:
    """What an ended transaction has staged goes; that of an open one, and of another store's, stays."""
    ended, still_open = session.store.open_txn(), session.store.open_txn()
    session.store.abort(ended)
    for txn in (ended, still_open, 999):
        add(f".acidsql_{txn}_x/bucket_00000")(warehouse / "t")
    assert [f.path for f in examine(session)] == [str(warehouse / "t" / f".acidsql_{ended}_x")]
    repair(session)
    assert examine(session) == []
    left = {p.name for p in (warehouse / "t").glob(".acidsql_*_x")}
    assert left == {f".acidsql_{still_open}_x", ".acidsql_999_x"}


def test_write_ids_are_taken_over_where_the_files_prove_them(
    session: Session, warehouse: Path
) -> None:
    """A base that was compacted holds what was committed; of all else only its writer's metastore
    knows, and it is named.
    """
    session.sql(f"CREATE TABLE copied (id INT, name STRING) {ACID}")
    shutil.copytree(warehouse / "t" / FIRST, warehouse / "copied" / FIRST)
    shutil.copytree(warehouse / "t" / FIRST, warehouse / "copied" / "delta_0000003_0000004")
    (finding,) = examine(session, "copied")
    assert finding.title == "write ids that were never given out"
    assert f'"{FIRST}", "delta_0000003_0000004"' in finding.detail
    assert "write ids 1, 3-4" in finding.detail
    assert repair(session, "copied")[0].startswith("not mended: acidsql doctor default.copied")
    base = warehouse / "copied" / "base_0000005"
    shutil.copytree(warehouse / "t" / FIRST, base)
    assert "not mended" in repair(session, "copied")[0]  # an INSERT OVERWRITE, aborted perhaps
    (base / "_metadata_acid").write_bytes(COMPACTED)
    assert repair(session, "copied") == ["write ids up to 5 count as committed"]
    assert session.store.begin([table_of(session, "copied").name]).write_ids == {
        table_of(session, "copied").name: 6
    }


def test_directories_and_partitions_apart(session: Session, warehouse: Path) -> None:
    """Directories that no partition knows, files beside the partitions and partitions without a
    directory are found, and left to whoever knows what they are.
    """
    session.sql(f"CREATE TABLE p (id INT) PARTITIONED BY (ds STRING) {ACID}")
    session.sql("INSERT INTO p VALUES (1, 'x'), (2, 'y')")
    shutil.copytree(warehouse / "p" / "ds=x", warehouse / "p" / "ds=z")
    (warehouse / "p" / "ds=y").rename(warehouse / "p" / ".away")
    add("000000_0")(warehouse / "p")
    found = [(f.title, Path(f.path).name) for f in examine(session, "p")]
    assert found == [
        ("missing directory", "ds=y"),
        ("file outside of the partitions", "000000_0"),
        ("directory without a partition", "ds=z"),
    ]
    before = sorted(warehouse.rglob("*"))
    assert all(line.startswith("not mended: ") for line in repair(session, "p"))
    assert sorted(warehouse.rglob("*")) == before
    session.sql("SET hive.msck.path.validation=skip")
    session.sql("MSCK REPAIR TABLE p")
    assert "ds=z" not in {Path(f.path).name for f in examine(session, "p")}


def test_overlapping_ranges_are_found(session: Session, warehouse: Path) -> None:
    """Ranges that overlap in part make rows come twice; nested ones are compactions."""
    for _ in range(4):
        session.sql("INSERT INTO t VALUES (1, 'a')")
    copy("delta_0000001_0000003")(warehouse / "t")
    assert examine(session) == []
    copy("delta_0000002_0000005")(warehouse / "t")
    assert "overlapping directories" in {finding.title for finding in examine(session)}


def test_an_aborted_overwrite_is_told(session: Session, warehouse: Path) -> None:
    """Hive 3 fails on a table whose only base was aborted: that is said until it is gone."""
    txn = session.store.open_txn()
    session.store.allocate_write_id(txn, TableName("default", "t"))
    session.store.abort(txn)
    copy("base_0000002")(warehouse / "t")
    assert [f.title for f in examine(session)] == ["aborted INSERT OVERWRITE"]


def forget(session: Session, write_id: int) -> None:
    """What a store does that takes an aborted write for cleaned though its files are there."""
    with session.store._store.write() as connection:
        connection.execute(delete(TXN_TO_WRITE_ID).where(TXN_TO_WRITE_ID.c.T2W_WRITEID == write_id))


@pytest.mark.parametrize("is_purged", [False, True])
def test_rows_of_a_forgotten_write_id_are_found(
    session: Session, warehouse: Path, is_purged: bool
) -> None:
    """They are read as if they were committed. What takes them away is said, and not done; below
    what the store keeps on record nothing is told.
    """
    txn = session.store.open_txn()
    forgotten = session.store.allocate_write_id(txn, TableName("default", "t"))
    session.store.abort(txn)
    session.sql("INSERT INTO t VALUES (7, 'x')")
    assert examine(session) == []
    forget(session, forgotten)
    copy(f"delta_{forgotten:07}_{forgotten:07}_0000")(warehouse / "t")
    if is_purged:
        with session.store._store.write() as connection:
            connection.execute(insert(AUX_TABLE).values(MT_KEY1=PURGED_BELOW, MT_KEY2=1))
    title = "rows of a write id without a record"
    (finding,) = (f for f in examine(session) if f.title == title)
    assert finding.severity == ("warning" if is_purged else "error")
    assert f"DELETE FROM default.t WHERE ROW__ID.writeid = {forgotten} " in finding.mend
    assert f"not mended: {finding.mend}" in repair(session)
    for older in range(1, forgotten):
        forget(session, older)
    assert title not in {f.title for f in examine(session)}


def test_a_stray_behind_a_base_is_an_error(session: Session, warehouse: Path) -> None:
    """A file put beside a base is not read, and the next cleaner would remove it: that is said."""
    session.sql("TRUNCATE TABLE t")
    add("part-0.orc")(warehouse / "t")
    assert [f.title for f in examine(session)] == ["file beside a base"]


def test_an_empty_base_without_version_file(session: Session, warehouse: Path) -> None:
    """An empty base that no file tells of is not seen by Hive 4: the version file makes it so."""
    session.sql("TRUNCATE TABLE t")
    (warehouse / "t" / "base_0000002" / "_orc_acid_version").unlink()
    assert [f.title for f in examine(session)] == ["empty directory without a version file"]
    repair(session)
    assert examine(session) == []
    assert (warehouse / "t" / "base_0000002" / "_orc_acid_version").read_bytes() == b"2"


def test_older_columns_are_no_damage(session: Session) -> None:
    """Files from before columns were added, renamed and widened are what they should be."""
    session.sql("ALTER TABLE t ADD COLUMNS (more STRING)")
    session.sql("ALTER TABLE t CHANGE COLUMN name title STRING")
    session.sql("ALTER TABLE t CHANGE COLUMN id id BIGINT")
    assert examine(session) == []


def test_mending_is_refused_where_nobody_knows(session: Session, warehouse: Path) -> None:
    """What has no cure is refused with its reason, and nothing is touched."""
    copy("delta_0000001-copy")(warehouse / "t")
    (finding,) = [f for f in examine(session) if f.title == "wrong name of a directory"]
    with pytest.raises(Error, match="not mended: give it its name"):
        mend(session.store, session.files, table_of(session), finding)
    assert finding in examine(session)


def test_a_writer_at_work_is_left_alone(session: Session, warehouse: Path) -> None:
    """Directories of open write ids are half done at any moment: nothing is said of their files."""
    txn = session.store.open_txn()
    write_id = session.store.allocate_write_id(txn, TableName("default", "t"))
    add(f"delta_{write_id:07d}_{write_id:07d}_0000/bucket_00000", b"")(warehouse / "t")
    assert examine(session) == []
    session.store.abort(txn)
    assert {f.title for f in examine(session)} == {"empty file", "missing version file"}


def test_a_killed_repair_leaves_nothing_to_the_next(session: Session, warehouse: Path) -> None:
    """A copy that never took the file's name goes with the next repair; who may read the file
    stays as it was.
    """
    path = warehouse / "t" / BUCKET
    path.chmod(0o640)
    with_keys(path, {STATS: "0,0,0"})
    add(f"{STRAYS}/unfinished_x")(warehouse / "t")
    repair(session)
    assert not list((warehouse / "t" / STRAYS).iterdir())
    assert path.stat().st_mode & 0o777 == 0o640
    assert session.health("t").total.rows == 3


def test_files_without_events_are_looked_into(session: Session, warehouse: Path) -> None:
    """Files of an insert-only table, and originals, are read too: one that cannot be is found."""
    session.sql(
        "CREATE TABLE m (id INT) STORED AS ORC TBLPROPERTIES"
        " ('transactional'='true', 'transactional_properties'='insert_only')"
    )
    session.sql("INSERT INTO m VALUES (1)")
    path = warehouse / "m" / FIRST / "000000_0"
    orc.write_table(pa.table({"id": [[1]]}), path)
    assert [f.title for f in examine(session, "m")] == ["columns that are not the table's"]
    path.write_bytes(b"nonsense" * 100)
    assert [f.title for f in examine(session, "m")] == ["file that cannot be read"]
    add("000000_0", b"nonsense")(warehouse / "t")
    assert [f.title for f in examine(session)] == ["file that cannot be read"]


# ---- a directory inside its like


def test_an_inner_copy_is_read_over_and_removed(session: Session, warehouse: Path) -> None:
    """Readers and compactions see each row once; a repair takes it away and says why it may."""
    copy(f"{FIRST}/{FIRST}")(warehouse / "t")
    expected = [(1, "a"), (2, "b"), (3, "c")]
    assert sorted(session.sql("SELECT * FROM t").rows()) == expected
    [finding] = [f for f in examine(session) if f.severity is Severity.ERROR]
    assert finding.title == "ACID directory inside one of the same name"
    assert repair(session) == ["removed: all its files lie around it, byte for byte"]
    assert not (warehouse / "t" / FIRST / FIRST).exists()
    assert examine(session) == []
    assert sorted(session.sql("SELECT * FROM t").rows()) == expected


def test_an_inner_copy_goes_with_the_compaction(session: Session, warehouse: Path) -> None:
    """Of the directory that holds it."""
    session.sql("INSERT INTO t VALUES (4, 'd')")
    copy(f"{FIRST}/{FIRST}")(warehouse / "t")
    session.sql("ALTER TABLE t COMPACT 'major' AND WAIT")
    assert len(list(session.sql("SELECT * FROM t").rows())) == 4
    assert examine(session) == []


@pytest.mark.parametrize("path", ["bucket_00000", "_orc_acid_version", ".bucket_00000.crc"])
def test_an_inner_directory_that_is_no_copy_stays(
    path: str, session: Session, warehouse: Path
) -> None:
    """Were it of one byte, of a file that nobody sees."""
    copy(f"{FIRST}/{FIRST}")(warehouse / "t")
    inner = warehouse / "t" / FIRST / FIRST / path
    content = inner.read_bytes() if inner.exists() else b"crc"
    inner.write_bytes(content[:-1] + b"x")
    assert any("nobody can tell which of both is right" in line for line in repair(session))
    assert inner.exists()
