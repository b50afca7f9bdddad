"""MERGE on Spark."""
