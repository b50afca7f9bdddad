-- G2, anti-dependency cycle: two transactions ask by a condition, and each inserts a row that the other one's condition would find.
-- Allowed, as under any snapshot isolation: an insert conflicts with nothing.
-- Writers do not wait here, so that what snapshot isolation itself allows shows: the first to commit wins.
-- !acid conf: hive.txn.xlock.write=false
CREATE TABLE t (id INT, v INT) STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO t VALUES (1, 10), (2, 20);
-- session b
-- !acid conf: hive.txn.xlock.write=false
START TRANSACTION;
SELECT * FROM t WHERE v % 3 = 0;
-- session a
START TRANSACTION;
SELECT * FROM t WHERE v % 3 = 0;
INSERT INTO t VALUES (3, 30);
-- session b
INSERT INTO t VALUES (4, 42);
-- session a
COMMIT;
-- session b
COMMIT;
-- Run one behind the other, the second would have found a row.
SELECT * FROM t WHERE v % 3 = 0;
