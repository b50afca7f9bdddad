-- G-single, read skew: a transaction sees one row from before and another one from after a commit. Prevented.
-- Writers do not wait here, so that what snapshot isolation itself allows shows: the first to commit wins.
-- !acid conf: hive.txn.xlock.write=false
CREATE TABLE t (id INT, v INT) STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO t VALUES (1, 10), (2, 20);
-- session b
-- !acid conf: hive.txn.xlock.write=false
START TRANSACTION;
SELECT * FROM t WHERE id = 1;
-- session a
START TRANSACTION;
SELECT * FROM t ORDER BY id;
UPDATE t SET v = 12 WHERE id = 1;
UPDATE t SET v = 18 WHERE id = 2;
COMMIT;
-- session b
SELECT * FROM t WHERE id = 2;
-- By a condition too.
SELECT * FROM t WHERE v % 3 = 0;
-- What it changes it changes as it sees it: the row of before, which is not there any more.
DELETE FROM t WHERE v = 20;
-- !acid error: WriteConflictError
COMMIT;
SELECT * FROM t ORDER BY id;
