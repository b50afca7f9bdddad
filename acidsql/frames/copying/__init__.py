"""Rows of files as the columns of a table take them: what fits goes on, what does not is told with
its file and line.
"""
