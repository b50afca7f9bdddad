"""DDL carried out: the catalog's entry, the directory that belongs to it, and what must never be
deleted. No Spark.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from acidsql.catalog.model import TableKind
from acidsql.catalog.statistics import KEYS
from acidsql.errors import (
    BindError,
    ProgrammingError,
    UnsupportedStatementError,
)
from acidsql.session import Session
from tests.session.ddl.conftest import NOW, found
from tests.spark.naive_reader import read_files


def rows(session: Session, sql: str) -> list[tuple[str | None, ...]]:
    return list(session.sql(sql).rows())


DEFINITIONS = {
    "plain": "CREATE TABLE {name} (id INT COMMENT 'it''s', v ARRAY<STRUCT<`a b`:INT,c:MAP<STRING,DECIMAL(5,2)>>>) COMMENT 'say \"hi\"'",
    "acid": "CREATE TABLE {name} (id INT, v VARCHAR(9)) CLUSTERED BY (id, v) INTO 3 BUCKETS STORED AS ORC TBLPROPERTIES ('transactional'='true')",
    "partitioned": "CREATE TABLE {name} (id INT) PARTITIONED BY (ds DATE COMMENT 'day', hr INT) STORED AS PARQUET",
    "sorted": "CREATE TABLE {name} (a INT, b INT) CLUSTERED BY (a) SORTED BY (b DESC, a) INTO 2 BUCKETS SKEWED BY (a, b) ON ((1, 'x'), (2, 'y'))"
    " STORED AS ORC",
    "delimited": "CREATE TABLE {name} (a INT) ROW FORMAT DELIMITED FIELDS TERMINATED BY '\\t' ESCAPED BY '\\\\' STORED AS TEXTFILE",
    "serde": "CREATE TABLE {name} (a INT) ROW FORMAT SERDE 'x.Serde' WITH SERDEPROPERTIES ('k'='it\\'s') STORED AS INPUTFORMAT 'i' OUTPUTFORMAT 'o'",
}


@pytest.mark.parametrize("kind", DEFINITIONS)
def test_show_create_table_makes_the_same_table_again(plain: Session, kind: str) -> None:
    """Its text is a statement that defines the table as it was, at the same place."""
    plain.sql(DEFINITIONS[kind].replace("''", "\\'").format(name="one"))
    before = found(plain, "one")
    text = "\n".join(
        line for (line,) in rows(plain, "SHOW CREATE TABLE default.one") if line is not None
    )
    plain.sql("DROP TABLE one")
    plain.sql(text)
    after = found(plain, "one")
    assert "transient_lastDdlTime" not in before.properties
    properties = {k: v for k, v in after.properties.items() if k != "transient_lastDdlTime"}
    assert replace(after, table_id=before.table_id, properties=properties) == before


def test_files_are_compressed_as_the_table_says_or_else_the_session(plain: Session) -> None:
    """orc.compress of the table goes before hive.exec.orc.default.compress, which SET knows by both
    names; what Hive 3.1 cannot read is refused.
    """
    for name, properties in (("t", ""), ("own", ", 'orc.compress'='SNAPPY'")):
        plain.sql(
            f"CREATE TABLE {name} (a INT) STORED AS ORC TBLPROPERTIES ('transactional'='true'{properties})"
        )
    for setting in (
        "RESET hive.exec.orc.default.compress",
        "SET hive.exec.orc.default.compress=LZ4",
        "SET orc.compress=none",
    ):
        plain.sql(setting)
        for name in ("t", "own"):
            plain.sql(f"INSERT INTO {name} VALUES (1)")
    codecs = [
        [file.tail.codec.name for file in read_files(Path(found(plain, name).location))]
        for name in ("t", "own")
    ]
    assert codecs == [["ZLIB", "LZ4", "NONE"], ["SNAPPY"] * 3]
    with pytest.raises(ProgrammingError, match="zstd"):
        plain.sql("SET orc.compress=zstd")


def test_an_external_table_leaves_its_files(plain: Session, tmp_path: Path) -> None:
    """CREATE takes a directory with files as it is, DROP takes only the entry; external.table.purge
    asks for more.
    """
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "data").write_bytes(b"x")
    for properties, kept in (("'a'='b'", True), ("'external.table.purge'='TRUE'", False)):
        plain.sql(
            f"CREATE EXTERNAL TABLE e (id INT) STORED AS ORC LOCATION '{folder}' TBLPROPERTIES ({properties})"
        )
        assert (found(plain, "e").kind, found(plain, "e").location) == (
            TableKind.EXTERNAL,
            str(folder),
        )
        plain.sql("DROP TABLE e")
        assert (folder / "data").exists() == kept


def test_a_managed_table_takes_no_directory_with_files(plain: Session, tmp_path: Path) -> None:
    """They would become its rows."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "data").write_bytes(b"x")
    with pytest.raises(BindError, match="is not empty") as caught:
        plain.sql(f"CREATE TABLE m (id INT) LOCATION '{folder}'")
    assert "\n" in str(caught.value)
    (folder / "data").unlink()
    plain.sql(f"CREATE TABLE m (id INT) LOCATION '{folder}/'")
    assert found(plain, "m").location == str(folder)
    plain.sql("DROP TABLE m")
    assert not folder.exists()


@pytest.mark.parametrize("kind", ["", "EXTERNAL "])
@pytest.mark.parametrize(
    "place",
    [
        "{warehouse}",
        "{warehouse}/..",
        "{warehouse}/t",
        "{warehouse}/t/inside",
        "{warehouse}/d.db",
        "file:{warehouse}/t",
    ],
)
def test_a_table_keeps_out_of_the_directories_of_others(
    plain: Session, warehouse: Path, place: str, kind: str
) -> None:
    """Dropping or filling the one would change the other: neither managed nor external tables may
    share a place.
    """
    plain.sql("CREATE TABLE t (id INT) STORED AS ORC TBLPROPERTIES ('transactional'='true')")
    plain.sql("CREATE DATABASE d")
    with pytest.raises(
        BindError, match=r"overlaps that of table default\.t|holds other tables"
    ) as caught:
        plain.sql(f"CREATE {kind}TABLE x (id INT) LOCATION '{place.format(warehouse=warehouse)}'")
    assert caught.value.span is not None
    assert plain.store.list_tables("default") == ("t",)


def test_an_external_table_that_becomes_managed_must_stand_alone(
    plain: Session, tmp_path: Path
) -> None:
    """Its files can be dropped then, so they must not be another's too."""
    plain.sql(f"CREATE EXTERNAL TABLE e (id INT) LOCATION '{tmp_path}/e'")
    plain.sql("ALTER TABLE e SET TBLPROPERTIES ('EXTERNAL'='FALSE')")
    assert found(plain, "e").kind is TableKind.MANAGED
    plain.sql("ALTER TABLE e SET TBLPROPERTIES ('EXTERNAL'='TRUE')")
    assert found(plain, "e").kind is TableKind.EXTERNAL


def test_a_database_goes_without_the_files_of_external_tables(
    plain: Session, warehouse: Path
) -> None:
    """They may lie in its directory; those of managed tables go."""
    plain.sql("CREATE DATABASE d")
    plain.sql("CREATE EXTERNAL TABLE d.e (id INT) STORED AS ORC")
    plain.sql("CREATE TABLE d.m (id INT) STORED AS ORC")
    (warehouse / "d.db" / "e" / "data").write_bytes(b"x")
    plain.sql("DROP DATABASE d CASCADE")
    assert (warehouse / "d.db" / "e" / "data").exists()
    assert not (warehouse / "d.db" / "m").exists()
    plain.sql("CREATE DATABASE d2")
    plain.sql("DROP DATABASE d2")
    assert not (warehouse / "d2.db").exists()


def properties_of(session: Session, table: str) -> list[tuple[str | None, ...]]:
    """Without statistics."""
    return [row for row in rows(session, f"SHOW TBLPROPERTIES {table}") if row[0] not in KEYS]


def test_properties_are_altered_with_the_time_of_the_change(plain: Session) -> None:
    """And shown with it; before, the time is that of the creation."""
    plain.sql(
        "CREATE TABLE t (id INT) COMMENT 'c' STORED AS ORC TBLPROPERTIES ('transactional'='true')"
    )
    stamp = ("transient_lastDdlTime", str(NOW))
    fixed = [("transactional", "true"), ("transactional_properties", "default"), stamp]
    assert properties_of(plain, "t") == [("bucketing_version", "2"), ("comment", "c"), *fixed]
    plain.sql("ALTER TABLE t SET TBLPROPERTIES ('k'='v', 'comment'='d')")
    assert properties_of(plain, "t") == [
        ("bucketing_version", "2"),
        ("comment", "d"),
        ("k", "v"),
        *fixed,
    ]
    assert found(plain, "t").properties["transient_lastDdlTime"] == str(NOW)


def test_two_sessions_do_not_overwrite_each_others_change(plain: Session, warehouse: Path) -> None:
    """The later one is planned once more, behind the other's."""
    plain.sql("CREATE TABLE t (id INT)")
    sql = "ALTER TABLE t SET TBLPROPERTIES ('a'='1')"
    source, late = plain._spine.plan(sql)
    with Session(warehouse) as other:
        other.sql("ALTER TABLE t SET TBLPROPERTIES ('b'='2')")
    plain._spine.run(late, source)
    assert {"a", "b"} <= found(plain, "t").properties.keys()


def test_describe_database(plain: Session, warehouse: Path) -> None:
    """Hive's columns; the parameters with EXTENDED."""
    plain.sql("CREATE DATABASE d COMMENT 'about' WITH DBPROPERTIES ('k'='v')")
    place = str(warehouse / "d.db")
    assert rows(plain, "DESCRIBE DATABASE d") == [("d", "about", place, plain.user, "USER", "")]
    assert rows(plain, "DESCRIBE DATABASE EXTENDED d") == [
        ("d", "about", place, plain.user, "USER", "{k=v}")
    ]


def test_abort_transactions_aborts_open_ones_only(plain: Session) -> None:
    """Others, and ids that never were, are passed over, as in Hive."""
    first, second = plain.store.open_txn(), plain.store.open_txn()
    plain.store.commit(second)
    plain.sql(f"ABORT TRANSACTIONS {first} {second} 4711")
    assert [(row[0], row[1]) for row in rows(plain, "SHOW TRANSACTIONS")] == [
        (str(first), "ABORTED")
    ]


def test_every_statement_that_is_not_built_says_so_and_changes_nothing(plain: Session) -> None:
    """After it was bound; EXPLAIN of the same statement works."""
    plain.sql("CREATE TABLE t (id INT) STORED AS ORC TBLPROPERTIES ('transactional'='true')")
    before = found(plain, "t")
    for sql in (
        "CREATE TEMPORARY TABLE c (id INT)",
        "CREATE TEMPORARY TABLE d STORED AS ORC AS SELECT 1 AS id",
    ):
        with pytest.raises(UnsupportedStatementError, match="is not supported yet"):
            plain.sql(sql)
        assert rows(plain, f"EXPLAIN {sql}")
    assert found(plain, "t") == before
    assert plain.store.list_tables("default") == ("t",)
