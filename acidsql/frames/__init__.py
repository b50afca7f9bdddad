"""DataFrames as relations of a session: what is read of them, which columns they have, whether
their values fit a table, and the files their rows wait in until a statement reads them.
"""
