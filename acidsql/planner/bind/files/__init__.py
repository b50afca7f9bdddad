"""Files that statements name: those that a query reads, and those that its rows go to."""
