"""What is done for a bound statement, as data."""
