-- What a SELECT reads, what its scan may skip by, and the text Spark gets.
CREATE TABLE t (id INT, name STRING, price DECIMAL(10,2), day DATE, flag BOOLEAN) STORED AS ORC TBLPROPERTIES ('transactional'='true');
CREATE TABLE plain (id INT, name STRING) STORED AS ORC;
SELECT * FROM t;
SELECT ROW__ID, * FROM t;
SELECT ROW__ID.writeid, x.*, p.* FROM t x JOIN plain p ON x.id = p.id;
SELECT x.row__id, * FROM default.t x, default.t y WHERE x.id = y.id;
SELECT default.t.name FROM default.t WHERE default.t.id > 3;
SELECT * FROM t WHERE id = 5;
SELECT * FROM t WHERE 5 < id AND id <= 10 AND name = 'ann' AND price >= 1.5;
SELECT * FROM t WHERE day BETWEEN DATE '2024-01-01' AND DATE '2024-12-31' AND flag = TRUE;
SELECT * FROM t WHERE id IN (1, 2, 3) AND name IS NOT NULL AND day IS NULL;
-- A cast of the column, an OR or a function is nothing a scan can use.
SELECT * FROM t WHERE id = '5' OR upper(name) = 'ANN';
SELECT * FROM t WHERE id % 100 = 3;
-- A common table expression hides a table of its name, but not inside itself.
WITH t AS (SELECT * FROM t WHERE id = 1) SELECT * FROM t;
SELECT count(*) FROM t a LEFT JOIN plain b ON a.id = b.id WHERE a.id = 7;
SELECT * FROM t WHERE EXISTS (SELECT 1 FROM plain WHERE plain.id = t.id AND plain.name = 'x');
SELECT id FROM t UNION ALL SELECT id FROM plain ORDER BY 1;
SELECT * FROM parquet.`/data/flights` f JOIN t ON f.id = t.id;
FROM t SELECT id, name;
SELECT * FROM t TABLESAMPLE (10 PERCENT);
SELECT /*+ BROADCAST(t) */ * FROM t LATERAL VIEW explode(array(1, 2)) e AS k;
SELECT * FROM (SELECT id, ROW__ID.rowid AS r FROM t) q WHERE q.id = 5;
EXPLAIN SELECT * FROM t WHERE id = 5;
EXPLAIN EXTENDED SELECT * FROM t;
-- Rows that stand in the statement.
SELECT b, count(*) FROM (VALUES (1, 'a'), (2, 'b')) AS v(a, b) WHERE a > 1 GROUP BY b;
SELECT t.name FROM t JOIN (VALUES (1, 'a')) AS v(a, b) ON t.id = v.a;
