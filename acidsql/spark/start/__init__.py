"""Finds Java, starts Spark, and derives the session that statements run in."""
