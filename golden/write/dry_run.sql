-- DRY RUN counts what a statement would touch, and where; nothing is written and no write id is used.
-- !acid show: files
CREATE TABLE t (id INT, v STRING) PARTITIONED BY (k INT) CLUSTERED BY (id) INTO 4 BUCKETS STORED AS ORC TBLPROPERTIES ('transactional'='true');
DRY RUN INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', NULL);
INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', NULL);
DRY RUN INSERT OVERWRITE TABLE t PARTITION (k) SELECT id, v, 5 FROM t;
DRY RUN UPDATE t SET v = 'z' WHERE id > 1;
DRY RUN DELETE FROM t WHERE k IS NULL;
DRY RUN MERGE INTO t USING (SELECT 1 AS i UNION ALL SELECT 9) s ON t.id = s.i
WHEN MATCHED THEN UPDATE SET v = 'm' WHEN NOT MATCHED THEN INSERT VALUES (s.i, 'n', 7);
-- A row that several changes aim at is refused, or else changed once: it is of the first clause.
-- !acid error: CardinalityError
DRY RUN MERGE INTO t USING (SELECT explode(array(1, 1, 2, 2)) AS i) s ON t.id = s.i
WHEN MATCHED AND t.v = 'a' THEN DELETE WHEN MATCHED THEN UPDATE SET v = 'm';
SET hive.merge.cardinality.check=false;
DRY RUN MERGE INTO t USING (SELECT explode(array(1, 1, 2, 2)) AS i) s ON t.id = s.i
WHEN MATCHED AND t.v = 'a' THEN DELETE WHEN MATCHED THEN UPDATE SET v = 'm';
SET hive.merge.cardinality.check=true;
DRY RUN FROM t INSERT INTO t PARTITION (k = 1) SELECT id, v INSERT INTO t PARTITION (k = 2) SELECT id, v WHERE id = 1;
SELECT * FROM t;
-- What takes rows away says how many go, in which files, and whether they can come back.
DRY RUN TRUNCATE TABLE t;
DRY RUN TRUNCATE TABLE t PARTITION (k = 2);
DRY RUN INSERT OVERWRITE TABLE t PARTITION (k = 1) SELECT id, v FROM t WHERE k = 9;
DRY RUN ALTER TABLE t DROP PARTITION (k < 3);
DRY RUN DROP TABLE t PURGE;
CREATE DATABASE d;
CREATE TABLE d.m (id INT) STORED AS ORC TBLPROPERTIES ('transactional'='true', 'transactional_properties'='insert_only');
CREATE TABLE d.c (id INT) STORED AS TEXTFILE;
CREATE EXTERNAL TABLE d.x (id INT) STORED AS ORC;
CREATE EXTERNAL TABLE d.g (id INT) STORED AS PARQUET TBLPROPERTIES ('external.table.purge'='true');
CREATE VIEW d.w AS SELECT id FROM t;
INSERT INTO d.m VALUES (1), (2);
INSERT INTO d.c VALUES (1), (2);
INSERT INTO d.x VALUES (1), (2);
INSERT INTO d.g VALUES (1), (2);
DRY RUN DROP TABLE d.m;
DRY RUN DROP TABLE d.x;
DRY RUN DROP TABLE d.g;
DRY RUN TRUNCATE TABLE d.m;
DRY RUN TRUNCATE TABLE d.c;
DRY RUN DROP VIEW d.w;
DRY RUN DROP TABLE IF EXISTS d.none;
DRY RUN ALTER TABLE d.x SET LOCATION '$WAREHOUSE/elsewhere';
-- !acid error: BindError
DRY RUN DROP DATABASE d;
DRY RUN DROP DATABASE d CASCADE;
DRY RUN ABORT TRANSACTIONS 1 99;
-- What takes no rows away is explained.
DRY RUN ALTER TABLE t ADD COLUMNS (w INT);
DRY RUN CREATE TABLE n (id INT);
-- The same for every statement of a session; DDL is told and not carried out.
SET acidsql.dry.run = true;
DELETE FROM t;
TRUNCATE TABLE t;
DROP TABLE t;
DROP DATABASE d CASCADE;
SET acidsql.dry.run = false;
SHOW TABLES IN d;
SELECT count(*) FROM t;
SHOW TRANSACTIONS;
-- In a transaction there is a way back for rows, and none for DDL.
START TRANSACTION;
INSERT INTO t VALUES (4, 'd', 1);
DRY RUN TRUNCATE TABLE t PARTITION (k = 1);
DRY RUN DROP TABLE t;
ROLLBACK;
