"""Tables that move between a warehouse with a metastore of acidsql's own and Hive's metastore, and
stay where they lie. At no time do both write a table; who dies in between has left it for the next
run to go on with.

    to Hive    here attached read only; there locked, write ids, table, partitions; here gone
    from Hive  there locked; here attached read only; there gone, its files stay; here adopted

Each of these is one step of one store, or is done again. Of a table that is attached the properties
tell which write ids count, and a mark where it is on its way to, or from.
"""
