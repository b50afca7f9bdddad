-- SELECT does what Spark's SQL does, over one snapshot of each table.
CREATE TABLE t (id INT, grp STRING, v DOUBLE) STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO t VALUES (1, 'a', 1.0), (2, 'a', 2.0), (3, 'b', 3.5), (4, 'b', NULL), (5, NULL, 5.0);
UPDATE t SET v = v * 10 WHERE id = 2;
DELETE FROM t WHERE id = 3;
SELECT grp, count(*), sum(v) FROM t GROUP BY grp ORDER BY grp;
SELECT id, row_number() OVER (ORDER BY id DESC) AS n FROM t;
SELECT a.id, b.id FROM t a LEFT JOIN t b ON a.id = b.id - 1 ORDER BY a.id;
SELECT b.* FROM t a JOIN t b ON a.id = b.id ORDER BY id DESC;
SELECT a.grp, count(*) FROM t a JOIN t b ON a.id = b.id GROUP BY a.grp HAVING grp IS NOT NULL ORDER BY grp;
WITH q AS (SELECT id, v FROM t WHERE v > 1), t AS (SELECT 1 AS one) SELECT q.*, t.one FROM q, t;
SELECT t.ROW__ID.writeid, count(*) FROM t GROUP BY t.ROW__ID.writeid ORDER BY 1;
SELECT ROW__ID.rowid, * FROM t WHERE ROW__ID.writeid = 2;
SELECT * FROM t WHERE id = 2;
SELECT count(*) FROM t WHERE id = 3;
SELECT count(*) FROM t;
SELECT id, transform(array(id, 2), x -> x + 1) AS l FROM t WHERE id < 3;
SELECT * FROM (SELECT id FROM t UNION SELECT id + 1 FROM t) u ORDER BY id LIMIT 3;
SELECT grp FROM t WHERE EXISTS (SELECT 1 FROM t x WHERE x.id = t.id + 1);
FROM t SELECT max(id);
VALUES (1, 'x'), (2, 'y');
SELECT CAST('abc' AS INT) AS bad, 1 / 0 AS inf;
-- !acid error: ColumnNotFoundError
SELECT nope FROM t;
-- !acid error: ColumnNotFoundError
SELECT id,
  x.nope
FROM t x;
-- !acid error: BindError
INSERT INTO t SELECT id FROM t;
SET acidsql.ansi=true;
-- !acid error: DataError
SELECT 1 / 0;
RESET acidsql.ansi;
SELECT 1 / 0 AS inf;
-- Rows that stand in the statement.
SELECT * FROM (VALUES (1, 'x'), (2, 'y')) AS v(a, B) WHERE A > 1;
SELECT v.b, sum(a) AS s FROM VALUES (1, 'x'), (2.5, 'y'), (3, 'x') AS v(a, b) GROUP BY b ORDER BY s;
SELECT t.id, v.b FROM t JOIN (VALUES (1, 'x'), (5, 'y')) v(id, b) ON t.id = v.id ORDER BY t.id;
SELECT count(*) FROM (VALUES 1, 2, NULL) AS v WHERE col1 IS NOT NULL;
