"""What the process does of which tests/forks.py forks others: whatever is imported and built by the
first statements is there in each of them.
"""

from __future__ import annotations

import tempfile

from acidsql.cli import compactor, main  # noqa: F401
from acidsql.compaction import assembly  # noqa: F401
from acidsql.metastore.stores import postgresql  # noqa: F401
from acidsql.metastore.stores.connections import psycopg_module
from acidsql.session import Session

psycopg_module()
with tempfile.TemporaryDirectory() as folder, Session(folder, metastore="") as session:
    session.sql("CREATE TABLE t (id INT) STORED AS ORC TBLPROPERTIES ('transactional'='true')")
    session.sql("INSERT INTO t VALUES (1)")
    session.sql("SELECT count(*) FROM t").rows()
