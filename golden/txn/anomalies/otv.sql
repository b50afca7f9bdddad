-- OTV, observed transaction vanishes: what a transaction has seen of another one is gone when it looks again. Prevented.
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
UPDATE t SET v = 19 WHERE id = 2;
-- session b
UPDATE t SET v = 12 WHERE id = 1;
-- session a
COMMIT;
-- session c
START TRANSACTION;
SELECT * FROM t ORDER BY id;
-- session b
UPDATE t SET v = 18 WHERE id = 2;
-- session c
SELECT * FROM t ORDER BY id;
-- session b
-- !acid error: WriteConflictError
COMMIT;
-- session c
SELECT * FROM t ORDER BY id;
COMMIT;
