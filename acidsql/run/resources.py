"""What all statements of a session share: its Spark, its file systems, what is known of files that
were looked at, and the temporary views: planning a query on a kept view takes a fraction of what
making the view takes.

Spark is imported and started only when something here asks for it.
"""

from __future__ import annotations

import contextlib
import uuid
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from acidsql.catalog.catalog import Catalog
from acidsql.errors import ExecutionError
from acidsql.files.file_systems import FileSystems
from acidsql.files.fileio import FileIO
from acidsql.files.urls import Url
from acidsql.run.driver.queries import LocalQueries
from acidsql.settings import Settings
from acidsql.spark import jvm
from acidsql.spark.start.running import RunningSpark
from acidsql.spark.start.translation import translated
from acidsql.storage.counting import RowCounter
from acidsql.storage.known_files import KnownFiles

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from acidsql.spark.read.reader import SnapshotReader


MAX_KEPT = 24
"""More than the tables of one statement: its views must all live until Spark has analysed its text.
"""


class Resources:
    """``running`` is the Spark that runs the statements, ``files`` the file systems, ``known`` what
    footers and delete events have told, ``counter`` what counts rows by them, ``local``
    what makes rows of them without Spark. ``may_start``: Spark,
    see RunningSpark.
    """

    def __init__(
        self,
        settings: Settings,
        catalog: Catalog,
        *,
        spark: SparkSession | None,
        master: str | None,
        conf: Mapping[str, str] | None,
        files: FileIO | None = None,
        may_start: bool = True,
    ) -> None:
        self.settings = settings
        self.catalog = catalog
        self.files: FileIO = files or FileSystems(settings, self._hadoop_files)
        self.running = RunningSpark(settings, spark, master, conf, may_start=may_start)
        self.known = KnownFiles.of(self.files, self._in_tasks)
        self.counter = RowCounter(self.known)
        self.local = LocalQueries(settings, self.known)
        self._reader: SnapshotReader | None = None

    def _hadoop_files(self, url: Url) -> FileIO:
        from acidsql.spark.jvm.hadoop_files import hadoop_file_io

        return hadoop_file_io(self.spark, url)

    def _in_tasks(
        self, io: FileIO, root: str, work: Callable[[FileIO, Any], Any], items: Sequence[Any]
    ) -> list[Any] | None:
        from acidsql.spark.start.executors import in_tasks

        return in_tasks(self.spark, io, root, work, items) if self.running.started else None

    @property
    def spark(self) -> SparkSession:
        """The session statements run in; ExecutionError if Spark cannot be started."""
        return self.running.session

    @property
    def reader(self) -> SnapshotReader:
        if self._reader is None:
            from acidsql.spark.read.reader import SnapshotReader

            self._reader = SnapshotReader(self.spark, self.settings, self.files, self.known)
        return self._reader

    def renew(self) -> None:
        """Before a statement: forgets what a Spark that is gone has made."""
        if self.running.renew():
            self._reader = None
            if isinstance(self.files, FileSystems):
                self.files.forget()

    def close(self) -> None:
        if self._reader is not None and not self.running.is_lost:
            try:
                with translated():
                    self._reader.close()
            except ExecutionError:
                if not self.running.is_lost:  # it has died at this moment
                    raise
        self.known.close()
        self._reader = None
        self.running.close()


class Views:
    """Views by what they show. A view that is dropped stays good for queries analysed before."""

    def __init__(self, spark: SparkSession, max_kept: int = MAX_KEPT) -> None:
        self._spark = spark
        self._max_kept = max_kept
        self._names: OrderedDict[Hashable, str] = OrderedDict()
        self._prefix = f"acidsql_{uuid.uuid4().hex[:12]}"
        self._count = 0

    def get(self, key: Hashable, make: Callable[[], DataFrame]) -> str:
        """The name of the view of ``key``; ``make`` is called if there is none."""
        name = self._names.get(key)
        if name is None:
            frame = make()
            self._count += 1
            name = f"{self._prefix}_{self._count}"
            frame.createOrReplaceTempView(name)
            self._names[key] = name
            while len(self._names) > self._max_kept:
                self._drop(self._names.popitem(last=False)[1])
        self._names.move_to_end(key)
        return name

    def close(self) -> None:
        while self._names:
            self._drop(self._names.popitem()[1])

    def _drop(self, name: str) -> None:
        jvm.drop_view(self._spark, name)


@contextlib.contextmanager
def temporary_view(frame: DataFrame) -> Iterator[str]:
    """The name of a view that goes in the end. Every query analysed inside reads the same files by
    it, however often it stands there.
    """
    name = f"acidsql_{uuid.uuid4().hex[:12]}"
    frame.createOrReplaceTempView(name)
    try:
        yield name
    finally:
        jvm.drop_view(frame.sparkSession, name)
