-- Which statement ids, directories and reads INSERT, UPDATE and DELETE have.
CREATE TABLE t (id INT, name STRING, price DECIMAL(10,2), code CHAR(3), note VARCHAR(5)) STORED AS ORC TBLPROPERTIES ('transactional'='true');
CREATE TABLE b (id INT, name STRING) CLUSTERED BY (id) INTO 4 BUCKETS STORED AS ORC TBLPROPERTIES ('transactional'='true');
CREATE TABLE plain (id INT, name STRING) STORED AS ORC;
INSERT INTO t VALUES (1, 'ann', 10.5, 'abc', 'x'), (2, NULL, NULL, NULL, NULL);
INSERT INTO TABLE t (name, id) VALUES ('bob', 1);
INSERT INTO t (id) VALUES (1 + 1);
INSERT INTO b SELECT id, name FROM t WHERE id = 3;
INSERT INTO plain VALUES (1, 'x');
INSERT INTO plain SELECT * FROM b;
WITH q AS (SELECT id, name FROM b) INSERT INTO b SELECT * FROM q;
INSERT INTO b WITH q AS (SELECT id, name FROM b) SELECT * FROM q;
UPDATE t SET price = price + 1, name = upper(name) WHERE id = 1;
UPDATE t AS x SET code = 'zz', note = x.name WHERE x.id IN (SELECT id FROM b) AND x.price > 2;
UPDATE b SET name = DEFAULT;
DELETE FROM t;
DELETE FROM b WHERE id = 4 AND name IS NULL;
DELETE FROM t x WHERE x.ROW__ID.writeid = 3 AND NOT EXISTS (SELECT 1 FROM b WHERE b.id = x.id);
EXPLAIN UPDATE t SET name = 'x' WHERE id = 9;
EXPLAIN DELETE FROM t WHERE id = 9;
EXPLAIN INSERT INTO t (id) VALUES (1);
EXPLAIN CREATE TABLE later (id INT) STORED AS ORC;
EXPLAIN DROP TABLE t;
EXPLAIN SHOW TRANSACTIONS;
SHOW TABLES;
CREATE TABLE ruled (id INT NOT NULL, n INT CHECK (n > 0), v STRING DEFAULT 'x') STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO ruled (id) VALUES (1);
INSERT INTO ruled (id, n) SELECT id, 1 FROM ruled;
UPDATE ruled SET v = DEFAULT;
DELETE FROM ruled;
MERGE INTO ruled USING (SELECT 1 AS id) s ON ruled.id = s.id WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id);
-- BY NAME: which columns there are, as far as the text tells.
INSERT INTO t BY NAME SELECT name, id FROM b;
INSERT INTO t BY NAME SELECT * FROM (SELECT id FROM b) TABLESAMPLE (10 ROWS);
-- A value that may lose something has a name of its own.
MERGE INTO t USING b ON t.id = b.id WHEN MATCHED THEN UPDATE SET note = b.name, price = b.id WHEN NOT MATCHED THEN INSERT (id) VALUES (b.id);
INSERT INTO t (id, code) VALUES (1, 'abcd'), (hash('1'), upper('x'));

UPDATE t SET price = 0 WHERE id = 1 RETURNING id, ROW__ID;
DELETE FROM t RETURNING *;
