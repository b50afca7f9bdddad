-- Minor, minor of deletes alone, minor over a minor, then major: no ROW__ID changes, and what is replaced goes.
-- !acid show: files
CREATE TABLE t (id INT, name STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c');
INSERT INTO t VALUES (4, 'd');
UPDATE t SET name = 'B' WHERE id = 2;
SELECT ROW__ID, * FROM t;
ALTER TABLE t COMPACT 'minor' AND WAIT;
SELECT ROW__ID, * FROM t;
DELETE FROM t WHERE id = 1;
DELETE FROM t WHERE id = 4;
SELECT ROW__ID, * FROM t;
-- two directories of deletes beside what is merged already
ALTER TABLE t COMPACT 'minor' AND WAIT;
SELECT ROW__ID, * FROM t;
INSERT INTO t VALUES (5, 'e');
ALTER TABLE t COMPACT 'minor' AND WAIT;
ALTER TABLE t COMPACT 'major' AND WAIT;
SELECT ROW__ID, * FROM t;
-- !acid show: rows
SHOW COMPACTIONS t ORDER BY compactionid;
