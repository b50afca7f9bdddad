-- Files of LOAD DATA come into a base with the ROW__IDs that readers have given their rows.
CREATE TABLE s (id INT) STORED AS ORC;
INSERT INTO s VALUES (20), (21);
-- !acid show: files
CREATE TABLE t (id INT) STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO t VALUES (10);
LOAD DATA INPATH '$WAREHOUSE/s' INTO TABLE t;
SELECT ROW__ID, * FROM t;
ALTER TABLE t COMPACT 'minor' AND WAIT;
SELECT ROW__ID, * FROM t;
INSERT INTO t VALUES (11);
ALTER TABLE t COMPACT 'major' AND WAIT;
SELECT ROW__ID, * FROM t;
