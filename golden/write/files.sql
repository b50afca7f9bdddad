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
-- Rows of files into a table: once, and what does not fit into another.
CREATE TABLE n (id SMALLINT NOT NULL, name VARCHAR(4), price DECIMAL(4,1)) STORED AS ORC TBLPROPERTIES ('transactional'='true');
COPY (SELECT id, name, price FROM t) TO '$WAREHOUSE/../a.csv';
COPY (SELECT 70000 AS id, 'long text' AS name, 1 AS price UNION ALL SELECT 4, 'four', 4) TO '$WAREHOUSE/../b.csv';
COPY INTO n FROM '$WAREHOUSE/../a.csv' ONCE REJECTS INTO r;
COPY INTO n FROM '$WAREHOUSE/../?.csv' BY NAME ONCE REJECTS INTO r;
COPY INTO n FROM '$WAREHOUSE/../?.csv' ONCE;
DRY RUN COPY INTO n FROM '$WAREHOUSE/../?.csv' REJECTS INTO r;
SELECT * FROM n ORDER BY id;
SELECT line, text, reason FROM r ORDER BY line, text;
EXPLAIN LOCKS COPY INTO n FROM '$WAREHOUSE/../?.csv' REJECTS INTO r;
