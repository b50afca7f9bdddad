"""The Spark session that an engine's statements run in, and its errors as ours: derived from one
handed in, or of a Spark started when it is first needed.
"""

from __future__ import annotations

import logging
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

from acidsql import interrupts
from acidsql.catalog.model import ForeignTable, SparkRelation
from acidsql.errors import (
    BindError,
    Error,
    ExecutionError,
    NestingError,
    ParseError,
    ProgrammingError,
    Span,
    SparkNotStartedError,
    file_error,
)
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.spark_words import identifier
from acidsql.files.parallel import THREADS
from acidsql.lazy import pattern
from acidsql.parser.tokens import TokenKind, scan
from acidsql.plan.engines import SparkAtHand
from acidsql.planner.bind.bound import BoundInsert, BoundQuery
from acidsql.settings import Settings, show_value
from acidsql.spark import jvm
from acidsql.spark.start import submitted
from acidsql.spark.start.clocks import OUR_ZONE, USER_ZONE, ZONE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


# ---- errors of Spark's as ours
#
# Errors of Spark's as ours, with the span of the user's text that they come from.


_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


class _Silence(logging.Filter):
    """Keeps from PySpark's log, in the threads that enter it, what is raised as an error of ours.

    PySpark makes the loggers with its first error, of a class of its own. Those that are not there
    yet are made as it does, and taken away again, so that all is as if it had never been asked.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._depths: dict[int, int] = {}
        self._new: list[str] = []
        self._attached: list[logging.Logger] = []

    def filter(self, record: logging.LogRecord) -> bool:
        return threading.get_ident() not in self._depths

    def __enter__(self) -> None:
        me = threading.get_ident()
        with self._lock:
            self._depths[me] = self._depths.get(me, 0) + 1
            self._attach()

    def __exit__(self, *_: object) -> None:
        me = threading.get_ident()
        with self._lock:
            self._depths[me] -= 1
            if not self._depths[me]:
                del self._depths[me]
            if not self._depths:
                self._detach()

    def spark_started(self) -> None:
        """PySpark may be loaded only now."""
        with self._lock:
            if self._depths:
                self._attach()

    def _attach(self) -> None:
        pyspark = sys.modules.get("pyspark.logger")
        if self._attached or pyspark is None:
            return
        known = logging.Logger.manager.loggerDict
        self._new = [name for name in _LOGGERS if name not in known]
        self._attached = [pyspark.PySparkLogger.getLogger(name) for name in _LOGGERS]
        for logger in self._attached:
            logger.addFilter(self)

    def _detach(self) -> None:
        for logger in self._attached:
            logger.removeFilter(self)
        for name in self._new:
            logging.Logger.manager.loggerDict.pop(name, None)
        self._attached, self._new = [], []


silence = _Silence()


@contextmanager
def translated(add_span: Callable[[Error], Error] | None = None) -> Iterator[None]:
    """Whatever fails inside leaves as an error of ours, but for the signal that another way must be
    taken; ``add_span`` may give it a span.

    KeyboardInterrupt if a Ctrl-C came before or meanwhile.
    """
    interrupts.check()
    with silence:
        try:
            yield
        except NotHere:
            interrupts.check()
            raise
        except Error as error:
            interrupts.check()
            raise (add_span(error) if add_span else error) from error.__cause__
        except OSError as error:
            interrupts.check()
            if isinstance(error, ConnectionError) and jvm.is_of_java(error):
                from acidsql.spark.start.meanings import java_is_gone

                gone = java_is_gone(str(error))
                raise (add_span(gone) if add_span else gone) from error
            where = f' "{error.filename}"' if error.filename else ""
            reason = error.strerror or error
            raise file_error(f"cannot read or write{where}: {reason}", error) from error
        except Exception as error:
            interrupts.check()
            if interrupts.is_interrupt(error):
                raise KeyboardInterrupt from None
            from acidsql.spark.start.meanings import translate

            ours = translate(error)
            if add_span is None:
                ours.span = None  # that of a text of ours
            raise (add_span(ours) if add_span else ours) from error
    interrupts.check()


def relocated(error: Error, query: BoundQuery, views: Sequence[str]) -> Error:
    """Moves an error's span from the text Spark got to the user's own.

    ``views``: "" for a read the text does not contain.
    """
    if error.span is not None and error.source is None:
        text, span = query.text, error.span
        error.span = text.source_span(span.start, views) or text.only_span(span, views)
        if error.span is None and isinstance(error, ParseError):
            error.span = text.end_before(span.start, views)
            error.message = _NEAR.sub("", error.message)  # a word of ours
        error.source = query.text.source
    if error.fragment and isinstance(error, ExecutionError):
        error = _unless_named(error, error.fragment, query.text.source)
    is_placed = error.span is not None or isinstance(error, NestingError)
    if isinstance(error, ProgrammingError) and not is_placed:
        error.span, error.source = query.text.whole_span(), query.text.source
    error.message = query.text.in_users_words(error.message)
    for read, view in zip(query.reads, views, strict=True):
        if not view:
            continue
        error.message = error.message.replace(f"`{view}`", f"`{read.table.name.table}`").replace(
            view, read.table.name.table
        )
    error.args = (error.message,)
    return error


def _unless_named(error: Error, path: str, source: str) -> Error:
    """The error of a file that is not there; another one where the statement names it."""
    for token in scan(source).tokens:
        if token.kind not in (TokenKind.QUOTED, TokenKind.STRING):
            continue
        name = token.text.strip("'\"").removeprefix("file:").strip("/")
        if re.search("[/.]", name) and f"/{path}".endswith(f"/{name}"):
            return BindError(f'path "{path}" does not exist', span=token.span, source=source)
    return error


def placed(error: Error, action: BoundInsert) -> Error:
    error.span = action.span
    return error


_NEAR = re.compile(r" at or near '[^']*'")
_SYNTAX = re.compile(r"\(line (\d+), pos (\d+)\)\s*== SQL ==\n")


def syntax_span(text: str) -> Span | None:
    """The place that Spark's parser writes only into its message, which quotes the SQL."""
    match = _SYNTAX.search(text)
    if match is None:
        return None
    before = text[match.end() :].split("\n")[: int(match[1]) - 1]
    start = sum(len(line) + 1 for line in before) + int(match[2])
    return Span(start, start + 1)


# ---- running


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
            self._outside = {} if remote else submitted.settings()
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
