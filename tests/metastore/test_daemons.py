"""Sessions know which daemons live."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from acidsql.metastore.embedded import EmbeddedMetastore
from tests.contracts import Clock

ROLES = ("initiator", "worker", "cleaner", "housekeeper")


def numbers(metastore: EmbeddedMetastore) -> list[int]:
    return [daemon.daemon_id for daemon in metastore.compactor_daemons()]


def test_a_daemon_is_known_to_others_until_it_ends(
    reopen: Callable[..., EmbeddedMetastore],
) -> None:
    """Another session sees what a daemon does and for which pools, and no more once it ended."""
    here, there = reopen(), reopen()
    assert there.compactor_daemons() == ()

    number = here.register_daemon(ROLES, ["", "big"])

    [daemon] = there.compactor_daemons()
    assert (daemon.daemon_id, daemon.roles, daemon.pools) == (number, ROLES, ("", "big"))
    here.end_daemon(number)
    assert there.compactor_daemons() == ()
    assert not here.heartbeat_daemon(number)


def test_a_silent_daemon_is_dead(reopen: Callable[..., EmbeddedMetastore], clock: Clock) -> None:
    """After hive.txn.timeout without a heartbeat a daemon does not count; one that beats does."""
    metastore = reopen(txn_timeout_seconds=300.0)
    silent = metastore.register_daemon(ROLES, [""])
    clock.now += 200
    beating = metastore.register_daemon(ROLES, [""])
    assert numbers(metastore) == [silent, beating]
    clock.now += 200
    assert metastore.heartbeat_daemon(beating)

    assert numbers(metastore) == [beating]
    assert metastore.register_daemon(["worker"], [""]) > beating
    assert not metastore.heartbeat_daemon(silent)


def test_a_killed_daemon_is_dead_at_once(
    warehouse: Path, metastore_url: str | None, metastore: EmbeddedMetastore
) -> None:
    """A daemon whose process has ended without a word does not count, however fresh its heartbeat
    is.
    """
    program = (
        "import os, sys\n"
        "from acidsql.metastore.embedded import EmbeddedMetastore\n"
        "store = EmbeddedMetastore(sys.argv[1], metastore=sys.argv[2] or None)\n"
        "store.register_daemon(['worker'], [''])\n"
        "os._exit(0)\n"
    )
    arguments = [str(warehouse), metastore_url or ""]

    subprocess.run([sys.executable, "-c", program, *arguments], check=True)

    assert metastore.compactor_daemons() == ()
