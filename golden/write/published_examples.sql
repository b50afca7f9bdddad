-- Files and ROW__IDs as published descriptions of Hive's ACID tables show them.
CREATE TABLE employee (id INT, name STRING, salary INT) STORED AS ORC TBLPROPERTIES ('transactional' = 'true');
-- !acid show: files
-- INSERT: one directory, named after the write id and the statement.
INSERT INTO employee VALUES (1, 'Jerry', 5000), (2, 'Tom', 8000), (3, 'Kate', 6000);
SELECT ROW__ID, id, name, salary FROM employee;
-- UPDATE: the old row's id is deleted, the new row inserted.
UPDATE employee SET salary = 7000 WHERE id = 2;
SELECT ROW__ID, id, name, salary FROM employee;
DELETE FROM employee WHERE id = 1;
SELECT ROW__ID, id, name, salary FROM employee;
-- MERGE: the clauses are statements of their own, INSERT before UPDATE.
-- !acid show: rows
CREATE TABLE merged (id INT, name STRING, salary INT) STORED AS ORC TBLPROPERTIES ('transactional' = 'true');
INSERT INTO merged VALUES (1, 'Jerry', 5000), (2, 'Tom', 8000), (3, 'Kate', 6000);
CREATE TABLE employee_update (id INT, name STRING, salary INT);
INSERT INTO employee_update VALUES (2, 'Tom', 7000), (4, 'Mary', 9000);
-- !acid show: files
MERGE INTO merged AS a USING employee_update AS b ON a.id = b.id
WHEN MATCHED THEN UPDATE SET salary = b.salary
WHEN NOT MATCHED THEN INSERT VALUES (b.id, b.name, b.salary);
SELECT ROW__ID, id, name, salary FROM merged;
-- Buckets: a file for each that gets rows; its number is in the ROW__ID too.
-- !acid show: rows
CREATE TABLE IF NOT EXISTS accountInfo (id INT, name STRING, age INT) CLUSTERED BY (id) INTO 4 BUCKETS STORED AS ORC TBLPROPERTIES ('transactional'='true');
-- !acid show: files
INSERT INTO accountInfo VALUES (1, 'ann', 20), (2, 'bob', 30), (3, 'cid', 40);
UPDATE accountInfo SET age = 31 WHERE name = 'bob';
DELETE FROM accountInfo WHERE id = 3;
SELECT ROW__ID, id, name, age FROM accountInfo;
-- A base and the deltas behind it.
-- !acid show: rows
CREATE TABLE t (id INT) STORED AS ORC TBLPROPERTIES ('transactional' = 'true');
-- !acid show: files
INSERT OVERWRITE TABLE t VALUES (1);
INSERT INTO t VALUES (2);
INSERT INTO t VALUES (3);
SELECT ROW__ID, id FROM t;
