"""The prompt.

loop.py      reads and runs until the user leaves; Spark's start behind the prompt
reading.py   inputs: when one is whole, and readers of plain lines
editing.py   the reader on prompt_toolkit: keys, history, completion, colours
careful.py   what is asked before every row of a table is changed
files.py     where the history, the configuration and the named queries are
"""
