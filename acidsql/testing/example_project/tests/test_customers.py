"""What happens to customers, as tests in Python; ``pytest --snapshot-update`` writes what they
compare with, into ``__snapshots__``.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import pytest

from acidsql import Session
from acidsql.errors import ColumnNotFoundError

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion

    from acidsql.testing.tables import TableMaker
    from acidsql.testing.texts import FileChanges


@pytest.fixture
def customers(acidsql_session: Session, acidsql_table: TableMaker) -> Session:
    """A session with the table of tests/data/customers.csv."""
    acidsql_table("customers", "data/customers.csv", types={"id": "INT"})
    return acidsql_session


def test_who_lives_nowhere(customers: Session, acidsql_snapshot: SnapshotAssertion) -> None:
    """An empty cell of the file is NULL."""
    assert customers.sql("SELECT * FROM customers WHERE city IS NULL") == acidsql_snapshot


def test_a_move_touches_one_row(
    customers: Session,
    acidsql_files: Callable[[], AbstractContextManager[FileChanges]],
    acidsql_snapshot: SnapshotAssertion,
) -> None:
    """Changing one customer writes one row, and leaves the files of the others."""
    with acidsql_files() as files:
        customers.sql("UPDATE customers SET city = 'Paris' WHERE id = 2")
    assert files == acidsql_snapshot(name="files")
    assert customers.sql("SELECT * FROM customers ORDER BY id") == acidsql_snapshot(name="rows")


def test_a_name_is_changed_by_its_id(
    customers: Session, acidsql_snapshot: SnapshotAssertion
) -> None:
    """The plan of an update says what it reads."""
    assert customers.explain("UPDATE customers SET name = 'X' WHERE id = 1") == acidsql_snapshot


def test_there_is_no_telephone(customers: Session, acidsql_snapshot: SnapshotAssertion) -> None:
    """The error says which columns there are."""
    with pytest.raises(ColumnNotFoundError) as caught:
        customers.sql("SELECT phone FROM customers")
    assert caught.value == acidsql_snapshot
