"""Literals that their columns cannot hold.

As in Hive something else is stored, and the user is told.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import acidsql
from acidsql.errors import BindError, DataError, LossWarning
from acidsql.session import Session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CREATE = """CREATE TABLE t (id INT, tiny TINYINT, price DECIMAL(5,2), day DATE, name VARCHAR(3))
    STORED AS ORC TBLPROPERTIES ('transactional'='true')"""


@pytest.fixture
def light(warehouse: Path) -> Iterator[Session]:
    """A session with a table and without Spark."""
    with Session(str(warehouse)) as opened:
        opened.sql(CREATE)
        yield opened
        assert not opened.spark_started


@pytest.mark.parametrize(
    ("column", "literal", "message"),
    [
        ("id", "'abc'", """column "id" of type int cannot hold 'abc': NULL is stored"""),
        ("id", "'٣'", """column "id" of type int cannot hold '٣': NULL is stored"""),
        ("tiny", "300", 'column "tiny" of type tinyint cannot hold 300: 44 is stored'),
        ("id", "1.9", 'column "id" of type int cannot hold 1.9: 1 is stored'),
        ("price", "1000", 'column "price" of type decimal(5,2) cannot hold 1000: NULL is stored'),
        (
            "day",
            "'2024-02-30'",
            """column "day" of type date cannot hold '2024-02-30': NULL is stored""",
        ),
        (
            "name",
            "'abcd'",
            """column "name" of type varchar(3) cannot hold 'abcd': abc is stored""",
        ),
    ],
)
def test_a_loss_is_a_warning(light: Session, column: str, literal: str, message: str) -> None:
    """It says what is stored instead, and where the literal stands."""
    sql = f"INSERT INTO t ({column}) VALUES (NULL), ({literal})"
    (warning,) = light.sql(sql).warnings
    assert isinstance(warning, LossWarning)
    assert warning.message == message
    assert warning.span is not None
    assert warning.span.cut(sql) == literal
    assert str(warning).splitlines()[1] == f"  line 1: {sql}"
    assert str(pickle.loads(pickle.dumps(warning))) == str(warning)


@pytest.mark.parametrize(
    ("literal", "kind", "kept"),
    [
        ("3.5e38", "FLOAT", math.inf),
        ("'-1e300'", "FLOAT", -math.inf),
        ("'1e400'", "DOUBLE", math.inf),
    ],
)
@pytest.mark.parametrize("ansi", ["false", "true"])
def test_a_number_beyond_its_type_becomes_infinite_with_a_warning(
    light: Session, literal: str, kind: str, kept: float, ansi: str
) -> None:
    """As Spark's cast makes it, strict or not."""
    light.sql(f"SET acidsql.ansi={ansi}")
    light.sql(f"CREATE TABLE f (x {kind}) STORED AS ORC TBLPROPERTIES ('transactional'='true')")
    (warning,) = light.sql(f"INSERT INTO f VALUES ({literal})").warnings
    assert warning.message == (
        f'column "x" of type {kind.lower()} cannot hold {literal}: {kept} is stored'
    )
    assert list(light.sql("SELECT x FROM f").rows()) == [(kept,)]


@pytest.mark.parametrize(
    "row",
    [
        "1, 127, 999.99, DATE '2024-02-29', 'abc  '",
        "'1', ' 7 ', 1.505, '2024-2-9', 12",
        "NULL, true, 1e2, NULL, ''",
    ],
)
def test_what_fits_is_no_loss(light: Session, row: str) -> None:
    """Values that are kept, or rounded to the scale of their type, need no word."""
    assert light.sql(f"INSERT INTO t VALUES ({row})").warnings == ()


def test_parameters(light: Session) -> None:
    """A parameter is a literal like others.

    The warning shows the statement with the values in it.
    """
    (warning,) = light.sql("INSERT INTO t (id) VALUES (?)", ["abc"]).warnings
    assert warning.source == "INSERT INTO t (id) VALUES ('abc')"


def test_many_losses(light: Session) -> None:
    """The twentieth is the last one told of in full."""
    warnings = light.sql(
        f"INSERT INTO t (id) VALUES {', '.join(['(1), (?)'] * 50)}", ["x"] * 50
    ).warnings
    assert len(warnings) == 21
    assert warnings[-1].message == "more literals of the statement do not fit their columns"


def test_messages_of_a_cursor(warehouse: Path) -> None:
    """PEP 249's list has the warnings of the last statement, of all rows of executemany."""
    with acidsql.connect(warehouse) as connection:
        connection.execute(CREATE)
        cursor = connection.cursor()
        cursor.executemany("INSERT INTO t (id, tiny) VALUES (?, ?)", [[1, 1], ["x", 2], [3, 400]])
        assert [kind for kind, _ in cursor.messages] == [LossWarning, LossWarning]
        assert "cannot hold 400" in str(cursor.messages[1][1])
        cursor.execute("INSERT INTO t (id) VALUES (1)")
        assert cursor.messages == []


@pytest.mark.parametrize(
    ("column", "literal"),
    [("id", "'abc'"), ("id", "'1.5'"), ("tiny", "300"), ("price", "1000"), ("day", "'x'")],
)
def test_strict_sql_refuses(light: Session, column: str, literal: str) -> None:
    """Under acidsql.ansi it is an error at its place, and nothing is written."""
    light.sql("SET acidsql.ansi=true")
    sql = f"INSERT INTO t ({column}) VALUES (NULL), ({literal})"
    with pytest.raises(DataError, match="cannot hold") as caught:
        light.sql(sql)
    assert caught.value.span is not None
    assert caught.value.span.cut(sql) == literal
    assert light.sql("SELECT count(*) FROM t").to_arrow().column(0).to_pylist() == [0]


def test_strict_sql_takes_what_spark_takes(light: Session) -> None:
    """Text is cut and fractions are dropped under acidsql.ansi too, with a warning."""
    light.sql("SET acidsql.ansi=true")
    assert len(light.sql("INSERT INTO t (id, name) VALUES (1.9, 'abcd')").warnings) == 2


@pytest.mark.parametrize("value", ["99999", "'abc'", "'٣'"])
def test_no_row_goes_to_the_default_partition(light: Session, value: str) -> None:
    """The value of a partition that its column cannot hold is refused, never taken for NULL."""
    light.sql(
        "CREATE TABLE p (id INT) PARTITIONED BY (k DECIMAL(5,2)) STORED AS ORC TBLPROPERTIES ('transactional'='true')"
    )
    with pytest.raises(BindError) as caught:
        light.sql(f"INSERT INTO p PARTITION (k={value}) VALUES (1)")
    assert caught.value.code == 10214


def test_partitions_with_many_digits(light: Session) -> None:
    """A value near the limit of its type keeps its digits, in PARTITION and in the rows."""
    light.sql(
        "CREATE TABLE p (id INT) PARTITIONED BY (k DECIMAL(38,10)) STORED AS ORC TBLPROPERTIES ('transactional'='true')"
    )
    nines = "9" * 28 + "." + "9" * 10
    light.sql(f"INSERT INTO p PARTITION (k={nines}) VALUES (1)")
    light.sql("SET hive.exec.dynamic.partition.mode=nonstrict")
    light.sql(f"INSERT INTO p VALUES (1, -{nines})")
    assert light.sql("SHOW PARTITIONS p").to_arrow().column(0).to_pylist() == [
        f"k=-{nines}",
        f"k={nines}",
    ]


def test_not_null_and_many_digits(light: Session) -> None:
    """A number near the limit of its type is no NULL."""
    light.sql(
        "CREATE TABLE c (k DECIMAL(38,10) NOT NULL) STORED AS ORC TBLPROPERTIES ('transactional'='true')"
    )
    assert light.sql(f"INSERT INTO c VALUES ({'9' * 28}.{'9' * 10})").stats.rows_inserted == 1


@pytest.mark.spark
def test_update_and_merge(warehouse: Path, spark: SparkSession) -> None:
    """Their literals are looked at too; Spark stores the same."""
    with Session(str(warehouse), spark=spark) as session:
        session.sql(CREATE)
        session.sql("INSERT INTO t (id) VALUES (1)")
        (warning,) = session.sql("UPDATE t SET tiny = 300, name = 'abc' WHERE id = 1").warnings
        assert warning.message.endswith("cannot hold 300: 44 is stored")
        merge = "MERGE INTO t USING (SELECT 2 AS id) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT VALUES ('x', 1, 1, NULL, 'abcd')"
        assert len(session.sql(merge).warnings) == 2
        rows = session.sql("SELECT id, tiny, name FROM t ORDER BY tiny").rows()
        assert list(rows) == [(None, 1, "abc"), (1, 44, "abc")]
        session.sql("SET acidsql.ansi=true")
        with pytest.raises(DataError, match="cannot hold 300"):
            session.sql("UPDATE t SET tiny = 300")
