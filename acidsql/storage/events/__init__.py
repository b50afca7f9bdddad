"""The rows of ACID files as events: which were inserted, which are deleted, and their ids."""
