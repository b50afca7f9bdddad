"""Plans: what is done for a bound statement, as operators; how it is chosen, and how it reads."""
