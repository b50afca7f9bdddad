-- A compaction is of one partition; its neighbours stay as they are.
-- !acid show: files
CREATE TABLE p (id INT) PARTITIONED BY (ds STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO p VALUES (1, 'a'), (2, 'b'), (3, NULL);
INSERT INTO p VALUES (4, 'a'), (5, 'b'), (6, NULL);
DELETE FROM p WHERE id = 1 OR id = 6;
SELECT ROW__ID, * FROM p;
ALTER TABLE p PARTITION (ds='a') COMPACT 'major' AND WAIT;
ALTER TABLE p PARTITION (ds='__HIVE_DEFAULT_PARTITION__') COMPACT 'minor' AND WAIT;
SELECT ROW__ID, * FROM p;
-- !acid show: rows
SHOW COMPACTIONS p ORDER BY compactionid;
