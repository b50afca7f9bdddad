"""A source that knows many tables: the database of Hive's metastore.

urls.py       what USING names, and how it is shown and kept without its password
database.py   one read-only transaction in a PostgreSQL or MySQL database
metastore.py  a table in Hive's tables: which one it is, and its facts
"""
