"""MERGE: its source, its clauses, and the rules they keep."""
