"""Hive 4's table of locks, as its documentation would print it: what managers are held against."""

from __future__ import annotations

from acidsql.txn.locks import LockComponent, LockType

MATRIX = {
    "SHARED_READ": "ok ok ok blocks",
    "SHARED_WRITE": "ok ok blocks blocks",
    "EXCL_WRITE": "ok blocks blocks blocks",
    "EXCLUSIVE": "blocks blocks blocks blocks",
}
"""A line for what is wanted, a column for what is there, both from SHARED_READ to EXCLUSIVE."""


def path(component: LockComponent) -> tuple[str, ...]:
    """The names of what is locked, from the database down."""
    parts = (component.database, component.table, component.partition)
    return tuple(part for part in parts if part is not None)


def stands_in_the_way(wanted: LockComponent, other: LockComponent) -> bool:
    """Whether ``other``, held or asked for before, keeps ``wanted`` waiting. A database that is
    read and a table of it that is locked as a whole (CREATE TABLE beside DROP TABLE) do not.
    """
    one, two = path(wanted), path(other)
    if one[: len(two)] != two and two[: len(one)] != one:
        return False
    if wanted.type is LockType.SHARED_READ and other.type is LockType.EXCLUSIVE:
        return not (len(one) == 1 and len(two) > 1)
    if wanted.type is LockType.EXCLUSIVE and other.type is LockType.SHARED_READ:
        return not (len(two) == 1 and len(one) > 1)
    return MATRIX[wanted.type].split()[list(LockType).index(other.type)] == "blocks"
