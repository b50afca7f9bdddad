"""What a statement that is about to wait for Spark's start says it needs Spark for. Nothing is
started here.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from acidsql.errors import InterfaceError
from acidsql.session import Session

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"


@pytest.fixture
def waiting(warehouse: Path) -> Iterator[Session]:
    """A session that starts no Spark: who would wait for it fails with the reason."""

    def stop(reason: str | None) -> None:
        raise InterfaceError(reason or "no reason")

    with Session(str(warehouse), metastore="") as session:
        session.sql(f"CREATE TABLE t (id INT, s STRING) {ACID}")
        session.sql("INSERT INTO t VALUES (0, 'a'), (1, 'b')")
        session.when_waiting_for_spark(stop)
        yield session


@pytest.mark.parametrize(
    ("settings", "statement", "reason"),
    [
        ({"acidsql.engine": "spark"}, "SELECT s FROM t", "acidsql.engine is spark"),
        (
            {"acidsql.local.max.bytes": "1"},
            "SELECT s FROM t WHERE id = 1",
            "more bytes are read than acidsql.local.max.bytes allows",
        ),
        ({}, "SELECT id FROM t LATERAL VIEW explode(array(1)) e AS n", "what stands behind FROM"),
        ({"acidsql.ansi": "true"}, "SELECT 1 / id FROM t", "a value that only Spark computes"),
        ({"acidsql.ansi": "true"}, "UPDATE t SET id = 1 / id", "a value that only Spark computes"),
    ],
)
def test_the_reason_is_the_statements(
    waiting: Session, settings: dict[str, str], statement: str, reason: str
) -> None:
    """The engine that was asked for, the bytes, the words, or a value that the driver met."""
    for name, value in settings.items():
        waiting.sql(f"SET {name} = {value}")
    with pytest.raises(InterfaceError) as caught:
        waiting.sql(statement).fetchall()
    assert caught.value.message == reason
