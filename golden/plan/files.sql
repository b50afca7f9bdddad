-- How rows get into files.
CREATE TABLE t (id INT, name STRING, day DATE) STORED AS ORC TBLPROPERTIES ('transactional'='true');
COPY t TO '/data/t.parquet';
COPY (SELECT id, name FROM t WHERE id > 1) TO '/data/t.csv' (OVERWRITE);
COPY (SELECT stack(1, id) AS m FROM t) TO '/data/t.json';
COPY t TO '/data/t' (FORMAT orc, PARTITION_BY (day, name));
INSERT OVERWRITE LOCAL DIRECTORY '/data/t' SELECT * FROM t;
EXPLAIN LOCKS COPY t TO '/data/t.parquet';
EXPLAIN DEPENDENCY INSERT OVERWRITE DIRECTORY '/data/t' STORED AS ORC SELECT * FROM t;
SET acidsql.engine=local;
COPY t TO '/data/t.parquet';
-- What is told of rows.
SET acidsql.engine=auto;
EXPLAIN SUMMARIZE t;
EXPLAIN DESCRIBE SELECT stack(1, id) AS m FROM t;
SUMMARIZE SELECT id FROM t;
DESCRIBE SELECT id, name AS n FROM t;
