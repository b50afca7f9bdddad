"""Valid transaction and write id lists, against the answers of Hive's classes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.acid.ids import (
    RangeResponse,
    TxnId,
    ValidCleanerWriteIdList,
    ValidCompactorWriteIdList,
    ValidTxnList,
    ValidTxnWriteIdList,
    ValidWriteIdList,
    WriteId,
)
from acidsql.errors import FormatError

AnyList = ValidTxnList | ValidWriteIdList
PARSERS: dict[str, Callable[[str], AnyList]] = {
    "ValidReadTxnList": ValidTxnList.parse,
    "ValidReaderWriteIdList": ValidWriteIdList.parse,
    "ValidCompactorWriteIdList": ValidCompactorWriteIdList.parse,
    "ValidCleanerWriteIdList": ValidCleanerWriteIdList.parse,
}
OURS = {
    ("t:10:11:11:", "isWriteIdRangeValid", "10-11"): (
        "SOME",
        "Hive counts an exception above the high watermark twice; id 10 is valid",
    ),
    ("t:5:3:3:7", "isWriteIdRangeValid", "5-10"): (
        "SOME",
        "Hive counts an exception above the high watermark twice; id 5 is valid",
    ),
    ("t:10:4:4:2", "isWriteIdAborted", "4"): (
        False,
        "Hive's compactor list takes every exception for aborted; id 4 is open",
    ),
    ("t:9223372036854775807:9223372036854775807::", "isValidBase", "9223372036854775807"): (
        True,
        "Long.MAX is no id, but a limit",
    ),
}
"""What a correct list answers where Hive does not, and why."""


@pytest.fixture(scope="module")
def cases(shared: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(
        (shared / "vectors" / "valid_write_ids.json").read_text(encoding="utf-8")
    )["cases"]
    return found


def ids_of(key: str) -> Iterable[int]:
    if key.startswith("-"):
        return [int(key)]
    return map(int, key.split("-"))


def answer(ids: Any, question: str, key: str) -> bool | str:
    name = question.replace("WriteId", "").replace("Txn", "")
    method = {
        "isValid": "is_valid",
        "isAborted": "is_aborted",
        "isValidBase": "is_valid_base",
        "isRangeValid": "range_valid",
        "isRangeAborted": "range_aborted",
    }[name]
    found: bool | RangeResponse = getattr(ids, method)(*ids_of(key))
    return found.name if isinstance(found, RangeResponse) else found


def test_answers_as_hive(cases: list[dict[str, Any]]) -> None:
    """Every answer of Hive's lists, in the words of Hive 4 where the versions differ, but for the
    named exceptions.
    """
    used = set()
    for case in (c for c in cases if c["list_class"] in PARSERS):
        want = case.get("both") or case["hive4"]
        if "error" in want:
            with pytest.raises(FormatError):
                PARSERS[case["list_class"]](case["text"])
            continue
        ids = PARSERS[case["list_class"]](case["text"])
        assert str(ids) == want["write_to_string"]
        assert (ids.high_watermark, ids.min_open, list(ids.exceptions)) == (
            want["high_watermark"],
            want["min_open"],
            want["invalid"],
        )
        for question in (q for q in want if q.startswith("is")):
            for key, hives in want[question].items():
                place = (case["text"], question, key)
                used.add(place)
                expected = OURS[place][0] if place in OURS else hives
                assert answer(ids, question, key) == expected, (case["list_class"], *place)
    assert used.issuperset(OURS)


def test_lists_of_several_tables(cases: list[dict[str, Any]]) -> None:
    """All lists of one transaction are kept; their order has no meaning (Hive's is a
    hash order).
    """
    for case in (c for c in cases if c["list_class"] == "ValidTxnWriteIdList"):
        found = ValidTxnWriteIdList.parse(case["text"])
        assert sorted(str(found).split("$")) == sorted(case["both"]["to_string"].split("$"))
        assert {one.table: str(one) for one in found.lists} == case["both"]["tables"]


small_ids = st.frozensets(st.integers(1, 30), max_size=12)


@st.composite
def write_id_lists(draw: st.DrawFn) -> ValidWriteIdList:
    top = draw(st.integers(0, 30))
    still_open = {i for i in draw(small_ids) if i <= top}
    aborted = {i for i in draw(small_ids) if i <= top} - still_open
    return ValidWriteIdList(
        table="db.t",
        high_watermark=WriteId(top),
        open=tuple(map(WriteId, still_open)),
        aborted=tuple(map(WriteId, aborted)),
    )


@st.composite
def txn_lists(draw: st.DrawFn) -> ValidTxnList:
    ids = draw(write_id_lists())
    return ValidTxnList(
        high_watermark=TxnId(ids.high_watermark),
        open=tuple(map(TxnId, ids.open)),
        aborted=tuple(map(TxnId, ids.aborted)),
    )


ranges = st.tuples(st.integers(1, 35), st.integers(0, 10)).map(
    lambda pair: (WriteId(pair[0]), WriteId(pair[0] + pair[1]))
)


@given(ids=write_id_lists())
def test_write_id_lists_round_trip(ids: ValidWriteIdList) -> None:
    """The text form loses nothing."""
    assert ValidWriteIdList.parse(str(ids)) == ids
    compactors = ValidCompactorWriteIdList.of(ids)
    assert ValidCompactorWriteIdList.parse(str(compactors)) == compactors


@given(ids=txn_lists())
def test_txn_lists_round_trip(ids: ValidTxnList) -> None:
    """Nor does that of transactions, runs included."""
    assert ValidTxnList.parse(str(ids)) == ids


@given(ids=write_id_lists(), span=ranges)
def test_ranges_agree_with_single_ids(ids: ValidWriteIdList, span: tuple[WriteId, WriteId]) -> None:
    """The answer for a range is what its ids say one by one."""
    each = [WriteId(i) for i in range(span[0], span[1] + 1)]
    assert ids.range_valid(*span) is response(map(ids.is_valid, each))
    assert ids.range_aborted(*span) is response(
        i <= ids.high_watermark and ids.is_aborted(i) for i in each
    )
    assert ids.all_valid(*span) == all(map(ids.is_valid, each))


@given(ids=write_id_lists())
def test_a_compactor_sees_decided_ids_only(ids: ValidWriteIdList) -> None:
    """Below a compactor's high watermark nothing is open, and what is valid there is valid for
    readers.
    """
    compactors = ValidCompactorWriteIdList.of(ids)
    assert not any(i <= compactors.high_watermark for i in ids.open)
    for i in range(1, compactors.high_watermark + 1):
        assert compactors.is_valid(WriteId(i)) == ids.is_valid(WriteId(i))


@given(ids=write_id_lists(), write_id=st.integers(1, 35).map(WriteId))
def test_a_valid_base_has_nothing_open_below(ids: ValidWriteIdList, write_id: WriteId) -> None:
    """A compacted base is readable exactly when every id up to its own is decided for
    the reader.
    """
    assert ids.is_valid_base(write_id) == (
        write_id <= ids.high_watermark and not any(i <= write_id for i in ids.open)
    )


@pytest.mark.parametrize(
    "text", ["", "t", "t:x:1::", "t:1:1:2;3:", "t:1:1:-2:", "t:1:1:::", "t: 1:1::", "t:1:1:٣:"]
)
def test_refuses_other_texts(text: str) -> None:
    """A list that is not understood is an error, never an empty list (which would make everything
    visible).
    """
    with pytest.raises(FormatError):
        ValidWriteIdList.parse(text)


def response(answers: Iterable[bool]) -> RangeResponse:
    found = list(answers)
    return (
        RangeResponse.ALL
        if all(found)
        else RangeResponse.SOME
        if any(found)
        else RangeResponse.NONE
    )
