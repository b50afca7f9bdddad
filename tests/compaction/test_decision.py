"""When a table or partition is to be compacted: by facts alone, as Hive 4 decides."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.acid.ids import ValidCompactorWriteIdList, WriteId
from acidsql.acid.listed import FileEntry
from acidsql.acid.snapshot import choose
from acidsql.catalog.model import Table, TableName
from acidsql.compaction.decision import Facts, Thresholds, decide, facts_of
from acidsql.errors import ProgrammingError
from acidsql.settings import Settings
from acidsql.txn.compactions import CompactionType

MAJOR, MINOR = CompactionType.MAJOR, CompactionType.MINOR
DEFAULTS = Thresholds(
    deltas=10,
    share=0.1,
    aborted_txns=1000,
    aborted_seconds=12 * 3600,
    by_cleaner=True,
    by_query=False,
)
HIVES = replace(DEFAULTS, by_cleaner=False)
QUERIES = replace(DEFAULTS, by_query=True)
BASE = Facts(
    base_bytes=1000,
    delta_bytes=0,
    deltas=0,
    obsolete_bases=0,
    originals=0,
    raw_deltas=0,
    insert_only=False,
)


def facts(**changed: object) -> Facts:
    return replace(BASE, **changed)  # type: ignore[arg-type]


CASES = [
    ("nothing but a base", facts(), DEFAULTS, None),
    ("no files at all", facts(base_bytes=0), DEFAULTS, None),
    ("as many deltas as allowed", facts(deltas=10, delta_bytes=50), DEFAULTS, None),
    ("one delta more", facts(deltas=11, delta_bytes=50), DEFAULTS, MINOR),
    ("deltas of exactly the share", facts(deltas=2, delta_bytes=100), DEFAULTS, None),
    ("deltas of more than the share", facts(deltas=2, delta_bytes=101), DEFAULTS, MAJOR),
    ("few deltas and no base", facts(base_bytes=0, deltas=10, delta_bytes=99), DEFAULTS, None),
    ("many deltas and no base", facts(base_bytes=0, deltas=11, delta_bytes=99), DEFAULTS, MAJOR),
    ("many deltas, all empty, and no base", facts(base_bytes=0, deltas=11), DEFAULTS, MINOR),
    ("an obsolete base and no deltas", facts(obsolete_bases=1), DEFAULTS, MAJOR),
    ("a truncated base on an older", facts(base_bytes=0, obsolete_bases=1), DEFAULTS, MAJOR),
    (
        "an obsolete base and deltas",
        facts(obsolete_bases=1, deltas=1, delta_bytes=1),
        DEFAULTS,
        None,
    ),
    ("originals alone", facts(originals=2), DEFAULTS, None),
    ("originals beside a delta", facts(originals=2, deltas=1, delta_bytes=1), DEFAULTS, MAJOR),
    (
        "files of an insert-only table are no originals",
        facts(originals=2, deltas=1, delta_bytes=1, insert_only=True),
        DEFAULTS,
        None,
    ),
    (
        "many deltas of an insert-only table",
        facts(deltas=11, delta_bytes=1, insert_only=True),
        QUERIES,
        MINOR,
    ),
    ("loaded files, by jobs", facts(raw_deltas=1, deltas=11, delta_bytes=1), DEFAULTS, MINOR),
    ("loaded files, by queries", facts(raw_deltas=1, deltas=11, delta_bytes=1), QUERIES, MAJOR),
    (
        "aborted ones are the cleaner's",
        facts(aborted_txns=5000, oldest_aborted=1e9),
        DEFAULTS,
        None,
    ),
    ("as many aborted as allowed", facts(aborted_txns=1000), HIVES, None),
    ("one aborted more", facts(aborted_txns=1001), HIVES, MAJOR),
    ("an aborted one as old as allowed", facts(oldest_aborted=43200.0), HIVES, None),
    ("an older aborted one", facts(oldest_aborted=43201.0), HIVES, MINOR),
    (
        "age is no matter where it is negative",
        facts(oldest_aborted=1e9),
        replace(HIVES, aborted_seconds=-1),
        None,
    ),
]


@pytest.mark.parametrize(
    ("case", "thresholds", "expected"),
    [pytest.param(given_, t, e, id=name.replace(" ", "-")) for name, given_, t, e in CASES],
)
def test_a_decision_is_hives(
    case: Facts, thresholds: Thresholds, expected: CompactionType | None
) -> None:
    """Each case of Hive's rules, at its threshold and just above, is decided as Hive decides it."""
    decision = decide(case, thresholds)

    assert decision.type is expected
    assert decision.why


FACTS = st.builds(
    Facts,
    base_bytes=st.integers(0, 2000),
    delta_bytes=st.integers(0, 2000),
    deltas=st.integers(0, 40),
    obsolete_bases=st.integers(0, 2),
    originals=st.integers(0, 2),
    raw_deltas=st.integers(0, 2),
    insert_only=st.booleans(),
    aborted_txns=st.integers(0, 40),
    oldest_aborted=st.none() | st.floats(0, 100),
)
THRESHOLDS = st.builds(
    Thresholds,
    deltas=st.integers(0, 20),
    share=st.floats(0, 2),
    aborted_txns=st.integers(0, 20),
    aborted_seconds=st.floats(-1, 100),
    by_cleaner=st.booleans(),
    by_query=st.booleans(),
)


@given(FACTS, THRESHOLDS)
def test_no_threshold_is_left_crossed(facts: Facts, thresholds: Thresholds) -> None:
    """Whatever is not compacted is at or below every threshold, and what is above one is."""
    crossed = (
        facts.deltas > thresholds.deltas
        or (facts.base_bytes > 0 and facts.delta_bytes / facts.base_bytes > thresholds.share)
        or (facts.obsolete_bases > 0 and not facts.delta_bytes)
        or (facts.originals > 0 and facts.deltas > 0 and not facts.insert_only)
        or (
            not thresholds.by_cleaner
            and (
                facts.aborted_txns > thresholds.aborted_txns
                or (
                    facts.oldest_aborted is not None
                    and 0 <= thresholds.aborted_seconds < facts.oldest_aborted
                )
            )
        )
    )

    assert (decide(facts, thresholds).type is not None) == crossed


@given(FACTS, THRESHOLDS, st.integers(1, 50))
def test_more_deltas_never_make_a_compaction_less_due(
    facts: Facts, thresholds: Thresholds, more: int
) -> None:
    """A table that is to be compacted still is when deltas of the same size have come."""
    if decide(facts, thresholds).type is not None:
        assert decide(replace(facts, deltas=facts.deltas + more), thresholds).type is not None


def table(**properties: str) -> Table:
    return Table(
        name=TableName("default", "t"),
        columns=(),
        location="/w/t",
        properties={"transactional": "true", **properties},
    )


def test_a_table_overrides_two_thresholds() -> None:
    """``compactorthreshold.`` properties stand for the settings that Hive lets a table override,
    and for no other.
    """
    own = {
        "compactorthreshold.hive.compactor.delta.num.threshold": "3",
        "compactorthreshold.hive.compactor.delta.pct.threshold": "0.5",
        "compactorthreshold.hive.compactor.abortedtxn.threshold": "7",
    }

    thresholds = Thresholds.of(Settings({"hive.compactor.delta.num.threshold": "20"}), table(**own))

    assert (thresholds.deltas, thresholds.share, thresholds.aborted_txns) == (3, 0.5, 1000)


def test_a_threshold_that_is_no_number_is_refused() -> None:
    """A table's override that is no number is an error, and not taken for the default."""
    own = {"compactorthreshold.hive.compactor.delta.num.threshold": "ten"}

    with pytest.raises(ProgrammingError, match="expects INT"):
        Thresholds.of(Settings(), table(**own))


def test_facts_are_of_what_a_compactor_sees() -> None:
    """Sizes and numbers are of the base and the deltas below the compactor's high watermark;
    a delta that an open transaction writes behind is in none of them.
    """
    listed = [
        FileEntry("base_0000001/bucket_00000", 10, 0),
        FileEntry("base_0000003/bucket_00000", 100, 0),
        FileEntry("delta_0000002_0000002_0000/bucket_00000", 7, 0),
        FileEntry("delta_0000004_0000004_0000/bucket_00000", 5, 0),
        FileEntry("delete_delta_0000004_0000004_0000/bucket_00000", 3, 0),
        FileEntry("delta_0000009_0000009_0000/bucket_00000", 900, 0),
    ]
    write_ids = ValidCompactorWriteIdList(
        table="default.t", high_watermark=WriteId(8), min_open=WriteId(9)
    )

    seen = facts_of(table(), choose(listed, write_ids))

    assert seen == facts(base_bytes=100, delta_bytes=8, deltas=2, obsolete_bases=1)
