"""File systems for tests: one S3 server on loopback for the run, and Hadoop's ViewFileSystem, which
knows a place by another scheme.

The server is moto. ``ACIDSQL_TEST_S3`` is the URL of another one, which the same tests then use;
its credentials are those of the environment, and the tests' bucket is made there and emptied.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pytest
from pyarrow import fs

from acidsql.files.fileio import FileIO

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BUCKET = "acidsql-test"
OTHER_SERVER = "ACIDSQL_TEST_S3"
_REGION = "us-east-1"


@dataclass(frozen=True, slots=True)
class Place:
    """``root``: an empty directory, or what would be one."""

    io: FileIO
    root: str


class Requests(logging.Handler):
    """What a server was asked, as ``METHOD /path``."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.seen.append(unquote(record.getMessage()).partition('"')[2])


@dataclass(slots=True)
class S3Server:
    """Its one bucket is empty when a test begins."""

    endpoint: str
    files: fs.S3FileSystem

    def empty(self) -> None:
        self.files.create_dir(BUCKET)
        if OTHER_SERVER in os.environ:  # one above real directories wants to be emptied upwards
            for info in sorted(self._below(), key=lambda info: info.path, reverse=True):
                is_file = info.type is fs.FileType.File
                (self.files.delete_file if is_file else self.files.delete_dir)(info.path)
        self.files.delete_dir_contents(BUCKET)

    def _below(self, directory: str = "") -> list[fs.FileInfo]:
        root = f"{BUCKET}/{directory}".rstrip("/")
        selected = fs.FileSelector(root, recursive=True, allow_not_found=True)
        return list(self.files.get_file_info(selected))

    @property
    def settings(self) -> dict[str, str]:
        return {"acidsql.s3.endpoint": self.endpoint}

    def names(self, below: str = "") -> list[str]:
        """Of the objects, without the marks some programs leave for directories."""
        files = [info.path for info in self._below(below) if info.type is fs.FileType.File]
        return sorted(path.removeprefix(f"{BUCKET}/") for path in files)

    @contextmanager
    def requests(self) -> Iterator[list[str]]:
        """What it is asked inside, which another server than ours does not tell."""
        if OTHER_SERVER in os.environ:
            pytest.skip("only the tests' own S3 server tells what it is asked")
        handler, logger = Requests(), logging.getLogger("werkzeug")
        logger.addHandler(handler)
        try:
            yield handler.seen
        finally:
            logger.removeHandler(handler)


@contextmanager
def s3_server() -> Iterator[S3Server]:
    """With credentials in the environment, as a user has them."""
    with pytest.MonkeyPatch.context() as environment:
        for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"):
            environment.delenv(name, raising=False)
        environment.setenv("AWS_EC2_METADATA_DISABLED", "true")
        if endpoint := os.environ.get(OTHER_SERVER):
            yield _server_at(endpoint)
            return
        for name in ("AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION"):
            environment.delenv(name, raising=False)
        environment.setenv("AWS_ACCESS_KEY_ID", "test")
        environment.setenv("AWS_SECRET_ACCESS_KEY", "test")
        with _moto(environment) as endpoint:
            yield _server_at(endpoint)


@contextmanager
def _moto(environment: pytest.MonkeyPatch) -> Iterator[str]:
    """The URL of a server of this process."""
    from moto.server import ThreadedMotoServer
    from werkzeug.serving import WSGIRequestHandler

    # else the body of an answer waits until its head has been acknowledged
    environment.setattr(WSGIRequestHandler, "disable_nagle_algorithm", True)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield f"http://{host}:{port}"
    finally:
        server.stop()


def _server_at(endpoint: str) -> S3Server:
    scheme, _, host = endpoint.partition("://")
    files = fs.S3FileSystem(
        endpoint_override=host, scheme=scheme, region=_REGION, allow_bucket_creation=True
    )
    return S3Server(endpoint, files)


def mounted(spark: SparkSession, folder: Path, scheme: str) -> str:
    """A URL by which Spark's Hadoop sees ``folder``: ``viewfs``, or ``s3a`` in the place of its
    driver, which PySpark does not bring.
    """
    host = f"h{folder.name.replace('_', '-').strip('-')}"
    if scheme != "viewfs":
        spark.conf.set(
            f"fs.{scheme}.impl", "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme"
        )
        committers = "org.apache.hadoop.mapreduce.lib.output.FileOutputCommitterFactory"
        spark.conf.set(f"mapreduce.outputcommitter.factory.scheme.{scheme}", committers)
    spark.conf.set(f"fs.viewfs.mounttable.{host}.link./data", folder.as_uri())
    return f"{scheme}://{host}/data"
