-- A transaction over several tables: one write id in each, a statement id for each statement, nothing to see before COMMIT.
CREATE TABLE orders (id INT, item STRING, n INT) STORED AS ORC TBLPROPERTIES ('transactional'='true');
CREATE TABLE stock (item STRING, n INT) CLUSTERED BY (item) INTO 2 BUCKETS STORED AS ORC TBLPROPERTIES ('transactional'='true');
CREATE TABLE shipped (id INT, item STRING) PARTITIONED BY (day STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO stock VALUES ('ink', 5), ('pen', 9);
-- !acid show: files
START TRANSACTION;
INSERT INTO orders VALUES (1, 'pen', 2), (2, 'ink', 1);
UPDATE stock SET n = n - 2 WHERE item = 'pen';
INSERT INTO shipped PARTITION (day = 'mon') SELECT id, item FROM orders WHERE id = 1;
SELECT * FROM orders;
SELECT * FROM stock;
SELECT * FROM shipped;
SHOW PARTITIONS shipped;
COMMIT;
SHOW PARTITIONS shipped;
SELECT ROW__ID.writeid, ROW__ID.bucketid & 4095 AS statement, * FROM orders;
SELECT ROW__ID.writeid, ROW__ID.bucketid & 4095 AS statement, item, n FROM stock;
SELECT ROW__ID.writeid, ROW__ID.bucketid & 4095 AS statement, * FROM shipped;
-- ROLLBACK: no row, no file, no partition.
BEGIN;
INSERT INTO shipped PARTITION (day) SELECT id, item, 'tue' FROM orders;
TRUNCATE TABLE orders;
INSERT OVERWRITE TABLE stock VALUES ('nib', 1);
SELECT * FROM stock;
SELECT * FROM shipped;
ROLLBACK;
SELECT * FROM orders;
SELECT * FROM stock;
SHOW PARTITIONS shipped;
-- Nothing to commit.
START TRANSACTION READ ONLY;
SELECT count(*) FROM orders;
COMMIT;
