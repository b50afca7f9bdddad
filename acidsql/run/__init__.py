"""Plans run: one walk over their operators, those of the driver (`driver/`) and of Spark (`spark/`)."""
