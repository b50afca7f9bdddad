"""Tables that others wrote, attached where they lie: what their directories tell (``examination``,
``layout``), what has to be assumed (``assumptions``), what a dump tells (``dump``), the statements
(``statements``, and ``databases`` for all tables of one of Hive's), overlays (``overlays``), and
how such a table becomes one of this warehouse (``adoption``).
"""
