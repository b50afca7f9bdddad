"""What a user or an administrator has set for Spark before a session of ours starts it: as
arguments of spark-submit, in PYSPARK_SUBMIT_ARGS, and in spark-defaults.conf.

Spark's own order holds: what a program sets itself is above spark-submit's arguments, and these are
above the file. Our defaults are below all three. It is told without Java and without pyspark,
unless spark-submit has started this process: then Java runs already, and knows all of it.
"""

from __future__ import annotations

import os
import re
import shlex
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

ZONE = "spark.sql.session.timeZone"
OUR_ZONE = "UTC"
USER_ZONE = "acidsql.user.timeZone"
"""What our sessions of Spark know the zone of their user by."""
_SETTING_OF = {
    "--master": "spark.master",
    "--name": "spark.app.name",
    "--remote": "spark.remote",
    "--deploy-mode": "spark.submit.deployMode",
    "--driver-memory": "spark.driver.memory",
    "--driver-cores": "spark.driver.cores",
    "--driver-java-options": "spark.driver.extraJavaOptions",
    "--driver-class-path": "spark.driver.extraClassPath",
    "--driver-library-path": "spark.driver.extraLibraryPath",
    "--executor-memory": "spark.executor.memory",
    "--executor-cores": "spark.executor.cores",
    "--num-executors": "spark.executor.instances",
    "--total-executor-cores": "spark.cores.max",
    "--queue": "spark.yarn.queue",
    "--jars": "spark.jars",
    "--packages": "spark.jars.packages",
    "--exclude-packages": "spark.jars.excludes",
    "--repositories": "spark.jars.repositories",
    "--files": "spark.files",
    "--archives": "spark.archives",
    "--py-files": "spark.submit.pyFiles",
    "--principal": "spark.kerberos.principal",
    "--keytab": "spark.kerberos.keytab",
}
"""Arguments of spark-submit that are settings under another name."""
_FLAGS = ("--supervise", "--verbose", "-v", "--load-spark-defaults")
_FILE, _WITH_DEFAULTS = "--properties-file", "--load-spark-defaults"
_DEFAULTS = "spark-defaults.conf"


def settings(
    submitted: Callable[[], dict[str, str] | None], environ: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Spark's settings that were made outside of this program. ``submitted``: those of the Java
    that spark-submit has started this process from, None if it has not; asked only where it may.
    """
    if "PYSPARK_GATEWAY_PORT" in environ:
        with quiet_python():
            if (given := submitted()) is not None:
                return given
    arguments = _Arguments(environ.get("PYSPARK_SUBMIT_ARGS", ""))
    files = [Path(arguments.file)] if arguments.file else []
    if not files or arguments.with_defaults:
        files.insert(0, _conf_directory(environ) / _DEFAULTS)
    entries: dict[str, str] = {}
    for file in files:
        if file.is_file():
            entries |= properties(file.read_text("utf-8", errors="replace"))
    entries |= arguments.settings
    return {name: value for name, value in entries.items() if name.startswith("spark.")}


@contextmanager
def quiet_python() -> Iterator[None]:
    """Keeps from our users what PySpark warns about versions of pandas while it is imported."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=FutureWarning, module=r"pyspark\..*")
        warnings.filterwarnings("ignore", message=".*pandas.*", category=FutureWarning)
        yield


class _Arguments:
    """The settings among spark-submit's arguments, and the file that they name for more."""

    def __init__(self, text: str) -> None:
        self.settings: dict[str, str] = {}
        self.file: str | None = None
        self.with_defaults = False
        named: dict[str, str] = {}
        for option, value in _pairs(text):
            self.with_defaults |= option == _WITH_DEFAULTS
            if option in ("--conf", "-c", "--c"):
                name, _, of_name = value.partition("=")
                self.settings[name.strip()] = of_name.strip()
            elif option == _FILE:
                self.file = value
            elif option in _SETTING_OF:
                named[_SETTING_OF[option]] = value
        self.settings |= named  # Spark lets them win over --conf, wherever they stand


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    """The options with their values, up to the program that is submitted."""
    try:
        words = iter(shlex.split(text))
    except ValueError:  # Spark's start will tell
        return
    for word in words:
        if not word.startswith("-"):
            return
        option, equals, value = word.partition("=")
        if equals or option in _FLAGS:
            yield option, value
        else:
            yield option, next(words, "")


def _conf_directory(environ: Mapping[str, str]) -> Path:
    if folder := environ.get("SPARK_CONF_DIR"):
        return Path(folder)
    if home := environ.get("SPARK_HOME"):
        return Path(home) / "conf"
    spec = find_spec("pyspark")
    folders = (spec.submodule_search_locations if spec else None) or ["/nowhere"]
    return Path(folders[0]) / "conf"


# ---- java.util.Properties ------------------------------------------------------------------------

_SEPARATOR = re.compile(r"(?P<name>(?:\\.|[^\\=:\s])*)[ \t\f]*[=:]?[ \t\f]*", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_CONTROL = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def properties(text: str) -> dict[str, str]:
    """The entries of a text in the format of ``java.util.Properties``, whose values Spark takes
    without the blanks around them.
    """
    entries = {}
    for line in _logical_lines(text):
        match = _SEPARATOR.match(line)
        assert match is not None  # it matches nothing, too
        entries[_unescaped(match["name"])] = _unescaped(line[match.end() :]).strip(" \t\f")
    return entries


def _logical_lines(text: str) -> Iterator[str]:
    """Lines without comments; one that ends in an odd number of backslashes goes on in the next."""
    begun = ""
    for line in re.split(r"\r\n|\r|\n", text):
        line = line.lstrip(" \t\f")
        if not begun and (not line or line[0] in "#!"):
            continue
        begun += line
        if (len(begun) - len(begun.rstrip("\\"))) % 2:
            begun = begun[:-1]
            continue
        yield begun
        begun = ""
    if begun:
        yield begun


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(
        lambda match: chr(int(match[1], 16)) if match[1] else _CONTROL.get(match[2], match[2]), text
    )
