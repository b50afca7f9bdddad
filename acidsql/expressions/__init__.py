"""Conditions and simple expressions: one tree, what is read from text into it, and what is told by
it without an engine.
"""
