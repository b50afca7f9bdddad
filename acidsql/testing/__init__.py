"""Golden SQL files, the pytest plugin that runs them, and contracts of stores; usable by any
project that has acidsql installed.

A golden test is a script, ``NAME.sql``, and what it printed, ``NAME.out``, beside it. See
``plugin`` for the set-up, ``script`` for the directives, ``golden`` for what is printed and
``sessions`` for scripts in which one session waits for another,
``contracts`` for what a transaction manager and a catalog must do;
docs/testing.md tells it to users.
"""
