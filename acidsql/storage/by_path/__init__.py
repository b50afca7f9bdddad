"""Files that queries name by their path: which they are, their columns and their rows."""
