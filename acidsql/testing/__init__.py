"""Golden SQL files and the pytest plugin that runs them; usable by any project that has acidsql
installed.

A golden test is a script, ``NAME.sql``, and what it printed, ``NAME.out``, beside it. See
``plugin`` for the set-up and the fixtures, ``items`` for scripts as tests, ``snapshots`` for how
syrupy keeps and compares what they print, ``script`` for the directives, ``golden`` for what is
run, ``texts`` for what is printed, ``sessions`` for scripts in which one session waits for another,
``tables`` for tables of CSV files and Arrow data; docs/testing.md tells it to users.
"""
