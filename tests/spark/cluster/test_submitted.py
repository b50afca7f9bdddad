"""What a user or an administrator has set for Spark outside of the program is heeded: what is told of
it without Java, and what comes of it in a Spark that was started with it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from acidsql import spark_settings
from acidsql.spark.start.java import java_environment
from acidsql.spark_settings import properties
from tests.spark.cluster.standalone import ROOT, SUBMIT, standalone_cluster

DEFAULTS = r"""
# what an administrator has set
spark.app.name              nightly
spark.executor.extraJavaOptions: -Dfrom.defaults=\
    yes
! spark.master local[7]
spark.log.level = WARN
  spark.sql.shuffle.partitions=3
spark.driver.memory 700m
no.setting.of.spark 1
"""
HOSTILE = [
    DEFAULTS,
    "a b c  \nb=  x=y\nc:z:\\\\\nd\n=e\n: f\ng\\=h\\ i j\n\n \t# k\nl=m\\\n\\\n  n\\n\\t\nlast=1\\",
    "u=\\u00e9\\u0041\\q\r\nv \t : w \\\\\\\n  #x\r\\!y=\\#z\n#comment\\\na=1\nempty=\nblank = \\ \n",
]


def settings(environ: Mapping[str, str]) -> dict[str, str]:
    """What a process with these variables is told, which spark-submit has not started."""
    return spark_settings.settings(lambda: None, environ)


@pytest.mark.spark
@pytest.mark.classic
@pytest.mark.parametrize("text", HOSTILE)
def test_a_file_of_properties_is_read_as_java_reads_it(spark: SparkSession, text: str) -> None:
    """Comments, escapes, lines that go on, each separator; blanks around values are Spark's to cut."""
    java = cast(Any, spark)._jvm.java
    read = java.util.Properties()
    read.load(java.io.StringReader(text))
    assert properties(text) == {name: value.strip(" \t\f") for name, value in read.items()}


def test_arguments_are_above_the_file(tmp_path: Path) -> None:
    """spark-submit's order: an argument, --conf, then the file; a file that is named takes the place
    of spark-defaults.conf, unless both are wanted. What is not Spark's is no setting.
    """
    (tmp_path / "spark-defaults.conf").write_text(DEFAULTS)
    in_file = settings({"SPARK_CONF_DIR": str(tmp_path)})
    assert in_file == {
        "spark.app.name": "nightly",
        "spark.executor.extraJavaOptions": "-Dfrom.defaults=yes",
        "spark.log.level": "WARN",
        "spark.sql.shuffle.partitions": "3",
        "spark.driver.memory": "700m",
    }
    arguments = (
        "--master spark://host:7077 -c spark.app.name=other --conf 'spark.x=a b' --supervise"
        " --conf=spark.driver.memory=1g --driver-memory 2g pyspark-shell --name not-ours"
    )
    both = settings({"SPARK_CONF_DIR": str(tmp_path), "PYSPARK_SUBMIT_ARGS": arguments})
    assert both == in_file | {
        "spark.master": "spark://host:7077",
        "spark.app.name": "other",
        "spark.x": "a b",
        "spark.driver.memory": "2g",
    }
    other = tmp_path / "other.conf"
    other.write_text("spark.y 1\nspark.log.level INFO")
    named = {
        "SPARK_CONF_DIR": str(tmp_path),
        "PYSPARK_SUBMIT_ARGS": f"--properties-file {other} pyspark-shell",
    }
    assert settings(named) == {"spark.y": "1", "spark.log.level": "INFO"}
    named["PYSPARK_SUBMIT_ARGS"] = f"--load-spark-defaults {named['PYSPARK_SUBMIT_ARGS']}"
    assert settings(named) == in_file | {"spark.y": "1", "spark.log.level": "INFO"}


def test_where_nothing_is_set_there_is_nothing(tmp_path: Path) -> None:
    """The home of Spark, else pyspark's own folder, is where the file would be."""
    assert settings({}) == settings({"SPARK_HOME": str(tmp_path)}) == {}
    assert settings({"PYSPARK_SUBMIT_ARGS": "'not closed"}) == {}
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text("spark.z 1")
    assert settings({"SPARK_HOME": str(tmp_path)}) == {"spark.z": "1"}


PROGRAM = """
import json, sys, warnings
import acidsql

def warned(work):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", UserWarning)
        work()
    return [str(one.message) for one in told if one.category is UserWarning]

warehouse, arguments = sys.argv[1], json.loads(sys.argv[2])
with acidsql.Session(warehouse, **arguments) as session:
    session.sql("SET acidsql.write.path=big")
    session.sql("CREATE TRANSACTIONAL TABLE t (id INT, at TIMESTAMP) STORED AS ORC")
    rows = "SELECT id, timestamp'2024-07-01 12:00:00' FROM range(0, 1000, 1, 4)"
    words = warned(lambda: session.sql(f"INSERT INTO t {rows}"))
    session.sql("UPDATE t SET at = timestamp'2024-01-01 00:00:00' WHERE id < 10")
    rows = session.sql("SELECT count(*), min(at), max(at) FROM t")
    spark = session.sql("SELECT 1").df.sparkSession
    context = spark.sparkContext
    java = context._jvm.java.lang.management.ManagementFactory.getRuntimeMXBean()
    told = {
        "rows": [[str(value) for value in row] for row in rows.rows()],
        "warnings": words,
        "executors": len(list(context._jsc.sc().statusTracker().getExecutorInfos())) - 1,
        "conf": dict(context.getConf().getAll()),
        "options": list(java.getInputArguments()),
        "zone": next(session.sql("SELECT current_timezone()").rows())[0],
        "partitions": spark.conf.get("spark.sql.shuffle.partitions"),
    }
    print("TOLD " + json.dumps(told))
"""


class Program:
    """A program with a session, and how it is started."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "program.py"
        self.file.write_text(PROGRAM)
        self.conf = folder / "conf"
        self.conf.mkdir()

    def run(
        self, command: list[str], environment: Mapping[str, str] | None = None, **arguments: object
    ) -> dict[str, Any]:
        variables = {**os.environ, "PYTHONPATH": str(ROOT), "SPARK_CONF_DIR": str(self.conf)}
        with java_environment(variables):
            done = subprocess.run(
                [*command, str(self.file), str(self.folder / "warehouse"), json.dumps(arguments)],
                capture_output=True,
                text=True,
                timeout=300,
                check=False,
                cwd=self.folder,
                env={**variables, **(environment or {})},
            )
        told = [line for line in done.stdout.splitlines() if line.startswith("TOLD ")]
        assert told, (done.stdout[-2000:], done.stderr[-4000:])
        return cast(dict[str, Any], json.loads(told[0].removeprefix("TOLD ")))


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


ROWS = [["1000", "2024-01-01 00:00:00", "2024-07-01 12:00:00"]]
SMALL = ("--conf", "spark.ui.enabled=false", "--driver-memory", "800m")


@pytest.mark.processes
@pytest.mark.spark
def test_arguments_of_spark_submit_hold(program: Program) -> None:
    """Master, name, log level, options of executors and settings of SQL of spark-submit and of
    spark-defaults.conf are those of the session's Spark; ours are beside them.
    """
    (program.conf / "spark-defaults.conf").write_text(
        DEFAULTS + "spark.sql.session.timeZone Asia/Tokyo\nspark.sql.ansi.enabled true"
    )
    told = program.run([str(SUBMIT), "--master", "local[3]", "--name", "mine", *SMALL])
    assert told["rows"] == ROWS
    assert told["zone"] == "Asia/Tokyo"
    assert told["partitions"] == "3"
    conf = told["conf"]
    assert conf["spark.master"] == "local[3]"
    assert conf["spark.app.name"] == "mine"
    assert conf["spark.log.level"] == "WARN"
    assert conf["spark.driver.memory"] == "800m"
    options = conf["spark.executor.extraJavaOptions"]  # Spark's own come before
    assert options.endswith(" -Duser.timezone=UTC -Dfrom.defaults=yes")
    assert told["warnings"] == [
        'Spark was told spark.sql.ansi.enabled "true", and acidsql works with "false": SET acidsql.ansi'
        " says which"
    ]


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.spark
def test_what_a_program_says_itself_is_told_where_it_differs(program: Program) -> None:
    """As Spark has it, the program's master wins; memory of a Java that runs is what it is."""
    told = program.run(
        [str(SUBMIT), "--master", "local[3]", *SMALL],
        master="local[2]",
        conf={"spark.driver.memory": "900m", "spark.app.name": "of the program"},
    )
    assert told["rows"] == ROWS
    assert told["conf"]["spark.master"] == "local[2]"
    assert told["conf"]["spark.app.name"] == "of the program"
    assert told["conf"]["spark.driver.memory"] == "800m"
    assert told["warnings"] == [
        'Spark runs on "local[2]", as this program says, and not on "local[3]", to which it was submitted',
        'spark.driver.memory is "800m" in Spark\'s Java process, which runs already: "900m" has no effect',
    ]


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.spark
def test_a_spark_of_ours_heeds_the_environment(program: Program) -> None:
    """PYSPARK_SUBMIT_ARGS and spark-defaults.conf hold for a Java that a session starts, in which
    the time zone is ours unless they say another.
    """
    (program.conf / "spark-defaults.conf").write_text(DEFAULTS)
    arguments = "--master local[1] --driver-java-options '-Dmine=1' pyspark-shell"
    told = program.run([sys.executable], {"PYSPARK_SUBMIT_ARGS": arguments})
    assert told["rows"] == ROWS
    assert told["conf"]["spark.master"] == "local[1]"
    assert told["conf"]["spark.app.name"] == "nightly"
    assert told["conf"]["spark.log.level"] == "WARN"
    assert told["partitions"] == "3"
    assert {"-Dmine=1", "-Duser.timezone=UTC", "-Xmx700m"} <= set(told["options"])
    assert told["warnings"] == []


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.spark
def test_a_submitted_program_runs_on_its_cluster(program: Program, tmp_path: Path) -> None:
    """A real master and worker: rows are written and read by the executor that the cluster has
    started, with the options and the memory of spark-submit and spark-defaults.conf.
    """
    (program.conf / "spark-defaults.conf").write_text(DEFAULTS)
    with standalone_cluster(tmp_path) as cluster:
        place = ["--master", cluster.url, "--deploy-mode", "client"]
        submit = [str(SUBMIT), *place, "--name", "on a cluster"]
        host = ("--conf", "spark.driver.host=127.0.0.1", "--executor-memory", "600m")
        told = program.run([*submit, *SMALL, *host])
    assert told["rows"] == ROWS
    assert told["conf"]["spark.master"] == cluster.url
    assert told["conf"]["spark.app.name"] == "on a cluster"
    assert told["executors"] == 1
    assert told["warnings"] == []
    launched = (
        (tmp_path / "worker1.log").read_text().partition("Launch command: ")[2].split("\n")[0]
    )
    for option in ("-Duser.timezone=UTC", "-Dfrom.defaults=yes", "-Xmx600M"):
        assert f'"{option}"' in launched
