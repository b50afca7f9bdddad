-- Columns may be called what ACID files call theirs, and whatever stands between backquotes.

CREATE TABLE c (bucket INT, rowid STRING, operation INT, originaltransaction BIGINT, `row` STRUCT<bucket:INT,`f g`:INT>, currenttransaction INT)
  STORED AS ORC TBLPROPERTIES ('transactional'='false');
INSERT INTO c VALUES (1, 'a', 2, 3, named_struct('bucket', 4, 'f g', 5), 6), (2, 'b', 3, 4, named_struct('bucket', 5, 'f g', 6), 7);

-- Files without ACID columns
ALTER TABLE c SET TBLPROPERTIES ('transactional'='true');
SELECT ROW__ID.writeid, * FROM c;
UPDATE c SET rowid = 'z' WHERE bucket = 1;
INSERT INTO c VALUES (3, 'c', 4, 5, NULL, 8);
DELETE FROM c WHERE `row`.bucket = 5;
SELECT ROW__ID.writeid, * FROM c ORDER BY bucket;
MERGE INTO c USING (SELECT 3 AS bucket UNION ALL SELECT 9) s ON c.bucket = s.bucket
  WHEN MATCHED THEN UPDATE SET operation = 99 WHEN NOT MATCHED THEN INSERT VALUES (s.bucket, 'm', 0, 0, NULL, 0);
SET acidsql.read.deletes=join;
SELECT ROW__ID.writeid, * FROM c ORDER BY bucket;
RESET acidsql.read.deletes;
UPDATE c SET rowid = 'y', `row` = named_struct('bucket', bucket, 'f g', 0);
SELECT ROW__ID.writeid, * FROM c ORDER BY bucket;

-- Partitions, with such keys
CREATE TABLE p (rowid STRING) PARTITIONED BY (bucket INT, `p q` STRING) STORED AS ORC TBLPROPERTIES ('transactional'='false');
INSERT INTO p PARTITION (bucket = 1, `p q` = 'a b') VALUES ('a'), ('b');
INSERT INTO p PARTITION (bucket = 2, `p q` = 'c/d') VALUES ('c');
ALTER TABLE p SET TBLPROPERTIES ('transactional'='true');
UPDATE p SET rowid = 'z' WHERE bucket = 1 AND rowid = 'a';
DELETE FROM p WHERE `p q` = 'c/d';
SELECT ROW__ID.writeid, * FROM p ORDER BY rowid;
SHOW PARTITIONS p;

-- Other names
CREATE TABLE n (`a b` INT, `x/y` STRING, `select` INT, `größe` INT, `_col0` INT, `$d` STRUCT<`h.i`:STRING>, `x;y` INT, `u<v>, w` INT)
  STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO n VALUES (1, 'a', 2, 3, 4, named_struct('h.i', 'n'), 5, 6);
INSERT INTO n SELECT 10, 'b', 20, 30, 40, named_struct('h.i', 'm'), 50, 60;
UPDATE n SET `x/y` = 'z', `$d` = named_struct('h.i', `x/y`), `u<v>, w` = `u<v>, w` + 1 WHERE `a b` = 1;
MERGE INTO n USING (SELECT 10 AS `a b`, 'mm' AS `x/y` UNION ALL SELECT 77, 'new') s ON n.`a b` = s.`a b`
  WHEN MATCHED THEN UPDATE SET `x/y` = s.`x/y` WHEN NOT MATCHED THEN INSERT (`a b`, `x/y`) VALUES (s.`a b`, s.`x/y`);
SELECT * FROM n ORDER BY `a b`;

-- A backquote inside: Spark's ORC reader would find no such column.
CREATE TABLE q (`tick``s` INT) STORED AS ORC TBLPROPERTIES ('transactional'='true');
-- !acid error: UnsupportedStatementError
INSERT INTO q VALUES (1);
-- !acid error: UnsupportedStatementError
SELECT count(*) FROM q;
ALTER TABLE q CHANGE COLUMN `tick``s` ticks INT;
INSERT INTO q VALUES (1);
SELECT * FROM q;
