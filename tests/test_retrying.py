"""Statements that are run again."""

from __future__ import annotations

import pytest

from acidsql.errors import BindError, Error, WriteConflictError
from acidsql.session.transaction import Attempts


def run(attempts: Attempts, *outcomes: Error | None) -> int:
    """Plays one outcome an attempt; how many there were."""
    made = 0
    for number in attempts:
        made += 1
        outcome = outcomes[number]
        with attempts.one():
            if outcome is not None:
                raise outcome
    return made


def test_a_success_ends_it_without_a_word() -> None:
    """One attempt, no pause, no warning."""
    attempts = Attempts(retries=3, sleep=lambda seconds: pytest.fail("it slept"))
    assert run(attempts, None) == 1
    assert attempts.warnings() == []


def test_retryable_errors_are_waited_after() -> None:
    """Each pause may be twice the one before; the warning counts them."""
    pauses: list[float] = []
    attempts = Attempts(retries=3, sleep=pauses.append)
    lost = WriteConflictError("lost")
    assert run(attempts, lost, lost, lost, None) == 4
    longest = (0.1, 0.2, 0.4)
    assert all(most / 2 <= pause <= most for pause, most in zip(pauses, longest, strict=True))
    assert [warning.message for warning in attempts.warnings()] == [
        "the statement was run again 3 times, the last time because: lost"
    ]


@pytest.mark.parametrize(
    ("retries", "error"), [(0, WriteConflictError("lost")), (3, BindError("wrong"))]
)
def test_other_errors_leave_at_once(retries: int, error: Error) -> None:
    """So does a retryable one when no attempt is left."""
    attempts = Attempts(retries=retries, sleep=lambda seconds: pytest.fail("it slept"))
    with pytest.raises(type(error)):
        run(attempts, error)


def test_the_last_error_leaves() -> None:
    """Behind the retries that there were."""
    attempts = Attempts(retries=1, sleep=lambda seconds: None)
    with pytest.raises(WriteConflictError, match="second"):
        run(attempts, WriteConflictError("first"), WriteConflictError("second"))
