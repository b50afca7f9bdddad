-- What was rolled back is passed over; directories of several statements of one transaction become one; above an open one nothing is taken.
-- !acid show: files
CREATE TABLE t (id INT) STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO t VALUES (1);
START TRANSACTION;
INSERT INTO t VALUES (100);
ROLLBACK;
START TRANSACTION;
INSERT INTO t VALUES (2);
INSERT INTO t VALUES (3);
COMMIT;
SELECT ROW__ID, * FROM t;
ALTER TABLE t COMPACT 'minor' AND WAIT;
SELECT ROW__ID, * FROM t;
INSERT INTO t VALUES (4);
START TRANSACTION;
INSERT INTO t VALUES (5);
-- session b
INSERT INTO t VALUES (6);
ALTER TABLE t COMPACT 'minor' AND WAIT;
-- session a
COMMIT;
SELECT ROW__ID, * FROM t;
ALTER TABLE t COMPACT 'major' AND WAIT;
SELECT ROW__ID, * FROM t;
