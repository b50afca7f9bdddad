"""Binding of statements about tables, views and partitions, against a catalog that has some of
each.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from acidsql.catalog.model import (
    ConstraintKind,
    Database,
    FileFormat,
    Partition,
    SortColumn,
    Storage,
    Table,
    TableKind,
    TableName,
)
from acidsql.catalog.partitions import partition_name
from acidsql.errors import (
    AlreadyExistsError,
    BindError,
    ColumnNotFoundError,
    Error,
    TableNotFoundError,
)
from acidsql.metastore.embedded import EmbeddedMetastore
from acidsql.parser.parse import parse
from acidsql.planner.bind import Surroundings, bind
from acidsql.planner.bind.bound import BoundQuery, BoundStatement
from acidsql.planner.bind.bound_catalog import (
    BoundAddPartitions,
    BoundAlterTable,
    BoundCreateTable,
    BoundCreateView,
    BoundDescribe,
    BoundDropPartitions,
    BoundDropTable,
    BoundDropView,
    BoundRenamePartition,
    BoundRepairTable,
    BoundShowPartitions,
    BoundUnbuilt,
)
from acidsql.planner.bind.bound_transactions import BoundCompact
from acidsql.planner.bind.tables import unenforced, unreadable
from acidsql.settings import Settings

TABLES = (
    "CREATE TABLE t (id INT, name STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true')",
    "CREATE TABLE d2.t2 (id INT, note STRING) STORED AS ORC",
    "CREATE TABLE p (id INT) PARTITIONED BY (ds STRING, hr INT) STORED AS ORC TBLPROPERTIES ('transactional'='true')",
    "CREATE TABLE parent (id INT, code STRING, PRIMARY KEY (id) DISABLE) STORED AS ORC",
)
PARTITIONS = (("a", "1"), ("a", "10"), ("b", "2"), ("c", "__HIVE_DEFAULT_PARTITION__"))
Bind = Callable[[str], BoundStatement]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedMetastore]:
    """The tables above, four partitions of ``p`` and the views ``v`` and, on it, ``w``. Not to be
    changed.
    """
    store = EmbeddedMetastore(str(tmp_path_factory.mktemp("bind_ddl") / "warehouse"))
    run = binder(store)
    store.create_database(Database(name="d2", location=""))
    for ddl in TABLES:
        made = run(ddl)
        assert isinstance(made, BoundCreateTable)
        store.create_table(made.table)
    partitions = [
        Partition(values=values, location=f"/data/p{i}") for i, values in enumerate(PARTITIONS)
    ]
    store.add_partitions(TableName("default", "p"), partitions)
    t = store.find_table(TableName("default", "t"))
    assert t is not None
    for name, query in (
        ("v", "SELECT id AS a, name FROM t WHERE id > 1"),
        ("w", "SELECT a FROM v"),
    ):
        view = run(f"CREATE VIEW {name} AS {query}")
        assert isinstance(view, BoundCreateView)
        columns = tuple(
            replace(t.columns[0], name=column)
            for column in (("a", "name") if name == "v" else ("a",))
        )
        store.create_table(replace(view.view, columns=columns))
    yield store
    store.close()


@pytest.fixture
def store(filled: EmbeddedMetastore, tmp_path: Path) -> Iterator[EmbeddedMetastore]:
    """One with the same, for a test to change."""
    shutil.copytree(filled.warehouse, tmp_path / "warehouse")
    with EmbeddedMetastore(str(tmp_path / "warehouse")) as opened:
        yield opened


@pytest.fixture
def bound(request: pytest.FixtureRequest) -> Bind:
    """``bound(sql)`` binds against the catalog of the test, which is ``store`` if the test asks for
    one to change.
    """
    return binder(request.getfixturevalue("store" if "store" in request.fixturenames else "filled"))


def binder(store: EmbeddedMetastore, **settings: str) -> Bind:
    around = Surroundings(
        catalog=store,
        database="default",
        has_view=lambda name: name == "temporary",
        user="ann",
        now=1_700_000_000,
        settings=Settings(settings),
    )
    return lambda sql: bind(parse(sql), sql, around)


def refused(bound: Bind, sql: str, kind: type[Error] = BindError) -> Error:
    with pytest.raises(kind) as caught:
        bound(sql)
    return caught.value


def created(bound: Bind, sql: str) -> Table:
    made = bound(sql)
    assert isinstance(made, BoundCreateTable)
    return made.table


# ---- tables


def test_a_table_has_every_fact_of_its_definition(bound: Bind) -> None:
    """Columns, keys, buckets, sorting, skew, storage, properties, comment, owner and time."""
    table = created(
        bound,
        "CREATE TABLE x (Id INT COMMENT 'k', V STRING) COMMENT 'c' PARTITIONED BY (DS DATE) CLUSTERED BY (ID) SORTED BY (v DESC) INTO 2 BUCKETS"
        " SKEWED BY (v) ON ('a', -1) ROW FORMAT DELIMITED FIELDS TERMINATED BY ',' STORED AS TEXTFILE TBLPROPERTIES ('bucketing_version'='1')",
    )
    assert [(c.name, str(c.type), c.comment) for c in table.columns] == [
        ("id", "int", "k"),
        ("v", "string", None),
    ]
    assert [(c.name, str(c.type)) for c in table.partition_columns] == [("ds", "date")]
    assert table.bucketing is not None
    assert (table.bucketing.columns, table.bucketing.version) == (("id",), 1)
    assert table.bucketing.sorted_by == (SortColumn(name="v", descending=True),)
    assert table.skew is not None
    assert table.skew.values == (("a",), ("-1",))
    assert (table.file_format, table.comment, table.owner, table.created_at) == (
        FileFormat.TEXTFILE,
        "c",
        "ann",
        1_700_000_000,
    )
    assert isinstance(table.storage, Storage)
    assert table.storage.serde_properties == {"field.delim": ",", "serialization.format": ","}


def test_an_external_table_says_so_in_kind_and_property(bound: Bind) -> None:
    """Whichever way it is asked for; MANAGED overrules the property."""
    for sql in (
        "CREATE EXTERNAL TABLE x (a INT)",
        "CREATE TABLE x (a INT) TBLPROPERTIES ('EXTERNAL'='true')",
    ):
        table = created(bound, sql)
        assert (table.kind, table.properties["EXTERNAL"]) == (TableKind.EXTERNAL, "TRUE")
    table = created(bound, "CREATE MANAGED TABLE x (a INT) TBLPROPERTIES ('EXTERNAL'='true')")
    assert (table.kind, "EXTERNAL" in table.properties) == (TableKind.MANAGED, False)


def test_like_takes_the_shape_and_not_the_properties(bound: Bind, store: EmbeddedMetastore) -> None:
    """As in Hive: columns, keys, buckets and format; a view lends its columns only."""
    source = created(
        bound,
        "CREATE TABLE s (a INT NOT NULL COMMENT 'k', b INT) COMMENT 'c' PARTITIONED BY (ds INT) CLUSTERED BY (b) INTO 3 BUCKETS STORED AS PARQUET"
        " TBLPROPERTIES ('k'='v', 'bucketing_version'='1')",
    )
    store.create_table(source)
    copy = created(bound, "CREATE TABLE x LIKE s")
    for fact in ("columns", "partition_columns", "bucketing", "file_format", "storage"):
        assert getattr(copy, fact) == getattr(source, fact)
    assert (copy.comment, copy.constraints, copy.properties) == (
        None,
        (),
        {"bucketing_version": "1"},
    )
    assert copy.location.endswith("/x")
    of_view = created(bound, "CREATE TABLE x LIKE v STORED AS ORC")
    assert ([c.name for c in of_view.columns], of_view.kind, of_view.file_format) == (
        ["a", "name"],
        TableKind.MANAGED,
        FileFormat.ORC,
    )


def test_constraints_get_names_and_traits(bound: Bind) -> None:
    """Sorted by kind and name; without traits those Hive enforces are enabled, none is
    validated.
    """
    table = created(
        bound,
        "CREATE TABLE x (id INT NOT NULL, v INT NOT NULL DISABLE, w INT CONSTRAINT Positive CHECK (w > 0) NORELY,"
        " u INT REFERENCES parent (ID) DISABLE RELY)",
    )
    assert [
        (c.kind, c.name, c.columns, c.enabled, c.validated, c.rely) for c in table.constraints
    ] == [
        (ConstraintKind.FOREIGN_KEY, "fk_default_x_1", ("u",), False, False, True),
        (ConstraintKind.NOT_NULL, "nn_default_x_1", ("id",), True, False, True),
        (ConstraintKind.NOT_NULL, "nn_default_x_2", ("v",), False, False, False),
        (ConstraintKind.CHECK, "positive", ("w",), True, False, False),
    ]
    assert table.constraints[0].references == TableName("default", "parent")
    assert table.constraints[3].expression == "w > 0"


@pytest.mark.parametrize(
    ("column", "expression"),
    [
        ("INT", "5"),
        ("BIGINT", "-5"),
        ("STRING", "'x'"),
        ("STRING", "NULL"),
        ("DATE", "'2024-01-01'"),
        ("TIMESTAMP", "'1969-12-31 23:59:59.5'"),
        ("DATE", "current_date"),
        ("TIMESTAMP", "current_timestamp()"),
        ("STRING", "upper('x')"),
        ("DECIMAL(5,2)", "CAST('1.5' AS DECIMAL(5,2))"),
    ],
)
def test_a_default_is_a_constant_or_a_call(bound: Bind, column: str, expression: str) -> None:
    """Kept as the user wrote it."""
    (constraint,) = created(
        bound, f"CREATE TABLE x (id INT, v {column} DEFAULT {expression})"
    ).constraints
    assert constraint.expression == expression


@pytest.mark.parametrize(
    ("ddl", "reading", "writing"),
    [
        ("(a INT) STORED AS ORC", None, None),
        ("(a INT) STORED AS ORC TBLPROPERTIES ('transactional'='true')", None, None),
        ("(a INT)", None, None),
        ("(a INT) STORED AS PARQUET", None, None),
        ("(a INT) STORED AS AVRO", "a table stored as AVRO", None),
        ("(a INT) TBLPROPERTIES ('skip.header.line.count'='1')", None, "skip.header.line.count"),
        (
            "(a INT) TBLPROPERTIES ('skip.header.line.count'='one')",
            'text with "skip.header.line.count"="one"',
            None,
        ),
        (
            "(a INT) TBLPROPERTIES ('skip.footer.line.count'='1')",
            'text with "skip.footer.line.count"="1"',
            None,
        ),
        (
            "(a INT) ROW FORMAT DELIMITED FIELDS TERMINATED BY 'é'",
            'text with "field.delim"="é"',
            None,
        ),
        (
            "(a INT) ROW FORMAT DELIMITED FIELDS TERMINATED BY ',' ESCAPED BY ','",
            'text with "escape.delim"=","',
            None,
        ),
        ("(m MAP<ARRAY<INT>,INT>)", 'column "m" in text, whose keys are array<int>,', None),
        (
            f"(n {'ARRAY<' * 8}INT{'>' * 8})",
            'column "n" in text, which is nested too deeply,',
            None,
        ),
        ("(a INT) PARTITIONED BY (b INT) STORED AS ORC", None, None),
        (
            "(a INT) STORED AS ORC TBLPROPERTIES ('transactional'='true', 'transactional_properties'='insert_only')",
            None,
            None,
        ),
        ("(a INT) SKEWED BY (a) ON (1) STORED AS ORC", None, None),
        (
            "(a INT) SKEWED BY (a) ON (1) STORED AS DIRECTORIES STORED AS ORC",
            "a table stored as directories",
            None,
        ),
        ("(a INT) ROW FORMAT SERDE 'x' STORED AS ORC", "a table with classes of its own", None),
        ("(a INT NOT NULL DISABLE, UNIQUE (a) DISABLE) STORED AS ORC", None, None),
        ("(a INT DEFAULT 1, CHECK (a > 1)) STORED AS ORC", None, None),
        ("(a INT) CLUSTERED BY (a) SORTED BY (a) INTO 2 BUCKETS STORED AS ORC", None, "SORTED BY"),
    ],
)
def test_what_cannot_be_read_or_kept_is_known(
    bound: Bind, ddl: str, reading: str | None, writing: str | None
) -> None:
    """The words that say why a statement on such a table cannot run."""
    table = created(bound, f"CREATE TABLE x {ddl}")
    assert (unreadable(table), unenforced(table)) == (reading, writing)


# ---- views


def text_of(query: BoundStatement) -> str:
    assert isinstance(query, BoundQuery)
    return query.text.render([f"<{r.table.name}>" for r in query.reads])


def test_a_view_keeps_its_query_with_qualified_names(bound: Bind) -> None:
    """Sub-queries and other views included; names of common table expressions and columns stay as
    they are.
    """
    made = bound(
        "CREATE VIEW x AS WITH q AS (SELECT id FROM t) SELECT q.id, t2.note, default.t.name FROM q JOIN d2.t2 ON q.id = t2.id, t"
        " WHERE t.id IN (SELECT a FROM v)"
    )
    assert isinstance(made, BoundCreateView)
    assert made.view.view is not None
    assert made.view.view.expanded == (
        "WITH q AS (SELECT id FROM `default`.`t` AS `t`) SELECT q.id, t2.note, t.name FROM q JOIN `d2`.`t2` AS `t2` ON q.id = t2.id,"
        " `default`.`t` AS `t` WHERE t.id IN (SELECT a FROM `default`.`v` AS `v`)"
    )
    assert made.view.view.original.startswith("WITH q AS (SELECT id FROM t)")


def test_row_ids_are_hidden_from_a_star_when_the_view_is_read(bound: Bind) -> None:
    """What hides them is no part of the stored text."""
    made = bound("CREATE VIEW x AS SELECT ROW__ID.writeid AS w, * FROM t")
    assert isinstance(made, BoundCreateView)
    assert made.view.view is not None
    assert made.view.view.expanded == "SELECT ROW__ID.writeid AS w, * FROM `default`.`t` AS `t`"
    assert "EXCEPT" in text_of(made.query)


def test_reading_a_view_reads_its_tables(bound: Bind) -> None:
    """The view's query stands in brackets where its name stood, in any depth, under the alias the
    user gave.
    """
    assert text_of(bound("SELECT a FROM v WHERE a = 3")) == (
        "SELECT a FROM (SELECT id AS a, name FROM <default.t> AS `t` WHERE id > 1) AS `v` WHERE a = 3"
    )
    assert text_of(bound("SELECT x.a, t.id FROM default.w x JOIN t ON x.a = t.id")) == (
        "SELECT x.a, t.id FROM (SELECT a FROM (SELECT id AS a, name FROM <default.t> AS `t` WHERE id > 1) AS `v`) x"
        " JOIN <default.t> AS `t` ON x.a = t.id"
    )
    query = bound("SELECT * FROM t WHERE id IN (SELECT a FROM v)")
    assert isinstance(query, BoundQuery)
    assert [str(read.table.name) for read in query.reads] == ["default.t", "default.t"]
    assert str(query.reads[1].predicates[0]) == "id > 1"


def test_columns_of_a_view_are_checked(bound: Bind) -> None:
    """As those of a table; it has no ROW__ID."""
    error = refused(bound, "SELECT id FROM v", ColumnNotFoundError)
    assert error.message == 'column "id" does not exist in table "default.v"'
    refused(bound, "SELECT ROW__ID FROM v", ColumnNotFoundError)


def test_a_view_on_a_table_that_is_gone_says_so(bound: Bind, store: EmbeddedMetastore) -> None:
    """At the view's name, which is all the user's text has of it."""
    store.drop_table(TableName("default", "t"))
    error = refused(bound, "SELECT a FROM w", TableNotFoundError)
    assert str(error) == (
        "[Error 10001]: Table not found default.t\n  line 1: SELECT a FROM w\n                        ^\n"
        "detail: in the query of view default.w"
    )


@pytest.mark.parametrize(
    ("sql", "code", "message"),
    [
        ("DROP TABLE v", None, "Cannot drop a view with DROP TABLE"),
        (
            "ALTER TABLE v SET TBLPROPERTIES ('a'='b')",
            10131,
            "To alter a view you need to use the ALTER VIEW command.",
        ),
        (
            "LOAD DATA INPATH '/x' INTO TABLE v",
            10090,
            "A view cannot be used as target table for LOAD or INSERT: default.v",
        ),
        ("ANALYZE TABLE v COMPUTE STATISTICS", 10091, "ANALYZE is not supported for views"),
        ("TRUNCATE TABLE v", 10146, "Cannot truncate non-managed table default.v."),
        ("MSCK REPAIR TABLE v", None, "MSCK is not supported for views: default.v"),
        ("CREATE VIEW v AS SELECT 1 AS one", None, "Table default.v already exists"),
        (
            "CREATE OR REPLACE VIEW v AS SELECT a FROM v",
            None,
            "Recursive view default.v detected (cycle: default.v -> default.v)",
        ),
        (
            "CREATE VIEW x AS SELECT * FROM temporary",
            None,
            'a view cannot use "temporary", which only this session knows',
        ),
        (
            "INSERT INTO v VALUES (1, 'a')",
            10090,
            "A view cannot be used as target table for LOAD or INSERT: default.v",
        ),
        ("DELETE FROM v", 10402, "You cannot update or delete records in a view"),
        (
            "ALTER TABLE v COMPACT 'major'",
            10131,
            "To alter a view you need to use the ALTER VIEW command.",
        ),
    ],
)
def test_what_cannot_be_done_with_a_view(
    bound: Bind, sql: str, code: int | None, message: str
) -> None:
    """In Hive's words."""
    error = refused(bound, sql)
    assert (error.code, error.message) == (code, message)
    assert error.span is not None


def test_a_view_that_would_read_itself_in_a_circle_is_refused(bound: Bind) -> None:
    """Not only at first hand."""
    error = refused(bound, "CREATE OR REPLACE VIEW v AS SELECT a FROM w")
    assert (
        error.message
        == "Recursive view default.v detected (cycle: default.v -> default.w -> default.v)"
    )


def test_views_are_replaced_and_dropped(bound: Bind) -> None:
    """IF EXISTS and IF NOT EXISTS make nothing of what is missing or there."""
    replaced = bound("CREATE OR REPLACE VIEW w (b COMMENT 'c') AS SELECT id FROM t")
    assert isinstance(replaced, BoundCreateView)
    assert replaced.replaced is not None
    assert [(c.name, c.comment) for c in replaced.names] == [("b", "c")]
    kept = bound("CREATE VIEW IF NOT EXISTS w AS SELECT 1 AS one")
    assert isinstance(kept, BoundCreateView)
    assert kept.exists
    assert bound("DROP VIEW w") == BoundDropView(name=TableName("default", "w"))
    assert bound("DROP VIEW IF EXISTS nope") == BoundDropView(name=None)
    assert bound("DROP TABLE IF EXISTS nope") == BoundDropTable(name=None)
    # a table of that name there is not
    assert bound("DROP TABLE IF EXISTS v") == BoundDropTable(name=None)
    assert bound("DROP VIEW IF EXISTS t") == BoundDropView(name=None)


@pytest.mark.parametrize(
    ("sql", "code", "message"),
    [
        ("DROP TABLE nope", 10001, "Table not found default.nope"),
        ("DROP TABLE nowhere.nope", 10001, "Table not found nowhere.nope"),
        ("DROP VIEW nope", 10001, "Table not found default.nope"),
        ("ALTER TABLE p DROP PARTITION (hr > 10)", 10006, "Partition not found (hr > 10)"),
    ],
)
def test_what_does_not_exist_is_dropped_in_silence(
    filled: EmbeddedMetastore, sql: str, code: int, message: str
) -> None:
    """By default, as in Hive; an error in Hive's words where hive.exec.drop.ignorenonexistent is
    off.
    """
    assert binder(filled)(sql)
    strict = binder(filled, **{"hive.exec.drop.ignorenonexistent": "false"})
    error = refused(strict, sql)
    assert (error.code, error.message) == (code, message)
    assert error.span is not None


def test_the_setting_is_not_for_tables_of_partitions_nor_for_databases(bound: Bind) -> None:
    """As in Hive: ALTER TABLE needs its table, DROP DATABASE its database or IF EXISTS."""
    assert refused(bound, "ALTER TABLE nope DROP PARTITION (ds = 'x')").code == 10001
    assert refused(bound, "DROP DATABASE nope").code == 10072


# ---- ALTER TABLE and partitions


def test_properties_are_set_and_unset(bound: Bind) -> None:
    """The table that results is part of the plan, with the time of its change."""
    change = bound(
        "ALTER TABLE t SET TBLPROPERTIES ('K'='v', 'comment'='c', 'Transactional'='TRUE')"
    )
    assert isinstance(change, BoundAlterTable)
    added = {k: v for k, v in change.after.properties.items() if k not in change.before.properties}
    assert (added, change.after.comment) == ({"K": "v", "transient_lastDdlTime": "1700000000"}, "c")
    back = bound("ALTER TABLE t UNSET TBLPROPERTIES IF EXISTS ('K', 'orc.compress')")
    assert isinstance(back, BoundAlterTable)
    assert back.after.properties == {
        **back.before.properties,
        "transient_lastDdlTime": "1700000000",
    }
    outside = bound("ALTER TABLE d2.t2 SET TBLPROPERTIES ('EXTERNAL'='TRUE')")
    assert isinstance(outside, BoundAlterTable)
    assert outside.after.kind is TableKind.EXTERNAL


def shown_partitions(bound: Bind, clauses: str) -> list[tuple[str, ...]]:
    made = bound(f"SHOW PARTITIONS p {clauses}")
    assert isinstance(made, BoundShowPartitions)
    return [p.values for p in made.partitions[: made.limit]]


def test_partitions_are_filtered_ordered_and_cut(bound: Bind) -> None:
    """By name unless told; numbers as numbers; NULL first when ascending."""
    a1, a10, b2, c = PARTITIONS
    assert shown_partitions(bound, "") == [a1, a10, b2, c]
    assert shown_partitions(bound, "PARTITION (ds='a')") == [a1, a10]
    assert shown_partitions(bound, "PARTITION (hr=02)") == [b2]
    assert shown_partitions(bound, "ORDER BY hr") == [c, a1, b2, a10]
    assert shown_partitions(bound, "ORDER BY hr NULLS LAST") == [a1, b2, a10, c]
    assert shown_partitions(bound, "ORDER BY hr DESC") == [a10, b2, a1, c]
    assert shown_partitions(bound, "ORDER BY ds DESC, hr LIMIT 3") == [c, b2, a1]


def test_a_partition_is_described(bound: Bind) -> None:
    """The one the spec names in full."""
    made = bound("DESCRIBE FORMATTED p PARTITION (hr=10, ds='a')")
    assert isinstance(made, BoundDescribe)
    assert made.partition is not None
    assert made.partition.values == ("a", "10")


@pytest.mark.parametrize(
    ("sql", "code", "message"),
    [
        (
            "ALTER TABLE p ADD PARTITION (ds='a', hr=1)",
            10118,
            "Partition already exists: {ds=a, hr=1}",
        ),
        (
            "ALTER TABLE p PARTITION (ds='a', hr=1) RENAME TO PARTITION (ds='b', hr=2)",
            10118,
            "Partition already exists: {ds=b, hr=2}",
        ),
        (
            "ALTER TABLE p PARTITION (ds='a') COMPACT 'major'",
            10284,
            "Compaction can only be requested on one partition at a time.",
        ),
        (
            "ALTER TABLE p PARTITION (ds='x', hr=1) COMPACT 'major'",
            10006,
            "Partition not found {ds=x, hr=1}",
        ),
        (
            "ALTER TABLE p PARTITION (ds='a') SET LOCATION '/x'",
            10299,
            "Alter table partition type SET LOCATION does not allow partial partition spec",
        ),
        (
            "ALTER TABLE p PARTITION (ds='b') CONCATENATE",
            None,
            "default.p: partition spec {ds=b} doesn't contain all (2) partition columns",
        ),
        (
            "ALTER TABLE p DROP PARTITION (ds = 'c', hr < '__HIVE_DEFAULT_PARTITION__')",
            None,
            "Cannot use < in a default partition spec; only '=' and '!=' are allowed.",
        ),
    ],
)
def test_what_partitions_there_are_decides(
    bound: Bind, sql: str, code: int | None, message: str
) -> None:
    """Hive's code and words, with the place of the spec."""
    error = refused(bound, sql)
    assert (error.code, error.message) == (code, message)
    assert error.span is not None
    assert isinstance(error, AlreadyExistsError) == (code == 10118)


@pytest.mark.parametrize(
    ("condition", "count"),
    [
        ("hr < 3", 2),
        ("hr >= 2, ds <> 'a'", 1),
        ("ds > 'a'", 2),
        ("ds != 'b'", 3),
        ("hr <= 10", 3),
        ("ds = 'c'", 1),
        ("hr = '1'", 1),
        ("hr = '__HIVE_DEFAULT_PARTITION__'", 1),
        ("hr <> '__HIVE_DEFAULT_PARTITION__', ds >= 'a'", 3),
        ("hr != NULL", 3),
        ("ds = 'c', hr = NULL", 1),
    ],
)
def test_dropped_partitions_are_compared_by_type(bound: Bind, condition: str, count: int) -> None:
    """A number is not compared as text; NULL meets no condition but Hive's own words for it."""
    made = bound(f"ALTER TABLE p DROP PARTITION ({condition})")
    assert isinstance(made, BoundDropPartitions)
    assert len(made.partitions) == count
    assert made.facts[1][1].startswith(f"{count} with ")


def test_a_partition_is_dropped_once(bound: Bind) -> None:
    """However many of the specs name it; IF EXISTS takes a spec that names none."""
    made = bound(
        "ALTER TABLE p DROP IF EXISTS PARTITION (ds='a'), PARTITION (hr < 2), PARTITION (ds='q')"
    )
    assert isinstance(made, BoundDropPartitions)
    assert [p.values for p in made.partitions] == [("a", "1"), ("a", "10")]


def test_a_partition_to_compact_is_named(bound: Bind) -> None:
    """By all its columns; or all of the table are asked for."""
    made = bound("ALTER TABLE p PARTITION (ds='b', hr=2) COMPACT 'minor'")
    assert isinstance(made, BoundCompact)
    assert made.facts[0] == ("table", "default.p partition(ds=b/hr=2)")
    assert [p.values for p in made.partitions] == [("b", "2")]
    every = bound("ALTER TABLE p COMPACT 'minor'")
    assert isinstance(every, BoundCompact)
    assert (len(every.partitions), every.is_named) == (4, False)


def test_an_existing_partition_may_be_added_again_on_demand(bound: Bind) -> None:
    """IF NOT EXISTS says of each what there is."""
    made = bound(
        "ALTER TABLE p ADD IF NOT EXISTS PARTITION (ds='a', hr=1) PARTITION (ds='z', hr=1)"
    )
    assert isinstance(made, BoundAddPartitions)
    assert [p.values for p in made.partitions] == [("z", "1")]
    assert [value for _, value in made.facts] == [
        "default.p",
        "{ds=a, hr=1}, which exists",
        "{ds=z, hr=1}",
    ]


@pytest.mark.parametrize(
    ("types", "written", "kept"),
    [
        ("INT", "'01'", "1"),
        ("INT", "007", "7"),
        ("BIGINT", "' -5 '", "-5"),
        ("DECIMAL(5,2)", "'1.50'", "1.5"),
        ("DOUBLE", "1e7", "1.0E7"),
        ("BOOLEAN", "'TRUE'", "true"),
        ("DATE", "TIMESTAMP '2024-01-02 03:04:05'", "2024-01-02"),
        ("TIMESTAMP", "'2024-01-02 03:04:05.100'", "2024-01-02 03:04:05.1"),
        ("STRING", "DATE '2024-01-02'", "2024-01-02"),
        ("STRING", "'01'", "01"),
        ("STRING", "NULL", "__HIVE_DEFAULT_PARTITION__"),
        ("VARCHAR(2)", "'abc'", "ab"),
    ],
)
def test_a_new_partition_has_the_text_of_its_type(
    bound: Bind, store: EmbeddedMetastore, types: str, written: str, kept: str
) -> None:
    """However the value was written: its directory and name are Hive's, so nobody makes a second
    partition of it.
    """
    made = bound(f"CREATE TABLE q (id INT) PARTITIONED BY (k {types}) STORED AS ORC")
    assert isinstance(made, BoundCreateTable)
    stored = store.create_table(made.table)
    added = bound(f"ALTER TABLE q ADD PARTITION (k={written})")
    assert isinstance(added, BoundAddPartitions)
    (partition,) = added.partitions
    assert partition == Partition(
        values=(kept,),
        location=f"{stored.location}/{partition_name(['k'], [kept])}",
        created_at=1_700_000_000,
    )
    store.add_partitions(stored.name, added.partitions)
    assert (
        refused(bound, f"ALTER TABLE q ADD PARTITION (k={written})", AlreadyExistsError).code
        == 10118
    )


@pytest.mark.parametrize(
    ("types", "written"),
    [
        ("INT", "'one'"),
        ("TINYINT", "300"),
        ("DATE", "'2024-13-01'"),
        ("DECIMAL(5,2)", "99999"),
        ("BOOLEAN", "'yes'"),
    ],
)
def test_a_value_of_another_type_makes_no_partition(
    bound: Bind, store: EmbeddedMetastore, types: str, written: str
) -> None:
    """It is refused, and never taken for NULL."""
    made = bound(f"CREATE TABLE q (id INT) PARTITIONED BY (k {types}) STORED AS ORC")
    assert isinstance(made, BoundCreateTable)
    store.create_table(made.table)
    assert refused(bound, f"ALTER TABLE q ADD PARTITION (k={written})").code == 10248


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        (
            "ALTER TABLE p ADD PARTITION (ds='', hr=1)",
            "partition spec is invalid; field ds does not exist or is empty",
        ),
        (
            "ALTER TABLE p PARTITION (ds='b', hr=2) RENAME TO PARTITION (ds='', hr=2)",
            "partition spec is invalid; field ds does not exist or is empty",
        ),
        (
            "ALTER TABLE p ADD PARTITION (ds='z', hr=1) PARTITION (hr='01', ds='z')",
            "Duplicate partitions in the list: {ds=z, hr=1}",
        ),
        (
            "ALTER TABLE p ADD IF NOT EXISTS PARTITION (ds='a', hr=1) PARTITION (ds='a', hr=1)",
            "Duplicate partitions in the list: {ds=a, hr=1}",
        ),
    ],
)
def test_partitions_that_cannot_be_made(bound: Bind, sql: str, message: str) -> None:
    """An empty value would share the directory of NULL; one statement makes a partition once."""
    error = refused(bound, sql)
    assert error.message == message
    assert error.span is not None


def test_a_renamed_partition_moves_if_it_lies_where_its_name_says(
    bound: Bind, store: EmbeddedMetastore
) -> None:
    """One with a location of its own stays there."""
    p = store.find_table(TableName("default", "p"))
    assert p is not None
    store.add_partitions(p.name, [Partition(values=("m", "1"), location=f"{p.location}/ds=m/hr=1")])
    for old, location in (
        ("ds='m', hr=1", f"{p.location}/ds=n%3A/hr=7"),
        ("ds='b', hr=2", "/data/p2"),
    ):
        made = bound(f"ALTER TABLE p PARTITION ({old}) RENAME TO PARTITION (ds='n:', hr=7)")
        assert isinstance(made, BoundRenamePartition)
        assert (made.after.values, made.after.location) == (("n:", "7"), location)


@pytest.mark.parametrize(
    ("sql", "add", "drop"),
    [
        ("MSCK REPAIR TABLE p", True, False),
        ("MSCK REPAIR TABLE p ADD PARTITIONS", True, False),
        ("MSCK REPAIR TABLE p DROP PARTITIONS", False, True),
        ("MSCK REPAIR TABLE p SYNC PARTITIONS", True, True),
        ("MSCK TABLE p SYNC PARTITIONS", False, False),
    ],
)
def test_msck_repairs_what_it_is_asked_to(bound: Bind, sql: str, add: bool, drop: bool) -> None:
    """It adds where nothing is said; without REPAIR it only looks."""
    made = bound(sql)
    assert isinstance(made, BoundRepairTable)
    assert (made.add, made.drop) == (add, drop)


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("hr > 1", [("a", "10"), ("b", "2")]),
        ("p.hr > 1 AND ds LIKE 'b%'", [("b", "2")]),
        ("hr IS NULL OR ds = 'b'", [("b", "2"), ("c", "__HIVE_DEFAULT_PARTITION__")]),
        ("NOT (hr BETWEEN 2 AND 10)", [("a", "1")]),
        ("hr = '1' OR upper(ds) IN ('B', 'Q')", [("a", "1"), ("b", "2")]),
        ("ds = 'a' ORDER BY hr DESC LIMIT 1", [("a", "10")]),
        ("hr > 10", []),
    ],
)
def test_partitions_are_shown_by_their_values(
    bound: Bind, condition: str, found: list[tuple[str, ...]]
) -> None:
    """WHERE is judged as Spark judges it, before the order and the limit."""
    made = bound(f"SHOW PARTITIONS p WHERE {condition}")
    assert isinstance(made, BoundShowPartitions)
    assert [p.values for p in made.partitions[: made.limit]] == found
    assert made.undecided == ()


def test_what_only_spark_can_tell_of_partitions_is_left_to_it(bound: Bind) -> None:
    """With those that may yet be shown, in order; the limit counts what is left."""
    condition = "regexp_extract(ds, '[ab]', 0) <> ''"
    made = bound(f"SHOW PARTITIONS p WHERE p.hr < 5 AND {condition} ORDER BY hr DESC LIMIT 1")
    assert isinstance(made, BoundShowPartitions)
    assert [p.values for p in made.partitions] == [
        ("b", "2"),
        ("a", "1"),
        ("c", "__HIVE_DEFAULT_PARTITION__"),
    ]
    assert (made.undecided, made.limit) == ((f"`hr` < 5 AND {condition.replace('ds', '`ds`')}",), 1)
    today = bound("SHOW PARTITIONS p WHERE ds < cast(current_date() AS STRING)")
    assert isinstance(today, BoundShowPartitions)
    assert today.undecided == ("`ds` < cast(current_date() AS STRING)",)


@pytest.mark.parametrize(
    "condition", ["rand() < 0.5", "hr > (SELECT 1)", "ds > 'a' AND rand() < 1"]
)
def test_partitions_are_not_shown_by_a_guess(bound: Bind, condition: str) -> None:
    """Where values alone do not tell, the statement says so."""
    made = bound(f"SHOW PARTITIONS p WHERE {condition}")
    assert isinstance(made, BoundUnbuilt)
    assert dict(made.facts)["where"] == condition
