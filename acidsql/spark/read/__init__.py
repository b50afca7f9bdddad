"""Merge on read: snapshots of tables as views of Spark."""
