"""The small path without Spark: what it writes, and what it leaves when it fails."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import orc

from acidsql.acid.bucketing import bucket_numbers
from acidsql.acid.ids import BucketId, StatementId, encode
from acidsql.acid.orc_tail import OrcCodec
from acidsql.acid.orc_types import struct_type
from acidsql.catalog.model import Table
from acidsql.errors import (
    BindError,
    CardinalityError,
    DataError,
    ExecutionError,
    UnsupportedStatementError,
)
from acidsql.files.local_files import LocalFileIO
from acidsql.storage.stored import orc_row_type
from acidsql.storage.write import driver_writer
from acidsql.storage.write.target import Written
from tests.spark.naive_reader import Key, read_files, tail_of, visible_rows
from tests.spark.written import (
    EVERY_TYPE,
    arrow_rows,
    below,
    changed_rows,
    id_table,
    make_table,
    names_below,
    target,
    write_delete,
    write_plain_rows,
    write_rows,
    write_update,
)

IO = LocalFileIO(durable=False)
PAIRS = {"k": "bigint", "v": "string"}


def pairs(*keys: int) -> list[dict[str, object]]:
    return [{"k": k, "v": f"v{k}"} for k in keys]


def values_of(table: Table) -> list[list[Any]]:
    return [list(row.values()) for _, row in sorted(visible_rows(table).items())]


def test_insert(tmp_path: Path) -> None:
    """New rows lie in bucket 0 of the delta of their write id and statement, in order."""
    table = make_table(tmp_path / "t", PAIRS)
    written = write_rows(IO, target(table, 7, 2), arrow_rows(table, pairs(3, 1, 2)))
    assert written == Written(directories=below(table, "delta_0000007_0000007_0002"), inserted=3)
    assert names_below(tmp_path / "t") == [
        "delta_0000007_0000007_0002/_orc_acid_version",
        "delta_0000007_0000007_0002/bucket_00000",
    ]
    assert values_of(table) == [[3, "v3"], [1, "v1"], [2, "v2"]]


def test_no_rows_no_files(tmp_path: Path) -> None:
    """A statement that touches no row leaves nothing on disk."""
    table = make_table(tmp_path / "t", PAIRS)
    assert write_rows(IO, target(table, 1), arrow_rows(table, [])) == Written()
    assert write_update(IO, target(table, 1), changed_rows(table, {})) == Written()
    assert write_delete(IO, target(table, 1), id_table([])) == Written()
    assert names_below(tmp_path) == []


def test_overwrite_makes_a_base(tmp_path: Path) -> None:
    """INSERT OVERWRITE writes a base, and an empty one if there are no rows: the old
    rows must go.
    """
    table = make_table(tmp_path / "t", PAIRS)
    assert write_rows(
        IO, target(table, 3, overwrite=True), arrow_rows(table, pairs(1))
    ).directories == below(table, "base_0000003")
    assert write_rows(
        IO, target(table, 4, overwrite=True), arrow_rows(table, [])
    ).directories == below(table, "base_0000004")
    assert names_below(tmp_path / "t/base_0000004") == ["_orc_acid_version"]
    assert values_of(table) == [[1, "v1"]]


def test_buckets(tmp_path: Path) -> None:
    """Rows of a CLUSTERED BY table lie in the file of Hive's hash, each file numbered from 0."""
    table = make_table(tmp_path / "t", PAIRS, clustered=("v", "k"), buckets=5)
    rows = arrow_rows(table, [*pairs(*range(200)), {"k": None, "v": None}])
    assert write_rows(IO, target(table, 1), rows).inserted == 201
    numbers = bucket_numbers([(rows.column("v"), "string"), (rows.column("k"), "bigint")], 5)
    wanted = {(k, v): int(b) for k, v, b in zip(*rows.to_pydict().values(), numbers, strict=True)}
    assert {
        (row["k"], row["v"]): key[1] >> 16 & 4095 for key, row in visible_rows(table).items()
    } == wanted
    assert len(read_files(tmp_path / "t")) == 5


def test_update_moves_each_row_within_its_bucket(tmp_path: Path) -> None:
    """An UPDATE writes delete and insert events under one statement id, in the files of the old
    rows' buckets.
    """
    table = make_table(tmp_path / "t", PAIRS, clustered=("k",))
    write_rows(IO, target(table, 1), arrow_rows(table, pairs(*range(50))))
    old = visible_rows(table)
    new = {
        key: {"k": row["k"], "v": "new"} for key, row in reversed(old.items()) if row["k"] % 3 == 0
    }
    written = write_update(IO, target(table, 2, 1), changed_rows(table, new))
    assert written == Written(
        directories=below(table, "delete_delta_0000002_0000002_0001", "delta_0000002_0000002_0001"),
        updated=17,
    )
    bucket = {row["k"]: key[1] >> 16 & 4095 for key, row in old.items()}
    rows = visible_rows(table)
    assert {row["k"]: key[1] >> 16 & 4095 for key, row in rows.items()} == bucket
    assert {row["k"]: row["v"] for row in rows.values()} == {
        k: "new" if k % 3 == 0 else f"v{k}" for k in range(50)
    }


def test_new_rows_without_buckets_share_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few rows of a table without buckets get one new file, whichever files they were in; many stay
    in as many files as they were in.
    """
    table = make_table(tmp_path / "t", PAIRS)
    old: list[Key] = [
        (1, encode(BucketId(bucket), StatementId(0)), row) for bucket in (5, 2) for row in (1, 0)
    ]
    new = {key: {"k": place, "v": "new"} for place, key in enumerate(old)}
    write_update(IO, target(table, 2), changed_rows(table, new))
    monkeypatch.setattr(driver_writer, "_ENOUGH_FOR_MORE_FILES", 4)
    write_update(IO, target(table, 3), changed_rows(table, new))
    assert [
        name
        for name in names_below(tmp_path / "t")
        if "/bucket" in name and not name.startswith("delete")
    ] == [
        "delta_0000002_0000002_0000/bucket_00002",
        "delta_0000003_0000003_0000/bucket_00002",
        "delta_0000003_0000003_0000/bucket_00005",
    ]
    inserts = [
        file for file in read_files(tmp_path / "t") if not file.directory.startswith("delete")
    ]
    assert [[row["k"] for row in file.values if row is not None] for file in inserts] == [
        [3, 2, 1, 0],
        [3, 2],
        [1, 0],
    ]


def test_deletes_of_one_bucket_share_a_file(tmp_path: Path) -> None:
    """Ids of several statements and write ids with one bucket number go, sorted and unchanged, to
    the one file of that bucket.
    """
    table = make_table(tmp_path / "t", PAIRS)
    keys: list[Key] = [
        (w, 1 << 29 | b << 16 | s, r)
        for w in (9, 2)
        for s in (3, 0)
        for b in (11, 0)
        for r in (5, 1)
    ]
    assert write_delete(IO, target(table, 10), id_table(keys)) == Written(
        directories=below(table, "delete_delta_0000010_0000010_0000"), deleted=16
    )
    files = read_files(tmp_path / "t")
    assert [f.bucket for f in files] == [0, 11]
    assert sorted(files[0].keys + files[1].keys) == sorted(keys)


@pytest.mark.parametrize("doomed", [True, False], ids=["delete", "update"])
def test_one_row_changed_twice(tmp_path: Path, doomed: bool) -> None:
    """An id that comes twice fails the statement before anything has a name."""
    table = make_table(tmp_path / "t", PAIRS)
    write_rows(IO, target(table, 1), arrow_rows(table, pairs(1, 2)))
    before = names_below(tmp_path)
    keys = [*visible_rows(table), (1, 1 << 29, 1)]
    with pytest.raises(CardinalityError, match=r"more than one row of the source") as caught:  # noqa: PT012
        if doomed:
            write_delete(IO, target(table, 2), id_table(keys))
        else:
            ids, values = id_table(keys), arrow_rows(table, pairs(1, 2, 3))
            write_update(
                IO,
                target(table, 2),
                pa.Table.from_arrays(
                    [*ids.columns, *values.columns], names=[*ids.column_names, "k", "v"]
                ),
            )
    assert caught.value.message == "Cardinality Violation in Merge statement: [1, 536870912, 1]"
    assert (
        caught.value.detail
        == "1 row of the target would be changed by more than one row of the source: this one by 2 of"
        " them"
    )
    assert names_below(tmp_path) == before


def test_a_taken_directory_is_left_alone(tmp_path: Path) -> None:
    """Two writers with one write id: the second fails and the first's files are untouched."""
    table = make_table(tmp_path / "t", PAIRS)
    write_rows(IO, target(table, 1), arrow_rows(table, pairs(1)))
    with pytest.raises(ExecutionError, match="already exists"):
        write_rows(IO, target(table, 1), arrow_rows(table, pairs(2)))
    assert values_of(table) == [[1, "v1"]]
    assert len(names_below(tmp_path)) == 2


class FullDisk(LocalFileIO):
    """A file system that fails after ``left`` calls of a method."""

    calls: dict[str, int]

    def __init__(self, method: str, left: int) -> None:
        super().__init__(durable=False)
        object.__setattr__(
            self,
            "calls",
            {
                "write": left if method == "write" else 999,
                "publish": left if method == "publish" else 999,
            },
        )

    def _count(self, method: str) -> None:
        self.calls[method] -= 1
        if self.calls[method] < 0:
            raise OSError(28, "No space left on device")

    def write(self, path: str, *parts: bytes | memoryview) -> None:
        self._count("write")
        LocalFileIO.write(self, path, *parts)

    def stage(self, path: str, *parts: bytes | memoryview) -> None:
        self._count("write")
        LocalFileIO.stage(self, path, *parts)

    def publish(self, staged: str, final: str) -> None:
        self._count("publish")
        LocalFileIO.publish(self, staged, final)


@pytest.mark.parametrize("method", ["write", "publish"])
@pytest.mark.parametrize("left", [0, 1, 2, 3, 4, 5])
def test_a_failure_takes_everything_back(tmp_path: Path, method: str, left: int) -> None:
    """Wherever the disk fails, the statement fails and its directories and staging are gone."""
    table = make_table(tmp_path / "t", PAIRS, clustered=("k",))
    write_rows(IO, target(table, 1), arrow_rows(table, pairs(*range(20))))
    before = names_below(tmp_path)
    new = {key: {"k": row["k"], "v": "new"} for key, row in visible_rows(table).items()}
    with pytest.raises(ExecutionError, match="cannot write to"):
        write_update(FullDisk(method, left), target(table, 2), changed_rows(table, new))
    assert names_below(tmp_path) == before
    assert [p.name for p in (tmp_path / "t").iterdir()] == ["delta_0000001_0000001_0000"]


class Disk(LocalFileIO):
    """A file system that knows which files and directories would be lost with the power, by their
    inodes; ``named``: the directories that have got their names.
    """

    unsynced: set[int]
    named: list[str]

    def __init__(self) -> None:
        super().__init__()
        object.__setattr__(self, "unsynced", set())
        object.__setattr__(self, "named", [])

    def _make(self, path: str) -> None:
        self.unsynced.add(Path(path).parent.stat().st_ino)

    def write(self, path: str, *parts: bytes | memoryview) -> None:
        LocalFileIO.write(self, path, *parts)
        self._make(path)

    def stage(self, path: str, *parts: bytes | memoryview) -> None:
        LocalFileIO.stage(self, path, *parts)
        self._make(path)
        self.unsynced.add(Path(path).stat().st_ino)

    def publish(self, staged: str, final: str) -> None:
        LocalFileIO.publish(self, staged, final)
        self._make(final)

    def sync_file(self, path: str) -> None:
        LocalFileIO.sync_file(self, path)
        self.unsynced.discard(Path(path).stat().st_ino)

    def sync_directory(self, path: str) -> None:
        LocalFileIO.sync_directory(self, path)
        self.unsynced.discard(Path(path).stat().st_ino)

    def move_directory(self, old: str, new: str) -> None:
        assert not _inodes(old) & self.unsynced
        self.named.append(Path(new).name)
        LocalFileIO.move_directory(self, old, new)
        self._make(new)

    def delete_tree(self, path: str) -> None:
        gone = _inodes(path)
        LocalFileIO.delete_tree(self, path)
        self.unsynced.difference_update(gone)


def _inodes(path: str) -> set[int]:
    """The numbers of a directory and of all below it."""
    return {one.stat().st_ino for one in [Path(path), *Path(path).rglob("*")]}


@pytest.mark.parametrize("few", [2, 0])
def test_a_directory_gets_its_name_when_it_is_on_the_disk(
    tmp_path: Path, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No loss of power takes away a file of a committed transaction, whether files are synced as
    they are written or all together.
    """
    monkeypatch.setattr(driver_writer, "_FEW_FILES", few)
    table, disk = make_table(tmp_path / "t", PAIRS), Disk()
    write_rows(disk, target(table, 1), arrow_rows(table, pairs(1, 2)))
    new = {key: {"k": row["k"], "v": "new"} for key, row in visible_rows(table).items()}
    write_update(disk, target(table, 2), changed_rows(table, new))
    assert sorted(disk.named) == [
        "delete_delta_0000002_0000002_0000",
        "delta_0000001_0000001_0000",
        "delta_0000002_0000002_0000",
    ]
    assert (tmp_path / "t").stat().st_ino not in disk.unsynced


@pytest.mark.parametrize("codec", ["none", "zlib", "Snappy", "LZ4"])
def test_codecs(tmp_path: Path, codec: str) -> None:
    """The table property orc.compress decides the codec."""
    table = make_table(tmp_path / "t", PAIRS, orc_compress=codec)
    write_rows(IO, target(table, 1), arrow_rows(table, pairs(1, 2)))
    assert [f.tail.codec for f in read_files(tmp_path / "t")] == [OrcCodec[codec.upper()]]
    assert values_of(table) == [[1, "v1"], [2, "v2"]]


def test_codecs_hive_cannot_read(tmp_path: Path) -> None:
    """zstd is refused with a reason, an unknown name as a mistake."""
    for codec, error in (
        ("zstd", UnsupportedStatementError),
        ("LZO", UnsupportedStatementError),
        ("gzip", BindError),
    ):
        table = make_table(tmp_path / "t", PAIRS, orc_compress=codec)
        with pytest.raises(error):
            write_rows(IO, target(table, 1), arrow_rows(table, pairs(1)))
    assert names_below(tmp_path) == []


def test_several_stripes(tmp_path: Path) -> None:
    """A file of several stripes has one entry in the key index for each, in insert and in delete
    files.
    """
    table = make_table(tmp_path / "t", PAIRS, orc_stripe_size="65536")
    write_rows(
        IO,
        target(table, 1),
        arrow_rows(
            table, [{"k": i * i * 7919 % 1_000_003, "v": f"{i * i}"} for i in range(40_000)]
        ),
    )
    doomed = [(1, 1 << 29, r * r % 40_000_003) for r in range(6000)]
    write_delete(IO, target(table, 2), id_table(list(set(doomed))))
    files = read_files(tmp_path / "t")
    assert len(files[1].tail.stripes) > 1
    for file in files:
        assert (
            len(file.tail.user_metadata["hive.acid.key.index"].split(";"))
            == len(file.tail.stripes) + 1
        )
        assert file.keys == sorted(set(file.keys))


def test_char_is_stored_padded(tmp_path: Path) -> None:
    """char(n) values are padded with blanks to n characters, nested ones too, as Hive stores them;
    varchar is not.
    """
    table = make_table(
        tmp_path / "t",
        {"c": "char(3)", "v": "varchar(3)", "n": "map<char(2),struct<l:array<char(4)>>>"},
    )
    rows = [
        {"c": "é", "v": "a", "n": [("k", {"l": ["x", None]}), ("q", None)]},
        {"c": None, "v": None, "n": None},
        {"c": "abc", "v": "", "n": []},
    ]
    write_rows(IO, target(table, 1), arrow_rows(table, rows))
    assert values_of(table) == [
        ["é  ", "a", [("k ", {"l": ["x   ", None]}), ("q ", None)]],
        [None, None, None],
        ["abc", "", []],
    ]


NESTED = st.fixed_dictionaries(
    {
        "x": st.none() | st.integers(0, 9),
        "y": st.none() | st.fixed_dictionaries({"z": st.none() | st.text(max_size=3)}),
    }
)
PAIRED = st.lists(
    st.tuples(
        st.text(max_size=3), st.none() | st.fixed_dictionaries({"c": st.none() | st.integers(0, 9)})
    ),
    max_size=2,
)
ROWS = st.fixed_dictionaries(
    {
        "b": st.none() | st.booleans(),
        "ti": st.none() | st.integers(-128, 127),
        "si": st.none() | st.integers(-(2**15), 2**15 - 1),
        "i": st.none() | st.integers(-(2**31), 2**31 - 1),
        "bi": st.none() | st.integers(-(2**63), 2**63 - 1),
        "f": st.none() | st.floats(width=32, allow_nan=False),
        "d": st.none() | st.floats(allow_nan=False),
        "dec": st.none() | st.decimals(-(10**15), 10**15, places=4),
        "s": st.none() | st.text(max_size=12),
        "c": st.none()
        | st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=5, max_size=5),
        "vc": st.none() | st.text(max_size=6),
        "bin": st.none() | st.binary(max_size=9),
        "dt": st.none() | st.dates(datetime.date(1583, 1, 1)),
        "ts": st.none()
        | st.datetimes(datetime.datetime(1970, 1, 1), datetime.datetime(2200, 1, 1)),
        "arr": st.none() | st.lists(st.none() | st.integers(0, 9), max_size=3),
        "m": st.none()
        | st.dictionaries(st.text(max_size=3), st.none() | st.integers(0, 9), max_size=3).map(
            lambda d: list(d.items())
        ),
        "st": st.none()
        | st.fixed_dictionaries(
            {"x": st.none() | st.integers(0, 9), "y": st.none() | st.text(max_size=3)}
        ),
        "deep": st.none()
        | st.lists(
            st.none()
            | st.fixed_dictionaries(
                {"k": st.just("abc"), "v": st.just([(1, [Decimal("1.25"), None])])}
            ),
            max_size=2,
        ),
        "nest": st.none()
        | st.fixed_dictionaries({"a": st.none() | NESTED, "b": st.none() | PAIRED}),
        "bucket": st.none() | st.integers(0, 9),
        "row": st.none() | st.text(max_size=3),
    }
)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=25,
    deadline=None,
)
@given(rows=st.lists(ROWS, min_size=1, max_size=8))
def test_values_of_every_type_come_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, object]]
) -> None:
    """Whatever is inserted is read back, for every type, NULLs included."""
    table = make_table(tmp_path_factory.mktemp("any") / "t", EVERY_TYPE)
    write_rows(IO, target(table, 1), arrow_rows(table, rows))
    assert values_of(table) == [[row[name] for name in EVERY_TYPE] for row in rows]


def test_structs_within_structs(tmp_path: Path) -> None:
    """NULLs at every depth of nested structs stay where they are, in more rows than a writer's
    batch, in files of several buckets.
    """
    table = make_table(
        tmp_path / "t",
        {"k": "bigint", "s": "struct<a:struct<x:int,y:string>,l:array<struct<z:struct<w:int>>>>"},
        clustered=("k",),
    )

    def value(k: int) -> dict[str, object] | None:
        inner = None if k % 3 == 0 else {"x": None if k % 7 == 0 else k, "y": f"y{k}"}
        items = (
            None
            if k % 5 == 0
            else [
                None if i % 2 else {"z": None if k % 4 == 0 else {"w": k + i}} for i in range(k % 4)
            ]
        )
        return None if k % 11 == 0 else {"a": inner, "l": items}

    rows = [{"k": k, "s": value(k)} for k in range(5000)]
    write_rows(IO, target(table, 1), arrow_rows(table, rows))
    assert sorted(visible_rows(table).values(), key=lambda row: row["k"]) == rows
    changed = {key: row for key, row in visible_rows(table).items() if row["k"] % 2}
    write_update(IO, target(table, 2), changed_rows(table, changed))
    assert sorted(visible_rows(table).values(), key=lambda row: row["k"]) == rows


def test_timestamps_orc_cannot_hold_are_refused(tmp_path: Path) -> None:
    """A timestamp every reader would take for another one is an error, wherever it is nested."""
    table = make_table(tmp_path / "t", {"a": "array<struct<ts:timestamp>>"})
    late, early = (
        datetime.datetime(1969, 12, 31, 23, 59, 59, 999_999),
        datetime.datetime(1969, 12, 31, 23, 59, 59, 1000),
    )
    for ts in (late, early):
        with pytest.raises(DataError, match="cannot be stored in ORC"):
            write_rows(IO, target(table, 1), arrow_rows(table, [{"a": [{"ts": ts}]}]))
    assert names_below(tmp_path) == []
    write_rows(
        IO,
        target(table, 1),
        arrow_rows(table, [{"a": [{"ts": datetime.datetime(1969, 12, 31, 23, 59, 59)}]}]),
    )


def test_plain_files_are_named_as_hive_names_them(tmp_path: Path) -> None:
    """A table without transactions gets 000000_0, then 000000_0_copy_1 ..; the files hold its plain
    columns and declared types.
    """
    table = make_table(tmp_path / "t", {"k": "bigint", "c": "char(3)"}, transactional="false")
    for k in (1, 2, 3):
        assert (
            write_plain_rows(IO, target(table, 0), arrow_rows(table, [{"k": k, "c": "x"}])).inserted
            == 1
        )
    assert names_below(tmp_path / "t") == ["000000_0", "000000_0_copy_1", "000000_0_copy_2"]
    assert orc.ORCFile(tmp_path / "t/000000_0_copy_1").read().to_pylist() == [{"k": 2, "c": "x  "}]
    tail = tail_of(tmp_path / "t/000000_0")
    assert (
        tail.schema == orc_row_type(table.columns) == struct_type(["k", "c"], tail.schema.children)
    )


def test_plain_buckets_and_overwrite(tmp_path: Path) -> None:
    """A bucketed plain table gets a file for each bucket; an overwrite leaves only the
    new files.
    """
    table = make_table(tmp_path / "t", PAIRS, clustered=("k",), buckets=2, transactional="false")
    write_plain_rows(IO, target(table, 0), arrow_rows(table, pairs(*range(20))))
    assert names_below(tmp_path / "t") == ["000000_0", "000001_0"]
    write_plain_rows(IO, target(table, 0, overwrite=True), arrow_rows(table, pairs(*range(10))))
    assert names_below(tmp_path / "t") == ["000000_0_copy_1", "000001_0_copy_1"]
    write_plain_rows(IO, target(table, 0, overwrite=True), arrow_rows(table, []))
    assert names_below(tmp_path) == []
