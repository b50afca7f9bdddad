-- Many files become few; rows have no ids here.
-- !acid show: files
CREATE TABLE t (id INT) STORED AS ORC TBLPROPERTIES ('transactional'='true', 'transactional_properties'='insert_only');
INSERT INTO t VALUES (1), (2);
INSERT INTO t VALUES (3);
START TRANSACTION;
INSERT INTO t VALUES (100);
ROLLBACK;
ALTER TABLE t COMPACT 'minor' AND WAIT;
SELECT * FROM t;
INSERT INTO t VALUES (4);
ALTER TABLE t COMPACT 'major' AND WAIT;
SELECT * FROM t;
INSERT OVERWRITE TABLE t VALUES (5);
INSERT INTO t VALUES (6);
ALTER TABLE t COMPACT 'rebalance' AND WAIT;
SELECT * FROM t;
-- !acid show: rows
SHOW COMPACTIONS t ORDER BY compactionid;
