"""Directory and file names, held against the language of grammar/names.lark."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.lark import from_lark
from lark import Lark
from lark.exceptions import LarkError

from acidsql.acid.ids import (
    NO_STATEMENT,
    Base,
    BucketId,
    DeleteDelta,
    Delta,
    DirectoryName,
    StatementId,
    TxnId,
    WriteId,
    base_name,
    bucket_file_name,
    delete_delta_name,
    delta_name,
    is_hidden,
    is_reserved,
    original_bucket,
    parse_bucket_file,
    parse_directory,
)

TEXT = (Path(__file__).resolve().parents[2] / "grammar" / "names.lark").read_text(encoding="utf-8")
READ: dict[str, Callable[[str], object]] = {
    "directory": parse_directory,
    "bucket_file": parse_bucket_file,
    "original_file": original_bucket,
}
LANGUAGES = {
    start: Lark(TEXT, start=start, parser="lalr")
    for start in (*READ, "written_directory", "written_bucket_file")
}

write_ids = st.integers(0, 10**18 - 1).map(WriteId)
statements = st.integers(0, 4095).map(StatementId)
txns = st.integers(0, 10**18 - 1).map(TxnId)


def generated(start: str) -> st.SearchStrategy[str]:
    return from_lark(LANGUAGES[start], start=start)


@st.composite
def nearly(draw: st.DrawFn, start: str) -> str:
    """A name of the language with one character lost, doubled or replaced."""
    name = draw(generated(start))
    place = draw(st.integers(0, len(name) - 1))
    middle = draw(st.sampled_from(["", name[place] * 2, *"0_v-. x٣", "\n", "copy"]))
    return name[:place] + middle + name[place + 1 :]


def accepts(start: str, name: str) -> bool:
    try:
        LANGUAGES[start].parse(name)
    except LarkError:
        return False
    return True


@pytest.mark.parametrize("start", READ)
def test_reads_every_name_of_the_language(start: str) -> None:
    """Each name that the grammar generates is parsed."""

    @given(name=generated(start))
    def check(name: str) -> None:
        assert READ[start](name) is not None

    check()


@pytest.mark.parametrize("start", READ)
def test_reads_no_other_name(start: str) -> None:
    """A name is parsed if and only if the grammar accepts it: padding, order of parts, foreign
    digits, line ends.
    """

    @given(name=nearly(start))
    def check(name: str) -> None:
        assert (READ[start](name) is not None) == accepts(start, name)

    check()


@pytest.mark.parametrize("start", ["written_directory", "written_bucket_file"])
def test_written_names_round_trip(start: str) -> None:
    """A canonical name is parsed and printed again letter by letter, so that Hive finds what it
    rebuilds from numbers.
    """

    @given(name=generated(start))
    def check(name: str) -> None:
        if start == "written_directory":
            assert str(parse_directory(name)) == name
        else:
            bucket = parse_bucket_file(name)
            assert bucket is not None
            assert bucket_file_name(bucket) == name

    check()


@given(
    low=write_ids,
    high=write_ids,
    statement=st.one_of(st.just(NO_STATEMENT), statements),
    bucket=st.integers(0, 4095),
)
def test_what_is_written_is_canonical(
    low: WriteId, high: WriteId, statement: StatementId, bucket: int
) -> None:
    """All names we make are in the half of the language that both Hive 3 and Hive 4 read."""
    for name in (
        base_name(low),
        delta_name(low, high, statement),
        delete_delta_name(low, high, statement),
    ):
        assert accepts("written_directory", name)
    assert accepts("written_bucket_file", bucket_file_name(BucketId(bucket)))


@given(
    name=st.one_of(
        st.builds(
            Base, write_id=st.one_of(write_ids, st.just(WriteId(-(2**63)))), visibility_txn_id=txns
        ),
        st.builds(
            Delta,
            min_write_id=write_ids,
            max_write_id=write_ids,
            statement_id=statements,
            visibility_txn_id=txns,
        ),
        st.builds(
            DeleteDelta, min_write_id=write_ids, max_write_id=write_ids, visibility_txn_id=txns
        ),
    )
)
def test_printed_names_parse_to_themselves(name: DirectoryName) -> None:
    """No part is lost between a directory's name and its parts, Hive 4's visibility included."""
    assert parse_directory(str(name)) == name


@given(name=generated("directory"), suffix=st.sampled_from(["", "0", "x", "_", "/bucket_00000"]))
def test_reserved_names(name: str, suffix: str) -> None:
    """Whatever looks like an ACID directory is reserved, also if it cannot be parsed, so that no
    reader takes it for something else.
    """
    assume(parse_directory(name + suffix) is not None or suffix)
    assert is_reserved(name + suffix)


@given(name=st.text(max_size=30))
def test_other_names_are_not_reserved(name: str) -> None:
    """A partition or plain directory is not taken for an ACID one."""
    assert is_reserved(name) == bool(re.match(r"base_|delta_|delete_delta_", name))


@pytest.mark.parametrize(
    "name", ["_orc_acid_version", "_tmp_1", ".hive-staging_hive_2026", "_metadata_acid"]
)
def test_hidden_names(name: str) -> None:
    """Names with a leading underscore or dot are no data."""
    assert is_hidden(name)
    assert not is_hidden("x" + name)
