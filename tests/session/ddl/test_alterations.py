"""ALTER TABLE carried out: columns, a new name, and a plain table that becomes transactional. No
Spark.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from acidsql import crash_points
from acidsql.catalog.model import (
    Bucketing,
    ConstraintKind,
    Partition,
    SortColumn,
    Table,
    TableKind,
    TableName,
)
from acidsql.catalog.types import convertible, parse_type
from acidsql.errors import (
    BindError,
    ExecutionError,
    IntegrityError,
    NotNullError,
    TableNotFoundError,
    WriteConflictError,
)
from acidsql.files.local_files import LocalFileIO
from acidsql.session import Session
from tests.session.ddl.conftest import NOW, found

FULL = "'transactional'='true'"
INSERT_ONLY = "'transactional'='true', 'transactional_properties'='insert_only'"


def names(session: Session, name: str) -> list[str]:
    return [f"{c.name} {c.type}" for c in found(session, name).columns]


def write_ids(session: Session, name: str, database: str = "default") -> str:
    return str(session.store.valid_write_ids(TableName(database, name), session.store.valid_txns()))


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def touch(folder: Path, *paths: str) -> None:
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(b"x")


# ---- constraints


def test_constraints_come_and_go(plain: Session) -> None:
    """Rows that are written keep to them from then on, and no more once they are dropped; a foreign
    key of the same name on another table stays.
    """
    plain.sql(
        f"CREATE TABLE parent (a INT, b INT NOT NULL ENABLE) STORED AS ORC TBLPROPERTIES ({FULL})"
    )
    plain.sql("CREATE TABLE child (x INT) STORED AS ORC")
    plain.sql("ALTER TABLE parent ADD CONSTRAINT one PRIMARY KEY (a, b) DISABLE NOVALIDATE RELY")
    plain.sql("ALTER TABLE parent ADD UNIQUE (b) DISABLE")
    plain.sql(
        "ALTER TABLE child ADD CONSTRAINT one FOREIGN KEY (x) REFERENCES parent (b) DISABLE NOVALIDATE"
    )
    plain.sql("ALTER TABLE parent ADD CHECK (a < 5) ENABLE")
    with pytest.raises(IntegrityError):
        plain.sql("INSERT INTO parent VALUES (9, 1)")
    for name in ("one", "cc_default_parent_1", "nn_default_parent_1"):
        plain.sql(f"ALTER TABLE parent DROP CONSTRAINT {name}")
    plain.sql("INSERT INTO parent VALUES (9, NULL)")
    plain.sql("ALTER TABLE parent CHANGE COLUMN b c INT")
    left = {
        table: [(one.kind, one.name, one.columns) for one in found(plain, table).constraints]
        for table in ("parent", "child")
    }
    assert left == {
        "parent": [(ConstraintKind.UNIQUE, "uk_default_parent_1", ("c",))],
        "child": [(ConstraintKind.FOREIGN_KEY, "one", ("x",))],
    }


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("ADD PRIMARY KEY (id) DISABLE", "Primary key already exists"),
        ("ADD CONSTRAINT held UNIQUE (id) DISABLE", "Constraint name already exists: held"),
        ("ADD UNIQUE (id) ENABLE", "feature not supported yet"),
        ("ADD UNIQUE (none) DISABLE", "column not found: none"),
        ("DROP CONSTRAINT hold", 'has no constraint "hold"'),
    ],
)
def test_wrong_constraints(plain: Session, change: str, words: str) -> None:
    """Nothing is changed."""
    plain.sql("CREATE TABLE keyed (id INT, CONSTRAINT held PRIMARY KEY (id) DISABLE) STORED AS ORC")
    with pytest.raises(BindError, match=words):
        plain.sql(f"ALTER TABLE keyed {change}")
    assert [one.name for one in found(plain, "keyed").constraints] == ["held"]


# ---- columns


def test_columns_are_added_renamed_and_widened(plain: Session, warehouse: Path) -> None:
    """Only the catalog changes; later INSERTs take the new columns."""
    plain.sql(
        f"CREATE TABLE t (id INT, name STRING COMMENT 'c') STORED AS ORC TBLPROPERTIES ({FULL})"
    )
    plain.sql("INSERT INTO t VALUES (1, 'a')")
    before = files(warehouse / "t")
    plain.sql("ALTER TABLE t ADD COLUMNS (note VARCHAR(10) COMMENT 'n', n SMALLINT)")
    plain.sql("ALTER TABLE t CHANGE n number DECIMAL(7,2)")
    plain.sql("ALTER TABLE t CHANGE COLUMN name title STRING")
    plain.sql(
        "ALTER TABLE t REPLACE COLUMNS (id BIGINT, title STRING COMMENT 'c', note STRING, number DECIMAL(7,2), more ARRAY<INT>)"
    )
    assert names(plain, "t") == [
        "id bigint",
        "title string",
        "note string",
        "number decimal(7,2)",
        "more array<int>",
    ]
    assert [c.comment for c in found(plain, "t").columns] == [None, "c", None, None, None]
    assert found(plain, "t").properties["transient_lastDdlTime"] == str(NOW)
    assert files(warehouse / "t") == before
    plain.sql("INSERT INTO t (id, number, title) VALUES (2, 3.5, 'b')")
    assert write_ids(plain, "t").startswith("default.t:2:")


def test_a_renamed_column_keeps_its_rules(plain: Session) -> None:
    """DEFAULT, NOT NULL, keys, bucketing and sorting follow it; a foreign key of another table
    does, too.
    """
    plain.sql(
        "CREATE TABLE t (id INT NOT NULL, v INT DEFAULT 7, w INT, PRIMARY KEY (id) DISABLE)"
        f" CLUSTERED BY (v, id) INTO 2 BUCKETS STORED AS ORC TBLPROPERTIES ({FULL})"
    )
    plain.sql(
        "CREATE TABLE child (a INT REFERENCES t (id) DISABLE) CLUSTERED BY (a) SORTED BY (a DESC) INTO 2 BUCKETS"
    )
    plain.sql("ALTER TABLE t CHANGE id key INT")
    plain.sql("ALTER TABLE t CHANGE v value INT COMMENT 'now'")
    plain.sql("ALTER TABLE child CHANGE a b INT")
    table, child = found(plain, "t"), found(plain, "child")
    assert table.bucketing == Bucketing(columns=("value", "key"), count=2)
    assert child.bucketing == Bucketing(
        columns=("b",), count=2, sorted_by=(SortColumn(name="b", descending=True),)
    )
    assert {c.kind: c.columns for c in table.constraints} == {
        ConstraintKind.PRIMARY_KEY: ("key",),
        ConstraintKind.NOT_NULL: ("key",),
        ConstraintKind.DEFAULT: ("value",),
    }
    (reference,) = child.constraints
    assert (reference.columns, reference.referenced_columns) == (("b",), ("key",))
    with pytest.raises(NotNullError, match='"key" is NULL'):
        plain.sql("INSERT INTO t VALUES (NULL, 1, 1)")
    assert plain.sql("INSERT INTO t (key) VALUES (1)").stats.rows_inserted == 1


def test_a_check_may_change_the_type_of_its_column_but_not_the_name(plain: Session) -> None:
    """It is text, and names the column."""
    plain.sql(
        f"CREATE TABLE t (id INT, `w` INT CHECK (`w` > 0)) STORED AS ORC TBLPROPERTIES ({FULL})"
    )
    with pytest.raises(BindError, match=r'column "w" is used by constraint "cc_default_t_1"'):
        plain.sql("ALTER TABLE t CHANGE w u INT")
    plain.sql("ALTER TABLE t CHANGE w w BIGINT")
    plain.sql("ALTER TABLE t CHANGE id key INT")
    assert names(plain, "t") == ["key int", "w bigint"]
    assert "check: `w` > 0 is not false (cc_default_t_1)" in plain.explain(
        "INSERT INTO t VALUES (1, 0)"
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tinyint", "smallint"),
        ("smallint", "bigint"),
        ("int", "float"),
        ("bigint", "double"),
        ("float", "double"),
        ("int", "decimal(12,2)"),
        ("bigint", "decimal(19,0)"),
        ("decimal(10,2)", "decimal(12,4)"),
        ("decimal(10,2)", "double"),
        ("int", "varchar(11)"),
        ("decimal(3,3)", "char(6)"),
        ("double", "string"),
        ("date", "string"),
        ("timestamp", "varchar(29)"),
        ("string", "varchar(5)"),
        ("varchar(5)", "char(4)"),
        ("struct<a:int>", "struct<a:int>"),
    ],
)
def test_a_type_may_become_one_that_holds_its_values(old: str, new: str) -> None:
    """And never the other way round, but among texts, which are cut as in Hive."""
    assert convertible(parse_type(old), parse_type(new))
    texts = ("string", "char", "varchar")
    assert convertible(parse_type(new), parse_type(old)) == (
        old == new or (old.startswith(texts) and new.startswith(texts))
    )


def test_a_change_made_meanwhile_is_not_lost(plain: Session, warehouse: Path) -> None:
    """Of two sessions that add a column the later one adds its own to the other's."""
    plain.sql("CREATE TABLE t (id INT) STORED AS ORC")
    source, late = plain._spine.plan("ALTER TABLE t ADD COLUMNS (a INT)")
    with Session(warehouse) as other:
        other.sql("ALTER TABLE t ADD COLUMNS (b INT)")
    plain._spine.run(late, source)
    assert names(plain, "t") == ["id int", "b int", "a int"]


# ---- a new name


def test_a_managed_table_moves_with_its_name(plain: Session, warehouse: Path) -> None:
    """Where it lies at the place its database gives it; also into another database, with its
    partitions.
    """
    plain.sql("CREATE DATABASE d")
    plain.sql(f"CREATE TABLE t (id INT) STORED AS ORC TBLPROPERTIES ({FULL})")
    plain.sql("INSERT INTO t VALUES (1)")
    before = files(warehouse / "t")
    plain.sql("ALTER TABLE t RENAME TO d.orders")
    assert found(plain, "orders", "d").location == str(warehouse / "d.db" / "orders")
    assert files(warehouse / "d.db" / "orders") == before
    assert not (warehouse / "t").exists()
    with pytest.raises(TableNotFoundError):
        plain.sql("INSERT INTO t VALUES (2)")
    assert plain.sql("INSERT INTO d.orders VALUES (2)").stats.write_ids == {"d.orders": 2}
    plain.sql("DROP TABLE d.orders")
    assert not (warehouse / "d.db" / "orders").exists()


def test_partitions_move_with_their_table(plain: Session, warehouse: Path, tmp_path: Path) -> None:
    """Those below it; one that lies elsewhere stays."""
    plain.sql(
        f"CREATE TABLE t (id INT) PARTITIONED BY (ds STRING) STORED AS ORC TBLPROPERTIES ({FULL})"
    )
    touch(warehouse / "t", "ds=a/delta_0000001_0000001_0000/bucket_00000")
    partitions = [
        Partition(values=("a",), location=f"{warehouse}/t/ds=a"),
        Partition(values=("b",), location=f"{tmp_path}/elsewhere"),
    ]
    plain.store.add_partitions(TableName("default", "t"), partitions)
    plain.sql("ALTER TABLE t RENAME TO t2")
    places = [p.location for p in plain.store.list_partitions(found(plain, "t2"))]
    assert places == [f"{warehouse}/t2/ds=a", f"{tmp_path}/elsewhere"]
    assert files(warehouse / "t2") == ["ds=a/delta_0000001_0000001_0000/bucket_00000"]


@pytest.mark.parametrize("kind", ["", "EXTERNAL "])
def test_a_table_at_a_place_of_its_own_stays_there(
    plain: Session, warehouse: Path, tmp_path: Path, kind: str
) -> None:
    """So does an external table, wherever it lies."""
    plain.sql(f"CREATE {kind}TABLE t (id INT) STORED AS ORC LOCATION '{tmp_path}/place'")
    plain.sql("CREATE EXTERNAL TABLE e (id INT) STORED AS ORC")
    plain.sql("ALTER TABLE t RENAME TO t2")
    plain.sql("ALTER TABLE e RENAME TO e2")
    assert (found(plain, "t2").location, found(plain, "e2").location) == (
        f"{tmp_path}/place",
        f"{warehouse}/e",
    )
    assert plain.store.list_tables("default") == ("e2", "t2")


def test_a_table_does_not_move_onto_what_is_there(plain: Session, warehouse: Path) -> None:
    """A directory at the new place, even an empty one, or another table's place."""
    plain.sql("CREATE TABLE t (id INT) STORED AS ORC")
    plain.sql("INSERT INTO t VALUES (1)")
    (warehouse / "new").mkdir()
    with pytest.raises(
        BindError, match=r"New location for this table default\.new already exists"
    ) as caught:
        plain.sql("ALTER TABLE t RENAME TO new")
    assert "\n" in str(caught.value)
    plain.sql(f"CREATE EXTERNAL TABLE e (id INT) STORED AS ORC LOCATION '{warehouse}/free/inside'")
    with pytest.raises(BindError, match=r"overlaps that of table default\.e"):
        plain.sql("ALTER TABLE t RENAME TO free")
    assert files(warehouse / "t") == ["000000_0"]
    assert plain.store.list_tables("default") == ("e", "t")


def test_a_table_that_is_written_is_not_renamed(plain: Session, warehouse: Path) -> None:
    """The error may be retried; a writer whose process has ended is no reason."""
    plain.sql(f"CREATE TABLE t (id INT) STORED AS ORC TBLPROPERTIES ({FULL})")
    writer = plain.store.begin([TableName("default", "t")])
    with pytest.raises(WriteConflictError, match="is being written by transaction") as caught:
        plain.sql("ALTER TABLE t RENAME TO t2")
    assert caught.value.retryable
    assert (warehouse / "t").exists()
    plain.store.abort(writer.txn_id)
    plain.sql("ALTER TABLE t RENAME TO t2")
    assert plain.sql("INSERT INTO t2 VALUES (1)").stats.write_ids == {"default.t2": 2}


def test_a_writer_that_bound_the_old_name_writes_nothing(plain: Session, warehouse: Path) -> None:
    """Its statement does not find the table, as one that comes later."""
    plain.sql(f"CREATE TABLE t (id INT) STORED AS ORC TBLPROPERTIES ({FULL})")
    source, late = plain._spine.plan("INSERT INTO t VALUES (1)")
    plain.sql("ALTER TABLE t RENAME TO t2")
    with pytest.raises(TableNotFoundError):
        plain._spine.run(late, source)
    assert not (warehouse / "t").exists()


@pytest.mark.parametrize("found_out", [True, False])
def test_a_rename_that_fails_moves_the_directory_back(
    plain: Session, warehouse: Path, found_out: bool
) -> None:
    """Unless nobody can tell whether it failed."""
    plain.sql("CREATE TABLE t (id INT) STORED AS ORC")
    touch(warehouse / "t", "000000_0")
    real = plain.store.find_table

    def reached(point: str) -> None:
        if point == "directory moved":
            if not found_out:
                plain.store.find_table = broken  # type: ignore[method-assign]
            raise KeyboardInterrupt

    def broken(name: TableName) -> Table | None:
        raise ExecutionError("the store is gone")

    crash_points.hook = reached
    try:
        with pytest.raises(KeyboardInterrupt):
            plain.sql("ALTER TABLE t RENAME TO t2")
    finally:
        crash_points.hook = None
        plain.store.find_table = real  # type: ignore[method-assign]
    assert plain.store.list_tables("default") == ("t",)
    assert files(warehouse / ("t" if found_out else "t2")) == ["000000_0"]
    if not found_out:
        with pytest.raises(BindError, match="already exists") as caught:
            plain.sql("ALTER TABLE t RENAME TO t2")
        assert "move the directory back" in (caught.value.hint or "")


# ---- a plain table becomes transactional


def test_a_plain_table_becomes_transactional_with_its_files(
    plain: Session, warehouse: Path
) -> None:
    """They stay as they are; its write ids begin at 10000001, as in Hive."""
    plain.sql(
        "CREATE TABLE c (id INT, v STRING) STORED AS ORC TBLPROPERTIES ('transactional'='false')"
    )
    plain.sql("INSERT INTO c VALUES (1, 'a')")
    plain.sql("INSERT INTO c VALUES (2, 'b')")
    touch(
        warehouse / "c",
        "000001_0",
        "HIVE_UNION_SUBDIR_1/000000_0",
        "000000_1_copy_12",
        "_hidden/x",
        ".hive-staging/part-0",
        "_SUCCESS",
    )
    before = files(warehouse / "c")
    plain.sql(f"ALTER TABLE c SET TBLPROPERTIES ('EXTERNAL'='FALSE', {FULL}, 'k'='v')")
    assert files(warehouse / "c") == before
    table = found(plain, "c")
    assert (table.is_full_acid, table.kind) == (True, TableKind.MANAGED)
    stamp = {"transient_lastDdlTime": str(NOW)}
    assert table.properties == {
        "bucketing_version": "2",
        "EXTERNAL": "FALSE",
        "k": "v",
        "transactional": "true",
        "transactional_properties": "default",
        **stamp,
    }
    assert write_ids(plain, "c") == "default.c:10000000:9223372036854775807::"
    done = plain.sql("INSERT INTO c VALUES (3, 'c')")
    assert done.stats.write_ids == {"default.c": 10_000_001}
    assert done.stats.directories == ("c/delta_10000001_10000001_0000",)


def test_an_external_table_becomes_managed_and_transactional_at_once(
    plain: Session, tmp_path: Path
) -> None:
    """As Hive 4 wants it, which makes every plain table external; without 'EXTERNAL'='FALSE' it is
    refused.
    """
    plain.sql(f"CREATE EXTERNAL TABLE c (id INT) STORED AS ORC LOCATION '{tmp_path}/c'")
    touch(tmp_path / "c", "000000_0")
    with pytest.raises(
        BindError,
        match=r"default\.c cannot be declared transactional because it's an external table",
    ):
        plain.sql(f"ALTER TABLE c SET TBLPROPERTIES ({FULL})")
    plain.sql(f"ALTER TABLE c SET TBLPROPERTIES ('EXTERNAL'='FALSE', {FULL})")
    table = found(plain, "c")
    assert (table.kind, table.is_full_acid, table.location) == (
        TableKind.MANAGED,
        True,
        f"{tmp_path}/c",
    )
    plain.sql("DROP TABLE c")
    assert not (tmp_path / "c").exists()


def test_a_bucketed_table_is_converted(plain: Session, warehouse: Path) -> None:
    """Its files tell their buckets by their names already."""
    plain.sql("CREATE TABLE c (id INT) CLUSTERED BY (id) INTO 2 BUCKETS STORED AS ORC")
    plain.sql("INSERT INTO c VALUES (1), (2), (3), (4)")
    plain.sql(f"ALTER TABLE c SET TBLPROPERTIES ({FULL}, 'transactional_properties'='default')")
    assert files(warehouse / "c") == ["000000_0", "000001_0"]
    assert found(plain, "c").is_full_acid


@pytest.mark.parametrize(
    ("paths", "first"),
    [
        (["000000_0", "part-00000-x.c000.zlib.orc"], "/part-00000-x.c000.zlib.orc"),
        (["000000_0", "sub/000000_0", "sub/bucket_00000"], "/sub/bucket_00000"),
        (["000000_0_copy_"], "/000000_0_copy_"),
        (["000000"], "/000000"),
        (["data.orc", "a/000000_0"], "/data.orc"),
        (["000000_0.orc"], "/000000_0.orc"),
    ],
)
def test_a_table_with_a_file_of_another_name_is_not_converted(
    plain: Session, warehouse: Path, paths: list[str], first: str
) -> None:
    """The error has Hive's words and the file's path; nothing has changed."""
    plain.sql("CREATE TABLE c (id INT) STORED AS ORC")
    touch(warehouse / "c", *paths)
    before = found(plain, "c")
    with pytest.raises(BindError) as caught:
        plain.sql(f"ALTER TABLE c SET TBLPROPERTIES ({FULL})")
    assert caught.value.message == (
        f"Unexpected data file name format.  Cannot convert default.c to transactional table.  File: {warehouse}/c{first}"
    )
    assert "'transactional'='true'" in str(caught.value).splitlines()[1]
    assert found(plain, "c") == before
    assert write_ids(plain, "c").startswith("default.c:0:")


def test_a_directory_that_would_count_as_acid_is_refused(plain: Session, warehouse: Path) -> None:
    """A base_5 would hide every other row."""
    plain.sql("CREATE TABLE c (id INT) STORED AS ORC")
    touch(warehouse / "c", "000000_0", "x/base_0000005/000000_0")
    with pytest.raises(BindError, match=r"Unexpected directory name.*x/base_0000005"):
        plain.sql(f"ALTER TABLE c SET TBLPROPERTIES ({FULL})")


def test_every_partition_is_looked_at(plain: Session, warehouse: Path, tmp_path: Path) -> None:
    """Wherever it lies; directories that are no partitions are not."""
    plain.sql("CREATE TABLE c (id INT) PARTITIONED BY (ds STRING) STORED AS ORC")
    touch(warehouse / "c", "ds=a/000000_0", "stray/part-0")
    touch(tmp_path / "b", "000000_0")
    partitions = [
        Partition(values=("a",), location=f"{warehouse}/c/ds=a"),
        Partition(values=("b",), location=f"{tmp_path}/b"),
    ]
    plain.store.add_partitions(TableName("default", "c"), partitions)
    touch(tmp_path / "b", "part-0")
    with pytest.raises(BindError, match=f"File: {tmp_path}/b/part-0"):
        plain.sql(f"ALTER TABLE c SET TBLPROPERTIES ({FULL})")
    (tmp_path / "b" / "part-0").unlink()
    plain.sql(f"ALTER TABLE c SET TBLPROPERTIES ({FULL})")
    assert write_ids(plain, "c").startswith("default.c:10000000:")


def test_any_plain_table_becomes_insert_only(plain: Session, warehouse: Path) -> None:
    """Of any format, with files of any name: they move into a delta of write id 1, as in Hive,
    which passes over files beside deltas.
    """
    plain.sql("CREATE TABLE c (id INT)")
    plain.sql("CREATE TABLE empty (id INT) STORED AS ORC")
    touch(warehouse / "c", "data.txt", "sub/x/data.txt", "_hidden")
    for name in ("c", "empty"):
        plain.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ({INSERT_ONLY})")
        assert found(plain, name).is_insert_only
        assert write_ids(plain, name) == f"default.{name}:1:9223372036854775807::"
    delta = "delta_0000001_0000001_0000"
    assert files(warehouse / "c") == ["_hidden", f"{delta}/data.txt", f"{delta}/sub/x/data.txt"]
    assert list((warehouse / "empty").iterdir()) == []
    assert plain.store.begin([TableName("default", "c")]).write_ids == {
        TableName("default", "c"): 2
    }


def test_every_partition_becomes_insert_only(
    plain: Session, warehouse: Path, tmp_path: Path
) -> None:
    """Each has a delta of its own."""
    plain.sql("CREATE TABLE c (id INT) PARTITIONED BY (ds STRING)")
    touch(warehouse / "c", "ds=a/1.txt", "stray/2.txt")
    touch(tmp_path / "b", "3.txt")
    partitions = [
        Partition(values=("a",), location=f"{warehouse}/c/ds=a"),
        Partition(values=("b",), location=f"{tmp_path}/b"),
    ]
    plain.store.add_partitions(TableName("default", "c"), partitions)
    plain.sql(f"ALTER TABLE c SET TBLPROPERTIES ({INSERT_ONLY})")
    assert files(warehouse / "c") == ["ds=a/delta_0000001_0000001_0000/1.txt", "stray/2.txt"]
    assert files(tmp_path / "b") == ["delta_0000001_0000001_0000/3.txt"]


@pytest.mark.parametrize("moved", [0, 1, 2])
def test_a_conversion_that_fails_moves_its_files_back(
    plain: Session, warehouse: Path, moved: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many of them it had moved."""
    plain.sql("CREATE TABLE c (id INT)")
    touch(warehouse / "c", "a", "b", "sub/c")
    real, left = LocalFileIO.move_file, iter(range(moved))

    def move_file(io: LocalFileIO, old: str, new: str) -> None:
        if next(left, None) is None:
            raise PermissionError(13, "no", old)
        real(io, old, new)

    monkeypatch.setattr(LocalFileIO, "move_file", move_file)
    if moved == 2:
        monkeypatch.setattr(
            crash_points, "hook", lambda point: next(left) if point == "files moved" else None
        )
    with pytest.raises((ExecutionError, StopIteration)):
        plain.sql(f"ALTER TABLE c SET TBLPROPERTIES ({INSERT_ONLY})")
    assert sorted(path.name for path in (warehouse / "c").iterdir()) == ["a", "b", "sub"]
    assert not found(plain, "c").is_transactional


def test_a_conversion_that_was_killed_is_run_again(plain: Session, warehouse: Path) -> None:
    """It left some files where the others go."""
    plain.sql("CREATE TABLE c (id INT)")
    touch(warehouse / "c", "a", "delta_0000001_0000001_0000/b")
    plain.sql(f"ALTER TABLE c SET TBLPROPERTIES ({INSERT_ONLY})")
    assert files(warehouse / "c") == [
        "delta_0000001_0000001_0000/a",
        "delta_0000001_0000001_0000/b",
    ]


@pytest.mark.parametrize(
    ("made", "asked", "message"),
    [
        (
            FULL,
            "SET TBLPROPERTIES ('transactional'='false')",
            "Cannot change 'transactional' without 'transactional_properties'",
        ),
        (
            FULL,
            f"SET TBLPROPERTIES ({INSERT_ONLY})",
            "'transactional_properties' cannot be altered after the table is created",
        ),
        (
            INSERT_ONLY,
            f"SET TBLPROPERTIES ({FULL}, 'transactional_properties'='default')",
            "cannot be altered after the table is created",
        ),
        (
            INSERT_ONLY,
            "UNSET TBLPROPERTIES ('transactional')",
            "Cannot convert an ACID table to non-ACID",
        ),
        (
            INSERT_ONLY,
            "UNSET TBLPROPERTIES ('transactional_properties')",
            "Cannot convert an ACID table to non-ACID",
        ),
        (FULL, "UNSET TBLPROPERTIES ('transactional')", "'transactional'='true' cannot be unset"),
    ],
)
def test_there_is_no_way_back(plain: Session, made: str, asked: str, message: str) -> None:
    """Whether a table was made transactional or became it later, it stays what it is."""
    plain.sql("CREATE TABLE c (id INT) STORED AS ORC")
    plain.sql(f"ALTER TABLE c SET TBLPROPERTIES ({made})")
    before = found(plain, "c")
    with pytest.raises(BindError, match=message):
        plain.sql(f"ALTER TABLE c {asked}")
    assert found(plain, "c") == before


def test_a_table_is_converted_once(plain: Session) -> None:
    """Asked again it is a property like any other: write ids go on."""
    plain.sql("CREATE TABLE c (id INT) STORED AS ORC")
    for number in (10_000_001, 10_000_002):
        plain.sql(f"ALTER TABLE c SET TBLPROPERTIES ({FULL})")
        assert plain.sql("INSERT INTO c VALUES (1)").stats.write_ids == {"default.c": number}


def test_files_are_looked_at_when_the_statement_runs(plain: Session, warehouse: Path) -> None:
    """EXPLAIN touches none; a change made meanwhile in the catalog is not overwritten."""
    plain.sql("CREATE TABLE c (id INT) STORED AS ORC")
    touch(warehouse / "c", "data.orc")
    sql = f"ALTER TABLE c SET TBLPROPERTIES ({FULL})"
    assert "files: stay as they are" in plain.explain(sql)
    source, late = plain._spine.plan(sql)
    (warehouse / "c" / "data.orc").unlink()
    plain.sql("ALTER TABLE c SET TBLPROPERTIES ('k'='v')")
    plain._spine.run(late, source)
    assert found(plain, "c").properties["k"] == "v"


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["TEXTFILE", "PARQUET"])
def test_a_dropped_column_is_read_no_more(session: Session, kind: str) -> None:
    """The rows that are there, and new ones, have the columns that are left."""
    session.sql(f"CREATE TABLE d (a INT, b STRING, c INT) STORED AS {kind}")
    session.sql("INSERT INTO d VALUES (1, 'x', 5)")
    session.sql("ALTER TABLE d DROP COLUMN c")
    session.sql("INSERT INTO d VALUES (2, 'y')")
    assert sorted(session.sql("SELECT * FROM d")) == [(1, "x"), (2, "y")]
