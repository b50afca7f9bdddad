"""The shell's own files, where the XDG base directories put them: the history with what a program
remembers, the rest with what a user has configured.

    $XDG_STATE_HOME/acidsql/history         what was typed
    $XDG_CONFIG_HOME/acidsql/shell.sql      statements and commands, run before the first prompt
    $XDG_CONFIG_HOME/acidsql/queries/*.sql  named queries
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path


def _folder(variable: str, *otherwise: str) -> Path:
    """The program's folder below an XDG directory; a relative one does not count."""
    base = os.environ.get(variable, "")
    if not os.path.isabs(base):
        base = os.path.join(os.path.expanduser("~"), *otherwise)
    return Path(base) / "acidsql"


def history_file() -> Path:
    return _folder("XDG_STATE_HOME", ".local", "state") / "history"


def config_file() -> Path:
    return _folder("XDG_CONFIG_HOME", ".config") / "shell.sql"


def query_file(name: str) -> Path:
    """The file of a named query."""
    return _folder("XDG_CONFIG_HOME", ".config") / "queries" / f"{name}.sql"


def query_files() -> Sequence[Path]:
    """The files of all named queries, by name."""
    return sorted(query_file("x").parent.glob("*.sql"))
