"""A whole Hive of one version, made of Maven's packages, that runs scripts: a process for each.

Its lines: a statement behind ``> ``, a directive behind ``! ``, rows as TSV, ``-- ok`` or what
failed.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HOME = "ACIDSQL_HIVE_HOME"
"""The environment variable of a folder where one is built already."""
BUILT = "built"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A statement or directive and the lines it gave."""

    text: str
    lines: tuple[str, ...]

    @property
    def failed(self) -> bool:
        return any(line.startswith("FAILED: ") for line in self.lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealHive:
    """``folder``: with the scripts and what was built. A metastore and its warehouse lie together
    below ``data``.
    """

    version: int
    folder: Path
    data: Path

    @property
    def warehouse(self) -> Path:
        return self.data / "warehouse"

    def run(self, lines: Sequence[str], *, may_fail: bool = False) -> list[Ran]:
        """Runs statements, and directives that begin with ``!``; AssertionError if one fails, or,
        where some may, if not all were run.
        """
        self.data.mkdir(parents=True, exist_ok=True)
        script = self.data / "script.sql"
        script.write_text("".join(_ended(line) + "\n" for line in lines), encoding="utf-8")
        command = [
            str(self.folder / "hive-sql"),
            *("--version", str(self.version)),
            *("--warehouse", str(self.warehouse)),
            *("--metastore", str(self.data / "metastore" / "db")),
            str(script),
        ]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        is_whole = "\n-- done " in ran.stdout if may_fail else ran.returncode == 0
        assert is_whole, f"{ran.stdout}\n{ran.stderr[-4000:]}"
        return _transcript(ran.stdout)


def build(source: Path, version: int, place: Path) -> Path:
    """Makes Hive of that version in ``place``, once for all processes that ask; the folder."""
    if HOME in os.environ:
        return Path(os.environ[HOME])
    place.mkdir(parents=True, exist_ok=True)
    folder = place / "hive"
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / BUILT).exists():
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(source, folder)
            ran = subprocess.run(
                ["./build.sh", str(version)],
                cwd=folder,
                capture_output=True,
                text=True,
                check=False,
            )
            assert ran.returncode == 0, f"{ran.stdout}\n{ran.stderr[-4000:]}"
            (place / BUILT).touch()
    return folder


def _ended(line: str) -> str:
    return line if line.startswith("!") else f"{line};"


def _transcript(text: str) -> list[Ran]:
    ran: list[Ran] = []
    for line in text.splitlines():
        if line.startswith(("> ", "! ")):
            ran.append(Ran(text=line[2:], lines=()))
        elif ran and not line.startswith("-- "):
            ran[-1] = Ran(text=ran[-1].text, lines=(*ran[-1].lines, line))
    return ran
