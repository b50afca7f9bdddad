-- What store casts take from the values of queries is counted by column; who makes the rows makes no difference.
-- !acid show: rows
CREATE TABLE s (k INT, a STRING, b INT, d DOUBLE, e DECIMAL(20,5)) STORED AS ORC TBLPROPERTIES ('transactional'='true');
CREATE TABLE t (k INT, i INT, y TINYINT, v VARCHAR(3), m DECIMAL(4,2), f FLOAT, w DATE) STORED AS ORC TBLPROPERTIES ('transactional'='true');
CREATE TABLE b (k INT, i INT, v CHAR(3)) PARTITIONED BY (p SMALLINT) CLUSTERED BY (k) INTO 2 BUCKETS STORED AS ORC TBLPROPERTIES ('transactional'='true');
CREATE TABLE plain (k INT, v VARCHAR(2), y TINYINT) STORED AS PARQUET;
INSERT INTO s VALUES (1, '1', 1000, 1.5, 123.45678), (2, 'x', 5, 1e300, 1.0), (3, '1.5', -129, 7, 99999.1), (4, NULL, NULL, NULL, NULL), (5, 'ab   ', 7, -3, 0.001), (6, '2024-02-30', 127, 0.5, 99.999);
INSERT INTO t SELECT k, a, b, a, e, d, a FROM s;
SELECT * FROM t ORDER BY k;
-- What fits, or is only rounded, needs no word.
INSERT OVERWRITE TABLE t SELECT k, b, k, CAST(k AS STRING), k + 0.005, b, CAST('2024-01-01' AS DATE) FROM s;
SELECT * FROM t ORDER BY k;
-- Only the rows that are stored count.
INSERT INTO t (k, y) SELECT k + 10, b FROM s WHERE b > 900;
INSERT INTO t (k, y) SELECT k + 10, b FROM s WHERE b > 9000;
INSERT INTO b PARTITION (p) SELECT k, a, a, b * 100 FROM s;
SELECT * FROM b ORDER BY k;
INSERT OVERWRITE TABLE b PARTITION (p = 1) SELECT k, a, a FROM s WHERE k < 3;
-- Several tables have their names.
FROM s INSERT INTO t (k, i) SELECT k + 20, a INSERT INTO b PARTITION (p = 2) SELECT k, b, a WHERE k = 6;
INSERT INTO plain SELECT k, a, b FROM s;
SELECT * FROM plain ORDER BY k;
-- A literal is told of where it stands, the others are counted.
UPDATE t SET v = concat('ab', v, 'cd'), y = 1000 WHERE k < 4;
UPDATE t SET m = m * 30, i = k + 1 WHERE k < 7;
SELECT k, y, v, m FROM t WHERE k < 7 ORDER BY k;
MERGE INTO t USING s ON t.k = s.k + 2 WHEN MATCHED AND s.k < 3 THEN UPDATE SET v = s.a || 'xyz', y = s.b WHEN MATCHED THEN UPDATE SET v = 'longer', i = s.a WHEN NOT MATCHED THEN INSERT VALUES (s.k + 100, s.a, s.b, s.a, s.e, 1, NULL);
MERGE INTO b USING (SELECT k, a, b, d FROM s) s ON b.k = s.k WHEN MATCHED AND s.k = 1 THEN DELETE WHEN MATCHED THEN UPDATE SET i = s.d, v = concat(s.a, s.a) WHEN NOT MATCHED THEN INSERT VALUES (s.k, s.d, s.a, 7);
INSERT INTO t (k, y, v) VALUES (30, 1000, 'x'), (31, 500 + 500, concat('ab', 'cd')), (32 + 0, NULL, 'yz');
DRY RUN INSERT INTO t (k, i, y) SELECT k, a, b FROM s;
DRY RUN UPDATE b SET v = concat(v, v, v) WHERE p = 2;
START TRANSACTION;
INSERT INTO t (k, y) SELECT k + 40, b FROM s;
ROLLBACK;
-- Names that are the table's in another order.
CREATE TABLE u (b STRING, a INT) STORED AS ORC TBLPROPERTIES ('transactional'='true');
CREATE TABLE x (a INT, b STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO x VALUES (1, 'one'), (2, 'two');
INSERT INTO u SELECT * FROM x;
INSERT INTO u SELECT b, a FROM x;
INSERT INTO u (a, b) SELECT a, b FROM x;
INSERT INTO u SELECT a AS k, b FROM x;
INSERT INTO u SELECT q.* FROM (SELECT a, b FROM x) q JOIN (SELECT 1 AS one) ON one = a;
INSERT INTO u BY NAME SELECT * FROM x;
SELECT * FROM u ORDER BY a, b;
