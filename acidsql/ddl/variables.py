"""SET and RESET."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from acidsql.ddl.warehouse import done, one_column
from acidsql.errors import Error, Span
from acidsql.planner.bind.bound import BoundReset, BoundSet
from acidsql.result import Result
from acidsql.settings import Variables


def set_variable(variables: Variables, action: BoundSet) -> Result:
    """SET lists what was set, SET -v all settings, SET k shows one, SET k=v sets it."""
    with _pointing_at(action.span):
        if action.key is None:
            return one_column("set", variables.listing(verbose=action.verbose))
        if action.value is None:
            return one_column("set", [variables.show(action.key)])
        variables.set(action.key, action.value)
    return done()


def reset_variables(variables: Variables, action: BoundReset) -> Result:
    with _pointing_at(action.span):
        variables.reset(action.keys, to_default=action.to_default)
    return done()


@contextmanager
def _pointing_at(span: Span) -> Iterator[None]:
    """Gives errors of settings, which know nothing of SQL text, the span of the statement."""
    try:
        yield
    except Error as error:
        error.span = error.span or span
        raise
