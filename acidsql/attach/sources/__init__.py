"""Sources that know many tables: Hive's metastore, its database, and exports of its tables.

urls.py          a database or a metastore's service that USING names; how it is shown and kept
                 without its password
database.py      one read-only transaction in a PostgreSQL or MySQL database; which tables can be
                 attached, whatever tells of them
derby_dump.py    a directory of exports of an embedded Derby database
metastore.py     a table in Hive's tables: which one it is, and its facts; all tables of a database
service.py       a table as the service tells it
live.py          what is asked anew for each statement
"""
