"""The contracts of stores on a Hive metastore, as far as it can keep them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from acidsql.metastore.hive.reaching import Access
from acidsql.metastore.hms.metastore import HiveMetastore
from tests.contracts import CatalogContract, Clock, OpenStore
from tests.contracts.conflicts import ConflictContract
from tests.contracts.lock_ends import LockEndContract
from tests.contracts.locks import LockContract
from tests.contracts.threads import ThreadContract
from tests.contracts.transactions import EndContract, SnapshotContract
from tests.metastore.hms.service import HiveService

WRITE_IDS = "a metastore takes over no write ids of files, and none back"
CONSTRAINTS = "tables with keys are made in Hive"
OVERWRITTEN = "an overwriting goes by the whole table, and by Hive's rule besides"
WORDS = "the metastore has words of its own, and does not say why it aborted"
SHOWN = "it shows other things"
NOT_KEPT: dict[str, str] = {
    "test_a_table_takes_over_the_write_ids_of_its_files": WRITE_IDS,
    "test_it_is_said_what_became_of_others_write_ids": WRITE_IDS,
    "test_transactions_go_on_behind_those_of_others": WRITE_IDS,
    "test_a_write_id_is_given_back": WRITE_IDS,
    **dict.fromkeys(
        (
            "test_a_dropped_table_is_gone",
            "test_a_foreign_key_comes_back_and_goes_with_its_parent",
            "test_a_foreign_key_needs_its_parent",
            "test_a_partition_gets_another_name_and_place",
            "test_a_partition_is_added_once",
            "test_a_partition_keeps_its_name_if_its_directory_cannot_move",
            "test_a_partition_that_changed_meanwhile_is_not_altered",
            "test_a_table_comes_back_as_it_was_stored",
            "test_a_table_is_altered",
            "test_a_table_lies_elsewhere_on_demand",
            "test_dropped_partitions_are_gone",
            "test_names_are_taken_once",
            "test_partitions_come_back_by_name",
            "test_partitions_that_are_there_are_passed_over_on_demand",
        ),
        CONSTRAINTS,
    ),
    "test_an_overwriting_is_never_compared": OVERWRITTEN,
    "test_conflicts_are_by_what_was_done_where": OVERWRITTEN,
    "test_overwriting_conflicts_with_every_write": OVERWRITTEN,
    "test_changes_that_may_be_of_different_rows_are_told": "rows are not compared",
    "test_overlaps_that_come_in_between_are_told_next": "rows are not compared",
    "test_a_waiting_transaction_that_was_aborted_is_told_so": WORDS,
    "test_an_abort_tells_why": WORDS,
    "test_an_unknown_transaction_is_not_retryable": WORDS,
    "test_locks_end_with_their_transaction": WORDS,
    "test_a_transaction_keeps_what_it_holds": WORDS,
    "test_a_user_aborts_open_transactions_only": SHOWN,
    "test_locks_are_shown_with_all_that_is_known": SHOWN,
    "test_what_became_of_a_transaction_is_on_record": SHOWN,
    "test_a_transaction_that_was_never_opened_is_not_on_record": SHOWN,
    "test_a_request_for_nothing_is_a_mistake": "its transaction is shown as aborted",
    "test_a_reader_may_refuse_to_wait": "only transactions may refuse to wait",
    "test_create_table_as_refuses_to_wait": "only transactions may refuse to wait",
    "test_who_waited_goes_on_with_a_new_snapshot": "the transaction that waited keeps the locks",
}
"""The promises that a Hive metastore does not keep, and why."""


class OnHive:
    """Opens a Hive metastore for a contract."""

    version = "4.0.1"

    @pytest.fixture
    def open_store(self, tmp_path: Path, clock: Clock) -> Iterator[OpenStore]:
        service = HiveService(tmp_path, self.version, clock=clock)
        stores = []

        def open_again(**options: object) -> HiveMetastore:
            user = str(options.get("user", "me"))
            stores.append(
                HiveMetastore(
                    service.url,
                    (("127.0.0.1", service.port),),
                    access=Access(),
                    user=user,
                    answer_seconds=20,
                )
            )
            return stores[-1]

        yield open_again
        for store in stores:
            store.close()
        service.close()


class TestTxnManager(
    OnHive,
    SnapshotContract,
    EndContract,
    ConflictContract,
    LockContract,
    LockEndContract,
    ThreadContract,
):
    """Its transactions and locks."""


class TestCatalog(OnHive, CatalogContract):
    """Its databases, tables and partitions."""

    version = "3.0"


for _name in NOT_KEPT:
    for _contract in (TestTxnManager, TestCatalog):
        setattr(_contract, _name, None)
