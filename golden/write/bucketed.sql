-- CLUSTERED BY: rows lie in the bucket Hive would put them in, also after updates; delete events follow the row they hit.
-- !acid show: files
CREATE TABLE b (id INT, name STRING, d DATE) CLUSTERED BY (id) INTO 4 BUCKETS STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO b VALUES (0, 'zero', NULL), (1, 'a', DATE '2024-01-01'), (2, 'b', DATE '2024-01-02'), (3, 'c', NULL), (10, 'j', DATE '1969-12-31'), (-5, 'm', DATE '2024-02-29'), (NULL, 'z', NULL);
SELECT ROW__ID, * FROM b;
UPDATE b SET name = concat(name, '_u') WHERE id > 1;
DELETE FROM b WHERE id = 10 OR id IS NULL;
SELECT ROW__ID, * FROM b;
INSERT INTO b SELECT id * 100, name, d FROM b;
SELECT ROW__ID.bucketid, id FROM b;
CREATE TABLE two (k STRING, n BIGINT, v INT) CLUSTERED BY (k, n) INTO 3 BUCKETS STORED AS ORC TBLPROPERTIES ('transactional'='true', 'orc.compress'='NONE');
INSERT INTO two SELECT name, id, id FROM b;
SELECT ROW__ID.bucketid, * FROM two;
