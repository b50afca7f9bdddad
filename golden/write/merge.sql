-- Rows and files of MERGE: a directory for each clause and kind of event.
CREATE TABLE t (id INT, name STRING, price DECIMAL(10,2)) STORED AS ORC TBLPROPERTIES ('transactional'='true');
CREATE TABLE b (id INT, v STRING) CLUSTERED BY (id) INTO 2 BUCKETS STORED AS ORC TBLPROPERTIES ('transactional'='true');
CREATE TABLE s (id INT, name STRING, kind STRING) STORED AS ORC;
INSERT INTO t VALUES (1, 'ann', 1.50), (2, 'bob', 2.50), (3, 'cid', 3.50), (NULL, 'nul', 0);
INSERT INTO s VALUES (1, 'ANN', 'U'), (2, NULL, 'D'), (7, 'gus', 'N'), (NULL, 'non', 'N');
-- Statement 0 deletes, 1 inserts, 2 updates. A NULL key matches nothing.
-- !acid show: files
MERGE INTO t USING s ON t.id = s.id
WHEN MATCHED AND s.kind = 'D' THEN DELETE
WHEN MATCHED THEN UPDATE SET name = s.name, price = t.price * 2
WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.name, 9.99);
SELECT ROW__ID.writeid, * FROM t;
-- No clause acts: nothing is written.
MERGE INTO t USING s ON t.id = s.id WHEN MATCHED AND t.price > 1000 THEN DELETE;
-- Insert only: rows that are there are left alone.
MERGE INTO t USING (SELECT id + 1 AS id FROM s) q ON t.id = q.id WHEN NOT MATCHED THEN INSERT (id) VALUES (q.id);
SELECT * FROM t;
-- !acid show: rows
INSERT INTO b VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd');
-- !acid show: files
MERGE INTO b USING (SELECT id * 2 AS id, name FROM s) q ON b.id = q.id
WHEN MATCHED THEN UPDATE SET v = concat(b.v, '!')
WHEN NOT MATCHED AND q.id IS NOT NULL THEN INSERT (v, id) VALUES (DEFAULT, q.id)
WHEN NOT MATCHED BY SOURCE AND b.id = 1 THEN DELETE
WHEN NOT MATCHED BY SOURCE THEN UPDATE SET v = 'left';
SELECT * FROM b;
MERGE INTO b USING (SELECT 3 AS id, 'new' AS v UNION ALL SELECT 8, 'eight') n ON b.id = n.id
WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;
SELECT * FROM b;
-- Two source rows for one row of the target: refused, nothing changed.
-- !acid error: CardinalityError
MERGE INTO b USING (SELECT 3 AS id FROM s) q ON b.id = q.id WHEN MATCHED THEN DELETE;
-- !acid error: CardinalityError
MERGE INTO b USING (SELECT 3 AS id, kind FROM s) q ON b.id = q.id WHEN MATCHED AND kind = 'D' THEN DELETE WHEN MATCHED THEN UPDATE SET v = 'x';
-- A second source row no clause acts on is no violation.
MERGE INTO b USING (SELECT 3 AS id, kind FROM s) q ON b.id = q.id WHEN MATCHED AND kind = 'D' THEN DELETE;
SELECT * FROM b;
-- The source stands in the statement, its columns are named there.
MERGE INTO b USING (VALUES (3, 'three'), (9, 'nine')) AS n(id, v) ON b.id = n.id
WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;
MERGE INTO b USING (SELECT id, kind FROM s) n (k, v) ON b.id = n.k WHEN MATCHED THEN UPDATE SET v = concat(n.v, n.k);
SELECT * FROM b;
-- a row that several rows of the source would change is told by its values, also where rows of two partitions have one id
CREATE TABLE twice (a INT, n STRING, v STRING) PARTITIONED BY (d STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO twice PARTITION (d) VALUES (1, 'x', 'p', 'k'), (1, 'z', 'p', 'l'), (3, 'w', 'q', 'l');
CREATE TABLE changes AS SELECT stack(5, 1, 'z', 'a', 1, 'z', 'b', 1, 'z', 'c', 3, 'w', '1', 3, 'w', '2') AS (a, n, v);
-- !acid error: CardinalityError
MERGE INTO twice t USING changes s ON t.a = s.a AND t.n = s.n WHEN MATCHED THEN UPDATE SET v = s.v;
-- !acid error: CardinalityError
MERGE INTO twice t USING changes s ON upper(t.n) = upper(s.n) AND t.d = 'l' AND s.a = 3 WHEN MATCHED THEN DELETE;
-- !acid error: CardinalityError
DRY RUN MERGE INTO twice t USING changes s ON t.a = s.a AND t.n = s.n WHEN MATCHED THEN UPDATE SET v = s.v;
