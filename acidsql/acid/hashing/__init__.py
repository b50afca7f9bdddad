"""Hive's two hashes of values, which tell the bucket of a row."""
