"""What the catalog and the transaction manager know, as rows of the tables of Hive's metastore."""
