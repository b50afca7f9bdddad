"""SHOW TRANSACTION n: what became of a transaction, as far as anybody remembers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from acidsql.acid.ids import TxnId
from acidsql.catalog.model import TableName
from acidsql.errors import CommitStateUnknownError, MetastoreError
from acidsql.metastore import opening
from acidsql.metastore.store import CommitFailedError
from acidsql.session import Session

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"


@pytest.fixture
def plain(warehouse: Path) -> Iterator[Session]:
    """A session that needs no Spark, on a clock that stands still, with tables t and p."""
    with Session(str(warehouse), clock=lambda: 1_700_000_000.0) as session:
        session.sql(f"CREATE TABLE t (a INT) {ACID}")
        session.sql(f"CREATE TABLE p (a INT) PARTITIONED BY (ds STRING) {ACID}")
        yield session
        assert not session.spark_started


def shown(session: Session, txn_id: int) -> dict[str, object]:
    result = session.sql(f"SHOW TRANSACTION {txn_id}")
    (row,) = result.rows()
    return dict(zip((column.name for column in result.columns), row, strict=True))


def test_a_committed_transaction_says_what_it_wrote(plain: Session) -> None:
    """The columns, and each table or partition with what was done and the write id."""
    with plain.transaction():
        plain.sql("INSERT INTO t VALUES (1)")
        plain.sql("INSERT INTO p VALUES (1, 'x'), (2, 'y')")
    outcome = shown(plain, 1)
    assert list(outcome) == [
        "txnid", "state", "reason", "startedtime", "lastheartbeattime", "user", "host", "tables",
    ]  # fmt: skip
    assert outcome["txnid"] == "1"
    assert (outcome["state"], outcome["reason"]) == ("COMMITTED", None)
    assert outcome["startedtime"] == outcome["lastheartbeattime"] == "1700000000000"
    assert outcome["user"] == plain.user
    assert outcome["tables"] == (
        "default.p/ds=x insert 1, default.p/ds=y insert 1, default.t insert 1"
    )


def test_the_open_transaction_can_be_asked_for_within_itself(plain: Session) -> None:
    """It is OPEN; what it wrote is on record by its write ids, what it did is not yet."""
    plain.sql("BEGIN")
    plain.sql("INSERT INTO t VALUES (1)")
    assert (shown(plain, 1)["state"], shown(plain, 1)["tables"]) == ("OPEN", "default.t - 1")
    plain.sql("ROLLBACK")


def test_an_aborted_transaction_says_why(plain: Session) -> None:
    """The words of TransactionAbortedError."""
    txn_id = plain.store.open_txn()
    plain.sql(f"ABORT TRANSACTIONS {txn_id}")
    plain.sql("BEGIN")
    plain.sql("INSERT INTO t VALUES (1)")
    plain.sql("ROLLBACK")
    assert [shown(plain, n)["state"] for n in (1, 2)] == ["ABORTED", "ABORTED"]
    assert shown(plain, 1)["reason"] == "by ABORT TRANSACTIONS"
    assert shown(plain, 2)["reason"] == "it was rolled back"
    assert (shown(plain, 1)["tables"], shown(plain, 2)["tables"]) == (None, "default.t insert 1")


@pytest.mark.parametrize("txn_id", [0, 2, 2**63 - 1])
def test_a_number_that_no_transaction_has_is_unknown(plain: Session, txn_id: int) -> None:
    """Nothing is opened by asking."""
    plain.sql("INSERT INTO t VALUES (1)")
    outcome = shown(plain, txn_id)
    assert (outcome["state"], outcome["tables"]) == ("UNKNOWN", None)
    assert outcome["reason"] == "there is no such transaction yet"
    assert plain.store.open_txn() == 2


def test_a_forgotten_transaction_has_ended(plain: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """House-keeping takes the rows of old transactions: then it is said that they ended; what the
    history still has of their writes is shown.
    """
    monkeypatch.setattr(opening, "KEPT_TXNS", 1)
    plain.sql("INSERT INTO t VALUES (1)")
    for _ in range(opening.HOUSEKEEPING_INTERVAL):
        plain.store.commit(plain.store.open_txn())
    outcome = shown(plain, 1)
    assert (outcome["state"], outcome["startedtime"]) == ("UNKNOWN", None)
    assert outcome["reason"] == "it has ended: transactions that ended long ago have no record"
    assert outcome["tables"] == "default.t - 1"


def test_a_commit_without_an_answer_names_the_statement(
    plain: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its hint can be typed as it stands, and answers."""
    txn_id = plain.store.begin([TableName("default", "t")]).txn_id

    def no_answer(*_: object) -> None:
        raise CommitFailedError("the disk went away")

    def no_store() -> None:
        raise MetastoreError("the disk went away")

    with monkeypatch.context() as broken:
        broken.setattr(plain.store, "_commit", no_answer)
        broken.setattr(plain.store._store, "read", no_store)
        with pytest.raises(CommitStateUnknownError) as unknown:
            plain.store.commit(txn_id)
    assert unknown.value.hint is not None
    assert unknown.value.hint.startswith(f"SHOW TRANSACTION {txn_id} says")
    assert shown(plain, TxnId(unknown.value.txn_id))["state"] == "OPEN"
