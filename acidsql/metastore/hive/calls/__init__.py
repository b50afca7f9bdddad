"""The calls of Hive's metastore, as data.

reading.py    how methods, structs and errors are declared; the calls that only read; lists of
              transactions and write ids
catalog.py    databases, tables, constraints, partitions and statistics of columns
txns.py       transactions, locks and compactions
"""
