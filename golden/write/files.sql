-- Rows into files that no table has, beside the warehouse, and back.
CREATE TABLE t (id INT, name STRING, price DECIMAL(6,2), day DATE) STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO t VALUES (1, 'one', 1.10, DATE '2024-01-01'), (2, NULL, NULL, NULL), (3, '', -2, DATE '2024-01-02');
COPY t TO '$WAREHOUSE/../t.parquet';
COPY (SELECT id, name FROM t WHERE id > 1) TO '$WAREHOUSE/../t.parquet' (OVERWRITE true);
COPY t TO '$WAREHOUSE/../parts' (FORMAT orc, PARTITION_BY (day));
INSERT OVERWRITE LOCAL DIRECTORY '$WAREHOUSE/../lines' SELECT * FROM t;
SELECT * FROM parquet.`$WAREHOUSE/../t.parquet` ORDER BY id;
SELECT * FROM orc.`$WAREHOUSE/../parts/day=2024-01-01`;
DESCRIBE SELECT id, name, price * 2 AS twice FROM t;
SUMMARIZE t;
SUMMARIZE SELECT price FROM t WHERE id > 5;
