"""Who makes the rows of a query: the driver alone, Spark, and how the one stands in for the other."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from acidsql.errors import BindError, UnsupportedStatementError
from acidsql.plan.engines import SparkAtHand, driver_is_quicker_up_to, engines
from acidsql.plan.operators import Collect, LocalRows, LocalScan, Ran
from acidsql.session import Session
from acidsql.settings import Settings

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
LARGE = 1 << 62
"""Two of them are more than a BIGINT holds."""


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Session]:
    """A session without Spark, with a table."""
    with Session(tmp_path / "w") as session:
        session.sql(f"CREATE TABLE t (id INT, name STRING, b BIGINT) {ACID}")
        session.sql(f"INSERT INTO t VALUES (1, 'a', 0), (2, 'b', {LARGE}), (3, NULL, {LARGE})")
        yield session
        assert not session.spark_started


def _ids(session: Session, sql: str) -> list[object]:
    return [row[0] for row in session.sql(sql).rows()]


def test_the_driver_answers_without_spark(alone: Session) -> None:
    """Filters, orders, groups; rows that were deleted are gone, those of a transaction are there."""
    assert _ids(alone, "SELECT id FROM t WHERE name = 'a' OR id = 3 ORDER BY id DESC") == [3, 1]
    assert _ids(alone, "SELECT count(*) FROM t WHERE b > 0") == [2]
    assert _ids(alone, "SELECT max(id) FROM t GROUP BY name ORDER BY 1") == [1, 2, 3]
    alone.begin()
    alone.sql("INSERT INTO t VALUES (4, 'own', 1)")
    assert _ids(alone, "SELECT id FROM t WHERE name = 'own'") == [4]
    alone.rollback()
    assert _ids(alone, "SELECT id FROM t ORDER BY id") == [1, 2, 3]


def test_a_late_result_is_that_of_its_statement(alone: Session) -> None:
    """Rows that come later are those of the statement's snapshot."""
    late = alone.sql("SELECT id FROM t ORDER BY id")
    alone.sql("INSERT INTO t VALUES (4, 'new', 1)")
    alone.sql("TRUNCATE TABLE t")
    assert [row[0] for row in late.rows()] == [1, 2, 3]
    assert _ids(alone, "SELECT id FROM t") == []


def test_limits_take_no_more_than_they_need(alone: Session) -> None:
    """LIMIT and OFFSET, with an order and without."""
    assert _ids(alone, "SELECT id FROM t LIMIT 2") == [1, 2]
    assert _ids(alone, "SELECT id FROM t LIMIT 2 OFFSET 2") == [3]
    assert _ids(alone, "SELECT id FROM t ORDER BY id DESC LIMIT 1 OFFSET 1") == [2]
    assert _ids(alone, "SELECT id FROM t LIMIT 0") == []


def test_the_driver_alone_refuses_what_it_does_not_understand(alone: Session) -> None:
    """With the reason and its place, before anything is read or when a value shows it."""
    alone.sql("SET acidsql.engine=local")
    with pytest.raises(UnsupportedStatementError) as caught:
        alone.sql("SELECT id FROM t LATERAL VIEW explode(array(1)) e AS n")
    assert "what stands behind FROM" in str(caught.value)
    assert "^" in str(caught.value)
    late = alone.sql("SELECT sum(b) FROM t")
    with pytest.raises(UnsupportedStatementError, match="sum of numbers as large"):
        late.to_arrow()


def test_explain_says_who_makes_the_rows(alone: Session) -> None:
    """And why; a setting decides."""
    understood, other = "SELECT id FROM t", "SELECT avg(name) FROM t"
    assert "engine: local up to 256 MB of id, else spark" in alone.explain(understood)
    assert "engine: spark (avg of string)" in alone.explain(other)
    alone.sql("SET acidsql.engine=spark")
    assert "engine" not in alone.explain(understood)
    alone.sql("SET acidsql.engine=local")
    assert "make the rows on the driver" in alone.explain(understood)
    alone.sql("SET acidsql.engine=auto")
    alone.sql("SET spark.sql.legacy.timeParserPolicy=LEGACY")
    assert "engine: spark (what spark.sql.legacy.timeParserPolicy changes)" in alone.explain(
        understood
    )


@pytest.mark.processes
def test_a_query_of_a_fresh_process_imports_no_pyspark(alone: Session, tmp_path: Path) -> None:
    """From the first statement to the rows."""
    script = (
        "import sys; from acidsql.session import Session\n"
        f"with Session({str(tmp_path / 'w')!r}) as session:\n"
        "    print(list(session.sql('SELECT id FROM t WHERE id > 1 ORDER BY id').rows()))\n"
        "print([name for name in sys.modules if name.startswith(('pyspark', 'py4j'))])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "[(2,), (3,)]\n[]\n", done.stderr


@pytest.mark.spark
def test_spark_takes_over_where_values_are_its_own(session: Session) -> None:
    """From the same snapshot; the steps say that the driver tried in vain."""
    session.sql(f"CREATE TABLE t (b BIGINT) {ACID}")
    session.sql(f"INSERT INTO t VALUES ({LARGE}), ({LARGE}), (1)")
    late = session.sql("SELECT sum(b) FROM t")
    session.sql("TRUNCATE TABLE t")
    assert list(late.rows()) == [(1 - 2 * LARGE,)]
    session.sql(f"INSERT INTO t VALUES ({LARGE}), ({LARGE}), (1)")
    steps = [row[0] for row in session.sql("EXPLAIN ANALYZE SELECT sum(b) FROM t").rows()]
    assert [line.endswith("in vain") for line in steps if "on the driver" in line] == [True]
    assert steps[-1].startswith("  collect the rows (1 rows")


@pytest.mark.spark
def test_spark_takes_what_is_large(session: Session) -> None:
    """Where the columns weigh more than the setting allows; the driver alone takes all."""
    session.sql(f"CREATE TABLE t (id INT) {ACID}")
    session.sql("INSERT INTO t VALUES (1)")
    session.sql("SET acidsql.local.max.bytes=1")
    assert [type(ran.operator) for ran in _ran(session)][-1] is Collect
    session.sql("SET acidsql.engine=local")
    assert [type(ran.operator) for ran in _ran(session)] == [LocalScan, LocalRows]


def _ran(session: Session) -> tuple[Ran, ...]:
    return session.sql("EXPLAIN ANALYZE SELECT id FROM t").stats.steps


@pytest.mark.spark
def test_a_dataframe_is_sparks(session: Session) -> None:
    """Over the same snapshot, also where the driver would make the rows; after these have come, and
    without Spark's way, it is made of them.
    """
    session.sql(f"CREATE TABLE t (id INT, at TIMESTAMP) {ACID}")
    session.sql("INSERT INTO t VALUES (1, TIMESTAMP '2020-01-01 00:00:00')")
    result = session.sql("SELECT * FROM t")
    session.sql("INSERT INTO t VALUES (2, NULL)")
    assert result.df.dtypes == [("id", "int"), ("at", "timestamp_ntz")]
    assert [row.id for row in result.df.collect()] == [1]
    session.sql("SET acidsql.engine=local")
    result = session.sql("SELECT id FROM t ORDER BY id")
    assert [row.id for row in result.df.collect()] == [1, 2]


# ---- functions that nobody knows


def test_an_unknown_function_is_told_without_spark(alone: Session) -> None:
    """With its place and the one that is probably meant, wherever it stands; Spark is not started
    to find out.
    """
    for sql in (
        "SELECT uper(name) FROM t",
        "SELECT id FROM (SELECT uper(name), id FROM t) x",
        "SELECT id FROM t WHERE id > 1 AND uper(name) = 'A'",
        "UPDATE t SET name = uper(name)",
        "DELETE FROM t WHERE uper(name) = 'A'",
        "INSERT INTO t VALUES (1, uper('a'), 1)",
        "MERGE INTO t USING t s ON t.id = s.id WHEN MATCHED THEN UPDATE SET name = uper(s.name)",
    ):
        with pytest.raises(BindError) as caught:
            alone.sql(sql)
        assert (caught.value.code, caught.value.message) == (10011, 'Invalid function "uper"')
        assert caught.value.hint == 'did you mean "upper"?'
        assert caught.value.span is not None
        assert caught.value.span.cut(sql) == "uper"


@pytest.mark.spark
def test_a_function_that_a_user_has_made_is_known(session: Session) -> None:
    """Once it is registered in the session's Spark; one that nobody has made is refused there, too,
    in the same words.
    """
    session.spark.udf.register("uper", str.upper)
    assert _ids(session, "SELECT uper('a')") == ["A"]
    for sql in (
        "SELECT lowr('a')",
        "SELECT * FROM (SELECT lowr('a')) LATERAL VIEW explod(array(1)) x",
    ):
        with pytest.raises(BindError, match=r'Invalid function "(lowr|explod)"'):
            session.sql(sql).to_arrow()


def test_who_loads_is_who_is_quicker() -> None:
    """The driver, whatever there is to read, beside a Spark of as many tasks; a Spark of many tasks
    what is large, and more of it if it runs already.
    """
    assert driver_is_quicker_up_to(SparkAtHand(runs=True, tasks=2), threads=2) is None
    idle, running = (
        driver_is_quicker_up_to(SparkAtHand(runs=runs, tasks=64), threads=2)
        for runs in (False, True)
    )
    assert running is not None
    assert idle is not None
    assert 0 < running < idle
    more = driver_is_quicker_up_to(SparkAtHand(runs=True, tasks=64), threads=1)
    assert more is not None
    assert more < running


def test_the_settings_bound_what_is_quicker() -> None:
    """acidsql.local.max.bytes is the most in any case; under ``local`` nothing is."""
    many, few = SparkAtHand(runs=True, tasks=1000), SparkAtHand()
    settings = Settings({"acidsql.local.max.bytes": "1m"})
    assert engines(settings, few).load_bytes == engines(settings, many).load_bytes == 1 << 20
    assert engines(Settings(), few).load_bytes == engines(Settings(), few).read_bytes
    quicker = engines(Settings(), many)
    assert quicker.load_bytes is not None
    assert quicker.read_bytes is not None
    assert quicker.load_bytes < quicker.read_bytes
    assert engines(Settings({"acidsql.engine": "local"}), many).load_bytes is None
