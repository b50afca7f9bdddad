"""The life of a table behind its statements: what merges its files, and what removes them."""
