"""What is wrong with the files of a table, and what can be mended without guessing."""
