"""Where the rows of a statement go and what they look like.

showing.py   where they go, how they fit there, and what is left out; a pager, or a cut with a hint;
             the rows of the last query, for ``.last``
people.py    what SHOW tells, as people read it
"""
