"""The sessions of Spark's Java process."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from acidsql.errors import InterfaceError, UnsupportedStatementError
from acidsql.expressions.spark_words import identifier
from acidsql.spark.jvm.arrow_rows import frame_of_table
from acidsql.spark.jvm.java import JavaObject, jvm, need_java, sql_class
from acidsql.spark.jvm.process import check_own_process, is_submitted, java_has_ended, launch
from acidsql.spark.jvm.zones import same_time_zone, wall_clocks

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_LAST = "profiler_collector"
"""What PySpark sets last in a context that it makes."""


def is_lost(spark: SparkSession) -> bool:
    """Whether the session's Spark was stopped, or its Java process is gone. On Spark Connect nobody
    knows: False.
    """
    context = getattr(spark, "_sc", None)
    return context is not None and (context._jsc is None or java_has_ended())


def running_session() -> SparkSession | None:
    """The session of a Spark that somebody already started in this process. One that another
    thread is about to start is none yet: it is registered before it is whole.
    """
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    context = SparkContext._active_spark_context
    if context is None or getattr(context, "_jsc", None) is None or not hasattr(context, _LAST):
        return None
    return SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()


def take_over() -> Callable[[], object] | None:
    """Makes the Spark that another thread has started this thread's, as if it had been started
    here: its session is the active one. What cancels all its jobs; None on Spark Connect.
    """
    spark = running_session()
    door = None if spark is None else jvm(spark)
    if spark is None or door is None:
        return None
    sql_class(door, "SparkSession").setActiveSession(spark._jsparkSession)
    return spark.sparkContext.cancelAllJobs


def running_session_if_any() -> SparkSession | None:
    """``running_session``. One that belongs to the process this one was forked from is none: two
    must not talk over one connection.
    """
    try:
        check_own_process()
    except InterfaceError:
        return None
    return running_session()


def java_settings() -> dict[str, str]:
    """Spark's settings that the Java process of ``launch`` was given: those of spark-submit's
    arguments and of spark-defaults.conf. Connects to one that spark-submit has started.
    """
    from pyspark import SparkContext

    if SparkContext._jvm is None:
        launch({}, quiet=False)
    properties = cast(Any, SparkContext._jvm).java.lang.System.getProperties()
    return {str(k): str(v) for k, v in properties.items() if str(k).startswith("spark.")}


def submitted_settings() -> dict[str, str] | None:
    """``java_settings`` of a Java that spark-submit has started this process from; else None."""
    return java_settings() if is_submitted() else None


def settings_of(spark: SparkSession) -> dict[str, str]:
    """``spark.conf.getAll`` in one call, where that asks Java for each entry by itself; on Spark
    Connect it is one by itself.
    """
    if jvm(spark) is None:
        return spark.conf.getAll
    entries = spark._jsparkSession.conf().getAll().mkString(_BETWEEN).split(_BETWEEN)
    pairs = (entry.partition(" -> ") for entry in entries)
    return {name: value for name, arrow, value in pairs if arrow}


_BETWEEN = "\0"
"""What stands in no setting."""


def clone_session(spark: SparkSession) -> SparkSession:
    """A session on the same Spark with copies of the settings, views and functions of ``spark``;
    from then on each has its own.

    On Spark Connect the server makes it, and keeps it until ``release_clone``. Clients that cannot
    ask for it (4.0) open a session of their own: without functions and views.
    UnsupportedStatementError for those that cannot observe what is read (3.5).
    """
    from pyspark.sql import SparkSession

    if jvm(spark) is None:
        if not hasattr(spark.conf, "getAll"):
            raise UnsupportedStatementError(
                "this client of Spark Connect is too old",
                hint="Spark Connect needs pyspark 4.0 or newer; classic sessions do not.",
            )
        _ = spark.version  # the server has no session to clone before it was asked something
        if not hasattr(spark, "cloneSession"):
            return _session_beside(spark)
        return cast(SparkSession, cast(Any, spark).cloneSession())
    ours = SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())
    with contextlib.suppress(Exception):  # a Spark that keeps them otherwise
        _share_catalogs(ours, spark)
    return ours


def _session_beside(spark: SparkSession) -> SparkSession:
    """Another session of a Spark Connect server, with the settings, the catalog and the database of
    this one.
    """
    from pyspark.sql.connect.session import SparkSession as Remote

    class Beside(Remote):  # type: ignore[misc,unused-ignore]
        __module__ = Remote.__module__

        def __del__(self) -> None:
            """It would close the client, which ends the threads of all others (4.0)."""

    ours = cast("SparkSession", Beside(connection=cast(Any, spark).client._builder))
    others = settings_of(ours)
    for name, value in settings_of(spark).items():
        if name.startswith("spark.sql.") and value != others.get(name):
            ours.conf.set(name, value)
    ours.catalog.setCurrentCatalog(spark.catalog.currentCatalog())
    ours.catalog.setCurrentDatabase(spark.catalog.currentDatabase())
    return ours


def _share_catalogs(ours: SparkSession, spark: SparkSession) -> None:
    """Gives a session the catalogs of another one: its Iceberg keeps the tables that it has loaded
    for a while, and would not see what another Iceberg has written meanwhile.
    """
    kept = [
        cast(Any, session)._jsparkSession.sessionState().catalogManager()
        for session in (ours, spark)
    ]
    catalogs = kept[0].getClass().getDeclaredField("catalogs")
    catalogs.setAccessible(True)
    catalogs.set(kept[0], catalogs.get(kept[1]))


def has_table(spark: SparkSession, name: str) -> bool:
    """Whether a session knows a table or view of a quoted name; False where there can be none, as
    no catalog is called so. A session of Spark Connect asks its server.
    """
    from pyspark.errors import AnalysisException

    try:
        return bool(spark.catalog.tableExists(name))
    except AnalysisException:
        return False


def release_clone(ours: SparkSession) -> None:
    """Ends a session of ``clone_session``'s on a Spark Connect server; elsewhere there is nothing
    to end.

    ``SparkSession.stop`` would stop the server, too, if this process has started it, and closing
    the client before 4.1 the threads of all others.
    """
    if jvm(ours) is None:
        client = cast(Any, ours).client
        with contextlib.suppress(Exception):  # the server may be gone, and the session with it
            client.release_session()
        if hasattr(ours, "cloneSession"):
            client.close()
        else:
            client._channel.close()


def frame_of(spark: SparkSession, rows: pa.Table) -> DataFrame:
    """``spark.createDataFrame(rows)``, which leaves the thread's active session what it was; on
    Spark Connect it does so by itself.
    """
    from pyspark.sql import SparkSession

    door = jvm(spark)
    if door is None:
        return frame_of_table(spark, rows)
    sessions = sql_class(door, "SparkSession")
    before, of_java = SparkSession._activeSession, sessions.getActiveSession()
    try:
        return frame_of_table(spark, rows)
    finally:
        SparkSession._activeSession = before
        if of_java.isDefined():
            sessions.setActiveSession(of_java.get())
        else:
            sessions.clearActiveSession()


def import_view(ours: SparkSession, user_spark: SparkSession, name: str) -> None:
    """Makes the temporary view ``name`` of the session ``user_spark`` a view of ``ours``, as it
    stands now. Over Spark Connect as ``make_view``.
    """
    make_view(ours, user_spark.table(identifier(name)), name)


def make_view(spark: SparkSession, frame: DataFrame, name: str) -> None:
    """Makes a DataFrame of any session of the same Java process a temporary view of ``spark``.
    Over Spark Connect it passes through a global temporary view, which is there for a moment.
    InterfaceError for one of another Spark.

    Where the sessions are of different time zones, the view has the wall clocks that the frame's
    own session shows.
    """
    others = frame.sparkSession
    if (jvm(spark) is None) != (jvm(others) is None):
        raise InterfaceError("the DataFrame is one of another Spark than the session's")
    zone, zone_of_frame = _zone(spark), _zone(others)
    shifts = not same_time_zone(spark, zone, zone_of_frame)
    frame = wall_clocks(frame) if shifts else frame
    if jvm(spark) is None:
        passed = f"acidsql_{uuid.uuid4().hex}"
        frame.createGlobalTempView(passed)
        try:
            database = others.conf.get("spark.sql.globalTempDatabase")
            _make_view(spark.table(f"{database}.{passed}"), name, shifts, zone)
        finally:
            others.catalog.dropGlobalTempView(passed)
        return
    _make_view(in_session(spark, frame), name, shifts, zone)


def _make_view(frame: DataFrame, name: str, shifts: bool, zone: str) -> None:
    # in another zone than UTC there may be no moment at which its clock shows this
    if shifts and same_time_zone(frame.sparkSession, zone, "UTC"):
        frame = wall_clocks(frame, to="timestamp")
    frame.createOrReplaceTempView(identifier(name))


def _zone(spark: SparkSession) -> str:
    return spark.conf.get("spark.sql.session.timeZone") or "UTC"


def in_session(spark: SparkSession, frame: DataFrame) -> DataFrame:
    """A DataFrame as one of another session of its Java process; itself on Spark Connect."""
    from pyspark.sql import DataFrame

    door = jvm(spark)
    if door is None:
        return frame
    plan = cast(Any, frame)._jdf.queryExecution().analyzed()
    return DataFrame(sql_class(door, "Dataset").ofRows(spark._jsparkSession, plan), spark)


def drop_view(spark: SparkSession, name: str) -> None:
    """Takes a temporary view away, if there is one: a Java process that is gone, or a Spark Connect
    server, has none.
    """
    with contextlib.suppress(Exception):
        spark.catalog.dropTempView(name)


def root_of_paths(spark: SparkSession) -> str | None:
    """The file system of paths without a scheme, as Hadoop names it.

    None on Spark Connect.
    """
    if not hasattr(spark, "_jsparkSession"):
        return None
    return str(hadoop_configuration(spark).get("fs.defaultFS"))


def working_directory(spark: SparkSession) -> str | None:
    """The directory that Spark's relative paths are below. None on Spark Connect."""
    door = jvm(spark)
    return None if door is None else str(door.java.lang.System.getProperty("user.dir"))


def is_set_for_hadoop(spark: SparkSession, name: str) -> bool:
    """Whether somebody has set what Hadoop knows by this name: in its files, for Spark, or for the
    session. True on Spark Connect, where nobody can tell.
    """
    if jvm(spark) is None:
        return True
    sources = hadoop_configuration(spark).getPropertySources(name)
    return any(not str(source).endswith("-default.xml") for source in sources or ())


def hadoop_configuration(spark: SparkSession) -> JavaObject:
    """Hadoop's configuration with what the session has set.

    UnsupportedStatementError on Spark Connect.
    """
    need_java(spark)
    return cast(Any, spark)._jsparkSession.sessionState().newHadoopConf()
