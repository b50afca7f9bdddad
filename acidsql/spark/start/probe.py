"""What a task tells of the process that it runs in. Spark carries this file's functions there as
they stand, so it imports nothing that may be missing.
"""

from __future__ import annotations

from collections.abc import Sequence


def looked_around(
    packages: Sequence[str], modules: Sequence[str], directory: str, marker: str, _: int
) -> tuple[str, int, tuple[str, ...], str, str]:
    """The host, a number that the tasks of an executor share there, the ``packages`` that it has
    not, the version of its acidsql ("" where it has none, or ``modules`` of it cannot be imported),
    and what is wrong with the file ``marker`` in ``directory``, "" if nothing is. Without a marker
    nothing is looked for.
    """
    import importlib
    import os
    import socket

    missing = [name for name in packages if not _has(name)]
    try:
        version = str(importlib.import_module("acidsql").__version__)
        for name in modules:
            importlib.import_module(name)
    except Exception:
        version = ""
    trouble = ""
    if marker:
        if not os.path.isdir(directory):
            trouble = "is not there"
        elif not os.access(directory, os.R_OK | os.X_OK):
            trouble = "cannot be read"
        elif not os.path.exists(f"{directory}/{marker}"):
            trouble = "is another directory than the driver's"
        elif not os.access(directory, os.W_OK):
            trouble = "cannot be written to"
    # each executor has a process of its own that forks the Pythons of its tasks
    return socket.gethostname(), os.getppid(), tuple(missing), version, trouble


def _has(package: str) -> bool:
    import importlib

    try:
        module = importlib.import_module(package)
    except Exception:
        return False
    return module.__file__ is not None  # None: a directory of that name, as in Spark's jars
