"""Regular expressions that are compiled when they are first used: a module has many of which a
statement needs few, and each costs more than the module itself.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from re import compile as pattern
else:

    class pattern:
        """What ``re.compile`` gives, from the first use of one of its methods on."""

        def __init__(self, text: str, flags: int = 0) -> None:
            self._text, self._flags = text, flags

        def __getattr__(self, name: str) -> Any:
            method = getattr(re.compile(self._text, self._flags), name)
            setattr(self, name, method)
            return method


__all__ = ["pattern"]
