"""The packed bucket property, against the values Hive's BucketCodec gave."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.acid.ids import (
    NO_STATEMENT,
    BucketId,
    BucketProperty,
    StatementId,
    bucket_ids,
    decode,
    encode,
)
from acidsql.errors import FormatError

buckets = st.integers(0, 4095).map(BucketId)
statements = st.integers(0, 4095).map(StatementId)
unversioned = st.one_of(st.integers(-(2**31), -1), st.integers(2**30, 2**31 - 1))


@pytest.fixture(scope="module")
def cases(shared: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(
        (shared / "vectors" / "bucket_codec.json").read_text(encoding="utf-8")
    )["cases"]
    return found


def test_encodes_as_hive(cases: list[dict[str, Any]]) -> None:
    """Version 1 values are Hive's; buckets above 4095, which Hive 4 can spill into the statement's
    bits, are refused.
    """
    for case in (c for c in cases if c["op"] == "encode" and c["codec"] == "V1"):
        spilled = "max_stmt" in case and case["bucket"] > 4095
        if "error" in case or spilled:
            with pytest.raises(FormatError):
                encode(case["bucket"], case["stmt"])
        else:
            assert encode(case["bucket"], case["stmt"]) == case["value"], case


def test_decodes_as_hive(cases: list[dict[str, Any]]) -> None:
    """Both codec versions are read, and every other version is refused."""
    for case in (c for c in cases if c["op"] == "decode"):
        if "error" in case:
            with pytest.raises(FormatError):
                decode(case["value"])
        else:
            assert decode(case["value"]) == BucketProperty(
                version=case["version"], bucket=case["bucket"], statement=case["stmt"]
            ), case


def test_reads_what_hive_4_spills(cases: list[dict[str, Any]]) -> None:
    """A value with a spilled bucket number still names the number of the file it lies in: the low
    12 bits.
    """
    for case in (
        c for c in cases if c["op"] == "encode" and c.get("max_stmt") is not None and "value" in c
    ):
        assert decode(case["value"]).bucket == case["bucket"] & 4095, case


@given(bucket=buckets, statement=statements)
def test_round_trip(bucket: BucketId, statement: StatementId) -> None:
    """What is encoded is decoded to the same."""
    assert decode(encode(bucket, statement)) == BucketProperty(
        version=1, bucket=bucket, statement=statement
    )


@given(bucket=buckets)
def test_no_statement_is_statement_zero(bucket: BucketId) -> None:
    """A writer without statement id and one with statement 0 give rows the same bucket property, as
    in Hive.
    """
    assert encode(bucket, NO_STATEMENT) == encode(bucket, StatementId(0))


@given(pairs=st.lists(st.tuples(buckets, statements)))
def test_order_is_bucket_then_statement(pairs: list[tuple[BucketId, StatementId]]) -> None:
    """Sorting the packed values sorts by bucket, then statement: files are sorted by the packed
    value.
    """
    assert sorted(encode(b, s) for b, s in pairs) == [encode(b, s) for b, s in sorted(pairs)]


@given(values=st.lists(st.integers(0, 2**30 - 1)))
def test_many_at_once(values: list[int]) -> None:
    """The vectorised bucket numbers are those of ``decode``."""
    assert bucket_ids(np.array(values, np.int32)).tolist() == [decode(v).bucket for v in values]


@given(values=st.lists(st.integers(0, 2**30 - 1)), wrong=unversioned)
def test_many_at_once_refuse_unknown_versions(values: list[int], wrong: int) -> None:
    """One value of a version nobody defined is named."""
    with pytest.raises(FormatError, match=f"bucket property {wrong} "):
        bucket_ids(np.array([*values, wrong], np.int32))
