"""The shell, or another module, as a process on a pseudo-terminal, driven by what it prints."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import Self

PROMPT = "acidsql (default)>"
_START = """\
import fcntl, runpy, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
"""
"""Makes the terminal the one that Ctrl-C comes from."""

_CONTROL = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\r")


class Terminal:
    """A process on a pseudo-terminal of a size, with files of its own below ``cwd``; gone when the
    block is left. ``start_spark``: behind the prompt, as users have it; ``module``: what to run;
    ``hangs_up``: whether the end of the process is the end of all on the terminal, which is not so
    where another shell has started it."""

    def __init__(
        self,
        cwd: Path,
        *arguments: str,
        columns: int = 80,
        lines: int = 24,
        start_spark: bool = False,
        module: str = "acidsql",
        hangs_up: bool = True,
        **variables: str,
    ) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        environment = os.environ | {
            "TERM": "xterm",
            "PROMPT_TOOLKIT_NO_CPR": "1",
            "NO_COLOR": "1",
            "PYTHONPATH": str(Path(__file__).parents[2]),
            "XDG_STATE_HOME": str(cwd / "state"),
            "XDG_CONFIG_HOME": str(cwd / "config"),
        }
        environment.pop("PAGER", None)
        options = [] if start_spark or module != "acidsql" else ["--lazy-spark"]
        self.process = subprocess.Popen(
            [sys.executable, *(["-c", _START] if hangs_up else ["-m"]), module, *options, *arguments],
            cwd=cwd, env=environment | variables, stdin=slave, stdout=slave, stderr=slave,
            start_new_session=True,
        )  # fmt: skip
        os.close(slave)
        self.seen = ""

    def wait_for(self, text: str, seconds: float = 60) -> str:
        """Reads until ``text`` is printed behind what was waited for before; what came before it,
        without what moves the cursor."""
        deadline = time.monotonic() + seconds
        while text not in self.seen:
            ready, _, _ = select.select(
                [self.master], [], [], max(0.0, deadline - time.monotonic())
            )
            assert ready, f"waited for {text!r}, saw {self.seen!r}"
            try:
                self.seen += os.read(self.master, 65536).decode(errors="replace")
            except OSError:  # Linux's way to say that the other side has closed
                raise AssertionError(
                    f"waited for {text!r}, the process ended after {self.seen!r}"
                ) from None
        before, _, self.seen = self.seen.partition(text)
        return _CONTROL.sub("", before)

    def run(self, text: str, *, until: str) -> str:
        """Types a line and reads up to ``until`` and the next prompt."""
        self.type(text + "\r")
        shown = self.wait_for(until)
        self.wait_for(PROMPT)
        return shown

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def close(self) -> int:
        """Waits for the end of the process; its exit code."""
        return self.process.wait(timeout=60)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.master)
