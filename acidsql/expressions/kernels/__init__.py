"""Spark's operators and functions over whole Arrow arrays; a Scalar stands for a column of one
value. Imported when values are computed, not when a statement is planned.
"""
