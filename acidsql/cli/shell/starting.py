"""Spark's start behind the prompt: statements are taken at once, and one that has to wait for Spark
says so, and why.
"""

from __future__ import annotations

import threading
from contextlib import suppress

from acidsql.cli.console import Console
from acidsql.session import Session


def start_spark_behind(session: Session) -> None:
    """Starts Spark while the user types. If that fails, the statement that needs Spark says so."""

    def start() -> None:
        with suppress(Exception):
            session.start_spark()

    threading.Thread(target=start, name="acidsql-spark-start", daemon=True).start()


def say_when_waiting(session: Session, console: Console) -> None:
    """Has every statement that must wait until Spark has started say so, once, with the reason."""

    def say(reason: str | None) -> None:
        console.say(": ".join(["waiting for Spark to start", *([reason] if reason else [])]))

    session.when_waiting_for_spark(say)
