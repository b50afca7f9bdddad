"""Rows of a query as files that no table has: in which format, where, and how they get their
names.
"""
