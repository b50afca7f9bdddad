"""Where the rows of a statement go and what they look like.

showing.py   where they go, how they fit there, and what is left out
paging.py    rows that a screen does not hold: a pager, or a cut with a hint
people.py    what SHOW tells, as people read it
kept.py      the rows of the last query, for ``.last``
"""
