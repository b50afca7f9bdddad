"""Rows as text: for the shell, for print and for golden files of any door."""
