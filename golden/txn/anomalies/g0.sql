-- G0, dirty write: two transactions write the same rows, and those of both stay. Prevented: the second to commit is aborted.
-- Writers do not wait here, so that what snapshot isolation itself allows shows: the first to commit wins.
-- !acid conf: hive.txn.xlock.write=false
CREATE TABLE t (id INT, v INT) STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO t VALUES (1, 10), (2, 20);
-- session b
-- !acid conf: hive.txn.xlock.write=false
START TRANSACTION;
-- session a
START TRANSACTION;
UPDATE t SET v = 11 WHERE id = 1;
-- session b
UPDATE t SET v = 12 WHERE id = 1;
-- session a
UPDATE t SET v = 21 WHERE id = 2;
COMMIT;
SELECT * FROM t ORDER BY id;
-- session b
UPDATE t SET v = 22 WHERE id = 2;
-- !acid error: WriteConflictError
COMMIT;
-- Both rows are those of a.
SELECT * FROM t ORDER BY id;
