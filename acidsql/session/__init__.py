"""A user's session: the way of one statement, transactions over several, results that outlive them,
scans, DataFrames into tables.
"""

from acidsql.session.opening import DEFAULT_WAREHOUSE, WAREHOUSE_VARIABLE
from acidsql.session.session import DEFAULT_BATCH_ROWS, Session

__all__ = ["DEFAULT_BATCH_ROWS", "DEFAULT_WAREHOUSE", "WAREHOUSE_VARIABLE", "Session"]
