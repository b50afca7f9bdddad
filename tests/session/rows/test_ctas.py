"""CREATE TABLE .. AS: a table appears with its rows or not at all."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from acidsql import crash_points
from acidsql.catalog.model import TableKind, TableName
from acidsql.errors import (
    AlreadyExistsError,
    BindError,
    ColumnNotFoundError,
    Error,
    ExecutionError,
    UnsupportedStatementError,
)
from acidsql.session import Session

pytestmark = pytest.mark.spark

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
INSERT_ONLY = "TBLPROPERTIES ('transactional'='true', 'transactional_properties'='insert_only')"


def rows(session: Session, query: str) -> list[Any]:
    return sorted(session.sql(query).rows(), key=repr)


def found(session: Session, name: str) -> Any:
    return session.store.find_table(TableName("default", name))


@pytest.fixture
def source(session: Session) -> Session:
    session.sql(
        f"CREATE TABLE s (id INT, name VARCHAR(10), p DECIMAL(10,2), st STRUCT<x:INT,y:STRING>, ds STRING) {ACID}"
    )
    session.sql(
        "INSERT INTO s SELECT 1, 'a', 1.5, named_struct('x', 7, 'y', 'q'), 'd1' UNION ALL SELECT 2, 'b', NULL, NULL, 'd2'"
    )
    return session


@pytest.mark.parametrize(
    ("path", "engine"), [("small", "auto"), ("big", "auto"), ("small", "spark")]
)
def test_a_full_acid_table(source: Session, warehouse: Path, path: str, engine: str) -> None:
    """Its rows are those of write id 1, and the next writer's is 2."""
    source.sql(f"SET acidsql.write.path={path}")
    source.sql(f"SET acidsql.engine={engine}")
    done = source.sql(
        f"CREATE TABLE t {ACID} AS SELECT id, upper(name), 1, s.st.x, CAST(id AS STRING), p * 2 AS Pp FROM s"
    )
    assert (
        done.stats.statement,
        done.stats.rows_inserted,
        done.stats.write_ids,
        done.stats.path,
    ) == (
        "CREATE TABLE",
        2,
        {"default.t": 1},
        path,
    )
    assert {str(Path(d).name) for d in done.stats.directories} == {"delta_0000001_0000001_0000"}
    columns = [(c.name, str(c.type)) for c in found(source, "t").columns]
    assert columns == [
        ("id", "int"),
        ("_c1", "string"),
        ("_c2", "int"),
        ("x", "int"),
        ("_c4", "string"),
        ("pp", "decimal(12,2)"),
    ]
    source.sql("UPDATE t SET _c1 = 'z' WHERE id = 1")
    source.sql("INSERT INTO t SELECT * FROM t WHERE id = 2")
    assert rows(source, "SELECT ROW__ID.writeid, id, _c1, x FROM t") == [
        (1, 2, "B", None),
        (2, 1, "z", 7),
        (3, 2, "B", None),
    ]
    assert not list((warehouse / "t").glob(".acidsql*"))


@pytest.mark.classic
def test_the_driver_makes_the_table_that_spark_makes(session: Session) -> None:
    """Its columns, with their types, and its rows, with their ids; Spark Connect does not tell the
    lengths of CHAR and VARCHAR.
    """
    types = {
        "t": "TINYINT", "s": "SMALLINT", "i": "INT", "b": "BIGINT", "f": "FLOAT", "d": "DOUBLE", "x": "STRING",
        "m": "DECIMAL(9,2)", "c": "CHAR(4)", "v": "VARCHAR(5)", "o": "BOOLEAN", "y": "DATE", "z": "TIMESTAMP",
        "r": "BINARY", "a": "ARRAY<INT>", "p": "MAP<STRING,INT>", "n": "STRUCT<q:CHAR(3),w:DATE>",
    }  # fmt: skip
    session.sql(f"CREATE TABLE every ({', '.join(map(' '.join, types.items()))}) {ACID}")
    session.sql(
        "INSERT INTO every SELECT 1, 2, 3, 4, 5.5, 6.5, 'é ', 7.25, 'ab', 'cd ', true, DATE '2020-02-29',"
        " TIMESTAMP '2020-02-29 01:02:03.5', CAST('x' AS BINARY), array(1, NULL), map('k', 1),"
        " named_struct('q', 'z', 'w', DATE '1999-12-31')"
    )
    session.sql(f"INSERT INTO every ({', '.join(types)}) SELECT {', '.join(['NULL'] * len(types))}")
    values = [*types, "t + 1", "m * 2", "m / 3", "upper(c)", "concat(v, x)", "i / 2", "y + 1", "CAST(z AS DATE)", "5", "'q'"]  # fmt: skip
    text = ", ".join([*values[: len(types)], *(f"{v} AS e{n}" for n, v in enumerate(values))])
    made = {}
    for engine in ("local", "spark"):
        session.sql(f"SET acidsql.engine={engine}")
        session.sql(f"CREATE TABLE by_{engine} {ACID} AS SELECT {text} FROM every ORDER BY i")
        session.sql("SET acidsql.engine=spark")
        columns = [(c.name, str(c.type)) for c in found(session, f"by_{engine}").columns]
        made[engine] = columns, rows(session, f"SELECT ROW__ID, * FROM by_{engine}")
    assert made["local"] == made["spark"]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT c FROM e UNION ALL SELECT x FROM e",
        "SELECT c FROM (SELECT x, c FROM e UNION SELECT x, x FROM e) q ORDER BY length(c)",
        "SELECT q.c FROM e, LATERAL (SELECT e.c UNION ALL SELECT e.x) q",
        "SELECT q.a AS c FROM (SELECT named_struct('a', c) q FROM e UNION ALL SELECT named_struct('a', x) FROM e)",
        "SELECT q.a AS c FROM e LATERAL VIEW explode(array(named_struct('a', c), named_struct('a', x))) w AS q",
    ],
)
def test_values_that_come_together_keep_their_ends(session: Session, query: str) -> None:
    """Where a CHAR and a longer text come together, the column is no CHAR: what is longer is not
    cut, in a table and behind a view.
    """
    session.sql(f"CREATE TABLE e (c CHAR(3), x STRING) {ACID}")
    session.sql("INSERT INTO e VALUES ('abc', 'longer')")
    session.sql(f"CREATE TABLE t {ACID} AS {query}")
    session.sql(f"CREATE VIEW v AS {query}")
    for name in ("t", "v"):
        assert [str(c.type) for c in found(session, name).columns] == ["string"]
        assert rows(session, f"SELECT c FROM {name}") == [("abc",), ("longer",)]


@pytest.mark.parametrize("stored_as", ["ORC", "PARQUET", "TEXTFILE"])
def test_tables_of_every_kind(source: Session, tmp_path: Path, stored_as: str) -> None:
    """Insert-only, plain and external; the types of the query's columns stay, with
    their lengths.
    """
    query = "SELECT id, name, p, st FROM s"
    source.sql(f"CREATE TABLE mm STORED AS {stored_as} {INSERT_ONLY} AS {query}")
    source.sql(f"CREATE TABLE plain STORED AS {stored_as} AS {query}")
    source.sql(
        f"CREATE EXTERNAL TABLE ext STORED AS {stored_as} LOCATION '{tmp_path}/ext' AS {query}"
    )
    for name in ("mm", "plain", "ext"):
        assert rows(source, f"SELECT * FROM {name}") == rows(source, query)
        assert [str(c.type) for c in found(source, name).columns] == [
            "int",
            "varchar(10)",
            "decimal(10,2)",
            "struct<x:int,y:string>",
        ]
    assert found(source, "ext").kind is TableKind.EXTERNAL
    assert found(source, "mm").is_insert_only
    source.sql("INSERT INTO mm SELECT * FROM ext WHERE id = 1")
    assert rows(source, "SELECT id FROM mm") == [(1,), (1,), (2,)]
    assert rows(source, "SHOW TBLPROPERTIES plain ('numRows')") == [("numRows", "2")]


def test_partitions_are_columns_of_the_query(source: Session, warehouse: Path) -> None:
    """Wherever they stand in it; they come last in the table, in the order of PARTITIONED BY."""
    source.sql(f"CREATE TABLE t PARTITIONED BY (ds, id) {ACID} AS SELECT ds, id, name FROM s")
    table = found(source, "t")
    assert ([c.name for c in table.columns], [c.name for c in table.partition_columns]) == (
        ["name"],
        ["ds", "id"],
    )
    assert rows(source, "SELECT * FROM t") == [("a", "d1", 1), ("b", "d2", 2)]
    assert rows(source, "SHOW PARTITIONS t") == [("ds=d1/id=1",), ("ds=d2/id=2",)]
    source.sql(
        "CREATE TABLE p PARTITIONED BY (ds) STORED AS PARQUET AS SELECT ds, id FROM s WHERE id > 5"
    )
    assert rows(source, "SHOW PARTITIONS p") == []
    source.sql("INSERT INTO p VALUES (1, 'x')")
    assert rows(source, "SELECT * FROM p") == [(1, "x")]


@pytest.mark.parametrize("kind", [ACID, f"STORED AS TEXTFILE {INSERT_ONLY}", "STORED AS PARQUET"])
@pytest.mark.parametrize("path", ["small", "big"])
def test_a_query_without_rows_makes_an_empty_table(
    source: Session, warehouse: Path, kind: str, path: str
) -> None:
    """It can be written to like any other."""
    source.sql(f"SET acidsql.write.path={path}")
    assert (
        source.sql(f"CREATE TABLE t {kind} AS SELECT id FROM s WHERE id > 5").stats.rows_inserted
        == 0
    )
    assert rows(source, "SELECT * FROM t") == []
    source.sql("INSERT INTO t VALUES (5)")
    assert rows(source, "SELECT * FROM t") == [(5,)]


def test_a_table_that_is_there(source: Session) -> None:
    """IF NOT EXISTS does nothing; without it the statement fails."""
    source.sql("CREATE TABLE IF NOT EXISTS s AS SELECT 1 AS one")
    assert len(found(source, "s").columns) == 5
    with pytest.raises(AlreadyExistsError):
        source.sql("CREATE TABLE s AS SELECT 1 AS one")


@pytest.mark.parametrize(
    ("statement", "error", "words"),
    [
        (
            f"CREATE TABLE t {ACID} AS SELECT id, name AS ID FROM s",
            BindError,
            "10036.*Duplicate column name: id",
        ),
        (f"CREATE TABLE t {ACID} AS SELECT id, NULL FROM s", BindError, "10305.*near field:  _c1"),
        (
            f"CREATE TABLE t {ACID} AS SELECT id, INTERVAL '1' DAY AS x FROM s",
            UnsupportedStatementError,
            "interval day",
        ),
        (
            f"CREATE TABLE t {ACID} AS SELECT array(NULL) AS x FROM s",
            UnsupportedStatementError,
            "array<void>",
        ),
        (f"CREATE TABLE t {ACID} AS SELECT ROW__ID FROM s", BindError, "10328"),
        (
            f"CREATE TABLE t PARTITIONED BY (nope) {ACID} AS SELECT id FROM s",
            ColumnNotFoundError,
            "10002.*nope",
        ),
        (
            f"CREATE TABLE t PARTITIONED BY (id) {ACID} AS SELECT id FROM s",
            BindError,
            "partition columns only",
        ),
        (f"CREATE TABLE t PARTITIONED BY (st) {ACID} AS SELECT id, st FROM s", BindError, "10126"),
        (
            "CREATE TABLE t AS SELECT map(array(1), 2) AS m FROM s",
            UnsupportedStatementError,
            "whose keys are",
        ),
        (
            f"CREATE TABLE t {ACID} AS SELECT CAST(raise_error('no') AS INT) AS x FROM s",
            ExecutionError,
            "no",
        ),
        (
            "CREATE TABLE t PARTITIONED BY (p) STORED AS PARQUET AS SELECT CAST(raise_error('no') AS INT) AS x, 1 AS p FROM s",
            ExecutionError,
            "no",
        ),
    ],
)
def test_a_failure_leaves_nothing(
    source: Session, warehouse: Path, statement: str, error: type[Error], words: str
) -> None:
    """No table, no directory."""
    with pytest.raises(error, match=words):
        source.sql(statement)
    assert found(source, "t") is None
    assert not (warehouse / "t").exists()


def test_a_place_with_files_in_it(source: Session, warehouse: Path, tmp_path: Path) -> None:
    """They would become rows of the new table."""
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "file").write_text("1\n")
    with pytest.raises(BindError, match="10304"):
        source.sql(f"CREATE EXTERNAL TABLE t LOCATION '{tmp_path}/x' AS SELECT 1 AS one")
    (warehouse / "t").mkdir()
    (warehouse / "t" / "file").write_text("1\n")
    with pytest.raises(BindError, match="is not empty"):
        source.sql("CREATE TABLE t AS SELECT 1 AS one")
    assert (warehouse / "t" / "file").exists()


@pytest.mark.parametrize("kind", [ACID, "STORED AS PARQUET"])
def test_the_faster_session_has_the_name(
    source: Session, warehouse: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Without locks the slower one fails, or passes it over if that was said, and touches nothing of
    the other's; until the table has its rows nobody knows it.
    """
    with Session(warehouse, settings={"hive.support.concurrency": "false"}) as other:
        engine = source.engine
        write = engine.write

        def meanwhile(*given: Any) -> Any:
            assert found(other, "t") is None
            other.sql(f"CREATE TABLE t (id INT) {ACID}")
            other.sql("INSERT INTO t VALUES (9)")
            return write(*given)

        monkeypatch.setattr(engine, "write", meanwhile)
        with pytest.raises(AlreadyExistsError):
            source.sql(f"CREATE TABLE t {kind} AS SELECT id FROM s")
        other.sql("DROP TABLE t")
        done = source.sql(f"CREATE TABLE IF NOT EXISTS t {kind} AS SELECT id FROM s")
        assert done.stats.rows_inserted == 0
        assert rows(source, "SELECT * FROM t") == [(9,)]
        assert sorted(path.name for path in (warehouse / "t").iterdir()) == [
            "delta_0000001_0000001_0000"
        ]


def test_nobody_sees_half_of_it(
    source: Session, warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the files have their names the table is not in the catalog yet; a failure then takes
    them back.
    """
    seen = []

    def fail(point: str) -> None:
        if point == "files of new table in place":
            with Session(warehouse) as other:
                seen.append(
                    (found(other, "t"), (warehouse / "t" / "delta_0000001_0000001_0000").exists())
                )
            sys.exit("killed")

    monkeypatch.setattr(crash_points, "reached", fail)
    with pytest.raises(SystemExit):
        source.sql(f"CREATE TABLE t {ACID} AS SELECT id FROM s")
    assert seen == [(None, True)]
    assert found(source, "t") is None
    assert not (warehouse / "t").exists()
