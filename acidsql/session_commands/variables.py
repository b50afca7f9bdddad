"""SET and RESET."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from acidsql.errors import Error, Span
from acidsql.planner.bound import BoundReset, BoundSet
from acidsql.result import Result
from acidsql.session_commands.answers import done, one_column
from acidsql.settings import Variables

if TYPE_CHECKING:
    from acidsql.session import Session


def set_variable(session: Session, action: BoundSet) -> Result:
    """SET lists what was set, SET -v all settings, SET k shows one, SET k=v sets it."""
    variables = Variables(session.settings, session.hive_variables)
    with _pointing_at(action.span):
        if action.key is None:
            return one_column("SET", "set", variables.listing(verbose=action.verbose))
        if action.value is None:
            return one_column("SET", "set", [variables.show(action.key)])
        variables.set(action.key, action.value)
    return done("SET")


def reset_variables(session: Session, action: BoundReset) -> Result:
    with _pointing_at(action.span):
        Variables(session.settings, session.hive_variables).reset(action.keys, to_default=action.to_default)
    return done("RESET")


@contextmanager
def _pointing_at(span: Span) -> Iterator[None]:
    """Settings know nothing of SQL text: their errors get the statement as their place."""
    try:
        yield
    except Error as error:
        error.span = error.span or span
        raise
