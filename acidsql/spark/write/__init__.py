"""Rows that Spark computes become files."""
