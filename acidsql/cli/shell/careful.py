"""What is asked before every row of a table is changed, as hardly anybody means to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from acidsql.cli.shell.reading import Reader
from acidsql.errors import Error
from acidsql.parser.parse import parse
from acidsql.parser.statements import Delete, Update

if TYPE_CHECKING:
    from acidsql.cli.runner import Runner

CAREFUL = "acidsql.shell.careful"
DRY_RUN = "acidsql.dry.run"
_SUSPECTS = re.compile(r"\s*(update|delete)\b", re.IGNORECASE)


def changes_all_rows(text: str) -> str | None:
    """What an UPDATE or DELETE without WHERE does, in words; None for any other statement, and for
    one that cannot be read: it tells by itself what is wrong.
    """
    if not _SUSPECTS.match(text):
        return None
    try:
        statement = parse(text)
    except Error:
        return None
    match statement:
        case Update(where=None, target=target):
            return f"UPDATE without WHERE changes every row of {target.span.cut(text)}"
        case Delete(where=None, target=target):
            return f"DELETE without WHERE deletes every row of {target.span.cut(text)}"
        case _:
            return None


def agrees(runner: Runner, reader: Reader, text: str) -> bool:
    """Whether the user lets a statement run. One that changes every row of a table is asked about,
    and may be run dry before.
    """
    settings = runner.session.settings
    if not settings.flag(CAREFUL) or settings.flag(DRY_RUN):
        return True
    warning = changes_all_rows(text)
    if warning is None:
        return True
    runner.console.say(f"warning: {warning}")
    question = "run it? yes, no, or dry run first [y/N/d] "
    while True:
        answer = _answer(reader, question)
        if answer in ("y", "yes"):
            return True
        if answer not in ("d", "dry", "dry run"):
            runner.console.say("not run")
            return False
        runner.carry_out(f"DRY RUN {text}")
        question = "run it? [y/N] "


def _answer(reader: Reader, question: str) -> str:
    try:
        return reader.ask(question).strip().lower()
    except EOFError:
        return ""
