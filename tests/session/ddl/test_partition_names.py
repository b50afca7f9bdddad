"""Values of partitions after which no directory can be called: an error at its place, and nothing
is left.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from acidsql.catalog.partitions import MAX_NAME_BYTES, unnameable
from acidsql.errors import BindError, DataError
from acidsql.session import Session

KINDS = (
    "STORED AS ORC TBLPROPERTIES ('transactional'='true')",
    "STORED AS ORC",
    "STORED AS PARQUET",
)
LONG = "é" * 130


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse") as opened:
        yield opened


def test_what_can_be_called_after_a_value() -> None:
    """The name is counted as it is written: in bytes, escaped, with the column's."""
    assert unnameable("ds", "x" * (MAX_NAME_BYTES - 3)) is None
    assert (
        unnameable("ds", "x" * (MAX_NAME_BYTES - 2))
        == "makes a name of 256 bytes, of which 255 are allowed"
    )
    assert unnameable("ds", "/" * 84) is None
    assert unnameable("ds", "/" * 85) is not None
    assert unnameable("ds", "a\0") == "holds the character NUL"
    assert unnameable("ds", "\ud800") == "is no Unicode text"


@pytest.mark.parametrize("kind", KINDS[:2])
@pytest.mark.parametrize("value", [r"a\0b", LONG])
@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE p ADD PARTITION (ds='ok') PARTITION (ds='{value}')",
        "ALTER TABLE p PARTITION (ds='old') RENAME TO PARTITION (ds='{value}')",
        "INSERT INTO p PARTITION (ds='{value}') VALUES (1)",
        "INSERT OVERWRITE TABLE p PARTITION (ds='{value}') SELECT 1",
        "INSERT INTO p VALUES (1, 'ok'), (2, '{value}')",
        "LOAD DATA LOCAL INPATH '/nowhere' INTO TABLE p PARTITION (ds='{value}')",
    ],
)
def test_a_value_that_is_written_out_is_refused_at_its_place(
    session: Session, kind: str, statement: str, value: str
) -> None:
    """Before anything is made."""
    session.sql(f"CREATE TABLE p (id INT) PARTITIONED BY (ds STRING) {kind}")
    session.sql("ALTER TABLE p ADD PARTITION (ds='old')")
    text = statement.format(value=value)
    with pytest.raises(BindError, match='the value of partition column "ds"') as caught:
        session.sql(text)
    assert caught.value.span is not None
    assert caught.value.span.cut(text) == f"'{value}'"
    assert os.listdir(Path(session.warehouse, "p")) == ["ds=old"]
    assert [row[0] for row in session.sql("SHOW PARTITIONS p").rows()] == ["ds=old"]


def test_a_parameter_is_a_value_like_others(session: Session) -> None:
    """The error points to what stands for it."""
    session.sql("CREATE TABLE p (id INT) PARTITIONED BY (ds STRING) STORED AS ORC")
    with pytest.raises(BindError, match="holds the character NUL"):
        session.sql("INSERT INTO p VALUES (1, ?)", ["a\0b"])


@pytest.mark.parametrize(
    "statement",
    ["CREATE TABLE t (id INT) LOCATION '/a\\0b'", "CREATE DATABASE d LOCATION '/a\\0b'"],
)
def test_no_location_holds_nul(session: Session, statement: str) -> None:
    """No file system has one."""
    with pytest.raises(BindError, match="the location holds the character NUL"):
        session.sql(statement)


def test_msck_takes_no_directory_for_such_a_value(session: Session) -> None:
    """A name can say NUL though it holds none."""
    session.sql("CREATE TABLE p (id INT) PARTITIONED BY (ds STRING) STORED AS ORC")
    Path(session.warehouse, "p", "ds=a%00b").mkdir()
    with pytest.raises(BindError, match="its ds holds the character NUL"):
        session.sql("MSCK REPAIR TABLE p")
    assert list(session.sql("SHOW PARTITIONS p").rows()) == []


@pytest.mark.spark
@pytest.mark.parametrize("path", ["small", "big"])
def test_a_value_that_is_computed_is_refused(
    tmp_path: Path, spark: SparkSession, path: str
) -> None:
    """Of whatever kind and format the table is, and wherever its rows are written; nothing of the
    other partitions is left either.
    """
    with Session(
        tmp_path / "warehouse", spark=spark, settings={"acidsql.write.path": path}
    ) as session:
        for number, kind in enumerate(KINDS):
            session.sql(f"CREATE TABLE p{number} (id INT) PARTITIONED BY (ds STRING) {kind}")
            for value, problem in (
                ("concat('a', chr(0))", "NUL"),
                ("repeat('é', 130)", "263 bytes"),
            ):
                query = f"SELECT 1 AS id, 'ok' AS ds UNION ALL SELECT 2, {value}"
                with pytest.raises(
                    DataError, match=f'partition column "ds" of default.p{number} .*{problem}'
                ):
                    session.sql(f"INSERT INTO p{number} {query}")
                with pytest.raises(DataError, match=problem):
                    session.sql(f"CREATE TABLE n PARTITIONED BY (ds) {kind} AS {query}")
            assert os.listdir(Path(session.warehouse, f"p{number}")) == []
        assert not Path(session.warehouse, "n").exists()
