"""Statements that change rows: carried out in a unit of work, visible by its one commit."""
