"""The local file system behind the protocol."""

from __future__ import annotations

from pathlib import Path

import pytest

from acidsql.errors import UnsupportedStatementError
from acidsql.spark.fileio import LocalFileIO, file_io, local_path

IO = LocalFileIO()


def test_listing_leaves_hidden_names_out(tmp_path: Path) -> None:
    """Hidden files and all below hidden directories are left out; a missing root is empty."""
    for name in ("delta_1_1/bucket_00000", "delta_1_1/_orc_acid_version", ".staging/x/part", "_tmp/y", "p=1/base_3/bucket_00001"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"abc")
    listing = IO.listing(str(tmp_path))
    assert [(f.path, f.size) for f in listing.files] == [("delta_1_1/bucket_00000", 3), ("p=1/base_3/bucket_00001", 3)]
    assert listing.directories == ("delta_1_1", "p=1", "p=1/base_3")
    assert listing.files[0].mtime_ns == (tmp_path / "delta_1_1/bucket_00000").stat().st_mtime_ns
    assert IO.list_files(str(tmp_path / "missing")) == []


def test_publish_never_replaces(tmp_path: Path) -> None:
    """A taken name is an error and both files stay as they are."""
    one, two, final = (str(tmp_path / n) for n in ("one", "two", "final"))
    IO.write(one, b"1")
    IO.write(two, b"2")
    IO.publish(one, final)
    assert not IO.exists(one)
    with pytest.raises(FileExistsError):
        IO.publish(two, final)
    assert (IO.read(final), IO.read(two)) == (b"1", b"2")


def test_write_creates(tmp_path: Path) -> None:
    """A file is made of its parts, in a name that was free."""
    path = str(tmp_path / "f")
    IO.write(path, b"abc", memoryview(b"xdefx")[1:4])
    assert IO.read(path) == b"abcdef"
    assert IO.read_tail(path, 2) == (b"ef", 6)
    assert IO.read_tail(path, 100) == (b"abcdef", 6)
    with pytest.raises(FileExistsError):
        IO.write(path, b"")
    IO.replace_tail(path, 3, b"Z")
    assert IO.read(path) == b"abcZ"


def test_a_directory_moves_to_a_free_name_only(tmp_path: Path) -> None:
    """With all it holds, into parents that are made; whatever is there already, even an empty directory, refuses it."""
    old, new = str(tmp_path / "a=1"), str(tmp_path / "a=2/b=3")
    (tmp_path / "a=1/delta_1_1").mkdir(parents=True)
    (tmp_path / "a=1/delta_1_1/bucket_00000").write_bytes(b"x")
    IO.move_directory(old, new)
    assert not IO.exists(old)
    assert IO.read(f"{new}/delta_1_1/bucket_00000") == b"x"
    IO.make_directory(old)
    for one, other in ((old, new), (new, old)):
        with pytest.raises(FileExistsError):
            IO.move_directory(one, other)
    assert IO.read(f"{new}/delta_1_1/bucket_00000") == b"x"
    with pytest.raises(FileNotFoundError):
        IO.move_directory(str(tmp_path / "none"), str(tmp_path / "other"))


def test_only_an_empty_directory_is_removed(tmp_path: Path) -> None:
    """What holds anything stays, and the answer says so; one that is not there is gone."""
    path = str(tmp_path / "d")
    IO.make_directory(path)
    IO.write(f"{path}/_hidden", b"")
    assert not IO.remove_empty_directory(path)
    IO.delete_file(f"{path}/_hidden")
    assert IO.remove_empty_directory(path)
    assert IO.remove_empty_directory(path)
    assert not IO.exists(path)
    IO.write(path, b"")
    with pytest.raises(NotADirectoryError):
        IO.remove_empty_directory(path)


def test_deleting_what_is_not_there(tmp_path: Path) -> None:
    """Deleting twice is no error."""
    IO.make_directory(str(tmp_path / "a/b"))
    for _ in range(2):
        IO.delete_tree(str(tmp_path / "a"))
        IO.delete_file(str(tmp_path / "f"))
        IO.sync_directory(str(tmp_path))
    assert not IO.exists(str(tmp_path / "a"))


@pytest.mark.parametrize(
    ("location", "path"),
    [
        ("/a/b", "/a/b"),
        ("file:/a/b", "/a/b"),
        ("file:///a/b%20c", "/a/b%20c"),
        ("file://host/a", "/a"),
        ("/a:b/c", "/a:b/c"),
        ("FILE:/x", "/x"),
    ],
)
def test_locations(location: str, path: str) -> None:
    """Paths and file: URLs are local; percent signs stay."""
    assert local_path(location) == path


def test_other_file_systems_are_refused() -> None:
    """A location we cannot write to atomically is an error that names it."""
    with pytest.raises(UnsupportedStatementError, match="s3a://bucket/t"):
        file_io("s3a://bucket/t")
