-- P4, lost update: two transactions read a row and write it, and the first write is lost. Prevented: the second to commit is aborted.
-- Writers do not wait here, so that what snapshot isolation itself allows shows: the first to commit wins.
-- !acid conf: hive.txn.xlock.write=false
CREATE TABLE t (id INT, v INT) STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO t VALUES (1, 10), (2, 20);
-- session b
-- !acid conf: hive.txn.xlock.write=false
START TRANSACTION;
SELECT v FROM t WHERE id = 1;
-- session a
START TRANSACTION;
SELECT v FROM t WHERE id = 1;
UPDATE t SET v = v + 1 WHERE id = 1;
-- session b
UPDATE t SET v = v + 1 WHERE id = 1;
-- session a
COMMIT;
-- session b
-- !acid error: WriteConflictError
COMMIT;
-- Run again it sees what a has written.
START TRANSACTION;
UPDATE t SET v = v + 1 WHERE id = 1;
COMMIT;
SELECT * FROM t ORDER BY id;
