"""A whole Hive whose metastore can be asked over Thrift while it runs a script, which waits where a test
wants to look.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tests.interop.mini_hdfs import MiniHdfs
from tests.interop.real_hive import Ran, RealHive

SOURCE = Path(__file__).with_name("ServedHive.java")
LONGEST_WAIT = 300
LOCKS_OF_DERBY = "-Dderby.locks.deadlockTimeout=1 -Dderby.locks.waitTimeout=2"
"""Seconds after which Derby looks for a deadlock and gives up waiting, of which Hive makes another
attempt: 20 and 60 else, and two who write at the same time meet many.
"""

UNFIT = "hadoop-hdfs-2"
"""Of Hive 3's packages: a client of HDFS older than all that it is to work with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedHive:
    """``url``: of the service. ``ran``: what the script printed, once it has ended."""

    url: str
    signals: Path
    ran: Future[list[Ran]]

    def wait_for(self, step: str) -> None:
        """Until the script has come to a step, where it waits in turn; or has failed."""
        self.wait_until(lambda: (self.signals / step).exists())

    def wait_until(self, is_so: Callable[[], bool]) -> None:
        """Until something is so while the script runs. AssertionError if that does not come."""
        until = time.monotonic() + LONGEST_WAIT
        while not is_so():
            assert not self.ran.done(), f"it has ended: {self.ran.result()[-3:]}"
            assert time.monotonic() < until, "it does not come"
            time.sleep(0.05)

    def go_on(self, step: str) -> None:
        (self.signals / f"{step}.seen").touch()


def stop_at(step: str) -> str:
    """The directive of a script that waits there until the test has looked."""
    wait = f"until [ -e $S/{step}.seen ] || [ -e $S/over ]; do sleep 0.05; done"
    return f"!sh S=../signals; touch $S/{step}; {wait}"


@contextmanager
def serving(
    hive: RealHive,
    lines: Sequence[str],
    scratch: Path,
    *,
    may_fail: bool = False,
    hdfs: MiniHdfs | None = None,
) -> Iterator[ServedHive]:
    """Runs a script. Behind the block it has ended, whatever happened. ``may_fail``: its statements
    may. ``hdfs``: where its warehouse lies.
    """
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    served = replace(hive, folder=_with_service(hive, scratch, hdfs))
    options = [f"-Dserved.port={port}", LOCKS_OF_DERBY]
    if hdfs is not None:
        options.append(f"-Dserved.warehouse={hdfs.url}/warehouse")
    signals = hive.data / "signals"
    signals.mkdir(parents=True)
    os.environ["HIVESQL_JAVA_OPTS"] = " ".join(options)
    with ThreadPoolExecutor(1) as pool:
        ran = pool.submit(served.run, lines, may_fail=may_fail)
        try:
            yield ServedHive(url=f"thrift://127.0.0.1:{port}", signals=signals, ran=ran)
        finally:
            (signals / "over").touch()
            ran.exception()
            del os.environ["HIVESQL_JAVA_OPTS"]


def _with_service(hive: RealHive, scratch: Path, hdfs: MiniHdfs | None) -> Path:
    """A folder like that of the Hive, whose script starts the service as well. ``hdfs``: what it
    can reach.
    """
    home, of = scratch / f"h{hive.version}", hive.folder / f"h{hive.version}"
    home.mkdir(parents=True)
    # the script copies the template, and cp no link's target
    for name in ("classes", "template", "conf"):
        shutil.copytree(of / name, home / name)
    (home / "lib").mkdir()
    for jar in (of / "lib").iterdir():
        if not jar.name.startswith(UNFIT):
            (home / "lib" / jar.name).symlink_to(jar)
    if hdfs is not None:
        shutil.copy(hdfs.conf / "hdfs-site.xml", home / "conf")
    (scratch / "boot").symlink_to(hive.folder / "boot")
    classes = f"{home}/classes:{home}/lib/*"
    subprocess.run(
        ["javac", "-nowarn", "-d", f"{home}/classes", "-cp", classes, str(SOURCE)],
        check=True,
        capture_output=True,
    )
    script = (hive.folder / "hive-sql").read_text()
    assert script.count("HiveSql)") == 2
    (scratch / "hive-sql").write_text(script.replace("HiveSql)", "ServedHive)"))
    (scratch / "hive-sql").chmod(0o755)
    return scratch
