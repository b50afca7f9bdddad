"""The ids of the field as types of their own: mixing a transaction id with a write id is the bug of
this trade.
"""

from __future__ import annotations

from typing import NewType

TxnId = NewType("TxnId", int)
"""Global transaction id, from 1."""

WriteId = NewType("WriteId", int)
"""Per table and transaction, from 1; in directory names and rows."""

StatementId = NewType("StatementId", int)
"""0-based leg within a transaction, at most 4095; -1 = none in the name."""

BucketId = NewType("BucketId", int)
"""The plain bucket number, 0..4095, of a file name; the packed int in rows is a *bucket property*.
"""

FIRST_WRITE_ID = WriteId(1)
CONVERSION_SEED = WriteId(10_000_000)
"""A table that becomes full ACID begins above it; the rows it had have write id 0. Hive:
TransactionalValidationListener.
"""
NO_STATEMENT = StatementId(-1)
MAX_BUCKET_ID = 4095
MAX_STATEMENT_ID = 4095
NO_OPEN_WRITE_ID = 9223372036854775807
"""Java's Long.MAX_VALUE: what Hive writes for "nothing is open"."""
