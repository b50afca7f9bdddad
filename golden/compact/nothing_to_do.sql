-- Where there is nothing to merge a compaction is refused, in Hive's words, and no file changes.
-- !acid show: files
CREATE TABLE t (id INT) STORED AS ORC TBLPROPERTIES ('transactional'='true');
ALTER TABLE t COMPACT 'major' AND WAIT;
INSERT INTO t VALUES (1);
ALTER TABLE t COMPACT 'minor' AND WAIT;
ALTER TABLE t COMPACT 'major' AND WAIT;
INSERT INTO t VALUES (2);
ALTER TABLE t COMPACT 'major' AND WAIT;
-- a base alone
ALTER TABLE t COMPACT 'major' AND WAIT;
SELECT ROW__ID, * FROM t;
-- !acid show: rows
SHOW COMPACTIONS t ORDER BY compactionid;
