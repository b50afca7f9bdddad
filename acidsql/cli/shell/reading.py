"""Reads inputs: one or more lines that make whole statements or commands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol

from acidsql.cli.commands.command import command_end
from acidsql.parser.script import is_complete

CONTINUATION = "     ... "
VERTICAL_END = "\\G"


class Reader(Protocol):
    """The person at the prompt."""

    def __call__(self, prompt: str) -> str:
        """One input: EOFError at the end, KeyboardInterrupt when the user gives the input up."""
        ...

    def ask(self, question: str) -> str:
        """The line that answers a question; as an input, but not remembered."""
        ...

    def history(self) -> Sequence[str]:
        """The inputs that are remembered, the oldest first."""
        ...

    def remember(self, text: str) -> None:
        """Adds an input that was not typed at the prompt."""
        ...


def is_whole(text: str) -> bool:
    r"""Whether Enter ends the input: a command, nothing at all, or a statement closed by ``;`` or
    ``\G``.
    """
    body, vertical = without_vertical_end(text)
    return is_complete(body + ";" if vertical else body, command_end)


def without_vertical_end(text: str) -> tuple[str, bool]:
    r"""The text without the ``\G`` that ends its last statement, and whether there was one."""
    body = text.rstrip()
    if not body.endswith(VERTICAL_END) or is_complete(text, command_end):
        return text, False
    return body.removesuffix(VERTICAL_END), True


class LinesReader:
    """Reads plain lines until the input is whole."""

    def __init__(self, read_line: Callable[[str], str]) -> None:
        self._read_line = read_line
        self._inputs: list[str] = []
        with suppress(ImportError):
            import readline  # noqa: F401  (its import gives input() editing and history)

    def __call__(self, prompt: str) -> str:
        text = self.ask(prompt)
        while not is_whole(text):
            text += "\n" + self.ask(CONTINUATION)
        if text.strip():
            self._inputs.append(text)
        return text

    def ask(self, question: str) -> str:
        try:
            return self._read_line(question)
        except (
            UnicodeDecodeError
        ) as error:  # the statement is refused where it stands, as any other
            return str(error.object, error.encoding, "surrogateescape")

    def history(self) -> Sequence[str]:
        return tuple(self._inputs)

    def remember(self, text: str) -> None:
        self._inputs.append(text)
