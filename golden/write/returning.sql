-- Rows that statements give back: those that the driver has written.
SET acidsql.write.path=auto;
CREATE TABLE t (id INT, name VARCHAR(4), n DECIMAL(6,2) DEFAULT 1.5) STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO t (id, name) VALUES (1, 'one'), (2, NULL) RETURNING *, ROW__ID;
-- !acid show: files
UPDATE t SET n = n + id WHERE id = 2 RETURNING id, n AS new, t.ROW__ID.writeid;
SELECT id, ROW__ID FROM t ORDER BY id;
-- !acid show: files
DELETE FROM t WHERE id = 1 RETURNING upper(name), n;
MERGE INTO t USING (SELECT 2 AS id UNION ALL SELECT 3) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET name = 'two' WHEN NOT MATCHED THEN INSERT VALUES (s.id, 'new', 0) RETURNING id, name;
MERGE INTO t USING (SELECT 3 AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE RETURNING *, ROW__ID;
SELECT * FROM t ORDER BY id;
