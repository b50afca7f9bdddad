"""A SparkSession that was handed in behaves as it did: what it answers, and what is global in its
process and in Java.
"""

from __future__ import annotations

import difflib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from acidsql.spark.start.java import java_environment

pytestmark = pytest.mark.spark

CHILD = '''
import gc, io, json, logging, os, signal, sys, threading, warnings

import pandas as pd
from pyspark.errors import AnalysisException, ArithmeticException, ParseException, PythonException
from pyspark.sql import SparkSession, functions as F
from pyspark.sql.types import IntegerType

with_acidsql, warehouse = sys.argv[1] == "beside", sys.argv[2]
ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
spark = (
    SparkSession.builder.master("local[2]").appName("user").config("spark.ui.enabled", "false")
    .config("spark.driver.memory", "1g").config("spark.sql.session.timeZone", "UTC")
    .config("spark.driver.extraJavaOptions", "-Duser.timezone=UTC")
    # as users have it: Spark's own catalog cannot list its tables where no code is made
    .config("spark.sql.codegen.wholeStage", "true").config("spark.sql.codegen.factoryMode", "FALLBACK")
    .config("spark.sql.shuffle.partitions", "2").config("spark.sql.warehouse.dir", f"{warehouse}/user")
    .getOrCreate()
)
sc = spark.sparkContext
sc.setLogLevel("ERROR")
sc.setJobGroup("my group", "my description")
sc.addJobTag("mine")
spark.addTag("also-mine")
spark.sql("CREATE DATABASE IF NOT EXISTS sales")
spark.catalog.setCurrentDatabase("sales")
spark.range(3).createOrReplaceTempView("three")
spark.range(2).createGlobalTempView("two")
spark.conf.set("spark.sql.ansi.enabled", "true")
warnings.simplefilter("once")


def raised(work):
    """An error as a user sees it, and what it printed."""
    printed, sys.stderr = sys.stderr, io.StringIO()
    try:
        work()
        return None
    except Exception as error:
        condition = error.getCondition() if hasattr(error, "getCondition") else None
        state = error.getSqlState() if hasattr(error, "getSqlState") else None
        return [type(error).__name__, condition, state, str(error).partition("\\n")[0][:200]]
    finally:
        sys.stderr = printed


VOLATILE = ("spark.app.id", "spark.app.startTime", "spark.app.submitTime", "spark.driver.port")


def lasting(settings):
    return {name: value for name, value in settings if name not in VOLATILE}


def features():
    add = F.udf(lambda n: n + 1, IntegerType())
    spark.udf.register("add_two", lambda n: n + 2, IntegerType())

    @F.pandas_udf("long")
    def double(values: pd.Series) -> pd.Series:
        return values * 2

    def fail(n):
        raise ValueError("mine")

    three = spark.table("three")
    frame = spark.createDataFrame([(1, "a"), (2, None)], "id INT, name STRING")
    return {
        "no table": raised(lambda: spark.sql("SELECT * FROM nosuch")),
        "no column": raised(lambda: spark.table("three").select("nosuch")),
        "syntax": raised(lambda: spark.sql("SELEC 1")),
        "division": raised(lambda: spark.sql("SELECT 1 / 0").collect()),
        "division of a column": raised(lambda: three.select(F.col("id") / F.lit(0)).collect()),
        "udf": [row[0] for row in three.select(add(F.col("id").cast("int"))).collect()],
        "sql udf": [row[0] for row in spark.sql("SELECT add_two(CAST(id AS INT)) FROM three").collect()],
        "pandas udf": [row[0] for row in three.select(double("id")).collect()],
        "failing udf": (raised(lambda: three.select(F.udf(fail)("id")).collect()) or [None])[:2],
        "rows": [tuple(row) for row in frame.collect()],
        "pandas": spark.createDataFrame(pd.DataFrame({"n": [1, 2]})).toPandas().to_dict(),
        "arrow": three.toArrow().to_pylist(),
        "rdd": sc.parallelize([1, 2, 3]).map(lambda n: n * n).collect(),
        "broadcast": sc.broadcast([1]).value,
        "timestamp": str(spark.sql("SELECT TIMESTAMP '2024-01-01 00:00:00' AS t").collect()[0].t),
        "time zone": spark.sql("SELECT current_timezone()").collect()[0][0],
        "tables": sorted(t.name for t in spark.catalog.listTables()),
        "databases": sorted(d.name for d in spark.catalog.listDatabases()),
        "current": [spark.catalog.currentDatabase(), spark.catalog.currentCatalog()],
        "functions": [spark.catalog.functionExists("add_two"), len(spark.catalog.listFunctions())],
        "cached": [spark.catalog.isCached("three")],
        "global view": spark.table("global_temp.two").count(),
        "explained": "Range" in three._jdf.queryExecution().toString(),
        "string": F.col("id").alias("x").__repr__(),
    }


def globals_():
    names = sorted({None, "py4j", "pyspark", "SQLQueryContextLogger", "DataFrameQueryContextLogger",
        "py4j.java_gateway"}, key=str)
    known = logging.Logger.manager.loggerDict
    jvm = sc._jvm
    log4j = jvm.org.apache.logging.log4j.LogManager.getContext(False).getConfiguration()
    sessions = getattr(jvm, "org.apache.spark.sql.classic.SparkSession")
    levels = {"root": log4j.getRootLogger().getLevel().toString(), "loggers": log4j.getLoggers().size()}
    python_loggers = {}
    for name in names:
        if name is None or isinstance(known.get(name), logging.Logger):
            logger = logging.getLogger(name)
            python_loggers[str(name)] = [type(logger).__name__, logger.level, logger.disabled, logger.propagate,
                [type(h).__name__ for h in logger.handlers], [type(f).__name__ for f in logger.filters]]
    return {
        "conf": lasting(spark.conf.getAll.items()),
        "spark context": lasting(sc.getConf().getAll()),
        "hadoop": jvm.org.apache.hadoop.conf.Configuration(sc._jsc.hadoopConfiguration()).size(),
        "local properties": [sc.getLocalProperty(name) for name in
            ("spark.jobGroup.id", "spark.job.description", "spark.job.tags", "spark.scheduler.pool", "spark.sql.execution.id")],
        "job tags": sorted(sc.getJobTags()),
        "tags": sorted(spark.getTags()),
        "active": [SparkSession.getActiveSession() is spark, SparkSession.builder.getOrCreate() is spark,
            sessions.getActiveSession().get().equals(spark._jsparkSession),
            sessions.getDefaultSession().get().equals(spark._jsparkSession)],
        "java": [jvm.java.util.TimeZone.getDefault().getID(), jvm.java.util.Locale.getDefault().toString(),
            jvm.java.lang.Thread.getDefaultUncaughtExceptionHandler() is None],
        "log4j": levels,
        "listeners": [sc._jsc.sc().listenerBus().listeners().size(), len(spark._jsparkSession.listenerManager().listListeners())],
        "python loggers": python_loggers,
        "logger class": [logging.getLoggerClass().__name__, logging.root.level, logging.lastResort is not None,
            logging.getLogRecordFactory().__name__, logging.raiseExceptions, logging.root.manager.disable],
        "signals": {s.name: str(getattr(signal.getsignal(s), "__qualname__", signal.getsignal(s)))
            for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGPIPE)},
        "warnings": [str(f) for f in warnings.filters],
        "showwarning": warnings.showwarning.__module__,
        "hooks": [sys.excepthook is sys.__excepthook__, sys.unraisablehook is sys.__unraisablehook__,
            threading.excepthook.__name__, sys.gettrace(), sys.getprofile(), sys.displayhook is sys.__displayhook__],
        "limits": [sys.getrecursionlimit(), sys.getswitchinterval(), gc.isenabled(), gc.get_threshold(), sys.get_int_max_str_digits()],
        "environment": {k: v for k, v in sorted(os.environ.items()) if not k.startswith("PYTEST_")},
        "directory": os.getcwd(),
        "threads": sorted(t.name for t in threading.enumerate() if sys.argv[3] == "closed" and t.name.startswith("acidsql")),
        "decimal": str(__import__("decimal").getcontext()),
        "locale": str(__import__("locale").setlocale(__import__("locale").LC_ALL)),
        "streams": [sys.stdout is sys.__stdout__, sys.stderr is sys.__stderr__, sys.stdin is sys.__stdin__],
    }


def use(acidsql):
    """All that acidsql does on a Spark: reading, both write paths, views, errors, a definition, a transaction, threads."""
    session = acidsql.Session(f"{warehouse}/ours", spark=spark)
    failures = 0
    for path in ("small", "big"):
        session.settings.set("acidsql.write.path", path)
        name = f"t_{path}"
        for statement in (
            f"CREATE TABLE {name} (id INT, name STRING) PARTITIONED BY (k STRING) {ACID}",
            f"INSERT INTO {name} PARTITION (k) SELECT CAST(id AS INT), 'x', CAST(id % 2 AS STRING) FROM three",
            f"UPDATE {name} SET name = 'y' WHERE id = 1",
            f"DELETE FROM {name} WHERE id = 2",
            f"MERGE INTO {name} t USING three s ON t.id = s.id WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (s.id, 'z', 'k')",
            f"ANALYZE TABLE {name} PARTITION (k) COMPUTE STATISTICS FOR COLUMNS",
        ):
            session.sql(statement)
        session.sql(f"SELECT * FROM {name} t JOIN three ON t.id = three.id").to_arrow()
        session.sql(f"SELECT count(*) FROM {name}").df.collect()
        for wrong in ("SELECT * FROM nosuch", f"SELECT nosuch FROM {name}", "SELEC", f"SELECT assert_true(id < 0) FROM {name}"):
            try:
                session.sql(wrong).to_arrow()
            except acidsql.Error:
                failures += 1
        with session.transaction():
            session.sql(f"INSERT INTO {name} PARTITION (k) SELECT 7, 'x', 'q'")
    session.sql("CREATE TABLE c AS SELECT * FROM t_big")
    session.sql("SET spark.sql.shuffle.partitions = 5")
    session.sql("SET acidsql.ansi = true")
    session.sql("SELECT a.id FROM c a JOIN c b ON a.id = b.id").to_arrow()
    assert failures == 8, failures
    if sys.argv[3] == "closed":
        session.close()
    else:
        globals()["kept"] = session
    with acidsql.connect(f"{warehouse}/ours", spark=spark) as connection:
        connection.execute("SELECT * FROM c").fetchall()


first = globals_()
if with_acidsql:
    import acidsql
    use(acidsql)
second = globals_()
found = features()
third = globals_()
print(json.dumps({"before": first, "between": second, "features": found, "after": third}, indent=1, sort_keys=True, default=str))
spark.stop()
'''


def answers(folder: Path, beside: str, closed: str) -> str:
    command = [sys.executable, "-c", CHILD, beside, str(folder), closed]
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
        env=environment,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.replace(str(folder), "FOLDER")


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What a Spark answers that has never met acidsql."""
    return answers(tmp_path_factory.mktemp("alone"), "alone", "open")


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["closed", "open"])
def test_spark_beside_acidsql(alone: str, tmp_path: Path, closed: str) -> None:
    """The features of PySpark answer alike with and without acidsql, its session closed or not.

    So is all that is global in the process and in Java.
    """
    beside = answers(tmp_path, "beside", closed)
    assert "\n".join(difflib.unified_diff(alone.splitlines(), beside.splitlines(), n=2)) == ""


def test_the_environment_of_a_spark_of_our_own() -> None:
    """What Spark needs to start is taken back afterwards, for programs that are started later."""
    environment = dict(os.environ)
    environment.pop("PYSPARK_PYTHON", None)
    before = dict(environment)
    with java_environment(environment):
        assert environment["PYSPARK_PYTHON"] == sys.executable
        assert Path(environment["JAVA_HOME"], "bin", "java").exists()
    assert environment == before
