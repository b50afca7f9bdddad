-- Who waits for whom, and what a statement that has waited sees: the scenarios of Hive's lock manager.
CREATE TABLE t (id INT, n INT) STORED AS ORC TBLPROPERTIES ('transactional'='true');
CREATE TABLE p (id INT, n INT) PARTITIONED BY (k STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true');
CREATE TABLE plain (id INT) STORED AS ORC;
INSERT INTO t VALUES (1, 10), (2, 20);
INSERT INTO p VALUES (1, 10, 'x'), (2, 20, 'y');

-- by rows: two UPDATEs of different rows run side by side, and both commit
START TRANSACTION;
UPDATE t SET n = n + 1 WHERE id = 1;
-- session b
UPDATE t SET n = n + 1 WHERE id = 2;
-- session a
COMMIT;
SELECT * FROM t ORDER BY id;

-- by partitions, as Hive: the second UPDATE waits, and then sees what the first one did
START TRANSACTION;
SET acidsql.conflict.granularity=partition;
UPDATE t SET n = n + 1 WHERE id = 1;
-- session b
SET acidsql.conflict.granularity=partition;
UPDATE t SET n = n + 1 WHERE id = 1;
-- session a
SELECT * FROM t ORDER BY id;
COMMIT;
SELECT * FROM t ORDER BY id;

-- the first statement of a transaction that had to wait has a snapshot from behind the waiting
START TRANSACTION;
UPDATE t SET n = n + 1 WHERE id = 1;
-- session b
START TRANSACTION;
UPDATE t SET n = n + 1 WHERE id = 1;
-- session a
COMMIT;
-- session b
COMMIT;
SELECT * FROM t ORDER BY id;

-- hive.txn.xlock.write=false: both run, and the second one to commit loses
-- session a
SET hive.txn.xlock.write=false;
START TRANSACTION;
UPDATE t SET n = 0 WHERE id = 1;
-- session b
SET hive.txn.xlock.write=false;
UPDATE t SET n = n + 1 WHERE id = 1;
-- session a
-- !acid error: WriteConflictError
COMMIT;
RESET hive.txn.xlock.write;
-- session b
RESET hive.txn.xlock.write;

-- readers and inserts wait for no UPDATE, and no UPDATE for them
-- session a
START TRANSACTION;
SELECT * FROM t ORDER BY id;
-- session b
UPDATE t SET n = n + 1 WHERE id = 2;
INSERT INTO t VALUES (3, 30);
-- session a
INSERT INTO t VALUES (4, 40);
SELECT * FROM t ORDER BY id;
COMMIT;
SELECT * FROM t ORDER BY id;

-- a reader waits for an INSERT OVERWRITE, and then sees it
START TRANSACTION;
INSERT OVERWRITE TABLE t VALUES (5, 50);
-- session b
SELECT * FROM t;
-- session a
COMMIT;

-- hive.txn.xlock.iow=false: it need not wait for it
SET hive.txn.xlock.iow=false;
START TRANSACTION;
INSERT OVERWRITE TABLE t VALUES (6, 60);
-- session b
SELECT * FROM t;
-- session a
COMMIT;
RESET hive.txn.xlock.iow;

-- DDL waits for who reads or writes, and who comes behind it waits for the DDL
START TRANSACTION;
SELECT * FROM t;
-- session b
ALTER TABLE t ADD COLUMNS (s STRING);
-- session c
SELECT * FROM t;
-- session a
COMMIT;

-- a partition is dropped when nobody is in it any more; another one is nobody's business
START TRANSACTION;
INSERT INTO p PARTITION (k='x') VALUES (3, 30);
-- session b
ALTER TABLE p DROP PARTITION (k='y');
ALTER TABLE p DROP PARTITION (k='x');
-- session a
COMMIT;
SHOW PARTITIONS p;

-- a table is dropped behind its last writer; whoever waited behind that finds no table
START TRANSACTION;
INSERT INTO p VALUES (4, 40, 'z');
-- session b
DROP TABLE p;
-- session c
-- !acid error: TableNotFoundError
SELECT * FROM p;
-- session a
COMMIT;

-- rows of a table without transactions are written by one at a time; no transaction keeps its lock
START TRANSACTION;
SELECT * FROM plain;
-- session b
INSERT INTO plain VALUES (1);
-- session a
SELECT * FROM plain;
COMMIT;

-- two transactions that wait for each other: the one that closes the circle fails at once
CREATE TABLE u (id INT, n INT) STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO u VALUES (1, 1);
START TRANSACTION;
UPDATE t SET n = 1;
-- session b
START TRANSACTION;
UPDATE u SET n = 2;
-- session a
UPDATE u SET n = 1;
-- session b
-- !acid error: DeadlockError
UPDATE t SET n = 2;
ROLLBACK;
-- session a
COMMIT;
SELECT * FROM u;
SHOW LOCKS;
