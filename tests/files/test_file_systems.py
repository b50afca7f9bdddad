"""Which file system a path lies on, and by what name each of the others calls a place."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyarrow import fs

from acidsql.errors import UnsupportedStatementError
from acidsql.files import file_systems
from acidsql.files.arrow_files import ArrowFileIO
from acidsql.files.file_systems import FileSystems
from acidsql.files.fileio import FileIO, Url, parent, path_of, real_path, relative_to, spark_url
from acidsql.files.local_files import LocalFileIO
from acidsql.settings import Settings
from acidsql.spark.jvm import hadoop_files, java
from acidsql.spark.read.scan_words import file_uri, metadata_path
from tests.spark.stores import BUCKET, S3Server


class SparkAskedFor(Exception):  # noqa: N818
    """Instead of starting Spark."""


def no_spark(url: Url) -> FileIO:
    raise SparkAskedFor


def systems(**settings: str) -> FileSystems:
    """``s3_endpoint`` for ``acidsql.s3.endpoint``."""
    given = {f"acidsql.{name.replace('_', '.')}": value for name, value in settings.items()}
    return FileSystems(Settings(given), no_spark)


def arrow(io: object) -> ArrowFileIO:
    assert isinstance(io, ArrowFileIO)
    return io


# ---- names


@pytest.mark.parametrize(
    ("location", "path", "told", "shown"),
    [
        ("/a/b%20{c}", "/a/b%20{c}", "file:///a/b%20{c}", "file:/a/b%2520%7Bc%7D"),
        ("file:/a/b", "/a/b", "file:///a/b", "file:/a/b"),
        ("file:///a b", "/a b", "file:///a b", "file:/a%20b"),
        ("FILE://host/a", "/a", "file:///a", "file:/a"),
        ("/a:b/c", "/a:b/c", "file:///a:b/c", "file:/a:b/c"),
        ("s3://bucket/t", "s3://bucket/t", "s3a://bucket/t", "s3a://bucket/t"),
        (
            "S3N://Bucket/p=1%3A2/é",
            "S3N://Bucket/p=1%3A2/é",
            "s3a://Bucket/p=1%3A2/é",
            "s3a://Bucket/p=1%253A2/é",
        ),
        ("hdfs://nn:8020/w/t", "hdfs://nn:8020/w/t", "hdfs://nn:8020/w/t", "hdfs://nn:8020/w/t"),
        ("abfss://c@a.dfs.core.windows.net/t", *["abfss://c@a.dfs.core.windows.net/t"] * 3),
    ],
)
def test_a_place_has_several_names(location: str, path: str, told: str, shown: str) -> None:
    """The path files are opened by, what Spark is told, and what Spark's
    _metadata.file_path shows.
    """
    assert (path_of(location), spark_url(location), metadata_path(path)) == (path, told, shown)


def test_marks_of_patterns_are_escaped() -> None:
    """In a URL as in a path."""
    assert file_uri("s3://b/{x}[*]?") == "s3a://b/\\{x\\}\\[\\*\\]\\?"


def test_one_spelling_for_each_place(tmp_path: Path) -> None:
    """S3's schemes are one; hosts have no case, buckets have; links are followed."""
    (tmp_path / "link").symlink_to(tmp_path)
    assert real_path(f"file:{tmp_path}/link/t") == str(tmp_path.resolve() / "t")
    assert real_path("S3a://B/t/") == real_path("s3://B/t") == "s3://B/t"
    assert real_path("hdfs://NN:8020/t") == "hdfs://nn:8020/t"
    assert real_path("hdfs:///t") == "hdfs:///t"


def test_parents_end_at_the_root() -> None:
    """There is nothing above a bucket."""
    assert [parent(p) for p in ("s3://b/x/y", "s3://b/x", "s3://b", "/a/b", "/a")] == [
        "s3://b/x",
        "s3://b",
        "",
        "/a",
        "",
    ]


def test_paths_are_shown_as_seen_from_the_warehouse() -> None:
    """Those on another file system in full."""
    shown = [relative_to(p, "/w") for p in ("/w/t/delta", "/x/t", "file:/w/t", "s3://b/t")]
    assert shown == ["t/delta", "../x/t", "t", "s3://b/t"]


@pytest.mark.parametrize("location", ["hdfs:///t", "s3:/bucket/t", "abfss:///x"])
def test_a_url_names_its_host(location: str) -> None:
    """Whoever reads a URL without one would look elsewhere."""
    with pytest.raises(UnsupportedStatementError, match="names no host"):
        path_of(location)


# ---- choosing


def test_local_paths_need_nothing_else(tmp_path: Path) -> None:
    """Neither settings nor pyarrow are asked."""
    files = systems(filesystem="hadoop")
    assert isinstance(files.of("/a:b"), LocalFileIO)
    files.write(f"file:{tmp_path}/f", b"x")
    assert (files.renames(str(tmp_path)), files.read(f"{tmp_path}/f")) == (True, b"x")


def test_urls_are_opened_by_pyarrow_where_it_can() -> None:
    """One file system for each bucket or container, kept."""
    files = systems(s3_endpoint="localhost:1")
    s3, gs, azure = (
        arrow(files.of(url)) for url in ("s3a://b/x", "gs://b/x", "abfss://c@account.dfs.core.windows.net/x")
    )  # fmt: skip
    assert [io.prefix for io in (s3, gs, azure)] == ["b", "b", "c"]
    assert [type(io.files) for io in (s3, gs, azure)] == [
        fs.S3FileSystem,
        fs.GcsFileSystem,
        fs.AzureFileSystem,
    ]
    assert not any(io.renaming for io in (s3, gs, azure))
    assert files.of("s3a://b/y/z") is s3
    assert files.of("s3a://c/x") is not s3


def test_without_libhdfs_hadoop_is_asked_through_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """And for schemes pyarrow does not know; told to use pyarrow alone it is an error that says
    why.
    """

    def missing(*arguments: object) -> None:
        raise OSError("Unable to load libhdfs\nmore")

    monkeypatch.setattr(fs, "HadoopFileSystem", missing)
    for url in ("hdfs://nn:8020/t", "viewfs://cluster/t"):
        with pytest.raises(SparkAskedFor):
            systems().exists(url)
        with pytest.raises(UnsupportedStatementError, match=f'pyarrow cannot open "{url[:-2]}"'):
            systems(filesystem="arrow").exists(url)
    with pytest.raises(SparkAskedFor):
        systems(filesystem="hadoop").exists("s3://b/t")


def test_hdfs_renames(monkeypatch: pytest.MonkeyPatch) -> None:
    """The host and port of the URL are its name node's."""
    asked = []
    monkeypatch.setattr(fs, "HadoopFileSystem", lambda *arguments: asked.append(arguments))
    io = arrow(systems().of("hdfs://nn:8020/t"))
    assert (io.renaming, io.prefix, asked) == (True, "", [("nn", 8020)])


def test_hadoop_needs_a_java_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark Connect has none to ask."""
    monkeypatch.setattr(java, "jvm", lambda spark: None)
    files = FileSystems(Settings({}), lambda url: hadoop_files.hadoop_file_io(None, url))  # type: ignore[arg-type]
    with pytest.raises(
        UnsupportedStatementError, match="cannot be opened by Hadoop over Spark Connect"
    ):
        files.exists("viewfs://c/t")


def test_azure_needs_an_account() -> None:
    """A container alone is nowhere; other clouds have other domains."""
    with pytest.raises(UnsupportedStatementError, match="names no storage account"):
        systems().exists("abfss://container/x")
    assert arrow(systems().of("abfss://c@a.dfs.core.chinacloudapi.cn/x")).prefix == "c"


def test_nothing_moves_between_file_systems(s3: S3Server, tmp_path: Path) -> None:
    """What is staged on one cannot be published on another."""
    files = FileSystems(Settings(s3.settings), no_spark)
    files.write(f"s3://{BUCKET}/f", b"x")
    for move in (files.publish, files.move_file, files.move_directory, files.undo_move):
        with pytest.raises(OSError, match="cross-device"):
            move(f"s3://{BUCKET}/f", str(tmp_path / "f"))
    assert s3.names() == ["f"]


def test_large_files_go_up_in_parts(s3: S3Server) -> None:
    """And come down whole."""
    files = FileSystems(Settings({**s3.settings, "acidsql.s3.region": "eu-west-1"}), no_spark)
    content = bytes(12 << 20)
    with s3.requests() as seen:
        files.write(f"s3://{BUCKET}/large", content)
    assert any("uploadId" in request for request in seen)
    assert files.read(f"s3://{BUCKET}/large") == content
    assert files.listing(f"s3://{BUCKET}").files[0].size == len(content)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, (None, None, None, False)),
        ({"s3_region": "eu-west-1"}, (None, None, "eu-west-1", False)),
        ({"s3_endpoint": "http://h:9000"}, ("h:9000", "http", "us-east-1", False)),
        (
            {"s3_endpoint": "h:9000", "s3_region": "x", "s3_path_style": "false"},
            ("h:9000", None, "x", True),
        ),
    ],
)
def test_s3_settings(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], expected: tuple[object, ...]
) -> None:
    """What is not set is left to the environment, but the region of a server that is
    not Amazon's.
    """
    given: dict[str, object] = {}
    monkeypatch.setattr(fs, "S3FileSystem", lambda **options: given.update(options))
    systems(**settings).of("s3://b/x")
    assert (
        tuple(
            given[name]
            for name in ("endpoint_override", "scheme", "region", "force_virtual_addressing")
        )
        == expected
    )
    assert not {"access_key", "secret_key", "session_token"} & given.keys()


def test_wrong_credentials_are_not_shown(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """No error and no setting holds them."""
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "verysecret")
    monkeypatch.setattr(file_systems, "_ATTEMPTS", 1)
    files = FileSystems(Settings({"acidsql.s3.endpoint": "http://127.0.0.1:9"}), no_spark)
    with pytest.raises(OSError) as caught:
        files.read("s3://b/f")
    assert "verysecret" not in f"{caught.value!r}{files!r}{files.of('s3://b')!r}"
