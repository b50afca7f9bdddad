"""Tables that others wrote, attached where they lie: what their directories tell
(``examination``), what has to be assumed (``assumptions``), and the statements (``statements``).
"""
