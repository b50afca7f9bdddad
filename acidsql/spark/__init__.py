"""The only room that imports pyspark: what is carried out by Spark."""
