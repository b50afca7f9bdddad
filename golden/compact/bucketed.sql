-- Each bucket has its file again, and its delete events theirs.
-- !acid show: files
CREATE TABLE b (id INT, name STRING) CLUSTERED BY (id) INTO 2 BUCKETS STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO b VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd');
INSERT INTO b VALUES (5, 'e'), (6, 'f');
DELETE FROM b WHERE id IN (1, 6);
SELECT ROW__ID, * FROM b;
ALTER TABLE b COMPACT 'minor' AND WAIT;
SELECT ROW__ID, * FROM b;
ALTER TABLE b COMPACT 'major' AND WAIT;
SELECT ROW__ID, * FROM b;
