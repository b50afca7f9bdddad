-- Rows of files that statements name by their path, by whoever reads them.
CREATE TABLE o (id INT, Name STRING, price DECIMAL(6,2), day DATE) STORED AS ORC;
INSERT INTO o VALUES (1, 'one', 1.10, DATE '2024-01-01'), (2, 'two', NULL, NULL);
CREATE TABLE p (id INT, name STRING, at TIMESTAMP) STORED AS PARQUET;
INSERT INTO p VALUES (2, 'zwei', TIMESTAMP '2024-02-29 12:30:15'), (3, 'drei', NULL);
-- !acid show: files
CREATE TABLE t (id INT, name STRING, price DECIMAL(6,2)) STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO t SELECT id, name, price FROM orc.`$WAREHOUSE/o`;
SELECT ROW__ID, * FROM t;
MERGE INTO t USING parquet.`$WAREHOUSE/p` s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET name = s.name
WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.name, year(s.at));
SELECT ROW__ID, * FROM t;
MERGE INTO t USING (SELECT id, name FROM orc.`$WAREHOUSE/o` WHERE id = 1) s ON t.id = s.id AND t.name = s.name WHEN MATCHED THEN DELETE;
INSERT OVERWRITE TABLE t SELECT *, 1 FROM (SELECT id, name FROM parquet.`$WAREHOUSE/p`) q;
SELECT * FROM t;
-- !acid error: BindError
INSERT INTO t SELECT * FROM parquet.`/nowhere/rows`;
