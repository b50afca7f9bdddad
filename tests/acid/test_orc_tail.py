"""ORC tails: reading Hive's and others', and edits that only change what they say they change."""

from __future__ import annotations

import contextlib
import json
import re
import zlib
from collections.abc import Callable
from hashlib import sha512
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import orc

from acidsql.acid import orc_footer_pb2
from acidsql.acid.orc_footer_pb2 import Footer, PostScript, Type
from acidsql.acid.orc_tail import (
    FIRST_READ,
    OrcCodec,
    OrcTail,
    edit_tail,
    load_tail,
    pack,
    read_tail,
    unpack,
)
from acidsql.acid.orc_types import (
    EVENT_FIELDS,
    ROW_COLUMN,
    OrcKind,
    OrcType,
    decode_types,
    encode_types,
    event_type,
    struct_type,
)
from acidsql.errors import FormatError, InternalError
from acidsql.parser.grammar import grammar_file

CODECS = {
    "uncompressed": OrcCodec.NONE,
    "zlib": OrcCodec.ZLIB,
    "snappy": OrcCodec.SNAPPY,
    "lz4": OrcCodec.LZ4,
    "zstd": OrcCodec.ZSTD,
}
LONG, STRING = OrcType(kind=OrcKind.LONG), OrcType(kind=OrcKind.STRING)


def tail_of(data: bytes) -> OrcTail:
    return load_tail(lambda count: (data[-count:], len(data)), "f")


def apply_edit(data: bytes, metadata: dict[str, str], schema: OrcType | None = None) -> bytes:
    edit = edit_tail(tail_of(data), metadata, schema)
    return data[: edit.offset] + edit.data


def orc_bytes(table: pa.Table, **options: object) -> bytes:
    sink = pa.BufferOutputStream()
    orc.write_table(table, sink, **options)
    return sink.getvalue().to_pybytes()


def flat_table(rows: int = 5) -> pa.Table:
    ids = [
        pa.array([0] * rows, pa.int32()),
        *(pa.array(range(rows), t) for t in (pa.int64(), pa.int32(), pa.int64(), pa.int64())),
    ]
    empty = pa.array([{}] * rows, pa.struct([]))
    values = [
        pa.array([f"v{i}" for i in range(rows)]),
        pa.array([[{"a": i}] for i in range(rows)], pa.list_(pa.struct([("a", pa.int64())]))),
    ]
    return pa.Table.from_arrays([*ids, empty, *values], names=[*EVENT_FIELDS, "c0", "c1"])


@pytest.mark.parametrize("codec", CODECS)
def test_edit_keeps_the_rows(codec: str) -> None:
    """Under every codec the added keys come back and no value changes."""
    table = pa.table({"a": ["x", None, "z"], "b": [1.5, 2.5, None]})
    edited = apply_edit(
        orc_bytes(table, compression=codec), {"hive.acid.stats": "3,0,0", "k": "ü" * 300}
    )
    tail = tail_of(edited)
    assert tail.codec is CODECS[codec]
    assert tail.user_metadata == {"hive.acid.stats": "3,0,0", "k": "ü" * 300}
    assert orc.ORCFile(pa.BufferReader(edited)).read().equals(table)


@pytest.mark.parametrize("codec", CODECS)
def test_flat_columns_become_the_row(codec: str) -> None:
    """The data columns of a flat file become the children of ``row``, with declared names and
    types.
    """
    data = OrcType(kind=OrcKind.LIST, children=(struct_type(["x"], [LONG]),))
    row = struct_type(["bucket", "list"], [OrcType(kind=OrcKind.CHAR, maximum_length=4), data])
    edited = apply_edit(orc_bytes(flat_table(), compression=codec), {}, event_type(row))
    assert tail_of(edited).schema == event_type(row)
    events = orc.ORCFile(pa.BufferReader(edited)).read()
    assert events.column_names == list(EVENT_FIELDS)
    assert events.column("row").to_pylist() == [
        {"bucket": f"v{i}", "list": [{"x": i}]} for i in range(5)
    ]
    assert events.column("rowId").to_pylist() == [0, 1, 2, 3, 4]


def test_metadata_is_replaced_by_name() -> None:
    """A key that is set again has its last value once; other keys stay."""
    data = apply_edit(apply_edit(orc_bytes(pa.table({"a": [1]})), {"a": "1", "b": "2"}), {"b": "3"})
    assert tail_of(data).user_metadata == {"a": "1", "b": "3"}


def test_the_calendar_is_said() -> None:
    """ORC's footer field 11 is 2 for today's calendar; Arrow's writer leaves it out, and an edit
    says it only if it is asked to.
    """
    data = orc_bytes(pa.table({"a": [1]}))
    assert not Footer.FromString(tail_of(apply_edit(data, {"a": "1"})).footer).HasField("calendar")
    edit = edit_tail(tail_of(data), {"a": "1"}, proleptic=True)
    edited = tail_of(data[: edit.offset] + edit.data)
    assert Footer.FromString(edited.footer).calendar == 2
    assert (edited.user_metadata, edited.row_count, edited.schema) == (
        {"a": "1"},
        1,
        tail_of(data).schema,
    )


def test_types_that_do_not_fit_are_refused() -> None:
    """An edit cannot turn one kind of stream into another, nor lose a column."""
    data = orc_bytes(pa.table({"a": [1]}))
    for schema in (
        struct_type(["a"], [STRING]),
        struct_type(["a", "b"], [LONG, LONG]),
        struct_type([], []),
    ):
        with pytest.raises(InternalError, match="does not hold the columns"):
            edit_tail(tail_of(data), {}, schema)
    decimals = orc_bytes(pa.table({"a": pa.array([1], pa.decimal128(10, 2))}))
    with pytest.raises(InternalError):
        edit_tail(
            tail_of(decimals),
            {},
            struct_type(["a"], [OrcType(kind=OrcKind.DECIMAL, precision=10, scale=3)]),
        )


def test_zlib_footer_is_compressed() -> None:
    """A ZLIB file's footer is deflated again; a footer larger than the compression block is cut
    into several chunks.
    """
    wide = pa.table({sha512(bytes([i % 256, i // 256])).hexdigest(): [i] for i in range(600)})
    data = orc_bytes(wide, compression="zlib", compression_block_size=65536)
    assert tail_of(data).length > FIRST_READ, "more than one read is needed"
    edited = apply_edit(data, {"k": "v"})
    tail = tail_of(edited)
    first = int.from_bytes(edited[tail.offset : tail.offset + 3], "little")
    assert first & 1 == 0
    assert (
        len(zlib.decompress(edited[tail.offset + 3 : tail.offset + 3 + (first >> 1)], -15)) == 65536
    )
    assert orc.ORCFile(pa.BufferReader(edited)).read().equals(wide)


def test_stripes_and_statistics_are_read() -> None:
    """Row counts of the stripes, the number of rows and the range of an integer column come from
    the footer.
    """
    table = pa.table({"a": pa.array(range(-7, 30_000)), "s": [str(i) for i in range(30_007)]})
    tail = tail_of(orc_bytes(table, stripe_size=65536, row_index_stride=5000))
    assert len(tail.stripes) > 1
    assert sum(tail.stripes) == tail.row_count == 30_007
    assert tail.integer_range(1) == (-7, 29_999)
    assert tail.integer_range(2) is None
    assert tail.integer_range(9) is None


def test_short_reads_say_how_much_they_need() -> None:
    """With too few bytes the tail is short and names the number that is enough."""
    data = orc_bytes(pa.table({f"c{i}": [i] for i in range(100)}))
    short = read_tail(data[-100:], len(data), "f")
    assert short.short
    assert not read_tail(data[-short.length :], len(data), "f").short


def test_files_that_hive_wrote(shared: Path) -> None:
    """Every bucket file of Hive 3 and 4 shows the stripes, keys and schema that Hive itself says it
    has.
    """
    seen = 0
    for expected in sorted((shared / "vectors" / "fixtures").glob("*/*/expected.json")):
        for name, facts in json.loads(expected.read_text(encoding="utf-8"))["files"].items():
            data = (expected.parent / "table" / name).read_bytes()
            tail = load_tail(lambda count, data=data: (data[-count:], len(data)), name)
            assert list(tail.stripes) == facts["stripe_rows"]
            assert tail.user_metadata.get("hive.acid.key.index") == facts["key_index"]
            assert tail.user_metadata.get("hive.acid.stats") == facts["stats"]
            assert tail.codec.name == facts["compression"]
            assert str(tail.schema) == facts["orc_schema"]
            assert (
                tail.integer_range(ROW_COLUMN) is not None
                or tail.schema is None
                or tail.schema.names != EVENT_FIELDS
            )
            seen += 1
    assert seen


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: b"not an ORC file, only text",
        lambda data: data[:-1],
        lambda data: data[:-1] + b"\xff",
        lambda data: data[:-30] + bytes(10) + data[-20:],
        lambda data: data[-20:],
    ],
)
def test_damage_is_named(damage: Callable[[bytes], bytes]) -> None:
    """A broken tail is a FormatError with the file's name, never a wrong answer or
    another error.
    """
    data = damage(orc_bytes(pa.table({"a": [1, 2]}), compression="zlib"))
    with pytest.raises(FormatError, match='"/t/bucket_00000" is not a valid ORC file'):
        load_tail(lambda count: (data[-count:], len(data)), "/t/bucket_00000")


def test_a_footer_that_contradicts_itself_is_damage() -> None:
    """Rows that the stripes do not have, or a struct of more types than names: a file of which rows
    would be missed.
    """
    data = orc_bytes(pa.table({"a": [1, 2], "b": ["x", "y"]}), compression="uncompressed")
    tail = tail_of(data)
    assert tail_of(with_footer(data, Footer.FromString(tail.footer))).schema == tail.schema
    for damage in (no_rows, a_name_less, an_empty_name):
        footer = Footer.FromString(tail.footer)
        damage(footer)
        with pytest.raises(FormatError, match="not a valid ORC file"):
            tail_of(with_footer(data, footer))


def with_footer(data: bytes, footer: Footer, unknown: bytes = b"") -> bytes:
    """A file without compression with another footer; ``unknown`` fields come to stand before the
    postscript's magic.
    """
    tail, content = tail_of(data), footer.SerializeToString()
    postscript = PostScript.FromString(tail.postscript)
    postscript.footerLength = len(content)
    postscript.ClearField("magic")
    end = postscript.SerializeToString() + unknown + PostScript(magic="ORC").SerializeToString()
    return data[: tail.offset] + content + end + bytes([len(end)])


def no_rows(footer: Footer) -> None:
    footer.numberOfRows = 0


def a_name_less(footer: Footer) -> None:
    root = Type.FromString(footer.types[0])
    del root.fieldNames[-1]
    footer.types[0] = root.SerializeToString()


def an_empty_name(footer: Footer) -> None:
    root = Type.FromString(footer.types[0])
    root.fieldNames[-1] = ""
    footer.types[0] = root.SerializeToString()


def test_fields_without_a_name_are_kept() -> None:
    """What a later version of ORC puts into a footer, a stripe or a postscript is there after an
    edit, and the magic is still the end.
    """
    number, text = b"\xc8\x3e\x07", b"\xd2\x3e\x03new"  # fields 1001 and 1002
    data = orc_bytes(pa.table({"a": [1, 2]}), compression="uncompressed")
    content = tail_of(data).footer
    footer = Footer.FromString(content + number + text)
    footer.stripes[0].MergeFromString(text)
    edited = apply_edit(with_footer(data, footer, number), {"k": "v"}, struct_type(["b"], [LONG]))
    tail = tail_of(edited)
    assert tail.user_metadata == {"k": "v"}
    assert number in tail.footer
    assert tail.footer.count(text) == 2
    assert number in tail.postscript
    assert tail.postscript.endswith(b"ORC")
    assert orc.ORCFile(pa.BufferReader(edited)).read().to_pydict() == {"b": [1, 2]}


def test_the_generated_classes_are_those_of_the_grammar() -> None:
    """Each message and field of orc_footer.proto, with its number, and no other."""
    text = re.sub(r"//.*", "", grammar_file("orc_footer.proto"))
    written = {
        name: {
            field: int(number) for field, number in re.findall(r"(\w+) = (\d+)(?=;| \[)", fields)
        }
        for name, fields in re.findall(r"message (\w+) \{(.*?)\n\}", text, re.DOTALL)
    }
    messages = orc_footer_pb2.DESCRIPTOR.message_types_by_name
    assert {
        name: {f.name: f.number for f in message.fields} for name, message in messages.items()
    } == written


def test_stripes_that_are_not_there_are_damage() -> None:
    """A file that lost its beginning still has a footer; what that tells of is gone."""
    data = orc_bytes(pa.table({"a": [1, 2]}))
    with pytest.raises(FormatError, match="not a valid ORC file"):
        tail_of(data[tail_of(data).offset :])


def test_names_that_are_not_utf8() -> None:
    """A column's name of such bytes is damage; metadata of the writer's own is not looked into."""
    data = apply_edit(
        orc_bytes(pa.table({"column_a": [1, 2]}), compression="uncompressed"), {"key_a": "v"}
    )
    assert data.count(b"column_a") == data.count(b"key_a") == 1
    with pytest.raises(FormatError, match="not a valid ORC file"):
        tail_of(data.replace(b"column_a", b"column_\xe1"))
    tail = tail_of(data.replace(b"key_a", b"key_\xe1"))
    assert tail.user_metadata["key_\ufffd"] == "v"


@given(st.data(), st.sampled_from(["zlib", "uncompressed"]))
def test_random_damage_never_escapes(data: st.DataObject, codec: str) -> None:
    """Whatever bytes of a tail are changed, reading it gives a tail or a FormatError."""
    good = orc_bytes(pa.table({"a": [1, 2], "b": ["x", "y"]}), compression=codec)
    broken = bytearray(good)
    for _ in range(data.draw(st.integers(1, 4))):
        broken[data.draw(st.integers(len(good) - 250, len(good) - 1))] = data.draw(
            st.integers(0, 255)
        )
    with contextlib.suppress(FormatError):
        tail = tail_of(bytes(broken))
        assert all(isinstance(name, str) for name in (*tail.user_metadata, str(tail.schema)))


@given(st.binary(max_size=5000), st.sampled_from(OrcCodec), st.integers(1, 700))
def test_sections_come_back(data: bytes, codec: OrcCodec, block: int) -> None:
    """What is packed is unpacked, whatever the codec and block size."""
    assert unpack(pack(data, codec, block), codec) == data


PRIMITIVES = st.sampled_from(
    [
        k
        for k in OrcKind
        if k.name not in ("LIST", "MAP", "STRUCT", "UNION", "DECIMAL", "CHAR", "VARCHAR")
    ]
)
LEAVES = st.one_of(
    PRIMITIVES.map(lambda k: OrcType(kind=k)),
    st.integers(0, 38).map(lambda s: OrcType(kind=OrcKind.DECIMAL, precision=38, scale=s)),
    st.integers(1, 65535).map(lambda n: OrcType(kind=OrcKind.VARCHAR, maximum_length=n)),
)
TYPES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        inner.map(lambda t: OrcType(kind=OrcKind.LIST, children=(t,))),
        st.tuples(inner, inner).map(lambda c: OrcType(kind=OrcKind.MAP, children=c)),
        st.lists(st.tuples(st.text(min_size=1, max_size=5), inner), max_size=4).map(
            lambda f: struct_type([n for n, _ in f], [t for _, t in f])
        ),
    ),
    max_leaves=20,
)


@given(TYPES)
def test_types_come_back(root: OrcType) -> None:
    """A type tree survives its encoding in a footer."""
    assert decode_types(tuple(encode_types(root))) == root


@pytest.mark.parametrize(("precision", "scale"), [(0, 0), (39, 2), (8, 10)])
def test_impossible_decimals(precision: int, scale: int) -> None:
    """No reader could make values of them."""
    types = encode_types(OrcType(kind=OrcKind.DECIMAL, precision=precision, scale=scale))
    with pytest.raises(ValueError, match=rf"type 0 is a decimal\({precision},{scale}\)"):
        decode_types(tuple(types))


def test_decimals_of_old_files() -> None:
    """Hive 0.11 said neither precision nor scale."""
    kind_alone = encode_types(OrcType(kind=OrcKind.DATE))[0].replace(
        bytes([OrcKind.DATE]), bytes([OrcKind.DECIMAL])
    )
    assert str(decode_types((kind_alone,))) == "decimal(38,10)"


def test_what_is_said_of_types_besides() -> None:
    """By the number of each type; Arrow says nothing, Spark which of its types it has stored."""
    data = orc_bytes(pa.table({"a": [1], "b": ["x"]}))
    assert tail_of(data).attributes == [{}, {}, {}]
    tail, said = tail_of(data), b"\n\x17spark.sql.catalyst.type\x12\rtimestamp_ntz"
    footer = Footer.FromString(tail.footer)
    footer.types[1] += b"\x3a" + bytes([len(said)]) + said
    edited = tail._replace(footer=footer.SerializeToString())
    assert edited.attributes == [{}, {"spark.sql.catalyst.type": "timestamp_ntz"}, {}]
    footer.types[1] += b"\x3a\x05a"
    with pytest.raises(FormatError):
        _ = edited._replace(footer=footer.SerializeToString()).attributes
