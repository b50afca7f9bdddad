"""Units of work: what statements write becomes visible by one commit, or not at all."""
