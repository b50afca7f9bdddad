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
-- The same for every statement of a session; DDL is explained and not carried out.
SET acidsql.dry.run = true;
DELETE FROM t;
DROP TABLE t;
SET acidsql.dry.run = false;
SELECT count(*) FROM t;
SHOW TRANSACTIONS;
