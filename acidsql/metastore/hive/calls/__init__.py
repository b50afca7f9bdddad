"""The calls of Hive's metastore, as data.

declaring.py  methods, structs and errors
reading.py    the calls that only read, and the structs in them
catalog.py    databases, tables, constraints, partitions and statistics of columns
txns.py       transactions, locks and compactions
"""
