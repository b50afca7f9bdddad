-- Statistics are right behind every statement; count(*) is answered from footers and ids where they tell.
CREATE TABLE t (id INT, name STRING, price DECIMAL(10,2), day DATE, at TIMESTAMP, ok BOOLEAN, tags ARRAY<STRING>)
STORED AS ORC TBLPROPERTIES ('transactional'='true');
SHOW TBLPROPERTIES t('COLUMN_STATS_ACCURATE');
INSERT INTO t SELECT 1, 'ann', 1.5, DATE '2024-01-31', TIMESTAMP '2024-01-31 12:30:00', true, array('x')
UNION ALL SELECT 2, 'bob', 20, DATE '1969-12-31', NULL, false, NULL UNION ALL SELECT 3, NULL, NULL, NULL, NULL, NULL, NULL;
DELETE FROM t WHERE id = 2;
UPDATE t SET price = 2 WHERE id = 3;
SHOW TBLPROPERTIES t('numRows');
SHOW TBLPROPERTIES t('numFiles');
EXPLAIN SELECT count(*) FROM t;
SELECT count(*) FROM t;
SELECT count(1) AS n FROM t WHERE true;
SET hive.compute.query.using.stats=false;
SELECT count(*) FROM t;
SET hive.compute.query.using.stats=true;
ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS;
DESCRIBE FORMATTED t id;
DESCRIBE FORMATTED t name;
DESCRIBE FORMATTED t price;
DESCRIBE FORMATTED t day;
DESCRIBE FORMATTED t at;
DESCRIBE FORMATTED t ok;
DESCRIBE FORMATTED t tags;
INSERT INTO t (id) VALUES (4);
SHOW TBLPROPERTIES t('COLUMN_STATS_ACCURATE');
-- Partitions have their own; a partitioned table shows what their columns have in common.
CREATE TABLE p (id INT) PARTITIONED BY (ds STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO p VALUES (1, 'a'), (2, 'a'), (5, 'b');
DELETE FROM p WHERE id = 2;
SELECT count(*) FROM p;
SELECT count(*) FROM p WHERE ds = 'a';
ANALYZE TABLE p PARTITION (ds) COMPUTE STATISTICS FOR COLUMNS id;
DESCRIBE FORMATTED p PARTITION (ds = 'b') id;
DESCRIBE FORMATTED p id;
ALTER TABLE p CHANGE COLUMN id id BIGINT;
DESCRIBE FORMATTED p id;
ANALYZE TABLE p COMPUTE STATISTICS NOSCAN;
-- !acid error: BindError
ANALYZE TABLE p PARTITION (ds = 'c') COMPUTE STATISTICS;
