"""LOAD DATA: which files are meant, and whether they can be files of the table."""
