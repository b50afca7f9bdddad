"""What all statements of a session share: its Spark, its file systems, and what is known of files
that were looked at.

Spark is imported and started only when something here asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from acidsql.catalog.catalog import Catalog
from acidsql.errors import ExecutionError
from acidsql.files.file_systems import FileSystems
from acidsql.files.fileio import FileIO, Url
from acidsql.settings import Settings
from acidsql.spark.start.running import RunningSpark, translated
from acidsql.storage.counting import RowCounter
from acidsql.storage.known_files import KnownFiles

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from acidsql.spark.read.reader import SnapshotReader


class Resources:
    """``running`` is the Spark that runs the statements, ``files`` the file systems, ``known`` what
    footers and delete events have told, ``counter`` what counts rows by them. ``may_start``: Spark,
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
        warehouse: str | None = None,
    ) -> None:
        self.settings = settings
        self.catalog = catalog
        self.files: FileIO = files or FileSystems(settings, self._hadoop_files)
        self.running = RunningSpark(
            settings, spark, master, conf, may_start=may_start, warehouse=warehouse
        )
        self.known = KnownFiles.of(self.files, self._in_tasks)
        self.counter = RowCounter(self.known)
        self._reader: SnapshotReader | None = None

    def _hadoop_files(self, url: Url) -> FileIO:
        from acidsql.spark.jvm.hadoop_files import hadoop_file_io

        return hadoop_file_io(self.spark, url)

    def _in_tasks(
        self, io: FileIO, root: str, work: Callable[[FileIO, Any], Any], items: Sequence[Any]
    ) -> list[Any] | None:
        from acidsql.spark.start.workers import in_tasks

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
