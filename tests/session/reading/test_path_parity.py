"""Files by their path that the driver reads alone, held against Spark: the same names, types and
rows, for files of every type, as Arrow writes them in its ways and Spark in its own.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from pyarrow import orc
from pyarrow import parquet as pq

from acidsql.errors import UnsupportedStatementError
from acidsql.session import Session
from tests.lengths import times
from tests.session.reading import parity

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"


def _whole(bits: int, *, signed: bool) -> tuple[int, ...]:
    least, most = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    return (least, most, 0, 1, 7)


_FLOATS = (0.0, -0.0, 1.5, -2.25, math.nan, math.inf, -math.inf, 3.0e38)
_DAYS = (0, 1, -1, 18_262, -141_427, -141_428, -719_162, 2_932_896)
_MOMENTS = (0, 1, -1, 1_577_836_800_123_456, -2_208_988_800_000_000, -2_208_988_800_000_001,
            9_223_372_036_854_775, 253_402_300_799_999_999, -62_135_596_800_000_000)  # fmt: skip
_TEXTS = ("", "a", "b ", "é", "😀", "x" * 40)
_BYTES = (b"", b"a", b"\xff\x00", b"abc")


def _decimals(precision: int, scale: int) -> tuple[Decimal, ...]:
    nines = (9,) * precision
    return (Decimal((0, nines, -scale)), Decimal((1, nines, -scale)), Decimal((0, (1,), -scale)))


VALUES: dict[str, tuple[pa.DataType, tuple[Any, ...]]] = {
    "i8": (pa.int8(), _whole(8, signed=True)),
    "i16": (pa.int16(), _whole(16, signed=True)),
    "i32": (pa.int32(), _whole(32, signed=True)),
    "i64": (pa.int64(), _whole(64, signed=True)),
    "u8": (pa.uint8(), _whole(8, signed=False)),
    "u16": (pa.uint16(), _whole(16, signed=False)),
    "u32": (pa.uint32(), _whole(32, signed=False)),
    "u64": (pa.uint64(), _whole(64, signed=False)),
    "f32": (pa.float32(), _FLOATS),
    "f64": (pa.float64(), _FLOATS),
    "flag": (pa.bool_(), (True, False)),
    "text": (pa.string(), _TEXTS),
    "Large": (pa.large_string(), _TEXTS),
    "bytes": (pa.binary(), _BYTES),
    "large_bytes": (pa.large_binary(), _BYTES),
    "four": (pa.binary(4), (b"abcd", b"\x00\x00\x00\x00")),
    "d9": (pa.decimal128(9, 2), _decimals(9, 2)),
    "d4": (pa.decimal128(4, 4), _decimals(4, 4)),
    "d18": (pa.decimal128(18, 0), _decimals(18, 0)),
    "d38": (pa.decimal128(38, 10), _decimals(38, 10)),
    "wide": (pa.decimal256(38, 2), _decimals(38, 2)),
    "day": (pa.date32(), _DAYS),
    "day64": (pa.date64(), tuple(day * 86_400_000 for day in _DAYS)),
    "clock": (pa.timestamp("us"), _MOMENTS),
    "moment": (pa.timestamp("us", "UTC"), _MOMENTS),
    "millis": (pa.timestamp("ms", "America/New_York"), tuple(m // 1000 for m in _MOMENTS)),
    "seconds": (pa.timestamp("s", "UTC"), tuple(m // 1_000_000 for m in _MOMENTS)),
    "nanos": (pa.timestamp("ns", "UTC"), (0, 1, -1, 1_577_836_800_123_456_789)),
    "span": (pa.duration("us"), (0, 1, -1)),
    "time": (pa.time32("ms"), (0, 1)),
    "half": (pa.float16(), (0.0, 1.5)),
    "none": (pa.null(), ()),
    "coded": (pa.dictionary(pa.int32(), pa.string()), _TEXTS),
    "coded_number": (pa.dictionary(pa.int8(), pa.int64()), (1, 2)),
    "list": (pa.list_(pa.int64()), ([], [1, None], [2])),
    "texts": (pa.large_list(pa.string()), ([], ["a", None])),
    "pair": (pa.list_(pa.int32(), 2), ([1, 2], [None, 3])),
    "days": (pa.list_(pa.date32()), ([], [1, None])),
    "struct": (pa.struct([("a", pa.int32()), ("b", pa.string())]), ({"a": 1, "b": None},)),
    "Cased": (pa.struct([("A", pa.int32())]), ({"A": 1},)),
    "map": (pa.map_(pa.string(), pa.decimal128(5, 2)), ([], [("k", Decimal("1.25"))])),
    "deep": (
        pa.list_(pa.struct([("m", pa.map_(pa.int32(), pa.list_(pa.string())))])),
        ([{"m": [(1, ["x", None])]}, None], []),
    ),
}
ONLY_PARQUET = {
    "u8", "u16", "u32", "u64", "wide", "day64", "span", "time", "half", "none", "coded",
    "coded_number", "four", "large_bytes",
}  # fmt: skip
WAYS = st.fixed_dictionaries(
    {},
    optional={
        "version": st.sampled_from(("1.0", "2.4", "2.6")),
        "data_page_version": st.sampled_from(("1.0", "2.0")),
        "use_dictionary": st.booleans(),
        "compression": st.sampled_from(("none", "snappy", "gzip", "zstd", "lz4", "brotli")),
        "use_deprecated_int96_timestamps": st.booleans(),
        "store_schema": st.booleans(),
        "store_decimal_as_integer": st.booleans(),
        "use_compliant_nested_type": st.booleans(),
        "write_statistics": st.booleans(),
        "write_page_checksum": st.booleans(),
        "row_group_size": st.sampled_from((1, 2, 100)),
    },
)


@st.composite
def frames(draw: st.DrawFn, names: tuple[str, ...] = tuple(VALUES)) -> pa.Table:
    """A few columns of some rows."""
    chosen = draw(st.lists(st.sampled_from(names), min_size=1, max_size=4, unique=True))
    count = draw(st.integers(0, 5))
    return pa.table({name: _column(draw, name, count) for name in chosen})


def _column(draw: st.DrawFn, name: str, count: int) -> pa.Array:
    kind, values = VALUES[name]
    one = st.sampled_from((None, *values))
    drawn = draw(st.lists(one, min_size=count, max_size=count))
    if pa.types.is_dictionary(kind):
        return pa.array(drawn, kind.value_type).dictionary_encode().cast(kind)
    if pa.types.is_temporal(kind) and not pa.types.is_duration(kind):
        numbers = pa.int32() if kind.bit_width == 32 else pa.int64()
        return pa.array(drawn, numbers).cast(kind)
    return pa.array(drawn, kind)


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Iterator[Session]:
    """A session beside which files are written."""
    root = tmp_path_factory.mktemp("paths") / "warehouse"
    with Session(str(root), spark=spark) as session:
        yield session


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files")


def answer(session: Session, engine: str, query: str) -> tuple[Any, ...]:
    """As for tables. What Arrow calls the parts of lists and maps is nobody's business."""
    columns, kinds, *rows = parity.answer(session, engine, query)
    parts = re.compile(r" \('\w+'\)|(?<=<)(item|element)(?=:)")
    return columns, [(name, parts.sub("", kind)) for name, kind in kinds], *rows


def check(session: Session, query: str) -> None:
    """Whatever the driver takes, Spark answers likewise."""
    try:
        local = answer(session, "local", query)
    except UnsupportedStatementError:
        return
    assert local == answer(session, "spark", query), query


def _new(folder: Path) -> Path:
    return folder / f"file-{len(list(folder.iterdir()))}"


def _check_columns(session: Session, relation: str, names: list[str]) -> None:
    """All columns together, and each by itself: one may hide the others."""
    check(session, f"SELECT * FROM {relation}")
    for name in names if len(names) > 1 else ():
        check(session, f"SELECT `{name.lower()}` FROM {relation}")


def _parquet(session: Session, folder: Path, rows: pa.Table, ways: Mapping[str, Any]) -> None:
    path = _new(folder)
    if "nanos" in rows.column_names and ways.get("version", "2.6") != "2.6":
        # older versions have no nanoseconds, and only what is asked for is cut
        ways = {**ways, "coerce_timestamps": "us", "allow_truncated_timestamps": True}
    pq.write_table(rows, path, **ways)
    _check_columns(session, f"parquet.`{path}`", rows.column_names)


EASY = settings(max_examples=12, suppress_health_check=list(HealthCheck))
LONG = settings(max_examples=times(200), suppress_health_check=list(HealthCheck))


@given(rows=frames(), ways=WAYS)
@EASY
def test_parquet_files_of_arrow(
    reader: Session, folder: Path, rows: pa.Table, ways: dict[str, Any]
) -> None:
    """What the driver takes, it answers as Spark does."""
    _parquet(reader, folder, rows, ways)


@pytest.mark.slow
@given(rows=frames(), ways=WAYS)
@LONG
def test_parquet_files_of_arrow_at_length(
    reader: Session, folder: Path, rows: pa.Table, ways: dict[str, Any]
) -> None:
    """The same, hundreds of times."""
    _parquet(reader, folder, rows, ways)


OF_ORC = frames(tuple(name for name in VALUES if name not in ONLY_PARQUET))


def _is_of_zeros(column: pa.ChunkedArray) -> bool:
    """Whether it holds 0.0 and -0.0 alone, which ORC's Java reader takes for one number."""
    if not pa.types.is_floating(column.type):
        return False
    numbers = [number for number in column.to_pylist() if number is not None]
    signs = {math.copysign(1, number) for number in numbers}
    return len(signs) == 2 and not any(numbers)


def _orc(session: Session, folder: Path, rows: pa.Table, compression: str) -> None:
    assume(not any(map(_is_of_zeros, rows.columns)))
    path = _new(folder)
    orc.write_table(rows, path, compression=compression)
    _check_columns(session, f"orc.`{path}`", rows.column_names)


@given(rows=OF_ORC, compression=st.sampled_from(("uncompressed", "zlib", "snappy", "zstd")))
@EASY
def test_orc_files_of_arrow(
    reader: Session, folder: Path, rows: pa.Table, compression: str
) -> None:
    """What the driver takes, it answers as Spark does."""
    _orc(reader, folder, rows, compression)


@pytest.mark.slow
@given(rows=OF_ORC, compression=st.sampled_from(("uncompressed", "zlib", "snappy", "zstd")))
@LONG
def test_orc_files_of_arrow_at_length(
    reader: Session, folder: Path, rows: pa.Table, compression: str
) -> None:
    """The same, hundreds of times."""
    _orc(reader, folder, rows, compression)


# ---- what Spark writes

SPARK_VALUES = {
    "t": ("tinyint", ("1Y", "-128Y")),
    "s": ("smallint", ("1S", "-32768S")),
    "i": ("int", ("1", "-2147483648")),
    "b": ("bigint", ("1L", "9223372036854775807L")),
    "f": ("float", ("1.5F", "float('NaN')", "float('-0.0')")),
    "d": ("double", ("1.5D", "double('-Infinity')")),
    "m": ("decimal(9,2)", ("1.25", "9999999.99")),
    "w": ("decimal(38,10)", ("1.25",)),
    "x": ("string", ("'a'", "''", "'é'")),
    "r": ("binary", ("x'ff00'",)),
    "o": ("boolean", ("true", "false")),
    "y": ("date", ("date'2020-02-29'", "date'1582-10-15'", "date'1500-01-01'")),
    "z": ("timestamp", ("timestamp'2020-02-29 12:30:15.123456'", "timestamp'1899-12-31 23:59:59'")),
    "n": ("timestamp_ntz", ("timestamp_ntz'2020-02-29 12:30:15.123456'",)),
    "a": ("array<int>", ("array(1, null)", "array()")),
    "az": ("array<timestamp>", ("array(timestamp'2020-02-29 12:30:15')",)),
    "mp": ("map<string,bigint>", ("map('k', 1L)",)),
    "St": ("struct<a:int,b:string>", ("named_struct('a', 1, 'b', 'x')",)),
    "iv": ("interval day to second", ("interval '1 02:03:04' day to second",)),
}
SPARK_WAYS = st.fixed_dictionaries(
    {},
    optional={
        "spark.sql.parquet.writeLegacyFormat": st.sampled_from(("true", "false")),
        "spark.sql.parquet.outputTimestampType": st.sampled_from(
            ("INT96", "TIMESTAMP_MICROS", "TIMESTAMP_MILLIS")
        ),
        "spark.sql.parquet.datetimeRebaseModeInWrite": st.sampled_from(("LEGACY", "CORRECTED")),
        "spark.sql.parquet.int96RebaseModeInWrite": st.sampled_from(("LEGACY", "CORRECTED")),
    },
)


@st.composite
def spark_rows(draw: st.DrawFn) -> tuple[list[str], str]:
    """Names, and a query that makes rows of them."""
    names = draw(
        st.lists(st.sampled_from(tuple(SPARK_VALUES)), min_size=1, max_size=4, unique=True)
    )
    rows = []
    for _ in range(draw(st.integers(1, 3))):
        drawn = [draw(st.sampled_from(("NULL", *SPARK_VALUES[name][1]))) for name in names]
        pairs = zip(names, drawn, strict=True)
        rows.append(", ".join(f"CAST({v} AS {SPARK_VALUES[n][0]}) AS {n}" for n, v in pairs))
    return names, " UNION ALL ".join(f"SELECT {row}" for row in rows)


@given(rows=spark_rows(), ways=SPARK_WAYS, format=st.sampled_from(("parquet", "orc")))
@EASY
def test_files_of_spark(
    reader: Session,
    spark: SparkSession,
    folder: Path,
    rows: tuple[list[str], str],
    ways: dict[str, str],
    format: str,
) -> None:
    """What the driver takes of a directory that Spark has written, it answers as Spark does."""
    (names, query), path = rows, _new(folder)
    for name, value in ways.items():
        spark.conf.set(name, value)
    try:
        spark.sql(query).write.format(format).save(str(path))
    finally:
        for name in ways:
            spark.conf.unset(name)
    _check_columns(reader, f"{format}.`{path}`", names)


# ---- what Hive writes


@pytest.mark.slow
def test_files_of_hive(reader: Session, folder: Path, shared: Path) -> None:
    """Events and rows of Hive 3 and 4, each file by itself."""
    files = sorted((shared / "vectors").rglob("bucket_0*"))
    for number, file in enumerate(files):
        copy = folder / f"of-hive-{number}"
        copy.write_bytes(file.read_bytes())
        check(reader, f"SELECT * FROM orc.`{copy}`")
    assert files


# ---- what must be taken

TAKEN = [
    "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64", "flag", "text", "Large",
    "bytes", "large_bytes", "four", "d9", "d4", "d18", "d38", "wide", "span", "coded",
    "coded_number", "list", "texts", "pair", "struct", "map", "deep",
]  # fmt: skip


@pytest.mark.parametrize("format", ["parquet", "orc"])
def test_every_type_that_is_understood_is_taken(reader: Session, folder: Path, format: str) -> None:
    """All values of it at once, and times of days that all calendars know."""
    columns: dict[str, pa.Array] = {}
    for name in TAKEN if format == "parquet" else (n for n in TAKEN if n not in ONLY_PARQUET):
        kind, values = VALUES[name]
        plain = kind.value_type if pa.types.is_dictionary(kind) else kind
        array = pa.array([*values[:8], *[None] * (9 - len(values[:8]))], plain)
        columns[name] = array.dictionary_encode() if plain != kind else array
    days = [0, 1, -141_427, None, 2_932_896, 18_262, 1, 1, 1]
    columns["day"] = pa.array(days, pa.int32()).cast(pa.date32())
    zone = "Asia/Tokyo" if format == "parquet" else None
    moments = [0, 1, 1_577_836_800_123_456, None, 4_000_000_000_000_000, 5, 6, 7, 8]
    columns["moment"] = pa.array(moments, pa.timestamp("us", zone))
    columns["clock"] = pa.array(moments, pa.timestamp("us"))
    rows, path = pa.table(columns), _new(folder)
    if format == "orc":
        orc.write_table(rows, path)
    else:
        pq.write_table(rows, path)
    query = f"SELECT * FROM {format}.`{path}`"
    assert answer(reader, "local", query) == answer(reader, "spark", query)


def test_old_timestamps_of_96_bits_are_taken(reader: Session, folder: Path) -> None:
    """Those of the years that all readers tell alike, beside one that Spark takes over for."""
    path = _new(folder)
    moments = [datetime.datetime(2020, 2, 29, 12, 30, 15, 123_456), None]
    rows = pa.table({"z": pa.array(moments, pa.timestamp("us"))})
    pq.write_table(rows, path, use_deprecated_int96_timestamps=True)
    query = f"SELECT * FROM parquet.`{path}`"
    assert answer(reader, "local", query) == answer(reader, "spark", query)
    far, path = pa.table({"z": pa.array([1 << 60], pa.timestamp("us"))}), _new(folder)
    pq.write_table(far, path, use_deprecated_int96_timestamps=True)
    query = f"SELECT count(z) FROM parquet.`{path}`"
    with pytest.raises(UnsupportedStatementError, match="far year"):
        answer(reader, "local", query)
    assert answer(reader, "auto", query) == answer(reader, "spark", query)


def test_files_of_a_writer_that_arrow_cannot_name(reader: Session, folder: Path) -> None:
    """ORC counts its writers, and newer ones than Arrow knows have numbers of their own."""
    path = _new(folder)
    moments = [datetime.datetime(2020, 2, 29, 12, 30), datetime.datetime(1960, 1, 1), None]
    rows = pa.table({"id": [1, 2, 3], "at": pa.array(moments, pa.timestamp("ns"))})
    orc.write_table(rows, path, compression="uncompressed")
    writer = b"\x48\x01"  # Footer.writer = ORC_CPP
    data = path.read_bytes()
    assert data.count(writer) == 1
    path.write_bytes(data.replace(writer, b"\x48\x09"))
    with pytest.raises(ValueError, match="writer"):
        _ = orc.ORCFile(path).writer
    query = f"SELECT * FROM orc.`{path}`"
    assert answer(reader, "local", query) == answer(reader, "spark", query)


@pytest.mark.parametrize("name", ["lone", "day=1/part", "a b", "a,b", "a=b", "a+b@~", "x.y"])
@pytest.mark.parametrize("as_folder", [False, True])
def test_paths_that_are_taken_are_those_of_spark(
    reader: Session, folder: Path, name: str, as_folder: bool
) -> None:
    """Names of files and of folders make no difference."""
    path = _new(folder) / name
    path.parent.mkdir(parents=True)
    if as_folder:
        path.mkdir()
    rows = pa.table({"Aa": [1, 2]})
    pq.write_table(rows, path / "part-0" if as_folder else path)
    for query in (f"SELECT * FROM parquet.`{path}`", f"SELECT AA, s.* FROM parquet.`{path}` s"):
        assert answer(reader, "local", query) == answer(reader, "spark", query)


def test_sparks_error_is_the_error(reader: Session, folder: Path) -> None:
    """A path that is not there, and a column that no file has, are told as without the driver."""
    path = _new(folder)
    pq.write_table(pa.table({"k": [1]}), path)
    for query in (
        f"SELECT * FROM parquet.`{folder}/none`",
        f"SELECT nope FROM parquet.`{path}`",
        f"SELECT * FROM parquet.`{folder}/_hidden`",
    ):
        told = []
        for engine in ("auto", "spark"):
            reader.sql(f"SET acidsql.engine={engine}")
            with pytest.raises(Exception) as caught:
                reader.sql(query).rows()
            told.append((type(caught.value), str(caught.value)))
        assert told[0] == told[1]


@pytest.mark.parametrize("format", ["parquet", "orc"])
def test_rows_by_path_are_stored_as_spark_stores_them(
    reader: Session, folder: Path, format: str
) -> None:
    """INSERT and MERGE from files into columns of other types."""
    path = _new(folder)
    rows = pa.table(
        {
            "k": pa.array([1, 2, 300], pa.int64()),
            "x": ["1", "b ", None],
            "d": pa.array([Decimal("1.25"), None, Decimal("99.99")], pa.decimal128(5, 2)),
            "z": pa.array(
                [None, *[datetime.datetime(2024, 2, 29, 12, 30)] * 2], pa.timestamp("us")
            ),
        }
    )
    (orc.write_table if format == "orc" else pq.write_table)(rows, path)
    results = []
    for engine in ("local", "spark"):
        table = f"t_{format}_{engine}"
        reader.sql(f"SET acidsql.engine={engine}")
        reader.sql(f"CREATE TABLE {table} (k TINYINT, x CHAR(3), d DOUBLE, z TIMESTAMP) {ACID}")
        reader.sql(f"INSERT INTO {table} SELECT * FROM {format}.`{path}`")
        reader.sql(
            f"MERGE INTO {table} t USING {format}.`{path}` s ON t.k = s.k + 1"
            " WHEN MATCHED THEN UPDATE SET x = s.x"
            " WHEN NOT MATCHED AND s.d > 2 THEN INSERT (d) VALUES (s.d)"
        )
        rows_stored = reader.sql(f"SELECT ROW__ID, * FROM {table}").rows()
        results.append(sorted(map(repr, rows_stored)))
    assert results[0] == results[1]
