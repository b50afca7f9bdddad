"""Rows of several tables: joins, set operations, sub-queries, windows."""
