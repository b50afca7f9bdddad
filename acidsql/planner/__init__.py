"""Statements to plans: names are bound to facts, plans are made of them, and plans are shown."""
