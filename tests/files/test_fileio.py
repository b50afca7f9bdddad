"""The promises of FileIO, kept by every file system behind it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import fs, orc

from acidsql.errors import UnsupportedStatementError
from acidsql.files import arrow_files
from acidsql.files.arrow_files import ArrowFileIO, os_errors
from acidsql.files.fileio import split_url
from acidsql.files.local_files import LocalFileIO, local_path
from tests.spark.stores import BUCKET, Place, S3Server, mounted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ODD_NAME = "day=2024-01-01 10%3A00%2F+é~(1)"


@pytest.fixture(
    params=[
        "local",
        "arrow",
        pytest.param("s3", marks=pytest.mark.processes),
        pytest.param("google", marks=pytest.mark.processes),
        pytest.param("hadoop", marks=pytest.mark.spark),
    ]
)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """An empty directory on each file system."""
    match request.param:
        case "local":
            yield Place(LocalFileIO(), str(tmp_path))
        case "arrow":  # as HDFS: with directories, and renaming
            files = ArrowFileIO(
                files=fs.LocalFileSystem(), root="test://host", prefix=str(tmp_path), renaming=True
            )
            yield Place(files, "test://host")
        case "s3":
            server: S3Server = request.getfixturevalue("s3")
            yield Place(
                ArrowFileIO(
                    files=server.files, root=f"s3://{BUCKET}", prefix=BUCKET, renaming=False
                ),
                f"s3://{BUCKET}/t",
            )
        case "google":
            files = ArrowFileIO(
                files=fs.PyFileSystem(AsGoogles(request.getfixturevalue("s3").files, "")),
                root=f"gs://{BUCKET}",
                prefix=BUCKET,
                renaming=False,
                shows_directories=False,
            )
            yield Place(files, f"gs://{BUCKET}/t")
        case _:
            yield hadoop_place(request.getfixturevalue("spark"), tmp_path)


def hadoop_place(spark: SparkSession, folder: Path) -> Place:
    from acidsql.spark.jvm.hadoop_files import hadoop_file_io

    root = mounted(spark, folder, "viewfs")
    url = split_url(root)
    assert url is not None
    return Place(hadoop_file_io(spark, url), root)


def write(place: Place, *names: str) -> None:
    """Files that hold three bytes."""
    for name in names:
        path = f"{place.root}/{name}"
        place.io.make_directory(path.rpartition("/")[0])
        place.io.write(path, b"abc")


def names(place: Place) -> list[str]:
    return [file.path for file in place.io.list_files(place.root)]


# ---- all file systems


def test_listing_leaves_hidden_names_out(place: Place) -> None:
    """Hidden files and all below hidden directories are left out; directories are told, and a
    missing root is empty.
    """
    write(
        place,
        "delta_1_1/bucket_00000",
        "delta_1_1/_orc_acid_version",
        ".staging/x/part",
        "_tmp/y",
        "p=1/base_3/bucket_00001",
    )
    listing = place.io.listing(place.root)
    assert [(f.path, f.size) for f in listing.files] == [
        ("delta_1_1/bucket_00000", 3),
        ("p=1/base_3/bucket_00001", 3),
    ]
    assert listing.directories == ("delta_1_1", "p=1", "p=1/base_3")
    assert all(file.mtime_ns > 1_600_000_000 * 10**9 for file in listing.files)
    assert place.io.list_files(f"{place.root}/missing") == []


def test_names_are_taken_as_they_are(place: Place) -> None:
    """Percent signs, blanks and letters beyond ASCII are parts of names."""
    write(place, f"{ODD_NAME}/bucket_00000")
    assert names(place) == [f"{ODD_NAME}/bucket_00000"]
    assert place.io.read(f"{place.root}/{ODD_NAME}/bucket_00000") == b"abc"


def test_publish_never_replaces(place: Place) -> None:
    """A taken name is an error and both files stay as they are."""
    io = place.io
    one, two, final = (f"{place.root}/{n}" for n in ("one", "two", "final"))
    io.make_directory(place.root)
    io.write(one, b"1")
    io.write(two, b"2")
    io.publish(one, final)
    assert not (io.renames(one) and io.exists(one))
    with pytest.raises(FileExistsError):
        io.publish(two, final)
    assert (io.read(final), io.read(two)) == (b"1", b"2")


def test_write_creates(place: Place) -> None:
    """A file is made of its parts, in a name that was free; its tail can be replaced before it is
    published.
    """
    io, path = place.io, f"{place.root}/f"
    io.make_directory(place.root)
    io.write(path, b"abc", memoryview(b"xdefx")[1:4])
    assert io.read(path) == b"abcdef"
    assert io.read_tail(path, 2) == (b"ef", 6)
    assert io.read_tail(path, 100) == (b"abcdef", 6)
    with pytest.raises(FileExistsError):
        io.write(path, b"")
    io.write(f"{place.root}/empty")
    assert io.read(f"{place.root}/empty") == b""
    io.delete_file(f"{place.root}/empty")
    edited = io.replace_tail(path, 3, b"Z")
    assert io.read(edited) == b"abcZ"
    assert names(place) == sorted({"f", edited.rpartition("/")[2]}), (
        "what cannot be changed is still there"
    )


def test_a_reader_goes_to_and_fro(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """ORC's reader finds its stripes in an open file, small or large."""
    table = pa.table({"n": pa.array(range(1000))})
    sink = pa.BufferOutputStream()
    orc.write_table(table, sink)
    place.io.make_directory(place.root)
    place.io.write(f"{place.root}/f", sink.getvalue())
    for small in (0, 1 << 20):
        monkeypatch.setattr(arrow_files, "SMALL", small)
        with place.io.open_input(f"{place.root}/f") as file:
            assert orc.ORCFile(file).read() == table


def test_what_is_missing_is_named(place: Place) -> None:
    """Reading a file that is not there is a FileNotFoundError with its name."""
    path = f"{place.root}/none"
    for read in (
        place.io.read,
        place.io.open_input,
        lambda p: place.io.read_tail(p, 1),
        lambda p: place.io.publish(p, f"{p}2"),
    ):
        with pytest.raises(FileNotFoundError) as caught:
            read(path)
        assert "/none" in str(caught.value)


def test_a_directory_moves_to_a_free_name_only(place: Place) -> None:
    """With all it holds, hidden names too, into parents that are made; whatever is there already
    refuses it.
    """
    io, old, new = place.io, f"{place.root}/a=1", f"{place.root}/a=2/b=3"
    write(place, "a=1/delta_1_1/bucket_00000", "a=1/delta_1_1/_orc_acid_version")
    io.move_directory(old, new)
    io.end_move(old)
    assert not io.exists(old)
    assert (
        io.read(f"{new}/delta_1_1/bucket_00000")
        == io.read(f"{new}/delta_1_1/_orc_acid_version")
        == b"abc"
    )
    write(place, "a=1/x")
    for one, other in ((old, new), (new, old)):
        with pytest.raises(FileExistsError):
            io.move_directory(one, other)
    assert names(place) == ["a=1/x", "a=2/b=3/delta_1_1/bucket_00000"]


def test_a_move_can_be_undone_until_it_is_ended(place: Place) -> None:
    """Then all is where it was."""
    io, old, new = place.io, f"{place.root}/a", f"{place.root}/b/c"
    write(place, "a/d/x", "f")
    io.move_directory(old, new)
    io.move_file(f"{place.root}/f", f"{place.root}/g")
    assert io.read(f"{new}/d/x") == io.read(f"{place.root}/g") == b"abc"
    io.undo_move(f"{place.root}/f", f"{place.root}/g")
    io.undo_move(old, new)
    assert names(place) == ["a/d/x", "f"]


def test_a_file_moves(place: Place) -> None:
    """Ended, there is one file."""
    write(place, "f")
    place.io.move_file(f"{place.root}/f", f"{place.root}/d/g")
    place.io.end_move(f"{place.root}/f")
    assert names(place) == ["d/g"]


def test_only_an_empty_directory_is_removed(place: Place) -> None:
    """What holds anything stays, and the answer says so; one that is not there is gone."""
    io, path = place.io, f"{place.root}/d"
    write(place, "d/_hidden")
    assert not io.remove_empty_directory(path)
    io.delete_file(f"{path}/_hidden")
    # others leave it, as they cannot be sure
    if not isinstance(io, ArrowFileIO) or not io.renaming or io.remove_if_empty is not None:
        assert io.remove_empty_directory(path)
    io.delete_tree(path)
    assert io.remove_empty_directory(path)
    assert not io.exists(path)
    io.write(path, b"")
    with pytest.raises(NotADirectoryError):
        io.remove_empty_directory(path)


def test_deleting_what_is_not_there(place: Place) -> None:
    """Deleting twice is no error."""
    write(place, "a/b/c", "a/.d")
    for _ in range(2):
        place.io.delete_tree(f"{place.root}/a")
        place.io.delete_file(f"{place.root}/f")
        place.io.sync_directory(place.root)
    assert not place.io.exists(f"{place.root}/a")


# ---- the local one


def test_a_tree_goes_whole_though_others_delete_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And though one of them makes a directory in it: nothing is left behind in silence."""
    io, home = LocalFileIO(), tmp_path / "t"
    for name in ("a", "b", "c", "d"):
        io.write(f"{make(home / name)}/f", b"")
    unlink, others = os.unlink, ["b", "c", "d", "a"]

    def slow_unlink(path: str, **at: Any) -> None:
        if others:
            rest = [home / name for name in others if (home / name).exists()]
            others.clear()
            for one in rest[1:3]:
                unlink(one / "f")
                one.rmdir()
            make(home / "new")
        unlink(path, **at)

    monkeypatch.setattr(os, "unlink", slow_unlink)
    io.delete_tree(str(home))
    assert not others
    assert not home.exists()


def make(path: Path) -> Path:
    path.mkdir(parents=True)
    return path


def test_local_files_tell_their_times(tmp_path: Path) -> None:
    """To the nanosecond."""
    (tmp_path / "f").write_bytes(b"")
    assert (
        LocalFileIO().list_files(str(tmp_path))[0].mtime_ns == (tmp_path / "f").stat().st_mtime_ns
    )


def test_an_empty_directory_is_in_the_way(tmp_path: Path) -> None:
    """A move never takes the place of an empty directory; what is not there cannot move."""
    io = LocalFileIO()
    for name in ("a", "b"):
        io.make_directory(str(tmp_path / name))
    with pytest.raises(FileExistsError):
        io.move_directory(str(tmp_path / "a"), str(tmp_path / "b"))
    with pytest.raises(FileNotFoundError):
        io.move_directory(str(tmp_path / "none"), str(tmp_path / "other"))


def test_the_local_file_system_takes_no_other_location() -> None:
    """A location elsewhere is an error that names it."""
    with pytest.raises(UnsupportedStatementError, match="s3a://bucket/t"):
        local_path("s3a://bucket/t")


# ---- the others


class Failing(fs.FileSystemHandler):
    """A file system on which a method fails; the rest is that of ``real``."""

    def __init__(self, real: fs.FileSystem, method: str, left: int = 0) -> None:
        self._real, self._method, self._left = real, method, left

    def _do(self, method: str, *arguments: Any, **options: Any) -> Any:
        if method == self._method:
            self._left -= 1
            if self._left < 0:
                raise OSError(28, "No space left on device")
        return getattr(self._real, method)(*arguments, **options)

    def get_type_name(self) -> str:
        return "failing"

    def normalize_path(self, path: str) -> str:
        return path

    def get_file_info(self, paths: list[str]) -> Any:
        return self._do("get_file_info", paths)

    def get_file_info_selector(self, selector: fs.FileSelector) -> Any:
        return self._do("get_file_info", selector)

    def create_dir(self, path: str, recursive: bool) -> None:
        self._do("create_dir", path, recursive=recursive)

    def delete_dir(self, path: str) -> None:
        self._do("delete_dir", path)

    def delete_dir_contents(self, path: str, missing_dir_ok: bool = False) -> None:
        self._do("delete_dir_contents", path, missing_dir_ok=missing_dir_ok)

    def delete_root_dir_contents(self) -> None:
        raise NotImplementedError

    def delete_file(self, path: str) -> None:
        self._do("delete_file", path)

    def move(self, src: str, dest: str) -> None:
        self._do("move", src, dest)

    def copy_file(self, src: str, dest: str) -> None:
        self._do("copy_file", src, dest)

    def open_input_stream(self, path: str) -> Any:
        return self._do("open_input_stream", path, compression=None)

    def open_input_file(self, path: str) -> Any:
        return self._do("open_input_file", path)

    def open_output_stream(self, path: str, metadata: Any) -> Any:
        return self._do("open_output_stream", path, compression=None)

    def open_append_stream(self, path: str, metadata: Any) -> Any:
        raise NotImplementedError


class AsGoogles(Failing):
    """Lists no directories."""

    def get_file_info_selector(self, selector: fs.FileSelector) -> Any:
        infos = super().get_file_info_selector(selector)
        return [info for info in infos if info.type is fs.FileType.File]


class Directories(Failing):
    """A store above real directories, which deletes none that has something in it."""

    def delete_dir(self, path: str) -> None:
        if self.get_file_info_selector(fs.FileSelector(path)):
            raise OSError(f"key '{path}/': Directory object not empty.")
        super().delete_dir(path)


def store(s3: S3Server, method: str = "", left: int = 0) -> ArrowFileIO:
    """The S3 server's bucket, on which a method fails after ``left`` calls."""
    files = fs.PyFileSystem(Failing(s3.files, method, left)) if method else s3.files
    return ArrowFileIO(files=files, root=f"s3://{BUCKET}", prefix=BUCKET, renaming=False)


def test_a_tree_is_one_request(s3: S3Server) -> None:
    """A store is asked once for all below a root, not once for each directory."""
    place = Place(store(s3), f"s3://{BUCKET}/t")
    write(place, *(f"p={n}/delta_{n}_{n}/bucket_00000" for n in range(20)))
    with s3.requests() as seen:
        listing = place.io.listing(place.root)
    assert (len(listing.files), len(listing.directories)) == (20, 40)
    assert len(seen) == 1


def test_a_tree_is_deleted_upwards_where_it_must_be(tmp_path: Path) -> None:
    """A gateway to directories refuses to delete a tree at once; what is beside it stays."""
    files = fs.PyFileSystem(Directories(fs.LocalFileSystem(), ""))
    io = ArrowFileIO(files=files, root="s3://b", prefix=str(tmp_path), renaming=False)
    for name in ("t/1", "t/p=1/q=1/2", "t/p=1/q=2/3", "t1/4"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    io.delete_tree("s3://b/t")
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")) == ["t1", "t1/4"]
    io.delete_tree("s3://b/t")


def test_a_long_file_is_edited_piece_by_piece(
    s3: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Never is more of it in memory than a piece."""
    monkeypatch.setattr(arrow_files, "PIECE", 1000)
    io, path = store(s3), f"s3://{BUCKET}/f"
    content = bytes(range(256)) * 100
    io.write(path, content)
    assert io.read(io.replace_tail(path, 25_001, b"end")) == content[:25_001] + b"end"


def test_what_the_store_cannot_copy_goes_through_here(
    s3: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S3 refuses to copy the largest objects in one request; a failure of another kind is not tried
    again that way.
    """
    io = store(s3, "copy_file")
    io.write(f"s3://{BUCKET}/one", b"abcdef")
    with pytest.raises(OSError, match="No space"):
        io.publish(f"s3://{BUCKET}/one", f"s3://{BUCKET}/two")
    monkeypatch.setattr(arrow_files, "MAX_COPY", 5)
    io.publish(f"s3://{BUCKET}/one", f"s3://{BUCKET}/two")
    assert io.read(f"s3://{BUCKET}/two") == b"abcdef"


def test_a_copy_that_fails_leaves_nothing(s3: S3Server) -> None:
    """A directory is moved with all its files or not at all."""
    place = Place(store(s3, "copy_file", 2), f"s3://{BUCKET}")
    write(place, "a/1", "a/2", "a/3", "a/4")
    with pytest.raises(OSError, match="No space"):
        place.io.move_directory(f"{place.root}/a", f"{place.root}/b")
    assert s3.names() == ["a/1", "a/2", "a/3", "a/4"]


def test_a_file_that_was_not_written_to_its_end_is_deleted(s3: S3Server) -> None:
    """Closing it would have made it look complete."""
    with pytest.raises(TypeError):
        store(s3).write(f"s3://{BUCKET}/f", b"abc", None)  # type: ignore[arg-type]
    assert s3.names() == []


def test_an_empty_directory_of_a_store_moves_by_itself(s3: S3Server) -> None:
    """Where directories are but the names of files there is nothing to move."""
    store(s3).move_directory(f"s3://{BUCKET}/a", f"s3://{BUCKET}/b")
    assert s3.names() == []


def test_a_move_deletes_only_what_it_has_copied(s3: S3Server) -> None:
    """Others may write to either place in the meantime."""
    for finish, left in (
        (ArrowFileIO.end_move, ["a/later", "b/1", "b/later"]),
        (ArrowFileIO.undo_move, ["a/1", "a/later", "b/later"]),
    ):
        s3.empty()
        place = Place(store(s3), f"s3://{BUCKET}")
        old, new = f"{place.root}/a", f"{place.root}/b"
        write(place, "a/1")
        place.io.move_directory(old, new)
        write(place, "a/later", "b/later")
        finish(*([place.io, old] if finish is ArrowFileIO.end_move else [place.io, old, new]))  # type: ignore[operator]
        assert s3.names() == left


def test_a_mark_is_no_directory(s3: S3Server) -> None:
    """What some programs leave in a store for a directory counts for nothing, and a directory of
    hidden files for one.
    """
    s3.files.create_dir(f"{BUCKET}/t/a/b", recursive=True)
    io, root = store(s3), f"s3://{BUCKET}/t"
    assert not io.exists(root)
    assert io.remove_empty_directory(f"{root}/a")
    io.write(f"{root}/base_1/_orc_acid_version", b"2")
    assert io.exists(root)
    assert io.listing(root).directories == ("base_1",)
    assert not io.remove_empty_directory(f"{root}/base_1")


def test_a_bucket_that_is_not_there_is_an_error(s3: S3Server) -> None:
    """It is not an empty directory."""
    io = ArrowFileIO(
        files=s3.files, root="s3://no-such-bucket", prefix="no-such-bucket", renaming=False
    )
    with pytest.raises(FileNotFoundError):
        io.make_directory("s3://no-such-bucket/t")
    with pytest.raises(FileNotFoundError):
        io.write("s3://no-such-bucket/t/f", b"")


def test_a_whole_bucket_is_never_deleted(s3: S3Server) -> None:
    """Whoever made a table of one keeps the files."""
    place = Place(store(s3), f"s3://{BUCKET}")
    write(place, "x")
    with pytest.raises(PermissionError):
        place.io.delete_tree(place.root)
    assert s3.names() == ["x"]


def test_a_path_elsewhere_is_refused(s3: S3Server) -> None:
    """Not even one that begins alike."""
    for path in (f"s3://{BUCKET}2/f", "/tmp/f"):
        with pytest.raises(OSError, match="cross-device"):
            store(s3).read(path)


@pytest.mark.parametrize(
    ("raised", "kind", "text"),
    [
        (
            OSError(
                "When listing: AWS Error ACCESS_DENIED during ListObjectsV2 operation: no\nstack"
            ),
            PermissionError,
            "ACCESS_DENIED",
        ),
        (
            OSError("AWS Error UNKNOWN (HTTP status 403) during HeadObject operation"),
            PermissionError,
            "403",
        ),
        (
            OSError("Azure Error: [BlobNotFound] 404 The specified blob does not exist."),
            FileNotFoundError,
            "BlobNotFound",
        ),
        (OSError("Azure Error: [AuthorizationFailure] 403 no"), PermissionError, "403"),
        (
            OSError("AWS Error NO_SUCH_BUCKET during PutObject operation"),
            FileNotFoundError,
            "NO_SUCH_BUCKET",
        ),
        (
            OSError("AWS Error NETWORK_CONNECTION during HeadObject operation: curlCode: 7"),
            OSError,
            "NETWORK_CONNECTION",
        ),
        (pa.ArrowInvalid("Empty path component in path b//x"), OSError, "Empty path component"),
        (pa.ArrowNotImplementedError("Azure: no"), OSError, "Azure: no"),
        (FileExistsError(17, "there", "its name"), FileExistsError, "there"),
    ],
)
def test_errors_are_of_pythons_kinds(raised: Exception, kind: type[OSError], text: str) -> None:
    """What drivers raise comes out as an OSError of one line that names the file."""
    with pytest.raises(kind) as caught, os_errors("s3://b/x"):
        raise raised
    assert text in (caught.value.strerror or "")
    assert "\n" not in (caught.value.strerror or "")
    assert caught.value.filename in ("s3://b/x", "its name")
