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
-- A view is its query, wherever its name stands; it sees what is committed when it is read.
CREATE TABLE o (id INT, name STRING, price DECIMAL(8,2), made DATE) STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO o VALUES (1, 'ann', 1.5, '2024-01-01'), (2, 'bob', 2.5, '2024-01-02'), (3, 'cid', 3.5, '2024-01-03');
CREATE VIEW cheap COMMENT 'what costs little' AS SELECT id, name, price * 2 AS double_price FROM o WHERE price < 3;
CREATE VIEW named (key COMMENT 'the id', who) AS SELECT id, upper(name) FROM cheap;
SHOW VIEWS;
SHOW TABLES LIKE '*e*';
DESCRIBE cheap;
DESCRIBE named;
SHOW CREATE TABLE named;
SELECT * FROM cheap;
SELECT n.who, o.made FROM named n JOIN o ON n.key = o.id WHERE o.id IN (SELECT id FROM cheap);
UPDATE o SET price = 9 WHERE id = 1;
SELECT * FROM named;
INSERT INTO o SELECT key + 10, who, 0, NULL FROM named;
DELETE FROM o WHERE id IN (SELECT id FROM cheap WHERE id > 10);
SELECT * FROM o;
CREATE OR REPLACE VIEW cheap AS SELECT id, name FROM o WHERE price > 3;
SELECT * FROM named;
SELECT name FROM cheap WHERE id = 3;
-- !acid error: BindError
CREATE OR REPLACE VIEW cheap AS SELECT key FROM named;
-- !acid error: ColumnNotFoundError
CREATE VIEW bad AS SELECT nosuch FROM (SELECT id FROM o) x;
-- !acid error: BindError
CREATE VIEW bad (a, b) AS SELECT * FROM o;
-- !acid error: BindError
CREATE VIEW bad AS SELECT * FROM o x JOIN o y ON x.id = y.id;
-- !acid error: BindError
INSERT INTO cheap VALUES (1, 'x');
DROP VIEW named;
DROP VIEW IF EXISTS named;
SHOW VIEWS;
DROP TABLE o;
-- !acid error: TableNotFoundError
SELECT * FROM cheap;
DROP VIEW cheap;
-- A table in the place of another one, which it may read.
CREATE TRANSACTIONAL TABLE replaced (id INT, name STRING);
INSERT INTO replaced VALUES (1, 'a'), (2, 'b');
-- !acid show: files
CREATE OR REPLACE TRANSACTIONAL TABLE replaced AS SELECT id + 10 AS id, 'new' AS name FROM replaced WHERE id = 1;
SELECT * FROM replaced;
INSERT INTO replaced VALUES (3, 'c');
SELECT * FROM replaced;
CREATE OR REPLACE TABLE replaced LIKE replaced;
SELECT * FROM replaced;
DROP TABLE replaced;
