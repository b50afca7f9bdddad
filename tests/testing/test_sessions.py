"""Golden scripts of several sessions, on a lock table of the test's own: ``take x`` and ``drop x``
are their statements.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import pytest

from acidsql.acid.ids import TxnId
from acidsql.errors import ExecutionError, MetastoreError, TransactionAbortedError
from acidsql.session import Session
from acidsql.testing.golden import run_compiled, run_script
from acidsql.testing.script import ScriptError, Step, read_steps
from acidsql.testing.sessions import run_sessions, uses_sessions
from acidsql.txn.locks import NO_TXN, LockComponent, LockInfo, LockState, LockType

ASKED_AGAIN = 3
"""How often the store is asked for its locks before one who waits notices that it is his turn."""


class LockTable:
    """Exclusive locks with a queue, as the store has them: who waits looks now and then whether his
    blocker is gone, and only then does the table say so.
    """

    def __init__(self, txns: dict[str, TxnId]) -> None:
        self._txns = txns
        self._changed = threading.Condition()
        self._locks: list[LockInfo] = []
        self._next = 1
        self._asked = 0

    def run(self, session: str, step: Step) -> str:
        """A statement: ``take x``, ``drop x`` (``drop``: all), ``fail``, or anything else that just ends."""
        verb, _, name = step.text.partition(" ")
        match verb:
            case "take":
                self._take(session, name)
            case "drop":
                with self._changed:
                    self._locks = [
                        lock
                        for lock in self._locks
                        if lock.user != session or name not in ("", lock.component.table)
                    ]
                    self._changed.notify_all()
            case "fail":
                raise ExecutionError("sour")
        return f"{verb} is done"

    def _take(self, session: str, name: str) -> None:
        with self._changed:
            number, self._next = self._next, self._next + 1
            self._locks.append(self._lock(session, name, number))
            while (blocker := self._locks_before(name, number)) is not None:
                self._replace(self._lock(session, name, number, blocker))
                self._changed.wait_for(
                    lambda: (
                        blocker not in [lock.lock_id for lock in self._locks]
                        or number not in [lock.lock_id for lock in self._locks]
                    )
                )
                self._notice_late(number)
            self._replace(self._lock(session, name, number))

    def _notice_late(self, number: int) -> None:
        """Whoever waits is slow: the store is asked several times before he looks."""
        if number not in [lock.lock_id for lock in self._locks]:
            raise TransactionAbortedError("your lock is gone")
        enough = self._asked + ASKED_AGAIN
        self._changed.wait_for(lambda: self._asked >= enough)

    def _locks_before(self, name: str, number: int) -> int | None:
        ahead = [
            lock.lock_id
            for lock in self._locks
            if lock.component.table == name and lock.lock_id < number
        ]
        return max(ahead, default=None)

    def _lock(self, session: str, name: str, number: int, blocker: int | None = None) -> LockInfo:
        component = LockComponent(database="d", table=name, type=LockType.EXCLUSIVE)
        return LockInfo(
            lock_id=number, part=1, component=component, user=session, host="", agent=None,
            state=LockState.ACQUIRED if blocker is None else LockState.WAITING,
            txn_id=self._txns.get(session, NO_TXN), last_heartbeat=0, acquired_at=0, statement="",
            blocked_by=None if blocker is None else (blocker, 1),
        )  # fmt: skip

    def _replace(self, changed: LockInfo) -> None:
        self._locks = [changed if lock.lock_id == changed.lock_id else lock for lock in self._locks]

    # ---- what the runner asks of a store

    def list_locks(self) -> tuple[LockInfo, ...]:
        with self._changed:
            self._asked += 1
            self._changed.notify_all()
            return tuple(self._locks)

    def unlock(self, lock_id: int) -> None:
        with self._changed:
            self._locks = [lock for lock in self._locks if lock.lock_id != lock_id]
            self._changed.notify_all()

    def abort_txns(self, txn_ids: Iterable[TxnId]) -> None:
        gone = set(txn_ids)
        with self._changed:
            self._locks = [lock for lock in self._locks if lock.txn_id not in gone]
            self._changed.notify_all()


def play(script: str, table: LockTable | None = None) -> str:
    steps = read_steps(script)
    table = table or LockTable({"b": TxnId(2)})
    return run_sessions(steps, {name: partial(table.run, name) for name in "abc"}, table)


def test_a_statement_that_waits_goes_on_when_the_lock_is_free() -> None:
    """The script goes on meanwhile; who was woken is waited for before the next statement."""
    script = (
        "take x;\n-- session b\ntake x;\n-- session a\nsay hello;\ndrop x;\n-- session b\ndrop x;\n"
    )
    assert play(script) == (
        "a> take x\ntake is done\n"
        "\nb> take x\n.. waits for a lock\n"
        "\na> say hello\nsay is done\n"
        "\na> drop x\ndrop is done\n"
        "\nb> take x\n.. goes on\ntake is done\n"
        "\nb> drop x\ndrop is done\n"
    )


def test_who_stands_behind_another_one_waits_on() -> None:
    """One lock that goes wakes the first of the queue alone, the others wait for that one now."""
    script = (
        "take x;\n-- session b\ntake x;\n-- session c\ntake x;\n"
        "-- session a\ndrop x;\n-- session b\ndrop x;\n"
    )
    assert play(script).split("\n\n")[3:] == [
        "a> drop x\ndrop is done",
        "b> take x\n.. goes on\ntake is done",
        "b> drop x\ndrop is done",
        "c> take x\n.. goes on\ntake is done\n",
    ]


def test_several_that_wake_are_shown_in_the_order_they_began_to_wait() -> None:
    """Whichever ends first."""
    script = "take x;\ntake y;\n-- session c\ntake y;\n-- session b\ntake x;\n-- session a\ndrop;\n"
    assert [block.split("\n")[0] for block in play(script).split("\n\n")] == [
        "a> take x", "a> take y", "c> take y", "b> take x", "a> drop", "c> take y", "b> take x",
    ]  # fmt: skip


def test_a_circle_that_nobody_ends_is_an_error() -> None:
    """Two that wait for each other are not waited for."""
    script = "take x;\n-- session b\ntake y;\ntake x;\n-- session a\ntake y;\n"
    with pytest.raises(ScriptError, match='at the end of the script session "b" still waits'):
        play(script)


@pytest.mark.parametrize("txns", [{}, {"b": TxnId(2)}])
def test_what_waits_at_the_end_is_an_error(txns: dict[str, TxnId]) -> None:
    """The message names the session and its line; nothing waits behind it, be it a transaction's
    lock or none's.
    """
    table = LockTable(txns)
    message = (
        'at the end of the script session "b" still waits for a lock, with its statement of line 3'
    )
    with pytest.raises(ScriptError, match=message):
        play("take x;\n-- session b\ntake x;\n", table)
    assert [lock.user for lock in table.list_locks()] == ["a"]
    assert not [t for t in threading.enumerate() if t.name.startswith("ThreadPoolExecutor")]


def test_a_session_that_waits_takes_no_statement() -> None:
    """A script that asks it is wrong, and says where."""
    with pytest.raises(ScriptError, match=r'line 4: session "b" still waits .* of line 3'):
        play("take x;\n-- session b\ntake x;\nsay hello;\n-- session a\ndrop x;\n")


def test_an_error_that_was_not_foretold_names_the_line_of_its_statement() -> None:
    """Also where the statement failed behind others."""
    with pytest.raises(ScriptError, match="line 3: ExecutionError: sour"):
        play("say hello;\n-- session b\nfail;\n")
    table = LockTable({"b": TxnId(2)})
    run = table.run

    def abort(session: str, step: Step) -> str:
        if step.text == "abort b":
            table.abort_txns([TxnId(2)])
        return run(session, step)

    table.run = abort  # type: ignore[method-assign]
    with pytest.raises(ScriptError, match="line 3: TransactionAbortedError: your lock is gone"):
        play("take x;\n-- session b\ntake x;\n-- session a\nabort b;\n", table)


def test_files_are_not_shown_while_a_statement_waits() -> None:
    """Nobody could say whose they are."""
    with pytest.raises(ScriptError, match="line 6: files cannot be shown while a statement waits"):
        play("take x;\n-- session b\ntake x;\n-- session a\n-- !acid show: files\ndrop x;\n")


def test_the_first_session_is_a() -> None:
    """A statement before any such line is the first session's; a script without one has none."""
    steps = read_steps("SELECT 1;\n-- session b2\nSELECT 2;\n  -- session a\nSELECT 3;\n")
    assert [step.session for step in steps] == [None, "b2", "a"]
    assert uses_sessions(steps)
    assert not uses_sessions(read_steps("-- session b: of ann\nSELECT 1; -- session b\n"))


@pytest.mark.parametrize("mode", ["parse", "plan", "error"])
def test_only_what_is_run_has_sessions(warehouse: Path, mode: str) -> None:
    """Nothing waits where nothing runs."""
    with (
        Session(str(warehouse)) as session,
        pytest.raises(ScriptError, match="several sessions need the mode run"),
    ):
        run_compiled(mode, "SHOW TABLES;\n-- session b\nSHOW TABLES;\n", session)


def test_a_store_that_fails_ends_the_script() -> None:
    """It is an error of the script's, and not one of a statement; nothing runs behind it."""

    class Broken(LockTable):
        def list_locks(self) -> tuple[LockInfo, ...]:
            if len(self._locks) > 1 and not self._asked:
                self._asked += 1
                raise MetastoreError("the disk went away")
            return super().list_locks()

    with pytest.raises(MetastoreError):
        play("take x;\n-- session b\ntake x;\n", Broken({"b": TxnId(2)}))
    assert not [t for t in threading.enumerate() if t.name.startswith("ThreadPoolExecutor")]


@pytest.mark.spark
def test_the_example_of_the_page_waits_as_it_says(session: Session, warehouse: Path) -> None:
    """docs/testing.md: its script prints what stands below it."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "testing.md").read_text()
    part = page.partition("## Several sessions")[2]
    script, printed = (part.split(f"```{kind}\n")[1].split("```")[0] for kind in ("sql", "text"))
    assert printed in run_script(script, session, warehouse)
