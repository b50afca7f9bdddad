"""What may come next at the prompt.

complete.py    the word that is typed, and what it may become: a word, a setting, a file
scope.py       the tables that a statement names, under their aliases; the names that the
               session's catalog has
"""
