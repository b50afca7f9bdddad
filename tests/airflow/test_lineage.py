"""Lineage is told by what was bound; it needs no Airflow."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from acidsql.airflow.lineage import Lineage, lineage_of, namespace_of
from acidsql.parser.parse import parse
from acidsql.plan.plans import plan
from acidsql.planner.bind import Surroundings, bind
from acidsql.session import Session

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """A session with tables a, b (partitioned), sales.c and a view of b."""
    with Session(str(tmp_path_factory.mktemp("lineage"))) as session:
        session.sql(f"CREATE TABLE a (id INT, name STRING, v INT) {ACID}")
        session.sql(f"CREATE TABLE b (id INT, w STRING) PARTITIONED BY (d STRING) {ACID}")
        session.sql("CREATE DATABASE sales")
        session.sql(f"CREATE TABLE sales.c (ID INT, `odd name` STRING) {ACID}")
        session.sql("CREATE VIEW v AS SELECT id AS i, concat(w, d) AS t FROM b")
        yield session


def lineage(session: Session, text: str) -> Lineage:
    _, plan = session._spine.plan(text)
    return lineage_of([plan])


def test_tables_of_other_catalogs_are_inputs(catalog: Session) -> None:
    """They are told by their names; nothing is said of their columns."""
    for text in (
        "INSERT INTO a SELECT * FROM ice.shop.o VERSION AS OF 3 JOIN ice.shop.o x USING (id)",
        "MERGE INTO a USING ice.shop.o s ON a.id = s.id WHEN MATCHED THEN DELETE",
        "CREATE TABLE n AS SELECT id FROM ice.shop.o",
    ):
        around = Surroundings(
            catalog=catalog.store, database="default", has_foreign=lambda table: True
        )
        told = lineage_of([plan(bind(parse(text), text, around), catalog.settings)])
        assert list(map(str, told.foreign)) == ["ice.shop.o"]
        assert told.columns == {}


def columns(told: Lineage) -> dict[str, str]:
    """What each column is made of, as text."""
    return {
        f"{table}.{column}": " ".join(sorted(f"{one[0]}.{one[1]}" for one in sources))
        for (table, column), sources in told.columns.items()
    }


@pytest.mark.parametrize(
    ("text", "inputs", "output", "made"),
    [
        (
            "INSERT INTO b PARTITION (d) SELECT a.id, upper(x.name), 'p' FROM a JOIN a x ON a.id = x.id ORDER BY a.id",
            "default.a",
            "default.b",
            {"id": "default.a.id", "w": "default.a.name", "d": ""},
        ),
        (
            "INSERT INTO b PARTITION (d='p') SELECT id, `odd name` FROM sales.c",
            "sales.c",
            "default.b",
            {"id": "sales.c.id", "w": "sales.c.odd name"},
        ),
        (
            "INSERT INTO a (v, id) SELECT count(*), id FROM b GROUP BY id",
            "default.b",
            "default.a",
            {"v": "", "id": "default.b.id"},
        ),
        (
            "INSERT INTO a SELECT t.*, 3 FROM (SELECT id, w FROM b) t",
            "default.b",
            "default.a",
            {"id": "default.b.id", "name": "default.b.w", "v": ""},
        ),
        (
            "WITH q AS (SELECT id, w, d FROM b) INSERT INTO a SELECT id, concat(w, d), id FROM q",
            "default.b",
            "default.a",
            {"id": "default.b.id", "name": "default.b.d default.b.w", "v": "default.b.id"},
        ),
        (
            "INSERT INTO a SELECT id, name, v FROM a UNION ALL SELECT id, w, 3 FROM b",
            "default.a default.b",
            "default.a",
            {
                "id": "default.a.id default.b.id",
                "name": "default.a.name default.b.w",
                "v": "default.a.v",
            },
        ),
        (
            "INSERT INTO a SELECT id, (SELECT max(w) FROM b), 1 FROM a",
            "default.a default.b",
            "default.a",
            {"id": "default.a.id", "name": "default.b.w", "v": ""},
        ),
        (
            "INSERT INTO a SELECT i, t, 1 FROM v",
            "default.b",
            "default.a",
            {"id": "default.b.id", "name": "default.b.d default.b.w", "v": ""},
        ),
        (
            "UPDATE a SET name = concat(name, v) WHERE id = 1",
            "default.a",
            "default.a",
            {"name": "default.a.name default.a.v"},
        ),
        ("DELETE FROM a WHERE id IN (SELECT id FROM b)", "default.a default.b", "default.a", {}),
        ("INSERT INTO a VALUES (1, 'a', 2)", "", "default.a", {}),
        (
            "MERGE INTO a t USING (SELECT id, w FROM b WHERE d = 'p') s ON t.id = s.id"
            " WHEN MATCHED THEN UPDATE SET name = s.w, v = t.v + 1"
            " WHEN NOT MATCHED THEN INSERT VALUES (s.id, lower(s.w), 1)",
            "default.a default.b",
            "default.a",
            {"name": "default.b.w", "v": "default.a.v", "id": "default.b.id"},
        ),
        ("SELECT id FROM a", "default.a", "", {}),
        (
            "CREATE TABLE z AS SELECT * FROM b",
            "default.b",
            "default.z",
            {"id": "default.b.id", "w": "default.b.w", "d": "default.b.d"},
        ),
        (
            f"CREATE TABLE z {ACID} AS SELECT x.ID AS Key, t.*, count(*), concat(x.name, w) AS both"
            " FROM a x JOIN (SELECT id AS i, w FROM b) t ON x.id = t.i GROUP BY x.id, t.i, t.w, x.name",
            "default.a default.b",
            "default.z",
            {
                "key": "default.a.id",
                "i": "default.b.id",
                "w": "default.b.w",
                "both": "default.a.name default.b.w",
            },
        ),
        (
            "CREATE TABLE z AS SELECT id AS i, name FROM a UNION ALL SELECT id, w FROM b ORDER BY i",
            "default.a default.b",
            "default.z",
            {"i": "default.a.id default.b.id", "name": "default.a.name default.b.w"},
        ),
        (
            "INSERT INTO a SELECT x.*, b.id FROM sales.c x JOIN b ON x.ROW__ID.writeid = b.id",
            "default.b sales.c",
            "default.a",
            {"id": "sales.c.id", "name": "sales.c.odd name", "v": "default.b.id"},
        ),
        ("CREATE TABLE z AS SELECT 1 AS one", "", "default.z", {"one": ""}),
        ("EXPLAIN INSERT INTO a SELECT id, w, 1 FROM b", "", "", {}),
        ("SHOW TABLES", "", "", {}),
    ],
)
def test_what_a_statement_reads_and_writes(
    catalog: Session, text: str, inputs: str, output: str, made: dict[str, str]
) -> None:
    """Tables by their whole names; for each column that is written what it is made of."""
    told = lineage(catalog, text)
    assert sorted(told.inputs) == inputs.split()
    assert list(told.outputs) == output.split()
    assert columns(told) == {f"{output}.{name}": sources for name, sources in made.items()}


def test_several_targets(catalog: Session) -> None:
    """A multi-insert has several, and so have several statements of one task."""
    told = lineage(
        catalog,
        "FROM b INSERT INTO a SELECT id, w, 1 INSERT INTO sales.c SELECT id, d",
    )
    assert (list(told.inputs), sorted(told.outputs)) == (["default.b"], ["default.a", "sales.c"])
    assert columns(told)["sales.c.odd name"] == "default.b.d"
    assert columns(told)["default.a.name"] == "default.b.w"


@pytest.mark.parametrize(
    ("warehouse", "namespace"),
    [("/srv/wh", "file:///srv/wh"), ("s3a://lake/wh", "s3a://lake/wh")],
)
def test_the_namespace_is_the_warehouse(warehouse: str, namespace: str) -> None:
    """So that tables of two warehouses are not taken for one."""
    assert namespace_of(warehouse) == namespace


def test_a_table_that_another_session_was_first_to_make(catalog: Session) -> None:
    """CREATE TABLE IF NOT EXISTS .. AS has then read and written nothing, whatever it had planned."""
    text = f"CREATE TABLE IF NOT EXISTS first {ACID} AS SELECT id FROM a"
    source, plan = catalog._spine.plan(text)
    assert list(lineage_of([plan]).outputs) == ["default.first"]
    with catalog.open_beside() as other:
        other.sql(f"CREATE TABLE first (id INT) {ACID}")
    done = catalog._spine.run(plan, source).plan
    assert done is not None
    told = lineage_of([done])
    assert (told.inputs, told.outputs, told.columns) == ({}, {}, {})
