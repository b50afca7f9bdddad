"""What a table is: the model, Hive's types, and the protocol every catalog back end implements."""
