-- G1b, intermediate read: a transaction sees rows that another one goes on to change. Prevented.
-- Writers do not wait here, so that what snapshot isolation itself allows shows: the first to commit wins.
-- !acid conf: hive.txn.xlock.write=false
CREATE TABLE t (id INT, v INT) STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO t VALUES (1, 10), (2, 20);
-- session b
-- !acid conf: hive.txn.xlock.write=false
START TRANSACTION;
-- session a
START TRANSACTION;
UPDATE t SET v = 101 WHERE id = 1;
-- session b
SELECT * FROM t ORDER BY id;
-- session a
UPDATE t SET v = 11 WHERE id = 1;
COMMIT;
-- session b
-- The snapshot stays that of the first statement: neither 101 nor 11.
SELECT * FROM t ORDER BY id;
COMMIT;
SELECT * FROM t ORDER BY id;
