"""Several ORC files as one, without a look at their rows."""
