-- Databases and tables come, are described and go.
CREATE DATABASE sales COMMENT 'what was sold';
CREATE DATABASE IF NOT EXISTS sales;
SHOW DATABASES;
SHOW DATABASES LIKE 's*';
USE sales;
CREATE TABLE orders (id BIGINT COMMENT 'the key', note VARCHAR(20), paid BOOLEAN, items ARRAY<STRUCT<sku:STRING,n:INT>>) COMMENT 'one line an order' CLUSTERED BY (id) INTO 2 BUCKETS STORED AS ORC TBLPROPERTIES ('transactional'='true', 'orc.compress'='SNAPPY');
CREATE TABLE IF NOT EXISTS orders (x INT) STORED AS ORC;
CREATE TRANSACTIONAL TABLE short (id INT);
SHOW TABLES;
SHOW TABLES IN sales LIKE 'ord*';
SHOW TABLES IN default;
DESCRIBE orders;
DESCRIBE orders note;
INSERT INTO sales.orders VALUES (1, 'first', TRUE, NULL);
USE default;
SELECT id, note, paid, items FROM sales.orders;
DROP TABLE sales.short;
-- !acid error: BindError
DROP DATABASE sales;
DROP DATABASE sales CASCADE;
SHOW DATABASES;
-- A table that is made again starts anew.
CREATE TABLE t (id INT) STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO t VALUES (1), (2);
DROP TABLE t;
CREATE TABLE t (id INT) STORED AS ORC TBLPROPERTIES ('transactional'='true');
SELECT * FROM t;
INSERT INTO t VALUES (3);
SELECT ROW__ID, * FROM t;
SHOW TRANSACTIONS;
