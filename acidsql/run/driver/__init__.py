"""Operators that need no Java."""
