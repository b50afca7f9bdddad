"""Queries as trees that need no Spark: what is surely understood of them, and the reason for the
rest.
"""
