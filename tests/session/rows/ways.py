"""Who makes the rows of a statement that changes some, and who writes them, as settings."""

from __future__ import annotations

import random

from acidsql.session import Session

WAYS = {
    "local": {"acidsql.engine": "auto", "acidsql.write.path": "auto"},
    "small": {"acidsql.engine": "spark", "acidsql.write.path": "small"},
    "big": {"acidsql.engine": "auto", "acidsql.write.path": "big"},
}
"""``local``: the driver alone where it understands the statement; ``small``: Spark makes the rows,
the driver writes them; ``big``: Spark does both.
"""


def settings_of(chance: random.Random) -> list[str]:
    """The SET statements of a way: mostly the driver's, of which the least is known."""
    drawn = chance.random()
    way = "big" if drawn < 0.25 else "small" if drawn < 0.5 else "local"
    return [f"SET {name}={value}" for name, value in WAYS[way].items()]


def take(session: Session, way: str) -> None:
    """The next statements go that way."""
    for name, value in WAYS[way].items():
        session.sql(f"SET {name}={value}")
