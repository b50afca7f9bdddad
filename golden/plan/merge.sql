-- Every arm of MERGE: its reads, its join, its checks, its sinks with their statement ids, its locks.
CREATE TABLE t (id INT, name STRING, price DECIMAL(10,2), info STRUCT<a:INT,b:STRUCT<c:STRING>>) STORED AS ORC TBLPROPERTIES ('transactional'='true');
CREATE TABLE b (id INT, v STRING) CLUSTERED BY (id) INTO 4 BUCKETS STORED AS ORC TBLPROPERTIES ('transactional'='true');
CREATE TABLE s (id INT, name STRING, price DOUBLE, kind CHAR(1)) STORED AS ORC;
MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET name = s.name;
MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN DELETE;
MERGE INTO t USING s ON t.id = s.id WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.name, s.price, NULL);
MERGE INTO t AS target USING s AS source ON target.id = source.id
WHEN MATCHED AND source.kind = 'D' THEN DELETE
WHEN MATCHED THEN UPDATE SET price = target.price + source.price, name = DEFAULT
WHEN NOT MATCHED THEN INSERT VALUES (source.id, source.name, source.price, DEFAULT);
MERGE INTO t USING s ON t.id = s.id
WHEN MATCHED AND s.price > 1 AND t.name <> 'it''s' THEN UPDATE SET name = 'x'
WHEN MATCHED AND s.kind = 'D' THEN DELETE
WHEN NOT MATCHED AND s.kind <> 'D' THEN INSERT (id, name) VALUES (s.id, upper(s.name));
MERGE INTO t USING (SELECT id, max(name) AS name FROM s WHERE kind = 'U' GROUP BY id) AS q ON t.id = q.id AND t.price > 0
WHEN MATCHED THEN UPDATE SET name = q.name;
MERGE INTO b USING b AS again ON b.id = again.id + 1 WHEN MATCHED THEN UPDATE SET v = again.v WHEN NOT MATCHED THEN INSERT VALUES (again.id, again.v);
MERGE INTO b USING s ON b.id = s.id WHEN MATCHED AND b.v IS NULL THEN UPDATE SET v = (SELECT max(name) FROM s);
MERGE INTO t USING s ON t.info.b.c = s.name WHEN MATCHED THEN UPDATE SET price = t.info.a;
-- beyond Hive
MERGE INTO t USING s ON t.id = s.id
WHEN MATCHED AND s.kind = 'D' THEN DELETE
WHEN MATCHED AND s.kind = 'X' THEN DELETE
WHEN MATCHED AND s.kind = 'U' THEN UPDATE SET name = s.name
WHEN MATCHED THEN UPDATE SET price = s.price
WHEN NOT MATCHED AND s.kind = 'N' THEN INSERT (id) VALUES (s.id)
WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, s.name)
WHEN NOT MATCHED BY SOURCE AND t.price < 0 THEN DELETE
WHEN NOT MATCHED BY SOURCE THEN UPDATE SET name = concat(t.name, ' gone');
MERGE INTO b USING (SELECT id, name AS v FROM s) n ON b.id = n.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;
MERGE INTO b USING s ON b.id = s.id WHEN NOT MATCHED BY SOURCE THEN DELETE;
EXPLAIN LOCKS MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET name = s.name WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id);
EXPLAIN LOCKS MERGE INTO b USING s ON b.id = s.id WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.name);
EXPLAIN DEPENDENCY MERGE INTO b USING s ON b.id = s.id WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.name);
EXPLAIN FORMATTED MERGE INTO b USING s ON b.id = s.id WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.name);
-- Without the check one of several changes of a row is made.
-- !acid conf: hive.merge.cardinality.check=false
MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN DELETE;
RESET hive.merge.cardinality.check;
MERGE INTO b USING (VALUES (1, 'a'), (2, 'b')) AS n(id, v) ON b.id = n.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;
