"""Thrift's binary protocol: what is written is read again, what servers write is read as they mean it,
and no bytes whatever do anything but give a value or a WireError.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.metastore.hive.calls.reading import GET_TABLE, GET_VALID_WRITE_IDS, PARTITION, TABLE
from acidsql.metastore.hive.protocol import (
    BINARY,
    BOOL,
    I16,
    I32,
    I64,
    TEXT,
    Decoder,
    Kind,
    ListOf,
    MapOf,
    Struct,
    WireError,
    encode,
    encode_call,
)
from tests.attach import thrift_bytes
from tests.attach.thrift_bytes import SET, Asked, Said, many, mapping, number, record, text, texts

SCALARS: dict[Kind, st.SearchStrategy[Any]] = {
    TEXT: st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    BINARY: st.binary(max_size=12),
    BOOL: st.booleans(),
    I16: st.integers(-(2**15), 2**15 - 1),
    I32: st.integers(-(2**31), 2**31 - 1),
    I64: st.integers(-(2**63), 2**63 - 1),
}


def structs(of: st.SearchStrategy[Kind]) -> st.SearchStrategy[Struct]:
    fields = st.dictionaries(st.integers(1, 2**15 - 1), of, max_size=4)
    return fields.map(
        lambda kinds: Struct(fields={place: (f"f{place}", one) for place, one in kinds.items()})
    )


KINDS: st.SearchStrategy[Kind] = st.recursive(
    st.sampled_from(list(SCALARS)),
    lambda of: (
        st.builds(lambda item: ListOf(item=item), of)
        | st.builds(lambda value: MapOf(key=TEXT, value=value), of)
        | structs(of)
    ),
    max_leaves=8,
)


def values(kind: Kind) -> st.SearchStrategy[Any]:
    match kind:
        case ListOf():
            return st.lists(values(kind.item), max_size=4)
        case MapOf():
            return st.dictionaries(SCALARS[kind.key], values(kind.value), max_size=3)
        case Struct():
            optional = {name: values(of) for name, of in kind.fields.values()}
            return st.fixed_dictionaries({}, optional=optional)
        case _:
            return SCALARS[kind]


def by_pieces(raw: bytes, size: int) -> Callable[[], bytes]:
    """What a socket gives: pieces of at most so many bytes, and an error behind the last."""
    pieces = (raw[at : at + size] for at in range(0, len(raw), size))

    def receive() -> bytes:
        piece = next(pieces, b"")
        if not piece:
            raise ConnectionError
        return piece

    return receive


KINDS_WITH_VALUES = KINDS.flatmap(lambda kind: st.tuples(st.just(kind), values(kind)))


@given(KINDS_WITH_VALUES, st.integers(1, 40))
def test_what_is_written_is_read_again(case: tuple[Kind, Any], size: int) -> None:
    """In whatever pieces it comes, to its last byte."""
    kind, value = case
    decoder = Decoder(by_pieces(encode(kind, value), size))
    assert decoder.value(kind) == value
    assert not decoder.has_more


@given(KINDS_WITH_VALUES, st.integers(1, 40))
def test_what_nobody_names_is_read_over(case: tuple[Kind, Any], size: int) -> None:
    """Whatever it is, twice as well, and what stands behind it is read."""
    kind, value = case
    written = Struct(fields={1: ("a", kind), 2: ("b", ListOf(item=kind)), 3: ("c", ListOf(item=kind)), 4: ("end", TEXT)})  # fmt: skip
    raw = encode(written, {"a": value, "b": [value] * 3, "c": [value] * 3, "end": "here"})
    decoder = Decoder(by_pieces(raw, size))
    assert decoder.value(Struct(fields={4: ("end", TEXT)})) == {"end": "here"}
    assert not decoder.has_more


@given(KINDS_WITH_VALUES)
def test_others_read_what_is_written(case: tuple[Kind, Any]) -> None:
    """The tests' own reader gives the same values, under the numbers of their fields."""
    kind, value = case
    raw = iter(encode(kind, value))
    assert Asked(lambda size: bytes(next(raw) for _ in range(size))).value(kind.code) == as_sent(kind, value)  # fmt: skip


def as_sent(kind: Kind, value: Any) -> Any:
    match kind:
        case ListOf():
            return [as_sent(kind.item, one) for one in value]
        case MapOf():
            return {key.encode(): as_sent(kind.value, one) for key, one in value.items()}
        case Struct():
            return {place: as_sent(of, value[name]) for place, (name, of) in kind.fields.items() if name in value}  # fmt: skip
        case _:
            return value.encode() if kind == TEXT else value


def said() -> Said:
    """A table as a server tells it, with fields of all types that nobody asks for."""
    column = record({1: text("id"), 2: text("int"), 3: text("größe")})
    other = record({1: text("amount"), 2: text("decimal(10,2)")})
    storage = record(
        {
            1: many([column, other]),
            2: text("hdfs://nn/w/t"),
            5: number("bool", True),
            6: number("i32", -1),
            7: record({2: text("OrcSerde"), 3: mapping({"a": "b"})}),
            8: texts([]),
            9: many([record({1: text("id"), 2: number("i32", 1)})]),
        }
    )
    return record(
        {
            1: text("t"), 2: text("sales"), 4: number("i32", 1_700_000_000), 7: storage, 8: many([], 12),
            9: mapping({"transactional": "true", "": "x"}), 13: record({1: many([text("x")], of=SET), 2: number("double", 0.5)}),
            22: number("byte", 8), 25: number("i64", 2**40), 30: number("i16", -3),
        }
    )  # fmt: skip


@given(st.integers(1, 400))
def test_a_servers_table_is_read(size: int) -> None:
    """Fields by their numbers, whatever lies between them."""
    table = Decoder(by_pieces(said().raw, size)).value(TABLE)
    assert table == {
        "tableName": "t", "dbName": "sales", "createTime": 1_700_000_000, "partitionKeys": [],
        "parameters": {"transactional": "true", "": "x"}, "id": 2**40,
        "sd": {
            "cols": [{"name": "id", "type": "int", "comment": "größe"}, {"name": "amount", "type": "decimal(10,2)"}],
            "location": "hdfs://nn/w/t", "numBuckets": -1, "serdeInfo": {"serializationLib": "OrcSerde"}, "bucketCols": [],
            "sortCols": [{"col": "id", "order": 1}],
        },
    }  # fmt: skip


@given(st.lists(st.sampled_from("abc"), max_size=12), st.integers(1, 4000))
def test_partitions_repeat_the_columns_of_their_table(of: list[str], size: int) -> None:
    """Lists that nobody asks for are read over at once where they are the same as before, and not
    where they only begin alike.
    """
    columns = {
        one: many([record({1: text(f"{one}{at}"), 2: text("int")}) for at in range(9)])
        for one in "ab"
    }
    columns["c"] = many([record({1: text(f"a{at}"), 2: text("int")}) for at in range(10)])
    raw = many(
        [
            record({1: texts([str(at)]), 6: record({1: columns[one], 2: text(f"/t/{at}")})})
            for at, one in enumerate(of)
        ],
        12,
    ).raw
    read = Decoder(by_pieces(raw, size)).value(ListOf(item=PARTITION))
    assert read == [{"values": [str(at)], "sd": {"location": f"/t/{at}"}} for at in range(len(of))]


def test_calls_are_messages() -> None:
    """As a server reads them."""
    request = {"dbName": "sales", "tblName": "t", "capabilities": {"values": [2]}, "catName": None}
    raw = iter(encode_call("get_table_req", 7, GET_TABLE.arguments, {"req": request}))
    asked = Asked(lambda size: bytes(next(raw) for _ in range(size))).message()
    assert asked == ("get_table_req", 7, {1: {1: b"sales", 2: b"t", 3: {1: [2]}}})
    assert next(raw, None) is None


@given(st.binary(max_size=200))
def test_no_bytes_do_anything_else(raw: bytes) -> None:
    """A value, or WireError, or the end of what came; of messages that begin right as well."""
    answer = GET_VALID_WRITE_IDS.answer
    for of in (raw, thrift_bytes.message(2, "m", 1, Said(12, raw))):
        decoder = Decoder(by_pieces(of, 7))
        with suppress(WireError, ConnectionError):
            decoder.head()
            decoder.value(answer)


@given(st.data())
def test_spoiled_answers_are_no_others(data: st.DataObject) -> None:
    """A changed byte gives another value or an error, never anything else."""
    raw = bytearray(said().raw)
    raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    with suppress(WireError, ConnectionError):
        Decoder(by_pieces(bytes(raw), 64)).value(TABLE)


def huge() -> Iterator[tuple[str, bytes]]:
    most = b"\x7f\xff\xff\xff"
    yield "a string", b"\x0b\x00\x01" + most
    yield "a negative one", b"\x0b\x00\x01\xff\xff\xff\xff"
    yield "columns", b"\x0c\x00\x07\x0f\x00\x01\x0c" + most
    yield "properties", b"\x0d\x00\x09\x0b\x0b" + most
    yield "a list that nobody asks for", b"\x0f\x00\x63\x0c" + most
    yield "a map that nobody asks for", b"\x0d\x00\x63\x0b\x0b" + most


@pytest.mark.parametrize(("what", "raw"), list(huge()), ids=lambda one: one if isinstance(one, str) else "")  # fmt: skip
def test_sizes_are_not_believed(what: str, raw: bytes) -> None:
    """Nothing is reserved for what a server only says that it has."""
    tracemalloc.start()
    try:
        with pytest.raises(WireError):
            Decoder(by_pieces(raw + b"\x00" * 100, 1 << 16)).value(TABLE)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_a_message_has_a_limit() -> None:
    """Of its bytes, and of what many small values cost in memory."""
    columns = b"\x0f\x00\x01\x0c" + (100_000).to_bytes(4, "big")
    with pytest.raises(WireError, match="longer than any"):
        Decoder(by_pieces(b"\x0b" * 5000, 100), limit=1000).take(4000)
    for limit, is_read in ((1 << 20, False), (1 << 26, True)):
        raw = b"\x0c\x00\x07" + columns + b"\x00" * 100_002
        decoder = Decoder(by_pieces(raw, 1 << 16), limit=limit)
        if is_read:
            assert len(decoder.value(TABLE)["sd"]["cols"]) == 100_000
        else:
            with pytest.raises(WireError, match="longer than any"):
                decoder.value(TABLE)


def test_levels_have_a_limit() -> None:
    """A struct in a struct in a struct, without end."""
    with pytest.raises(WireError, match="levels"):
        Decoder(by_pieces(b"\x0c\x00\x63" * 10_000, 1 << 16)).value(TABLE)
