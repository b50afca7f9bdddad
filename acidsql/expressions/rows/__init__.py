"""Conditions as functions of one row of partition values."""
