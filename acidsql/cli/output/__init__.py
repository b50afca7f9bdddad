"""Where the rows of a statement go and what they look like.

render.py    rows to lines, one function an output format
fitting.py   how wide the columns of a table are on a screen, and when it holds none
width.py     text on a terminal
paging.py    rows that a screen does not hold: a pager, or a cut with a hint
kept.py      the rows of the last query, for ``.last``
"""
