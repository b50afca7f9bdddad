"""The embedded metastore: Hive's catalog and transaction tables in one SQLite file inside the
warehouse.
"""
