-- testWriteSetTracking1 to 11 of Hive's TestDbTxnManager2: which transactions are remembered as having changed what, and who is
-- aborted for it. Table tabN belongs to the test of that number. Locks are Hive's SHARED_WRITE, as in those tests: nobody waits.
-- !acid conf: hive.txn.xlock.write=false
SET hive.txn.xlock.write;
-- session b
SET hive.txn.xlock.write=false;
-- 1: Transactions that change one partition, one behind the other: no conflict.
-- session a
CREATE TABLE tab1 (a INT, b INT) PARTITIONED BY (p STRING) CLUSTERED BY (a) INTO 2 BUCKETS STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO tab1 PARTITION (p) VALUES (1, 2, 'blah');
START TRANSACTION;
UPDATE tab1 SET b = 7 WHERE p = 'blah';
COMMIT;
-- session b
START TRANSACTION;
UPDATE tab1 SET b = 8 WHERE p = 'blah';
COMMIT;
SELECT * FROM tab1;
-- 2: Transactions that overlap and change different tables: no conflict.
-- session a
CREATE TABLE tab2 (a INT, b INT) PARTITIONED BY (p STRING) CLUSTERED BY (a) INTO 2 BUCKETS STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO tab2 PARTITION (p) VALUES (1, 2, 'blah');
CREATE TABLE other2 (a INT, b INT) PARTITIONED BY (p STRING) CLUSTERED BY (a) INTO 2 BUCKETS STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO other2 PARTITION (p) VALUES (3, 4, 'doh');
START TRANSACTION;
UPDATE tab2 SET b = 7 WHERE p = 'blah';
-- session b
START TRANSACTION;
UPDATE other2 SET b = 9 WHERE p = 'doh';
-- session a
COMMIT;
-- session b
COMMIT;
SELECT * FROM tab2 UNION ALL SELECT * FROM other2;
-- 3: Transactions that overlap and change one partition, here one row: the second to commit is aborted.
-- session a
CREATE TABLE tab3 (a INT, b INT) PARTITIONED BY (p STRING) CLUSTERED BY (a) INTO 2 BUCKETS STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO tab3 PARTITION (p) VALUES (1, 2, 'blah');
START TRANSACTION;
UPDATE tab3 SET b = 7 WHERE p = 'blah';
-- session b
START TRANSACTION;
UPDATE tab3 SET b = 8 WHERE p = 'blah';
-- session a
COMMIT;
-- session b
-- !acid error: WriteConflictError
COMMIT;
SELECT * FROM tab3;
-- 4: A long transaction of several statements beside short ones; what changes no row is not remembered, and conflicts with nothing.
-- session a
CREATE TABLE tab4 (a INT, b INT) PARTITIONED BY (p STRING) CLUSTERED BY (a) INTO 2 BUCKETS STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO tab4 PARTITION (p) VALUES (1, 1, 'one'), (2, 2, 'two');
START TRANSACTION;
SELECT a FROM tab4 WHERE p = 'blah';
-- session b
START TRANSACTION;
UPDATE tab4 SET b = 7 WHERE p = 'blah';
COMMIT;
START TRANSACTION;
UPDATE tab4 SET b = 7 WHERE p = 'two';
COMMIT;
-- session a
UPDATE tab4 SET b = 17 WHERE a = 3;
COMMIT;
SELECT * FROM tab4;
-- 5: Transactions that overlap and change one row, and the first is rolled back: the second commits.
-- session a
CREATE TABLE tab5 (a INT, b INT) PARTITIONED BY (p STRING) CLUSTERED BY (a) INTO 2 BUCKETS STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO tab5 PARTITION (p) VALUES (1, 2, 'blah');
START TRANSACTION;
UPDATE tab5 SET b = 7 WHERE p = 'blah';
-- session b
START TRANSACTION;
UPDATE tab5 SET b = 8 WHERE p = 'blah';
-- session a
ROLLBACK;
-- session b
COMMIT;
SELECT * FROM tab5;
-- 6: A transaction that reads what another one changes: no conflict.
-- session a
CREATE TABLE tab6 (a INT, b INT) PARTITIONED BY (p STRING) CLUSTERED BY (a) INTO 2 BUCKETS STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO tab6 PARTITION (p) VALUES (1, 1, 'one'), (2, 2, 'two');
START TRANSACTION;
SELECT * FROM tab6 WHERE a = 1;
-- session b
START TRANSACTION;
UPDATE tab6 SET b = 17 WHERE a = 1;
COMMIT;
-- session a
SELECT * FROM tab6 WHERE a = 1;
COMMIT;
SELECT * FROM tab6 WHERE a = 1;
-- 7: Transactions that change different partitions: no conflict, whether the conditions name the partitions or not.
-- session a
CREATE TABLE tab7 (a INT, b INT) PARTITIONED BY (p STRING) CLUSTERED BY (a) INTO 2 BUCKETS STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO tab7 PARTITION (p) VALUES (1, 1, 'one'), (2, 2, 'two');
START TRANSACTION;
UPDATE tab7 SET b = 7 WHERE p = 'one';
-- session b
START TRANSACTION;
UPDATE tab7 SET b = 8 WHERE p = 'two';
COMMIT;
-- session a
COMMIT;
START TRANSACTION;
UPDATE tab7 SET b = 9 WHERE b = 7;
-- session b
START TRANSACTION;
UPDATE tab7 SET b = 10 WHERE b = 8;
COMMIT;
-- session a
COMMIT;
SELECT * FROM tab7;
-- 8: One names its partition and the other does not: no conflict, the rows tell.
-- session a
CREATE TABLE tab8 (a INT, b INT) PARTITIONED BY (p STRING) CLUSTERED BY (a) INTO 2 BUCKETS STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO tab8 PARTITION (p) VALUES (1, 1, 'one'), (2, 2, 'two');
START TRANSACTION;
UPDATE tab8 SET b = 7 WHERE p = 'two';
-- session b
START TRANSACTION;
UPDATE tab8 SET b = 8 WHERE b = 1;
COMMIT;
-- session a
COMMIT;
SELECT * FROM tab8;
-- 9: An update and a delete in different partitions: no conflict.
-- session a
CREATE TABLE tab9 (a INT, b INT) PARTITIONED BY (p STRING) CLUSTERED BY (a) INTO 2 BUCKETS STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO tab9 PARTITION (p) VALUES (1, 1, 'one'), (2, 2, 'two');
START TRANSACTION;
DELETE FROM tab9 WHERE p = 'two' AND b = 2;
-- session b
START TRANSACTION;
UPDATE tab9 SET b = 7 WHERE b = 1;
COMMIT;
-- session a
COMMIT;
SELECT * FROM tab9;
-- 10: An update and a delete of one row: the second to commit is aborted.
-- session a
CREATE TABLE tab10 (a INT, b INT) PARTITIONED BY (p STRING) CLUSTERED BY (a) INTO 2 BUCKETS STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO tab10 PARTITION (p) VALUES (1, 1, 'one'), (2, 2, 'two');
START TRANSACTION;
DELETE FROM tab10 WHERE p = 'two' AND b = 2;
-- session b
START TRANSACTION;
UPDATE tab10 SET b = 7 WHERE b = 2;
COMMIT;
-- session a
-- !acid error: WriteConflictError
COMMIT;
SELECT * FROM tab10;
-- 11: Two deletes of one row: the second to commit is aborted, as in Hive 4; Hive 3 let it pass.
-- session a
CREATE TABLE tab11 (a INT, b INT) PARTITIONED BY (p STRING) CLUSTERED BY (a) INTO 2 BUCKETS STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO tab11 PARTITION (p) VALUES (1, 1, 'one'), (2, 2, 'two');
START TRANSACTION;
SELECT * FROM tab11 WHERE b = 1 AND p = 'one';
DELETE FROM tab11 WHERE p = 'two' AND b = 2;
-- session b
START TRANSACTION;
DELETE FROM tab11 WHERE b = 2;
COMMIT;
-- session a
-- !acid error: WriteConflictError
COMMIT;
SELECT * FROM tab11;
