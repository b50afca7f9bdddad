-- Rows a transaction has inserted and changes again: what is left is as if they had been inserted so, with the ROW__IDs they had.
CREATE TABLE t (id INT, v STRING) CLUSTERED BY (id) INTO 1 BUCKETS STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO t VALUES (1, 'old'), (2, 'old'), (3, 'old');
-- !acid show: files
START TRANSACTION;
INSERT INTO t VALUES (10, 'new'), (11, 'new'), (12, 'new');
UPDATE t SET v = 'updated' WHERE id IN (1, 10);
UPDATE t SET v = 'twice' WHERE id = 10;
DELETE FROM t WHERE id IN (2, 11);
MERGE INTO t USING (SELECT explode(array(3, 12, 20)) AS id) s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET v = 'merged'
WHEN NOT MATCHED THEN INSERT VALUES (s.id, 'merged');
SELECT ROW__ID.writeid, ROW__ID.bucketid & 4095 AS statement, * FROM t;
COMMIT;
SELECT ROW__ID.writeid, ROW__ID.bucketid & 4095 AS statement, * FROM t;
-- Inserted and deleted again: no file at all.
START TRANSACTION;
INSERT INTO t VALUES (30, 'gone');
DELETE FROM t WHERE id = 30;
COMMIT;
-- Behind an overwriting all rows end in one base.
START TRANSACTION;
DELETE FROM t WHERE id = 1;
INSERT OVERWRITE TABLE t SELECT id, 'kept' FROM t WHERE id < 12;
INSERT INTO t VALUES (40, 'behind'), (41, 'behind');
UPDATE t SET v = 'changed' WHERE id IN (3, 40);
DELETE FROM t WHERE id = 41;
SELECT ROW__ID.writeid, ROW__ID.bucketid & 4095 AS statement, * FROM t;
COMMIT;
SELECT ROW__ID.writeid, ROW__ID.bucketid & 4095 AS statement, * FROM t;
START TRANSACTION;
TRUNCATE TABLE t;
INSERT INTO t VALUES (50, 'anew');
COMMIT;
SELECT * FROM t;
