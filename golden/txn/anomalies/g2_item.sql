-- G2-item, write skew on rows: two transactions read both rows and each writes another one. Allowed, as under any snapshot isolation.
-- The rows lie in two tables, so that none is written by both, whatever the granularity of a conflict.
-- !acid conf: hive.txn.xlock.write=false
CREATE TABLE t (id INT, v INT) STORED AS ORC TBLPROPERTIES ('transactional'='true');
CREATE TABLE u (id INT, v INT) STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO t VALUES (1, 10);
INSERT INTO u VALUES (2, 20);
-- session b
-- !acid conf: hive.txn.xlock.write=false
START TRANSACTION;
SELECT * FROM t UNION ALL SELECT * FROM u;
-- session a
START TRANSACTION;
SELECT * FROM t UNION ALL SELECT * FROM u;
UPDATE t SET v = 11 WHERE id = 1;
-- session b
UPDATE u SET v = 21 WHERE id = 2;
-- session a
COMMIT;
-- session b
-- Each has written what it would not have written behind the other one, and both stay.
COMMIT;
SELECT * FROM t UNION ALL SELECT * FROM u;
