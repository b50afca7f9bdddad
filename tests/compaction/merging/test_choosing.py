"""Which directories a compaction takes, and what its outputs are called."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.acid.ids import ValidCompactorWriteIdList, WriteId
from acidsql.acid.listed import AcidDirectory, FileEntry
from acidsql.acid.snapshot import choose
from acidsql.catalog.model import Bucketing, Column, SortColumn, Table, TableName
from acidsql.catalog.types import PrimitiveType
from acidsql.compaction.merging.choosing import (
    Inputs,
    choose_inputs,
    is_enough,
    refusal,
    under_own_write_id,
)
from acidsql.txn.compactions import CompactionType
from tests.acid.test_snapshot import MARKERS, entry

MAJOR, MINOR, REBALANCE = CompactionType.MAJOR, CompactionType.MINOR, CompactionType.REBALANCE


def seen(*names: str, top: int = 9, marked: bool = False) -> AcidDirectory:
    """What a compactor sees of directories, and of originals by their file names."""
    files = [entry(n if n.startswith("0") else f"{n}/bucket_00000") for n in names]
    write_ids = ValidCompactorWriteIdList(table="db.t", high_watermark=WriteId(top))
    marker = MARKERS["compacted"] if marked else None
    return choose(files, write_ids, is_original=lambda _: False, read_marker=lambda _: marker)


def chosen(
    kind: CompactionType, *names: str, top: int = 9, most: int | None = None
) -> Inputs | None:
    return choose_inputs(seen(*names, top=top), kind, WriteId(top), max_deltas=most)


def test_outputs_are_called_as_hives(shared: Path) -> None:
    """Hive 3's names of the outputs, for every layout that has enough to compact."""
    cases = json.loads((shared / "vectors" / "acid_state.json").read_text(encoding="utf-8"))
    compared = 0
    for case in (c for c in cases["cases"] if "hive3" in c.get("compaction_names", {})):
        write_ids = ValidCompactorWriteIdList.parse(case["writeids"])
        files = [FileEntry(path=path, size=1, mtime_ns=0) for path in case["files"]]
        directory = choose(files, write_ids, is_original=lambda _: False)
        names = case["compaction_names"]["hive3"]
        for kind, words in (
            (MAJOR, ["mr_major"]),
            (MINOR, ["mr_minor_delta", "mr_minor_delete_delta"]),
        ):
            inputs = choose_inputs(directory, kind, write_ids.high_watermark)
            if inputs is not None:
                assert [str(name) for name in inputs.outputs] == [names[word] for word in words]
                compared += 1
    assert compared >= 8


@pytest.mark.parametrize(
    ("names", "minor", "major"),
    [
        (("delta_1_1_0000",), False, False),
        (("delta_1_1_0000", "delete_delta_1_1_0000"), False, True),
        (("delta_1_1_0000", "delta_2_2_0000"), True, True),
        (("delete_delta_2_2_0000", "delete_delta_3_3_0000", "base_1"), True, True),
        (("base_3",), False, False),
        (("base_3", "delta_4_4_0000"), False, True),
        (("000000_0",), False, True),
        (("000000_0", "delta_4_4_0000"), False, True),
        ((), False, False),
    ],
)
def test_enough_as_hive_says(names: tuple[str, ...], minor: bool, major: bool) -> None:
    """What is enough for a compaction; a rebalance needs no more than rows."""
    directory = seen(*names)
    assert (is_enough(directory, MINOR), is_enough(directory, MAJOR)) == (minor, major)
    assert is_enough(directory, REBALANCE) == bool(names)


def test_ranges() -> None:
    """A minor compaction leaves the base and the originals out, a major one takes all."""
    names = ("000000_0", "base_2", "delta_4_4_0000", "delete_delta_7_7_0000")
    minor, major = chosen(MINOR, *names), chosen(MAJOR, *names)
    assert minor is None
    assert major is not None
    assert str(major.base) == "base_0000007"
    assert major.paths == ("base_2", "delta_4_4_0000", "delete_delta_7_7_0000")
    more = chosen(MINOR, *names, "delta_9_9_0000")
    assert more is not None
    assert more.paths == ("delta_4_4_0000", "delete_delta_7_7_0000", "delta_9_9_0000")
    assert str(more.delta) == "delta_0000004_0000009"
    originals = chosen(MAJOR, "000000_0", "000001_0")
    assert originals is not None
    assert str(originals.base) == "base_-9223372036854775808"


def test_a_base_alone_is_rebalanced_under_another_write_id() -> None:
    """One that is above all that is there; with deltas beside it it needs none."""
    alone = under_own_write_id(seen("base_9"), WriteId(10))
    assert alone is not None
    assert alone.has_own_write_id
    assert (str(alone.base), alone.paths) == ("base_0000010", ("base_9",))
    assert under_own_write_id(seen("base_9"), WriteId(9)) is None
    assert under_own_write_id(seen("base_8", "delta_9_9_0000"), WriteId(10)) is None
    assert under_own_write_id(seen(), WriteId(10)) is None


def test_a_taken_name_is_not_enough() -> None:
    """A rebalance of nothing but a base is called after a later write id of the table."""
    assert chosen(REBALANCE, "base_9") is None
    later = chosen(REBALANCE, "base_5")
    assert later is not None
    assert str(later.base) == "base_0000009"


@given(
    st.lists(st.sampled_from("id"), min_size=1, max_size=9),
    st.integers(1, 9),
)
def test_steps_keep_ranges_together(kinds: list[str], most: int) -> None:
    """However few directories may be taken at once, steps make progress, never tear a write id
    apart, and come to one range.
    """
    names = []
    for number, kind in enumerate(kinds, 1):
        names.append(f"delta_{number}_{number}_0000")
        if kind == "d":
            names.append(f"delete_delta_{number}_{number}_0000")
    steps = 0
    while (inputs := chosen(MINOR, *names, most=most)) is not None:
        taken = {path.removeprefix("delete_").rsplit("_", 1)[0] for path in inputs.paths}
        left = [name for name in names if name not in inputs.paths]
        assert not any(name.removeprefix("delete_").rsplit("_", 1)[0] in taken for name in left)
        outputs = [str(inputs.delta)]
        if any(path.startswith("delete_") for path in inputs.paths):
            outputs.append(str(inputs.delete_delta))
        names = [*left, *outputs]
        steps += 1
        assert steps < 20
    ranges = {name.removeprefix("delete_") for name in names}
    assert len(ranges) == 1


def table(bucketing: Bucketing | None, **properties: str) -> Table:
    return Table(
        name=TableName("db", "t"),
        columns=(Column(name="id", type=PrimitiveType("int")),),
        location="/t",
        bucketing=bucketing,
        properties={"transactional": "true", **properties},
    )


def test_refusals() -> None:
    """Sorted tables, and the rebalance of buckets that were asked for, in Hive's words."""
    buckets = Bucketing(columns=("id",), count=2)
    sorted_buckets = Bucketing(columns=("id",), count=2, sorted_by=(SortColumn(name="id"),))
    words = "Attempt to compact sorted table db.t, which is not yet supported!"
    assert refusal(table(sorted_buckets), MAJOR) == words
    assert refusal(table(buckets), MAJOR) is None
    assert (
        refusal(table(buckets), REBALANCE)
        == "Cannot execute rebalancing compaction on bucketed tables."
    )
    plain = table(buckets, transactional_properties="insert_only")
    assert refusal(plain, REBALANCE) is None
    assert refusal(table(None), REBALANCE) is None
