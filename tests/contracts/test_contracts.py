"""The contracts of stores: they try all that the protocols promise, and notice a store that does
not keep a promise.
"""

from __future__ import annotations

import ast
import inspect
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from acidsql.acid.ids import TxnId, WriteId
from acidsql.catalog.catalog import Catalog
from acidsql.catalog.model import TableName
from acidsql.metastore.embedded import EmbeddedMetastore
from acidsql.session import Session
from acidsql.txn.locks import NO_TXN, LockAnswer, LockRequest, LockState
from acidsql.txn.manager import TxnManager
from tests import contracts

WHOLE = (contracts.TxnManagerContract, contracts.CatalogContract, contracts.MetastoreContract)
OUTSIDE = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-p", "no:timeout", "-q")


def parts(contract: type) -> Iterator[type]:
    """A contract's classes that have tests of their own."""
    return (one for one in contract.__mro__ if any(name.startswith("test_") for name in vars(one)))


@pytest.mark.parametrize("contract", WHOLE)
def test_no_promise_hides_another(contract: type) -> None:
    """Tests of one name in two classes would be one: the other never ran."""
    names = Counter(
        name for part in parts(contract) for name in vars(part) if name.startswith("test_")
    )
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.parametrize("protocol", [TxnManager, Catalog])
def test_every_method_is_tried(protocol: type) -> None:
    """A protocol has no method that no contract calls."""
    modules = {inspect.getmodule(part) for contract in WHOLE for part in parts(contract)}
    called = {
        node.attr
        for module in modules
        if module is not None
        for node in ast.walk(ast.parse(inspect.getsource(module)))
        if isinstance(node, ast.Attribute)
    }
    methods = {name for name in vars(protocol) if not name.startswith("_")}
    assert methods - called == set()


@pytest.fixture
def loaded(tmp_path: Path) -> None:
    """Imports what a run inside this one would import: SQLAlchemy cannot be imported twice."""
    with Session(tmp_path / "loaded") as session:
        session.sql("SHOW TABLES")


def test_a_store_that_is_not_opened_says_what_is_missing(pytester: pytest.Pytester) -> None:
    """Who forgets the one fixture that every class needs is told its name."""
    pytester.makepyfile(
        "from tests import contracts\nclass TestMine(contracts.TxnManagerContract):\n    pass\n"
    )
    result = pytester.runpytest_inprocess(*OUTSIDE, "-k", "ids_ascend")
    result.assert_outcomes(errors=1, deselected=result.parseoutcomes()["deselected"])
    result.stdout.fnmatch_lines(["*override the fixture open_store*"])


# ---- stores that do not keep a promise


class ForgetsConflicts(EmbeddedMetastore):
    """Each transaction commits as if it had begun just now."""

    def commit(self, txn_id, components=(), statistics=(), harmless=None):  # type: ignore[no-untyped-def,override]
        wrote = list(components)
        while overlaps := super().commit(txn_id, wrote, statistics, harmless=harmless or ()):
            harmless = overlaps
        return ()


class GivesLocksToAll(EmbeddedMetastore):
    """Nobody waits."""

    def check_lock(self, lock_id: int, txn_id: TxnId = NO_TXN) -> LockAnswer:
        super().check_lock(lock_id, txn_id)
        return LockAnswer(lock_id=lock_id, state=LockState.ACQUIRED)

    def lock(self, request: LockRequest, txn_id: TxnId = NO_TXN) -> LockAnswer:
        return LockAnswer(lock_id=super().lock(request, txn_id).lock_id, state=LockState.ACQUIRED)


class CountsWriteIdsTogether(EmbeddedMetastore):
    """All tables draw from one row of numbers."""

    def allocate_write_id(self, txn_id: TxnId, table: TableName) -> WriteId:
        return super().allocate_write_id(txn_id, TableName("default", "all"))


class NeverReaps(EmbeddedMetastore):
    """The silent live for ever."""

    def __init__(self, warehouse: str, **options: object) -> None:
        super().__init__(warehouse, **{**options, "txn_timeout_seconds": 1e12})  # type: ignore[arg-type]


@pytest.mark.usefixtures("loaded")
@pytest.mark.parametrize(
    ("broken", "noticed"),
    [
        (ForgetsConflicts, "test_first_committer_wins"),
        (GivesLocksToAll, "test_locks_are_had_in_the_order_of_asking"),
        (CountsWriteIdsTogether, "test_one_write_id_for_each_transaction_and_table"),
        (NeverReaps, "test_a_silent_transaction_is_aborted_by_the_next_one"),
    ],
)
def test_a_broken_promise_is_noticed(
    pytester: pytest.Pytester, broken: type[EmbeddedMetastore], noticed: str
) -> None:
    """By the test that is about it."""
    opened = ExitStack()

    class Plugin:
        @pytest.fixture
        def open_broken(self, tmp_path: Path) -> Iterator[object]:
            with opened:
                yield lambda **options: opened.enter_context(broken(str(tmp_path), **options))

    pytester.makepyfile(
        "import pytest\n"
        "from tests import contracts\n"
        "class TestBroken(contracts.TxnManagerContract):\n"
        "    @pytest.fixture\n"
        "    def open_store(self, open_broken, clock):\n"
        "        return lambda **options: open_broken(clock=clock, **options)\n"
    )
    result = pytester.runpytest_inprocess(*OUTSIDE, "-k", noticed, plugins=[Plugin()])
    assert result.parseoutcomes().get("failed", 0) > 0
    assert "errors" not in result.parseoutcomes()
