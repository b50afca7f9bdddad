-- G1c, circular information flow: each of two transactions sees what the other writes. Prevented: neither does.
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
INSERT INTO t VALUES (3, 22);
-- session a
SELECT * FROM t WHERE id = 3;
-- session b
SELECT * FROM t WHERE id = 1;
-- session a
COMMIT;
-- session b
-- An insert conflicts with nothing.
COMMIT;
SELECT * FROM t ORDER BY id;
