-- PMP, predicate-many-preceders: a transaction that asks twice by a condition finds rows that were not there. Prevented.
-- Writers do not wait here, so that what snapshot isolation itself allows shows: the first to commit wins.
-- !acid conf: hive.txn.xlock.write=false
CREATE TABLE t (id INT, v INT) STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO t VALUES (1, 10), (2, 20);
-- session b
-- !acid conf: hive.txn.xlock.write=false
START TRANSACTION;
SELECT * FROM t WHERE v = 30;
-- session a
START TRANSACTION;
INSERT INTO t VALUES (3, 30);
COMMIT;
-- session b
SELECT * FROM t WHERE v % 3 = 0;
COMMIT;
SELECT * FROM t WHERE v % 3 = 0;
-- The same with a condition that changes rows: b deletes by values that a has changed and committed.
START TRANSACTION;
SELECT * FROM t WHERE v = 20;
-- session a
UPDATE t SET v = v + 10 WHERE id IN (1, 2);
-- session b
-- What it sees is 20, and that row is not any more what a has made of it.
DELETE FROM t WHERE v = 20;
-- !acid error: WriteConflictError
COMMIT;
SELECT * FROM t ORDER BY id;
