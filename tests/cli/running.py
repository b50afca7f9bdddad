"""The command, called in the process of a test."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from acidsql.cli.main import main


@dataclass(frozen=True, slots=True)
class Ran:
    code: int
    out: str
    err: str


def called(capsys: pytest.CaptureFixture[str], *arguments: str) -> Ran:
    """What became of ``acidsql ARGUMENTS``."""
    try:
        code = main(arguments)
    except SystemExit as left:
        code = int(left.code or 0)
    out, err = capsys.readouterr()
    return Ran(code, out, err)
