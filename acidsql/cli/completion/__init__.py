"""What may come next at the prompt.

complete.py    the word that is typed, and what it may become
scope.py       the tables that a statement names, under their aliases
words.py       words of queries and functions
arguments.py   arguments of commands, settings, files
catalog.py     the names that the session's catalog has
"""
