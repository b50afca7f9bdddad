"""Sources that know many tables: the database of Hive's metastore, and exports of its tables.

urls.py        what USING names, and how it is shown and kept without its password
database.py    one read-only transaction in a PostgreSQL or MySQL database
derby_dump.py  a directory of exports of an embedded Derby database
metastore.py   a table in Hive's tables: which one it is, and its facts
databases.py   all tables of one of Hive's databases
live.py        what is asked anew for each statement
"""
