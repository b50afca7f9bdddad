"""Statements about partitions, and where partitions may lie."""
