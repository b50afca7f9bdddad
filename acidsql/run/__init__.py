"""Plans run: one walk over their operators, the driver's and Spark's."""
