"""What the product costs, as ratios to plain Spark measured in the same run: ``python -m
tests.bench``.
"""
