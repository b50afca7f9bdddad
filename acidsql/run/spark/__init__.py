"""Operators that Spark carries out."""
