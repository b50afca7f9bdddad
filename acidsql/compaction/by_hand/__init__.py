"""Compactions that a user asks for: what is to be done, by whom while he waits, what is left."""
