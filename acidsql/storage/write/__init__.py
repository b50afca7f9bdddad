"""Rows in memory become files, and files get the names that readers look at."""
