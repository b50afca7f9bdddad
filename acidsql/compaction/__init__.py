"""The life of a table on files: when its directories are merged, by whom, and when they go."""
