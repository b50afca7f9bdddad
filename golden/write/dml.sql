-- Rows and files after each statement on an unbucketed table.
-- !acid show: files
CREATE TABLE t (id INT, name STRING, amount DECIMAL(10,2)) STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO t VALUES (1, 'ann', 10.50), (2, 'bob', 20.00), (3, NULL, 30.25), (4, 'dan', NULL);
SELECT ROW__ID, * FROM t;
UPDATE t SET amount = amount + 1, name = upper(name) WHERE id IN (1, 2);
SELECT ROW__ID, * FROM t;
DELETE FROM t WHERE name IS NULL;
SELECT ROW__ID, * FROM t;
-- Nothing is hit: nothing is written.
UPDATE t SET name = 'x' WHERE id = 99;
DELETE FROM t WHERE id = 99;
INSERT INTO t SELECT * FROM t WHERE id = 99;
-- A table read twice in one statement is read under one snapshot. (How many files a query's rows make is Spark's choice.)
-- !acid show: rows
INSERT INTO t SELECT a.id + 10, concat(a.name, '!'), b.amount * 2 FROM t a JOIN t b ON a.id = b.id;
SELECT ROW__ID.writeid, * FROM t;
-- An updated row is updated again; a sub-query reads the table that is changed.
UPDATE t SET amount = 0 WHERE id = (SELECT max(id) FROM t);
DELETE FROM t WHERE id IN (SELECT id + 10 FROM t WHERE id < 10);
SELECT ROW__ID, * FROM t;
-- !acid show: files
INSERT INTO t (amount, id) VALUES (7, 7);
SELECT id, name, amount FROM t WHERE id = 7;
DELETE FROM t;
SELECT count(*) FROM t;
