"""Names of statements are bound to facts, and what cannot be is refused."""
