"""``acidsql compactor``: the daemon that compacts and cleans up; with --once one round of it."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType

from acidsql.cli.main import open_existing
from acidsql.compaction.assembly import assemble
from acidsql.compaction.daemon import Daemon, Journal
from acidsql.compaction.metrics import HIVE_COUNTERS, exposition, openmetrics
from acidsql.run.engine import Engine

BY_SIGNAL = (signal.SIGTERM, signal.SIGINT)


def add_arguments(parser: ArgumentParser) -> None:
    parser.epilog = (
        "With none of --initiator, --workers and --cleaner it does all three, with one worker; on a"
        " Hive metastore it is a worker beside Hive's, which has the other roles. Log lines go to"
        " stderr. SIGTERM and Ctrl-C end it within seconds. Exit codes: 0; with --once 1 if a"
        " compaction failed or something could not be done; 75 if the metastore could not be used"
        " for now."
    )
    parser.add_argument(
        "--once", action="store_true", help="end when nothing is left to do (for cron)"
    )
    parser.add_argument(
        "--initiator", action="store_true", help="find what is to be compacted, and ask for it"
    )
    parser.add_argument(
        "--workers", type=_number, metavar="N", help="compact, so many tables side by side"
    )
    parser.add_argument(
        "--cleaner", action="store_true", help="delete files that nobody needs any more"
    )
    parser.add_argument(
        "--pool",
        action="append",
        default=[],
        metavar="NAME",
        help="the workers serve this pool alone (may be repeated: in turn)",
    )
    parser.add_argument(
        "--metrics",
        metavar="PORT|HOST:PORT|FILE",
        help="give metrics as OpenMetrics text, over HTTP (127.0.0.1 unless HOST is said) or in"
        " a file",
    )


def _number(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) <= 100:
        raise ArgumentTypeError(f"{text!r} is not a number from 1 to 100")
    return int(text)


def run(args: Namespace) -> int:
    """Runs the daemon. Error if the warehouse cannot be opened or metrics cannot be given."""
    args.hiveconf = [*args.hiveconf, ("acidsql.compactor.auto", "false")]
    with open_existing(args) as session, ExitStack() as engines:
        store, settings = session.store, session.settings
        journal = Journal(store, session.files, _write, time.time)
        count = max(args.workers or 0, len(args.pool)) if _some(args) else max(1, len(args.pool))
        hands = [session.engine] if count else []
        while len(hands) < count:
            hands.append(
                Engine(
                    settings,
                    store,
                    master=args.master,
                    conf=dict(args.conf),
                    warehouse=store.warehouse,
                )
            )
            engines.callback(hands[-1].close)
        usual = () if _some(args) else store.daemon_roles
        roles = assemble(
            store,
            session.files,
            settings,
            journal,
            clock=time.time,
            engines=hands,
            pools=args.pool,
            initiator=args.initiator or "initiator" in usual,
            cleaner=args.cleaner or "cleaner" in usual,
        )
        daemon = Daemon(store, settings, roles, journal)

        def metrics() -> str:
            counters = {name: daemon.counters[name] for name in HIVE_COUNTERS}
            now = time.time()
            return openmetrics(store, session.files, settings, now=now, counters=counters)

        with exposition(args.metrics, metrics) as shown, _ended_by_signals(daemon):
            if shown.address:
                journal.say("daemon", f"metrics at {shown.address}")
            daemon.beyond = shown.refresh
            ended = daemon.run_until_done() if args.once else daemon.run()
            code = 1 if args.once and (journal.failures or daemon.errors) else 0
            if not ended:
                sys.stderr.flush()
                os._exit(code)  # a merge that was given up must not hold the process
            return code


def _some(args: Namespace) -> bool:
    return bool(args.initiator or args.workers or args.cleaner)


def _write(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


@contextmanager
def _ended_by_signals(daemon: Daemon) -> Iterator[None]:
    """SIGTERM and Ctrl-C stop the daemon. Elsewhere than in the main thread nothing changes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_number: int, _frame: FrameType | None) -> None:
        daemon.stop()

    before = {number: signal.signal(number, stop) for number in BY_SIGNAL}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
