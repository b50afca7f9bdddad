"""MERGE: the same rows as a row-at-a-time interpreter leaves, on every way, for every
layout.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from acidsql.errors import CardinalityError, Error
from acidsql.plan.merge_sql import whole_query
from acidsql.plan.plans import MergePlan
from acidsql.planner.bind.bound import BoundQuery
from acidsql.run.spark import merge
from acidsql.session import Session
from acidsql.spark import jvm
from tests.lengths import seeds
from tests.session.rows.merge_model import JOINS, Row, merged, random_clauses, random_row
from tests.session.rows.ways import WAYS, take

pytestmark = pytest.mark.spark

COLUMNS = "(id INT, n INT, s STRING)"
ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
LAYOUTS = {
    "plain": "(id INT, n INT, s STRING, p STRING)",
    "bucketed": "(id INT, n INT, s STRING, p STRING) CLUSTERED BY (id) INTO 3 BUCKETS",
    "partitioned": "(id INT, n INT, s STRING) PARTITIONED BY (p STRING)",
    "partitioned and bucketed": "(id INT, n INT, s STRING) PARTITIONED BY (p STRING) CLUSTERED BY (id) INTO 2 BUCKETS",
}
CONVERTED = "TBLPROPERTIES ('bucketing_version'='1')"


def literal(row: Row) -> str:
    return (
        "("
        + ", ".join(
            "NULL" if v is None else f"'{v}'" if isinstance(v, str) else str(v) for v in row
        )
        + ")"
    )


def fill(session: Session, table: str, rows: list[Row], chance: random.Random) -> None:
    """In one to three INSERTs, so that there are several deltas, and in each partition rows of the
    same ids.
    """
    parts = chance.randrange(1, 4)
    for part in range(parts):
        mine = rows[part::parts]
        if mine:
            session.sql(f"INSERT INTO {table} VALUES {', '.join(map(literal, mine))}")


def rows_of(session: Session, table: str) -> Counter[Row]:
    return Counter(session.sql(f"SELECT * FROM {table}").rows())


def make_target(session: Session, layout: str, rows: list[Row], chance: random.Random) -> None:
    """Transactional from the beginning, or since its first rows were there."""
    converted = chance.random() < 0.3
    session.sql(
        f"CREATE TABLE t {LAYOUTS[layout]} {f'STORED AS ORC {CONVERTED}' if converted else ACID}"
    )
    half = len(rows) // 2 if converted else len(rows)
    fill(session, "t", rows[:half], chance)
    if converted:
        session.sql("ALTER TABLE t SET TBLPROPERTIES ('transactional'='true')")
    fill(session, "t", rows[half:], chance)


def check_against_model(session: Session, seed: int, way: str) -> None:
    chance = random.Random(seed)
    target = [random_row(chance) for _ in range(chance.randrange(12))]
    source = [random_row(chance) for _ in range(chance.randrange(8))]
    layout = chance.choice(list(LAYOUTS))
    session.sql(f"CREATE TABLE s {LAYOUTS['plain']} STORED AS ORC")
    make_target(session, layout, target, chance)
    fill(session, "s", source, chance)
    if chance.random() < 0.5:
        session.sql("DELETE FROM t WHERE n = 7")
        target = [row for row in target if row[1] != 7]
    take(session, way)
    join, clauses = chance.choice(JOINS), random_clauses(chance)
    text = f"MERGE INTO t USING s ON {join.sql}\n" + "\n".join(c.sql() for c in clauses)
    expected = merged(target, source, join, clauses)
    note = f"seed {seed}, {layout}\n{text}\ntarget {target}\nsource {source}"
    if expected is None:
        with pytest.raises(CardinalityError):
            session.sql(text)
        assert rows_of(session, "t") == Counter(target), note
    else:
        session.sql(text)
        assert rows_of(session, "t") == expected, note
    take(session, "local")
    session.sql("DROP TABLE t")
    session.sql("DROP TABLE s")


@pytest.mark.parametrize("way", list(WAYS))
def test_merge_does_what_the_model_does(session: Session, way: str) -> None:
    """Random targets, sources, conditions and clause lists: the same rows, or the same refusal with
    nothing changed.
    """
    for seed in range(3):
        check_against_model(session, seed, way)


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("way", list(WAYS))
def test_merge_does_what_the_model_does_at_length(session: Session, way: str) -> None:
    """The same, many more."""
    for seed in seeds(1, 60):
        check_against_model(session, seed, way)


@pytest.mark.parametrize("way", ["small", "big"])
def test_a_source_is_read_once(session: Session, way: str) -> None:
    """Random numbers drawn by the source are the same for the match and for the new row."""
    session.sql(f"CREATE TABLE t {COLUMNS} {ACID}")
    session.sql("INSERT INTO t VALUES (1, 0, 'a'), (2, 0, 'b')")
    take(session, way)
    source = "(SELECT CAST(floor(rand() * 4) AS INT) AS id, id AS k FROM range(40))"
    session.sql("SET hive.merge.cardinality.check=false")
    session.sql(
        f"MERGE INTO t USING {source} s ON t.id = s.id WHEN MATCHED THEN UPDATE SET n = s.id WHEN NOT MATCHED THEN INSERT VALUES (s.id, -1, 'new')"
    )
    rows = rows_of(session, "t")
    assert all(row[0] == row[1] for row in rows if row[2] != "new" and row[1] != 0)
    assert not [row for row in rows if row[2] == "new" and row[0] in (1, 2)]
    session.sql("SET hive.merge.cardinality.check=true")


@pytest.mark.parametrize("way", list(WAYS))
def test_without_the_cardinality_check_one_change_wins(session: Session, way: str) -> None:
    """Two source rows for one target row: exactly one delete event and one new row come of it."""
    session.sql(f"CREATE TABLE t {COLUMNS} {ACID}")
    session.sql("INSERT INTO t VALUES (1, 0, 'a'), (2, 0, 'b')")
    take(session, way)
    session.sql("SET hive.merge.cardinality.check=false")
    source = "(SELECT 1 AS id, 5 AS n UNION ALL SELECT 1, 6)"
    stats = session.sql(
        f"MERGE INTO t USING {source} s ON t.id = s.id WHEN MATCHED THEN UPDATE SET n = s.n"
    ).stats
    assert stats.rows_updated == 1
    left = rows_of(session, "t")
    assert left in (Counter([(1, 5, "a"), (2, 0, "b")]), Counter([(1, 6, "a"), (2, 0, "b")]))
    session.sql("SET hive.merge.cardinality.check=true")


@pytest.mark.parametrize("way", list(WAYS))
@pytest.mark.parametrize("update", ["", "WHEN MATCHED THEN UPDATE SET e = s.e"])
def test_nothing_matches_where_values_would_be_copied(
    session: Session, way: str, update: str
) -> None:
    """A first clause that inserts what is no copy, and one that copies into no row at all."""
    session.sql(f"CREATE TABLE t (k BIGINT, d DECIMAL(38,20), e STRING) {ACID}")
    session.sql(f"CREATE TABLE u (k BIGINT, b BOOLEAN, e STRING) {ACID}")
    session.sql("INSERT INTO t VALUES (1, 1.5, 'a')")
    session.sql("INSERT INTO u VALUES (2, true, 'b')")
    take(session, way)
    merge = "MERGE INTO t USING u s ON t.k = s.k"
    insert = "WHEN NOT MATCHED THEN INSERT VALUES (s.k, s.b, s.e)"
    session.sql(f"{merge} {insert} {update}")
    assert rows_of(session, "t") == Counter([(1, Decimal("1.5"), "a"), (2, Decimal(1), "b")])


def test_a_violation_names_the_rows_hit(session: Session) -> None:
    """How many rows of the target are hit twice, and the first of them; nothing is changed."""
    session.sql(f"CREATE TABLE t {COLUMNS} {ACID}")
    session.sql("INSERT INTO t VALUES (1, 0, 'a'), (2, 0, 'b'), (3, 0, 'c')")
    with pytest.raises(CardinalityError) as failed:
        session.sql(
            "MERGE INTO t USING (SELECT stack(5, 1, 1, 2, 2, 3) AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE"
        )
    # Hive's words
    assert failed.value.message == "Cardinality Violation in Merge statement: [1, 536870912, 0]"
    assert (
        failed.value.detail
        == "2 rows of the target, this one first, would be changed by more than one row of the source:"
        " the row with id = 1 by 2 of them"
    )
    assert sum(rows_of(session, "t").values()) == 3


def test_two_matches_name_a_key_called_as_an_id_field(warehouse: Path) -> None:
    """A column `bucket` is told from the field of that name in the rows' ids."""
    with Session(warehouse, settings={"acidsql.engine": "local"}) as session:
        session.sql(f"CREATE TABLE t (bucket INT, rowId INT, v INT) {ACID}")
        session.sql("INSERT INTO t VALUES (7, 1, 0), (8, 2, 0)")
        with pytest.raises(CardinalityError) as caught:
            session.sql(
                "MERGE INTO t USING (VALUES (7, 1), (7, 2)) s(k, n) ON t.bucket = s.k"
                " WHEN MATCHED THEN UPDATE SET v = s.n"
            )
    assert caught.value.detail is not None
    assert "the row with bucket = 7" in caught.value.detail


def test_sources_of_every_kind(spark: SparkSession, warehouse: Path, tmp_path: Path) -> None:
    """A temporary view of the session handed in, a file, a query with a common table expression,
    the target itself, a view.
    """
    jvm.frame_of(spark, pa.table({"id": [1, 9], "n": [7, 7]})).createOrReplaceTempView(
        "merge_source"
    )
    spark.table("merge_source").write.parquet(f"{tmp_path}/source")
    session = Session(warehouse, spark=spark)
    session.sql(f"CREATE TABLE t {COLUMNS} {ACID}")
    session.sql("INSERT INTO t VALUES (1, 0, 'a'), (2, 0, 'b')")
    action = "WHEN MATCHED THEN UPDATE SET n = t.n + s.n WHEN NOT MATCHED THEN INSERT (id, n) VALUES (s.id, s.n)"
    for source in (
        "merge_source s",
        f"parquet.`{tmp_path}/source` AS s",
        "(WITH q AS (SELECT * FROM merge_source) SELECT * FROM q) s",
        "t s",
    ):
        session.sql(f"MERGE INTO t USING {source} ON t.id = s.id {action}")
    assert rows_of(session, "t") == Counter([(1, 42, "a"), (2, 0, "b"), (9, 42, None)])
    session.sql("CREATE VIEW few AS SELECT id, n + 1 AS n FROM t WHERE id > 1")
    session.sql("MERGE INTO t USING few ON t.id = few.id WHEN MATCHED THEN UPDATE SET n = few.n")
    session.sql(
        "MERGE INTO t USING few AS s ON t.id = s.id + 1 WHEN NOT MATCHED AND s.id = 9 THEN INSERT (id) VALUES (s.id + 1)"
    )
    assert rows_of(session, "t") == Counter(
        [(1, 42, "a"), (2, 1, "b"), (9, 43, None), (10, None, None)]
    )
    session.close()
    spark.catalog.dropTempView("merge_source")


@pytest.mark.parametrize("way", list(WAYS))
def test_values_of_every_kind_pass_through_the_source(session: Session, way: str) -> None:
    """Dates, timestamps, decimals, binary, nested values and NULLs of a source arrive
    as they are.
    """
    columns = "id INT, d DATE, at TIMESTAMP, m DECIMAL(20,4), b BINARY, a ARRAY<INT>, p MAP<STRING,INT>, o STRUCT<x:INT,y:STRING>, c CHAR(4)"
    session.sql(f"CREATE TABLE t ({columns}) {ACID}")
    session.sql(f"CREATE TABLE s ({columns}) STORED AS ORC")
    session.sql(
        "INSERT INTO s SELECT 1, DATE '1969-05-01', TIMESTAMP '1965-01-01 10:00:00.25', 1234567890.1234, X'00FF', array(1, NULL), "
        "map('k', 1), named_struct('x', 1, 'y', NULL), 'ab' UNION ALL SELECT 2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL"
    )
    take(session, way)
    names = [column.split()[0] for column in columns.split(", ")]
    values = ", ".join(f"s.{name}" for name in names)
    sets = ", ".join(f"{name} = s.{name}" for name in names[1:])
    text = f"MERGE INTO t USING s ON t.id = s.id WHEN NOT MATCHED THEN INSERT VALUES ({values}) WHEN MATCHED THEN UPDATE SET {sets}"
    for _ in range(2):
        session.sql(text)
        assert sorted(map(str, session.sql("SELECT * FROM t").rows())) == sorted(
            map(str, session.sql("SELECT * FROM s").rows())
        )


@pytest.fixture(scope="module")
def sources(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, DataFrame]:
    """The same rows in files, and in memory of Java's."""
    rows = [(1, 10), (2, 20), (40, 40), (41, 41), (None, 50)]
    kept = spark.createDataFrame(spark.sparkContext.parallelize(rows), "id INT, n INT")
    path = str(tmp_path_factory.mktemp("sources") / "files")
    kept.write.parquet(path)
    return {"files": spark.read.parquet(path), "rdd": kept}


@pytest.mark.classic
@pytest.mark.parametrize(
    ("source", "clauses", "filtered"),
    [
        (
            "files",
            "WHEN MATCHED THEN UPDATE SET n = s.n WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.n, 'new', 'b')",
            True,
        ),
        ("files", "WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.n, 'new', 'b')", True),
        (
            "(SELECT id, n FROM files WHERE n < 40)",
            "WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.n, 'new', 'b')",
            True,
        ),
        ("files", "WHEN MATCHED THEN UPDATE SET n = s.n", False),
        (
            "files",
            "WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.n, 'new', 'b') WHEN NOT MATCHED BY SOURCE THEN DELETE",
            False,
        ),
        (
            "(SELECT id, n FROM files WHERE coalesce(rand() + id >= id, TRUE))",
            "WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.n, 'new', 'b')",
            False,
        ),
        (
            "(SELECT id, n FROM files LIMIT 5)",
            "WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.n, 'new', 'b')",
            False,
        ),
        (
            "(SELECT id, max(n) AS n FROM files GROUP BY id)",
            "WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.n, 'new', 'b')",
            False,
        ),
        ("rdd", "WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.n, 'new', 'b')", False),
    ],
)
def test_the_target_is_filtered_by_keys(
    spark: SparkSession,
    warehouse: Path,
    sources: Mapping[str, DataFrame],
    monkeypatch: pytest.MonkeyPatch,
    source: str,
    clauses: str,
    filtered: bool,
) -> None:
    """Before the join of the big path, if the source has the same rows when it is read again; the
    result is the same.
    """
    for view, frame in sources.items():
        frame.createOrReplaceTempView(view)
    seen: list[bool] = []

    def noted(plan: MergePlan, *, source_view: str | None = None) -> BoundQuery:
        seen.append(source_view is not None)
        return whole_query(plan, source_view=source_view)

    monkeypatch.setattr(merge, "whole_query", noted)
    with Session(warehouse, spark=spark) as session:
        for table, way in (("here", "small"), ("there", "big")):
            session.sql(f"CREATE TABLE {table} {LAYOUTS['partitioned']} {ACID}")
            session.sql(
                f"INSERT INTO {table} VALUES (1, 1, 'a', 'a'), (2, 2, 'b', 'a'), (3, 3, 'c', 'b'), (NULL, 4, 'd', 'b')"
            )
            take(session, way)
            session.sql(
                f"MERGE INTO {table} t USING {source} s ON t.id = s.id AND t.n < 5 {clauses}"
            )
        assert rows_of(session, "here") == rows_of(session, "there")
    for view in sources:
        spark.catalog.dropTempView(view)
    assert seen == [filtered]


def test_a_source_with_two_columns_of_one_name(session: Session) -> None:
    """The name may stand twice as long as nobody uses it."""
    session.sql(f"CREATE TABLE t {COLUMNS} {ACID}")
    session.sql("INSERT INTO t VALUES (1, 0, 'a')")
    source = "(SELECT id, id AS n, 1 AS x, 2 AS x FROM VALUES (1), (2) AS v(id))"
    session.sql(
        f"MERGE INTO t USING {source} s ON t.id = s.id WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)"
    )
    assert rows_of(session, "t") == Counter([(2, None, None)])


def test_an_error_of_a_clause_names_it(session: Session) -> None:
    """Spark's words and the user's place, though the clause was looked at without the target."""
    session.sql(f"CREATE TABLE t (id INT, n INT) {ACID}")
    session.sql("CREATE TABLE s (id INT, b BINARY) STORED AS ORC")
    session.sql("INSERT INTO s VALUES (1, 'x')")
    condition = "IN ('x', 'y')"
    merge = f"MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (s.id, IF(s.b {condition}, 1, 2))"
    with pytest.raises(Error) as caught:
        session.sql(merge)
    assert "data type mismatch" in caught.value.message
    span = caught.value.span
    assert span is not None
    assert span.start == merge.index(condition)


def test_a_failing_clause_changes_nothing(session: Session, warehouse: Path) -> None:
    """An error in the middle leaves the table as it was, and no directory."""
    session.sql(f"CREATE TABLE t {COLUMNS} {ACID}")
    session.sql("INSERT INTO t VALUES (1, 0, 'a')")
    before = sorted(path.name for path in (warehouse / "t").iterdir())
    with pytest.raises(Error):
        session.sql(
            "MERGE INTO t USING (SELECT 1 AS id UNION ALL SELECT 5) s ON t.id = s.id WHEN MATCHED THEN DELETE "
            "WHEN NOT MATCHED THEN INSERT (id) VALUES (CAST(raise_error('no') AS INT))"
        )
    assert rows_of(session, "t") == Counter([(1, 0, "a")])
    assert sorted(path.name for path in (warehouse / "t").iterdir()) == before


@pytest.mark.parametrize("path", ["small", "big"])
def test_conditions_are_asked_of_pairs_alone(
    path: str, tmp_path: Path, spark: SparkSession
) -> None:
    """A condition that fails on rows of the target without a match is no error of ANSI's."""
    settings = {"acidsql.engine": "spark", "acidsql.write.path": path, "acidsql.ansi": "true"}
    with Session(tmp_path / "w", spark=spark, settings=settings) as session:
        session.sql(
            "CREATE TABLE t (id INT, b BIGINT, u STRING, n INT)"
            " STORED AS ORC TBLPROPERTIES ('transactional'='true')"
        )
        session.sql("INSERT INTO t VALUES (1, 5, '5', 0), (2, 5, 'no number', 0), (3, 5, '7', 0)")
        merge = (
            "MERGE INTO t USING (SELECT explode(array(1, 3)) AS sid) s ON t.id = s.sid"
            " WHEN MATCHED AND b <> u THEN UPDATE SET n = 9"
        )
        assert session.sql(merge).stats.rows_updated == 1
