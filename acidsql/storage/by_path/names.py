"""Names of columns and fields that mean the same to all who read them."""

from __future__ import annotations

import re
from collections.abc import Collection

NOT_NATURAL = "a file of which Spark has told more than its types"
"""Why columns are Spark's to tell that have more than names and types."""
_PLAIN = re.compile(r"[^.`\x00-\x1f]+")


def are_plain(names: Collection[str], *, lower: bool = False) -> bool:
    """Whether no two of them are the same but for their case, and none looks like several.
    ``lower``: and all are in lower case, as Hive has fields.
    """
    folded = {name.lower() for name in names}
    return (
        all(map(_PLAIN.fullmatch, names))
        and len(folded) == len(names)
        and (not lower or folded == set(names))
    )
