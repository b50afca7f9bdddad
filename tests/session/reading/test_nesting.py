"""A statement of any depth runs, or is refused with the place where it is too deep."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException

from acidsql.catalog.model import Table, TableName
from acidsql.dbapi import Connection
from acidsql.errors import Error, InternalError, NestingError
from acidsql.session import Session
from tests.lengths import SEED, times

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
SHAPES = {
    "query": "SELECT {abs} FROM t",
    "brackets": "SELECT {brackets} FROM t",
    "CASE": "SELECT {case} FROM t",
    "sub-queries": "SELECT * FROM {queries}",
    "scalar sub-queries": "SELECT {scalar} FROM t",
    "IN": "SELECT a FROM t WHERE {in}",
    "casts": "SELECT {cast} FROM t",
    "INSERT VALUES": "INSERT INTO t VALUES ({abs})",
    "literals": "INSERT INTO t VALUES ({brackets})",
    "nested values": "INSERT INTO n SELECT {array}",
    "INSERT SELECT": "INSERT INTO t SELECT {abs} FROM t",
    "UPDATE": "UPDATE t SET a = {abs} WHERE {brackets} = 1",
    "DELETE": "DELETE FROM t WHERE {abs} > 3",
    "partitions": "SELECT a FROM p WHERE {day} > 3",
    "partitions by DELETE": "DELETE FROM p WHERE {day} > 3",
    "MERGE": "MERGE INTO t USING (SELECT 1 AS k) x ON t.a = {k} WHEN MATCHED THEN UPDATE SET a = {abs}",
    "CREATE VIEW": "CREATE VIEW v AS SELECT {abs} AS q FROM t",
    "CREATE TABLE AS": f"CREATE TABLE u {ACID} AS SELECT {{abs}} AS q FROM t",
    "CHECK": f"CREATE TABLE c (a INT CHECK ({{abs}} > 0)) {ACID}",
    "DEFAULT": f"CREATE TABLE d (a INT DEFAULT {{one}}) {ACID}",
    "DRY RUN": "DRY RUN UPDATE t SET a = {abs}",
}
CHAINS = {
    "sum": "SELECT a FROM t WHERE a {} > 1|+ a",
    "sum of partition columns": "SELECT a FROM p WHERE d {} > 1|+ d",
    "AND": "DELETE FROM t WHERE a = 1 {}|AND a = 1",
    "AND of partition columns": "DELETE FROM p WHERE d = 1 {}|AND d = 1",
    "OR": "SELECT a FROM p WHERE d = 1 {}|OR d = 1",
    "concatenation": "UPDATE t SET a = 'x' {}||| 'x'",
    "UNION ALL": "INSERT INTO t SELECT 1 {}|UNION ALL SELECT 1",
    "WHEN": "SELECT CASE {} END FROM t|WHEN a = 1 THEN 2",
    "IN list": "SELECT a FROM p WHERE d IN (1 {})|, 2",
    "VALUES": "INSERT INTO t VALUES (1) {}|, (2)",
    "brackets side by side": "SELECT (a) {} FROM t|+ (a)",
}


def nested(levels: int) -> dict[str, str]:
    """Expressions by their shape."""

    def around(opening: str, core: str, closing: str) -> str:
        return opening * levels + core + closing * levels

    return {
        "abs": around("abs(", "a", ")"),
        "one": around("abs(", "1", ")"),
        "k": around("abs(", "x.k", ")"),
        "day": around("abs(", "d", ")"),
        "brackets": around("(", "1", ")"),
        "case": around("CASE WHEN a = 1 THEN ", "a", " END"),
        "scalar": around("(SELECT ", "1", ")"),
        "queries": around("(SELECT * FROM ", "t", ") q"),
        "in": around("a IN (SELECT a FROM t WHERE ", "true", ")"),
        "cast": around("CAST(", "a", " AS BIGINT)"),
        "array": around("array(", "1", ")"),
    }


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """A session with tables, where statements are planned or refused, so that all tests may share
    it; it starts no Spark.
    """
    with Session(str(tmp_path_factory.mktemp("nesting") / "warehouse")) as opened:
        create_tables(opened)
        yield opened
        assert not opened.spark_started


def create_tables(session: Session) -> None:
    session.sql(f"CREATE TABLE t (a INT) {ACID}")
    session.sql(f"CREATE TABLE n (a ARRAY<INT>) {ACID}")
    session.sql(f"CREATE TABLE p (a INT) PARTITIONED BY (d INT) {ACID}")
    session.sql("INSERT INTO t VALUES (1)")
    session.sql("INSERT INTO p PARTITION (d = 1) VALUES (1)")


def refusal(session: Session, text: str, params: Any = None) -> NestingError:
    """The error, which points at a place in the text it was given."""
    with pytest.raises(NestingError) as caught:
        session.sql(text, params).to_arrow()
    error = caught.value
    assert error.span is not None
    assert error.source is not None
    assert 0 <= error.span.start < error.span.end <= len(error.source)
    assert "^" in str(error)
    return error


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("levels", [200, pytest.param(900, marks=pytest.mark.slow)])
def test_deep_statements_are_explained(bare, shape, levels):
    """Everything up to the plan goes to any depth below the limit. CHECK and DEFAULT may hold 255
    characters, of which they complain.
    """
    text = SHAPES[shape].format(**nested(levels))
    if shape in ("CHECK", "DEFAULT"):
        with pytest.raises(Error, match="Invalid Constraint syntax"):
            bare.sql(text)
    else:
        assert bare.explain(text)


@pytest.mark.parametrize("shape", SHAPES)
def test_beyond_the_limit_the_place_is_told(bare, shape):
    """The error points at the first bracket beyond the limit, before anything was looked up."""
    text = SHAPES[shape].format(**nested(1100))
    error = refusal(bare, text)
    assert error.message == "this statement is nested more than 1000 levels deep"
    assert text[error.span.start : error.span.end].upper() in ("(", "CASE")
    assert refusal(bare, "EXPLAIN " + text.removeprefix("DRY RUN ")).message == error.message


def test_parameters_stand_at_any_depth(bare):
    """Also in executemany; nothing of it is there after an error."""
    deep = "(" * 900 + "?" + ")" * 900
    assert bare.sql(f"EXPLAIN SELECT {deep} FROM t", [1]).to_arrow().num_rows
    too_deep = f"INSERT INTO t VALUES ({'(' * 2000}?{')' * 2000})"
    refusal(bare, too_deep, [1])
    with pytest.raises(NestingError):
        Connection(bare).cursor().executemany(too_deep, [[1], [2]])


@pytest.mark.parametrize("links", [1_000, pytest.param(10_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("chain", CHAINS)
def test_long_chains_are_explained(bare, chain, links):
    """What stands side by side does not nest."""
    frame, _, link = CHAINS[chain].partition("|")
    assert bare.explain(frame.format(" ".join([link] * links)))


def test_merge_has_any_number_of_clauses(bare):
    """Every clause is planned."""
    clauses = " ".join(f"WHEN MATCHED AND t.a > {n} THEN DELETE" for n in range(300))
    plan = bare.explain(f"MERGE INTO t USING (SELECT 1 AS k) x ON t.a = x.k {clauses}")
    assert "299" in plan


@pytest.mark.parametrize(
    ("kind", "levels"), [("array<{}>", 50), ("struct<a:{}>", 50), ("map<int,{}>", 25)]
)
def test_types_nest_to_the_limit(bare, kind, levels):
    """A table keeps a type of 50 levels, or of 25 maps; one more is refused at its bracket, also in
    a CAST.
    """
    text = "int"
    for _ in range(levels):
        text = kind.format(text)
    name = f"x_{kind[0]}"
    bare.sql(f"CREATE TABLE {name} (c {text}) {ACID}")
    table = bare.store.find_table(TableName("default", name))
    assert table is not None
    assert str(table.columns[0].type) == text
    beyond = kind.format(text)
    for statement in (f"CREATE TABLE y (c {beyond}) {ACID}", f"SELECT CAST(NULL AS {beyond})"):
        error = refusal(bare, statement)
        assert error.message == "this type is nested more than 50 levels deep"
        assert statement[error.span.start] == "<"


def test_signs_are_counted(bare):
    """No bracket, but a level each."""
    refusal(bare, "SELECT " + "- " * 5000 + "a FROM t")
    refusal(bare, "SELECT " + "NOT " * 300 + "a FROM t")


def test_text_is_no_nesting(bare):
    """Brackets in strings, names and comments are none."""
    text = "(" * 3000
    assert bare.explain(f"SELECT '{text}', 1 /* {text} */ AS `{text}` FROM t -- {text}")


@pytest.mark.spark
@pytest.mark.parametrize(
    "text",
    [
        "SELECT {abs} FROM t",
        "INSERT INTO t VALUES ({one})",
        "UPDATE t SET a = {abs}",
        "SELECT {array}",
        "SELECT a FROM p WHERE {day} > 3",
    ],
)
def test_what_overflows_spark_has_its_place_and_leaves_spark_usable(session, text):
    """Spark's own readers go less deep than ours; nothing is written, and the next statement runs."""
    create_tables(session)
    refusal(session, text.format(**nested(950)))
    assert session.sql("SELECT abs(a) FROM t").to_arrow().to_pylist() == [{"abs(a)": 1}]


@pytest.mark.spark
def test_views_read_one_another(session):
    """A hundred of them; the next is refused where it is named."""
    create_tables(session)
    session.sql("CREATE VIEW v0 AS SELECT a FROM t")
    for number in range(1, 100):
        session.store.create_table(_view_over(session, number))
    assert session.explain("SELECT a FROM v99")
    session.store.create_table(_view_over(session, 100))
    error = refusal(session, "SELECT a FROM v100")
    assert "more than 100 views" in error.message
    assert error.span.start == len("SELECT a FROM ")


def _view_over(session: Session, number: int) -> Table:
    before = session.store.find_table(TableName("default", "v0"))
    assert before is not None
    assert before.view is not None
    query = f"SELECT a FROM default.v{number - 1}"
    return replace(
        before,
        name=TableName("default", f"v{number}"),
        view=replace(before.view, original=query, expanded=query),
    )


@dataclass(frozen=True, slots=True)
class Nesting:
    """A random expression, which is a number whatever its steps, so that most have a value."""

    text: str

    @property
    def depth(self) -> int:
        """The levels of brackets and CASE, counted in the text alone."""
        depth = deepest = 0
        for mark in re.findall(r"[(\[]|[)\]]|\bCASE\b|\bEND\b", self.text):
            depth += 1 if mark in ("(", "[", "CASE") else -1
            deepest = max(deepest, depth)
        return deepest

    @property
    def may_be_refused(self) -> bool:
        """The body of a lambda, what follows a sign and what a field is taken of cannot be parsed
        alone.
        """
        whole = any(part in self.text for part in ("->", "- " * 20, ").a"))
        return whole or self.depth > MAX_NESTING

    @staticmethod
    def random(number: random.Random, levels: int, steps: Mapping[str, int]) -> Nesting:
        """One to four kinds of step, each as often as it may be: the cost of some doubles in Spark
        with every level. A sub-query uses no column, which most do not see.
        """
        left = {step: steps[step] for step in number.sample(list(steps), number.randint(1, 4))}
        text = "{}"
        for _ in range(levels):
            if not any(left.values()):
                break
            step = number.choice([step for step in left if left[step]])
            left[step] -= 1
            text = step.replace("{}", text)
        cores = CONSTANTS if "SELECT" in text else CORES
        return Nesting(text.replace("{}", number.choice(cores)))


@pytest.mark.slow
@pytest.mark.spark
def test_random_nestings_give_what_spark_gives(session: Session, spark: SparkSession) -> None:
    """The same values as plain Spark over the same rows, for many expressions at a time; alone,
    where one of them has no value, and then both have none.
    """
    number, compared = random.Random(SEED), 0
    create_rows(session)
    for _ in range(BATCHES):
        depths = [depth_of(number, 1, 20) for _ in range(BATCH)]
        texts = [Nesting.random(number, depth, STEPS).text for depth in depths]
        compared += same_values(session, spark, texts)
    assert compared > BATCHES * BATCH * 3 // 4


@pytest.mark.parametrize("statements", [10, pytest.param(times(400), marks=pytest.mark.slow)])
def test_random_deep_statements_are_planned_or_refused(bare: Session, statements: int) -> None:
    """What is beyond the limit is refused, all else is planned, but for what cannot be cut."""
    number, planned = random.Random(SEED), 0
    for _ in range(statements):
        levels = depth_of(number, 60, 2000)
        nesting = Nesting.random(number, levels, dict.fromkeys(STEPS, levels))
        text = number.choice(FRAMES).replace("{}", nesting.text)
        try:
            assert bare.explain(text)
        except NestingError as error:
            assert nesting.may_be_refused, failing(text)
            check_place(error, text)
        else:
            assert nesting.depth <= MAX_NESTING, failing(text)
            planned += 1
    assert planned > statements // 4


def create_rows(session: Session) -> None:
    session.sql(f"CREATE TABLE t (a INT) {ACID}")
    session.sql(f"INSERT INTO t {ROWS}")


def depth_of(number: random.Random, least: int, most: int) -> int:
    """As many between 60 and 120 as between 600 and 1200."""
    return int(least * (most / least) ** number.random())


def same_values(session: Session, spark: SparkSession, texts: list[str]) -> int:
    """How many have values, which are those of plain Spark."""
    columns = ", ".join(f"{text} AS c{n}" for n, text in enumerate(texts))
    try:
        expected = plain_rows(spark, columns)
    except PySparkException:
        assert len(texts) > 1 or isinstance(outcome_of(session, texts[0]), Error), failing(texts[0])
        return sum(same_values(session, spark, [text]) for text in texts) if len(texts) > 1 else 0
    rows = outcome_of(session, columns)
    if rows == expected:
        return len(texts)
    if len(texts) == 1:
        pytest.fail(f"{rows} instead of {expected}: {failing(texts[0])}")
    same = sum(same_values(session, spark, [text]) for text in texts)
    pytest.fail(f"differs only side by side ({same} alone are right): {failing(columns)}")


def outcome_of(session: Session, columns: str) -> list[dict[str, Any]] | Error:
    """The rows, or the error; some of Spark's have no place."""
    text = f"SELECT {columns} FROM t ORDER BY t.a"
    try:
        return session.sql(text).to_arrow().to_pylist()
    except Error as error:
        if isinstance(error, NestingError):
            check_place(error, text)
        if isinstance(error, InternalError):
            pytest.fail(f"{error.message}: {failing(text)}")
        return error


def plain_rows(spark: SparkSession, columns: str) -> list[dict[str, Any]]:
    text = f"SELECT {columns} FROM {ROWS} AS t(a) ORDER BY t.a"
    return spark.sql(text).toArrow().to_pylist()


def check_place(error: Error, text: str) -> None:
    assert error.span is not None, (error.message, failing(text))
    assert error.source is not None
    assert 0 <= error.span.start < error.span.end <= len(error.source), failing(text)


def failing(text: str) -> str:
    """What to run again."""
    return f"ACIDSQL_TEST_SEED={SEED}: {text}"


BATCHES, BATCH = 30, 10
MAX_NESTING = 1000
ROWS = "VALUES (1), (NULL), (3)"
CONSTANTS = ("1", "2.5", "-3", "'4'", "NULL")
CORES = (*CONSTANTS, "a", "t.a")
FRAMES = (
    "SELECT {} FROM t",
    "SELECT a FROM t WHERE {} > 1",
    "SELECT a FROM p t WHERE d = 1 AND {} > 1",
    "SELECT q.a FROM (SELECT {} AS a FROM t) q",
    "INSERT INTO t SELECT {} FROM t",
    "UPDATE t SET a = {} WHERE {} > 1",
    "DELETE FROM t WHERE {} > 1",
)
STEPS = {
    "abs({})": 60,
    "({})": 60,
    "(1 + {})": 60,
    "coalesce({}, 5)": 8,
    "CASE WHEN true THEN {} END": 60,
    "CAST({} AS DOUBLE)": 60,
    "- {}": 50,
    "CASE WHEN {} > 1 THEN 1 ELSE 2 END": 8,
    "CASE WHEN 1 IN (2, {}) THEN 3 ELSE 4 END": 8,
    "if(true, {}, NULL)": 3,
    "named_struct('a', {}).a": 2,
    "map('k', {})['k']": 2,
    "(SELECT {})": 1,
    "(SELECT x FROM (SELECT {} AS x) q)": 1,
    "array({}, 7)[0]": 1,
    "element_at(transform(array({}), x -> x), 1)": 1,
    "size(array({}))": 60,
}
"""How often each may stand in one expression that Spark is to compute."""
