"""Processes that begin together, and what all of them say."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
History = list[dict[str, Any]]


def environment(metastore: str | None) -> dict[str, str]:
    """That of a process of a test on this metastore; None for the file in the warehouse."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "ACIDSQL_METASTORE": metastore or ""}


def said_together(
    module: str, metastore: str | None, arguments: Sequence[Sequence[object]]
) -> History:
    """Runs the module once for each ``arguments``. A process says that it is ready and begins when
    all are; then each line that it says is a fact in JSON.
    """
    with ExitStack() as running:
        workers = []
        for own in arguments:
            worker = subprocess.Popen(
                [sys.executable, "-m", module, *map(str, own)],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=environment(metastore),
            )
            running.enter_context(worker)
            running.callback(worker.kill)
            workers.append(worker)
        for worker in workers:
            assert worker.stdout is not None
            assert worker.stdout.readline() == "ready\n"
        for worker in workers:
            assert worker.stdin is not None
            worker.stdin.write("\n")
            worker.stdin.flush()
        with ThreadPoolExecutor(len(workers)) as readers:  # none is to wait for a full pipe
            said = list(readers.map(lambda worker: worker.communicate()[0], workers))
    assert [worker.returncode for worker in workers] == [0] * len(arguments)
    return [json.loads(line) for text in said for line in text.splitlines()]
