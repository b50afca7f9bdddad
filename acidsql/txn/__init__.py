"""Transactions: what each sees, how it lives and ends (``transaction``), which locks it waits for
(``locks``), and when two of them are a conflict (``overlaps``).

A transaction is an id in the metastore. Its files are written under names that only it owns (its
write id on the table is part of every directory name), and nobody else looks at them until its id
counts as committed: there is no moment at which half of a statement is visible, and nothing to undo
when it fails. So the whole of isolation lies in two lists, fixed once:

* the **valid transactions**: every id up to the high watermark, but for those that were open or
  aborted when it was taken. The high watermark is the own id, so a transaction that begins later is
  never seen, even if it commits first.
* the **valid write ids** of a table: the same, told in the table's own numbers, which are what file
  names carry.

In time, with ``t`` a table that each transaction inserts into (w = its write id there)::

    txn 1   begin ---- w1 ---- commit
    txn 2      begin ------------------- w2 -------------------- commit
    txn 3                        begin ------- w3 --- commit
    txn 4                                                  begin ------- read t ---------
    txn 5                                                       begin -- w4 -- commit

    txn 4's list of transactions    4:2:2:     high watermark 4, of which 2 is open
    txn 4's list of t's write ids   t:3:2:2:   high watermark 3, of which 2 is open

It reads w1 and w3: 3 is seen, as it had committed when 4 began. 2 is not, though it commits while 4
reads; nor is 5, which began later. Asked again, the answer is the same (no non-repeatable read, no
phantom): the lists never change, only files may be added.

What it does see beyond the lists is its own work: once it has a write id on ``t``, that id is valid
for it.

Lost updates are prevented at the end: of two transactions that overlap in time and both updated or
deleted the same row (by Hive's rule: in the same table or partition), the first to commit wins, the
other is aborted (WriteConflictError) and may be run again; see ``overlaps``. Write skew is
possible, as under any snapshot isolation: two transactions that read each other's table and write
their own both commit.
"""
