"""What is said of a value that is to be converted without an engine: that only Spark can tell, or
that the column does not hold it as it is written.
"""

from __future__ import annotations

from typing import Any

from acidsql.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Lossy:
    """What a column holds in place of a literal it cannot hold: NULL, or what is left of it.

    ``refused``: strict SQL (``acidsql.ansi``) takes the literal for an error.
    """

    value: Any
    refused: bool = True


NULL = Lossy(None)
