-- Which partitions a statement reads, of how many.
CREATE TABLE p (id INT, v STRING) PARTITIONED BY (ds STRING, hr INT) STORED AS ORC TBLPROPERTIES ('transactional'='true');
ALTER TABLE p ADD PARTITION (ds='2024-01-01', hr=0) PARTITION (ds='2024-01-01', hr=1) PARTITION (ds='2024-01-02', hr=0)
PARTITION (ds='2024-01-02', hr=1) PARTITION (ds='2024-02-01', hr=0) PARTITION (ds='2024-02-01', hr=1) PARTITION (ds='x', hr=1);
CREATE TABLE q (id INT, w STRING) PARTITIONED BY (day DATE) STORED AS ORC;
ALTER TABLE q ADD PARTITION (day='2024-01-01') PARTITION (day='2024-01-02') PARTITION (day='2024-03-01');
CREATE TABLE t (id INT, v STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true');
SELECT * FROM p;
SELECT * FROM p WHERE ds = '2024-01-01' AND id = 7;
SELECT * FROM p WHERE ds = '2024-01-01' AND hr = '01';
SELECT * FROM p WHERE ds IS NULL;
SELECT * FROM p WHERE month(ds) = 1 AND hr BETWEEN 1 AND 3;
SELECT * FROM p WHERE (ds = '2024-01-01' AND id > 1) OR (ds = 'x' AND v = 'a');
SELECT * FROM p WHERE ds > '2024-01-01' OR id = 1;
-- In a comparison with a number text counts as a number.
SELECT * FROM p WHERE ds = 5;
SELECT * FROM q WHERE day >= '2024-01-02' AND day < DATE '2024-03-01';
-- What only Spark can tell it is asked when the statement runs.
SELECT * FROM p WHERE regexp_replace(ds, '-', '') = '20240101' AND hr = 1;
-- So is the day; partitions of today and of tomorrow are kept, because midnight may come before the rows are read.
SELECT * FROM q WHERE day = current_date();
SELECT * FROM q WHERE day >= date_sub(current_date, 3) AND day < '2024-02-01';
-- Another time each time: nothing is left out.
SELECT * FROM q WHERE day = now();
-- A condition belongs to the query it stands in.
SELECT * FROM (SELECT * FROM p WHERE ds LIKE '2024-01-%') j WHERE hr = 0;
WITH c AS (SELECT * FROM p WHERE hr = 1) SELECT * FROM c JOIN q ON c.ds = q.day AND q.day <> '2024-03-01';
SELECT * FROM p LEFT JOIN q ON p.ds = q.day AND p.hr = 1 AND q.day = '2024-01-01';
-- Rows that an outer join adds have NULLs here.
SELECT * FROM p LEFT JOIN q ON p.ds = q.day WHERE q.day IS NULL;
SELECT * FROM p LEFT JOIN q ON p.ds = q.day WHERE q.day > '2024-01-01' AND p.hr = 0;
SELECT * FROM t WHERE EXISTS (SELECT 1 FROM p WHERE p.id = t.id AND hr = 0);
INSERT INTO t SELECT id, v FROM p WHERE ds = 'x';
UPDATE p SET v = 'x' WHERE ds = '2024-02-01' AND id = 3;
DELETE FROM p WHERE NOT (ds < '2024-02-01' OR v = 'a');
EXPLAIN DEPENDENCY SELECT * FROM p JOIN q ON p.id = q.id WHERE ds = '2024-01-02' AND q.day = '2024-01-01';
EXPLAIN SELECT * FROM p WHERE hr + 1 = 2;
