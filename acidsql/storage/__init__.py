"""A table on files: what a snapshot of it holds, and what its files tell without Spark. No pyspark,
no SQL text.
"""
