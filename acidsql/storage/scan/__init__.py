"""The visible rows of a table snapshot as Arrow's record batches, without a JVM."""
