"""Hadoop's own mini clusters, from Maven: each in a Java process of its own, of a program beside this
module.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pyspark

JARS = Path(pyspark.__file__).parent / "jars"
BUILDS = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "acidsql-tests"
LONGEST_BUILD = 600
_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
 <modelVersion>4.0.0</modelVersion><groupId>test</groupId><artifactId>hadoop</artifactId><version>1</version>
 <dependencies>{}</dependencies>
</project>
"""
_DEPENDENCY = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>\n"  # fmt: skip
_NEEDED = (
    ("org.junit.jupiter", "junit-jupiter-api", "5.8.2"),
    ("ch.qos.reload4j", "reload4j", "1.2.22"),
    ("org.bouncycastle", "bcprov-jdk18on", "1.78.1"),
    ("org.bouncycastle", "bcpkix-jdk18on", "1.78.1"),
)
"""What the jar of the mini clusters wants beside it and does not say."""
_JAVA = ("java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Xmx512m")


def missing() -> str | None:
    """Why there can be no such cluster here."""
    for tool in ("java", "mvn"):
        if shutil.which(tool) is None:
            return f"no Hadoop can be started: no {tool} on PATH"
    if not list(JARS.glob("hadoop-client-api-*.jar")):
        return "no Hadoop can be started: pyspark brings none of a known version"
    return None


@contextmanager
def mini_cluster(
    main: Path, folder: Path, *arguments: str, java_options: Sequence[str] = ()
) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """The process of a program, and the words behind the "ready" that it prints, until the end of
    the block. ``folder``: a new one, where it works.
    """
    lib = _jars()
    folder.mkdir(parents=True)
    places = [f"-Dtest.build.{name}={folder / 'data'}" for name in ("data", "dir")]
    command = [*_JAVA, *java_options, *places, "-cp", f"{lib}/*", str(main), *arguments]
    with (folder / "errors").open("w") as errors:
        process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
        )  # fmt: skip
    with process:
        try:
            assert process.stdout
            line = next((x for x in process.stdout if x.startswith("ready")), None)
            assert line is not None, (folder / "errors").read_text()[-4000:]
            yield process, line.split()[1:]
        finally:
            process.kill()


def _jars() -> Path:
    """The folder of the jars, of the Hadoop that Spark's client is of; kept from run to run."""
    version = next(JARS.glob("hadoop-client-api-*.jar")).stem.rpartition("-")[2]
    kept = BUILDS / f"hadoop-{version}"
    if not (kept / "lib").exists():
        kept.mkdir(parents=True, exist_ok=True)
        # several workers of a test run may be here at once: the first to be done gives its own
        new = Path(tempfile.mkdtemp(dir=kept))
        wanted = (("org.apache.hadoop", "hadoop-client-minicluster", version), *_NEEDED)
        listed = "".join(_DEPENDENCY.format(*one) for one in wanted)
        (new / "pom.xml").write_text(_POM.format(listed), encoding="utf-8")
        goal = ["dependency:copy-dependencies", f"-DoutputDirectory={new / 'lib'}", "-DincludeScope=runtime"]  # fmt: skip
        ran = subprocess.run(
            ["mvn", "-q", "-B", "-f", str(new / "pom.xml"), *goal],
            capture_output=True, text=True, check=False, timeout=LONGEST_BUILD,
        )  # fmt: skip
        assert ran.returncode == 0, ran.stdout + ran.stderr
        with suppress(OSError):
            (new / "lib").rename(kept / "lib")
        shutil.rmtree(new)
    return kept / "lib"


def write_settings(file: Path, values: Mapping[str, str]) -> None:
    """A file of settings as Hadoop reads them."""
    properties = "".join(
        f"<property><name>{key}</name><value>{value}</value></property>\n"
        for key, value in values.items()
    )
    file.write_text(f"<configuration>\n{properties}</configuration>\n", encoding="utf-8")
