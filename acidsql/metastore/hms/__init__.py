"""Hive's metastore as the catalog and transaction manager of a session, over Thrift (``hive/``).

server.py       who is asked, and how what it refuses becomes our errors
tables.py       tables, partitions and databases as its structs, and back
catalog.py      the catalog
statistics.py   statistics: nobody is to believe numbers that a commit made wrong; those of columns
                as its structs, and back
analyzing.py    what ANALYZE has measured
txns.py         transactions
locks.py        locks, which are the metastore's own
readers.py      which ids may be seen; reads outside of a transaction: each is a transaction there
compactions.py  Hive's queue of compactions
workers.py      a worker that carries them out, beside Hive's
migration.py    tables that come from another store, or leave for one
metastore.py    all of it as one store; what killed processes leave, Hive's cleaner looks after
"""
