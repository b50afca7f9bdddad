"""Statements about the catalog: their rules, and the facts they become."""
