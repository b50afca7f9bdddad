"""The life of a table behind its statements: what merges its files, and what removes them."""

DELTAS = "hive.compactor.delta.num.threshold"
"""The setting for the number of directories up to which nothing is merged for it."""
