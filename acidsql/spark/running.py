"""The Spark session that an engine's statements run in: derived from one handed in, or of a Spark started when it is first needed."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from acidsql.catalog.model import Table
from acidsql.settings import Settings, show_value
from acidsql.spark import classic
from acidsql.spark.stored import holds, is_timestamp
from acidsql.spark.translation import translated

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class RunningSpark:
    """``theirs``: a session that was handed in. It follows the settings named ``spark.*`` and ``acidsql.ansi``."""

    def __init__(self, settings: Settings, theirs: SparkSession | None, master: str | None, conf: Mapping[str, str] | None) -> None:
        self._settings = settings
        self._theirs = theirs
        self._master = master
        self._conf = dict(conf or {})
        self._ours: SparkSession | None = None
        self._lock = threading.Lock()
        self._tag = f"acidsql-{uuid.uuid4().hex[:12]}"
        settings.on_change(self._setting_changed)

    @property
    def started(self) -> bool:
        return self._ours is not None

    @property
    def session(self) -> SparkSession:
        """ExecutionError if Spark cannot be started."""
        with self._lock:
            if self._ours is None:
                self._ours = self._open()
            return self._ours

    def _open(self) -> SparkSession:
        from acidsql.spark import session

        given = {k: show_value(v) for k, v in self._settings.items() if k.startswith("spark.")}
        given["spark.sql.ansi.enabled"] = show_value(self._settings.flag("acidsql.ansi"))
        if self._theirs is not None:
            return session.derive(self._theirs, given)
        fast = self._settings.flag("acidsql.spark.fast.start")
        return session.derive(session.start(self._master, self._conf, fast_start=fast), given)

    def has_view(self, name: str) -> bool:
        """Asked only of a session there is, none is started."""
        spark = self._theirs or self._ours
        return spark is not None and bool(spark.catalog.tableExists(name))

    def import_views(self, names: Iterable[str]) -> None:
        """Views of the session that was handed in."""
        if self._theirs is None:
            return
        from acidsql.spark import session

        for name in names:
            with translated():
                session.import_view(self.session, self._theirs, name)

    def check_time_zone(self, *tables: Table) -> None:
        """ExecutionError where the timestamps of these tables would shift: see session.check_time_zone."""
        if any(holds(column.type, is_timestamp) for table in tables for column in table.columns):
            from acidsql.spark import session

            session.check_time_zone(self.session)

    @contextmanager
    def tagged(self) -> Iterator[None]:
        """Jobs inside can be cancelled from another thread."""
        spark = self.session
        spark.addTag(self._tag)
        try:
            yield
        finally:
            spark.removeTag(self._tag)

    def cancel(self) -> None:
        if self._ours is not None:
            self._ours.interruptTag(self._tag)

    def running_tasks(self) -> tuple[int, int] | None:
        """(tasks done, tasks known) of the Spark jobs that run now. For another thread."""
        return None if self._ours is None else classic.running_tasks(self._ours)

    def close(self) -> None:
        self._ours = None

    def _setting_changed(self, name: str) -> None:
        if self._ours is None:
            return
        if name == "acidsql.ansi":
            self._ours.conf.set("spark.sql.ansi.enabled", show_value(self._settings.flag(name)))
        elif name.startswith("spark."):
            self._set_conf(self._ours, name, self._settings.get(name))

    @staticmethod
    def _set_conf(spark: SparkSession, name: str, value: Any) -> None:
        with translated():
            if value is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, show_value(value))
