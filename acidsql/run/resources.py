"""What all statements of a session share: its Spark, its file systems, and what is known of files
that were looked at.

Spark is imported and started only when something here asks for it.
"""

from __future__ import annotations

import os
import re
import sys
import threading
import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from acidsql import interrupts, spark_settings
from acidsql.catalog.catalog import Catalog
from acidsql.catalog.model import ForeignTable, SparkRelation
from acidsql.errors import (
    ExecutionError,
    SparkNotStartedError,
)
from acidsql.expressions.spark_words import identifier
from acidsql.files.file_systems import FileSystems
from acidsql.files.fileio import FileIO, Url
from acidsql.files.parallel import THREADS
from acidsql.lazy import pattern
from acidsql.plan.engines import SparkAtHand
from acidsql.run.translation import silence, translated
from acidsql.settings import Settings, show_value
from acidsql.spark import jvm
from acidsql.spark_settings import OUR_ZONE, USER_ZONE, ZONE
from acidsql.storage.counting import RowCounter
from acidsql.storage.known_files import KnownFiles

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from acidsql.spark.read.reader import SnapshotReader


_BEAT_SECONDS = 0.1
_HARMLESS = pattern(
    r"spark\.sql\.(session\.timeZone|ansi\.enabled|shuffle\.|adaptive\.|files\.|sources\."
    r"|autoBroadcast|broadcast|execution\.|codegen\.|ui\.|warehouse\.|catalogImplementation"
    r"|extensions$|catalog\.|orc\.|parquet\.|statistics\.|join\.|inMemory|cache\.|limit\."
    r"|optimizer\.|debug\.|event|artifact\.|maxPlan|streaming\.|repl\.|chunk|hive\."
    r"|caseSensitive$|legacy\.allowEmptySchemaWrite$)"
)
"""Settings that say how Spark works, and never what comes of it."""


_OF_FILES = pattern(
    r"spark\.sql\.(parquet|orc|files|sources|hive|runSQLOnFiles|caseSensitive|timestampType|legacy)"
)
"""Settings that say how Spark reads files, whether anything else comes of that or not."""
_OF_HADOOP = ("HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_CONF_DIR", "HADOOP_HOME", "SPARK_HOME")
"""What may name folders with files that name another file system than this machine's."""
_OTHER_STORES = pattern(r"spark\.hadoop\.fs\.(s3a?|gs|abfss?|azure|oss|cosn)\.")

_OF_FUNCTIONS = pattern(r"spark\.(sql\.(extensions|catalog\.)|plugins|jars)|spark\.remote")
"""Settings by which a Spark may get functions of its own."""

WaitNotice = Callable[[str | None], object]


def _looks_elsewhere(
    spark: SparkSession | None, master: str | None, conf: Mapping[str, str]
) -> str | None:
    """Why Spark may take a path for another file than this process does. ``spark``: that which
    runs; None where one would be started with this ``master`` and ``conf``, which has all that is
    set here or outside.
    """
    if spark is None:
        master = master or conf.get("spark.master") or "local"
        if any(name in os.environ for name in _OF_HADOOP):
            return "files of a Spark that is configured elsewhere"
        if any(n.startswith("spark.hadoop.") and not _OTHER_STORES.match(n) for n in conf):
            return "files of a Hadoop that is configured"
    else:
        if (root := jvm.root_of_paths(spark)) is None or not root.startswith("file:"):
            return "files of another machine, or of another file system"
        master = str(spark.conf.get("spark.master", "") or "")
    return None if re.match(r"local(\[|$)", master) else "files of the machines of a cluster"


def _spark_of_process() -> SparkSession | None:
    """``jvm.running_session_if_any``; nothing is imported to find that there can be none."""
    return jvm.running_session_if_any() if "pyspark" in sys.modules else None


def _quoted(table: ForeignTable) -> str:
    return ".".join(map(identifier, table.parts))


def _submitted_settings() -> dict[str, str] | None:
    """``jvm.submitted_settings``; nothing is imported before it is asked for."""
    return jvm.submitted_settings()


class RunningSpark:
    """The Spark session of one session of ours; it follows the settings named ``spark.*`` and
    ``acidsql.ansi``. ``user_spark``: a session that was handed in, from which it is derived.
    ``may_start``: else a need for it is a SparkNotStartedError. ``warehouse``: the directory that
    all processes of a cluster must reach.
    """

    def __init__(
        self,
        settings: Settings,
        user_spark: SparkSession | None,
        master: str | None,
        conf: Mapping[str, str] | None,
        *,
        may_start: bool = True,
        warehouse: str | None = None,
    ) -> None:
        self._settings = settings
        self._warehouse = warehouse
        self._of_s3: set[str] = set()
        self._may_start = may_start
        self._user_spark = user_spark
        self._master = master
        self._conf = dict(conf or {})
        self._spark_conf: Mapping[str, str] | None = None
        self._outside: Mapping[str, str] | None = None
        self._ours: SparkSession | None = None
        self._parent: SparkSession | None = user_spark
        self._of_user: tuple[str, SparkSession] | None = None
        self._same_files: tuple[SparkSession | None, str | None] | None = None
        self._tasks: tuple[SparkSession, int] | None = None
        self._workers_checked = False
        self._lock = threading.Lock()
        self._name = f"acidsql-{uuid.uuid4().hex[:12]}"
        self._tags = 0
        self._tag: str | None = None
        self._wait_notice: WaitNotice | None = None
        self.needed_for: str | None = None
        if user_spark is not None:
            jvm.check_own_process()
        settings.on_change(self._setting_changed)

    @property
    def started(self) -> bool:
        return self._ours is not None

    @property
    def at_hand(self) -> SparkAtHand:
        """What would carry a statement out now. Asks a Spark that runs, and starts none."""
        spark = self._user_spark or self._ours
        if spark is None:
            return SparkAtHand()
        if self._tasks is None or self._tasks[0] is not spark:
            if jvm.is_lost(spark):
                return SparkAtHand()
            self._tasks = spark, jvm.tasks_at_once(spark) or THREADS
        return SparkAtHand(runs=True, tasks=self._tasks[1])

    @property
    def session(self) -> SparkSession:
        """The session, started if need be; ExecutionError if Spark cannot be started."""
        ours = self._ours
        if ours is not None:
            self._check_workers(ours)
            return ours
        if not self._may_start:
            return self.start()
        if self._wait_notice is not None:
            self._wait_notice(self.needed_for)
        elif not interrupts.are_heeded() or self._user_spark or _spark_of_process():
            return self.start()  # in no time, or with nobody who could press Ctrl-C
        return self._started_aside()

    def renew(self) -> bool:
        """Before a statement: lets go of a Spark of ours that is gone, so that the statement starts
        another where it needs one. Whether it was gone. One that was handed in, or that others have
        started, stays, and a need for it is its error.
        """
        ours = self._ours
        self._workers_checked = False
        if ours is None or self._user_spark is not None or not jvm.is_lost(ours):
            return False
        if jvm.java_has_ended():
            if not jvm.started_java():
                return False
            jvm.forget_java()
        self._ours = self._parent = self._spark_conf = None
        return True

    def start(self) -> SparkSession:
        """The session, started if need be while no statement waits for it."""
        if not self._may_start:
            raise SparkNotStartedError("this needs Spark, which is not started for it")
        with self._starting():
            if self._ours is None:
                jvm.check_own_process()
                given = self._given()
                ours = self._open(given)
                silence.spark_started()
                interrupts.renew()
                self._ours = ours
                self._set_what_changed(given)
            return self._ours

    def _started_aside(self) -> SparkSession:
        """The session, started in a thread of its own: Ctrl-C need not wait for Java, and the start
        goes on behind it.
        """
        outcome: Future[SparkSession] = Future()

        def start() -> None:
            try:
                outcome.set_result(self.start())
            except BaseException as error:
                outcome.set_exception(error)

        threading.Thread(target=start, name="acidsql-spark-start", daemon=True).start()
        while not wait([outcome], timeout=_BEAT_SECONDS).done:
            interrupts.check()
        session = outcome.result()
        cancel = jvm.take_over()
        if cancel is not None:
            interrupts.leave_behind(interrupts.CancelsFirst(cancel))
        return session

    def when_waiting(self, notice: WaitNotice) -> None:
        """``notice`` is called whenever a statement is about to wait for Spark's start, with what
        it needs Spark for (``needed_for``). It waits for another thread then, so that Ctrl-C ends
        the statement at once.
        """
        self._wait_notice = notice

    @contextmanager
    def _starting(self) -> Iterator[None]:
        """Lets one thread in at a time; another one that waits heeds Ctrl-C."""
        while not self._lock.acquire(timeout=_BEAT_SECONDS):
            interrupts.check()
        try:
            yield
        finally:
            self._lock.release()

    def _given(self) -> dict[str, str]:
        """The settings of Spark's that this session is to have, as they stand now."""
        given = {
            k: show_value(v)
            for k, v in self._settings.items()
            if k.startswith("spark.") and k != ZONE
        }
        ansi = show_value(self._settings.flag("acidsql.ansi"))
        return given | {"spark.sql.ansi.enabled": ansi, USER_ZONE: self.time_zone}

    def _set_what_changed(self, given: Mapping[str, str]) -> None:
        """Catches up with settings that were changed in another thread while Spark started with
        those ``given``.
        """
        now = self._given()
        for name in sorted({*given, *now}):
            if now.get(name) != given.get(name):
                self._set_conf(self.session, name, now.get(name))

    def _open(self, given: Mapping[str, str]) -> SparkSession:
        from acidsql.spark.start import s3, session

        if self._parent is None:
            fast = self._settings.flag("acidsql.spark.fast.start")
            self._parent = session.start(self._master, self._conf, fast_start=fast)
            self._tell_of_ours({**session.DERIVED_CONF, **given})
        ours = session.derive(self._parent, given)
        s3.hand_over(ours, self._settings, self._of_s3)
        self._workers_checked = False
        self._check_workers(ours)
        return ours

    def _check_workers(self, ours: SparkSession) -> None:
        """Asks the machines of a cluster that were not asked, once for a statement: executors come
        and go.
        """
        if not self._workers_checked and self._settings.flag("acidsql.spark.check.workers"):
            from acidsql.spark.start import workers

            workers.check(ours, self._warehouse)
        self._workers_checked = True

    def _tell_of_ours(self, ours: Mapping[str, str]) -> None:
        """Warns of what was set for Spark, and is something else in our session."""
        known = {USER_ZONE, ZONE, *self._settings.changed()}
        for name, value in self._before_start().items():
            if name in ours and name not in known and value.lower() != ours[name].lower():
                words = f'Spark was told {name} "{value}", and acidsql works with "{ours[name]}"'
                hint = ": SET acidsql.ansi says which" if name == "spark.sql.ansi.enabled" else ""
                warnings.warn(f"{words}{hint}", stacklevel=2)

    def _before_start(self) -> Mapping[str, str]:
        """The settings of a Spark that this session starts: those made outside of the program, and
        above them its own.
        """
        if self._outside is None:
            remote = (self._master or "").startswith("sc://")
            self._outside = {} if remote else spark_settings.settings(_submitted_settings)
        return {**self._outside, **self._conf}

    @property
    def time_zone(self) -> str:
        """The user's, whose clock ``current_timestamp()`` shows; none is started to tell."""
        return str(self._sql_conf().get(ZONE, OUR_ZONE))

    def handed_out(self, frame: DataFrame) -> DataFrame:
        """A DataFrame of our session for the user: its timestamps are wall clocks
        (``timestamp_ntz``), and whatever is computed of it goes by the user's time zone.
        """
        with translated():
            frame, zone = jvm.wall_clocks(frame), self.time_zone
            if jvm.same_time_zone(self.session, zone, OUR_ZONE):
                return frame
            if self._of_user is None or self._of_user[0] != zone:
                clone = jvm.clone_session(self.session)
                clone.conf.set(ZONE, zone)
                self._of_user = zone, clone
            return jvm.in_session(self._of_user[1], frame)

    def changed_meaning(self) -> str | None:
        """The setting of Spark's, of those that were changed, that may change what expressions
        mean; None where there is none.
        """
        names = sorted(name for name in self._sql_conf() if not _HARMLESS.match(name))
        return f"what {names[0]} changes" if names else None

    def reads_otherwise(self, *, relative: bool = False) -> str | None:
        """Why a path may be another file to Spark than to this process, or its rows be read by
        other rules than those of a Spark that nobody has told any; None where it is not so.
        ``relative``: the path is below the working directory, which Spark keeps from its start on.
        """
        spark = self._user_spark or self._ours or _spark_of_process()
        if relative and spark is not None and jvm.working_directory(spark) != os.getcwd():
            return "a path that is relative, to another directory where Spark was started"
        if self._same_files is None or self._same_files[0] is not spark:
            conf = self._before_start() if spark is None else {}
            self._same_files = spark, _looks_elsewhere(spark, self._master, conf)
        if self._same_files[1] is not None:
            return self._same_files[1]
        changed = {name: v for name, v in self._sql_conf().items() if _OF_FILES.match(name)}
        if not changed:
            return None
        from acidsql.spark.start.session import DERIVED_CONF

        others = sorted(name for name in changed if changed[name] != DERIVED_CONF.get(name))
        return f"what {others[0]} changes" if others else None

    def _sql_conf(self) -> Mapping[str, str]:
        """The settings that statements run under: those of this session, above those of the Spark
        it is derived from, as they were when it was first asked for.
        """
        if self._spark_conf is None:
            spark = self._user_spark or _spark_of_process()
            of_spark = self._before_start() if spark is None else jvm.settings_of(spark)
            self._spark_conf = {**of_spark, **self._conf}
        set_here = {name: self._settings.text(name) for name in self._settings.changed()}
        given = {**self._spark_conf, **set_here}
        return {k: v for k, v in given.items() if k.startswith("spark.sql.")}

    def has_view(self, name: str) -> bool:
        """Whether the session that runs has a view of that name; none is started to tell."""
        spark = self._user_spark or self._ours
        if spark is None or not name:
            return False
        with translated():
            return bool(spark.catalog.tableExists(identifier(name)))

    def has_foreign(self, table: ForeignTable) -> bool:
        """Whether Spark has a table of another catalog. Where none runs, whether one would have the
        catalog.
        """
        spark = self._parent or _spark_of_process()
        if spark is None:
            catalog = f"spark.sql.catalog.{table.parts[0]}"
            return catalog in self._before_start() or catalog in self._settings.changed()
        with translated():
            return jvm.has_table(spark, _quoted(table))

    def knows_function(self, name: str) -> bool:
        """Whether the session may know a function that Spark has not by itself: one that a user has
        given to the Spark that runs, or that an extension of one to be started may bring.
        """
        running = [spark for spark in (self._user_spark, self._ours) if spark is not None]
        if not running and (spark := _spark_of_process()) is not None:
            running = [spark]
        if not running:
            names = (*self._before_start(), *self._settings.changed())
            return any(map(_OF_FUNCTIONS.match, names))
        with translated():
            return any(spark.catalog.functionExists(name) for spark in running)

    def import_views(self, relations: Iterable[SparkRelation]) -> None:
        """Copies views of the session that was handed in, if one was, and makes views of tables of
        other catalogs. These are looked up in the session that ours is derived from: what it
        writes, it sees.
        """
        from acidsql.spark.start import session

        for relation in relations:
            ours, user_spark = self.session, self._user_spark
            with translated():
                if isinstance(relation, ForeignTable):
                    assert self._parent is not None
                    text = f"SELECT * FROM {_quoted(relation)} {relation.version}"
                    jvm.make_view(ours, self._parent.sql(text), relation.view)
                elif user_spark is not None:
                    session.import_view(ours, user_spark, relation)

    def add_view(self, frame: DataFrame, name: str) -> None:
        """Makes a DataFrame a view that statements can read. Starts Spark. InterfaceError for one
        of another Java process.
        """
        home = self._user_spark or self.session
        with translated():
            jvm.make_view(home, frame, name)

    def drop_view(self, name: str) -> None:
        """Takes a view away that ``add_view`` has made; there may be none any more."""
        for spark in (self._user_spark, self._ours):
            if spark is not None:
                jvm.drop_view(spark, name)

    def check_frames(self) -> None:
        """ExecutionError where the rows of a frame lie on this machine, and Spark on others."""
        master = str(self.session.conf.get("spark.master", "") or "")
        if self._settings.text("acidsql.frames.directory") or master.startswith("local"):
            return
        raise ExecutionError(
            f'the rows of a frame lie on this machine, and Spark runs on "{master}"',
            hint="SET acidsql.frames.directory to a directory that all machines share.",
        )

    @contextmanager
    def tagged(self) -> Iterator[None]:
        """Jobs inside can be cancelled from another thread. No task is left behind by a failure."""
        spark, before = self.session, self._tag
        self._tags += 1
        self._tag = tag = f"{self._name}-{self._tags}"
        jvm.add_job_tag(spark, tag)
        try:
            yield
        except BaseException:
            with suppress(Exception):  # Java may be gone
                jvm.end_jobs(spark, tag)
            raise
        finally:
            self._tag = before
            with suppress(Exception):
                jvm.remove_job_tag(spark, tag)

    def cancel(self) -> None:
        spark, tag = self._ours, self._tag
        if spark is not None and tag is not None:
            jvm.cancel_jobs(spark, tag)

    def running_tasks(self) -> tuple[int, int] | None:
        """(tasks done, tasks known) of the Spark jobs that run now. For another thread."""
        spark, tag = self._ours, self._tag
        return None if spark is None or tag is None else jvm.running_tasks(spark, tag)

    def close(self) -> None:
        if self._ours is not None and not jvm.is_lost(self._ours):
            jvm.release_clone(self._ours)
        self._ours = None

    @property
    def is_lost(self) -> bool:
        """Whether the session cannot be asked any more."""
        return self._ours is not None and jvm.is_lost(self._ours)

    def _setting_changed(self, name: str) -> None:
        if self._ours is None:
            return
        if name == "acidsql.ansi":
            self._ours.conf.set("spark.sql.ansi.enabled", show_value(self._settings.flag(name)))
        elif name == ZONE:
            with translated():  # Spark knows which zones there are; ours stays what it is
                self._ours.conf.set(ZONE, self.time_zone)
                self._ours.conf.set(ZONE, OUR_ZONE)
                self._ours.conf.set(USER_ZONE, self.time_zone)
        elif name.startswith("acidsql.s3."):
            from acidsql.spark.start import s3

            s3.hand_over(self._ours, self._settings, self._of_s3)
        elif name.startswith("spark."):
            self._set_conf(self._ours, name, self._settings.get(name))

    @staticmethod
    def _set_conf(spark: SparkSession, name: str, value: Any) -> None:
        with translated():
            if value is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, show_value(value))


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
