"""The calls of the protocols, each one SQL transaction on the store."""
