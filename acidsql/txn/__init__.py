"""Transactions: the protocol of a transaction manager, the life of one transaction, heartbeats."""
